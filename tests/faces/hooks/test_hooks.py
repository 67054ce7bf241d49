"""The hook command with hand-made input: it always answers, in time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import tap_script, wait_until
from tests.acceptance.test_flaky_tests import ENTRY
from tests.acceptance.test_sandbox import needs_bubblewrap
from tests.faces.hooks.hooked_repository import BOUND_S, CHECK, HANG, HookedProject, alive, context
from tests.time_limits import has_line, run_until_started


@pytest.fixture
def project(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HookedProject]:
    project = HookedProject(tmp_path, tmp_path_factory.getbasetemp().parent / "pycache")
    yield project
    pid = tmp_path / "pid"
    if pid.exists() and alive(int(pid.read_text())):
        os.kill(int(pid.read_text()), signal.SIGKILL)


# ------------------------------------------------------------------ the gate


@pytest.mark.spec("12.6")
def test_a_stop_is_refused_with_the_reason_until_the_checks_pass(project: HookedProject) -> None:
    refused = project.stop()
    stood = project.session()
    project.write_work("good\n")
    passed = project.stop(stop_hook_active=True)

    assert refused["decision"] == "block"
    assert "# The last failure" in refused["reason"]
    assert "a.txt does not hold good" in refused["reason"]
    assert "try 1 of 4" in refused["reason"]
    assert (stood["count"], stood["asked"], stood["to_inject"]) == (1, False, False)
    assert "a.txt does not hold good" in stood["reason"]
    assert passed == {}
    assert project.session()["count"] == 0


@pytest.mark.spec("12.6", "18.8")
def test_a_stop_is_excused_by_the_quarantine_as_in_a_run(project: HookedProject) -> None:
    """A test that fails twice was red although a person had excused it."""
    letters, soon = project.folder / "letters", datetime.now(UTC) + timedelta(days=9)
    act = f"c=$(head -c 1 {letters}); tail -c +2 {letters} > l; mv l {letters}; test $c = P"
    (project.repo / "suite.sh").write_text(tap_script(races=f"( {act} )", steady="true"))
    check = '[checks.suite]\nrun = ["sh", "suite.sh"]\nreader = "tap"\npattern = "test-failed"\n'

    def stop(results: str, expires: datetime) -> dict[str, Any]:
        letters.write_text(results)
        project.configure(check + ENTRY.format(test="races", expires=expires.date().isoformat()))
        return project.stop()

    excused = stop("FFP", soon)
    broken = stop("FFFP", soon)
    expired = stop("FP", datetime.now(UTC) - timedelta(days=2))

    assert excused == {}
    assert broken["decision"] == expired["decision"] == "block"
    assert "it failed 3 of 3 times on this commit: races" in broken["reason"]
    assert "the quarantine of races expired on" in expired["reason"]


@pytest.mark.full
@pytest.mark.spec("12.6", "0.1")
def test_a_session_is_shown_as_verified_only_if_the_checks_passed_in_this_phase(
    project: HookedProject,
) -> None:
    def told() -> str:
        lines = project.yaoki("hook", "status").out.splitlines()
        return next(line for line in lines if line.startswith("session "))

    project.stop()
    assert "session s1: sent back after 1 try" in told()
    project.write_work("good\n")
    project.stop()
    assert told() == "session s1: proven"

    project.yaoki("hook", "begin", "--phase", "two")
    assert told() == "session s1: nothing is proven yet"
    assert project.session()["proven"] is False

    project.stop()
    assert told() == "session s1: proven"
    assert project.session()["proven"] is True
    project.write_work("bad\n")
    project.stop()
    assert "session s1: sent back after 1 try" in told()
    assert project.session()["proven"] is False


@pytest.mark.spec("12.6", "7.1")
def test_the_reason_uses_the_prompt_template_of_the_project(project: HookedProject) -> None:
    folder = project.repo / ".yaoki" / "prompts" / "steps" / "retry" / "issue"
    folder.mkdir(parents=True)
    (folder / "f_failed.md").write_text("---\nparams: []\n---\nOur own words.\n")

    assert "Our own words." in project.stop()["reason"]


@pytest.mark.full
@pytest.mark.spec("12.6", "10.4")
def test_a_stop_at_the_limit_asks_the_person_and_go_on_grants_a_fresh_budget(
    project: HookedProject,
) -> None:
    """With `go on` the reason is repeated once; a new phase starts with a count of zero."""
    project.start_phase(2)

    first, second, third = project.stop(), project.stop(), project.stop()

    assert first["decision"] == "block"
    assert "try 1 of 2 in phase p" in first["reason"]
    assert second["continue"] is False
    for choice in ("go on", "abort", "take over"):
        assert f"yaoki: {choice}" in second["systemMessage"]
    assert "yaoki hook answer" in second["stopReason"]
    assert len(second["stopReason"]) <= 520
    assert list(third) == ["systemMessage"], "told again, and let through"
    stood = project.session()
    assert (stood["asked"], stood["count"], stood["phase"]) == (True, 2, "p")

    silent = project.send_prompt("what now?")
    brought = project.send_prompt("yaoki: go on, but leave b.txt alone")
    after = project.send_prompt("and?")

    assert silent == after == {}
    assert "a.txt does not hold good" in context(brought)
    assert "but leave b.txt alone" in context(brought)
    assert project.session()["count"] == 0
    assert project.stop()["decision"] == "block"

    project.yaoki("hook", "begin", "--phase", "q", "--subtask", "q.1", "--max-iterations", "3")

    assert "try 1 of 3 in phase q (q.1)" in project.stop()["reason"]
    stood = project.session()
    assert (stood["phase"], stood["subtask"], stood["count"]) == ("q", "q.1", 1)
    assert stood["at"]


@pytest.mark.full
@pytest.mark.spec("12.6", "10.4")
def test_an_aborted_session_is_not_checked_until_a_new_phase(project: HookedProject) -> None:
    project.start_phase(1)
    project.stop()

    said = project.send_prompt("yaoki: abort")
    left = project.stop()
    project.start_phase(2)

    assert said["decision"] == "block", "the words were for yaoki, not for the agent"
    assert "not checked" in left["systemMessage"]
    assert project.stop()["decision"] == "block"


@pytest.mark.full
@pytest.mark.spec("12.6", "10.4")
def test_a_refused_session_may_be_aborted_before_the_person_is_asked(
    project: HookedProject,
) -> None:
    project.start_phase(4)
    sent_back = [project.stop(key) for key in ("one", "two", "three")]

    aborted = project.send_prompt("yaoki: abort", "one")
    which = project.yaoki("hook", "answer", "abort")
    over = project.yaoki("hook", "answer", "take-over", "--session", "two")
    only = project.yaoki("hook", "answer", "abort", "--json")
    unasked = project.send_prompt("yaoki: go on", "one")

    assert [answer["decision"] for answer in sent_back] == ["block"] * 3
    assert "no longer checked" in aborted["reason"]
    several = "2 sessions have an open question or were refused a stop"
    assert (which.code, several in which.err) == (6, True)
    assert over.code == 0, over.err
    assert only.document == {"schema": 1, "session": "three", "answer": "abort"}
    assert "there is no open question" in unasked["systemMessage"]
    left = [project.stop(key)["systemMessage"] for key in ("one", "two", "three")]
    assert ["not checked" in words for words in left] == [True, False, True]
    assert "still not proven" in left[1]


@pytest.mark.full
@pytest.mark.spec("12.6", "10.4")
def test_take_over_reports_failures_and_restores_the_gate_when_all_checks_pass(
    project: HookedProject,
) -> None:
    project.start_phase(1)
    project.stop()
    answered = project.yaoki("hook", "answer", "take-over")

    failing = project.stop()
    project.write_work("good\n")
    passing = project.stop()
    project.write_work("bad\n")
    project.start_phase(2)

    assert answered.code == 0, answered.err
    assert "still not proven" in failing["systemMessage"]
    assert "decision" not in failing
    assert "all checks pass now" in passing["systemMessage"]
    assert project.stop()["decision"] == "block"


@pytest.mark.spec("12.6")
def test_the_checks_of_a_phase_are_fixed_at_its_start(project: HookedProject) -> None:
    """An agent that edits the settings does not loosen the phase that it works on."""
    begun = project.yaoki("hook", "begin", "--phase", "p", "--check", "good")
    project.configure('[checks.good]\nrun = ["true"]\n')

    assert begun.code == 0, begun.err
    assert project.stop()["decision"] == "block"


@pytest.mark.spec("12.6", "14.1")
def test_an_unknown_check_is_refused_by_name(project: HookedProject) -> None:
    refused = project.yaoki("hook", "begin", "--phase", "p", "--check", "no-such")

    assert refused.code == 6
    assert "the settings have no check 'no-such'" in refused.err
    assert "those there are: good" in refused.err


@pytest.mark.spec("12.6", "2.5")
def test_a_phase_of_a_plan_defines_its_checks_and_attempts(project: HookedProject) -> None:
    task = {"id": "one", "goal": "Do.", "checks": ["mine"], "max_iterations": 1}
    plan = {
        "goal": "Rehearse",
        "agents": {"a": {"command": ["true"]}},
        "agent": "a",
        "checks": {"mine": {"shell": "echo mine fails; exit 1"}},
        "phases": [{"id": "p7", "tasks": [task]}],
    }
    file = project.plan(plan)

    begun = project.yaoki("hook", "begin", "--phase", "p7", "--plan", file, "--json")
    unknown = project.yaoki("hook", "begin", "--phase", "p8", "--plan", file)

    assert begun.document["checks"] == ["mine"], begun.err
    assert "mine fails" in project.stop()["stopReason"], "one try: the person is asked at once"
    assert unknown.code == 6


@pytest.mark.full
@pytest.mark.spec("12.6")
def test_an_agent_is_not_refused_more_often_than_it_accepts(
    project: HookedProject,
) -> None:
    """Claude Code ignores a ninth refusal, so the person is asked at the eighth try."""
    project.start_phase(20)

    assert "try 1 of 8 " in project.stop()["reason"]
    hook_input = {"session_id": "s2", "hook_event_name": "Stop", "cwd": str(project.repo)}
    assert "try 1 of 20 " in project.call(hook_input, agent="codex")["reason"]


@pytest.mark.full
@pytest.mark.spec("12.6")
def test_each_agent_is_answered_in_its_own_format(project: HookedProject) -> None:
    project.start_phase(1)
    hook_input = {"session_id": "g", "hook_event_name": "AfterAgent", "cwd": str(project.repo)}

    gemini = project.call(hook_input, agent="gemini")
    qwen = project.call({**hook_input, "session_id": "q", "hook_event_name": "Stop"}, agent="qwen")

    assert gemini["continue"] is False
    assert "yaoki: go on" not in gemini["stopReason"], "it has no hook at its prompts"
    assert list(qwen) == ["systemMessage"], "it does not take the word for an end"


# ------------------------------------------------------------------ what may come


@pytest.mark.full
@pytest.mark.spec("12.6", "14.4")
def test_a_stop_with_unreadable_input_is_checked_like_any_other(project: HookedProject) -> None:
    project.start_phase(8)
    unreadable = {
        "empty": b"",
        "words": b"garbage",
        "deep": b"[" * 200_000,
        "types": b'{"session_id": 7, "cwd": ["/"], "hook_event_name": null}',
        "huge": b'{"last_assistant_message": "' + b"x" * (17 << 20) + b'"}',
    }
    for count, (name, said) in enumerate(unreadable.items(), start=1):
        answer = project.call(said)

        assert "a.txt does not hold good" in answer["reason"], name
        assert project.session("unknown")["count"] == count, name


@pytest.mark.full
@pytest.mark.spec("12.6")
def test_input_that_never_ends_is_not_awaited(project: HookedProject) -> None:
    process = project.popen("--limit", "5")

    assert process.stdin is not None
    assert process.stdout is not None
    answer = json.loads(process.stdout.readline())
    process.stdin.close()

    assert process.wait(BOUND_S) == 0
    assert answer["decision"] == "block"
    process.stdout.close()
    assert process.stderr is not None
    process.stderr.close()


@pytest.mark.spec("12.6")
@pytest.mark.parametrize("event", ["SubagentStop", "Brand-new"])
def test_other_hook_events_are_ignored(project: HookedProject, event: str) -> None:
    assert project.call({"session_id": "s1", "hook_event_name": event}) == {}


@pytest.mark.spec("12.6")
def test_a_stop_with_background_tasks_is_not_checked(project: HookedProject) -> None:
    answer = project.stop(background_tasks=[{"id": "b1"}])

    assert "decision" not in answer
    assert "not checked yet" in answer["systemMessage"]


@pytest.mark.spec("12.6")
@pytest.mark.parametrize("name", ["YAOKI_HOOK", "YAOKI_TASK"])
def test_the_hook_is_disabled_by_a_variable(project: HookedProject, name: str) -> None:
    """A person can switch the hook off; agents that yaoki started are checked by yaoki."""
    hook_input = {"session_id": "s1", "hook_event_name": "Stop", "cwd": str(project.repo)}

    assert project.call(hook_input, env={name: "off"}) == {}


@pytest.mark.full
@pytest.mark.spec("12.6")
def test_a_stop_outside_a_repository_is_refused_once_and_then_allowed_with_a_notice(
    project: HookedProject, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    hook_input = {"session_id": "s1", "hook_event_name": "Stop", "cwd": str(elsewhere)}

    first, second = project.call(hook_input, cwd=elsewhere), project.call(hook_input, cwd=elsewhere)

    assert "is not in a git repository" in first["reason"]
    assert "Nothing is proven" in second["systemMessage"]
    assert project.call(hook_input, "--if-configured", cwd=elsewhere) == {}


@pytest.mark.full
@pytest.mark.spec("12.6")
def test_an_agent_that_was_refused_before_is_not_refused_for_a_fault_of_yaoki(
    project: HookedProject,
) -> None:
    project.configure("[checks\n")

    assert "decision" not in project.stop(stop_hook_active=True)
    assert "yaoki.toml" in project.stop()["reason"]


@pytest.mark.full
@pytest.mark.spec("12.6", "0.1")
def test_a_stop_without_checks_is_refused_once_and_then_the_person_is_asked(
    project: HookedProject,
) -> None:
    project.configure("")

    first, second = project.stop(), project.stop()

    assert "no check is configured" in first["reason"]
    assert "no check is configured" in second["stopReason"]


@pytest.mark.spec("12.6", "4.8")
def test_a_check_that_cannot_run_is_refused_once_and_then_the_person_is_asked(
    project: HookedProject,
) -> None:
    project.configure('[checks.gone]\nrun = ["no-such-program-anywhere"]\n')

    first, second = project.stop(), project.stop()

    assert "gone could not run" in first["reason"]
    assert second["continue"] is False


@pytest.mark.spec("12.6")
def test_a_check_that_lacks_a_command_names_the_setup_of_the_settings(
    project: HookedProject,
) -> None:
    """The set-up is not run: the checkout belongs to the user."""
    setup = "[setup]\ncommands = [['touch', 'made by set-up']]\n"
    project.settings(f"{setup}[checks.lint]\nshell = 'no-such-linter'\n")

    refused = project.stop()

    assert "the command 'no-such-linter' was not found" in refused["reason"]
    assert "touch 'made by set-up'" in refused["reason"]
    assert not (project.repo / "made by set-up").exists()


@pytest.mark.spec("12.6", "6.3")
def test_a_check_that_hangs_is_ended_and_refused_in_time(
    project: HookedProject, tmp_path: Path
) -> None:
    project.configure(HANG)

    answer, _ = run_until_started(
        lambda limit_s: project.stop(f"s{limit_s}", "--limit", f"{limit_s:g}"),
        lambda seen: "was not ready" not in seen["reason"] and has_line(tmp_path / "pid"),
        (8.0, 20.0, BOUND_S * 0.9),
    )

    assert answer["decision"] == "block"
    assert "was still running" in answer["reason"]
    assert "--timeout" in answer["reason"]
    pid = int((tmp_path / "pid").read_text())
    wait_until(lambda: not alive(pid), "the check has ended")


@pytest.mark.spec("12.6", "3.3")
def test_a_check_that_changes_a_tracked_file_does_not_pass(project: HookedProject) -> None:
    project.write_work("good\n")
    project.configure('[checks.writes]\nshell = "echo more >> README && test -s README"\n')

    answer = project.stop()

    assert "files changed while the checks ran" in answer["reason"]
    assert "README" in answer["reason"]


@pytest.mark.full
@pytest.mark.spec("12.6", "0.2")
def test_the_hook_does_not_change_the_checkout(project: HookedProject) -> None:
    project.git("add", "a.txt")
    project.write_work("half\n")
    (project.repo / "new.txt").write_text("new\n")
    index = (project.repo / ".git" / "index").read_bytes()
    seen = project.git("status", "--porcelain=v2"), project.git("stash", "list")

    project.stop()

    assert (project.repo / ".git" / "index").read_bytes() == index
    assert (project.git("status", "--porcelain=v2"), project.git("stash", "list")) == seen


# ------------------------------------------------------------------ at once, and killed


@pytest.mark.spec("12.6", "0.3")
def test_concurrent_sessions_have_separate_counts(project: HookedProject) -> None:
    hook_input = {"hook_event_name": "Stop", "cwd": str(project.repo)}
    names = ("one", "two")
    running = [project.popen() for _ in names]
    for process, name in zip(running, names, strict=True):
        assert process.stdin is not None
        process.stdin.write(json.dumps({**hook_input, "session_id": name}).encode())
        process.stdin.close()
        process.stdin = None

    answers = [json.loads(process.communicate(timeout=BOUND_S)[0]) for process in running]

    assert [answer["decision"] for answer in answers] == ["block", "block"]
    assert [project.session(name)["count"] for name in names] == [1, 1]


@pytest.mark.full
@pytest.mark.spec("12.6", "0.3")
def test_a_hook_installed_in_two_files_runs_once(project: HookedProject, tmp_path: Path) -> None:
    """Both are called at the same moment; the first decides, the other adds nothing."""
    gate, at_work = tmp_path / "gate", tmp_path / "at-work"
    loop = f"touch {at_work}; for i in $(seq 1200); do test -f {gate} && exit 1; sleep 0.05; done"
    project.configure(f'[checks.slow]\nshell = "{loop}"\nrerun = false\n')
    hook_input = json.dumps(
        {"session_id": "s1", "hook_event_name": "Stop", "cwd": str(project.repo)}
    )
    first = project.popen()
    assert first.stdin is not None
    first.stdin.write(hook_input.encode())
    first.stdin.close()
    first.stdin = None
    wait_until(at_work.exists, "the first is at its check")

    second = project.call(hook_input.encode())
    gate.touch()

    assert second == {}
    assert json.loads(first.communicate(timeout=BOUND_S)[0])["decision"] == "block"
    assert project.session()["count"] == 1


@pytest.mark.full
@pytest.mark.spec("12.6", "0.2")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_hook_counts_no_attempt_and_leaves_no_process(
    project: HookedProject, tmp_path: Path, number: signal.Signals
) -> None:
    project.configure(f"[limits]\nlease_s = 6\nheartbeat_s = 1\n{HANG}")
    process = project.popen()
    assert process.stdin is not None
    process.stdin.write(b'{"session_id": "s1", "hook_event_name": "Stop"}')
    process.stdin.close()
    process.stdin = None
    file = tmp_path / "pid"
    wait_until(lambda: file.exists() and file.read_text().strip(), "the check runs")

    process.send_signal(number)
    out, _ = process.communicate(timeout=BOUND_S)

    assert out == b"", "whoever ended it wants no answer"
    wait_until(lambda: not alive(int(file.read_text())), "the check has ended")
    assert project.session() == {}
    project.configure(CHECK)
    assert "try 1 of 4" in project.stop()["reason"]


@pytest.mark.full
@pytest.mark.spec("12.6")
def test_an_undelivered_reason_is_added_to_the_next_prompt_once(
    project: HookedProject,
) -> None:
    """The agent disconnects while the checks run, and returns later."""
    gone, ours = os.pipe()
    os.close(gone)
    process = project.popen(stdout=ours)
    os.close(ours)
    process.communicate(b'{"session_id": "s1", "hook_event_name": "Stop"}', timeout=BOUND_S)

    kept = project.session()
    first, second = project.send_prompt("hello again"), project.send_prompt("and again")

    assert (kept["count"], kept["to_inject"]) == (1, True)
    assert "a.txt does not hold good" in context(first)
    assert second == {}
    assert project.session()["to_inject"] is False


@pytest.mark.spec("12.6")
def test_a_prompt_hook_without_a_message_imports_few_modules(project: HookedProject) -> None:
    """Agents call it at each prompt: it must start nearly as fast as the interpreter."""
    script = (
        "import sys; from yaoki.faces.cli.main import main; main(['hook', 'event', 'claude-code']);"
        "print(*sys.modules)"
    )
    said = json.dumps({"hook_event_name": "UserPromptSubmit", "prompt": "hi", "session_id": "s1"})
    argv = (sys.executable, "-c", script)
    done = subprocess.run(
        argv,
        cwd=project.repo,
        env=project.env,
        input=said,
        capture_output=True,
        text=True,
        check=True,
    )

    answer, modules = done.stdout.splitlines()
    heavy = {"click", "pydantic", "yaml", "sqlite3", "subprocess", "dataclasses", "yaoki.app"}
    assert json.loads(answer) == {}
    assert heavy.isdisjoint(modules.split())


# ------------------------------------------------------------------ answers by command


@pytest.mark.spec("12.6", "1.5")
def test_an_answer_must_name_its_session_when_several_ask(project: HookedProject) -> None:
    project.start_phase(1)
    project.stop("one")
    project.stop("two")

    unsaid = project.yaoki("hook", "answer", "go-on")
    said = project.yaoki("hook", "answer", "abort", "--session", "two")
    rest = project.yaoki("hook", "answer", "go-on", "with", "care", "--json")
    none = project.yaoki("hook", "answer", "abort")

    assert (unsaid.code, "2 sessions have an open question" in unsaid.err) == (6, True)
    assert said.code == 0, said.err
    assert rest.document == {"schema": 1, "session": "one", "answer": "go-on"}
    assert "with care" in context(project.send_prompt("hi", "one"))
    assert (none.code, "no session has an open question" in none.err) == (6, True)


@pytest.mark.spec("14.3", "12.6")
def test_a_judge_of_a_session_runs_in_the_sandbox_with_a_copy_of_its_folder(
    project: HookedProject, tmp_path: Path
) -> None:
    """As in a run: it may keep its conversation, and write nowhere else."""
    needs_bubblewrap()
    project.write_work("good\n")
    home, programs, outside = tmp_path / "person", tmp_path / "bin", tmp_path / "outside"
    (home / ".claude").mkdir(parents=True)
    programs.mkdir()
    answer = json.dumps({"pass": True, "reason": "it is", "missing": [], "next": "continue"})
    event = json.dumps({"type": "result", "subtype": "success", "result": answer})
    acts = f"touch {outside} 2>&-\ntouch $HOME/.claude/own || exit 3\n"
    (programs / "claude").write_text(f"#!/bin/sh\n{acts}cat <<'END'\n{event}\nEND\n")
    (programs / "claude").chmod(0o755)
    project.env |= {"HOME": str(home), "PATH": f"{programs}:{project.env['PATH']}"}
    judge = '[checks.review.judge]\nagent = "critic"\nask = "Is it good?"\n'
    agent = '[agents.critic]\npreset = "claude"\n'
    project.configure(f'{CHECK}{judge}{agent}[sandbox]\nmode = "on"\n')

    assert project.stop() == {}

    assert not (home / ".claude" / "own").exists()
    assert not outside.exists()
