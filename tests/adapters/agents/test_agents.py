"""Agents as real processes: their launch, their work, and how their output is read."""

import json
import os
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.builders import in_outbox
from yaoki.adapters.agents import find_agent, scenario_player
from yaoki.adapters.agents.command import CommandAgent
from yaoki.adapters.agents.command_line import ARGUMENT_BYTES_MAX
from yaoki.adapters.agents.limits import classify_error_lines, find_retry_after, select_error_lines
from yaoki.adapters.agents.pending_question import find_question
from yaoki.adapters.agents.result_file import BYTES_MAX, AgentResult, read_result
from yaoki.adapters.agents.scenario import ACTS, check_scenario
from yaoki.adapters.agents.scripted_agent import ScriptedAgent
from yaoki.adapters.processes.process_trees import ShimProcesses
from yaoki.adapters.system.clock import SystemClock
from yaoki.core.machine.codec import from_data
from yaoki.core.model import AgentExit, AgentLimit, AgentSpec, EndCause, PromptChannel, TaskId
from yaoki.core.redact import MARK
from yaoki.errors import Fault, PlanInvalid, Unknown
from yaoki.ports import AgentDriver, AttemptRequest, ProcessPhase, ProcessState

PROCESSES = ShimProcesses()
CLOCK = SystemClock()
NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
PLANTED = "planted-secret-value"
ENVIRON = {
    "PATH": os.environ["PATH"],
    "HOME": "/nowhere",
    "LC_ALL": "C.UTF-8",
    "ACME_API_KEY": PLANTED,
    "ACME_REGION": "north",
    "GIT_DIR": "/elsewhere/.git",
    "UNNAMED": "stays at home",
}


def python(code: str, *more: str, name: str = "mine", **rest: Any) -> AgentSpec:
    return AgentSpec(name, command=(sys.executable, "-I", "-S", "-c", code, *more), **rest)


def scripted(*attempts: Any, task: str = "default") -> AgentSpec:
    options = {"scenario": {"tasks": {task: list(attempts)}}}
    return AgentSpec("actor", preset="scripted", options=options)


class AgentAttempts:
    """A worktree, an attempt folder and an agent."""

    def __init__(self, top: Path) -> None:
        self.worktree, self.folder = top / "tree", top / "attempt"
        self.worktree.mkdir()
        self._used: list[Path] = []

    def request(self, spec: AgentSpec, prompt: str = "Do it.", **rest: Any) -> AttemptRequest:
        facts: dict[str, Any] = {
            "task_id": TaskId("abcd1234-1"),
            "attempt": 1,
            "epoch": 3,
            "timeout": timedelta(seconds=60),
            "hang": timedelta(0),
            "lease": timedelta(0),
            **rest,
        }
        return AttemptRequest(
            agent=spec, prompt=prompt, worktree=self.worktree, folder=self.folder, **facts
        )

    def start(self, spec: AgentSpec, **rest: Any) -> AgentDriver:
        agent = ScriptedAgent(ENVIRON) if spec.preset == "scripted" else CommandAgent(ENVIRON)
        self._used.append(self.folder)
        PROCESSES.start(self.folder, agent.build_launch(self.request(spec, **rest)))
        return agent

    def run(self, spec: AgentSpec, **rest: Any) -> AgentExit:
        agent = self.start(spec, **rest)
        until(lambda: PROCESSES.inspect(self.folder).phase != ProcessPhase.RUNNING)
        return agent.read(self.folder, PROCESSES.inspect(self.folder))

    def out(self) -> str:
        return (self.folder / "out.log").read_text(encoding="utf-8")

    def end(self) -> None:
        for folder in self._used:
            PROCESSES.end(folder, EndCause.STOP)


def until(true: Callable[[], bool], seconds: float = 40.0) -> None:
    for _ in range(int(seconds / 0.01)):
        if true():
            return
        CLOCK.sleep(timedelta(milliseconds=10))
    pytest.fail("it did not happen in time")


@pytest.fixture
def attempts(tmp_path: Path) -> Iterator[AgentAttempts]:
    attempts = AgentAttempts(tmp_path)
    yield attempts
    attempts.end()


@pytest.fixture
def repository(attempts: AgentAttempts) -> Path:
    git(attempts.worktree, "init", "-q")
    (attempts.worktree / "a.txt").write_text("one\n")
    return attempts.worktree


def git(where: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=where, capture_output=True, text=True, check=True)
    return done.stdout


# ------------------------------------------------------------------ finding and preflight


def test_an_agent_is_found_by_its_preset() -> None:
    assert isinstance(find_agent("command"), CommandAgent)
    assert isinstance(find_agent("scripted"), ScriptedAgent)


