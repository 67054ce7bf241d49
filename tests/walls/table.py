"""The page of attacks, made from the catalogue: `python -m tests.walls.table` prints it."""

from __future__ import annotations

from collections.abc import Iterator

from tests.documents import ROOT
from tests.walls.attacks import Attack, Detected, Held, Open, Untried
from tests.walls.catalogue import CATALOGUES
from tests.walls.catalogue.repositories import BROUGHT

PAGE = ROOT / "docs" / "reference" / "attacks.md"
HEAD = """\
# Attacks that are tried

Made from the catalogue of the tests by `python -m tests.walls.table`; a test insists that it is so. Each attack is carried out
by an agent, with the sandbox and without. Every verdict is from git, files and processes: a fresh clone of the run branch
in which the check is run, files outside, the table of processes. What the walls are: [walls](walls.md).

**With the sandbox all {count} are held.** Nothing below is about a run inside it.
"""
BY = {
    "question": "nothing lands; a question",
    "report": "the report names it",
    "run": "the run stops with a question",
}


def page() -> str:
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    attacks = [attack for held in CATALOGUES.values() for attack in held.attacks]
    yield HEAD.format(count=len(attacks))
    yield "## What cannot be held without the sandbox, and what is detected instead\n"
    yield "| the agent | detected by | |"
    yield "|---|---|---|"
    for attack in attacks:
        match attack.off:
            case Detected(by, _):
                yield f"| {attack.tries} | {BY[by]} | |"
            case Open(why):
                yield f"| {attack.tries} | nothing | {why} |"
            case Untried(why):
                yield f"| {attack.tries} | not tried | {why} |"
            case Held():
                pass
    for held in CATALOGUES.values():
        yield f"\n## {held.about}\n"
        yield "| attack | the agent | without the sandbox |"
        yield "|---|---|---|"
        yield from (f"| `{a.name}` | {a.tries} | {_word(a)} |" for a in held.attacks)
    yield "\n## What a stranger's repository, settings or plan bring\n"
    yield f"{len(BROUGHT)} are looked at, and some run: nothing of them starts, leads out, or moves a terminal.\n"
    yield "| attack | it brings |"
    yield "|---|---|"
    yield from (f"| `{brought.name}` | {brought.tries} |" for brought in BROUGHT)


def _word(attack: Attack) -> str:
    match attack.off:
        case Held():
            return "held"
        case Detected():
            return "detected"
        case Open():
            return "open"
        case Untried():
            return "not tried"


if __name__ == "__main__":
    print(page(), end="")
