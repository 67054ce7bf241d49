"""Notes about a change that lands: large files, text shaped like a key, files left behind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from yaoki.core.model.change import Change
from yaoki.core.redact import is_shaped_like_key
from yaoki.core.text import format_bytes, list_some

LARGE_FILE_BYTES = 5 << 20
SHOWN = 5


def landing_notes(
    changes: Iterable[Change], sizes: Mapping[str, int], forgotten: Sequence[str]
) -> Iterator[str]:
    """Sentences without the text itself: it may be a secret."""
    large = [
        f"{path} ({format_bytes(size)})" for path, size in sizes.items() if size > LARGE_FILE_BYTES
    ]
    if large:
        yield f"its work contains large files: {list_some(large, SHOWN)}"
    keys = [
        f"{change.path}:{number}"
        for change in changes
        for number, line in change.added
        if is_shaped_like_key(line)
    ]
    if keys:
        yield f"its work contains text that looks like a key: {list_some(keys, SHOWN)}"
    if forgotten:
        names = list_some(forgotten, SHOWN)
        remedy = "they land anyway; .gitignore keeps such files out"
        yield f"new files in its work look left behind: {names}; {remedy}"