@pytest.mark.spec("0.6")
def test_an_unknown_preset_is_refused_with_the_nearest() -> None:
    with pytest.raises(Unknown, match="no agent preset 'comand'") as refused:
        find_agent("comand")

    assert refused.value.hint == "did you mean 'command'?"


@pytest.mark.spec("4.7", "3.1")
def test_a_missing_binary_is_reported_before_the_start() -> None:
    with pytest.raises(Fault, match="'no-such-agent' is not on the PATH") as fault:
        CommandAgent(ENVIRON).preflight(AgentSpec("mine", command=("no-such-agent",)))

    assert (fault.value.transient, fault.value.code) == (False, "RESOURCE_NOT_FOUND")


@pytest.mark.spec("4.7", "3.1")
def test_a_file_that_is_not_executable_is_reported(tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\n")

    with pytest.raises(Fault, match="not executable") as fault:
        CommandAgent(ENVIRON).preflight(AgentSpec("mine", command=(str(tool),)))

    assert fault.value.code == "PERMISSION_DENIED"
    tool.chmod(0o755)
    CommandAgent(ENVIRON).preflight(AgentSpec("mine", command=(str(tool),)))


def test_the_binary_is_searched_on_the_path_of_the_agent(tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)

    CommandAgent({}).preflight(AgentSpec("mine", command=("tool",), env={"PATH": str(tmp_path)}))
    with pytest.raises(Fault):
        CommandAgent({"PATH": "/bin"}).preflight(AgentSpec("mine", command=("tool",)))


def test_an_agent_without_a_command_is_refused() -> None:
    with pytest.raises(Fault) as fault:
        CommandAgent(ENVIRON).preflight(AgentSpec("x"))

    assert not fault.value.transient


# ------------------------------------------------------------------ what the agent is given

TELL = "import sys; print(sys.argv[1:]); print(sys.stdin.read())"


@pytest.mark.spec("12.8")
def test_a_prompt_is_the_last_argument_unless_its_place_is_named(attempts: AgentAttempts) -> None:
    appended = CommandAgent(ENVIRON).build_launch(
        attempts.request(AgentSpec("a", command=("tool", "-x")))
    )
    named = AgentSpec("b", command=("tool", "--say={prompt}", "{attempt}", "-q"))

    assert appended.argv == ("tool", "-x", "Do it.")
    assert CommandAgent(ENVIRON).build_launch(attempts.request(named)).argv == (
        "tool",
        "--say=Do it.",
        "1",
        "-q",
    )


@pytest.mark.spec("14.4")
def test_a_placeholder_inside_a_prompt_is_not_replaced(attempts: AgentAttempts) -> None:
    spec = AgentSpec("a", command=("tool", "{task}", "{model}", "{other}", "{prompt}"), model="m")

    launch = CommandAgent(ENVIRON).build_launch(
        attempts.request(spec, "say {worktree} and {prompt}")
    )

    assert launch.argv[1:] == ("abcd1234-1", "m", "{other}", "say {worktree} and {prompt}")


@pytest.mark.spec("3.2", "12.8")
@pytest.mark.parametrize("channel", PromptChannel)
def test_the_prompt_arrives_by_every_channel(
    attempts: AgentAttempts, channel: PromptChannel
) -> None:
    exit_ = attempts.run(python(TELL, prompt=channel), prompt="Fix 'it'; $(touch pwned)")

    arrived = f"{attempts.out()}{(attempts.folder / 'prompt.md').read_text()}"
    assert exit_.ended_cleanly
    assert "Fix 'it'; $(touch pwned)" in (
        arrived if channel is PromptChannel.FILE else attempts.out()
    )
    assert (str(attempts.folder / "prompt.md") in attempts.out()) is (channel is PromptChannel.FILE)
    assert not (attempts.worktree / "pwned").exists()


@pytest.mark.spec("3.2")
def test_without_a_prompt_on_it_standard_input_is_closed(attempts: AgentAttempts) -> None:
    exit_ = attempts.run(python("import sys; sys.exit(len(sys.stdin.read()) + 40)"))

    assert exit_.code == 40


def test_a_prompt_too_long_for_an_argument_is_passed_as_a_file(attempts: AgentAttempts) -> None:
    long = "é" * ARGUMENT_BYTES_MAX

    exit_ = attempts.run(python(TELL), prompt=long)

    assert exit_.ended_cleanly
    assert f"Read the file {attempts.folder / 'prompt.md'}" in attempts.out()
    assert (attempts.folder / "prompt.md").read_text(encoding="utf-8") == long


@pytest.mark.spec("14.2")
def test_the_prompt_file_is_private_and_without_known_secrets(attempts: AgentAttempts) -> None:
    spec = AgentSpec("a", command=("tool",))

    launch = CommandAgent(ENVIRON).build_launch(
        attempts.request(spec, f"use {PLANTED}, password=example1")
    )

    file = attempts.folder / "prompt.md"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text() == launch.argv[-1] == f"use {MARK}, password=example1"


@pytest.mark.spec("14.2")
@pytest.mark.parametrize("agent", [CommandAgent, ScriptedAgent])
def test_variables_passed_to_agents_are_secret_whatever_their_name(
    attempts: AgentAttempts, agent: type[CommandAgent]
) -> None:
    spec = replace(scripted([]), command=("tool",), pass_env=("ACME_*", "UNNAMED", "PATH"))
    spec = replace(spec, env={"OTHER_TOKEN": "set by the plan"})

    launch = agent(ENVIRON).build_launch(attempts.request(spec, "it stays at home"))

    assert set(launch.secrets) == {PLANTED, "stays at home", "set by the plan"}
    assert (attempts.folder / "prompt.md").read_text() == f"it {MARK}"


@pytest.mark.spec("14.2", "3.2")
def test_the_agent_sees_allowed_variables_and_no_other(attempts: AgentAttempts) -> None:
    code = "import json, os; print(json.dumps(dict(os.environ)))"
    spec = python(code, pass_env=("ACME_R*",), env={"MODE": "fast"})

    attempts.run(spec, environment={"YAOKI_TASK_NAME": "login"})

    seen = json.loads(attempts.out())
    seen.pop("INVOCATION_ID")  # the shim's own
    assert seen.pop("TMPDIR").startswith("/tmp/yaoki-")
    assert seen == {
        "PATH": ENVIRON["PATH"],
        "HOME": "/nowhere",
        "LC_ALL": "C.UTF-8",
        "TERM": "dumb",
        "ACME_REGION": "north",
        "MODE": "fast",
        "YAOKI_TASK": "abcd1234-1",
        "YAOKI_TASK_NAME": "login",
        "YAOKI_ATTEMPT": "1",
        "YAOKI_EPOCH": "3",
        "YAOKI_WORKTREE": str(attempts.worktree),
        "YAOKI_RESULT": str(attempts.folder / "outbox" / "result.json"),
        "YAOKI_PROMPT_FILE": str(attempts.folder / "prompt.md"),
    }


# ------------------------------------------------------------------ reading its output


@pytest.mark.spec("3.2", "14.2")
def test_the_error_is_the_bounded_end_of_the_error_channel_without_secrets(
    attempts: AgentAttempts,
) -> None:
    code = (
        "import sys; sys.stderr.write('x' * 300_000 + '\\n\\x1b[31mkey is ' + "
        f"'{PLANTED}' + '\\x1b[0m\\n'); sys.exit(7)"
    )

    exit_ = attempts.run(python(code))

    assert exit_.code == 7
    assert exit_.stderr_tail.endswith(f"key is {MARK}")
    assert len(exit_.stderr_tail) <= 4096
    assert exit_.output_bytes > 300_000


@pytest.mark.spec("3.9", "5.7")
def test_the_result_file_holds_a_question_a_wait_and_an_unsafe_retry(
    attempts: AgentAttempts,
) -> None:
    code = (
        "import json, os; json.dump({'status': 'failed', 'summary': 'half done', "
        "'question': 'Which port?', 'retry_safe': False, 'retry_after_s': 90}, "
        "open(os.environ['YAOKI_RESULT'], 'w'))"
    )

    exit_ = attempts.run(python(code))

    assert exit_.question == "Which port?"
    assert exit_.retry_after == timedelta(seconds=90)
    assert not exit_.retry_safe
    assert exit_.stderr_tail == "half done"


def write_result(folder: Path, text: str | bytes) -> AgentResult:
    raw = text if isinstance(text, bytes) else text.encode()
    (in_outbox(folder) / "result.json").write_bytes(raw)
    return read_result(folder)


@pytest.mark.spec("14.4")
@pytest.mark.parametrize(
    "text", ["{", "[1]", "nul", b"\xff\xfe\x00", "[" * 60_000, "x" * (BYTES_MAX + 1)], ids=repr
)
def test_an_unreadable_result_file_is_reported(tmp_path: Path, text: str | bytes) -> None:
    result = write_result(tmp_path, text)

    assert result.defect
    assert result.failed, "no word of success"
    assert result == AgentResult(summary=result.summary, defect=result.defect, unreadable=True)


@pytest.mark.spec("14.4", "5.7")
def test_odd_values_in_a_result_file_fail_closed(tmp_path: Path) -> None:
    text = '{"status": "victory", "summary": 7, "retry_safe": "yes", "retry_after_s": 1e999}'

    result = write_result(tmp_path, text)

    assert result == AgentResult(retry_safe=False, defect=result.defect)
    assert "unknown status 'victory'" in result.defect
    assert write_result(tmp_path, '{"retry_after_s": -5}').retry_after is None
    assert write_result(tmp_path, '{"retry_after_s": true}').retry_after is None
    assert write_result(tmp_path, '{"retry_after_s": 1' + "0" * 400 + "}").retry_after is None


@pytest.mark.spec("14.4")
def test_a_result_file_that_is_a_pipe_a_link_or_a_folder_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(in_outbox(tmp_path) / "result.json")
    assert read_result(tmp_path) == AgentResult()

    (in_outbox(tmp_path) / "result.json").unlink()
    (tmp_path / "other").write_text('{"question": "?"}')
    (in_outbox(tmp_path) / "result.json").symlink_to(tmp_path / "other")
    assert read_result(tmp_path) == AgentResult()

    (in_outbox(tmp_path) / "result.json").unlink()
    (in_outbox(tmp_path) / "result.json").mkdir()
    assert read_result(tmp_path) == AgentResult()


def test_an_empty_question_is_still_a_question(tmp_path: Path) -> None:
    assert write_result(tmp_path, '{"status": "question"}').question
    assert (
        write_result(tmp_path, '{"status": "question", "summary": "A or B?"}').question == "A or B?"
    )


# Real lines of real agents; the last column is the wait they ask for, in seconds.
LIMITS = [
    ("API Error: 429 Too Many Requests\nRetry-After: 7", "rate", 7),
    ("Error: Request failed with status code 429", "rate", None),
    ("openai.RateLimitError: Error code: 429 - {'error': 'slow down'}", "rate", None),
    ("litellm.RateLimitError: RateLimitError: try again in 20s", "rate", 20),
    ("ERROR: exceeded retry limit, last status: 429 Too Many Requests", "rate", None),
    ("Retrying in 60s (attempt 1/10): [API Error: 429 busy]", "rate", 60),
    (
        "Attempt 1 failed: You have exhausted your quota. Your quota will reset after 5h12m3s.. "
        "Retrying after 19748986ms...",
        "rate",
        18723,
    ),
    ("You’ve hit your usage limit. Try again later.", "rate", None),
    ("You have hit your usage limit. Try again in 3 hours.", "rate", 10800),
    ("You've hit your session limit, try again in 2 hours", "rate", 7200),
    ("You have reached your weekly limit", "rate", None),
    ("Claude AI usage limit reached|1794751200", "rate", 7200),
    ("error: rate limit reached, resets at 2026-11-15T12:30:00Z", "rate", 1800),
    ("HTTP/1.1 429 Too Many Requests\nretry-after: Sun, 15 Nov 2026 12:01:00 GMT", "rate", 60),
    ("2026-11-15T11:59:00Z WARN rate limit exceeded", "rate", None),
    ("Retry-After: 3", "rate", 3),
    ("[API Error: 401 invalid api key]", "auth", None),
    ("unexpected status 403 Forbidden", "auth", None),
    ("Error: not logged in", "auth", None),
    ("litellm.AuthenticationError: OpenAIException - bad key", "auth", None),
    ("API Error: 529 {'type': 'overloaded_error'}", "overloaded", None),
    ("Error: 503 Service Unavailable\nRetry-After: 5", "overloaded", 5),
    ("stream error: stream disconnected before completion", "overloaded", None),
]

NO_LIMITS = [
    "I handled the 429 case; the rate limit is now respected.",
    "The error 429 is documented at line 12",
    "error: expected 401, got 200",
    "AssertionError: 429 != 200",
    "  File 'x.py', line 429, in limit",
    "error: tests/test_429.py failed",
    "Compiling rate-limit v1.0",
    "",
]


@pytest.mark.spec("4.2")
@pytest.mark.parametrize(("text", "limit", "wait"), LIMITS)
def test_a_limit_is_read_from_error_lines(text: str, limit: str, wait: int | None) -> None:
    lines = select_error_lines(text)

    asked = find_retry_after(lines, NOW)
    assert classify_error_lines(lines) == limit
    assert (asked and round(asked.total_seconds())) == wait


@pytest.mark.spec("4.2")
@pytest.mark.parametrize("text", NO_LIMITS)
def test_prose_about_limits_is_not_a_limit(text: str) -> None:
    lines = select_error_lines(text)

    assert classify_error_lines(lines) == ""
    assert find_retry_after(lines, NOW) is None


@pytest.mark.spec("4.2")
def test_a_limit_followed_by_work_is_ignored() -> None:
    text = "API Error: 429 Too Many Requests\n" + "working on it\n" * 50

    assert classify_error_lines(select_error_lines(text)) == ""


@pytest.mark.spec("4.2")
def test_standard_output_of_a_successful_run_is_never_a_limit(attempts: AgentAttempts) -> None:
    """Text that counts on the error channel means nothing on standard output."""
    exit_ = attempts.run(scripted(["talk_429", {"say": "API Error: 429\nRetry-After: 9"}]))

    assert (exit_.limit, exit_.retry_after, exit_.code) == ("", None, 0)


ASKS = [
    ("Overwrite a.txt? [y/N]", True),
    ("Overwrite a.txt? [y/N] ", True),
    ("Continue (y/n)?", True),
    ("Are you sure you want to continue connecting (yes/no/[fingerprint])?", True),
    ("bob's password:", True),
    ("Password for https://example.org:", True),
    ("Enter passphrase for key '/home/bob/.ssh/id':", True),
    ("Press any key to continue", True),
    ("Press Enter to continue...", True),
    ("Do you want to proceed?", False),
    ("Do you want to make this edit to a.txt?", False),
]

TELLS = [
    "The prompt now reads [y/N] and defaults to no.",
    "I changed the password: it is longer now",
    "Would you like anything else?",
    "Should the password field be masked",
    "",
]


@pytest.mark.spec("3.9")
@pytest.mark.parametrize(("line", "always"), ASKS)
def test_a_last_line_that_waits_for_a_person_is_a_question(line: str, always: bool) -> None:
    text = f"long ago\n\nabout a.txt\n{line}"

    asked = find_question(text, input_only=False)
    assert asked == f"about a.txt\n{line.strip()}"
    assert bool(find_question(text, input_only=True)) is always
    assert find_question(f"{text}\nand so I went on", input_only=False) == ""


@pytest.mark.spec("3.9")
@pytest.mark.parametrize("line", TELLS)
def test_prose_about_questions_is_not_a_question(line: str) -> None:
    assert find_question(line, input_only=False) == ""


@pytest.mark.spec("3.9")
def test_an_agent_that_stops_at_a_prompt_is_read_as_asking(attempts: AgentAttempts) -> None:
    exit_ = attempts.run(python("print('Apply to prod? [y/N] ', end=''); input()"))

    assert exit_.code == 1
    assert exit_.stderr_tail.endswith("EOFError: EOF when reading a line")
    assert exit_.question == "Apply to prod? [y/N]"


@pytest.mark.spec("3.9")
def test_an_agent_that_ends_cleanly_at_a_prompt_is_read_as_asking(attempts: AgentAttempts) -> None:
    exit_ = attempts.run(python("print('Apply to prod? [y/N] ', end='')"))

    assert exit_.question == "Apply to prod? [y/N]"


@pytest.mark.spec("3.9")
def test_a_polite_last_sentence_of_a_clean_end_is_not_a_question(attempts: AgentAttempts) -> None:
    exit_ = attempts.run(python("print('Do you want to see more examples?')"))

    assert exit_.question == ""


@pytest.mark.spec("3.9")
def test_a_question_is_seen_while_the_agent_waits(attempts: AgentAttempts) -> None:
    agent = attempts.start(scripted([{"say": "Do you want to proceed?"}, "hang"]))
    log = attempts.folder / "out.log"
    until(lambda: log.exists() and log.stat().st_size > 0)

    # Words from the hour to come are fresh, however long this test is stopped.
    soon = log.stat().st_mtime + 3600
    os.utime(log, (soon, soon))
    assert agent.pending_question(attempts.folder) == ""  # it may still go on
    long_ago = soon - 3605
    os.utime(log, (long_ago, long_ago))
    assert agent.pending_question(attempts.folder) == "Do you want to proceed?"


@pytest.mark.spec("3.9")
def test_a_question_is_seen_if_both_channels_were_written_in_the_same_moment(
    attempts: AgentAttempts,
) -> None:
    """The clock of a file system has steps of some milliseconds."""
    agent = attempts.start(scripted([{"say": "Working."}, "hang"]))
    out, err = (attempts.folder / name for name in ("out.log", "err.log"))
    until(lambda: out.exists() and out.stat().st_size > 0)
    err.write_text("Do you want to proceed?\n")

    for log in (out, err):
        os.utime(log, ns=(9, 9))
    assert agent.pending_question(attempts.folder) == "Do you want to proceed?"
    os.utime(out, ns=(10, 10))
    assert agent.pending_question(attempts.folder) == "", "it went on"


# ------------------------------------------------------------------ the scripted agent


def test_the_player_knows_exactly_the_acts_that_are_checked() -> None:
    assert set(scenario_player.ACTS) == set(ACTS)


@pytest.mark.spec("12.2")
def test_the_rehearsal_page_shows_a_scenario_that_works_and_names_every_act() -> None:
    page = (Path(__file__).parents[3] / "docs" / "rehearsal.md").read_text(encoding="utf-8")
    example = yaml.safe_load(page.partition("```yaml\n")[2].partition("```")[0])

    scenario = check_scenario(example["agents"]["actor"]["options"])

    assert [len(acts) for acts in scenario["tasks"]["password"]] == [2, 1]
    assert [act for act in ACTS if f"`{act}`" not in page] == []


@pytest.mark.spec("12.2")
def test_attempts_follow_the_scenario_and_the_last_repeats(attempts: AgentAttempts) -> None:
    spec = scripted([{"say": "first"}], {"say": "second"}, task="login")

    said = []
    for attempt in (1, 2, 5):
        attempts.folder = attempts.folder.with_name(f"attempt-{attempt}")
        attempts.run(spec, attempt=attempt, environment={"YAOKI_TASK_NAME": "login"})
        said.append(attempts.out().strip())

    assert said == ["first", "second", "second"]


@pytest.mark.spec("0.6")
def test_a_task_without_acts_is_an_error_not_a_success(attempts: AgentAttempts) -> None:
    exit_ = attempts.run(scripted(["nothing"], task="other"))

    assert exit_.code == 2
    assert "no acts for 'abcd1234-1', and no default" in exit_.stderr_tail


@pytest.mark.spec("12.2")
def test_files_are_written_appended_replaced_and_deleted(attempts: AgentAttempts) -> None:
    (attempts.worktree / "old.txt").write_text("old")
    (attempts.worktree / "test_x.py").write_text("assert False")
    (attempts.worktree / "pkg").mkdir()
    (attempts.worktree / "pkg" / "x_test.py").write_text("assert False")
    acts = [
        {"write": {"src/a.py": "x = 1\n", "b.py": "b\n"}},
        {"append": {"src/a.py": "y = 2\n"}},
        {"replace": {"path": "src/a.py", "old": "x = 1", "new": "x = 3"}},
        {"delete": ["old.txt"]},
        "delete_tests",
        {"omit": {"lazy.py": "def f():\n"}},
        {"conflict": {"c.txt": "mine\n"}},
        {"resolve_conflict": {"d.txt": "both\n"}},
        "claim_done",
    ]

    exit_ = attempts.run(scripted(acts))

    files = {p.relative_to(attempts.worktree).as_posix(): p.read_text() for p in files_of(attempts)}
    assert exit_.ended_cleanly
    assert attempts.out() == "All tests pass.\n"
    assert files == {
        "src/a.py": "x = 3\ny = 2\n",
        "b.py": "b\n",
        "lazy.py": "def f():\n# ... rest omitted\n",
        "c.txt": "mine\n",
        "d.txt": "both\n",
    }


def files_of(attempts: AgentAttempts) -> list[Path]:
    return [path for path in attempts.worktree.rglob("*") if path.is_file()]


@pytest.mark.spec("14.4")
@pytest.mark.parametrize("path", ["../out.txt", "/tmp/out.txt", ".", "link/out.txt"])
def test_no_act_writes_outside_the_worktree(attempts: AgentAttempts, path: str) -> None:
    (attempts.worktree / "link").symlink_to(attempts.worktree.parent)

    exit_ = attempts.run(scripted([{"write": {path: "x"}}]))

    assert exit_.code == 2
    assert "is not inside the worktree" in exit_.stderr_tail
    assert not (attempts.worktree.parent / "out.txt").exists()


@pytest.mark.spec("12.2")
def test_an_act_that_cannot_be_executed_is_reported(attempts: AgentAttempts) -> None:
    (attempts.worktree / "a").write_text("x")

    exit_ = attempts.run(scripted([{"replace": {"path": "a", "old": "y", "new": "z"}}]))

    assert (exit_.code, exit_.stderr_tail) == (2, "scenario: 'a' does not contain 'y'")


@pytest.mark.spec("12.2")
def test_git_acts_commit_and_tamper(attempts: AgentAttempts, repository: Path) -> None:
    exit_ = attempts.run(scripted([{"commit": "by the agent"}, "tamper_config"]))

    assert exit_.ended_cleanly, exit_.stderr_tail
    assert git(repository, "log", "--format=%an %s").strip() == "Scripted Agent by the agent"
    assert "clean = true" in (repository / ".git" / "config").read_text()


@pytest.mark.spec("12.2")
def test_commands_run_and_a_failing_one_does_not_end_the_agent(attempts: AgentAttempts) -> None:
    acts = [{"run": ["sh", "-c", "echo made > made.txt; exit 3"]}, {"say": "went on"}]

    exit_ = attempts.run(scripted(acts))

    assert exit_.ended_cleanly
    assert exit_.stderr_tail == "sh ended with 3"
    assert (attempts.worktree / "made.txt").read_text() == "made\n"
    assert "went on" in attempts.out()


@pytest.mark.spec("12.2")
def test_the_prompt_of_each_attempt_is_recorded(attempts: AgentAttempts, tmp_path: Path) -> None:
    record = tmp_path / "prompts.txt"

    attempts.run(scripted([{"record": str(record)}]), prompt="Do this\nand that.")

    assert record.read_text() == "--- abcd1234-1 attempt 1\nDo this\nand that.\n"


@pytest.mark.spec("12.2", "4.2", "5.4")
def test_the_scripted_agent_simulates_a_rate_limit(attempts: AgentAttempts) -> None:
    exit_ = attempts.run(scripted([{"rate_limit": {"retry_after": 7}}]))

    assert (exit_.code, exit_.limit, exit_.retry_after) == (1, "rate", timedelta(seconds=7))


@pytest.mark.spec("12.2", "3.9")
def test_the_scripted_agent_asks_a_question(attempts: AgentAttempts) -> None:
    agent = attempts.start(scripted([{"ask": "Which database?"}, "hang"]))

    until(lambda: agent.pending_question(attempts.folder) == "Which database?")
    look = PROCESSES.end(attempts.folder, EndCause.STOP)
    assert agent.read(attempts.folder, look).question == "Which database?"


@pytest.mark.spec("12.2", "5.7")
def test_the_scripted_agent_reports_that_a_retry_is_unsafe(attempts: AgentAttempts) -> None:
    exit_ = attempts.run(scripted([{"unsafe": "migration half done"}]))

    assert (exit_.code, exit_.retry_safe, exit_.stderr_tail) == (1, False, "migration half done")


@pytest.mark.quick_cases(6)
@pytest.mark.spec("12.2")
@pytest.mark.parametrize(
    ("act", "code", "number"),
    [
        ({"exit": 9}, 9, None),
        ({"die": "KILL"}, None, signal.SIGKILL),
        ({"die": "SIGTERM"}, None, signal.SIGTERM),
        ({"die": 11}, None, signal.SIGSEGV),
        ("nothing", 0, None),
        ({"complain": "on the error channel"}, 0, None),
        ({"sleep": 0.05}, 0, None),
        ({"burn": 0.05}, 0, None),
    ],
    ids=str,
)
def test_the_scripted_agent_ends_as_the_scenario_says(
    attempts: AgentAttempts, act: Any, code: int | None, number: int | None
) -> None:
    exit_ = attempts.run(scripted([act]))

    assert (exit_.code, exit_.signal, exit_.ended_by) == (code, number, "")


@pytest.mark.spec("12.2", "3.8")
def test_a_scripted_agent_that_hangs_is_ended_at_its_deadline(attempts: AgentAttempts) -> None:
    exit_ = attempts.run(scripted(["hang"]), timeout=timedelta(seconds=0.3))

    assert exit_.ended_by == "deadline"
    assert not exit_.ended_cleanly


@pytest.mark.spec("12.2", "3.8")
def test_a_grandchild_in_its_own_session_does_not_outlive_the_agent(
    attempts: AgentAttempts, tmp_path: Path
) -> None:
    file = tmp_path / "pid"
    attempts.start(scripted([{"grandchild": str(file)}, "hang"]))
    until(lambda: file.exists() and file.read_text().isdigit())
    pid = int(file.read_text())
    os.kill(pid, 0)

    PROCESSES.end(attempts.folder, EndCause.CANCEL)

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.spec("3.2", "12.2")
def test_a_flood_is_read_in_bounded_memory(attempts: AgentAttempts) -> None:
    flood = 30_000_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    exit_ = attempts.run(scripted([{"flood": flood}, {"complain": "tired"}]))

    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert exit_.output_bytes >= flood
    assert (attempts.folder / "out.log").stat().st_size == flood
    assert exit_.stderr_tail == "tired"
    assert grown_kib < 8 * 1024


BAD: list[tuple[Any, str]] = [
    ({"tasks": {"a": [[{"writ": {}}]]}}, "unknown act 'writ'; did you mean 'write'?"),
    ({"tasks": {"a": [[{"write": "x"}]]}}, "tasks.a, attempt 1: write needs {path: text}"),
    ({"tasks": {"a": [["hang", {"exit": 300}]]}}, "exit needs an exit code"),
    ({"tasks": {"a": [[{"exit": True}]]}}, "exit needs an exit code"),
    ({"tasks": {"a": [[{"die": "NOPE"}]]}}, "die needs a signal"),
    ({"tasks": {"a": [[{"burn": -1}]]}}, "burn needs seconds"),
    ({"tasks": {"a": [[{"sleep": float("nan")}]]}}, "sleep needs seconds"),
    ({"tasks": {"a": [[{"run": "rm -rf x"}]]}}, "run needs a command as a list"),
    ({"tasks": {"a": [[{"flood": "1"}]]}}, "flood needs a number of bytes"),
    ({"tasks": {"a": [[{"rate_limit": {"after": 7}}]]}}, "rate_limit needs {retry_after"),
    ({"tasks": {"a": [[{"replace": {"path": "x"}}]]}}, "replace needs {path, old, new}"),
    ({"tasks": {"a": [[{"say": "x", "exit": 1}]]}}, "an act has one name"),
    ({"tasks": {"a": []}}, "one entry per attempt"),
    ({"tasks": []}, "a scenario is"),
    ({"task": {}}, "a scenario is"),
    (None, "a scenario is"),
]


@pytest.mark.spec("0.6", "12.2")
@pytest.mark.parametrize(("scenario", "words"), BAD)
def test_a_bad_scenario_is_refused(scenario: Any, words: str) -> None:
    with pytest.raises(PlanInvalid) as refused:
        check_scenario({"scenario": scenario})
    assert any(words in defect for defect in refused.value.defects)

    with pytest.raises(Fault) as fault:
        ScriptedAgent().preflight(AgentSpec("x", "scripted", options={"scenario": scenario}))
    assert not fault.value.transient


def test_all_defects_of_a_scenario_are_reported_at_once() -> None:
    scenario = {"tasks": {"a": [["hop"], [{"exit": "x"}]], "b": 3}}

    with pytest.raises(PlanInvalid) as refused:
        check_scenario({"scenario": scenario, "speed": 3})

    assert len(refused.value.defects) == 4


@pytest.mark.parametrize("name", ["scenario.yaml", "scenario.json"])
def test_a_scenario_may_be_in_a_file(attempts: AgentAttempts, tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_text('{"tasks": {"default": [[{"say": "from a file"}]]}}')

    attempts.run(AgentSpec("x", "scripted", options={"scenario": str(file)}))

    assert attempts.out() == "from a file\n"


@pytest.mark.spec("14.4")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tasks: {a: [nothing], a: [hang]}", "'a' is a duplicate"),
        ("tasks: {a: &x [nothing], b: *x}", "aliases are not allowed"),
        ("tasks: !!python/object/apply:os.system ['touch pwned']", "cannot be read"),
        ("tasks: {", "cannot be read"),
        ("#" * (1 << 20) + "##", "is longer than"),
    ],
    ids=lambda text: text[:30],
)
def test_a_scenario_file_is_read_safely(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "scenario.yaml"
    file.write_text(text)

    with pytest.raises(PlanInvalid, match=words):
        check_scenario({"scenario": str(file)})


def test_a_missing_scenario_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(PlanInvalid, match="No such file"):
        check_scenario({"scenario": str(tmp_path / "none.yaml")})


def test_the_worktree_cannot_replace_the_modules_of_the_player(attempts: AgentAttempts) -> None:
    (attempts.worktree / "json.py").write_text("raise SystemExit('shadowed')")
    (attempts.worktree / "yaoki").mkdir()

    assert attempts.run(scripted(["nothing"])).ended_cleanly


def test_an_agent_that_never_started_has_an_exit_that_says_so(attempts: AgentAttempts) -> None:
    exit_ = attempts.run(AgentSpec("x", command=("./missing-tool",)))

    assert "missing-tool" in exit_.start_error
    assert not exit_.ended_cleanly


@pytest.mark.spec("4.2", "4.7")
@pytest.mark.parametrize(("mode", "denied"), [(0o644, True), (0o755, False)])
def test_an_agent_that_may_not_be_executed_is_known_by_the_error_number(
    attempts: AgentAttempts, mode: int, denied: bool
) -> None:
    """Formerly the word "permission" in the message decided, so a path with that word, or a system
    in another language, changed the recommended action.
    """
    tool = attempts.worktree / "permissions" / "agent"
    tool.parent.mkdir()
    tool.write_text("#!/no/such/interpreter\n")
    tool.chmod(mode)

    exit_ = attempts.run(AgentSpec("x", command=(str(tool),)))

    assert exit_.start_error
    assert exit_.start_denied is denied


def test_the_process_state_is_copied_to_the_exit(tmp_path: Path) -> None:
    look = ProcessState(
        ProcessPhase.EXITED, code=3, ended_by=EndCause.HANG, seconds=1.5, output_bytes=9
    )

    exit_ = CommandAgent(ENVIRON).read(tmp_path, look)

    assert exit_ == AgentExit(code=3, ended_by=EndCause.HANG, seconds=1.5, output_bytes=9)


@pytest.mark.spec("14.4")
def test_an_unknown_stored_word_is_read_as_a_failure_without_a_known_cause() -> None:
    """Another version of yaoki, or an agent outside a sandbox, may have written any word."""
    exit_ = from_data(AgentExit, {"code": 0, "ended_by": "forged", "limit": "of-next-year"})

    assert (exit_.ended_by, exit_.limit) == (EndCause.OTHER, AgentLimit.UNKNOWN)
    assert not exit_.ended_cleanly
    assert not exit_.was_cut_off, "only our own reasons excuse an attempt"
