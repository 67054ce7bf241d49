"""The demo's output: one line for each failure and landing, the false claim in full."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.faces.text.render import clean_line, print_line, uses_colour

_QUALITY = lazy_compile(r"Q\d+")
NAME_CHARS = 7
COMMIT_CHARS = 10


def emphasize(text: str, colour: str | None = None) -> str:
    """In bold where the terminal supports it and the reader allows it."""
    return click.style(text, fg=colour, bold=True) if uses_colour() else text


@dataclass(slots=True)
class JournalTail:
    """The lines added to a journal file since the last read."""

    folder: Path
    _read: dict[Path, int] = field(default_factory=dict)

    def read_new(self) -> Iterator[Mapping[str, Any]]:
        for path in sorted(self.folder.glob("*.jsonl")):
            with path.open("rb") as file:
                file.seek(self._read.get(path, 0))
                whole, _, _ = file.read().rpartition(b"\n")
            self._read[path] = self._read.get(path, 0) + (len(whole) + 1 if whole else 0)
            yield from (json.loads(one) for one in whole.splitlines())


@dataclass(slots=True)
class _TaskStory:
    """The facts of one task so far."""

    name: str
    begun: bool = False
    failed: tuple[str, str] = ("", "")
    passed: str = ""
    lied: bool = False


@dataclass(slots=True)
class Narrator:
    """Reads the journal of a run and prints the entries that matter."""

    seconds: Callable[[], float]
    _parts: dict[str, _TaskStory] = field(default_factory=dict)

    def has_begun(self, name: str) -> bool:
        return any(part.begun for part in self._parts.values() if part.name == name)

    def add_entry(self, entry: Mapping[str, Any]) -> None:
        data, task = entry["data"], entry["task_id"]
        if entry["event"] == "TASK_SUBMITTED":
            self._parts[task] = _TaskStory(data["spec"]["name"])
        if task not in self._parts:
            return
        part = self._parts[task]
        match entry["event"]:
            case "ATTEMPT_STARTED":
                part.begun = True
            case "CHECK_FINISHED":
                self._note_check(part, data)
            case "RETRY_DECISION":
                self._print_failure(part, data["failure"], _wait_s(entry))
            case "ESCALATE_DECISION":
                self._line(part.name, "asks", data["failure"]["message"], "magenta")
            case "LEASE_EXPIRED":
                words = "its worker was killed, but its agent is still working"
                self._line(part.name, "found", words, "cyan")
            case "TASK_LANDED":
                self._print_landing(part, entry["attempt"], data["commit"])
            case _:
                pass

    def _note_check(self, part: _TaskStory, check: Mapping[str, Any]) -> None:
        if check["outcome"] == "PASSED":
            part.passed = check["check"]
        elif not _QUALITY.fullmatch(check["check"]):
            part.failed = (check["check"], check["message"])

    def _print_failure(self, part: _TaskStory, failure: Mapping[str, Any], wait_s: float) -> None:
        claim = failure.get("params", {}).get("claim")
        if not claim:
            again = f"; tries again in {wait_s:.0f} s" if wait_s >= 1 else ""
            self._line(part.name, "fails", f"{_shorten(failure['message'])}{again}", "yellow")
            return
        part.lied = True
        check, seen = part.failed
        print_line()
        self._line(part.name, "LIES", f'its agent says "{claim}"', "red", bold=True)
        self._line("", "", f"yaoki runs {check}: {_shorten(seen)}", "red", bold=True)
        self._line("", "", "nothing lands; the agent gets this output as feedback and tries again")
        print_line()

    def _print_landing(self, part: _TaskStory, attempt: int, commit: str) -> None:
        short = commit[:COMMIT_CHARS]
        proof = f"{part.passed} passes on {short}" if part.passed else short
        if part.lied:
            print_line()
            words = f"attempt {attempt}: {proof}"
            self._line(part.name, "LANDS", words, "green", bold=True)
            self._line("", "", "a task is done when its checks pass, not when its agent says so")
            print_line()
        else:
            self._line(part.name, "lands", f"attempt {attempt}: {proof}", "green")

    def _line(
        self, name: str, how: str, words: str, colour: str | None = None, *, bold: bool = False
    ) -> None:
        when = f"{self.seconds():3.0f} s" if name else ""
        text = f"{when:>5}  {name:<{NAME_CHARS}} {how:<5}  {clean_line(words, 200)}"
        if uses_colour() and colour:
            text = click.style(text, fg=colour, bold=bold)
        print_line(text)


def _wait_s(entry: Mapping[str, Any]) -> float:
    """How long the next attempt waits, as the journal decided it."""
    due = entry["data"].get("due_at")
    return datetime.fromisoformat(due).timestamp() - entry["at_ms"] / 1000 if due else 0.0


def _shorten(words: str) -> str:
    """Without the path that only a machine reads: `1 test failed: a.b.c.test_x: …`."""
    return re.sub(r"(?:[\w.]*\.)?test_\w+: (?:\w+Error: )?", "", words)
