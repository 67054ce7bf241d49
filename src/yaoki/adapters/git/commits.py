"""Commits and merges made without any checkout: trees in, commits out."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from yaoki.adapters.git.command import DEFAULT_IDENTITY, Git
from yaoki.adapters.git.refs import GitCommit
from yaoki.adapters.git.trees import TreeChange, printable_path
from yaoki.adapters.system.clock import SystemClock
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import Task
from yaoki.errors import NotNow

SUBJECT_MAX = 100
MARKERS = ("<<<<<<< ", ">>>>>>> ")
FILE_BYTES_MAX = 1 << 20


@dataclass(frozen=True, slots=True)
class MergedTree:
    """A merge as a tree; with conflicts the files hold git's markers."""

    tree: str
    conflicts: tuple[str, ...]


class Commits:
    """Makes commits, merges and the words on them."""

    def __init__(self, git: Git) -> None:
        self._git, self._clock = git, SystemClock()

    def make(self, tree: str, parents: Sequence[str], message: str) -> str:
        if made := self._git.batch.store_commit(self._text(tree, parents, message)):
            return made
        links = [word for parent in parents for word in ("-p", parent)]
        return self._git.read_text("commit-tree", *links, tree, stdin=message.encode())

    def _text(self, tree: str, parents: Sequence[str], message: str) -> bytes:
        """A commit as git writes it."""
        name, email = (_plain(each) for each in self._git.identity)
        if not name:
            name, email = DEFAULT_IDENTITY
        at = self._clock.now().astimezone()
        who = f"{name} <{email}> {int(at.timestamp())} {at:%z}"
        heads = (f"tree {tree}", *(f"parent {parent}" for parent in parents))
        lines = (*heads, f"author {who}", f"committer {who}", "", message)
        return "\n".join(lines).encode()

    def merge_onto(self, head: GitCommit, work: GitCommit) -> MergedTree:
        """The work merged onto the head; what was built on that very commit is the merge."""
        if head.sha == work.sha or head.sha in work.parents[:1]:
            return MergedTree(work.tree, ())
        return self.merge(head.sha, work.sha)

    def merge(self, ours: str, theirs: str) -> MergedTree:
        args = ("merge-tree", "--write-tree", "-z", "--name-only", ours, theirs)
        tree, *rest = self._git.run(*args, ok=(0, 1)).out.split(b"\0")
        paths = rest[: rest.index(b"")] if b"" in rest else rest
        names = dict.fromkeys(printable_path(os.fsdecode(path)) for path in paths)
        return MergedTree(tree.decode("ascii"), tuple(names))

    def is_undone(self, landed: str, head: str) -> bool:
        """Was this very landing taken back before, whatever landed since?"""
        words = ("--first-parent", "-F", f"--grep=Yaoki-Undo: {landed}", "--format=%H", "-1")
        return bool(self._git.read_text("log", *words, f"{landed}..{head}").strip())

    def merge_base(self, one: str, other: str) -> str:
        """The newest commit both have; empty when they have none."""
        done = self._git.run("merge-base", one, other, ok=(0, 1))
        return done.out.decode("ascii").strip()

    def find_conflict_markers(
        self, old: str, new: str, changes: Sequence[TreeChange]
    ) -> tuple[str, ...]:
        """Files of `new` to which conflict markers were added."""
        if not self._marks_in(changes):
            return ()
        pattern = f"-G^({'|'.join(MARKERS)})"
        names = self._git.read_names(
            "diff-tree", "-r", "-z", "--name-only", "--no-renames", pattern, old, new
        )
        return tuple(printable_path(name) for name in names if self._added_markers(old, new, name))

    def _marks_in(self, changes: Sequence[TreeChange]) -> bool:
        """Does any of these files hold one at all?  What is too large to look at may."""
        for change in changes:
            found = (
                self._git.read_object(change.blob_id, FILE_BYTES_MAX) if change.blob_id else None
            )
            if found and (found.size > len(found.content) or MARKERS[0].encode() in found.content):
                return True
        return False

    def _added_markers(self, old: str, new: str, name: str) -> bool:
        options = ("-p", "-U0", "--no-renames", "--no-ext-diff", "--no-textconv")
        args = ("diff-tree", *options, old, new, "--", f":(literal){name}")
        lines = self._git.run(*args).out.splitlines()
        return all(any(line.startswith(f"+{mark}".encode()) for line in lines) for mark in MARKERS)

    def read_message(self, commit: str) -> str:
        """The message of a commit."""
        found = self._git.read_object(commit, FILE_BYTES_MAX)
        return found.content.partition(b"\n\n")[2].decode("utf-8", "replace") if found else ""

    def read_blob_text(self, blob: str) -> str:
        """A small object as text: the target of a link."""
        found = self._git.read_object(blob, FILE_BYTES_MAX)
        return printable_path(os.fsdecode(found.content)) if found else ""

    def branch_ref(self, branch: str) -> str:
        """A person's name for a branch, as the ref it means."""
        ref = f"refs/heads/{branch}"
        if branch.startswith("-") or not self._git.succeeds("check-ref-format", ref):
            raise NotNow(f"{branch!r} cannot be the name of a branch", hint="choose another name")
        return ref

    def compose_task_message(self, subject: str, task: Task) -> str:
        return compose_message(subject, Run=task.run_id, Task=task.id, Attempt=f"{task.attempt}")


def _plain(text: str) -> str:
    """Without what would end a name or an address in a commit; git leaves out the same."""
    return re.sub(r"[<>\x00-\x1f]", "", text).strip(" .,:;\"'\\")


def compose_message(subject: str, **trailers: str) -> str:
    """One line, and trailers by which the commit's origin is found again."""
    line = " ".join(subject.split())
    short = line if len(line) <= SUBJECT_MAX else f"{line[: SUBJECT_MAX - 1]}…"
    return add_trailers(short, **trailers)


def add_trailers(text: str, **trailers: str) -> str:
    """A whole message with its trailers."""
    lines = "".join(f"Yaoki-{key}: {value}\n" for key, value in trailers.items())
    return f"{text.strip()}\n\n{lines}"


def first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
