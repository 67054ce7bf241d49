"""Branch drift: what somebody else did to the run branch, and the command that restores it."""

from __future__ import annotations

from collections.abc import Sequence

from yaoki.adapters.git.command import Git
from yaoki.adapters.git.reachability import commits_not_reachable
from yaoki.adapters.git.ref_names import recorded_head_ref, target_branch_ref, work_ref
from yaoki.adapters.git.refs import GitCommit, RefMove
from yaoki.adapters.workspace.remote.mode import RemoteMode
from yaoki.core.bounded_cache import BoundedCache
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import Run
from yaoki.core.text import format_count
from yaoki.errors import BranchMovedExternally

SUBJECT_MAX = 100


@dataclass(frozen=True, slots=True)
class BranchDrift:
    """The difference between the branch and the state in which yaoki left it.

    `restore_command` moves it to `restore_commit`; `inspect_command` shows the difference.
    """

    sentence: str
    restore_command: str
    only_lacks_commits: bool
    restore_commit: str = ""
    inspect_command: str = ""

    @property
    def error(self) -> BranchMovedExternally:
        return BranchMovedExternally(self.sentence, restore_command=self.restore_command)


class DriftDetector:
    """Compares the branch with its recorded head, and both with the head seen before.

    The recorded head can be forged by moving both refs.  So the last good head is remembered, and
    at the start and the end of a run the store says what landed.
    """

    def __init__(self, git: Git, mode: RemoteMode) -> None:
        self._git, self._mode, self._refs = git, mode, mode.run_refs
        self._heads: BoundedCache[str, str] = BoundedCache()

    # -------------------------------------------------------------- the remembered head

    def remember_head(self, run: Run, head: str) -> None:
        """Only of run branches: a group branch may be rolled back."""
        if not run.target_group:
            self._heads[target_branch_ref(run)] = head

    def remembered_head(self, run: Run) -> str:
        return self._heads.get(target_branch_ref(run), "")

    def lacks_remembered_head(self, run: Run, head: str) -> bool:
        """True when a branch at `head` would not contain the remembered head."""
        remembered = self.remembered_head(run)
        return bool(remembered) and not self._refs.is_ancestor(remembered, head)

    # -------------------------------------------------------------- detection

    def find_drift(
        self,
        run: Run,
        head: GitCommit | None,
        recorded: GitCommit | None,
        landed: Sequence[str] = (),
    ) -> BranchDrift | None:
        """The drift of the branch; None when it is as yaoki left it.

        A recorded head one landing ahead of its branch is a landing in progress, or one that a
        kill interrupted and that will be repeated, unless `landed` says that it has landed.
        """
        if head is None:
            existed = recorded is not None or landed or self.remembered_head(run)
            return self.describe_missing_branch(run, recorded, landed) if existed else None
        matches = recorded is not None and (
            head.sha == recorded.sha or head.sha in recorded.parents[:1]
        )
        if recorded is not None and not matches:
            return self.describe_difference(run, head, recorded)
        if self._is_foreign(run, head):
            sentence = f"{run.branch} is at {head.sha[:12]}, which yaoki did not make"
            return self._describe_foreign_head(run, head, recorded, sentence, landed)
        if self.lacks_remembered_head(run, head.sha) or self._lacks_landing(landed, head):
            return self.describe_missing_commits(run, head, recorded, landed)
        self.remember_head(run, head.sha)
        return None

    def _is_foreign(self, run: Run, head: GitCommit) -> bool:
        """Branch and record can be moved together, by an agent for instance; yaoki's own commits
        name the run.  A run branch starts at the base, which is the user's commit.
        """
        return not (run.target_group or head.run == run.id or head.sha == run.base)

    def describe_missing_branch(
        self, run: Run, recorded: GitCommit | None, landed: Sequence[str] = ()
    ) -> BranchDrift:
        target = self._restore_commit(run, recorded, landed)
        sentence = f"the run branch {run.branch} is gone; its last commit was {target[:12]}"
        return BranchDrift(sentence, self._command(run, None, recorded, target), True, target)

    def describe_difference(
        self, run: Run, head: GitCommit, recorded: GitCommit | None
    ) -> BranchDrift | None:
        """Commits that somebody else added to the branch or removed from it."""
        if recorded is None or head.sha == recorded.sha:
            return None
        if subjects := self._subjects(recorded.sha, head.sha):
            count = _count_subjects(subjects)
            sentence = f"{run.branch} contains commits that yaoki did not land: {count}"
            return self._describe_foreign_head(run, head, recorded, sentence)
        return self.describe_missing_commits(run, head, recorded)

    def describe_missing_commits(
        self, run: Run, head: GitCommit, recorded: GitCommit | None, landed: Sequence[str] = ()
    ) -> BranchDrift:
        target = self._restore_commit(run, recorded, landed)
        subjects = self._subjects(head.sha, target) if self._refs.read_commits(target)[0] else []
        sentence = f"{run.branch} lacks commits that yaoki landed: {_count_subjects(subjects)}"
        command = self._command(run, None, recorded, target)
        inspect = f"git log {run.branch}..{target[:12]}"
        return BranchDrift(sentence, command, True, target, inspect)

    def _describe_foreign_head(
        self,
        run: Run,
        head: GitCommit,
        recorded: GitCommit | None,
        sentence: str,
        landed: Sequence[str] = (),
    ) -> BranchDrift:
        """The restore command gives the foreign head a branch first: it is somebody's work."""
        trusted = recorded if recorded is not None and recorded.sha != head.sha else None
        target = self._restore_commit(run, trusted, landed)
        command = self._command(run, head, recorded, target)
        return BranchDrift(sentence, command, False, target, f"git log {target[:12]}..{run.branch}")

    # -------------------------------------------------------------- restoring

    def _restore_commit(self, run: Run, recorded: GitCommit | None, landed: Sequence[str]) -> str:
        """The recorded head, unless it lacks commits that are known to have landed."""
        remembered = self._refs.read_commits(self.remembered_head(run))[0]
        if (
            recorded is not None
            and not self.lacks_remembered_head(run, recorded.sha)
            and not self._lacks_landing(landed, recorded)
        ):
            return recorded.sha
        if remembered is not None and not self._lacks_landing(landed, remembered):
            return remembered.sha
        fallback = remembered or recorded
        return self._newest(landed) or (fallback.sha if fallback else run.base)

    def _lacks_landing(self, landed: Sequence[str], head: GitCommit) -> bool:
        return bool(landed and commits_not_reachable(self._git, landed, head.sha))

    def _newest(self, landed: Sequence[str]) -> str:
        """The present landing that builds on all others."""
        self._mode.fetch_landed(*landed)
        commits = self._refs.read_commits(*landed) if landed else []
        present = [commit.sha for commit in commits if commit]
        if not present:
            return landed[-1] if landed else ""
        stdin = "\n".join(present).encode()
        return self._git.read_text("rev-list", "--topo-order", "-1", "--stdin", stdin=stdin)

    def way_back(self, run: Run, head: GitCommit, recorded: GitCommit | None, target: str) -> str:
        """The command that moves the branch to `target`; later heads are no longer expected."""
        self.remember_head(run, target)
        return self._command(run, head, recorded, target)

    def _command(
        self, run: Run, foreign: GitCommit | None, recorded: GitCommit | None, target: str
    ) -> str:
        """The command for a person; `foreign` is the current head that must not be lost."""
        moves, sources = [RefMove(target_branch_ref(run), target)], []
        if foreign is not None:
            name = f"by-hand-{run.target_group or run.id}-{foreign.sha[:8]}"
            moves.insert(0, RefMove(f"refs/heads/{name}", foreign.sha))
            sources.append(target_branch_ref(run))
        if recorded is not None and recorded.sha == target:
            sources.append(recorded_head_ref(run))
        else:
            moves.append(RefMove(recorded_head_ref(run), target))
            if foreign is None or not self._refs.is_ancestor(target, foreign.sha):
                sources.append(_restore_ref(run, target))
        return self._refs.manual_command(*moves, source_refs=sources)

    def save_restore_commit(self, run: Run, drift: BranchDrift) -> None:
        """Give the restore commit a ref, so that no garbage collection removes it.

        If the command names that ref, other clones fetch from it, so it is written in any case.
        """
        target = drift.restore_commit
        if not target or self._refs.read_commits(target)[0] is None:
            return
        ref = _restore_ref(run, target)
        if ref in drift.restore_command or not self._refs.refs_containing(target):
            self._refs.move(RefMove(ref, target), reason="yaoki: the run branch was moved")

    def _subjects(self, old: str, new: str) -> list[str]:
        """The subjects of the commits that only `new` has, oldest first."""
        args = ("--reverse", "--no-commit-header", "--format=%h %s", f"{old}..{new}")
        lines = self._git.read_text("rev-list", *args).split("\n")
        return [line.partition(" ")[2] for line in lines if line]


def _restore_ref(run: Run, target: str) -> str:
    return work_ref(run.target_group or run.id, f"0-landed-{target[:8]}")


def _count_subjects(subjects: list[str]) -> str:
    number = format_count(len(subjects), "commit")
    return f"{number}, first {subjects[0][:SUBJECT_MAX]!r}" if subjects else number
