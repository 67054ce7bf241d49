"""Reuse of verdicts: a check that passed on the same inputs passes again (rule 17.5).

The key of a verdict has four parts: the files that the check may read, its definition, the set-up,
and the tools that it starts.  Only a pass is reused; in doubt the check runs.
"""

from __future__ import annotations

from yaoki.core.decide.baseline import KNOWN_FAILURES, command_key
from yaoki.core.decide.quarantine import TEST_RUNS
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import CheckSpec, CheckType, Finding, Outcome
from yaoki.core.model.check_definition import TreeView
from yaoki.core.model.verdict_key import VerdictKey, VerdictOrigin, digest_of
from yaoki.core.scope import is_in_scope

# The params of a finding: the parts of its key, and the proof whose verdict it is.
VERDICT_KEY, REUSED_FROM = "verdictKey", "reusedFrom"
# Words of a command that name one commit: its result is about that commit alone.
COMMIT_WORDS = ("{commit}", "{base}", "{worktree}")
SUBMODULE = "160000 "


def make_key(spec: CheckSpec, tree: TreeView, setup_key: str, tools: str) -> VerdictKey:
    return VerdictKey(
        identify_inputs(spec, tree), digest_of(command_key(spec), spec.name), setup_key, tools
    )


def identify_inputs(spec: CheckSpec, tree: TreeView) -> str:
    """A digest of the files that the check sees, with their modes."""
    rows = sorted(
        f"{path}\0{blob}"
        for path, blob in tree.blob_ids.items()
        if not spec.inputs or is_in_scope(path, spec.inputs)
    )
    return digest_of(*rows)


def depends_on_inputs_alone(spec: CheckSpec, tree: TreeView) -> bool:
    """May a verdict of this check be reused at all?

    Only with declared inputs: otherwise the history of git is an input as well.  Not where git
    attributes, or commits of submodules, decide which content the input files have.
    """
    has_special = any(
        path.rpartition("/")[2] == ".gitattributes" or blob.startswith(SUBMODULE)
        for path, blob in tree.blob_ids.items()
    )
    is_command = spec.type is CheckType.COMMAND
    return is_command and bool(spec.inputs) and not names_commit(spec) and not has_special


def names_commit(spec: CheckSpec) -> bool:
    """Does the command ask about one commit, so that its result holds for that commit alone?"""
    words = (*spec.argv, spec.shell, *spec.env.values())
    return any(name in word for word in words for name in COMMIT_WORDS)


def is_reusable(finding: Finding) -> bool:
    """Only a plain pass that could have failed; a flaky one or known failures prove less."""
    return (
        finding.outcome is Outcome.PASSED
        and finding.can_fail
        and KNOWN_FAILURES not in finding.params
    )


def with_key(finding: Finding, key: VerdictKey) -> Finding:
    return replace(finding, params={**finding.params, VERDICT_KEY: key.parts})


def as_reused(finding: Finding, spec: CheckSpec, key: VerdictKey, origin: VerdictOrigin) -> Finding:
    """The stored finding as one of this check, on this commit, from that proof.

    Nothing ran, so no run of a flaky test is counted again.
    """
    params = {name: value for name, value in finding.params.items() if name != TEST_RUNS}
    from_ = {"run": origin.run_id, "task": origin.task_id, "commit": origin.commit}
    return replace(
        finding,
        check=spec.name,
        required=spec.required,
        on_failure=spec.on_failure,
        params={**params, VERDICT_KEY: key.parts, REUSED_FROM: from_},
        seconds=0.0,
        rerun_seconds=(),
        rerun_passes=0,
        log="",
    )
