"""The refs of a run that leaves: bundled, proven from the bundle alone, and only then deleted.

A bundle holds what the run added to its base, so it needs the base to be read.  A ref of ours
keeps the base for as long as the repository stands.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from yaoki.adapters.git.command import Git, explain_failure, git_environment, run_git
from yaoki.adapters.git.refs import (
    CANDIDATES,
    GROUP_BASES,
    OWN_BRANCHES,
    RECORDED_HEADS,
    SAVED_WORK,
    SNAPSHOTS,
    Ref,
    RefMove,
    Refs,
    ref_component,
    run_branch_ref,
)
from yaoki.adapters.workspace.os_errors import translates_os_errors
from yaoki.adapters.workspace.remote.mode import LocalOnly, SharedRemote
from yaoki.adapters.workspace.worktrees.allocation import Worktrees
from yaoki.errors import GitFailed

OURS = (OWN_BRANCHES, RECORDED_HEADS, GROUP_BASES, SAVED_WORK, CANDIDATES, SNAPSHOTS)
# What people look at: a run branch that one of these holds is merged.
THEIRS = ("refs/heads", "refs/remotes", "refs/tags")
ARCHIVED = "refs/yaoki/archived"


class RunRefArchive:
    """Bundles and deletes the refs of one run; everything may be repeated after a kill."""

    def __init__(
        self, common_dir: Path, root: Path, sharing: LocalOnly | SharedRemote | None = None
    ) -> None:
        self._git = Git(common_dir)
        self._sharing = sharing or LocalOnly(self._git)
        self._refs = Refs(self._git)
        self._worktrees = Worktrees(self._git, root)

    def list_refs(self, run_id: str) -> dict[str, str]:
        """Every ref that belongs to the run, with its commit; other machines' work as well."""
        self._sharing.fetch_run(run_id)
        return {ref.name: ref.commit for ref in self._refs.list_refs(*OURS) if _of(ref, run_id)}

    @translates_os_errors
    def write_bundle(self, run_id: str, base: str, refs: Mapping[str, str], file: Path) -> bool:
        """Write what these refs hold beyond the base; false when that is nothing."""
        base = self._keep_base(run_id, base)
        if not self._beyond(list(refs.values()), base):
            return False
        asked = "".join(f"{line}\n" for line in (*refs, f"^{base}" if base else "") if line)
        self._git.run("bundle", "create", "-q", str(file), "--stdin", stdin=asked.encode())
        return True

    def _keep_base(self, run_id: str, base: str) -> str:
        """Empty when the base is gone: then the bundle holds the whole past as well."""
        ref = f"{ARCHIVED}/{ref_component(run_id)}"
        kept, found = self._refs.read_commits(ref, base)
        if kept is None and found is not None:
            self._refs.move_or_fail(
                RefMove(ref, found.sha), why="yaoki: keep the base of an archive"
            )
        known = kept or found
        return known.sha if known else ""

    def _beyond(self, commits: Sequence[str], base: str) -> bool:
        asked = "".join(f"{line}\n" for line in (*commits, f"^{base}" if base else "") if line)
        return bool(self._git.run("rev-list", "-n1", "--stdin", stdin=asked.encode()).out.strip())

    @translates_os_errors
    def verify_bundle(self, run_id: str, refs: Mapping[str, str], file: Path | None) -> None:
        """Read the bundle back, every object of it: each ref is in it, or held by the base."""
        held = self._read_back(file) if file else {}
        rest = [commit for name, commit in refs.items() if held.get(name) != commit]
        base = self._refs.read_commits(f"{ARCHIVED}/{ref_component(run_id)}")[0]
        if rest and self._beyond(rest, base.sha if base else ""):
            raise GitFailed(f"the bundle of {run_id} does not hold all of its refs")

    def _read_back(self, file: Path) -> dict[str, str]:
        """By git itself, into a folder that is thrown away; the repository only lends its past."""
        common = self._git.common_dir
        with tempfile.TemporaryDirectory(dir=file.parent) as place:
            aside = {
                "GIT_DIR": str(common),
                "GIT_OBJECT_DIRECTORY": place,
                "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(common / "objects"),
            }
            args = ("bundle", "unbundle", str(file))
            done = run_git(args, cwd=common, env={**git_environment(), **aside})
        if done.code != 0:
            raise explain_failure(args, done)
        lines = (line.split(" ", 1) for line in done.out.decode().splitlines())
        return {name: commit for commit, name in lines}

    @translates_os_errors
    def delete_refs(self, run_id: str, refs: Mapping[str, str]) -> list[str]:
        """Delete what a proven bundle holds; returns the refs that stay.

        The run branch stays unless a branch or tag of the user's holds it; any branch stays that
        is checked out, or that was moved since.
        """
        now = self.list_refs(run_id)
        gone = [
            RefMove(name, "", commit)
            for name, commit in now.items()
            if refs.get(name) == commit and self._may_go(name, commit, run_branch_ref(run_id))
        ]
        if gone and not self._refs.move(*gone, why="yaoki: archived"):
            raise GitFailed(f"a ref of {run_id} was moved meanwhile", transient=True)
        self._sharing.delete_refs(gone)
        return sorted(now.keys() - {move.ref for move in gone})

    def _may_go(self, name: str, commit: str, branch: str) -> bool:
        if not name.startswith(f"{OWN_BRANCHES}/"):
            return True
        if self._refs.checkouts_of(name):
            return False
        return name != branch or self._merged(commit)

    def _merged(self, commit: str) -> bool:
        holding = self._refs.refs_containing(commit, *THEIRS)
        return any(not name.startswith(f"{OWN_BRANCHES}/") for name in holding)

    @translates_os_errors
    def forget_missing_worktrees(self, run_id: str) -> None:
        """git's notes about worktrees of this run whose folders are gone."""
        for name in (name for name in self._worktrees.list_ids() if name.startswith(f"{run_id}-")):
            found = self._worktrees.find(name)
            if found.admin and not found.path.exists():
                self._worktrees.remove(found.task_id)


def _of(ref: Ref, run_id: str) -> bool:
    """The run's own, or one of its tasks': `<run>`, `<run>-<n>`, `<run>-<n>/…`."""
    prefix = next(each for each in OURS if ref.name.startswith(f"{each}/"))
    name = ref.name.removeprefix(f"{prefix}/")
    return name == run_id or name.startswith(f"{run_id}-")
