"""The usage of an agent run, as the agent reports it: unknown is None and never zero.

A partial sum would be wrong, so output that is too long to read completely counts as unknown.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from yaoki.adapters.agents.output_files import OUT
from yaoki.adapters.agents.preset import UsageCount, UsageRule
from yaoki.adapters.agents.structured_output.summary import (
    AgentEvent,
    number_at,
    parse_json_objects,
    text_at,
)
from yaoki.adapters.system.files import open_plain_file, read_plain_bytes
from yaoki.core.model import Usage
from yaoki.ports import outbox

BYTES_MAX = 256 << 20
LINE_BYTES_MAX = 4 << 20
BLOCK_BYTES = 1 << 20
FILE_BYTES_READ = 1 << 20
COST_MAX, COUNT_MAX = 1e6, 1e12


UNKNOWN_USAGE = Usage()
NO_USAGE = Usage(0.0, 0, 0)


def read_usage(folder: Path, rule: UsageRule, before: Usage = NO_USAGE) -> Usage:
    """`before`: usage of earlier runs, subtracted if the agent reports the whole conversation."""
    if rule.event:
        usage = _sum_events(list(_events(folder / OUT, rule.event)), rule)
    elif rule.pattern:
        # The shim writes the logs beside the outbox; every other file is the agent's own.
        usage = _match_file((folder if rule.file == OUT else outbox(folder)) / rule.file, rule)
    else:
        return UNKNOWN_USAGE
    cost, tokens = usage.cost, usage.tokens
    if "cost" in rule.whole_thread:
        cost = _subtract(cost, before.cost)
    if "tokens" in rule.whole_thread:
        tokens = _to_int(_subtract(tokens, before.tokens))
    # Agents report zero when they do not know the price, or when no model answered.
    return Usage(cost or None, tokens or None, usage.turns)


def _subtract(now: float | None, before: float | None) -> float | None:
    return None if now is None or before is None else max(now - before, 0.0)


# ------------------------------------------------------------------ by events


def _events(file: Path, kind: str) -> Iterator[AgentEvent]:
    """Every event of that type; none if the file is too long to be read completely."""
    mark = f'"{kind}"'.encode()
    with open_plain_file(file) as stream:
        if stream is None or stream.seek(0, os.SEEK_END) > BYTES_MAX:
            return
        stream.seek(0)
        for block in _blocks(stream):
            for line in _lines_with(mark, block):
                events = parse_json_objects(line.decode("utf-8", errors="replace"))
                yield from (event for event in events if event.get("type") == kind)


def _blocks(stream: IO[bytes]) -> Iterator[bytes]:
    """Blocks of whole lines; a line longer than any event is dropped."""
    rest = b""
    while chunk := stream.read(BLOCK_BYTES):
        block = rest + chunk
        cut = block.rfind(b"\n") + 1
        yield block[:cut]
        rest = block[cut:] if len(block) - cut <= LINE_BYTES_MAX else b""
    yield rest


def _lines_with(mark: bytes, block: bytes) -> Iterator[bytes]:
    """Searches the block as a whole: most lines of an output are irrelevant."""
    at = block.find(mark)
    while at >= 0:
        end = block.find(b"\n", at)
        end = len(block) if end < 0 else end
        yield block[block.rfind(b"\n", 0, at) + 1 : end]
        at = block.find(mark, end)


def _sum_events(events: Sequence[AgentEvent], rule: UsageRule) -> Usage:
    used = _last_of_each_call([event for event in events if _has_usage(event, rule)], rule)
    counted = used if rule.count is UsageCount.SUM else used[-1:]
    if not counted:
        return UNKNOWN_USAGE
    turns: int | None = len(used)
    if rule.turns != "events":
        turns = _to_int(_total([_field(event, rule.turns) for event in counted]))
    return Usage(
        _total([_field(event, rule.cost) for event in counted], COST_MAX),
        _to_int(_total([_sum(event, rule.tokens) for event in counted])),
        turns,
    )


def _last_of_each_call(events: list[AgentEvent], rule: UsageRule) -> list[AgentEvent]:
    """One event for each call of the model; an event without an id is a call of its own."""
    if not rule.call:
        return events
    path = rule.call.split(".")
    by_call = {text_at(event, *path) or str(n): event for n, event in enumerate(events)}
    return list(by_call.values())


def _has_usage(event: AgentEvent, rule: UsageRule) -> bool:
    """False for messages that are not from the model."""
    named = (rule.cost, *rule.tokens, "" if rule.turns == "events" else rule.turns)
    return any(_field(event, path) is not None for path in named)


def _field(event: AgentEvent, path: str) -> float | None:
    value = number_at(event, *path.split(".")) if path else None
    return value if value is not None and value >= 0 else None


def _sum(event: AgentEvent, paths: Sequence[str]) -> float | None:
    values = [value for path in paths if (value := _field(event, path)) is not None]
    return sum(values) if values else None


def _total(parts: Sequence[float | None], bound: float = COUNT_MAX) -> float | None:
    """The sum; None if any part is unknown."""
    known = [part for part in parts if part is not None]
    total = sum(known)
    return total if known and len(known) == len(parts) and total < bound else None


def _to_int(value: float | None) -> int | None:
    return None if value is None else round(value)


# ------------------------------------------------------------------ by a pattern


def _match_file(file: Path, rule: UsageRule) -> Usage:
    raw = read_plain_bytes(file, FILE_BYTES_READ + 1) or b""
    text = raw[:FILE_BYTES_READ].decode("utf-8", errors="replace")
    hits = list(re.finditer(rule.pattern, text, re.MULTILINE))
    if not hits or (rule.count is UsageCount.SUM and len(raw) > FILE_BYTES_READ):
        return UNKNOWN_USAGE
    hits = hits if rule.count is UsageCount.SUM else hits[:1]
    tokens = [_token_sum(hit) for hit in hits]
    turns = [_amount(hit, "turns") for hit in hits]
    return Usage(
        _total([_amount(hit, "cost") for hit in hits], COST_MAX),
        _to_int(_total(tokens)),
        _to_int(_total(turns)),
    )


def _token_sum(hit: re.Match[str]) -> float | None:
    sent, received = _amount(hit, "in"), _amount(hit, "out")
    return None if sent is None or received is None else sent + received


def _amount(hit: re.Match[str], name: str) -> float | None:
    """Parses numbers such as 2.3k and 1,200."""
    written = hit.groupdict().get(name)
    if not written:
        return None
    times = {"k": 1e3, "M": 1e6}.get(written[-1], 1.0)
    try:
        return float(written.rstrip("kM").replace(",", "")) * times
    except ValueError:
        return None


# ------------------------------------------------------------------ one conversation, several runs


def read_earlier_usage(folder: Path, rule: UsageRule, session: str) -> Usage:
    """The usage of earlier runs of a conversation, whose folders are next to this one.

    A run that was cut off reported nothing: the next report includes its share.
    """
    other_logs = [place / OUT for place in folder.parent.iterdir() if place != folder]
    runs = [log for log in other_logs if _is_same_session(log, session, rule.thread)]
    usages = [_sum_events(list(_events(log, rule.event)), rule) for log in runs]
    if not usages:
        return UNKNOWN_USAGE
    return Usage(
        max((usage.cost for usage in usages if usage.cost is not None), default=0.0),
        max((usage.tokens for usage in usages if usage.tokens is not None), default=0),
    )


def _is_same_session(log: Path, session: str, key: str) -> bool:
    head = (read_plain_bytes(log, LINE_BYTES_MAX) or b"").decode("utf-8", errors="replace")
    return any(
        text_at(event, key) == session
        for line in head.splitlines()
        for event in parse_json_objects(line)
    )
