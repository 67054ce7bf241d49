"""Turns changes and claims into findings, one for every criterion that is violated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import Finding, FindingItem, OnFailure, Outcome
from yaoki.core.text import one_line, strip_terminal_codes
from yaoki.formats.quality.changed_file import (
    ChangedFile,
    FileVersion,
    changed_files_of,
    unread_words,
)
from yaoki.formats.quality.claims import find_done_claim, find_missing_files, missing_evidence
from yaoki.formats.quality.model import Change, ChangeContext, Violation
from yaoki.formats.quality.omissions import find_omissions
from yaoki.formats.quality.syntax import find_breakage
from yaoki.formats.quality.todos import find_todos

VIOLATIONS_MAX = 20
TEXT_CHARS_MAX = 200
UNREADABLE_CRITERIA = ("Q2", "Q3", "Q4")

ViolationFinder = Callable[[FileVersion], Iterable[Violation]]


def judge_criteria(
    changes: Sequence[Change], claims: ChangeContext, *, exists: Callable[[str], bool]
) -> tuple[Finding, ...]:
    """The violated criteria, in the order Q1 to Q6; empty when there are none.

    `exists` says whether a path, relative to the repository, is in the tree that is judged.
    """
    pairs = [pair for change in changes for pair in changed_files_of(change)]
    present = frozenset(change.path for change in changes if change.after is not None)
    findings = (
        _missing(find_missing_files(claims, present, exists)),
        _marked("Q2", "todo-added", "todos", "left to do", new_violations(pairs, find_todos)),
        _marked("Q3", "omission", "omissions", "left out", new_violations(pairs, find_omissions)),
        _syntax(pairs),
        _evidence_finding(claims),
        _claim_finding(claims),
        *_unread_findings(changes),
    )
    return tuple(finding for finding in findings if finding is not None)


def new_violations(pairs: Sequence[ChangedFile], finder: ViolationFinder) -> list[Violation]:
    """Violations on added lines, without those that existed before and were only moved."""
    before = Counter(_key(mark) for pair in pairs for mark in _violations_of(pair.before, finder))
    fresh: list[Violation] = []
    candidates: list[Violation] = []
    for pair in pairs:
        for mark in _violations_of(pair.after, finder):
            if mark.line in pair.added_lines:
                candidates.append(mark)
            else:
                before[_key(mark)] -= 1
    for mark in candidates:
        if before[_key(mark)] > 0:
            before[_key(mark)] -= 1
        else:
            fresh.append(mark)
    return fresh


def _violations_of(side: FileVersion | None, finder: ViolationFinder) -> Iterator[Violation]:
    """Violations of a file, at most one per line, however many rules match."""
    known: set[int] = set()
    for mark in finder(side) if side is not None else ():
        if mark.line not in known:
            known.add(mark.line)
            yield mark


def _key(mark: Violation) -> str:
    return " ".join([*mark.text.split(), mark.owner])


def _marked(
    check: str, pattern: str, name: str, label: str, marks: list[Violation]
) -> Finding | None:
    if not marks:
        return None
    shown = [_as_param(mark) for mark in marks[:VIOLATIONS_MAX]]
    first = shown[0]
    message = f"{label}: {first['text']} ({first['file']}:{first['line']})"
    return _finding(check, pattern, message, _items(shown, "text", len(marks)), {name: shown})


def _syntax(pairs: Sequence[ChangedFile]) -> Finding | None:
    problems = [
        (pair.path, problem) for pair in pairs if (problem := find_breakage(pair)) is not None
    ]
    if not problems:
        return None
    shown = [
        {"file": path, "line": problem.line, "message": _clip(problem.message)}
        for path, problem in problems[:VIOLATIONS_MAX]
    ]
    first = shown[0]
    message = f"{first['file']}:{first['line']}: {first['message']}"
    params = {"syntaxErrors": shown, "truncated": any(p.is_truncated for _, p in problems)}
    return _finding("Q4", "syntax-error", message, _items(shown, "message", len(problems)), params)


def _missing(paths: list[str]) -> Finding | None:
    if not paths:
        return None
    shown = [_clip(path) for path in paths[:VIOLATIONS_MAX]]
    items = tuple(FindingItem(path, "does not exist", path) for path in shown)
    message = f"files that were expected or claimed do not exist: {', '.join(shown)}"
    return _finding("Q1", "file-not-exists", message, items, {"missingFiles": shown})


def _evidence_finding(claims: ChangeContext) -> Finding | None:
    reason = missing_evidence(claims)
    return _finding("Q5", "no-change", reason, (), {}) if reason else None


def _claim_finding(claims: ChangeContext) -> Finding | None:
    words = find_done_claim(claims)
    if not words:
        return None
    quote = _clip(words)
    message = f"claimed to be complete without evidence: {quote}"
    return _finding("Q6", "no-change", message, (), {"claim": quote})


def _unread_findings(changes: Sequence[Change]) -> Iterator[Finding]:
    """A change that is too large to read violates the criteria that need to read it.

    No further attempt makes it smaller, so a person is asked, who may waive it.
    """
    words = unread_words(changes)
    for check in UNREADABLE_CRITERIA if words else ():
        finding = _finding(check, "", words, (), {"filesChanged": len(changes)})
        yield replace(finding, on_failure=OnFailure.ABORT)


def _as_param(mark: Violation) -> dict[str, Any]:
    return {"file": mark.file, "line": mark.line, "text": _clip(mark.text)}


def _items(shown: list[dict[str, Any]], key: str, count: int) -> tuple[FindingItem, ...]:
    items = [
        FindingItem(f"{it['file']}:{it['line']}", it[key], f"{it['file']}:{it['line']}")
        for it in shown
    ]
    more = count - len(shown)
    return (*items, FindingItem(f"and {more} more")) if more else tuple(items)


def _clip(text: str) -> str:
    return one_line(strip_terminal_codes(text), TEXT_CHARS_MAX)


def _finding(
    check: str, pattern: str, message: str, items: tuple[FindingItem, ...], params: dict[str, Any]
) -> Finding:
    return Finding(
        check,
        Outcome.FAILED,
        pattern=pattern,
        message=one_line(message, 300),
        items=items,
        params=params,
    )
