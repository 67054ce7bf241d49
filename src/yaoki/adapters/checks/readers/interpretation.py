"""Turns entries into the items, params and message of a finding, all bounded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from yaoki.adapters.checks.readers.command_output import CommandOutput, list_lines
from yaoki.adapters.checks.readers.entries import (
    FILE_MISSING,
    FORMAT_ERROR,
    GIT_DIRTY,
    LINT_ERROR,
    TEST_FAILED,
    TOO_MANY_WARNINGS,
    TYPE_ERROR,
    OutputEntry,
    ParsedOutput,
)
from yaoki.adapters.checks.readers.locations import (
    PATH_CHARS_MAX,
    find_location,
    relative_to_worktree,
    remove_worktree_path,
)
from yaoki.adapters.checks.readers.missed_coverage import find_missed_coverage
from yaoki.adapters.checks.readers.node_assertions import name_compared_values
from yaoki.adapters.checks.readers.suite_stop import MissingPackage, find_missing_packages
from yaoki.adapters.checks.readers.tally import SuiteTally
from yaoki.core.decide.baseline import ONLY_WARNINGS
from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.model import FindingItem
from yaoki.core.model.outcome import ITEMS_MAX, bound_items
from yaoki.core.text import clip_head_and_tail, one_line, strip_terminal_codes

LIST_MAX = 30
# More failures than this are counted, and not named.
NAMED_MAX = 1_000
NAME_CHARS_MAX, MESSAGE_CHARS_MAX, ERROR_CHARS_MAX = 300, 300, 600
MESSAGE_LINES = 3
RAW_CHARS_MAX = 8_000
# For these patterns an entry is named by its file only.
_OF_FILES = {FORMAT_ERROR, GIT_DIRTY, FILE_MISSING}
HEAD, TAIL = 1024, 3072


@dataclass(frozen=True, slots=True)
class Interpretation:
    """The meaning of the output.  If it is not understood: no items, and its ends in the params.

    `failure_count` counts all problems; only the first are items, and `unlisted` are the others,
    or none if they are unknown or too many.  `tally` is present for a report
    of tests.  `load_error`: what could not be loaded; `missing_packages`: what is not installed.
    `report_defect`: why the report is unreadable; `reader_fault`: the error of a reader of ours.
    """

    understood: bool = False
    items: tuple[FindingItem, ...] = ()
    unlisted: tuple[FindingItem, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    message: str = ""
    pattern: str = ""
    failure_count: int = 0
    tally: SuiteTally | None = None
    load_error: str = ""
    missing_packages: tuple[MissingPackage, ...] = ()
    report_defect: str = ""
    reader_fault: str = ""

    @property
    def test_count(self) -> int:
        return self.tally.total if self.tally is not None else 0


def interpret_entries(
    result: ParsedOutput | None, command: CommandOutput, plan_pattern: str
) -> Interpretation:
    """The output of a failed command without any problem in it was not understood."""
    missed = tuple(find_missed_coverage(list_lines(command))) if command.exit_code else ()
    if result is None and missed:
        result = ParsedOutput(TEST_FAILED)
    if result is None:
        return Interpretation(
            params=params_for_pattern(plan_pattern, (), "", command) | raw_params(command)
        )
    failed = _relevant_entries(result, command)
    entries = (*failed, *(missed if result.pattern == TEST_FAILED else ()))
    count = len(entries) + result.unlisted_count
    named = tuple(_prepare_entry(entry, command) for entry in entries[:NAMED_MAX])
    listed = named[:LIST_MAX]
    pattern = result.pattern if listed else ""
    params: dict[str, Any] = {"failureCount": count} if listed else {}
    params |= {ONLY_WARNINGS: True} if _are_unexplained(entries, command) else {}
    for name in dict.fromkeys((pattern, plan_pattern)):
        params |= params_for_pattern(name, listed, result.diff, command)
    items = _items(named, pattern)
    return Interpretation(
        bool(listed) or command.exit_code == 0,
        bound_items(items, count),
        items[ITEMS_MAX:] if len(items) == count else (),
        params | raw_params(command),
        _message(listed, pattern, len(failed) + result.unlisted_count)
        if failed
        else "; ".join(entry.message for entry in listed),
        pattern,
        count if listed else 0,
        result.tally,
        next((_short(entry.message, command, 300) for entry in entries if entry.is_load_error), ""),
        _find_missing(entries[:LIST_MAX], command),
    )


def _are_unexplained(entries: Sequence[OutputEntry], command: CommandOutput) -> bool:
    """Are they warnings alone, which are no reason to fail unless the tool says so?"""
    if not entries or not command.exit_code or not all(entry.is_warning for entry in entries):
        return False
    return not any(TOO_MANY_WARNINGS in line for line in list_lines(command))


def _find_missing(
    entries: tuple[OutputEntry, ...], command: CommandOutput
) -> tuple[MissingPackage, ...]:
    texts = (text for entry in entries for text in (entry.message, entry.trace))
    return find_missing_packages((line for text in texts for line in text.splitlines()), command)


def _relevant_entries(result: ParsedOutput, command: CommandOutput) -> tuple[OutputEntry, ...]:
    """Errors; warnings only if there are no errors and the command failed."""
    errors = tuple(entry for entry in result.entries if not entry.is_warning)
    return errors if errors or command.exit_code == 0 else result.entries


def raw_params(command: CommandOutput) -> dict[str, Any]:
    return {
        "stdout": clip_ends(command.stdout, command),
        "stderr": clip_ends(command.stderr, command),
        "exitCode": command.exit_code,
    }


def clip_ends(text: str, command: CommandOutput, head: int = HEAD, tail: int = TAIL) -> str:
    """Head and tail, masked before the cut."""
    if len(text) > 4 * RAW_CHARS_MAX:
        cut = f"\n[{len(text) - head - tail} characters left out]\n"
        first, last = text[:RAW_CHARS_MAX], text[-RAW_CHARS_MAX:]
        return _make_safe(first, command)[:head] + cut + _make_safe(last, command)[-tail:]
    return clip_head_and_tail(_make_safe(text, command), head, tail)


def describe_unread_output(command: CommandOutput) -> str:
    """Both ends of both channels, for an extractor that found no names of failures."""
    parts = (("stdout", command.stdout), ("stderr", command.stderr))
    sections = (
        f"[{name}]\n{clip_ends(text, command, 700, 1800).strip()}"
        for name, text in parts
        if text.strip()
    )
    return "\n".join(("[no reader understood this output]", *sections))


def _make_safe(text: str, command: CommandOutput) -> str:
    """Masks secrets, removes terminal codes, the path of the proof room, and lone surrogates, which
    a store cannot write.
    """
    masked = command.mask_secrets(strip_terminal_codes(text))
    return remove_worktree_path(masked, command).encode("utf-8", "replace").decode("utf-8")


def _short(text: str, command: CommandOutput, limit: int) -> str:
    return one_line(_make_safe(text[:RAW_CHARS_MAX], command), limit)


def _prepare_entry(entry: OutputEntry, command: CommandOutput) -> OutputEntry:
    file, line = relative_to_worktree(entry.file, command), entry.line
    if line is None and entry.name:
        place, row = find_location(entry.trace or entry.message, command)
        file, line = (place, row) if file in ("", place) else (file, None)
    lines = [line.strip() for line in entry.message[:RAW_CHARS_MAX].splitlines() if line.strip()]
    message = name_compared_values(lines) or " ".join(lines[:MESSAGE_LINES])
    return replace(
        entry,
        name=_short(remove_worktree_path(entry.name, command), command, NAME_CHARS_MAX),
        message=_short(
            remove_worktree_path(message, command),
            command,
            ERROR_CHARS_MAX,
        ),
        file=_short(file, command, PATH_CHARS_MAX),
        code=_short(entry.code, command, 100),
        line=line,
    )


# ------------------------------------------------------------------ params


def params_for_pattern(
    pattern: str, entries: tuple[OutputEntry, ...], diff: str, command: CommandOutput
) -> dict[str, Any]:
    """The params that the prompt for this pattern uses, present even if empty."""
    files = list(dict.fromkeys(entry.file or entry.name for entry in entries))
    match pattern:
        case "test-failed":
            parts = (part.rstrip() for part in (command.stdout, command.stderr))
            output = "\n".join(filter(None, parts))
            return {
                "failedTests": [_test_params(e) for e in entries],
                "errorOutput": clip_ends(output, command),
            }
        case "type-error":
            return {"typeErrors": [_diagnostic_params(e) for e in entries]}
        case "lint-error":
            return {"lintErrors": [_diagnostic_params(e) for e in entries]}
        case "format-error":
            return {"unformattedFiles": files, "diff": clip_ends(diff, command)}
        case "git-dirty":
            return _git_params(entries)
        case "file-not-exists":
            return {"missingFiles": files or [_short(p, command, 300) for p in command.missing]}
        case _:
            return {}


def _test_params(entry: OutputEntry) -> dict[str, Any]:
    return {
        "name": _entry_name(entry),
        "error": entry.message,
        "file": entry.file,
        "line": entry.line,
    }


def _diagnostic_params(entry: OutputEntry) -> dict[str, Any]:
    return {
        "file": entry.file,
        "line": entry.line,
        "column": entry.column,
        "code": entry.code,
        "message": entry.message,
    }


def _git_params(entries: tuple[OutputEntry, ...]) -> dict[str, Any]:
    """The code of such an entry is from git: index and worktree, `??` for untracked."""
    tracked = [e for e in entries if e.code != "??"]
    return {
        "changedFiles": [e.file for e in tracked],
        "untrackedFiles": [e.file for e in entries if e.code == "??"],
        "stagedFiles": [e.file for e in tracked if e.code[:1] not in ("", ".")],
    }


# ------------------------------------------------------------------ items and message


def _entry_name(entry: OutputEntry) -> str:
    """A name that does not change when lines move, because two runs are compared by it."""
    if entry.name:
        return entry.name
    code = f"[{entry.code}]" if entry.code else ""
    text = ": ".join(filter(None, (entry.file, entry.message)))
    return one_line(" ".join(filter(None, (text, code))), NAME_CHARS_MAX)


def _where(entry: OutputEntry) -> str:
    places = (entry.line, entry.column if entry.line is not None else None)
    return ":".join([entry.file, *(str(n) for n in places if n is not None)]) if entry.file else ""


def _items(entries: tuple[OutputEntry, ...], pattern: str) -> tuple[FindingItem, ...]:
    """Names are unique: a second problem with the same name gets a number."""
    items, times = list[FindingItem](), Counter[str]()
    for entry in entries:
        name = entry.file if pattern in _OF_FILES and entry.file else _entry_name(entry)
        times[name] += 1
        message = entry.message if entry.name or pattern in _OF_FILES else ""
        suffix = f" ({times[name]})" if times[name] > 1 else ""
        items.append(
            FindingItem(name + suffix, one_line(message, MESSAGE_CHARS_MAX), _where(entry))
        )
    return tuple(items)


_SUMMARIES: Mapping[str, tuple[str, str]] = {
    TEST_FAILED: ("1 test failed", "{} tests failed"),
    TYPE_ERROR: ("1 type error", "{} type errors"),
    LINT_ERROR: ("1 lint error", "{} lint errors"),
    FORMAT_ERROR: ("1 file is not formatted", "{} files are not formatted"),
    GIT_DIRTY: ("1 file is not committed", "{} files are not committed"),
    FILE_MISSING: ("1 file is missing", "{} files are missing"),
}


def _message(entries: tuple[OutputEntry, ...], pattern: str, count: int) -> str:
    if not entries:
        return ""
    singular, plural = _SUMMARIES[pattern]
    summary = singular if count == 1 else plural.format(count)
    if pattern in _OF_FILES:
        details = ", ".join(entry.file or entry.name for entry in entries[:5])
    else:
        first = entries[0]
        name = _entry_name(first) if pattern == TEST_FAILED else _where(first) or _entry_name(first)
        details = ": ".join(filter(None, (name, first.message)))
    return f"{summary}: {one_line(details, MESSAGE_CHARS_MAX)}"
