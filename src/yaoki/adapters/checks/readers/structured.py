"""Tools that write JSON: SARIF, ruff, eslint, pyright, deno lint, mypy.

Each reader asks for the shape that is the tool's own; an empty list of faults is understood, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from yaoki.adapters.checks.readers.command_output import Output
from yaoki.adapters.checks.readers.entries import (
    LINT,
    TYPE,
    Entry,
    Parsed,
    Reader,
    number,
    parsed,
    rows,
    table,
    text,
)


def _all(pattern: str, entries: Iterable[Entry]) -> Parsed:
    return parsed(pattern, entries) or Parsed(pattern)


def sarif(output: Output) -> Parsed | None:
    document = table(output.document)
    if not isinstance(document.get("runs"), list) or "version" not in document:
        return None
    results = [row for run in rows(document["runs"]) for row in rows(run.get("results"))]
    return _all(LINT, (_sarif_entry(row) for row in results if not _harmless(row)))


def _harmless(row: dict[str, Any]) -> bool:
    kind = row.get("kind", "fail")
    return kind not in ("fail", "open", "review") or bool(row.get("suppressions"))


def _sarif_entry(row: dict[str, Any]) -> Entry:
    place = table(next(iter(rows(row.get("locations"))), {}).get("physicalLocation"))
    region = table(place.get("region"))
    return Entry(
        message=text(table(row.get("message")).get("text")),
        file=text(table(place.get("artifactLocation")).get("uri")),
        line=number(region.get("startLine")),
        column=number(region.get("startColumn")),
        code=text(row.get("ruleId")) or text(table(row.get("rule")).get("id")),
        warning=row.get("level", "warning") != "error",
    )


def ruff_json(output: Output) -> Parsed | None:
    """`--output-format json`, and `json-lines`."""
    found = rows(output.document) or list(output.records)
    if not found and output.document != []:
        return None
    if not all("filename" in row and isinstance(row.get("location"), dict) for row in found):
        return None
    return _all(LINT, (_ruff_entry(row) for row in found))


def _ruff_entry(row: dict[str, Any]) -> Entry:
    return Entry(
        message=text(row.get("message")),
        file=text(row.get("filename")),
        line=number(row["location"].get("row")),
        column=number(row["location"].get("column")),
        code=text(row.get("code")) or text(row.get("name")),
    )


def eslint_json(output: Output) -> Parsed | None:
    files = rows(output.document)
    if not files or not all("filePath" in row and "messages" in row for row in files):
        return None
    return _all(LINT, (_eslint_entry(f, m) for f in files for m in rows(f["messages"])))


def _eslint_entry(file: dict[str, Any], row: dict[str, Any]) -> Entry:
    return Entry(
        message=text(row.get("message")),
        file=text(file["filePath"]),
        line=number(row.get("line")),
        column=number(row.get("column")),
        code=text(row.get("ruleId")),
        warning=row.get("severity") == 1,
    )


def pyright_json(output: Output) -> Parsed | None:
    document = table(output.document)
    if not isinstance(document.get("generalDiagnostics"), list):
        return None
    return _all(TYPE, (_pyright_entry(row) for row in rows(document["generalDiagnostics"])))


def _pyright_entry(row: dict[str, Any]) -> Entry:
    """Its positions count from nought, people and editors count from one."""
    start = table(table(row.get("range")).get("start"))
    return Entry(
        message=text(row.get("message")),
        file=text(row.get("file")),
        line=_from_nought(start.get("line")),
        column=_from_nought(start.get("character")),
        code=text(row.get("rule")),
        warning=row.get("severity") != "error",
    )


def _from_nought(value: object) -> int | None:
    found = number(value)
    return None if found is None else found + 1


def mypy_json(output: Output) -> Parsed | None:
    found = [row for row in output.records if "severity" in row and "file" in row]
    return parsed(TYPE, (_mypy_entry(row) for row in found if row["severity"] != "note"))


def _mypy_entry(row: dict[str, Any]) -> Entry:
    return Entry(
        message=text(row.get("message")),
        file=text(row["file"]),
        line=number(row.get("line")),
        column=_from_nought(row.get("column")),
        code=text(row.get("code")),
        warning=row["severity"] == "warning",
    )


def deno_lint_json(output: Output) -> Parsed | None:
    document = table(output.document)
    if not isinstance(document.get("diagnostics"), list) or "checked_files" not in document:
        return None
    return _all(LINT, (_deno_entry(row) for row in rows(document["diagnostics"])))


def _deno_entry(row: dict[str, Any]) -> Entry:
    start = table(table(row.get("range")).get("start"))
    return Entry(
        message=text(row.get("message")),
        file=text(row.get("filename")),
        line=number(start.get("line")),
        column=_from_nought(start.get("col")),
        code=text(row.get("code")),
    )


# A document that fits none of these says nothing; the first that fits has the say.
DOCUMENTS: tuple[Reader, ...] = (sarif, pyright_json, deno_lint_json, eslint_json, ruff_json)
