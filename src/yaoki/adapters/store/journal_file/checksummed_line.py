"""A line of the journal file: a JSON object that ends with a checksum of itself."""

from __future__ import annotations

import json
from collections.abc import Iterable
from json.encoder import encode_basestring_ascii as quoted
from typing import Any
from zlib import crc32

from yaoki.adapters.store.rows import dump_json

COLUMNS = ("seq", "at_ms", "run_id", "task_id", "subtask", "attempt", "event", "data")
# Events that the store itself writes: a line that a replay could not apply, and the one line that
# remains of an archived run.
NOT_REPLAYED = "LINE_NOT_REPLAYED"
RUN_ARCHIVED = "RUN_ARCHIVED"
_CHECKSUM = ',"sum":"'
_END_BYTES = len(_CHECKSUM) + 8 + len('"}')


def encode_lines(rows: Iterable[Iterable[Any]]) -> bytes:
    """Journal rows with their columns in the order of `COLUMNS`; `data` is JSON already."""
    return b"".join(_line(*row) for row in rows)


def _line(
    seq: int, at_ms: int, run: str, task: str, sub: str, attempt: int, event: str, data: str
) -> bytes:
    # yaoki's JSON has no line feed, but foreign text may; it must not break the line.
    value = data if "\n" not in data else quoted(data)
    body = (
        f'{{"seq":{seq},"at_ms":{at_ms},"run_id":{quoted(run)},"task_id":{quoted(task)},'
        f'"subtask":{quoted(sub)},"attempt":{attempt},"event":{quoted(event)},"data":{value}'
    ).encode(errors="surrogatepass")
    return b'%b%b%08x"}\n' % (body, _CHECKSUM.encode(), crc32(body))


def decode_line(line: bytes) -> dict[str, Any] | None:
    """The columns of a line; None if it is torn or damaged."""
    body, end = line[:-_END_BYTES], line[-_END_BYTES:]
    if end != b'%b%08x"}' % (_CHECKSUM.encode(), crc32(body)):
        return None
    try:
        columns = json.loads(body + b"}")
        return {**{name: columns[name] for name in COLUMNS}, "data": dump_json(columns["data"])}
    except (ValueError, KeyError):
        return None
