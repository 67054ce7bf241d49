"""Pieces of text for people from which every agent's events are shown."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from yaoki.core.text import one_line

# The length of one message, and of one tool's input or output.
WORDS_CHARS, GLANCE_CHARS = 4000, 160
# The fields of a tool's input that say most, whichever agent sends them.
TELLING_ARGUMENTS = (
    "command",
    "file_path",
    "path",
    "filePath",
    "pattern",
    "query",
    "url",
    "description",
)
Data = Mapping[str, Any]
# The lines of an event; None if it has not the expected form.
Form = Callable[[Data], list[str] | None]


def part_at(event: Any, *keys: str) -> Any:
    for key in keys:
        event = event.get(key) if isinstance(event, Mapping) else None
    return event


def text_at(event: Any, *keys: str) -> str:
    value = part_at(event, *keys)
    return value if isinstance(value, str) else ""


def clip_words(words: str) -> str:
    words = words.strip()
    return words if len(words) <= WORDS_CHARS else f"{words[:WORDS_CHARS]} …"


def tool_call(tool: str, arguments: Any) -> str:
    return f"> {one_line(tool, 60)} {glance(arguments)}".rstrip()


def tool_output(output: Any, *, failed: bool = False) -> str:
    return f"< {'failed: ' if failed else ''}{glance(output)}".rstrip(" <")


def glance(value: Any) -> str:
    if isinstance(value, Mapping):
        value = next((value[key] for key in TELLING_ARGUMENTS if value.get(key)), value)
    if isinstance(value, list):
        value = " ".join(text_at(one, "text") for one in value) or value
    shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return one_line(shown, GLANCE_CHARS) if value else ""


def note(*words: object) -> str:
    return f"[{one_line(' '.join(str(word) for word in words if word), GLANCE_CHARS)}]"


def silent(_: Data) -> list[str]:
    return []


def joined_text(blocks: Any) -> str:
    """The texts of a list of content blocks."""
    found = (text_at(block, "text") for block in blocks) if isinstance(blocks, list) else ()
    return "\n".join(text for text in found if text.strip())
