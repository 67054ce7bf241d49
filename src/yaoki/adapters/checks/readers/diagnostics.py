"""Text output of type checkers, compilers and linters.

Almost all use one of two forms: `file:1:2: code message`, or a title with ` --> file:1:2` below.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile

from yaoki.adapters.checks.readers.command_output import OutputLines
from yaoki.adapters.checks.readers.entries import (
    LINT_ERROR,
    TOO_MANY_WARNINGS,
    TYPE_ERROR,
    OutputEntry,
    ParsedOutput,
    collect_entries,
    number_or_none,
)
from yaoki.adapters.checks.readers.locations import parse_frame
from yaoki.core.lazy_dataclass import replace
from yaoki.core.lazy_pattern import lazy_compile

_AT = r"([^\s:(][^:(]{0,300}):(\d{1,7}):(?:(\d{1,7}):)?(?:\d{1,7}:\d{1,7}:)?"
_MYPY = lazy_compile(_AT + r" (error|warning): (.{1,1900})$")
_TSC = lazy_compile(
    r"([^\s(:][^(:]{0,300})[(:](\d{1,7})[,:](\d{1,7})\)?(?:: | - )error (TS\d{1,6}): (.*)$"
)
_TSC_BARE = lazy_compile(r"error (TS\d{1,6}): (.*)$")
_PYRIGHT = lazy_compile(r"  (\S[^:]{0,300}):(\d{1,7}):(\d{1,7}) - (error|warning): (.*)$")
_RULE_LAST = lazy_compile(r"\((report\w{1,80})\)$")
_CONCISE = lazy_compile(_AT + r" ([A-Z]{1,10}\d{2,5}|invalid-syntax|SyntaxError)\b:? (.{1,1900})$")
_PARSEABLE = lazy_compile(_AT + r" \[([A-Z]\d{4})(?:\([\w-]{1,80}\))?[^\]]{0,300}\] (.{1,1900})$")
_RUSTC = lazy_compile(_AT + r" (error|warning)(?:\[(\w{1,60})\])?: (.{1,1900})$")
_STYLISH = lazy_compile(r"  +(\d{1,7}):(\d{1,7})  +(error|warning)  +(\S.{0,1900})$")
_TITLE = lazy_compile(r"(error|warning)(?:\[([\w:-]{1,100})\])?: (.{1,1900})$")
_RUFF_TITLE = lazy_compile(r"([A-Z]{1,10}\d{2,5}|invalid-syntax):? (?:\[\*\] )?(.{1,1900})$")
_DENO_CHECK = lazy_compile(r"(TS\d{1,6}) \[ERROR\]: (.*)$")


def mypy_text(output: OutputLines) -> ParsedOutput | None:
    """mypy, and every compiler that writes `file:1:2: error: message`."""
    return collect_entries(TYPE_ERROR, _mypy(output.lines))


def _mypy(lines: Sequence[str]) -> Iterator[OutputEntry]:
    for at, line in enumerate(lines):
        hit = _MYPY.match(line)
        if hit is None:
            continue
        message, code = _split_code(hit[5])
        if not code and at + 1 < len(lines) and lines[at + 1].endswith("]"):
            # `--pretty` breaks long lines; the code is at the end of the next line.
            message, code = _split_code(f"{message} {lines[at + 1].strip(' ')}")
        yield OutputEntry(
            "", message, hit[1], int(hit[2]), _to_int(hit[3]), code, hit[4] == "warning"
        )


def _split_code(text: str) -> tuple[str, str]:
    head, gap, code = text.rpartition("  [")
    return (head, code[:-1]) if gap and code.endswith("]") and " " not in code else (text, "")


def _to_int(digits: str | None) -> int | None:
    return int(digits) if digits else None


def pyright_text(output: OutputLines) -> ParsedOutput | None:
    return collect_entries(TYPE_ERROR, _pyright(output.stdout_lines))


def _pyright(lines: Sequence[str]) -> Iterator[OutputEntry]:
    """Further lines of a message are indented deeper; the last one ends with the rule."""
    for at, line in enumerate(lines):
        if hit := _PYRIGHT.match(line):
            parts = [hit[5]]
            parts += takewhile(_continues, lines[at + 1 : at + 8])
            rule = next(
                (rule_match for part in parts if (rule_match := _RULE_LAST.search(part))), None
            )
            message = "\n".join(parts[: parts.index(rule.string) + 1] if rule else parts)
            yield OutputEntry(
                "",
                _RULE_LAST.sub("", message).strip(),
                hit[1],
                int(hit[2]),
                int(hit[3]),
                rule[1] if rule else "",
                hit[4] == "warning",
            )


def _continues(line: str) -> bool:
    return line[:1].isspace() and not _PYRIGHT.match(line)


def tsc_text(output: OutputLines) -> ParsedOutput | None:
    """TypeScript's compiler, plain and pretty, and `deno check`."""
    return collect_entries(TYPE_ERROR, (*_tsc(output.lines), *_deno_check(output.lines)))


