"""Gits that are kept and answer one question after another: starting one takes longer than most
answers.

What a kept one cannot do is asked of a git of its own, whose words tell why.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from yaoki.adapters.processes.conversation import Conversation, ProcessReply
from yaoki.core.lazy_dataclass import dataclass
from yaoki.errors import Fault

ValueT = TypeVar("ValueT")

OBJECT_BYTES_MAX = 16 << 20
QUERIES_AT_ONCE = 50
COMMITTED = (b"start: ok", b"commit: ok")


@dataclass(frozen=True, slots=True)
class GitObject:
    """What git stores under a name."""

    name: str
    kind: str
    size: int
    content: bytes


class GitBatch:
    """Each is begun when it is first asked, and ends with us."""

    def __init__(
        self,
        common_dir: Path,
        environment: Mapping[str, str],
        argv: Callable[[Sequence[str]], list[str]],
        timeout: timedelta,
    ) -> None:
        self._common_dir, self._argv, self._timeout = common_dir, argv, timeout
        self._environment = {**environment, "GIT_DIR": str(common_dir)}

    def read_object(self, revision: str, bytes_max: int = OBJECT_BYTES_MAX) -> GitObject | None:
        """An object of any kind, None where there is none; one that is too large comes empty."""
        known = self.look_up((revision,))[0]
        if known is None or known.size > bytes_max:
            return known
        return self._objects.ask(_line(f"contents {revision}"), _read_object)

    def look_up(self, revisions: Sequence[str]) -> list[GitObject | None]:
        """What stands under each name, without its content: one question for all of them.

        A few at a time: were its input full of questions, git could not give its answers.
        """
        starts = range(0, len(revisions), QUERIES_AT_ONCE)
        parts = (self._infos(revisions[at : at + QUERIES_AT_ONCE]) for at in starts)
        return [one for part in parts for one in part]

    def _infos(self, revisions: Sequence[str]) -> list[GitObject | None]:
        asked = "\n".join(f"info {revision}" for revision in revisions)
        return self._objects.ask(
            _line(asked), lambda answer: [_read_info(answer) for _ in revisions]
        )

    def move_refs(self, lines: Sequence[str]) -> bool:
        """Were these refs moved, all of them?  When not, nothing is said about why."""
        said = "\n".join(("start", *lines, "commit"))
        try:
            return (
                self._refs.ask(_line(said), lambda a: (a.read_line(), a.read_line())) == COMMITTED
            )
        except Fault:
            return False

    def diff_trees(self, old: str, new: str) -> bytes | None:
        """In what two trees differ, in git's raw format; None when it could not be told."""
        end = f"end-{os.urandom(8).hex()}"
        try:
            said = self._trees.ask(_line(f"{old} {new}\n{end}"), lambda a: _until(a, end))
        except Fault:
            return None
        return said.partition(b"\n")[2]

    def store_commit(self, commit: bytes) -> str:
        """A commit's text as an object; empty when it could not be stored."""
        try:
            with tempfile.NamedTemporaryFile(prefix="yaoki-commit-") as file:
                file.write(commit)
                file.flush()
                said = self._commits.ask(os.fsencode(file.name), lambda answer: answer.read_line())
        except (Fault, OSError):
            return ""
        return said.decode("ascii")

    @cached_property
    def _objects(self) -> Conversation:
        return self._kept("cat-file", "--batch-command")

    @cached_property
    def _refs(self) -> Conversation:
        return self._kept("update-ref", "-m", "yaoki", "--stdin")

    @cached_property
    def _trees(self) -> Conversation:
        return self._kept("diff-tree", "-r", "--raw", "-z", "--no-renames", "--stdin")

    @cached_property
    def _commits(self) -> Conversation:
        return self._kept("hash-object", "-t", "commit", "-w", "--no-filters", "--stdin-paths")

    def _kept(self, *args: str) -> Conversation:
        return Conversation(
            self._argv(args), cwd=self._common_dir, env=self._environment, timeout=self._timeout
        )


def _line(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _until(answer: ProcessReply, end: str) -> bytes:
    """Everything before the line that says it is over; a path may hold newlines, but not that."""
    parts, last = [], end.encode()
    while not (said := answer.read_line()).endswith(last):
        parts.append(said)
    return b"\n".join((*parts, said.removesuffix(last)))


def _read_info(answer: ProcessReply) -> GitObject | None:
    words = answer.read_line().split()
    if len(words) != 3 or not words[2].isdigit():
        return None
    return GitObject(words[0].decode("ascii"), words[1].decode("ascii"), int(words[2]), b"")


def _read_object(answer: ProcessReply) -> GitObject | None:
    known = _read_info(answer)
    return known and replace(known, content=answer.read_bytes(known.size + 1)[:-1])
