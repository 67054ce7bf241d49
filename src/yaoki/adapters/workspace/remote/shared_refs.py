"""Refs that all machines share: the remote's are the truth, those in this repository a copy.

Reading one looks at the remote; moving one is a push with the expected old value.  Killed between
the push and the copy, the next look sees the remote and goes on.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from yaoki.adapters.git.command import Git
from yaoki.adapters.git.refs import (
    GROUP_BASES,
    MERGE_QUEUE_SUFFIX,
    OWN_BRANCHES,
    RECORDED_HEADS,
    GitCommit,
    RefMove,
    Refs,
    run_branch_ref,
    work_ref,
)
from yaoki.adapters.workspace.remote.client import PushOutcome, RemoteClient
from yaoki.errors import GitFailed, RemoteRejectedPush

# Run branches, groups' branches, their marks, bases and trains, what a rolled back line held, and
# what a branch that somebody moved has to go back to.
OURS = re.compile(
    r"refs/heads/yaoki/(?:[a-z0-9]+|[a-z0-9-]+-group)"
    r"|refs/yaoki/(?:runs|bases)/[a-z0-9-]+"
    r"|refs/yaoki/work/[a-z0-9-]+/0-(?:rollback-\d+|landed-[0-9a-f]+)"
)
PUSHES_MAX = 6
PAUSE_S = 0.05


class SharedRefs(Refs):
    """`Refs` over a remote; names that only this repository knows stay as they were."""

    def __init__(self, git: Git, remote: RemoteClient, names: re.Pattern[str] = OURS) -> None:
        super().__init__(git)
        self._remote, self._names = remote, names
        self._seen: dict[str, str] = {}

    def read_commits(self, *revisions: str) -> list[GitCommit | None]:
        """Shared refs as they are at the remote now; their commits are then here."""
        asked = [revision for revision in revisions if self._names.fullmatch(revision)]
        if not asked:
            return super().read_commits(*revisions)
        seen = self._look(asked)
        return super().read_commits(*(seen.get(r, "") if r in asked else r for r in revisions))

    def revision_of(self, ref: str) -> str:
        """By its commit: the copy may be behind."""
        if not self._names.fullmatch(ref):
            return ref
        if not (found := self._look([ref]).get(ref)):
            raise GitFailed(f"{ref.removeprefix('refs/heads/')} is not at the remote")
        return found

    def unshared_run_refs(self, run_id: str) -> list[RefMove]:
        """A run that was begun before there was a remote: its branch, its groups', their marks."""
        own = re.compile(rf".*/{run_id}(-\d+)?(-group)?")
        held = [
            ref
            for ref in self.list_refs(OWN_BRANCHES, RECORDED_HEADS, GROUP_BASES)
            if own.fullmatch(ref.name)
        ]
        shared = {ref.name: ref.commit for ref in held if self._names.fullmatch(ref.name)}
        if run_branch_ref(run_id) not in shared or f"{RECORDED_HEADS}/{run_id}" not in shared:
            return []
        return [RefMove(name, commit, "") for name, commit in shared.items()]

    def fetch_commits(self, *commits: str) -> None:
        """One by one: the remote may have forgotten some."""
        for commit, here in zip(commits, super().read_commits(*commits), strict=True):
            if here is None:
                self._remote.fetch_commits([commit])

    def checkouts_of(self, ref: str) -> list[Path]:
        """What stands at the remote is nobody's checkout; only its copy may be one."""
        return [] if self._names.fullmatch(ref) else super().checkouts_of(ref)

    def manual_command(self, *moves: RefMove, source_refs: Sequence[str] = ()) -> str:
        """One push; whoever types it may stand in a clone that lacks the commits."""
        remote = shlex.quote(self._remote.address.display_name)
        brought = f"git fetch {remote} {' '.join(source_refs)} && " if source_refs else ""
        specs = " ".join(f"+{move.new}:{move.ref}" for move in moves)
        return f"{brought}git push {remote} {specs}"

    def move(self, *moves: RefMove, why: str = "") -> bool:
        """Push all or none; false when one was not where it had to be."""
        if not any(self._names.fullmatch(move.ref) for move in moves):
            return super().move(*moves, why=why)
        if not self._push(moves):
            return False
        for move in moves:
            self._follow(move.ref, move.new, move.old)
        return True

    def _push(self, moves: tuple[RefMove, ...]) -> bool:
        """Who was refused looks: somebody else was there first, or only in the way."""
        for n in range(1, PUSHES_MAX + 1):
            outcome = self._remote.push(*moves)
            if not outcome.refused:
                return True
            there = self._remote.fetch_refs([move.ref for move in moves])
            if all(there.get(move.ref, "") == move.new for move in moves):
                return True
            if any(there.get(m.ref, "") != m.old for m in moves if m.old is not None):
                return False
            if outcome.forbidden_reason:
                break
            self._remote.sleep_with_jitter(PAUSE_S * n)
        raise self._refused(outcome)

    def _refused(self, outcome: PushOutcome) -> GitFailed:
        ref = next(iter(outcome.refused))
        kind = RemoteRejectedPush if outcome.forbidden_reason else GitFailed
        return kind(
            f"the remote {self._remote.address.display_name} does not take {ref}: "
            f"{outcome.reason_for(ref)}",
            transient=not outcome.forbidden_reason,
            hint="let this machine push refs/heads/yaoki/* and refs/yaoki/*, by force as well",
        )

    # -------------------------------------------------------------- the copies

    def _look(self, refs: list[str]) -> dict[str, str]:
        seen = self._remote.fetch_refs(refs)
        for ref, commit in seen.items():
            if OURS.fullmatch(ref) and self._seen.get(ref) != commit:
                self._follow(ref, commit, None)
        return seen

    def _follow(self, ref: str, new: str, old: str | None) -> None:
        """Let the copy be as the remote is; whatever else it held stays on a ref of its own.

        A copy that is further may have been moved by a younger look than ours.  Of a train there
        is none: what did not land of it is of no use.
        """
        if ref.endswith(MERGE_QUEUE_SUFFIX):
            return
        here = super().read_commits(ref)[0]
        if (here.sha if here else "") == new:
            self._seen[ref] = new
            return
        if self._stays(ref, here, new, old):
            return
        moves = [RefMove(ref, new, here.sha if here else "")]
        if here and new and not self.is_ancestor(here.sha, new):
            name = ref.rpartition("/")[2].removesuffix("-group")
            moves.insert(0, RefMove(work_ref(name, f"0-local-{here.sha[:8]}"), here.sha))
        if super().move(*moves, why="yaoki: as at the remote"):
            self._seen[ref] = new

    def _stays(self, ref: str, here: GitCommit | None, new: str, old: str | None) -> bool:
        if not OURS.fullmatch(ref) and (here.sha if here else "") != old:
            # A branch of the user's, with work of its own: theirs to bring together.
            return True
        if here and new and self.is_ancestor(new, here.sha):
            return True
        return bool(super().checkouts_of(ref))
