"""Every kind of agent failure through the installed program: its classification and consequence."""

from __future__ import annotations

import hashlib
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.prepared import Prepared
from tests.acceptance.project import (
    BOUND_S,
    GIT_IDENTITY,
    SETTINGS,
    Project,
    a_plan,
    file_contains,
    wait_until,
    writes,
)

pytestmark = pytest.mark.acceptance
SOON = "[retry.cause_specific.{kind}.backoff]\ninitial_delay_ms = 10\n"


def run_one_task(
    project: Project, script: dict[str, Any], task: dict[str, Any], **more: Any
) -> Any:
    """Run a plan of one task and return its end: exit code, the task, its journal."""
    checks = more.pop("checks", {"good": file_contains("a.txt")})
    held = {"id": "a", "checks": list(checks), **task}
    done = project.yaoki("run", project.plan(a_plan(script, [held], checks, **more)))
    entries = project.query("trace", "a", "--json").document["entries"]
    return done.code, project.task("a"), entries


def event_data(entries: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [entry["data"] for entry in entries if entry["event"] == name]


def failure_kinds(entries: list[dict[str, Any]]) -> list[str]:
    named = ("RETRY_DECISION", "ESCALATE_DECISION")
    return [e["data"]["failure"]["kind"] for e in entries if e["event"] in named]


# ------------------------------------------------------------------ one run in which nothing lands

NOTHING_LANDS_ACTS: dict[str, Any] = {
    "idle": ["claim_done"],
    "unsafe": ["unsafe"],
    "asks": [{"ask": "Blue or red?"}],
    "aborts": writes("aborts.txt", "bad\n"),
}


def run_without_landings(project: Project) -> str:
    """The branch of a run whose tasks all end with a question."""
    checks: dict[str, Any] = {name: file_contains(f"{name}.txt") for name in NOTHING_LANDS_ACTS}
    checks["aborts"]["on_failure"] = "abort"
    checks["style"] = {**file_contains("style.txt"), "on_failure": "skip"}
    checks["optional"] = {**file_contains("nice.txt"), "required": False}
    tasks: list[dict[str, Any]] = [{"id": name, "checks": [name]} for name in NOTHING_LANDS_ACTS]
    tasks[-1]["checks"] = ["style", "optional", "aborts"]
    script = {name: [acts] for name, acts in NOTHING_LANDS_ACTS.items()}
    done = project.yaoki("run", project.plan(a_plan(script, tasks, checks)), "--quiet")
    assert done.code == 4, done.out + done.err
    return str(project.status()["run_branch"])


@pytest.mark.full
@pytest.mark.spec("0.1", "3.5", "4.6", "0.4")
def test_an_agent_that_changes_nothing_never_lands_and_its_retries_are_bounded(
    prepared: Prepared,
) -> None:
    project, branch = prepared.after(run_without_landings)
    task, entries = project.task("idle"), project.events("idle")

    assert task["state"] == "ESCALATED"
    assert task["reason"] == "MAX_RETRIES"
    assert task["attempt"] == 3
    strategies = [d["strategy"] for d in event_data(entries, "RETRY_DECISION")]
    assert strategies == ["continue", "fresh"]
    assert project.git("rev-parse", branch) == project.git("rev-parse", "main")


@pytest.mark.full
@pytest.mark.spec("5.7", "3.9", "10.4", "6.8", "3.3")
def test_what_needs_a_person_is_escalated_at_once_and_again_after_a_bad_takeover(
    prepared: Prepared,
) -> None:
    """A failure that is unsafe to retry, a question, and a check that aborts; a check that was
    skipped has not passed.  No agent continues the work of a takeover.
    """
    project, _ = prepared.after(run_without_landings)
    tasks = {name: project.task(name) for name in ("unsafe", "asks", "aborts")}
    finished = event_data(project.events("aborts"), "CHECK_FINISHED")
    retried = [event_data(project.events(name), "RETRY_DECISION") for name in tasks]
    worktree = next((project.home / "worktrees").glob(f"*/{tasks['asks']['id']}"))
    (worktree / "asks.txt").write_text("bad\n")

    project.yaoki("answer", "asks", "done")
    code = project.yaoki("resume", "--quiet").code

    assert [task["attempt"] for task in tasks.values()] == [1, 1, 1]
    assert retried == [[], [], []]
    for name, words in {"unsafe": "retry_safe: false", "asks": "Blue or red?"}.items():
        assert tasks[name]["reason"] == "NEEDS_HUMAN"
        assert words in tasks[name]["question"]
    outcomes = {d["check"]: d["outcome"] for d in finished}
    assert outcomes == {"style": "SKIPPED", "optional": "FAILED", "aborts": "FAILED"}
    again = project.task("asks")
    assert (code, again["state"], again["attempt"]) == (4, "ESCALATED", 2)
    assert "asks.txt does not hold good" in again["question"]


# ------------------------------------------------------------------ one run in which all lands

SECRET = "sk-planted-0123456789abcdef0123456789abcdef"
PLANTED = {"PLANTED_API_KEY": SECRET}


def run_with_landings(project: Project) -> str:
    """The branch of a run whose tasks all land; each has a check of its name, except `unchanged`,
    `limited` and `note`.  The lease limits how early an agent that is silent is warned about.
    """
    for name, text in {
        "before.txt": "good\n", ".gitignore": "made/\nsecret.env\n",
        ".worktreeinclude": "secret.env\n",
    }.items():  # fmt: skip
        (project.repo / name).write_text(text)
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "done before")
    (project.repo / "secret.env").write_text("good\n")
    soon = "".join(SOON.format(kind=kind) for kind in ("RATE_LIMIT", "TIMEOUT"))
    times = SETTINGS.replace("lease_s = 10.0", "lease_s = 6.0").replace("20.0", "6.5")
    project.settings(times + soon)
    script = {
        "hangs": [["hang"], writes("hangs.txt")],
        "unchanged": [["nothing"]],
        "limited": [[{"rate_limit": {"retry_after": 0}}], writes("limited.txt")],
        "note": [["nothing"], [{"say": "The code is fine."}]],
        "set-up": [[{"run": ["sh", "-c", "cat made/it secret.env > set-up.txt"]}]],
        "leaks": [
            [{"run": ["sh", "-c", "env >&2"]}, {"complain": f"key {SECRET}"}, "nothing"],
            writes("leaks.txt"),
        ],
    }
    tasks: list[dict[str, Any]] = [
        {"id": "hangs", "checks": ["hangs"], "hang": 8.5, "retry": {"max_retries": 5}},
        {"id": "unchanged", "checks": ["before"], "may_change_nothing": True},
        {"id": "limited", "checks": ["before"]},
        {"id": "note", "kind": "report", "checks": []},
        {
            "id": "set-up",
            "checks": ["set-up"],
            "setup": [["sh", "-c", "mkdir made && echo good > made/it"]],
        },
        {"id": "leaks", "checks": ["leaks"]},
        {"id": "proof", "kind": "check", "needs": ["set-up"], "checks": ["set-up"]},
    ]
    checked = ("before", "hangs", "set-up", "leaks")
    plan = a_plan(script, tasks, {name: file_contains(f"{name}.txt") for name in checked})
    done = project.yaoki("run", project.plan(plan), "--quiet", env=PLANTED)
    assert done.code == 0, done.out + done.err
    return str(project.status()["run_branch"])


