"""The story as a person can follow it: one line a fall, one line a landing, the lie in full."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

import click

from yaoki.cli.render import coloured, line, say

# `12:03:04 add  attempt 1  words`, as `yaoki run` tells it.
_TOLD = re.compile(r"\d\d:\d\d:\d\d (\S+)(?:  attempt (\d+))?  (.*)")
_FAILED = re.compile(r"check (\S+) FAILED in [\d.]+ s: (.*)")
_PASSED = re.compile(r"check (\S+) PASSED")
_CLAIM = re.compile(r"check Q6 FAILED in [\d.]+ s: said to be complete without evidence: (.*)")
_FELL = re.compile(r"[A-Z_]+(?: [a-z-]+)?: (.*); retry in ([\d.]+ s).*")
_ASKS = re.compile(r"ESCALATED .*?[A-Z_]+: (?:[A-Z_]+: )?(.*)")
_QUALITY = re.compile(r"Q\d+")
NAME_CHARS = 7


def loud(text: str, colour: str | None = None) -> str:
    """In bold where the terminal can and the reader wants it."""
    return click.style(text, fg=colour, bold=True) if coloured() else text


@dataclass(slots=True)
class _Part:
    """What was heard of one task."""

    failed: tuple[str, str] = ("", "")
    passed: str = ""
    claim: str = ""
    lied: bool = False


@dataclass(slots=True)
class Telling:
    """Hears every line of a run and tells those that carry the story."""

    seconds: Callable[[], float]
    _parts: dict[str, _Part] = field(default_factory=dict)

    def begun(self, name: str) -> bool:
        return name in self._parts

    def hear(self, text: str) -> None:
        found = _TOLD.fullmatch(text)
        if found is None or found[1] == "run":
            return
        name, attempt, words = found[1], int(found[2] or 0), found[3]
        part = self._parts.setdefault(name, _Part())
        if claim := _CLAIM.fullmatch(words):
            part.claim = claim[1]
        elif failed := _FAILED.fullmatch(words):
            if not _QUALITY.fullmatch(failed[1]):
                part.failed = (failed[1], failed[2])
        elif passed := _PASSED.match(words):
            part.passed = passed[1]
        elif fell := _FELL.fullmatch(words):
            self._fell(name, part, fell[1], fell[2])
        elif asks := _ASKS.fullmatch(words):
            self._line(name, "asks", asks[1], "magenta")
        elif words.startswith("its claim was taken back"):
            self._line(name, "found", "its worker is dead, its agent is not: it goes on", "cyan")
        elif words.startswith("landed "):
            self._landed(name, part, attempt, words.removeprefix("landed "))

    def _fell(self, name: str, part: _Part, why: str, wait: str) -> None:
        if not part.claim:
            again = f"; tries again in {wait}" if float(wait.split()[0]) >= 1 else ""
            self._line(name, "falls", f"{_short(why)}{again}", "yellow")
            return
        part.lied = True
        check, seen = part.failed
        say()
        self._line(name, "LIES", f'its agent says "{part.claim}"', "red", bold=True)
        self._line("", "", f"yaoki runs {check}: {_short(seen)}", "red", bold=True)
        self._line("", "", "nothing lands; the agent is told exactly that, and tries again")
        say()

    def _landed(self, name: str, part: _Part, attempt: int, commit: str) -> None:
        proof = f"{part.passed} passes on {commit}" if part.passed else commit
        if part.lied:
            say()
            words = f"attempt {attempt}: {proof}; now it lands"
            self._line(name, "RISES", words, "green", bold=True)
            self._line("", "", "done is what a check says of a commit, not what an agent says")
            say()
        else:
            how = "rises" if attempt > 1 else "lands"
            self._line(name, how, f"attempt {attempt}: {proof}", "green")

    def _line(
        self, name: str, how: str, words: str, colour: str | None = None, *, bold: bool = False
    ) -> None:
        when = f"{self.seconds():3.0f} s" if name else ""
        text = f"{when:>5}  {name:<{NAME_CHARS}} {how:<5}  {line(words, 200)}"
        if coloured() and colour:
            text = click.style(text, fg=colour, bold=bold)
        say(text)


def _short(words: str) -> str:
    """Without the path that only a machine reads: `1 test failed: a.b.c.test_x: …`."""
    return re.sub(r"(?:[\w.]*\.)?test_\w+: (?:\w+Error: )?", "", words)
