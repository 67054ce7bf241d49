"""Names of our refs, and git's commits and refs as values; docs/decisions/refs.md tells why."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from yaoki.adapters.git.command import Git
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import Run, task_branch
from yaoki.errors import GitFailed, Unknown

REF_COMPONENT = re.compile(r"[a-z0-9][a-z0-9-]{0,99}")
RUN = re.compile(rb"^Yaoki-Run: ([a-z0-9-]{1,99})$", re.MULTILINE)
TASK = re.compile(rb"^Yaoki-Task: ([a-z0-9-]{1,99})$", re.MULTILINE)
MOVED = re.compile(r"but expected|reference already exists|unable to resolve reference")

OWN_BRANCHES = "refs/heads/yaoki"
SAVED_WORK = "refs/yaoki/work"
SNAPSHOTS = "refs/yaoki/snapshots"
CANDIDATES = "refs/yaoki/candidates"
RECORDED_HEADS = "refs/yaoki/runs"
GROUP_BASES = "refs/yaoki/bases"
MERGE_QUEUE_SUFFIX = "-train"
READ_MAX = 4096
OWN = (f"{OWN_BRANCHES}/", "refs/yaoki/")


def ref_component(text: str) -> str:
    """An id as a piece of a ref name; anything else could name a ref that is not ours."""
    if not REF_COMPONENT.fullmatch(text):
        raise Unknown(f"{text!r} is not an id", hint="yaoki status shows the ids")
    return text


def run_branch_ref(run_id: str) -> str:
    return f"{OWN_BRANCHES}/{ref_component(run_id)}"


def target_branch_ref(run: Run) -> str:
    """The run's own branch, or that of the group whose line is meant."""
    return run_branch_ref(f"{run.target_group}-group" if run.target_group else run.id)


def recorded_head_ref(run: Run) -> str:
    """Beside the branch: where yaoki itself last put it."""
    return f"{RECORDED_HEADS}/{ref_component(run.target_group or run.id)}"


def group_base_ref(run: Run) -> str:
    """Beside a group's branch: the commit of the run branch that it began at."""
    return f"{GROUP_BASES}/{ref_component(run.target_group or run.id)}"


def merge_queue_ref(run: Run) -> str:
    """Beside the mark: the last of the candidates that are built on each other."""
    return f"{recorded_head_ref(run)}{MERGE_QUEUE_SUFFIX}"


def task_branch_ref(task_id: str) -> str:
    return f"refs/heads/{task_branch(ref_component(task_id))}"


def work_ref(task_id: str, label: str) -> str:
    return f"{SAVED_WORK}/{ref_component(task_id)}/{ref_component(label)}"


def candidate_ref(task_id: str) -> str:
    return f"{CANDIDATES}/{ref_component(task_id)}"


def snapshot_ref(snapshot_id: str) -> str:
    return f"{SNAPSHOTS}/{ref_component(snapshot_id)}"


@dataclass(frozen=True, slots=True)
class GitCommit:
    sha: str
    tree: str
    parents: tuple[str, ...]
    # The run and the task whose commit of ours it is; empty for anybody else's.
    run: str = ""
    task: str = ""


@dataclass(frozen=True, slots=True)
class Ref:
    name: str
    commit: str
    at: datetime
    subject: str


@dataclass(frozen=True, slots=True)
class RefMove:
    """One ref to move.  `old` is what it must be now: empty for none yet, None for anything."""

    ref: str
    new: str
    old: str | None = None

    @property
    def update_ref_commands(self) -> str:
        """For `update-ref --stdin`.

        Somebody may have made a name of ours stand for a branch of the user's, which is not ours
        to move: such a name becomes a ref of its own again.
        """
        itself = "option no-deref\n" if self.ref.startswith(OWN) else ""
        return itself + self._line

    @property
    def _line(self) -> str:
        if not self.new:
            return f"delete {self.ref} {self.old or ''}".rstrip()
        if self.old == "":
            return f"create {self.ref} {self.new}"
        return f"update {self.ref} {self.new} {self.old or ''}".rstrip()