@pytest.mark.full
@pytest.mark.spec("3.5", "4.2", "0.1", "1.2")
def test_an_attempt_without_changes_is_done_only_where_the_plan_and_the_agent_allow_it(
    prepared: Prepared,
) -> None:
    """The checks pass on the base, but a rate-limited agent has not done the task."""
    project, _ = prepared.after(run_with_landings)
    entries = project.events("unchanged")

    states = {t["name"]: (t["state"], t["attempt"]) for t in project.status()["tasks"]}

    assert states["unchanged"] == states["proof"] == ("DONE", 1)
    assert event_data(entries, "QUALITY_JUDGMENT")[0]["unchanged"] is True
    assert event_data(entries, "TASK_LANDED")[0]["already"] is True
    assert states["note"] == states["limited"] == ("DONE", 2)
    assert failure_kinds(project.events("limited")) == ["RATE_LIMIT"]


@pytest.mark.full
@pytest.mark.spec("3.8", "4.2")
def test_a_silent_agent_causes_a_warning_and_when_it_hangs_it_is_ended_and_retried(
    prepared: Prepared,
) -> None:
    """On a slow machine the second attempt may time out too, so the last attempt counts."""
    project, _ = prepared.after(run_with_landings)
    entries = project.events("hangs")

    names = [entry["event"] for entry in entries]
    assert names.index("WARNING") < names.index("AGENT_FINISHED")
    assert event_data(entries, "WARNING")[0]["message"].startswith("silent for ")
    assert set(failure_kinds(entries)) == {"TIMEOUT"}
    ended = [d["exit"].get("ended_by", "") for d in event_data(entries, "AGENT_FINISHED")]
    assert (ended[0], ended[-1]) == ("hang", "")


