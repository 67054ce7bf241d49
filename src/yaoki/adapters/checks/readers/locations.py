"""Locations of problems: paths relative to the worktree, and places in a stack trace."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

from yaoki.adapters.checks.readers.command_output import CommandOutput
from yaoki.core.lazy_pattern import lazy_compile

PATH_CHARS_MAX = 300
TRACE_CHARS_MAX = 4000
_PLACE = lazy_compile(r"(?:file://)?([\w.@+/~-]{1,300}\.\w{1,8}):(\d{1,7})\b")
_FRAME = lazy_compile(r'File "([^"\n]{1,300})", line (\d{1,7})')
_LIBRARY_FOLDERS = ("node_modules/", "site-packages/", "/usr/lib/", "node:")


def relative_to_worktree(path: str, command: CommandOutput) -> str:
    """The path relative to the worktree; a path outside is returned unchanged."""
    path = path.strip()
    if path.startswith("file://"):
        path = unquote(path.removeprefix("file://"))
    if not path or command.worktree == Path():
        return path and os.path.normpath(path)
    top = os.path.normpath(command.worktree)
    full = os.path.normpath(os.path.join(top, command.cwd, path))  # noqa: PTH118 - text, no file
    return full[len(top) + 1 :] if full.startswith(top + os.sep) else path


def remove_worktree_path(text: str, command: CommandOutput) -> str:
    """The text with paths relative to the worktree: the next attempt may have another one."""
    return remove_paths(text, list_worktree_paths(command))


def list_worktree_paths(command: CommandOutput) -> list[str]:
    """A runner may print the real path where a link leads to the worktree; the longest is first,
    because it may contain the other one.
    """
    if command.worktree == Path():
        return []
    paths = {str(command.worktree), os.path.realpath(command.worktree)}
    return sorted((path for path in paths if len(path) > 1), key=len, reverse=True)


def remove_paths(text: str, folders: Sequence[str]) -> str:
    for folder in folders:
        text = text.replace(f"{folder}/", "")
    return text


def is_worktree_file(path: str, command: CommandOutput) -> bool:
    is_outside = path.startswith(("/", "..")) or command.worktree == Path()
    if not path or is_outside or len(path) > PATH_CHARS_MAX:
        return False
    try:
        return (command.worktree / path).is_file()
    except (OSError, ValueError):
        return False


def find_location(trace: str, command: CommandOutput) -> tuple[str, int | None]:
    """The first place of a trace that is in the worktree and not in a library."""
    for path, line in _places(trace[:TRACE_CHARS_MAX]):
        relative = relative_to_worktree(path, command)
        if not any(mark in relative for mark in _LIBRARY_FOLDERS) and is_worktree_file(
            relative, command
        ):
            return relative, line
    return "", None


def _places(trace: str) -> Iterator[tuple[str, int]]:
    frames = [(hit[1], int(hit[2])) for hit in _FRAME.finditer(trace)]
    # Python prints the innermost frame last, all others first.
    yield from reversed(frames)
    yield from ((hit[1], int(hit[2])) for hit in _PLACE.finditer(trace))


def parse_frame(token: str) -> tuple[str, int | None]:
    """Parses `path:line:column` of a stack frame, with or without brackets."""
    path, _, rest = token.strip("()").rpartition(":")
    path, _, line = path.rpartition(":")
    good = rest.isascii() and rest.isdecimal() and line.isascii() and line.isdecimal()
    return (path, int(line)) if path and good and len(line) < 8 else ("", None)