class Refs:
    """Reading and moving refs; every move is one transaction of git's own."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._read: dict[str, GitCommit] = {}

    def read_commits(self, *revisions: str) -> list[GitCommit | None]:
        """Each revision as a commit, None where there is none."""
        asked = [f"{one}^{{commit}}" for one in revisions if one]
        named = iter(self._git.look_up(*asked))
        found = [next(named) if one else None for one in revisions]
        return [self._commit(one.name) if one else None for one in found]

    def _commit(self, sha: str) -> GitCommit | None:
        """What a commit says never changes, so it is read once."""
        known = self._read.get(sha)
        if known is None:
            found = self._git.read_object(sha)
            if found is None or not found.content:
                return None
            known = _parse(sha, found.content)
            if len(self._read) >= READ_MAX:
                self._read.clear()
            self._read[sha] = known
        return known

    def revision_of(self, ref: str) -> str:
        """The ref as a revision for any other command."""
        return ref

    def unshared_run_refs(self, run_id: str) -> list[RefMove]:
        """What this repository alone holds of a run that others are to share."""
        assert run_id, "a run has an id"
        return []

    def fetch_commits(self, *commits: str) -> None:
        """Commits that another machine made; a commit that is not here is nowhere."""

    def require_commit(self, revision: str, what: str) -> GitCommit:
        """A commit that must be there."""
        if (found := self.read_commits(revision)[0]) is None:
            raise GitFailed(f"{what} is gone", hint=f"git log --all shows whether {what} is left")
        return found

    def move(self, *moves: RefMove, why: str = "") -> bool:
        """Move all or none; false when one was not where it had to be.

        Where people may read the reflog, `why` is said in it; our own refs need no words.
        """
        lines = [move.update_ref_commands for move in moves]
        if not why and self._git.batch.move_refs(lines):
            return True
        given = "".join(f"{line}\n" for line in lines).encode()
        try:
            self._git.run("update-ref", "-m", why or "yaoki", "--stdin", stdin=given)
        except GitFailed as failed:
            if MOVED.search(failed.sentence):
                return False
            raise
        return True

    def delete_symbolic_ref(self, ref: str) -> None:
        """Let a name of ours no longer stand for another; for commands that would follow it."""
        if self._links(ref):
            self._git.run("symbolic-ref", "--delete", ref)

    def _links(self, ref: str) -> bool:
        common = self._git.common_dir
        if (common / "reftable").is_dir():
            return self._git.succeeds("symbolic-ref", "-q", ref)
        file = common / ref
        return file.is_file() and _read(file).startswith(b"ref:")

    def move_or_fail(self, *moves: RefMove, why: str = "") -> None:
        """Move refs that only we move; that they could not be is a failure."""
        if not self.move(*moves, why=why):
            raise GitFailed(f"{moves[0].ref} was moved by somebody else", transient=True)

    def overwrite(self, move: RefMove) -> bool:
        """A ref that nobody misses, also one whose file a crash left empty: git moves none such."""
        if not self.move(move):
            (self._git.common_dir / move.ref).unlink(missing_ok=True)
            self.move_or_fail(move)
        return True

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        """Most often one is the other, or the one right before it: that is seen at once."""
        if ancestor == descendant or self._parent(ancestor, descendant):
            return True
        if self._parent(descendant, ancestor):
            return False
        return self._git.succeeds("merge-base", "--is-ancestor", ancestor, descendant)

    def _parent(self, ancestor: str, descendant: str) -> bool:
        found = Refs.read_commits(self, descendant)[0]
        return found is not None and ancestor in found.parents

    def refs_containing(self, commit: str, *prefixes: str) -> list[str]:
        """The refs at or below these names from which the commit can be reached."""
        args = ("--format=%(refname)", f"--contains={commit}", *prefixes)
        return self._git.read_text("for-each-ref", *args).splitlines()

    def list_refs(self, *prefixes: str) -> list[Ref]:
        form = "%(refname)%00%(objectname)%00%(committerdate:unix)%00%(subject)"
        lines = self._git.read_text("for-each-ref", f"--format={form}", *prefixes).split("\n")
        rows = (line.split("\0", 3) for line in lines if line)
        return [Ref(r, c, datetime.fromtimestamp(int(at), UTC), s) for r, c, at, s in rows]

    def checkouts_of(self, ref: str) -> list[Path]:
        """The worktrees that have the branch checked out, or will again after a rebase."""
        if not self._named_by_heads(ref):
            return list(self._rebased(ref))
        out = self._git.run("worktree", "list", "--porcelain", "-z").out.decode("utf-8", "replace")
        blocks = (block.split("\0") for block in out.split("\0\0") if block)
        places = [
            Path(lines[0].removeprefix("worktree ")) for lines in blocks if f"branch {ref}" in lines
        ]
        return places or list(self._rebased(ref))

    def manual_command(self, *moves: RefMove, source_refs: Sequence[str] = ()) -> str:
        """The command by which a person makes these moves, from wherever the refs are now.

        `held` are refs that hold the commits, for clones that lack them.
        """
        branches = [move.ref for move in moves if move.ref.startswith("refs/heads/")]
        places = dict.fromkeys(place for ref in branches for place in self.checkouts_of(ref))
        # git moves no branch under a checkout; what is changed there stays as it is.
        freed = [f"git -C {shlex.quote(str(place))} switch --detach" for place in places]
        return " && ".join((*freed, *(_typed(move) for move in moves)))

    def _named_by_heads(self, ref: str) -> bool:
        """May some HEAD name the branch?  git itself is only asked when it may."""
        common = self._git.common_dir
        heads = [_read(file) for file in (common / "HEAD", *common.glob("worktrees/*/HEAD"))]
        # Where refs are not kept as files these say nothing.
        return any(f"ref: {ref}".encode() == h.strip() or b"/.invalid" in h for h in heads)

    def refuse_checked_out(
        self, ref: str, *, except_at: Path | None = None, error_type: type[GitFailed] = GitFailed
    ) -> None:
        """Moving a branch under a checkout would make it look changed: never do that."""
        if places := [place for place in self.checkouts_of(ref) if place != except_at]:
            branch, there = ref.removeprefix("refs/heads/"), shlex.quote(str(places[0]))
            raise error_type(
                f"the branch {branch} is checked out at {places[0]}",
                hint=f"let go of it there: git -C {there} switch --detach",
            )

    def _rebased(self, ref: str) -> Iterable[Path]:
        """Git folders in the middle of a rebase of this branch: their HEAD does not name it."""
        common = self._git.common_dir
        for name in ("rebase-merge/head-name", "rebase-apply/head-name"):
            for file in (common / name, *common.glob(f"worktrees/*/{name}")):
                if _read(file).strip() == ref.encode():
                    yield file.parents[1]


def commits_beyond(git: Git, commits: Sequence[str], head: str) -> tuple[str, ...]:
    """Which of the commits cannot be reached from the head.

    Git walks only what the head lacks, never the whole history behind it.
    """
    existing = [one.name for one in git.look_up(*(f"{c}^{{commit}}" for c in commits)) if one]
    if not existing:
        return tuple(commits)
    given = "".join(f"{line}\n" for line in (*existing, f"^{head}")).encode()
    reachable = set(existing) - set(git.read_text("rev-list", "--stdin", stdin=given).split())
    return tuple(commit for commit in commits if commit not in reachable)


def _read(file: Path) -> bytes:
    """The file's content; empty when another process has removed it since it was listed."""
    try:
        return file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return b""


def _typed(move: RefMove) -> str:
    branch = move.ref.removeprefix("refs/heads/")
    if branch == move.ref:
        return f"git update-ref {move.ref} {move.new}"
    return f"git branch -f {branch} {move.new}"


def _parse(sha: str, body: bytes) -> GitCommit:
    headers = [line.split(b" ", 1) for line in body.partition(b"\n\n")[0].splitlines()]
    trees = [value.decode("ascii") for key, *rest in headers if key == b"tree" for value in rest]
    parents = [v.decode("ascii") for key, *rest in headers if key == b"parent" for v in rest]
    run, task = (_named(trailer, body) for trailer in (RUN, TASK))
    return GitCommit(sha, trees[0], tuple(parents), run, task)


def _named(trailer: re.Pattern[bytes], body: bytes) -> str:
    found = trailer.search(body)
    return found[1].decode("ascii") if found else ""
