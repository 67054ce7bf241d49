"""Where something is wrong: paths as they stand in the worktree, places told in a stack trace."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from yaoki.adapters.checks.readers.command_output import CommandOutput

PATH_CHARS_MAX = 300
TRACE_CHARS_MAX = 4000
_PLACE = re.compile(r"(?:file://)?([\w.@+/~-]{1,300}\.\w{1,8}):(\d{1,7})\b")
_FRAME = re.compile(r'File "([^"\n]{1,300})", line (\d{1,7})')
_FOREIGN = ("node_modules/", "site-packages/", "/usr/lib/", "node:")


def relative_to_worktree(path: str, seen: CommandOutput) -> str:
    """The path from the top of the worktree; what lies outside stays as it was told."""
    path = path.strip()
    if path.startswith("file://"):
        path = unquote(path.removeprefix("file://"))
    if not path or seen.worktree == Path():
        return path and os.path.normpath(path)
    top = os.path.normpath(seen.worktree)
    whole = os.path.normpath(os.path.join(top, seen.cwd, path))  # noqa: PTH118 - text, no file
    return whole[len(top) + 1 :] if whole.startswith(top + os.sep) else path


def is_worktree_file(path: str, seen: CommandOutput) -> bool:
    """Is this a file of the worktree?"""
    outside = path.startswith(("/", "..")) or seen.worktree == Path()
    if not path or outside or len(path) > PATH_CHARS_MAX:
        return False
    try:
        return (seen.worktree / path).is_file()
    except (OSError, ValueError):
        return False


def find_location(trace: str, seen: CommandOutput) -> tuple[str, int | None]:
    """The first place of a trace that is a file of the worktree and not of a library."""
    for path, line in _places(trace[:TRACE_CHARS_MAX]):
        here = relative_to_worktree(path, seen)
        if not any(mark in here for mark in _FOREIGN) and is_worktree_file(here, seen):
            return here, line
    return "", None


def _places(trace: str) -> Iterator[tuple[str, int]]:
    frames = [(hit[1], int(hit[2])) for hit in _FRAME.finditer(trace)]
    # Python tells the innermost frame last, everybody else first.
    yield from reversed(frames)
    yield from ((hit[1], int(hit[2])) for hit in _PLACE.finditer(trace))


def parse_frame(token: str) -> tuple[str, int | None]:
    """`path:line:column`, in brackets or not, as one word of a stack frame."""
    path, _, rest = token.strip("()").rpartition(":")
    path, _, line = path.rpartition(":")
    good = rest.isascii() and rest.isdecimal() and line.isascii() and line.isdecimal()
    return (path, int(line)) if path and good and len(line) < 8 else ("", None)