def _tsc(lines: Sequence[str]) -> Iterator[OutputEntry]:
    for line in lines:
        if " TS" not in line:
            continue
        if hit := _TSC.match(line):
            yield OutputEntry("", hit[5], hit[1], int(hit[2]), int(hit[3]), hit[4])
        elif hit := _TSC_BARE.match(line):
            yield OutputEntry("", hit[2], code=hit[1])


def _deno_check(lines: Sequence[str]) -> Iterator[OutputEntry]:
    for at, line in enumerate(lines):
        if hit := _DENO_CHECK.match(line):
            below = (more.strip() for more in lines[at + 1 : at + 8])
            path, row = next((parse_frame(m[3:]) for m in below if m.startswith("at ")), ("", None))
            yield OutputEntry("", hit[2], path, row, code=hit[1])


def concise_text(output: OutputLines) -> ParsedOutput | None:
    """ruff's concise form; flake8, pycodestyle and pylint write the same, or pylint its older form
    for other programs, which many projects keep as their template.
    """
    hits = (_CONCISE.match(line) or _PARSEABLE.match(line) for line in output.lines)
    return collect_entries(LINT_ERROR, (_concise(hit) for hit in hits if hit))


def _concise(hit: re.Match[str]) -> OutputEntry:
    message = hit[5].removeprefix("[*] ")
    return OutputEntry("", message, hit[1], int(hit[2]), _to_int(hit[3]), hit[4])


def stylish_text(output: OutputLines) -> ParsedOutput | None:
    """The default form of eslint: a line with the file, then its problems indented.

    eslint fails for warnings only if there are too many, and says so.
    """
    entries = tuple(_stylish(output.stdout_lines))
    if not any(TOO_MANY_WARNINGS in line for line in output.lines):
        entries = tuple(entry for entry in entries if not entry.is_warning)
    return collect_entries(LINT_ERROR, entries)


def _stylish(lines: Sequence[str]) -> Iterator[OutputEntry]:
    file = ""
    for line in lines:
        hit = _STYLISH.match(line)
        if hit and file:
            message, gap, rule = hit[4].strip().rpartition("  ")
            message, rule = (message.strip(), rule) if gap and " " not in rule else (hit[4], "")
            yield OutputEntry(
                "", message, file, int(hit[1]), int(hit[2]), rule, hit[3] == "warning"
            )
        elif not hit:
            file = line if line and not line[0].isspace() else ""


def arrow_text(output: OutputLines) -> ParsedOutput | None:
    """rustc, clippy, ruff's full form, deno lint: a title, and ` --> file:1:2` below it."""
    entries = (*_arrows(output.lines), *_rustc_short(output.lines))
    # rustc numbers its errors E0000; everything else with an arrow is a lint.
    types = [entry for entry in entries if re.fullmatch(r"E\d{4}", entry.code)]
    return collect_entries(TYPE_ERROR, types) if types else collect_entries(LINT_ERROR, entries)


def _arrows(lines: Sequence[str]) -> Iterator[OutputEntry]:
    for at, line in enumerate(lines[1:], 1):
        text = line.strip()
        if text.startswith("--> "):
            title = _title(lines[at - 1])
            path, row = parse_frame(text[4:])
            if title and path:
                column = number_or_none(text.rpartition(":")[2])
                yield replace(title, file=path, line=row, column=column)


def _title(line: str) -> OutputEntry | None:
    if hit := _TITLE.match(line):
        return OutputEntry("", hit[3], code=hit[2] or "", is_warning=hit[1] == "warning")
    if hit := _RUFF_TITLE.match(line):
        return OutputEntry("", hit[2], code=hit[1])
    return None


def _rustc_short(lines: Sequence[str]) -> Iterator[OutputEntry]:
    for line in lines:
        if (hit := _RUSTC.match(line)) and line.partition(":")[0].endswith(".rs"):
            warning = hit[4] == "warning"
            yield OutputEntry(
                "", hit[6], hit[1], int(hit[2]), _to_int(hit[3]), hit[5] or "", warning
            )