@pytest.mark.full
@pytest.mark.spec("3.1")
def test_setup_and_included_files_are_ready_before_the_agent_starts(prepared: Prepared) -> None:
    project, branch = prepared.after(run_with_landings)

    assert project.task("set-up")["attempt"] == 1
    assert project.show(branch, "set-up.txt") == "good\ngood"


@pytest.mark.full
@pytest.mark.spec("14.2")
def test_a_secret_variable_reaches_no_agent_and_no_stored_text(prepared: Prepared) -> None:
    """The plan itself contains the secret here, so its stored copy is not searched."""
    project, _ = prepared.after(run_with_landings)

    run_folder = project.repo / ".yaoki" / "runs"
    prompts = b"".join(p.read_bytes() for p in run_folder.glob("*/*/*/prompt.md"))
    assert SECRET.encode() not in prompts
    shown = project.yaoki("logs", "leaks", "--attempt", "1", "--err", env=PLANTED)
    assert "key " in shown.out
    assert "PLANTED_API_KEY" not in shown.out, "the agent's environment is an allow-list"
    assert SECRET not in shown.out
    trace = project.yaoki("trace", "leaks", "--json", env=PLANTED).document["entries"]
    finished = [e for e in trace if e["event"] != "TASK_SUBMITTED"]
    assert SECRET not in json.dumps(finished)
    assert os.environ.get("PLANTED_API_KEY") is None


# ------------------------------------------------------------------ further runs


def add_old_files(project: Project) -> None:
    """Enough files, so that those that the other tasks add do not make a deletion a small one."""
    (project.repo / "old").mkdir()
    for n in range(8):
        (project.repo / "old" / str(n)).write_text(f"{n}\n")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "old files")


@pytest.mark.spec("3.6")
def test_a_change_beyond_its_bounds_is_sent_back_and_never_lands(project: Project) -> None:
    add_old_files(project)
    base = project.git("rev-parse", "main")
    back: dict[str, Any] = {"run": ["git", "checkout", "-q", base, "--", "."]}
    good = writes("narrow.txt")
    script = {"narrow": [[*good, {"write": {"README": "x"}}], [back, *good]]}
    tasks = [{"id": "narrow", "checks": ["narrow"], "scope": ["narrow.txt"]}]
    plan = a_plan(script, tasks, {"narrow": file_contains("narrow.txt")})

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    first = event_data(project.events("narrow"), "RETRY_DECISION")[0]["failure"]
    assert (first["kind"], first["pattern"]) == ("QUALITY_FAILURE", "out-of-scope")
    assert (project.repo / "README").exists()
    branch = project.status()["run_branch"]
    landed = {"README", "old", "yaoki.toml", "narrow.txt"}
    assert set(project.git("ls-tree", "--name-only", branch).split()) == landed
    assert project.show(branch, "README") == "hello"


@pytest.mark.full
@pytest.mark.spec("3.6")
def test_a_change_of_yaokis_own_files_or_of_most_files_never_lands(project: Project) -> None:
    add_old_files(project)
    acts: dict[str, list[Any]] = {
        "own": [{"write": {".yaoki/state.db": "x", "yaoki.toml": "x"}}],
        "deletes": [{"run": ["git", "rm", "-rqf", "README", "yaoki.toml", "old"]}],
    }
    script = {name: [[*writes(f"{name}.txt"), *more]] for name, more in acts.items()}
    tasks = [{"id": name, "checks": [name], "retry": {"max_retries": 0}} for name in acts]
    plan = a_plan(script, tasks, {name: file_contains(f"{name}.txt") for name in acts})

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 4, done.out + done.err
    failures = [
        event_data(project.events(name), "ESCALATE_DECISION")[0]["failure"] for name in acts
    ]
    assert {failure["kind"] for failure in failures} == {"QUALITY_FAILURE"}
    assert [failure["pattern"] for failure in failures] == ["out-of-scope", "mass-deletion"]
    for path in (".yaoki/state.db", "yaoki.toml"):
        assert path in project.task("own")["question"]
    branch = project.status()["run_branch"]
    assert project.git("rev-parse", branch) == project.git("rev-parse", "main")


TAKES_BACK = """\
case "$1" in
*"git checkout "*) $(echo "$1" | grep -o "git checkout [0-9a-f]* --") README;;
*) echo x > README; echo good > narrow.txt;;
esac
"""


