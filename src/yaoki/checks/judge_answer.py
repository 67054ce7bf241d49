"""A judge's answer, taken from its standard output: bounded, parsed strictly, never guessed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from yaoki.checks.output import read_channel

# The answer stands at the end; events of a structured agent are longer than words.
TEXT_CHARS_READ = 64 * 1024
EVENT_CHARS_READ = 1 << 20
NEXT = ("continue", "replan", "impossible")
_KEYS = ("pass", "reason", "missing", "next")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a judge said.  `next` is continue, replan or impossible."""

    passed: bool
    reason: str
    missing: tuple[str, ...]
    next: str


def read_answer(log: Path) -> Answer:
    """The answer in the log; `ValueError` says in one sentence why there is none."""
    return parse_answer(_last_words(log))


def parse_answer(text: str) -> Answer:
    """The last JSON object is the answer, and no other answer may contradict it."""
    found = list(_objects(text))
    if not found:
        raise ValueError("there is no JSON object in the answer")
    answer = _shaped(found[-1])
    if any("pass" in other and other != found[-1] for other in found):
        raise ValueError("there are several answers, and they contradict each other")
    return answer


# ------------------------------------------------------------------ finding it


def _last_words(log: Path) -> str:
    """The end of a text; of a stream of events the last one in which the agent speaks.

    Only an output that begins with an event is such a stream.
    """
    text = read_channel(log)
    opening = next(_objects(text), {}) if text.lstrip().startswith("{") else {}
    if not opening or "pass" in opening:
        return text[-TEXT_CHARS_READ:]
    for line in reversed(text[-EVENT_CHARS_READ:].splitlines()):
        if words := next(filter(None, map(_spoken, _objects(line))), ""):
            return words[-TEXT_CHARS_READ:]
    return _spoken(opening)[-TEXT_CHARS_READ:]


def _spoken(event: Mapping[str, Any]) -> str:
    """The agent's own words in an event of a known agent; what its tools printed never counts."""
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


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The outermost JSON objects of a text, in order; what does not parse is prose."""
    decoder = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_constant)
    at = text.find("{")
    while at >= 0:
        try:
            found, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield found
        at = text.find("{", end)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A key that stands twice says two things; neither is taken."""
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


# ------------------------------------------------------------------ its shape


def _shaped(given: Mapping[str, Any]) -> Answer:
    if lacking := [key for key in _KEYS if key not in given]:
        raise ValueError(f"the last JSON object lacks {', '.join(lacking)}")
    if unknown := [key for key in given if key not in _KEYS]:
        raise ValueError(f"the answer has an unknown key {unknown[0][:40]!r}")
    passed, reason, missing, next_ = (given[key] for key in _KEYS)
    if not isinstance(passed, bool):
        raise ValueError("pass must be true or false")
    if not isinstance(reason, str) or not reason.strip():
        raise ValueError("reason must be a text that says why")
    if not isinstance(missing, list) or not all(isinstance(one, str) for one in missing):
        raise ValueError("missing must be a list of texts")
    if next_ not in NEXT:
        raise ValueError(f"next must be one of {', '.join(NEXT)}")
    if passed and (missing or next_ != "continue"):
        raise ValueError("pass is true, yet missing or next says that it is not done")
    return Answer(passed, reason.strip(), tuple(one for one in missing if one.strip()), next_)
