"""Archiving the refs of a run: bundled, verified from the bundle alone, and only then deleted.

A bundle contains what the run added to its base, so reading it needs the base.  A ref of yaoki's
keeps the base as long as the repository exists.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from yaoki.adapters.git.command import Git, explain_failure, git_environment, run_git
from yaoki.adapters.git.reachability import has_commits_beyond
from yaoki.adapters.git.ref_names import (
    CANDIDATES,
    GROUP_BASES,
    OWN_BRANCHES,
    RECORDED_HEADS,
    SAVED_WORK,
    SNAPSHOTS,
    ref_component,
    run_branch_ref,
)
from yaoki.adapters.git.refs import Ref, RefMove, Refs, move_or_fail
from yaoki.adapters.workspace.os_errors import translates_os_errors
from yaoki.adapters.workspace.remote.mode import LocalOnly, RemoteMode
from yaoki.adapters.workspace.worktrees.allocation import Worktrees
from yaoki.errors import GitFailed

RUN_REF_PREFIXES = (OWN_BRANCHES, RECORDED_HEADS, GROUP_BASES, SAVED_WORK, CANDIDATES, SNAPSHOTS)
# The user's refs: a run branch that one of these contains is merged.
USER_REF_PREFIXES = ("refs/heads", "refs/remotes", "refs/tags")
ARCHIVED_BASES = "refs/yaoki/archived"


class RunRefArchive:
    """Bundles and deletes the refs of one run; every method may be repeated after a kill."""

    def __init__(self, common_dir: Path, root: Path, mode: RemoteMode | None = None) -> None:
        self._git = Git(common_dir)
        self._mode: RemoteMode = mode or LocalOnly(self._git)
        self._refs = Refs(self._git)
        self._worktrees = Worktrees(self._git, root)

    def list_refs(self, run_id: str) -> dict[str, str]:
        """Every ref that belongs to the run, with its commit; those of other machines as well."""
        self._mode.fetch_run(run_id)
        refs = self._refs.list_refs(*RUN_REF_PREFIXES)
        return {ref.name: ref.commit for ref in refs if _belongs_to(ref, run_id)}

    @translates_os_errors
    def write_bundle(self, run_id: str, base: str, refs: Mapping[str, str], file: Path) -> bool:
        """Write the commits of these refs beyond the base; false when there are none."""
        base = self._save_base(run_id, base)
        if not has_commits_beyond(self._git, list(refs.values()), base):
            return False
        lines = "".join(f"{line}\n" for line in (*refs, f"^{base}" if base else "") if line)
        self._git.run("bundle", "create", "-q", str(file), "--stdin", stdin=lines.encode())
        return True

    def _save_base(self, run_id: str, base: str) -> str:
        """Empty when the base is gone: the bundle then contains the whole history."""
        ref = f"{ARCHIVED_BASES}/{ref_component(run_id)}"
        saved, current = self._refs.read_commits(ref, base)
        if saved is None and current is not None:
            reason = "yaoki: keep the base of an archive"
            move_or_fail(self._refs, RefMove(ref, current.sha), reason=reason)
        commit = saved or current
        return commit.sha if commit else ""

    @translates_os_errors
    def verify_bundle(self, run_id: str, refs: Mapping[str, str], file: Path | None) -> None:
        """Read every object of the bundle back: each ref must be in it, or in the base."""
        bundled = self._read_back(file) if file else {}
        rest = [commit for name, commit in refs.items() if bundled.get(name) != commit]
        base = self._refs.read_commits(f"{ARCHIVED_BASES}/{ref_component(run_id)}")[0]
        if rest and has_commits_beyond(self._git, rest, base.sha if base else ""):
            raise GitFailed(f"the bundle of {run_id} does not contain all of its refs")

    def _read_back(self, file: Path) -> dict[str, str]:
        """Let git unbundle into a temporary folder; the repository only supplies the base."""
        common = self._git.common_dir
        with tempfile.TemporaryDirectory(dir=file.parent) as folder:
            variables = {
                "GIT_DIR": str(common),
                "GIT_OBJECT_DIRECTORY": folder,
                "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(common / "objects"),
            }
            args = ("bundle", "unbundle", str(file))
            result = run_git(args, cwd=common, env={**git_environment(), **variables})
        if result.code != 0:
            raise explain_failure(args, result)
        lines = (line.split(" ", 1) for line in result.out.decode().splitlines())
        return {name: commit for commit, name in lines}

    @translates_os_errors
    def delete_refs(
        self, run_id: str, refs: Mapping[str, str], *, unmerged: bool = False
    ) -> list[str]:
        """Delete refs that a verified bundle contains; returns the refs that stay.

        The run branch stays unless a branch or tag of the user's contains it, or `unmerged` says
        otherwise.  Any branch stays that is checked out, or that was moved since.
        """
        run_branch = "" if unmerged else run_branch_ref(run_id)
        current = self.list_refs(run_id)
        deletions = [
            RefMove(name, "", commit)
            for name, commit in current.items()
            if refs.get(name) == commit and self._is_deletable(name, commit, run_branch)
        ]
        if deletions and not self._refs.move(*deletions, reason="yaoki: archived"):
            raise GitFailed(f"a ref of {run_id} was moved meanwhile", transient=True)
        self._mode.delete_refs(deletions)
        return sorted(current.keys() - {move.ref for move in deletions})

    def _is_deletable(self, name: str, commit: str, run_branch: str) -> bool:
        if not name.startswith(f"{OWN_BRANCHES}/"):
            return True
        if self._refs.checkouts_of(name):
            return False
        return name != run_branch or self._is_merged(commit)

    def _is_merged(self, commit: str) -> bool:
        names = self._refs.refs_containing(commit, *USER_REF_PREFIXES)
        return any(not name.startswith(f"{OWN_BRANCHES}/") for name in names)

    @translates_os_errors
    def forget_missing_worktrees(self, run_id: str) -> None:
        """Remove git's records of worktrees of this run whose folders are gone."""
        for name in (name for name in self._worktrees.list_ids() if name.startswith(f"{run_id}-")):
            worktree = self._worktrees.find(name)
            if worktree.admin and not worktree.path.exists():
                self._worktrees.remove(worktree.task_id)


def _belongs_to(ref: Ref, run_id: str) -> bool:
    """The run's own ref, or one of its tasks': `<run>`, `<run>-<n>`, `<run>-<n>/…`."""
    prefix = next(each for each in RUN_REF_PREFIXES if ref.name.startswith(f"{each}/"))
    name = ref.name.removeprefix(f"{prefix}/")
    return name == run_id or name.startswith(f"{run_id}-")
