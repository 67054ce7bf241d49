"""Names of yaoki's refs; docs/decisions/refs.md gives the reasons."""

from __future__ import annotations

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import Run, task_branch
from yaoki.errors import Unknown

REF_COMPONENT = lazy_compile(r"[a-z0-9][a-z0-9-]{0,99}")

OWN_BRANCHES = "refs/heads/yaoki"
SAVED_WORK = "refs/yaoki/work"
SNAPSHOTS = "refs/yaoki/snapshots"
CANDIDATES = "refs/yaoki/candidates"
RECORDED_HEADS = "refs/yaoki/runs"
GROUP_BASES = "refs/yaoki/bases"
MERGE_QUEUE_SUFFIX = "-train"
OWN_PREFIXES = (f"{OWN_BRANCHES}/", "refs/yaoki/")


def ref_component(text: str) -> str:
    """Check that an id is safe inside a ref name; anything else could name a foreign ref."""
    if not REF_COMPONENT.fullmatch(text):
        raise Unknown(f"{text!r} is not an id", hint="yaoki status shows the ids")
    return text


def run_branch_ref(run_id: str) -> str:
    return f"{OWN_BRANCHES}/{ref_component(run_id)}"


def target_branch_ref(run: Run) -> str:
    """The run branch, or the group branch if the run targets a group."""
    return run_branch_ref(f"{run.target_group}-group" if run.target_group else run.id)


def recorded_head_ref(run: Run) -> str:
    """The ref that records where yaoki itself last put the target branch."""
    return f"{RECORDED_HEADS}/{ref_component(run.target_group or run.id)}"


def group_base_ref(run: Run) -> str:
    """The ref that records the commit of the run branch at which a group branch starts."""
    return f"{GROUP_BASES}/{ref_component(run.target_group or run.id)}"


def merge_queue_ref(run: Run) -> str:
    """The ref of the last candidate in the merge queue of the target branch."""
    return f"{recorded_head_ref(run)}{MERGE_QUEUE_SUFFIX}"


def task_branch_ref(task_id: str) -> str:
    return f"refs/heads/{task_branch(ref_component(task_id))}"


def work_ref(task_id: str, label: str) -> str:
    return f"{SAVED_WORK}/{ref_component(task_id)}/{ref_component(label)}"


def candidate_ref(task_id: str) -> str:
    return f"{CANDIDATES}/{ref_component(task_id)}"


def snapshot_ref(snapshot_id: str) -> str:
    return f"{SNAPSHOTS}/{ref_component(snapshot_id)}"
