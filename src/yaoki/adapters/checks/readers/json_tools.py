"""Tools that write JSON: SARIF, ruff, eslint, pyright, deno lint, mypy.

Each reader requires the shape of its tool; an empty list of problems is valid as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from yaoki.adapters.checks.readers.command_output import OutputLines
from yaoki.adapters.checks.readers.entries import (
    LINT_ERROR,
    TYPE_ERROR,
    OutputEntry,
    OutputReader,
    ParsedOutput,
    collect_entries,
    number_or_none,
    table_or_empty,
    tables_in,
    text_or_empty,
)


def _make_result(pattern: str, entries: Iterable[OutputEntry]) -> ParsedOutput:
    return collect_entries(pattern, entries) or ParsedOutput(pattern)


def sarif(output: OutputLines) -> ParsedOutput | None:
    document = table_or_empty(output.json_document)
    if not isinstance(document.get("runs"), list) or "version" not in document:
        return None
    results = [row for run in tables_in(document["runs"]) for row in tables_in(run.get("results"))]
    return _make_result(
        LINT_ERROR, (_sarif_entry(row) for row in results if not _is_suppressed(row))
    )


def _is_suppressed(row: dict[str, Any]) -> bool:
    kind = row.get("kind", "fail")
    return kind not in ("fail", "open", "review") or bool(row.get("suppressions"))


def _sarif_entry(row: dict[str, Any]) -> OutputEntry:
    place = table_or_empty(next(iter(tables_in(row.get("locations"))), {}).get("physicalLocation"))
    region = table_or_empty(place.get("region"))
    return OutputEntry(
        message=text_or_empty(table_or_empty(row.get("message")).get("text")),
        file=text_or_empty(table_or_empty(place.get("artifactLocation")).get("uri")),
        line=number_or_none(region.get("startLine")),
        column=number_or_none(region.get("startColumn")),
        code=text_or_empty(row.get("ruleId"))
        or text_or_empty(table_or_empty(row.get("rule")).get("id")),
        is_warning=row.get("level", "warning") != "error",
    )


def ruff_json(output: OutputLines) -> ParsedOutput | None:
    """`--output-format json`, and `json-lines`."""
    rows = tables_in(output.json_document) or list(output.json_records)
    if not rows and output.json_document != []:
        return None
    if not all("filename" in row and isinstance(row.get("location"), dict) for row in rows):
        return None
    return _make_result(LINT_ERROR, (_ruff_entry(row) for row in rows))


def _ruff_entry(row: dict[str, Any]) -> OutputEntry:
    return OutputEntry(
        message=text_or_empty(row.get("message")),
        file=text_or_empty(row.get("filename")),
        line=number_or_none(row["location"].get("row")),
        column=number_or_none(row["location"].get("column")),
        code=text_or_empty(row.get("code")) or text_or_empty(row.get("name")),
    )


def eslint_json(output: OutputLines) -> ParsedOutput | None:
    files = tables_in(output.json_document)
    if not files or not all("filePath" in row and "messages" in row for row in files):
        return None
    return _make_result(
        LINT_ERROR, (_eslint_entry(f, m) for f in files for m in tables_in(f["messages"]))
    )


def _eslint_entry(file: dict[str, Any], row: dict[str, Any]) -> OutputEntry:
    return OutputEntry(
        message=text_or_empty(row.get("message")),
        file=text_or_empty(file["filePath"]),
        line=number_or_none(row.get("line")),
        column=number_or_none(row.get("column")),
        code=text_or_empty(row.get("ruleId")),
        is_warning=row.get("severity") == 1,
    )


def pyright_json(output: OutputLines) -> ParsedOutput | None:
    document = table_or_empty(output.json_document)
    if not isinstance(document.get("generalDiagnostics"), list):
        return None
    return _make_result(
        TYPE_ERROR, (_pyright_entry(row) for row in tables_in(document["generalDiagnostics"]))
    )


def _pyright_entry(row: dict[str, Any]) -> OutputEntry:
    """pyright counts positions from 0, editors count from 1."""
    start = table_or_empty(table_or_empty(row.get("range")).get("start"))
    return OutputEntry(
        message=text_or_empty(row.get("message")),
        file=text_or_empty(row.get("file")),
        line=_one_based(start.get("line")),
        column=_one_based(start.get("character")),
        code=text_or_empty(row.get("rule")),
        is_warning=row.get("severity") != "error",
    )


def _one_based(value: object) -> int | None:
    number = number_or_none(value)
    return None if number is None else number + 1


def mypy_json(output: OutputLines) -> ParsedOutput | None:
    rows = [row for row in output.json_records if "severity" in row and "file" in row]
    return collect_entries(
        TYPE_ERROR, (_mypy_entry(row) for row in rows if row["severity"] != "note")
    )


def _mypy_entry(row: dict[str, Any]) -> OutputEntry:
    return OutputEntry(
        message=text_or_empty(row.get("message")),
        file=text_or_empty(row["file"]),
        line=number_or_none(row.get("line")),
        column=_one_based(row.get("column")),
        code=text_or_empty(row.get("code")),
        is_warning=row["severity"] == "warning",
    )


def deno_lint_json(output: OutputLines) -> ParsedOutput | None:
    document = table_or_empty(output.json_document)
    if not isinstance(document.get("diagnostics"), list) or "checked_files" not in document:
        return None
    return _make_result(
        LINT_ERROR, (_deno_entry(row) for row in tables_in(document["diagnostics"]))
    )


def _deno_entry(row: dict[str, Any]) -> OutputEntry:
    start = table_or_empty(table_or_empty(row.get("range")).get("start"))
    return OutputEntry(
        message=text_or_empty(row.get("message")),
        file=text_or_empty(row.get("filename")),
        line=number_or_none(start.get("line")),
        column=_one_based(start.get("col")),
        code=text_or_empty(row.get("code")),
    )


# The first reader that accepts a document is used.
DOCUMENTS: tuple[OutputReader, ...] = (sarif, pyright_json, deno_lint_json, eslint_json, ruff_json)