@pytest.mark.spec("7.3")
def test_a_prompt_names_the_command_that_takes_a_change_back(project: Project) -> None:
    """The first attempt is committed, so plain `git restore` has nothing to restore."""
    agent = project.folder / "agent.sh"
    agent.write_text(TAKES_BACK)
    plan = a_plan(
        {},
        [{"id": "narrow", "scope": ["narrow.txt"], "agent": "obeys"}],
        {"narrow": file_contains("narrow.txt")},
    )
    plan["agents"]["obeys"] = {"command": ["sh", str(agent)]}

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    assert len(event_data(project.events("narrow"), "RETRY_DECISION")) == 1
    assert project.show(project.status()["run_branch"], "README") == "hello"


@pytest.mark.spec("3.8", "3.10", "4.2", "5.5")
@pytest.mark.long
def test_rate_limits_timeouts_and_crashes_are_distinguished(project: Project) -> None:
    """One task with one failure after the other, each classified by facts and not by prose."""
    falls = [
        [{"rate_limit": {"retry_after": 0}}],
        ["talk_429", {"exit": 0}],
        [{"die": "KILL"}],
        [{"complain": "error: 429 Too Many Requests, retrying in 3s"}, "hang"],
        writes("a.txt"),
    ]
    project.settings(f"{SETTINGS}agent_wait_s = 1.0\n{SOON.format(kind='RATE_LIMIT')}")

    code, _, entries = run_one_task(project, {"a": falls}, {"retry": {"max_retries": 5}})

    assert code == 0
    assert failure_kinds(entries) == [
        "RATE_LIMIT",
        "INCOMPLETE",
        "TRANSIENT_ERROR",
        "RATE_LIMIT",
    ]
    ended = [d["exit"].get("ended_by", "") for d in event_data(entries, "AGENT_FINISHED")]
    assert ended == ["", "", "", "waiting", ""]
    run_folder = project.repo / ".yaoki" / "runs"
    prompts = [p.read_bytes() for p in sorted(run_folder.glob("*/*/*/prompt.md"))]
    assert prompts[0] == prompts[1], "after a rate limit the very same words"
    assert prompts[2] == prompts[3], "after a death of the process the very same words"
    assert prompts[1] != prompts[2], "after an incomplete try the words say so"


@pytest.mark.full
@pytest.mark.spec("0.2", "14.2", "14.3", "14.4", "16.10")
def test_an_agent_that_changes_git_configuration_is_escalated_and_a_retry_does_not_accept_it(
    project: Project,
) -> None:
    """That of the repository, and that of its own worktree, which yaoki's git obeys as well."""
    project.git("config", "extensions.worktreeConfig", "true")
    plant = {"run": ["git", "config", "--worktree", "filter.x.clean", "evil"]}
    acts = ["tamper_config", plant, *writes("a.txt")]

    code, task, _ = run_one_task(project, {"a": [acts]}, {})

    assert code == 4
    words = "configuration changed after the task began: config filter.tampered.clean, "
    assert words in task["question"]
    assert f"worktrees/{task['id']}/config.worktree" in task["question"]
    assert project.yaoki("answer", "a", "retry").code == 0
    again = project.yaoki("resume", "--quiet")
    assert again.code == 4, again.out
    assert "git's own configuration changed" in project.task("a")["question"]
    # A person who made the change continues with the existing work, and the report says so.
    attempt = project.task("a")["attempt"]
    assert project.yaoki("answer", "a", "waive").code == 0
    done = project.yaoki("resume", "--quiet")
    assert done.code == 0, done.out + done.err
    assert project.task("a")["attempt"] == attempt
    assert project.yaoki("report", "--format", "json").document["numbers"]["waived"] == 1


@pytest.mark.spec("4.2", "4.8", "4.7", "3.1")
def test_a_check_that_cannot_run_does_not_count_against_the_agent(project: Project) -> None:
    # With `eval` the program is not looked for before the run.
    checks = {"gone": {"shell": "eval no-such-tool-anywhere"}}

    code, task, entries = run_one_task(project, {"a": [writes("a.txt")]}, {}, checks=checks)

    assert code == 4
    assert task["reason"] == "SYSTEM_ERROR_PERMANENT"
    escalated = event_data(entries, "ESCALATE_DECISION")[0]
    assert escalated["failure"]["ours"] is True
    assert escalated["reason"]["type"] == "FATAL_ERROR"
    assert event_data(entries, "RETRY_DECISION") == []


@pytest.mark.spec("3.1", "4.2")
def test_a_missing_agent_is_refused_before_anything_is_stored(project: Project) -> None:
    plan = a_plan({}, [{"id": "a"}], {"good": file_contains("a.txt")})
    plan["agents"] = {"ghost": {"command": ["no-such-agent-anywhere"]}}
    plan["agent"] = "ghost"

    done = project.yaoki("run", project.plan(plan))

    assert done.code == 2
    assert "no-such-agent-anywhere" in done.err
    assert project.yaoki("status").code == 6


