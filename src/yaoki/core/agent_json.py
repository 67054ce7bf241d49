"""The JSON answer at the end of an agent's output: parsed strictly, never guessed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from yaoki.core.lazy_pattern import lazy_compile

# Events of a structured agent are longer than plain text.
EVENT_CHARS_READ = 1 << 20
# Bound on the characters that are parsed for false starts; parsing costs the most.
VAIN_MAX = 128 << 20
PARSING = 8
PIECE = 16 << 10
_OPENING = lazy_compile(r'\{(?=[ \t\r\n]*["}])')


def last_agent_message(text: str, most: int, key: str) -> str:
    """The end of a text, or the last message of the agent in a stream of events.

    Only an output that begins with an event is such a stream; an object with `key` is an answer.
    """
    opening = _event(text)
    if not opening or key in opening:
        return text[-most:]
    for line in reversed(text[-EVENT_CHARS_READ:].splitlines()):
        if words := _agent_words(_event(line)):
            return words[-most:]
    return _agent_words(opening)[-most:]


def _event(text: str) -> dict[str, Any]:
    """The object at the start of a text, or None; one attempt, however long the text is."""
    text = text.lstrip()
    if not text.startswith("{"):
        return {}
    try:
        event: dict[str, Any] = _DECODER.raw_decode(text)[0]
    except (ValueError, RecursionError):
        return {}
    return event


def _agent_words(event: Mapping[str, Any]) -> str:
    """The agent's own words in an event; the output of its tools never counts."""
    match event:
        case {"type": "result", "result": str(words)}:
            return words
        case {"type": "item.completed", "item": {"type": "agent_message", "text": str(words)}}:
            return words
        case {"type": "text", "part": {"text": str(words)}}:
            return words
        case {"type": "message", "role": "assistant", "content": str(words)}:
            return words
        case {"session_id": str(), "response": str(words)}:
            return words
        case _:
            return ""


def json_objects(text: str) -> Iterator[dict[str, Any]]:
    """The outermost JSON objects of a text, in order; what does not parse is prose.

    A text with too many false starts raises `ValueError`, to bound the cost: an object that was
    not reached could have been the answer.
    """
    spent, at = 0, _next_start(text, 0)
    while at >= 0:
        if at > PIECE:
            # A JSON error counts the lines before it, which is slow in a long text, so the part
            # that is parsed already is dropped.
            text, at = text[at:], 0
        try:
            parsed, end = _DECODER.raw_decode(text, at)
        except json.JSONDecodeError as error:
            spent, end = spent + error.pos + PARSING * (error.pos - at), at + 1
        except (ValueError, RecursionError):
            spent, end = spent + PARSING * (len(text) - at), at + 1
        else:
            yield parsed
        if spent > VAIN_MAX:
            raise ValueError("most of the text is broken JSON, so the search for an answer ended")
        at = _next_start(text, end)


def _next_start(text: str, start: int) -> int:
    """The position at which the next object may begin: a brace followed by a key or a closing
    brace.
    """
    hit = _OPENING.search(text, start)
    return hit.start() if hit else -1


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A duplicate key is ambiguous, so the object is refused."""
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key occurs twice")
    return dict(pairs)


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_refuse_duplicates, parse_constant=_no_constant)
