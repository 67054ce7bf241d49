"""Plays one attempt of a scenario in the worktree: `python scenario_player.py SCENARIO.json`.

A bare script of the standard library, so that it starts fast.  Files, signals and silence are
real.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

# A grandchild that is never found must not stay forever.
GRANDCHILD_S = 600
CHUNK = b"yaoki rehearsal flood, sixty-four bytes a line, nothing to see.\n"
OMISSION = "# ... rest omitted\n"
PROSE_429 = (
    "I made the client retry when the server answers 429 (rate limit): the error\n"
    "'Error: 429 Too Many Requests, Retry-After: 3600' is now handled.\n"
)


class ScenarioFault(Exception):
    """An act of the scenario cannot be executed."""


# ------------------------------------------------------------------ files


def inside(path: str) -> Path:
    """A path inside the worktree; refuses every other path."""
    top = Path.cwd().resolve()
    full_path = (top / path).resolve()
    if not full_path.is_relative_to(top) or full_path == top:
        raise ScenarioFault(f"{path!r} is not inside the worktree")
    return full_path


def put(path: str, text: str, mode: str = "w") -> None:
    file = inside(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open(mode, encoding="utf-8") as stream:
        stream.write(text)


def write(files: Mapping[str, str]) -> None:
    for path, text in files.items():
        put(path, text)


def append(files: Mapping[str, str]) -> None:
    for path, text in files.items():
        put(path, text, "a")


def omit(files: Mapping[str, str]) -> None:
    """Omits the rest of a file, as lazy agents do."""
    for path, text in files.items():
        put(path, text if "omitted" in text else text + OMISSION)


def replace(change: Mapping[str, str]) -> None:
    file = inside(change["path"])
    text = file.read_text(encoding="utf-8")
    if change["old"] not in text:
        raise ScenarioFault(f"{change['path']!r} does not contain {change['old']!r}")
    file.write_text(text.replace(change["old"], change["new"], 1), encoding="utf-8")


def delete(paths: list[str] | str) -> None:
    for path in [paths] if isinstance(paths, str) else paths:
        inside(path).unlink()


def delete_tests(_: None) -> None:
    """Deletes every file that looks like a test, so that no test can fail."""
    for file in sorted(Path.cwd().rglob("*test*")):
        if file.is_file() and ".git" not in file.parts:
            file.unlink()


# ------------------------------------------------------------------ commands


def run(argv: list[str]) -> None:
    """Like a tool call: a failing command does not end the agent."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    try:
        status = os.waitpid(os.posix_spawnp(argv[0], argv, os.environ), 0)[1]
    except OSError as fault:
        raise ScenarioFault(f"cannot run {argv[0]!r}: {fault.strerror}") from fault
    if code := os.waitstatus_to_exitcode(status):
        complain(f"{argv[0]} ended with {code}")


def commit(message: str) -> None:
    run(["git", "add", "-A"])
    author = ["-c", "user.name=Scripted Agent", "-c", "user.email=scripted@example.invalid"]
    run(["git", *author, "commit", "-q", "--no-verify", "--allow-empty", "-m", message])


def tamper_config(_: None) -> None:
    run(["git", "config", "--local", "--add", "filter.tampered.clean", "true"])


# ------------------------------------------------------------------ words


def say(text: str) -> None:
    print(text, flush=True)


def complain(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def claim_done(text: str | None) -> None:
    say(text or "All tests pass.")


def flood(count: int) -> None:
    block = CHUNK * 1024
    while count > 0:
        count -= os.write(1, block[:count])


def note(**facts: object) -> None:
    Path(os.environ["YAOKI_RESULT"]).write_text(json.dumps(facts), encoding="utf-8")


def unsafe(summary: str | None) -> NoReturn:
    note(status="failed", summary=summary or "stopped half-way", retry_safe=False)
    sys.exit(1)


def rate_limit(wait: Mapping[str, int] | None) -> NoReturn:
    complain("API Error: 429 Too Many Requests")
    if wait:
        complain(f"Retry-After: {wait['retry_after']}")
    sys.exit(1)


def record(path: str) -> None:
    """Appends the prompt of this attempt, under a line that names the attempt."""
    prompt = Path(os.environ["YAOKI_PROMPT_FILE"]).read_text(encoding="utf-8")
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(f"--- {task_name()} attempt {attempt_number()}\n{prompt}\n")


# ------------------------------------------------------------------ time and death


def sleep(seconds: float) -> None:
    select.select([], [], [], seconds)


def hang(_: None) -> NoReturn:
    while True:
        signal.pause()


def burn(seconds: float) -> None:
    """Uses that much CPU time."""
    start = os.times()
    while (now := os.times()).user + now.system - start.user - start.system < seconds:
        sum(range(10_000))


def grandchild(path: str | None) -> None:
    """Leaves a sleeping process in its own session, as badly behaved tools do."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        if pid := os.fork():
            os.write(writer, str(pid).encode())
            os._exit(0)
        os.close(writer)
        sleep(GRANDCHILD_S)
        os._exit(0)
    os.waitpid(child, 0)
    pid_text = os.read(reader, 32).decode()
    if path:
        Path(path).write_text(pid_text, encoding="utf-8")


def die(which: str | int) -> None:
    number = which if isinstance(which, int) else signal.Signals[f"SIG{which.removeprefix('SIG')}"]
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


# ------------------------------------------------------------------ playing

ACTS: Mapping[str, Callable[[Any], None]] = {
    "write": write,
    "append": append,
    "replace": replace,
    "delete": delete,
    "delete_tests": delete_tests,
    "omit": omit,
    "conflict": write,
    "resolve_conflict": write,
    "run": run,
    "commit": commit,
    "tamper_config": tamper_config,
    "say": say,
    "complain": complain,
    "claim_done": claim_done,
    "talk_429": lambda _: say(PROSE_429),
    "flood": flood,
    "ask": lambda text: note(status="question", question=text),
    "unsafe": unsafe,
    "rate_limit": rate_limit,
    "nothing": lambda _: None,
    "sleep": sleep,
    "burn": burn,
    "hang": hang,
    "grandchild": grandchild,
    "die": die,
    "exit": sys.exit,
    "record": record,
}


def task_name() -> str:
    return os.environ.get("YAOKI_TASK_NAME") or os.environ["YAOKI_TASK"]


def attempt_number() -> int:
    return int(os.environ["YAOKI_ATTEMPT"])


def choose(tasks: Mapping[str, list[list[dict[str, Any]]]]) -> list[dict[str, Any]]:
    """The acts of this task and attempt; the last attempt of the list repeats."""
    attempts = tasks.get(task_name()) or tasks.get("default")
    if not attempts:
        raise ScenarioFault(f"no acts for {task_name()!r}, and no default")
    return attempts[min(attempt_number(), len(attempts)) - 1]


def main(script: str) -> None:
    scenario = json.loads(Path(script).read_text(encoding="utf-8"))
    try:
        for act in choose(scenario["tasks"]):
            for name, value in act.items():
                ACTS[name](value)
    except (ScenarioFault, OSError) as fault:
        complain(f"scenario: {fault}")
        sys.exit(2)


if __name__ == "__main__":
    main(sys.argv[1])
