"""From entries to what a finding carries: items, params by pattern, one sentence; all bounded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from yaoki.adapters.checks.findings import ITEMS_MAX
from yaoki.adapters.checks.readers.command_output import CommandOutput
from yaoki.adapters.checks.readers.entries import (
    FILE_MISSING,
    FORMAT_ERROR,
    GIT_DIRTY,
    LINT_ERROR,
    TEST_FAILED,
    TYPE_ERROR,
    OutputEntry,
    ParsedOutput,
)
from yaoki.adapters.checks.readers.locations import (
    PATH_CHARS_MAX,
    find_location,
    relative_to_worktree,
)
from yaoki.adapters.checks.readers.suite_stop import MissingPackage, find_missing_packages
from yaoki.adapters.checks.readers.tally import SuiteTally
from yaoki.core.model import FindingItem
from yaoki.core.text import clip_head_and_tail, one_line, strip_terminal_codes

LIST_MAX = 30
NAME_CHARS_MAX, MESSAGE_CHARS_MAX, ERROR_CHARS_MAX = 300, 300, 600
MESSAGE_LINES = 3
RAW_CHARS_MAX = 8_000
# Of these the file is all there is to name.
_OF_FILES = {FORMAT_ERROR, GIT_DIRTY, FILE_MISSING}
HEAD, TAIL = 1024, 3072


@dataclass(frozen=True, slots=True)
class Interpretation:
    """What the output says.  Not understood: no items, the raw ends are in the params.

    `failures` counts what is wrong; only the first items are listed.  `tally` is there when a
    report of tests was read.  `load`: what it says could not be loaded; `missing`: what is not
    installed.  `defect`: why a report could not be read; `fault`: a reader of ours failed.
    """

    understood: bool = False
    items: tuple[FindingItem, ...] = ()
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

    @property
    def skipped_count(self) -> int:
        return self.tally.skipped if self.tally is not None else 0


def interpret_entries(
    result: ParsedOutput | None, seen: CommandOutput, asked: str
) -> Interpretation:
    """A failed command with nothing wrong in what was read was not understood."""
    if result is None:
        return Interpretation(params=params_for_pattern(asked, (), "", seen) | raw_params(seen))
    entries = _counting(result, seen)
    count = len(entries) + result.unlisted_count
    kept = tuple(_fit(entry, seen) for entry in entries[:LIST_MAX])
    pattern = result.pattern if kept else ""
    params: dict[str, Any] = {"failureCount": count} if kept else {}
    for name in dict.fromkeys((pattern, asked)):
        params |= params_for_pattern(name, kept, result.diff, seen)
    return Interpretation(
        bool(kept) or seen.exit_code == 0,
        _items(kept, pattern, count),
        params | raw_params(seen),
        _message(kept, pattern, count),
        pattern,
        count if kept else 0,
        result.tally,
        next((_short(entry.message, seen, 300) for entry in entries if entry.is_load_error), ""),
        _missing(entries[:LIST_MAX], seen),
    )


def _missing(entries: tuple[OutputEntry, ...], seen: CommandOutput) -> tuple[MissingPackage, ...]:
    texts = (text for entry in entries for text in (entry.message, entry.trace))
    return find_missing_packages((line for text in texts for line in text.splitlines()), seen)


def _counting(result: ParsedOutput, seen: CommandOutput) -> tuple[OutputEntry, ...]:
    """Errors; warnings only when they are all there is and the command failed."""
    errors = tuple(entry for entry in result.entries if not entry.is_warning)
    return errors if errors or seen.exit_code == 0 else result.entries


def raw_params(seen: CommandOutput) -> dict[str, Any]:
    return {
        "stdout": clip_ends(seen.stdout, seen),
        "stderr": clip_ends(seen.stderr, seen),
        "exitCode": seen.exit_code,
    }


def clip_ends(text: str, seen: CommandOutput, head: int = HEAD, tail: int = TAIL) -> str:
    """Head and tail, masked before they are cut to size."""
    if len(text) > 4 * RAW_CHARS_MAX:
        cut = f"\n[{len(text) - head - tail} characters left out]\n"
        first, last = text[:RAW_CHARS_MAX], text[-RAW_CHARS_MAX:]
        return _clean(first, seen)[:head] + cut + _clean(last, seen)[-tail:]
    return clip_head_and_tail(_clean(text, seen), head, tail)


def describe_unread_output(seen: CommandOutput) -> str:
    """Both ends of both channels, for who asked for names of failures where none were found."""
    parts = (("stdout", seen.stdout), ("stderr", seen.stderr))
    told = (
        f"[{name}]\n{clip_ends(held, seen, 700, 1800).strip()}"
        for name, held in parts
        if held.strip()
    )
    return "\n".join(("[no reader understood this output]", *told))


def _clean(text: str, seen: CommandOutput) -> str:
    """No secrets, no terminal codes, no half characters (a store could not write those)."""
    return seen.mask_secrets(strip_terminal_codes(text)).encode("utf-8", "replace").decode("utf-8")


def _short(text: str, seen: CommandOutput, limit: int) -> str:
    return one_line(_clean(text[:RAW_CHARS_MAX], seen), limit)


def _fit(entry: OutputEntry, seen: CommandOutput) -> OutputEntry:
    file, line = relative_to_worktree(entry.file, seen), entry.line
    if line is None and entry.name:
        place, row = find_location(entry.trace or entry.message, seen)
        file, line = (place, row) if file in ("", place) else (file, None)
    lines = [line.strip() for line in entry.message[:RAW_CHARS_MAX].splitlines() if line.strip()]
    return replace(
        entry,
        name=_short(_here(entry.name, seen), seen, NAME_CHARS_MAX),
        message=_short(_here(" ".join(lines[:MESSAGE_LINES]), seen), seen, ERROR_CHARS_MAX),
        file=_short(file, seen, PATH_CHARS_MAX),
        code=_short(entry.code, seen, 100),
        line=line,
    )


def _here(text: str, seen: CommandOutput) -> str:
    """The next attempt may have another worktree; its path tells nothing."""
    top = str(seen.worktree)
    return text.replace(f"{top}/", "") if len(top) > 1 else text


# ------------------------------------------------------------------ params


def params_for_pattern(
    pattern: str, entries: tuple[OutputEntry, ...], diff: str, seen: CommandOutput
) -> dict[str, Any]:
    """The params that the words about this pattern ask for, present even when empty."""
    files = list(dict.fromkeys(entry.file or entry.name for entry in entries))
    match pattern:
        case "test-failed":
            parts = (part.rstrip() for part in (seen.stdout, seen.stderr))
            output = "\n".join(filter(None, parts))
            return {
                "failedTests": [_test(e) for e in entries],
                "errorOutput": clip_ends(output, seen),
            }
        case "type-error":
            return {"typeErrors": [_diagnostic(e) for e in entries]}
        case "lint-error":
            return {"lintErrors": [_diagnostic(e) for e in entries]}
        case "format-error":
            return {"unformattedFiles": files, "diff": clip_ends(diff, seen)}
        case "git-dirty":
            return _dirty(entries)
        case "file-not-exists":
            return {"missingFiles": files or [_short(p, seen, 300) for p in seen.missing]}
        case _:
            return {}


def _test(entry: OutputEntry) -> dict[str, Any]:
    return {
        "name": _named(entry),
        "error": entry.message,
        "file": entry.file,
        "line": entry.line,
    }


def _diagnostic(entry: OutputEntry) -> dict[str, Any]:
    return {
        "file": entry.file,
        "line": entry.line,
        "column": entry.column,
        "code": entry.code,
        "message": entry.message,
    }


def _dirty(entries: tuple[OutputEntry, ...]) -> dict[str, Any]:
    """The code of such an entry is git's: index and worktree, `??` for what it does not know."""
    known = [e for e in entries if e.code != "??"]
    return {
        "changedFiles": [e.file for e in known],
        "untrackedFiles": [e.file for e in entries if e.code == "??"],
        "stagedFiles": [e.file for e in known if e.code[:1] not in ("", ".")],
    }


