"""Commits and merges without a checkout: trees in, commits out."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from yaoki.adapters.git.command import DEFAULT_IDENTITY, Git
from yaoki.adapters.git.tree_diff import TreeChange, printable_path
from yaoki.adapters.system.clock import SystemClock
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.errors import NotNow

if TYPE_CHECKING:
    from yaoki.adapters.git.refs import GitCommit
    from yaoki.core.model import Task

SUBJECT_MAX = 100
# The subject of a commit in a worktree that merges the run branch into the work of an attempt.
MERGED_IN = "the run branch merged in"
MARKERS = ("<<<<<<< ", ">>>>>>> ")
_OWN_MARKER = lazy_compile(rb"\+(?:<{7}|>{7}) [0-9a-f]{40,64}(?: |$)")
FILE_BYTES_MAX = 1 << 20


@dataclass(frozen=True, slots=True)
class MergedTree:
    """The tree of a merge; files with conflicts contain git's markers."""

    tree: str
    conflicts: tuple[str, ...]


class Commits:
    """Makes commits, merges and their messages."""

    def __init__(self, git: Git) -> None:
        self._git, self._clock = git, SystemClock()

    def make(self, tree: str, parents: Sequence[str], message: str) -> str:
        if commit := self._git.batch.store_commit(self._format(tree, parents, message)):
            return commit
        links = [word for parent in parents for word in ("-p", parent)]
        return self._git.read_text("commit-tree", *links, tree, stdin=message.encode())

    def _format(self, tree: str, parents: Sequence[str], message: str) -> bytes:
        """The text of a commit object."""
        name, email = (_strip_delimiters(each) for each in self._git.identity)
        if not name:
            name, email = DEFAULT_IDENTITY
        now = self._clock.now().astimezone()
        identity = f"{name} <{email}> {int(now.timestamp())} {now:%z}"
        headers = (f"tree {tree}", *(f"parent {parent}" for parent in parents))
        lines = (*headers, f"author {identity}", f"committer {identity}", "", message)
        return "\n".join(lines).encode()

    def merge_onto(self, head: GitCommit, work: GitCommit) -> MergedTree:
        """Merge the work onto the head; work built directly on the head needs no merge."""
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
        """True when a later commit reverts this very landing."""
        options = ("--first-parent", "-F", f"--grep=Yaoki-Undo: {landed}", "--format=%H", "-1")
        return bool(self._git.read_text("log", *options, f"{landed}..{head}").strip())

    def list_later_changes(self, base: str, head: str, names: Sequence[str]) -> tuple[str, ...]:
        """The commits after `base` that changed one of the files, newest first, without undos."""
        literal = [f":(literal){name}" for name in names]
        kinds = ("--first-parent", "-F", "--invert-grep", "--grep=Yaoki-Undo: ", "--format=%H")
        return tuple(self._git.read_text("log", *kinds, f"{base}..{head}", "--", *literal).split())

    def merge_base(self, one: str, other: str) -> str:
        """The newest common ancestor; empty when there is none."""
        result = self._git.run("merge-base", one, other, ok=(0, 1))
        return result.out.decode("ascii").strip()

    def find_conflict_markers(
        self, old: str, new: str, changes: Sequence[TreeChange]
    ) -> tuple[str, ...]:
        """Files of `new` to which a pair of conflict markers was added, or one that yaoki wrote."""
        if not self._may_have_markers(changes):
            return ()
        pattern = f"-G^({'|'.join(MARKERS)})"
        names = self._git.read_names(
            "diff-tree", "-r", "-z", "--name-only", "--no-renames", pattern, old, new
        )
        return tuple(printable_path(name) for name in names if self._added_markers(old, new, name))

    def _may_have_markers(self, changes: Sequence[TreeChange]) -> bool:
        """True when any of the files contains a marker, or is too large to be read."""
        markers = [mark.encode() for mark in MARKERS]
        for change in changes:
            blob = self._git.read_object(change.blob_id, FILE_BYTES_MAX) if change.blob_id else None
            if blob is None:
                continue
            if blob.size > len(blob.content) or any(mark in blob.content for mark in markers):
                return True
        return False

    def _added_markers(self, old: str, new: str, name: str) -> bool:
        options = ("-p", "-U0", "--no-renames", "--no-ext-diff", "--no-textconv")
        args = ("diff-tree", *options, old, new, "--", f":(literal){name}")
        lines = self._git.run(*args).out.splitlines()
        both = all(any(line.startswith(f"+{mark}".encode()) for line in lines) for mark in MARKERS)
        # A marker of a merge by yaoki names a commit; one that a text quotes does not.
        return both or any(map(_OWN_MARKER.match, lines))

    def read_message(self, commit: str) -> str:
        stored = self._git.read_object(commit, FILE_BYTES_MAX)
        return stored.content.partition(b"\n\n")[2].decode("utf-8", "replace") if stored else ""

    def read_subject(self, commit: str) -> str:
        return first_line(self.read_message(commit))

    def read_task_name(self, commit: GitCommit) -> str:
        """The name in the subject `name: goal` of a task's commit, otherwise the task's id."""
        name, colon, _ = self.read_subject(commit.sha).partition(": ")
        return name if colon else commit.task

    def read_blob_text(self, blob: str) -> str:
        """A small object as text, such as the target of a link."""
        stored = self._git.read_object(blob, FILE_BYTES_MAX)
        return printable_path(os.fsdecode(stored.content)) if stored else ""

    def read_blob_bytes(self, blob: str) -> bytes:
        """A small object; empty if it is larger than any file of a program."""
        stored = self._git.read_object(blob, FILE_BYTES_MAX)
        return stored.content if stored else b""

    def branch_ref(self, branch: str) -> str:
        """The ref of a branch name that a person typed."""
        ref = f"refs/heads/{branch}"
        if branch.startswith("-") or not self._git.succeeds("check-ref-format", ref):
            raise NotNow(f"{branch!r} is not a valid branch name", hint="choose another name")
        return ref

    def compose_task_message(self, subject: str, task: Task, companions: Sequence[str] = ()) -> str:
        """`companions` are the tasks that land with the same commit."""
        text = compose_message(subject, Run=task.run_id, Task=task.id, Attempt=f"{task.attempt}")
        text += "".join(f"Yaoki-Task: {name}\n" for name in companions)
        # The name that trackers look for, so it has no prefix.
        return f"{text}Refs: {task.spec.ticket}\n" if task.spec.ticket else text


def _strip_delimiters(text: str) -> str:
    """Remove what would end a name or an email in a commit, as git does."""
    return re.sub(r"[<>\x00-\x1f]", "", text).strip(" .,:;\"'\\")


def compose_message(subject: str, **trailers: str) -> str:
    """Compose a subject line, and trailers that name the commit's origin."""
    line = " ".join(subject.split())
    short = line if len(line) <= SUBJECT_MAX else f"{line[: SUBJECT_MAX - 1]}…"
    return add_trailers(short, **trailers)


def add_trailers(text: str, **trailers: str) -> str:
    lines = "".join(f"Yaoki-{key}: {value}\n" for key, value in trailers.items())
    return f"{text.strip()}\n\n{lines}"


def first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
