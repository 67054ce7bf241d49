"""Every way an agent falls, through the installed program: its name, and what follows."""

from __future__ import annotations

import hashlib
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import (
    BOUND_S,
    SETTINGS,
    WHO,
    Place,
    a_plan,
    holds,
    rest_of,
    until,
    waits_for,
    writes,
)

pytestmark = pytest.mark.acceptance
CHANGED = "CHECKOUT_CHANGED"
SOON = "[retry.cause_specific.{kind}.backoff]\ninitial_delay_ms = 10\n"


def carried(place: Place, script: dict[str, Any], task: dict[str, Any], **more: Any) -> Any:
    """Run a plan of one task and return its end: exit code, the task, its journal."""
    checks = more.pop("checks", {"good": holds("a.txt")})
    held = {"id": "a", "checks": list(checks), **task}
    done = place.yaoki("run", place.plan(a_plan(script, [held], checks, **more)))
    entries = place.look("trace", "a", "--json").document["entries"]
    return done.code, place.task("a"), entries


def events(entries: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [entry["data"] for entry in entries if entry["event"] == name]


def kinds(entries: list[dict[str, Any]]) -> list[str]:
    named = ("RETRY_DECISION", "ESCALATE_DECISION")
    return [e["data"]["failure"]["kind"] for e in entries if e["event"] in named]


@pytest.mark.full
@pytest.mark.spec("0.1", "3.5", "4.6", "0.4")
def test_an_agent_that_changes_nothing_never_lands_and_its_retries_are_bounded(
    place: Place,
) -> None:
    code, task, entries = carried(place, {"a": [["claim_done"]]}, {})

    assert code == 4
    assert task["state"] == "ESCALATED"
    assert task["reason"] == "MAX_RETRIES"
    assert task["attempt"] == 3
    strategies = [d["strategy"] for d in events(entries, "RETRY_DECISION")]
    assert strategies == ["continue", "fresh"]
    assert place.git("rev-parse", f"yaoki/{task['id'].split('-')[0]}") == place.git(
        "rev-parse", "main"
    )


@pytest.mark.full
@pytest.mark.spec("4.6", "5.6")
def test_the_next_agent_of_the_chain_gets_a_task_that_the_first_fails(place: Place) -> None:
    def actor(*attempts: Any) -> dict[str, Any]:
        scenario = {"tasks": {"a": list(attempts)}}
        return {"preset": "scripted", "options": {"scenario": scenario}}

    plan = a_plan({}, [{"id": "a"}], {"good": holds("a.txt")})
    plan["agents"] = {"small": actor(["claim_done"]), "large": actor(writes("a.txt"))}
    plan["agent"] = ["small", "large"]

    assert place.yaoki("run", place.plan(plan)).code == 0

    entries = place.look("trace", "a", "--json").document["entries"]
    agents = [d["agent"] for d in events(entries, "ATTEMPT_STARTED")]
    assert agents == ["small", "small", "small", "large"]


@pytest.mark.full
@pytest.mark.spec("3.5")
def test_a_task_without_changes_is_done_if_the_plan_allows_it(place: Place) -> None:
    (place.repo / "a.txt").write_text("good\n")
    place.git("add", "-A")
    place.git(*WHO, "commit", "-qm", "done before")

    may = {"may_change_nothing": True}
    code, task, entries = carried(place, {"a": [["nothing"]]}, may)

    assert (code, task["state"]) == (0, "DONE")
    assert events(entries, "QUALITY_JUDGMENT")[0]["unchanged"] is True
    assert events(entries, "TASK_LANDED")[0]["already"] is True


@pytest.mark.full
@pytest.mark.spec("3.5", "4.2", "0.1")
def test_a_rate_limited_agent_without_changes_does_not_count_as_done(place: Place) -> None:
    """The checks pass on the base; but a rate-limited agent proves nothing by leaving it alone."""
    (place.repo / "a.txt").write_text("good\n")
    place.git("add", "-A")
    place.git(*WHO, "commit", "-qm", "done before")
    limited = [{"rate_limit": {"retry_after": 0}}]
    place.settings(SETTINGS + SOON.format(kind="RATE_LIMIT"))

    _, task, entries = carried(place, {"a": [limited, writes("b.txt")]}, {})

    assert kinds(entries) == ["RATE_LIMIT"]
    assert task["attempt"] == 2


@pytest.mark.quick_cases(1)
@pytest.mark.spec("3.6")
@pytest.mark.parametrize(
    ("acts", "task", "pattern"),
    [
        ([{"write": {"a.txt": "good\n", "README": "x"}}], {"scope": ["a.txt"]}, "out-of-scope"),
        ([{"write": {"a.txt": "good\n", ".yaoki/state.db": "x"}}], {}, "out-of-scope"),
        ([{"write": {"a.txt": "good\n", "yaoki.toml": "x"}}], {}, "out-of-scope"),
        (
            [{"write": {"a.txt": "good\n"}}, {"delete": ["README", "yaoki.toml"]}],
            {},
            "mass-deletion",
        ),
    ],
)
def test_a_change_beyond_its_bounds_is_sent_back_and_never_lands(
    place: Place, acts: list[Any], task: dict[str, Any], pattern: str
) -> None:
    script = {"a": [acts, [{"write": {"a.txt": "good\n"}}, {"run": ["git", "rm", "-qf", "b.txt"]}]]}
    if pattern == "mass-deletion" or task:
        script["a"][1] = [
            {"run": ["git", "checkout", "-q", place.git("rev-parse", "main"), "--", "."]},
            *writes("a.txt"),
        ]
    code, _, entries = carried(place, script, task)

    assert code == 0
    first = events(entries, "RETRY_DECISION")[0]["failure"]
    assert (first["kind"], first["pattern"]) == ("QUALITY_FAILURE", pattern)
    assert (place.repo / "README").exists()
    branch = place.status()["run_branch"]
    assert set(place.git("ls-tree", "--name-only", branch).split()) == {
        "README",
        "a.txt",
        "yaoki.toml",
    }


@pytest.mark.spec("3.8", "3.10", "4.2", "5.5")
def test_rate_limits_timeouts_and_crashes_are_distinguished(place: Place) -> None:
    """One task, one fall after the other; each is named by its facts, none by its prose."""
    falls = [
        [{"rate_limit": {"retry_after": 0}}],
        ["talk_429", {"exit": 0}],
        [{"die": "KILL"}],
        [{"complain": "error: 429 Too Many Requests, retrying in 3s"}, "hang"],
        writes("a.txt"),
    ]
    place.settings(f"{SETTINGS}agent_wait_s = 1.0\n{SOON.format(kind='RATE_LIMIT')}")

    code, _, entries = carried(place, {"a": falls}, {"retry": {"max_retries": 5}})

    assert code == 0
    assert kinds(entries) == [
        "RATE_LIMIT",
        "INCOMPLETE",
        "TRANSIENT_ERROR",
        "RATE_LIMIT",
    ]
    ended = [d["exit"].get("ended_by", "") for d in events(entries, "AGENT_FINISHED")]
    assert ended == ["", "", "", "waiting", ""]
    run_folder = place.repo / ".yaoki" / "runs"
    prompts = [p.read_bytes() for p in sorted(run_folder.glob("*/*/*/prompt.md"))]
    assert prompts[0] == prompts[1], "after a rate limit the very same words"
    assert prompts[2] == prompts[3], "after a death of the process the very same words"
    assert prompts[1] != prompts[2], "after an incomplete try the words say so"


@pytest.mark.full
@pytest.mark.spec("3.8", "4.2")
def test_a_hung_agent_is_ended_and_retried(place: Place) -> None:
    """A slow machine may be late for the second try as well: the last one tells."""
    place.settings(SETTINGS + SOON.format(kind="TIMEOUT"))
    task = {"hang": "2s", "retry": {"max_retries": 5}}

    code, _, entries = carried(place, {"a": [["hang"], writes("a.txt")]}, task)

    assert code == 0
    assert set(kinds(entries)) == {"TIMEOUT"}
    ended = [d["exit"].get("ended_by", "") for d in events(entries, "AGENT_FINISHED")]
    assert (ended[0], ended[-1]) == ("hang", "")


@pytest.mark.full
@pytest.mark.spec("3.8")
def test_a_silent_agent_causes_a_warning_and_is_not_ended(place: Place, tmp_path: Path) -> None:
    """Whoever reads a pipe to which nobody writes does nothing at all, for as long as we like."""
    place.settings(SETTINGS.replace("lease_s = 10.0", "lease_s = 4.0").replace("20.0", "4.5"))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    ours = os.open(pipe, os.O_RDWR)
    acts = [{"run": ["sh", "-c", f"read line < {pipe}"]}, *writes("a.txt")]
    plan = a_plan({"a": [acts]}, [{"id": "a"}], {"good": holds("a.txt")})

    worker = place.start("run", place.plan(plan))
    until(lambda: "WARNING" in place.story("a"), "the silence is told")
    for _ in range(2):
        looked_at_again(place)
    os.write(ours, b"\n")
    said = rest_of(worker)
    os.close(ours)

    assert worker.returncode == 0, said
    (told,) = [e["data"]["message"] for e in place.events("a") if e["event"] == "WARNING"]
    assert told.startswith("silent for ")


def looked_at_again(place: Place) -> None:
    """Each time its worker looks at an agent, it renews the lease."""
    (lease,) = (place.repo / ".yaoki" / "runs").glob("*/*/1/lease")
    before = lease.stat().st_mtime_ns
    until(lambda: lease.stat().st_mtime_ns != before, "the agent was looked at")


@pytest.mark.full
@pytest.mark.spec("5.7", "3.9")
@pytest.mark.parametrize(
    ("act", "words"), [("unsafe", "retry_safe: false"), ({"ask": "Blue or red?"}, "Blue or red?")]
)
def test_a_question_of_an_agent_is_escalated_at_once(place: Place, act: Any, words: str) -> None:
    code, task, entries = carried(place, {"a": [[act]]}, {})

    assert code == 4
    assert task["attempt"] == 1
    assert task["reason"] == "NEEDS_HUMAN"
    assert words in task["question"]
    assert events(entries, "RETRY_DECISION") == []


@pytest.mark.full
@pytest.mark.spec("10.4")
def test_a_takeover_whose_work_fails_is_escalated_again(place: Place) -> None:
    """No agent goes over what a person has just taken in hand."""
    _, task, _ = carried(place, {"a": [[{"ask": "How?"}]]}, {})
    worktree = next((place.home / "worktrees").glob(f"*/{task['id']}"))
    (worktree / "a.txt").write_text("bad\n")

    place.yaoki("answer", "a", "done")
    code = place.yaoki("resume", "--quiet").code

    again = place.task("a")
    assert (code, again["state"], again["attempt"]) == (4, "ESCALATED", 2)
    assert "a.txt does not hold good" in again["question"]


@pytest.mark.full
@pytest.mark.spec("0.2", "14.2")
def test_an_agent_that_changes_git_configuration_is_escalated(place: Place) -> None:
    code, task, _ = carried(place, {"a": [["tamper_config", *writes("a.txt")]]}, {})

    assert code == 4
    assert "configuration changed while the agent was at work: config" in task["question"]
    # Whoever did it himself goes on with the work that is there, and the report says so.
    assert place.yaoki("answer", "a", "waive").code == 0
    done = place.yaoki("resume", "--quiet")
    assert done.code == 0, done.out + done.err
    assert place.task("a")["attempt"] == 1
    assert place.yaoki("report", "--format", "json").document["numbers"]["waived"] == 1


@pytest.mark.full
@pytest.mark.spec("0.2", "14.2", "14.3")
def test_an_agent_that_changes_the_settings_of_its_own_worktree_is_escalated(place: Place) -> None:
    """They hold for every git that works there, and so for ours."""
    place.git("config", "extensions.worktreeConfig", "true")
    plant = {"run": ["git", "config", "--worktree", "filter.x.clean", "evil"]}

    code, task, _ = carried(place, {"a": [[plant, *writes("a.txt")]]}, {})

    assert code == 4
    assert f"at work: worktrees/{task['id']}/config.worktree" in task["question"]


@pytest.mark.full
@pytest.mark.spec("14.2", "14.3")
@pytest.mark.parametrize("moved", [False, True], ids=["at home", "by variable"])
def test_a_changed_agent_setting_of_the_user_is_reported(
    place: Place, tmp_path: Path, moved: bool
) -> None:
    home = tmp_path / "person"
    folder = tmp_path / "conf" if moved else home / ".claude"
    folder.mkdir(parents=True)
    (folder / "settings.json").write_text("{}")
    place.env |= {"HOME": str(home), **({"CLAUDE_CONFIG_DIR": str(folder)} if moved else {})}
    plant = {"run": ["sh", "-c", f"echo '{{\"hooks\": {{}}}}' > {folder}/settings.json"]}

    code, _, entries = carried(place, {"a": [[plant, *writes("a.txt")]]}, {})

    assert code == 0, "a person may have written it"
    (told,) = [entry["data"]["message"] for entry in entries if entry["event"] == CHANGED]
    name = f"{folder}/settings.json" if moved else "~/.claude/settings.json"
    assert f"while the agent was at work: {name};" in told


@pytest.mark.spec("4.2", "4.8", "4.7", "3.1")
def test_a_check_that_cannot_run_does_not_count_against_the_agent(place: Place) -> None:
    checks = {"gone": {"shell": "no-such-tool-anywhere"}}

    code, task, entries = carried(place, {"a": [writes("a.txt")]}, {}, checks=checks)

    assert code == 4
    assert task["reason"] == "SYSTEM_ERROR_PERMANENT"
    escalated = events(entries, "ESCALATE_DECISION")[0]
    assert escalated["failure"]["ours"] is True
    assert escalated["reason"]["type"] == "FATAL_ERROR"
    assert events(entries, "RETRY_DECISION") == []


@pytest.mark.spec("3.1", "4.2")
def test_a_missing_agent_is_refused_before_anything_is_stored(place: Place) -> None:
    plan = a_plan({}, [{"id": "a"}], {"good": holds("a.txt")})
    plan["agents"] = {"ghost": {"command": ["no-such-agent-anywhere"]}}
    plan["agent"] = "ghost"

    done = place.yaoki("run", place.plan(plan))

    assert done.code == 2
    assert "no-such-agent-anywhere" in done.err
    assert place.yaoki("status").code == 6


@pytest.mark.full
@pytest.mark.spec("6.8", "3.3")
def test_a_skipped_check_has_not_passed_and_an_aborting_check_escalates_at_once(
    place: Place,
) -> None:
    checks = {
        "style": {**holds("style.txt"), "on_failure": "skip"},
        "optional": {**holds("nice.txt"), "required": False},
        "good": {**holds("a.txt"), "on_failure": "abort"},
    }
    code, task, entries = carried(place, {"a": [writes("a.txt", "bad\n")]}, {}, checks=checks)

    assert code == 4
    assert task["attempt"] == 1
    outcomes = {d["check"]: d["outcome"] for d in events(entries, "CHECK_FINISHED")}
    assert outcomes == {"style": "SKIPPED", "optional": "FAILED", "good": "FAILED"}


@pytest.mark.full
@pytest.mark.spec("1.2")
def test_report_and_check_tasks_succeed_without_a_change(place: Place) -> None:
    script = {
        "note": [["nothing"], [{"say": "The code is fine."}]],
        "work": [writes("a.txt")],
    }
    tasks = [
        {"id": "note", "kind": "report", "checks": []},
        {"id": "work", "checks": ["good"]},
        {"id": "proof", "kind": "check", "needs": ["work"], "checks": ["good"]},
    ]
    done = place.yaoki("run", place.plan(a_plan(script, tasks, {"good": holds("a.txt")})))

    assert done.code == 0, done.out + done.err
    states = {t["name"]: (t["state"], t["attempt"]) for t in place.status()["tasks"]}
    assert states == {"note": ("DONE", 2), "work": ("DONE", 1), "proof": ("DONE", 1)}


@pytest.mark.full
@pytest.mark.spec("3.1")
def test_setup_and_included_files_are_ready_before_the_agent_starts(place: Place) -> None:
    (place.repo / ".gitignore").write_text("made/\nsecret.env\n")
    (place.repo / ".worktreeinclude").write_text("secret.env\n")
    place.git("add", "-A")
    place.git(*WHO, "commit", "-qm", "ignore")
    (place.repo / "secret.env").write_text("good\n")
    act = [{"run": ["sh", "-c", "cat made/it secret.env > a.txt"]}]
    task = {"setup": [["sh", "-c", "mkdir made && echo good > made/it"]]}

    code, _, _ = carried(place, {"a": [act]}, task)

    assert code == 0
    assert place.show(place.status()["run_branch"], "a.txt") == "good\ngood"


def fingerprint(place: Place) -> dict[str, str]:
    """Everything of the user's that must never change, to the byte."""
    git = place.repo / ".git"
    files = [p for p in place.repo.rglob("*") if p.is_file() and ".yaoki" not in p.parts]
    own = [p for p in files if git not in p.parents]
    own += [git / name for name in ("HEAD", "index", "config", "refs/stash", "logs/HEAD")]
    own += sorted((git / "hooks").glob("*"))
    found = {str(p): hashlib.sha256(p.read_bytes()).hexdigest() for p in own}
    return {**found, "main": place.git("rev-parse", "main"), "stash": place.git("stash", "list")}


@pytest.mark.full
@pytest.mark.spec("0.2", "9.5", "9.6")
def test_a_dirty_checkout_is_byte_identical_after_run_cancel_merge_and_undo(place: Place) -> None:
    (place.repo / "README").write_text("stashed\n")
    place.git(*WHO, "stash")
    (place.repo / "README").write_text("modified\n")
    (place.repo / "staged.txt").write_text("staged\n")
    place.git("add", "staged.txt")
    (place.repo / "untracked.txt").write_text("untracked\n")
    before = fingerprint(place)

    code, task, _ = carried(place, {"a": [writes("a.txt")]}, {})
    assert (code, fingerprint(place)) == (0, before)

    run = task["id"].split("-")[0]
    refused = place.yaoki("merge", run)
    assert refused.code == 6, "main is checked out here, so moving it would bend the checkout"
    assert "git merge" in refused.err
    assert place.yaoki("merge", run, "--into", "release").code == 0
    assert place.show("release", "a.txt") == "good"
    assert fingerprint(place) == before

    assert place.yaoki("undo", "a").code == 0
    assert fingerprint(place) == before

    slow = a_plan({"b": [[{"sleep": 60}]]}, [{"id": "b"}], {"good": holds("b.txt")})
    worker = place.start("run", place.plan(slow, "slow.json"))
    until(lambda: any(t["stage"] == "WORK" for t in place.status()["tasks"]), "at work")
    assert place.yaoki("cancel").code in {0, 3}
    worker.communicate(timeout=BOUND_S)
    assert fingerprint(place) == before


@pytest.mark.quick_cases(1)
@pytest.mark.spec("3.8", "9.5", "8.2")
@pytest.mark.parametrize("with_worker", [True, False], ids=["live worker", "dead worker"])
def test_cancel_ends_the_process_tree_and_saves_the_work_before_it_returns(
    place: Place, tmp_path: Path, with_worker: bool
) -> None:
    """A detached grandchild included; also when the worker itself was killed before."""
    note = tmp_path / "grandchild.pid"
    acts = [*writes("half.txt", "half\n"), {"grandchild": str(note)}, {"burn": 60}]
    plan = a_plan({"a": [acts]}, [{"id": "a"}], {"good": holds("a.txt")})
    worker = place.start("run", place.plan(plan))
    until(lambda: note.exists() and note.read_text().strip(), "the grandchild is there")
    pid = int(note.read_text())
    if not with_worker:
        worker.send_signal(signal.SIGKILL)
        worker.wait()

    cancelled = place.yaoki("cancel")
    gone = not _alive(pid)
    worker.communicate(timeout=BOUND_S)

    assert cancelled.code in {0, 3}, cancelled.err
    assert gone, "nothing of the tree is left when cancel returns"
    assert place.task("a")["state"] == "CANCELLED"
    kept = place.yaoki("recover", "--json").document
    assert "a" in json.dumps(kept)
    assert place.yaoki("recover", "a", "--branch", "rescued").code == 0
    assert place.show("rescued", "half.txt") == "half"


def _alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.spec("3.2", "11.5")
def test_thirty_megabytes_of_output_are_stored_only_in_the_log_file(place: Place) -> None:
    flood = [{"flood": 30_000_000}, *writes("a.txt")]

    code, task, _ = carried(place, {"a": [flood]}, {})

    assert code == 0
    run = task["id"].split("-")[0]
    log = place.repo / ".yaoki" / "runs" / run / task["id"] / "1" / "out.log"
    assert log.stat().st_size >= 30_000_000
    assert place.bytes_stored() < 2_000_000


@pytest.mark.full
@pytest.mark.spec("4.1", "3.3")
def test_a_conflict_is_sent_to_the_agent_with_its_markers(place: Place) -> None:
    (place.repo / "shared.txt").write_text("grey\n")
    place.git("add", "-A")
    place.git(*WHO, "commit", "-qm", "shared")
    seen = place.folder / "seen.txt"
    look = {"run": ["sh", "-c", f"cat shared.txt > {seen}"]}
    began, go = place.folder / "began", place.folder / "go"
    script = {
        "left": [[waits_for(began), {"write": {"shared.txt": "teal\n"}}]],
        "right": [
            [{"run": ["touch", str(began)]}, waits_for(go), {"write": {"shared.txt": "rose\n"}}],
            [look, {"write": {"shared.txt": "both\n"}}],
        ],
    }
    checks = {"there": {"file": {"path": "shared.txt", "exists": True}}}
    tasks = [{"id": "left"}, {"id": "right"}]

    worker = place.start("run", place.plan(a_plan(script, tasks, checks)))
    until(began.exists, "both stand on the same base")
    until(lambda: place.task("left")["state"] == "DONE", "the other has landed")
    go.touch()
    said = rest_of(worker)

    assert worker.returncode == 0, said
    assert "<<<<<<<" in seen.read_text()
    assert place.show(place.status()["run_branch"], "shared.txt") == "both"
    entries = place.look("trace", "right", "--json").document["entries"]
    assert kinds(entries) == ["CONFLICT"]
    assert "shared.txt" in place.prompt(place.task("right"), 2)


@pytest.mark.full
@pytest.mark.spec("14.2")
def test_a_secret_variable_reaches_no_agent_and_no_stored_text(place: Place) -> None:
    secret = "sk-planted-0123456789abcdef0123456789abcdef"
    os_env = {"PLANTED_API_KEY": secret}
    act = [{"run": ["sh", "-c", "env >&2"]}, {"complain": f"key {secret}"}, "nothing"]
    plan = a_plan({"a": [act, writes("a.txt")]}, [{"id": "a"}], {"good": holds("a.txt")})
    # The plan itself holds the secret here, so its own copy is not what is looked for.
    file = place.plan(plan)

    assert place.yaoki("run", file, env=os_env).code == 0

    run_folder = place.repo / ".yaoki" / "runs"
    prompts = b"".join(p.read_bytes() for p in run_folder.glob("*/*/*/prompt.md"))
    assert secret.encode() not in prompts
    shown = place.yaoki("logs", "a", "--attempt", "1", "--err", env=os_env)
    assert "PLANTED_API_KEY" not in shown.out, "the agent's environment is an allow-list"
    assert secret not in shown.out
    trace = place.yaoki("trace", "a", "--json", env=os_env).document["entries"]
    finished = [e for e in trace if e["event"] != "TASK_SUBMITTED"]
    assert secret not in json.dumps(finished)
    assert os.environ.get("PLANTED_API_KEY") is None