# ------------------------------------------------------------------ items and words


def _named(entry: OutputEntry) -> str:
    """What tells this fault from others and stays when lines move, for old and new are compared."""
    if entry.name:
        return entry.name
    code = f"[{entry.code}]" if entry.code else ""
    said = ": ".join(filter(None, (entry.file, entry.message)))
    return one_line(" ".join(filter(None, (said, code))), NAME_CHARS_MAX)


def _where(entry: OutputEntry) -> str:
    places = (entry.line, entry.column if entry.line is not None else None)
    return ":".join([entry.file, *(str(n) for n in places if n is not None)]) if entry.file else ""


def _items(entries: tuple[OutputEntry, ...], pattern: str, count: int) -> tuple[FindingItem, ...]:
    """Names are made different: a second fault of the same name is a new one."""
    items, times = list[FindingItem](), Counter[str]()
    for entry in entries[:ITEMS_MAX]:
        name = entry.file if pattern in _OF_FILES and entry.file else _named(entry)
        times[name] += 1
        told = entry.message if entry.name or pattern in _OF_FILES else ""
        again = f" ({times[name]})" if times[name] > 1 else ""
        items.append(FindingItem(name + again, one_line(told, MESSAGE_CHARS_MAX), _where(entry)))
    rest = count - len(items)
    return (
        (*items, FindingItem(f"and {rest} more", unlisted_count=rest)) if rest > 0 else tuple(items)
    )


_WORDS: Mapping[str, tuple[str, str]] = {
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
    one, many = _WORDS[pattern]
    if pattern in _OF_FILES:
        said = ", ".join(entry.file or entry.name for entry in entries[:5])
        return f"{one if count == 1 else many.format(count)}: {one_line(said, MESSAGE_CHARS_MAX)}"
    first = entries[0]
    name = _named(first) if pattern == TEST_FAILED else _where(first) or _named(first)
    said = ": ".join(filter(None, (name, first.message)))
    return f"{one if count == 1 else many.format(count)}: {one_line(said, MESSAGE_CHARS_MAX)}"
