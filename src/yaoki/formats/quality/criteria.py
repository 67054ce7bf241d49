"""From changes and claims to findings: one for every criterion that does not hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from yaoki.core.display import one_line, plain
from yaoki.core.model import Finding, Item, OnFailure, Outcome
from yaoki.formats.quality.changed_file import Pair, Side, pairs_of, unread_words
from yaoki.formats.quality.claims import claimed_done, evidence_missing, missing_files
from yaoki.formats.quality.model import Change, Claims, Mark
from yaoki.formats.quality.omissions import omissions_in
from yaoki.formats.quality.syntax import broken
from yaoki.formats.quality.todos import todos_in

MARKS_MAX = 20
TEXT_CHARS_MAX = 200
UNREAD = ("Q2", "Q3", "Q4")

Finder = Callable[[Side], Iterable[Mark]]


def judge(
    changes: Sequence[Change], claims: Claims, *, exists: Callable[[str], bool]
) -> tuple[Finding, ...]:
    """What does not hold, in the order Q1 to Q6; empty when all of it does.

    `exists` says whether a path, relative to the repository, is in the tree that is judged.
    """
    pairs = [pair for change in changes for pair in pairs_of(change)]
    present = frozenset(change.path for change in changes if change.after is not None)
    found = (
        _missing(missing_files(claims, present, exists)),
        _marked("Q2", "todo-added", "todos", "left to do", new_marks(pairs, todos_in)),
        _marked("Q3", "omission", "omissions", "left out", new_marks(pairs, omissions_in)),
        _syntax(pairs),
        _evidence(claims),
        _claim(claims),
        *_unread(changes),
    )
    return tuple(finding for finding in found if finding is not None)


def new_marks(pairs: Sequence[Pair], finder: Finder) -> list[Mark]:
    """Marks on added lines, less those that stood somewhere before and were only moved."""
    stood = Counter(_key(mark) for pair in pairs for mark in _of(pair.before, finder))
    fresh: list[Mark] = []
    candidates: list[Mark] = []
    for pair in pairs:
        for mark in _of(pair.after, finder):
            if mark.line in pair.added:
                candidates.append(mark)
            else:
                stood[_key(mark)] -= 1
    for mark in candidates:
        if stood[_key(mark)] > 0:
            stood[_key(mark)] -= 1
        else:
            fresh.append(mark)
    return fresh


def _of(side: Side | None, finder: Finder) -> Iterator[Mark]:
    """One mark per line, however many rules it meets."""
    seen: set[int] = set()
    for mark in finder(side) if side is not None else ():
        if mark.line not in seen:
            seen.add(mark.line)
            yield mark


def _key(mark: Mark) -> str:
    return " ".join([*mark.text.split(), mark.owner])


def _marked(check: str, pattern: str, name: str, what: str, marks: list[Mark]) -> Finding | None:
    if not marks:
        return None
    shown = [_told(mark) for mark in marks[:MARKS_MAX]]
    first = shown[0]
    message = f"{what}: {first['text']} ({first['file']}:{first['line']})"
    return _finding(check, pattern, message, _items(shown, "text", len(marks)), {name: shown})


def _syntax(pairs: Sequence[Pair]) -> Finding | None:
    problems = [(pair.path, problem) for pair in pairs if (problem := broken(pair)) is not None]
    if not problems:
        return None
    shown = [
        {"file": path, "line": problem.line, "message": _shown(problem.message)}
        for path, problem in problems[:MARKS_MAX]
    ]
    first = shown[0]
    message = f"{first['file']}:{first['line']}: {first['message']}"
    params = {"syntaxErrors": shown, "truncated": any(p.truncated for _, p in problems)}
    return _finding("Q4", "syntax-error", message, _items(shown, "message", len(problems)), params)


def _missing(paths: list[str]) -> Finding | None:
    if not paths:
        return None
    shown = [_shown(path) for path in paths[:MARKS_MAX]]
    items = tuple(Item(path, "is not there", path) for path in shown)
    message = f"expected or said to be made, but not there: {', '.join(shown)}"
    return _finding("Q1", "file-not-exists", message, items, {"missingFiles": shown})


def _evidence(claims: Claims) -> Finding | None:
    why = evidence_missing(claims)
    return _finding("Q5", "no-change", why, (), {}) if why else None


def _claim(claims: Claims) -> Finding | None:
    words = claimed_done(claims)
    if not words:
        return None
    said = _shown(words)
    message = f"said to be complete without evidence: {said}"
    return _finding("Q6", "no-change", message, (), {"claim": said})


def _unread(changes: Sequence[Change]) -> Iterator[Finding]:
    """A change that is too large to be read fails what nobody could look at.

    No further try of the agent makes it smaller, so a person is asked, who may waive it.
    """
    words = unread_words(changes)
    for check in UNREAD if words else ():
        finding = _finding(check, "", words, (), {"filesChanged": len(changes)})
        yield replace(finding, on_failure=OnFailure.ABORT)


def _told(mark: Mark) -> dict[str, Any]:
    return {"file": mark.file, "line": mark.line, "text": _shown(mark.text)}


def _items(shown: list[dict[str, Any]], key: str, count: int) -> tuple[Item, ...]:
    items = [
        Item(f"{it['file']}:{it['line']}", it[key], f"{it['file']}:{it['line']}") for it in shown
    ]
    more = count - len(shown)
    return (*items, Item(f"and {more} more")) if more else tuple(items)


def _shown(text: str) -> str:
    return one_line(plain(text), TEXT_CHARS_MAX)


def _finding(
    check: str, pattern: str, message: str, items: tuple[Item, ...], params: dict[str, Any]
) -> Finding:
    return Finding(
        check,
        Outcome.FAILED,
        pattern=pattern,
        message=one_line(message, 300),
        items=items,
        params=params,
    )
