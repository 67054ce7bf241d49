"""Commits and merges made without any checkout: trees in, commits out."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from yaoki.adapters.git.command import NOBODY, Git
from yaoki.adapters.git.refs import Commit
from yaoki.adapters.git.trees import Change, readable
from yaoki.adapters.system.clock import SystemClock
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
        if made := self._git.kept.stored(self._text(tree, parents, message)):
            return made
        links = [word for parent in parents for word in ("-p", parent)]
        return self._git.text("commit-tree", *links, tree, given=message.encode())

    def _text(self, tree: str, parents: Sequence[str], message: str) -> bytes:
        """A commit as git writes it."""
        name, email = (_plain(each) for each in self._git.identity)
        if not name:
            name, email = NOBODY
        at = self._clock.now().astimezone()
        who = f"{name} <{email}> {int(at.timestamp())} {at:%z}"
        heads = (f"tree {tree}", *(f"parent {parent}" for parent in parents))
        lines = (*heads, f"author {who}", f"committer {who}", "", message)
        return "\n".join(lines).encode()

    def onto(self, head: Commit, work: Commit) -> MergedTree:
        """The work merged onto the head; what was built on that very commit is the merge."""
        if head.sha == work.sha or head.sha in work.parents[:1]:
            return MergedTree(work.tree, ())
        return self.merge(head.sha, work.sha)

    def merge(self, ours: str, theirs: str) -> MergedTree:
        args = ("merge-tree", "--write-tree", "-z", "--name-only", ours, theirs)
        tree, *rest = self._git.run(*args, ok=(0, 1)).out.split(b"\0")
        paths = rest[: rest.index(b"")] if b"" in rest else rest
        names = dict.fromkeys(readable(os.fsdecode(path)) for path in paths)
        return MergedTree(tree.decode("ascii"), tuple(names))

    def undone(self, landed: str, head: str) -> bool:
        """Was this very landing taken back before, whatever landed since?"""
        words = ("--first-parent", "-F", f"--grep=Yaoki-Undo: {landed}", "--format=%H", "-1")
        return bool(self._git.text("log", *words, f"{landed}..{head}").strip())

    def base(self, one: str, other: str) -> str:
        """The newest commit both have; empty when they have none."""
        done = self._git.run("merge-base", one, other, ok=(0, 1))
        return done.out.decode("ascii").strip()

    def marked(self, old: str, new: str, changes: Sequence[Change]) -> tuple[str, ...]:
        """Files of `new` to which conflict markers were added."""
        if not self._marks_in(changes):
            return ()
        pattern = f"-G^({'|'.join(MARKERS)})"
        names = self._git.names(
            "diff-tree", "-r", "-z", "--name-only", "--no-renames", pattern, old, new
        )
        return tuple(readable(name) for name in names if self._added_markers(old, new, name))

    def _marks_in(self, changes: Sequence[Change]) -> bool:
        """Does any of these files hold one at all?  What is too large to look at may."""
        for change in changes:
            found = self._git.contents(change.blob, FILE_BYTES_MAX) if change.blob else None
            if found and (found.size > len(found.content) or MARKERS[0].encode() in found.content):
                return True
        return False

    def _added_markers(self, old: str, new: str, name: str) -> bool:
        options = ("-p", "-U0", "--no-renames", "--no-ext-diff", "--no-textconv")
        args = ("diff-tree", *options, old, new, "--", f":(literal){name}")
        lines = self._git.run(*args).out.splitlines()
        return all(any(line.startswith(f"+{mark}".encode()) for line in lines) for mark in MARKERS)

    def words_of(self, commit: str) -> str:
        """The message of a commit."""
        found = self._git.contents(commit, FILE_BYTES_MAX)
        return found.content.partition(b"\n\n")[2].decode("utf-8", "replace") if found else ""

    def text_of(self, blob: str) -> str:
        """A small object as text: the target of a link."""
        found = self._git.contents(blob, FILE_BYTES_MAX)
        return readable(os.fsdecode(found.content)) if found else ""

    def branch_ref(self, branch: str) -> str:
        """A person's name for a branch, as the ref it means."""
        ref = f"refs/heads/{branch}"
        if branch.startswith("-") or not self._git.yes("check-ref-format", ref):
            raise NotNow(f"{branch!r} cannot be the name of a branch", hint="choose another name")
        return ref

    def message(self, subject: str, task: Task) -> str:
        return message(subject, Run=task.run_id, Task=task.id, Attempt=f"{task.attempt}")


def _plain(text: str) -> str:
    """Without what would end a name or an address in a commit; git leaves out the same."""
    return re.sub(r"[<>\x00-\x1f]", "", text).strip(" .,:;\"'\\")


def message(subject: str, **trailers: str) -> str:
    """One line, and trailers by which the commit's origin is found again."""
    line = " ".join(subject.split())
    short = line if len(line) <= SUBJECT_MAX else f"{line[: SUBJECT_MAX - 1]}…"
    return signed(short, **trailers)


def signed(text: str, **trailers: str) -> str:
    """A whole message with its trailers."""
    lines = "".join(f"Yaoki-{key}: {value}\n" for key, value in trailers.items())
    return f"{text.strip()}\n\n{lines}"


def first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
