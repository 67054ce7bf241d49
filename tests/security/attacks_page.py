"""docs/reference/attacks.md: every attack of the catalogue; `python -m tests.reference` writes it."""

from __future__ import annotations

from collections.abc import Iterator

from tests.security.attack import Attack, Detected, NotTried, Open, Stopped
from tests.security.catalogue import CATALOGUES
from tests.security.catalogue.repositories import REPOSITORY_ATTACKS

HEAD = """\
# Attacks that are tried

This page is generated from the catalogue of the tests by `python -m tests.reference`, and a test compares it. An agent carries out
each attack, with and without the sandbox. The outcome is determined from git, files and processes: the check runs in a fresh clone of
the run branch, and the files outside of the worktree and the process table are compared with their state before the attack.
[Walls](walls.md) describes how attacks are stopped.

**With the sandbox all {count} attacks are stopped.** The tables below are about runs without it.
"""
BY = {
    "question": "nothing lands, and a person is asked",
    "report": "the report names it",
    "run": "the run pauses, and a person is asked",
}


def page() -> str:
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    attacks = [attack for held in CATALOGUES.values() for attack in held.attacks]
    yield HEAD.format(count=len(attacks))
    yield "## What cannot be stopped without the sandbox, and what is detected instead\n"
    yield "| the agent | detection | reason |"
    yield "|---|---|---|"
    for attack in attacks:
        match attack.off:
            case Detected(by, _):
                yield f"| {attack.tries} | {BY[by]} | |"
            case Open(why):
                yield f"| {attack.tries} | nothing | {why} |"
            case NotTried(why):
                yield f"| {attack.tries} | not tried | {why} |"
            case Stopped():
                pass
    for held in CATALOGUES.values():
        yield f"\n## {held.about}\n"
        yield "| attack | the agent | without the sandbox |"
        yield "|---|---|---|"
        yield from (f"| `{a.name}` | {a.tries} | {_word(a)} |" for a in held.attacks)
    yield "\n## Foreign repositories, settings and plans\n"
    yield f"yaoki reads all {len(REPOSITORY_ATTACKS)}, and runs some: none of them starts a program, leaves the repository, or controls the terminal.\n"
    yield "| attack | content |"
    yield "|---|---|"
    yield from (f"| `{brought.name}` | {brought.tries} |" for brought in REPOSITORY_ATTACKS)


def _word(attack: Attack) -> str:
    match attack.off:
        case Stopped():
            return "stopped"
        case Detected():
            return "detected"
        case Open():
            return "open"
        case NotTried():
            return "not tried"
