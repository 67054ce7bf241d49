"""What a run cost, by its own account: unknown is None and never zero.

A sum over a part would be a lie, so whatever cannot be read whole within the bounds is unknown.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from yaoki.adapters.agents.output_files import OUT
from yaoki.adapters.agents.preset import UsageRule
from yaoki.adapters.agents.structured.summary import (
    AgentEvent,
    number_at,
    parse_json_objects,
    text_at,
)
from yaoki.adapters.system.files import open_plain_file, read_plain_bytes
from yaoki.core.lazy_dataclass import dataclass

BYTES_MAX = 256 << 20
LINE_BYTES_MAX = 4 << 20
BLOCK_BYTES = 1 << 20
FILE_BYTES_READ = 1 << 20
COST_MAX, COUNT_MAX = 1e6, 1e12


@dataclass(frozen=True, slots=True)
class Usage:
    """US dollars, tokens in and out, calls of the model."""

    cost: float | None = None
    tokens: int | None = None
    turns: int | None = None


UNKNOWN_USAGE = Usage()
NO_USAGE = Usage(0.0, 0, 0)


def read_usage(folder: Path, rule: UsageRule, before: Usage = NO_USAGE) -> Usage:
    """`before` is what the conversation held already; it is taken off where it is counted again."""
    if rule.event:
        found = _counted(list(_events(folder / OUT, rule.event)), rule)
    elif rule.pattern:
        found = _matched(folder / rule.file, rule)
    else:
        return UNKNOWN_USAGE
    cost, tokens = found.cost, found.tokens
    if "cost" in rule.whole_thread:
        cost = _less(cost, before.cost)
    if "tokens" in rule.whole_thread:
        tokens = _whole(_less(tokens, before.tokens))
    # Agents say zero when they do not know the price.
    return Usage(cost or None, tokens, found.turns)


def _less(now: float | None, before: float | None) -> float | None:
    return None if now is None or before is None else max(now - before, 0.0)


# ------------------------------------------------------------------ by events


def _events(file: Path, kind: str) -> Iterator[AgentEvent]:
    """Every event of that type; nothing at all when the file is too long to be read whole."""
    mark = f'"{kind}"'.encode()
    with open_plain_file(file) as stream:
        if stream is None or stream.seek(0, os.SEEK_END) > BYTES_MAX:
            return
        stream.seek(0)
        for block in _blocks(stream):
            for line in _lines_with(mark, block):
                found = parse_json_objects(line.decode("utf-8", errors="replace"))
                yield from (event for event in found if event.get("type") == kind)


def _blocks(stream: IO[bytes]) -> Iterator[bytes]:
    """Whole lines, many at a time; a line that is longer than any event is not one."""
    rest = b""
    while chunk := stream.read(BLOCK_BYTES):
        block = rest + chunk
        cut = block.rfind(b"\n") + 1
        yield block[:cut]
        rest = block[cut:] if len(block) - cut <= LINE_BYTES_MAX else b""
    yield rest


def _lines_with(mark: bytes, block: bytes) -> Iterator[bytes]:
    """Looked for in the block as a whole: most lines of an output are of no interest."""
    at = block.find(mark)
    while at >= 0:
        end = block.find(b"\n", at)
        end = len(block) if end < 0 else end
        yield block[block.rfind(b"\n", 0, at) + 1 : end]
        at = block.find(mark, end)


def _counted(events: Sequence[AgentEvent], rule: UsageRule) -> Usage:
    used = [event for event in events if _uses(event, rule)]
    counted = used if rule.count == "sum" else used[-1:]
    if not counted:
        return UNKNOWN_USAGE
    turns: int | None = len(used)
    if rule.turns != "events":
        turns = _whole(_total([_field(event, rule.turns) for event in counted]))
    return Usage(
        _total([_field(event, rule.cost) for event in counted], COST_MAX),
        _whole(_total([_sum(event, rule.tokens) for event in counted])),
        turns,
    )


def _uses(event: AgentEvent, rule: UsageRule) -> bool:
    """Does it say anything of use?  Some agents tell of messages that are not the model's."""
    named = (rule.cost, *rule.tokens, "" if rule.turns == "events" else rule.turns)
    return any(_field(event, path) is not None for path in named)


def _field(event: AgentEvent, path: str) -> float | None:
    found = number_at(event, *path.split(".")) if path else None
    return found if found is not None and found >= 0 else None


def _sum(event: AgentEvent, paths: Sequence[str]) -> float | None:
    held = [found for path in paths if (found := _field(event, path)) is not None]
    return sum(held) if held else None


def _total(parts: Sequence[float | None], bound: float = COUNT_MAX) -> float | None:
    """One part that is not known makes the whole unknown."""
    held = [part for part in parts if part is not None]
    total = sum(held)
    return total if held and len(held) == len(parts) and total < bound else None


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


# ------------------------------------------------------------------ by a pattern


def _matched(file: Path, rule: UsageRule) -> Usage:
    raw = read_plain_bytes(file, FILE_BYTES_READ + 1) or b""
    words = raw[:FILE_BYTES_READ].decode("utf-8", errors="replace")
    hits = list(re.finditer(rule.pattern, words, re.MULTILINE))
    if not hits or (rule.count == "sum" and len(raw) > FILE_BYTES_READ):
        return UNKNOWN_USAGE
    hits = hits if rule.count == "sum" else hits[:1]
    tokens = [_both(hit) for hit in hits]
    turns = [_amount(hit, "turns") for hit in hits]
    return Usage(
        _total([_amount(hit, "cost") for hit in hits], COST_MAX),
        _whole(_total(tokens)),
        _whole(_total(turns)),
    )


def _both(hit: re.Match[str]) -> float | None:
    sent, received = _amount(hit, "in"), _amount(hit, "out")
    return None if sent is None or received is None else sent + received


def _amount(hit: re.Match[str], name: str) -> float | None:
    """A number as people write it: 2.3k, 1,200."""
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
    """What the earlier runs of a conversation counted so far; they are kept beside this one.

    A run that was cut off told nothing: its share is then counted with the next that does.
    """
    beside = [place / OUT for place in folder.parent.iterdir() if place != folder]
    runs = [log for log in beside if _is_of(log, session, rule.thread)]
    told = [_counted(list(_events(log, rule.event)), rule) for log in runs]
    if not told:
        return UNKNOWN_USAGE
    return Usage(
        max((held.cost for held in told if held.cost is not None), default=0.0),
        max((held.tokens for held in told if held.tokens is not None), default=0),
    )


def _is_of(log: Path, session: str, key: str) -> bool:
    head = (read_plain_bytes(log, LINE_BYTES_MAX) or b"").decode("utf-8", errors="replace")
    return any(
        text_at(event, key) == session
        for line in head.splitlines()
        for event in parse_json_objects(line)
    )
