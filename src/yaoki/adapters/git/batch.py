"""Long-running git processes that answer many queries: starting one takes longer than most answers.

A query that such a process cannot answer is repeated by the caller as a git command of its own,
whose error message gives the reason.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from yaoki.adapters.processes.conversation import Conversation, ProcessReply
from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.errors import Fault

ValueT = TypeVar("ValueT")

OBJECT_BYTES_MAX = 16 << 20
QUERIES_AT_ONCE = 50
# A moved submodule counts, whatever `.gitmodules` wants ignored: it is a file of the agent's.
ALL_SUBMODULES = "--ignore-submodules=none"
RAW_DIFF = ("diff-tree", "-r", "--raw", "-z", "--no-renames", ALL_SUBMODULES)
COMMITS_KEPT = 4096
SMALL_OBJECTS_KEPT, SMALL_BYTES_MAX = 64, 1 << 16
# Enough for an id of any hash, and for the name of a branch.
REF_BYTES_MAX = 1024
OBJECT_ID = lazy_compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
COMMITTED = (b"start: ok", b"commit: ok")
# An agent may have put a pipe in the place of a ref.
READ_AT_ONCE = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK


@dataclass(frozen=True, slots=True)
class GitObject:
    name: str
    kind: str
    size: int
    content: bytes


class GitBatch:
    """Git processes, one for each kind of query, started at the first query; they end
    with yaoki.
    """

    def __init__(
        self,
        common_dir: Path,
        environment: Mapping[str, str],
        argv: Callable[[Sequence[str]], list[str]],
        timeout: timedelta,
    ) -> None:
        self._common_dir, self._argv, self._timeout = common_dir, argv, timeout
        self._environment = {**environment, "GIT_DIR": str(common_dir)}
        self._refs_by_reason: dict[str, Conversation] = {}
        # The texts of commits, which never change.
        self._commit_texts: dict[str, bytes] = {}
        # Objects by their id, which never change either.
        self._small_objects: dict[str, GitObject] = {}

    def read_object(self, revision: str, bytes_max: int = OBJECT_BYTES_MAX) -> GitObject | None:
        """An object of any kind, None if missing; the content of a too large one is empty."""
        if (kept := self._small_objects.get(revision)) and kept.size <= bytes_max:
            return kept
        info = self.look_up((revision,))[0]
        if info is None or info.size > bytes_max:
            return info
        stored = self._objects.ask(_encode(f"contents {revision}"), _read_object)
        if stored and stored.name == revision and stored.size <= SMALL_BYTES_MAX:
            self._keep_small(stored)
        return stored

    def _keep_small(self, stored: GitObject) -> None:
        """Each changed file is read several times, by one criterion after another."""
        if len(self._small_objects) >= SMALL_OBJECTS_KEPT:
            self._small_objects.clear()
        self._small_objects[stored.name] = stored

    def read_commits(self, revisions: Sequence[str]) -> dict[str, tuple[str, bytes]]:
        """The id and the text of each revision that is a commit.

        An id whose text is known needs no query: a commit never changes.  Nor does a ref that has a
        file of its own with such an id, which counts before the file of packed refs.
        """
        kept = self._commit_texts
        ids = {one: self._read_id(one) or one for one in revisions}
        found = {one: (id_, text) for one, id_ in ids.items() if (text := kept.get(id_))}
        others = [one for one in revisions if one not in found]
        infos = self.look_up([f"{one}^{{commit}}" for one in others])
        for one, info in zip(others, infos, strict=True):
            if info and (text := self._read_commit(info)):
                found[one] = info.name, text
        return found

    def read_tree_ids(self, *revisions: str) -> list[str]:
        """The tree of each revision that has one; that of a known commit needs no query."""
        texts = [self._commit_texts.get(one, b"") for one in revisions]
        known = {
            one: text[5:].partition(b"\n")[0]
            for one, text in zip(revisions, texts, strict=True)
            if text
        }
        others = [one for one in revisions if one not in known]
        infos = self.look_up([f"{one}^{{tree}}" for one in others]) if others else []
        found = {one: info.name for one, info in zip(others, infos, strict=True) if info}
        found |= {one: name.decode("ascii") for one, name in known.items()}
        return [found[one] for one in revisions if one in found]

    def read_refs(self, *names: str) -> list[str]:
        """The object of each ref, empty where it does not exist."""
        found = {name: self._read_id(name) for name in names}
        others = [name for name, id_ in found.items() if not OBJECT_ID.fullmatch(id_)]
        infos = self.look_up(others) if others else []
        found |= {name: info.name if info else "" for name, info in zip(others, infos, strict=True)}
        return [found[name] for name in names]

    def _read_id(self, revision: str) -> str:
        """The content of the ref's own file; empty where git has to look.

        The HEAD of a worktree names its branch.
        """
        if revision.startswith("worktrees/"):
            revision = self._read_ref_file(revision).removeprefix("ref: ")
        return self._read_ref_file(revision) if revision.startswith("refs/") else ""

    def _read_ref_file(self, name: str) -> str:
        try:
            descriptor = os.open(f"{self._common_dir}/{name}", READ_AT_ONCE)
        except (OSError, ValueError):  # no file can have such a name
            return ""
        try:
            return os.read(descriptor, REF_BYTES_MAX).decode("latin-1").rstrip("\n")
        except OSError:  # a folder
            return ""
        finally:
            os.close(descriptor)

    def _read_commit(self, info: GitObject) -> bytes | None:
        text = self._commit_texts.get(info.name)
        if text is None and info.size <= OBJECT_BYTES_MAX:
            stored = self._objects.ask(_encode(f"contents {info.name}"), _read_object)
            text = self._keep_commit(info.name, stored.content) if stored else None
        return text

    def _keep_commit(self, name: str, text: bytes) -> bytes:
        if len(self._commit_texts) >= COMMITS_KEPT:
            self._commit_texts.clear()
        self._commit_texts[name] = text
        return text

    def look_up(self, revisions: Sequence[str]) -> list[GitObject | None]:
        """The object of each revision without its content, None where there is none.

        A few at a time: git blocks on its output while its input pipe is full.
        """
        starts = range(0, len(revisions), QUERIES_AT_ONCE)
        parts = (self._read_infos(revisions[at : at + QUERIES_AT_ONCE]) for at in starts)
        return [info for part in parts for info in part]

    def _read_infos(self, revisions: Sequence[str]) -> list[GitObject | None]:
        query = "\n".join(f"info {revision}" for revision in revisions)
        return self._objects.ask(
            _encode(query), lambda reply: [_read_info(reply) for _ in revisions]
        )

    def move_refs(self, lines: Sequence[str], reason: str) -> bool:
        """True when all refs were moved; a failure gives no reason.

        Each `reason`, which goes into the reflog, has a process of its own.
        """
        query = "\n".join(("start", *lines, "commit"))
        try:
            reply = self._refs(reason).ask(_encode(query), lambda r: (r.read_line(), r.read_line()))
        except Fault:
            return False
        return reply == COMMITTED

    def diff_trees(self, old: str, new: str) -> bytes | None:
        """The difference of two trees in git's raw format; None on a failure."""
        end = f"end-{os.urandom(8).hex()}"
        try:
            reply = self._trees.ask(_encode(f"{old} {new}\n{end}"), lambda r: _read_until(r, end))
        except Fault:
            return None
        return reply.partition(b"\n")[2]

    def store_commit(self, commit: bytes) -> str:
        """Store the text of a commit as an object; returns its id, empty on a failure."""
        import tempfile

        try:
            with tempfile.NamedTemporaryFile(prefix="yaoki-commit-") as file:
                file.write(commit)
                file.flush()
                reply = self._commits.ask(os.fsencode(file.name), lambda r: r.read_line())
        except (Fault, OSError):
            return ""
        name = reply.decode("ascii")
        self._keep_commit(name, commit)
        return name

    @cached_property
    def _objects(self) -> Conversation:
        return self._start("cat-file", "--batch-command")

    def _refs(self, reason: str) -> Conversation:
        if (process := self._refs_by_reason.get(reason)) is not None:
            return process
        # Another thread may have added one meanwhile; this one starts with its first request.
        return self._refs_by_reason.setdefault(
            reason, self._start("update-ref", "-m", reason, "--stdin")
        )

    @cached_property
    def _trees(self) -> Conversation:
        return self._start(*RAW_DIFF, "--stdin")

    @cached_property
    def _commits(self) -> Conversation:
        return self._start("hash-object", "-t", "commit", "-w", "--no-filters", "--stdin-paths")

    def _start(self, *args: str) -> Conversation:
        return Conversation(
            self._argv(args), cwd=self._common_dir, env=self._environment, timeout=self._timeout
        )


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _read_until(reply: ProcessReply, end: str) -> bytes:
    """Everything before the end marker; a path may contain newlines, but not the marker."""
    lines, marker = [], end.encode()
    while not (line := reply.read_line()).endswith(marker):
        lines.append(line)
    return b"\n".join((*lines, line.removesuffix(marker)))


def _read_info(reply: ProcessReply) -> GitObject | None:
    fields = reply.read_line().split()
    if len(fields) != 3 or not fields[2].isdigit():
        return None
    return GitObject(fields[0].decode("ascii"), fields[1].decode("ascii"), int(fields[2]), b"")


def _read_object(reply: ProcessReply) -> GitObject | None:
    info = _read_info(reply)
    return info and replace(info, content=reply.read_bytes(info.size + 1)[:-1])
