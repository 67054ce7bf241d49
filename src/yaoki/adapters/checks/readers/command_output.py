"""The output of a command, bounded and split once for all readers.

All of it is foreign text: a reader takes what has the right shape and ignores the rest.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import field
from pathlib import Path
from typing import Any

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.redact import mask
from yaoki.core.text import strip_terminal_codes

CHANNEL_CHARS_MAX = 4 << 20
HEAD_CHARS = 64 << 10
LINE_CHARS_MAX = 2000
LINES_HEAD, LINES_TAIL = 2_000, 20_000
# Each value takes some hundred bytes in memory.
VALUES_MAX = 400_000


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """A finished command: its exit code, output and folder.

    `cwd` is relative to the worktree.  `mask_secrets` is called before any cut.  `missing` are the
    paths that a file check did not find.
    """

    exit_code: int | None
    stdout: str = ""
    stderr: str = ""
    report: Path | None = None
    worktree: Path = field(default_factory=Path)
    cwd: str = "."
    mask_secrets: Callable[[str], str] = mask
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OutputLines:
    """The output split into lines, and parsed if it is JSON."""

    source: CommandOutput
    stdout_lines: tuple[str, ...]
    stderr_lines: tuple[str, ...]
    json_document: Any = None
    json_records: tuple[dict[str, Any], ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        return self.stdout_lines + self.stderr_lines


def list_lines(command: CommandOutput) -> tuple[str, ...]:
    """The lines of both channels; of a long output those at its ends."""
    return tuple(
        line
        for channel in (command.stdout, command.stderr)
        for line in _split_lines(shorten_output(channel))
    )


def split_output(command: CommandOutput) -> OutputLines:
    stdout = shorten_output(command.stdout)
    return OutputLines(
        command,
        _split_lines(stdout),
        _split_lines(shorten_output(command.stderr)),
        parse_json_value(_find_json(stdout)),
        _parse_records(stdout),
    )


def wrap_json_document(command: CommandOutput, document: Any) -> OutputLines:
    """A JSON report file, as if it had been written to standard output."""
    return OutputLines(command, (), (), document)


def shorten_output(text: str, limit: int = CHANNEL_CHARS_MAX) -> str:
    """Whole lines from both ends; half a line could be half a secret."""
    if len(text) <= limit:
        return text
    head = text[:HEAD_CHARS].rpartition("\n")[0]
    tail = text[HEAD_CHARS - limit :].partition("\n")[2]
    return f"{head}\n[{len(text) - len(head) - len(tail)} characters left out]\n{tail}"


def _split_lines(text: str) -> tuple[str, ...]:
    lines = strip_terminal_codes(text).split("\n")
    if len(lines) > LINES_HEAD + LINES_TAIL:
        lines = lines[:LINES_HEAD] + lines[-LINES_TAIL:]
    return tuple(line[:LINE_CHARS_MAX] for line in lines)


def parse_json_value(text: str) -> Any:
    """The first JSON value of the text; None if there is none or it has too many values."""
    if not text.startswith(("{", "[")) or text.count(",") > VALUES_MAX:
        return None
    try:
        return json.JSONDecoder().raw_decode(text)[0]
    except (ValueError, RecursionError):
        return None


def _find_json(text: str) -> str:
    """Starts at the first line that opens a value: a script runner may print a banner first."""
    text = text.lstrip("\ufeff \t\r\n")
    if text.startswith(("{", "[")):
        return text
    starts = [at for at in (text.find("\n{"), text.find("\n[")) if at >= 0]
    return text[min(starts) + 1 :] if starts else ""


def _parse_records(text: str) -> tuple[dict[str, Any], ...]:
    """The objects of an output with one per line, as `go test -json` and `mypy -O json`
    write it.
    """
    lines = text.split("\n")[-LINES_TAIL:]
    values = (
        parse_json_value(line) for line in lines if line.startswith("{") and len(line) <= HEAD_CHARS
    )
    return tuple(value for value in values if isinstance(value, dict))