def fingerprint(project: Project) -> dict[str, str]:
    """Everything of the user's that must never change, to the byte."""
    git = project.repo / ".git"
    files = [p for p in project.repo.rglob("*") if p.is_file() and ".yaoki" not in p.parts]
    own = [p for p in files if git not in p.parents]
    own += [git / name for name in ("HEAD", "index", "config", "refs/stash", "logs/HEAD")]
    own += sorted((git / "hooks").glob("*"))
    found = {str(p): hashlib.sha256(p.read_bytes()).hexdigest() for p in own}
    return {
        **found,
        "main": project.git("rev-parse", "main"),
        "stash": project.git("stash", "list"),
    }


@pytest.mark.full
@pytest.mark.spec("0.2", "9.5", "9.6")
def test_a_dirty_checkout_is_byte_identical_after_run_cancel_merge_and_undo(
    project: Project,
) -> None:
    (project.repo / "README").write_text("stashed\n")
    project.git(*GIT_IDENTITY, "stash")
    (project.repo / "README").write_text("modified\n")
    (project.repo / "staged.txt").write_text("staged\n")
    project.git("add", "staged.txt")
    (project.repo / "untracked.txt").write_text("untracked\n")
    before = fingerprint(project)

    code, task, _ = run_one_task(project, {"a": [writes("a.txt")]}, {})
    assert (code, fingerprint(project)) == (0, before)

    run = task["id"].split("-")[0]
    refused = project.yaoki("merge", run)
    assert refused.code == 6, "main is checked out here, so moving it would bend the checkout"
    assert "git merge" in refused.err
    assert project.yaoki("merge", run, "--into", "release").code == 0
    assert project.show("release", "a.txt") == "good"
    assert fingerprint(project) == before

    assert project.yaoki("undo", "a").code == 0
    assert fingerprint(project) == before

    slow = a_plan({"b": [[{"sleep": 60}]]}, [{"id": "b"}], {"good": file_contains("b.txt")})
    with project.beside("run", project.plan(slow, "slow.json")):
        wait_until(lambda: any(t["stage"] == "WORK" for t in project.status()["tasks"]), "at work")
        assert project.yaoki("cancel").code in {0, 3}
    assert fingerprint(project) == before


@pytest.mark.quick_cases(1)
@pytest.mark.spec("3.8", "9.5", "8.2")
@pytest.mark.parametrize("with_worker", [True, False], ids=["live worker", "dead worker"])
def test_cancel_ends_the_process_tree_and_saves_the_work_before_it_returns(
    project: Project, tmp_path: Path, with_worker: bool
) -> None:
    """A detached grandchild included; also when the worker itself was killed before."""
    note = tmp_path / "grandchild.pid"
    acts = [*writes("half.txt", "half\n"), {"grandchild": str(note)}, {"burn": 60}]
    plan = a_plan({"a": [acts]}, [{"id": "a"}], {"good": file_contains("a.txt")})
    worker = project.start("run", project.plan(plan))
    wait_until(lambda: note.exists() and note.read_text().strip(), "the grandchild is there")
    pid = int(note.read_text())
    if not with_worker:
        worker.send_signal(signal.SIGKILL)
        worker.wait()

    cancelled = project.yaoki("cancel", "--json")
    gone = not _alive(pid)
    worker.communicate(timeout=BOUND_S)

    assert cancelled.code in {0, 3}, cancelled.err
    assert gone, "nothing of the tree is left when cancel returns"
    task = project.task("a")
    assert task["state"] == "CANCELLED"
    if not with_worker:
        assert cancelled.document["ending"] == []
        assert task["id"] in cancelled.document["kept"]
    kept = project.yaoki("recover", "--json").document
    assert "a" in json.dumps(kept)
    assert project.yaoki("recover", "a", "--branch", "rescued").code == 0
    assert project.show("rescued", "half.txt") == "half"


def _alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.spec("3.2", "11.5")
def test_thirty_megabytes_of_output_are_stored_only_in_the_log_file(project: Project) -> None:
    flood = [{"flood": 30_000_000}, *writes("a.txt")]

    code, task, _ = run_one_task(project, {"a": [flood]}, {})

    assert code == 0
    run = task["id"].split("-")[0]
    log = project.repo / ".yaoki" / "runs" / run / task["id"] / "1" / "out.log"
    assert log.stat().st_size >= 30_000_000
    assert project.store_bytes() < 2_000_000
