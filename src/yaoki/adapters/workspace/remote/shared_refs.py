"""Refs that all machines share: the remote's value counts, the ref in this repository is a copy.

Reading a shared ref asks the remote; moving one is a push with the expected old value.  After a
crash between the push and the update of the copy, the next read sees the remote and continues.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from yaoki.adapters.git.command import Git
from yaoki.adapters.git.ref_names import (
    GROUP_BASES,
    MERGE_QUEUE_SUFFIX,
    OWN_BRANCHES,
    RECORDED_HEADS,
    run_branch_ref,
    work_ref,
)
from yaoki.adapters.git.refs import GitCommit, RefMove, Refs, move_or_fail
from yaoki.adapters.workspace.remote.client import PushOutcome, RemoteClient
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.errors import GitFailed, RemoteRejectedPush

# Run branches and group branches, their recorded heads, bases and merge queues, the commits of a
# rolled back group branch, and the commit to which a branch that somebody moved has to go back.
RUN_REFS = lazy_compile(
    r"refs/heads/yaoki/(?:[a-z0-9]+|[a-z0-9-]+-group)"
    r"|refs/yaoki/(?:runs|bases)/[a-z0-9-]+"
    r"|refs/yaoki/work/[a-z0-9-]+/0-(?:rollback-\d+|landed-[0-9a-f]+)"
)
PUSHES_MAX = 6
PAUSE_S = 0.05


class SharedRefs:
    """Reads and moves refs at a remote; refs that `names` does not match stay local."""

    def __init__(self, git: Git, remote: RemoteClient, names: re.Pattern[str] = RUN_REFS) -> None:
        self._local, self._remote, self._names = Refs(git), remote, names
        self._copied: dict[str, str] = {}

    def read_commits(self, *revisions: str) -> list[GitCommit | None]:
        """Fetch the shared refs among these, then read every revision locally."""
        shared = [revision for revision in revisions if self._names.fullmatch(revision)]
        if not shared:
            return self._local.read_commits(*revisions)
        heads = self._fetch(shared)
        return self._local.read_commits(
            *(heads.get(r, "") if r in shared else r for r in revisions)
        )

    def unshared_run_refs(self, run_id: str) -> list[RefMove]:
        """The refs of a run that started before there was a remote, as moves that create them."""
        of_run = re.compile(rf".*/{run_id}(-\d+)?(-group)?")
        local = [
            ref
            for ref in self._local.list_refs(OWN_BRANCHES, RECORDED_HEADS, GROUP_BASES)
            if of_run.fullmatch(ref.name)
        ]
        shared = {ref.name: ref.commit for ref in local if self._names.fullmatch(ref.name)}
        if run_branch_ref(run_id) not in shared or f"{RECORDED_HEADS}/{run_id}" not in shared:
            return []
        return [RefMove(name, commit, "") for name, commit in shared.items()]

    def fetch_commits(self, *commits: str) -> None:
        """Fetch missing commits one by one: the remote may have lost some of them."""
        for commit, present in zip(commits, self._local.read_commits(*commits), strict=True):
            if present is None:
                self._remote.fetch_commits([commit])

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        return self._local.is_ancestor(ancestor, descendant)

    def refs_containing(self, commit: str, *prefixes: str) -> list[str]:
        return self._local.refs_containing(commit, *prefixes)

    def checkouts_of(self, ref: str) -> list[Path]:
        """A ref at the remote has no checkout; only its local copy can have one."""
        return [] if self._names.fullmatch(ref) else self._local.checkouts_of(ref)

    def manual_command(self, *moves: RefMove, source_refs: Sequence[str] = ()) -> str:
        """A push command; a clone that lacks the commits fetches them from `source_refs` first."""
        remote = shlex.quote(self._remote.address.display_name)
        fetch = f"git fetch {remote} {' '.join(source_refs)} && " if source_refs else ""
        specs = " ".join(f"+{move.new}:{move.ref}" for move in moves)
        return f"{fetch}git push {remote} {specs}"

    def move(self, *moves: RefMove, reason: str = "") -> bool:
        """Push all refs or none; false when one was not at its required old value."""
        if not any(self._names.fullmatch(move.ref) for move in moves):
            return self._local.move(*moves, reason=reason)
        if not self._push(moves):
            return False
        for move in moves:
            self._update_copy(move.ref, move.new, move.old)
        return True

    def overwrite(self, move: RefMove) -> bool:
        """Move a ref whose old value does not matter."""
        if not self._names.fullmatch(move.ref):
            return self._local.overwrite(move)
        if not self.move(move):
            move_or_fail(self, move)
        return True

    def _push(self, moves: tuple[RefMove, ...]) -> bool:
        """Push; after a rejection, find out whether refs have moved or a lock was in the way."""
        for n in range(1, PUSHES_MAX + 1):
            outcome = self._remote.push(*moves)
            if not outcome.refused:
                return True
            remote_refs = self._remote.fetch_refs([move.ref for move in moves])
            if all(remote_refs.get(move.ref, "") == move.new for move in moves):
                return True
            if any(remote_refs.get(m.ref, "") != m.old for m in moves if m.old is not None):
                return False
            if outcome.forbidden_reason:
                break
            self._remote.sleep_with_jitter(PAUSE_S * n)
        raise self._rejection(outcome)

    def _rejection(self, outcome: PushOutcome) -> GitFailed:
        ref = next(iter(outcome.refused))
        error_type = RemoteRejectedPush if outcome.forbidden_reason else GitFailed
        return error_type(
            f"the remote {self._remote.address.display_name} rejects {ref}: "
            f"{outcome.reason_for(ref)}",
            transient=not outcome.forbidden_reason,
            hint="allow this machine to push refs/heads/yaoki/* and refs/yaoki/*, with force",
        )

    # -------------------------------------------------------------- local copies

    def _fetch(self, refs: list[str]) -> dict[str, str]:
        heads = self._remote.fetch_refs(refs)
        for ref, commit in heads.items():
            if RUN_REFS.fullmatch(ref) and self._copied.get(ref) != commit:
                self._update_copy(ref, commit, None)
        return heads

    def _update_copy(self, ref: str, new: str, old: str | None) -> None:
        """Set the local copy to the remote's value; other local commits get their own ref.

        Merge queues have no copy: a candidate that did not land is of no use.
        """
        if ref.endswith(MERGE_QUEUE_SUFFIX):
            return
        copy = self._local.read_commits(ref)[0]
        if (copy.sha if copy else "") == new:
            self._copied[ref] = new
            return
        if self._keeps_copy(ref, copy, new, old):
            return
        moves = [RefMove(ref, new, copy.sha if copy else "")]
        if copy and new and not self.is_ancestor(copy.sha, new):
            name = ref.rpartition("/")[2].removesuffix("-group")
            moves.insert(0, RefMove(work_ref(name, f"0-local-{copy.sha[:8]}"), copy.sha))
        if self._local.move(*moves, reason="yaoki: as at the remote"):
            self._copied[ref] = new

    def _keeps_copy(self, ref: str, copy: GitCommit | None, new: str, old: str | None) -> bool:
        if not RUN_REFS.fullmatch(ref) and (copy.sha if copy else "") != old:
            # A branch of the user's with commits of its own: the user merges it.
            return True
        if copy and new and self.is_ancestor(new, copy.sha):
            # A later read in another thread has moved the copy further.
            return True
        return bool(self._local.checkouts_of(ref))
