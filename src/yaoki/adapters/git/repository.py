"""Opens the user's repository, refusing those that yaoki cannot work on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from yaoki.adapters.git.command import Git, GitLocation, explain_failure, git_environment, run_git
from yaoki.core.lazy_dataclass import dataclass
from yaoki.errors import GitMissing, RepositoryUnusable

GIT_VERSION_MIN = (2, 38)


@dataclass(frozen=True, slots=True)
class GitRepository:
    """The user's checkout, its git folder, and the git folder that all worktrees share."""

    top: Path
    common_dir: Path
    git_dir: Path


def open_repository(path: Path, environ: Mapping[str, str] | None = None) -> GitRepository:
    """The repository around `path`; refused with a reason when yaoki cannot use it."""
    env = git_environment(environ)
    if not path.is_dir():
        import shlex

        hint = f"cd into a repository, use --repo, or make one: git init {shlex.quote(str(path))}"
        raise RepositoryUnusable(f"there is no folder {path}", hint=hint)
    repository, has_head = _discover(path, env)
    if not has_head and not _has_refs(path, env):
        raise RepositoryUnusable(
            f"{repository.top} has no commits",
            hint='git commit --allow-empty -m "Begin", then try again',
        )
    return repository


def _has_refs(path: Path, env: Mapping[str, str]) -> bool:
    """Is there any ref?  Commands that read all worktrees are avoided: git fails on one that is
    just being added.
    """
    args = ["for-each-ref", "--count=1", "--format=%(objectname)"]
    result = run_git(args, cwd=path, env=env)
    if result.code != 0:
        raise explain_failure(args, result)
    return bool(result.out.strip())


def read_git_version(folder: Path, environ: Mapping[str, str] | None = None) -> str:
    """The output of `git version`."""
    result = run_git(["version"], cwd=folder, env=git_environment(environ))
    return result.out.decode("ascii", "replace")


def check_version(version: str) -> None:
    """Refuse a git that cannot merge without a checkout."""
    match = re.search(r"(\d+)\.(\d+)", version)
    if not match or (int(match[1]), int(match[2])) < GIT_VERSION_MIN:
        raise GitMissing(
            f"git 2.38 or newer is needed; this is {version.strip() or 'something else'}",
            hint="install a newer git",
        )


def _discover(path: Path, env: Mapping[str, str]) -> tuple[GitRepository, bool]:
    """The repository, and whether its HEAD is a commit: one process answers both."""
    names = ["--show-toplevel", "--git-common-dir", "--absolute-git-dir"]
    args = ["rev-parse", "--path-format=absolute", *names, "HEAD^{commit}"]
    result = run_git(args, cwd=path, env=env)
    error = result.err.decode("utf-8", "replace")
    lines = result.out.decode("utf-8", "surrogateescape").splitlines()
    if "not a git repository" in error:
        raise RepositoryUnusable(
            f"{path} is not in a git repository", hint="git init, or name a repository: --repo DIR"
        )
    if "cannot use bare repository" in error or "must be run in a work tree" in error:
        raise _no_working_files(path)
    if "dubious ownership" in error:
        import shlex

        hint = f"git config --global --add safe.directory {shlex.quote(str(path))}"
        raise RepositoryUnusable(f"git does not trust the owner of {path}", hint=hint)
    if len(lines) < len(names):
        # An old git does not know the options.
        check_version(read_git_version(path, env))
        raise explain_failure(args, result)
    top, common, own = lines[: len(names)]
    return GitRepository(Path(top), Path(common).resolve(), Path(own)), result.code == 0


def _no_working_files(path: Path) -> RepositoryUnusable:
    """A bare repository; inside of other working files its settings are not trusted either."""
    import shlex

    clone = f"git clone {shlex.quote(str(path))} {shlex.quote(f'{path}.clone')}"
    hint = f"cd {shlex.quote(str(path.parent))} if the checkout is there; or clone it: {clone}"
    return RepositoryUnusable(f"{path} is a git folder without working files", hint=hint)


def resolve_base(repository: GitRepository, name: str) -> tuple[str, str]:
    """The branch a run starts from and its commit; an empty name means the current branch.

    The branch is empty for a commit without one: a detached HEAD, as in the checkouts of build
    servers, or a commit that is named itself.
    """
    git = Git(repository.common_dir)
    branch = name.removeprefix("refs/heads/")
    if branch in ("", "HEAD"):
        branch = _current_branch(git, repository)
    if branch:
        result = git.run("show-ref", "--verify", "--hash", f"refs/heads/{branch}", ok=(0, 1, 128))
        if result.code == 0:
            return branch, result.out.decode("ascii").strip()
    at = GitLocation(repository.git_dir)
    words = ("rev-parse", "--verify", "-q", "--end-of-options", f"{branch or 'HEAD'}^{{commit}}")
    found = git.run(*words, at=at, ok=(0, 1, 128))
    if found.code != 0:
        raise RepositoryUnusable(
            f"there is no branch or commit {branch!r}", hint="git branch --list"
        )
    return "", found.out.decode("ascii").strip()


def _current_branch(git: Git, repository: GitRepository) -> str:
    """The branch of the checkout; empty if its HEAD is detached."""
    at = GitLocation(repository.git_dir)
    result = git.run("symbolic-ref", "-q", "--short", "HEAD", at=at, ok=(0, 1))
    return result.out.decode("utf-8").strip() if result.code == 0 else ""
