"""The user's checkout, only read: its files, its HEAD, and what differs from the last commit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from yaoki.adapters.git.command import (
    Git,
    GitLocation,
    explain_failure,
    git_environment,
    run_git,
)
from yaoki.adapters.git.repository import GitRepository
from yaoki.core.lazy_dataclass import dataclass

DIFF_BYTES_MAX = 200_000
# The number of fields before the path in each kind of line of `git status --porcelain=v2`.
FIELDS: Mapping[str, int] = {"1": 8, "2": 9, "u": 10, "?": 1}


def list_checkout_files(repository: GitRepository) -> list[str]:
    """The files that git tracks or would not ignore."""
    at = GitLocation(repository.git_dir, repository.top)
    args = ("ls-files", "-c", "-o", "--exclude-standard", "-z")
    return Git(repository.common_dir).read_names(*args, at=at)


def list_ignored_files(repository: GitRepository, globs: Sequence[str]) -> list[str]:
    """The files that git ignores and that one of the globs matches; `**/` is any folder."""
    at = GitLocation(repository.git_dir, repository.top)
    args = ("ls-files", "-o", "-i", "--exclude-standard", "-z", "--")
    specs = (f":(top,glob){glob}" for glob in globs)
    return Git(repository.common_dir).read_names(*args, *specs, at=at)


def read_head(repository: GitRepository) -> str:
    """The commit that is checked out."""
    at = GitLocation(repository.git_dir)
    return Git(repository.common_dir).read_text("rev-parse", "--verify", "HEAD^{commit}", at=at)


def list_uncommitted_files(repository: GitRepository) -> list[str]:
    """Staged, changed, deleted and untracked files."""
    git, at = Git(repository.common_dir), GitLocation(repository.git_dir, repository.top)
    staged = git.read_names("diff-index", "--cached", "--name-only", "-z", "HEAD", "--", at=at)
    others = git.read_names("ls-files", "-m", "-d", "-o", "--exclude-standard", "-z", at=at)
    return list(dict.fromkeys((*staged, *others)))


def list_untracked_files(repository: GitRepository) -> frozenset[str]:
    """Files that git neither tracks nor ignores."""
    git, at = Git(repository.common_dir), GitLocation(repository.git_dir, repository.top)
    return frozenset(git.read_names("ls-files", "-o", "--exclude-standard", "-z", at=at))


def list_untracked_folders(repository: GitRepository) -> tuple[str, ...]:
    """Folders without a tracked file, each with a slash at its end."""
    git, at = Git(repository.common_dir), GitLocation(repository.git_dir, repository.top)
    args = ("ls-files", "-o", "--exclude-standard", "--directory", "-z")
    return tuple(name for name in git.read_names(*args, at=at) if name.endswith("/"))


def is_tracked(file: Path) -> bool:
    """True when git tracks the file, and when git's answer is not understood."""
    if not file.exists():
        return False
    args = ["--literal-pathspecs", "ls-files", "--error-unmatch", "--", file.name]
    result = run_git(args, cwd=file.parent, env=git_environment())
    error = result.err.decode("utf-8", "replace")
    return not ("did not match any file" in error or "not a git repository" in error)


@dataclass(frozen=True, slots=True)
class WorkingTree:
    """`changed_files` differ from `head`; `stamps` are size and time of the tracked ones.

    Untracked files have no stamp: checks leave reports and caches behind.
    """

    top: Path
    head: str
    pushed: bool
    changed_files: tuple[str, ...]
    stamps: Mapping[str, tuple[int, int]]

    def diff(self) -> str:
        args = ["diff", "--no-ext-diff", "--no-textconv", "HEAD"]
        result = run_git(args, cwd=self.top, env=git_environment())
        return result.out[:DIFF_BYTES_MAX].decode("utf-8", "replace")


def read_working_tree(repository: GitRepository) -> WorkingTree:
    """Read the status; git takes no lock for this and writes nothing, not even its index."""
    args = ["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal"]
    result = run_git(args, cwd=repository.top, env=git_environment())
    if result.code != 0:
        raise explain_failure(args, result)
    lines = result.out.decode("utf-8", "surrogateescape").split("\0")
    headers = dict(line[2:].partition(" ")[::2] for line in lines if line.startswith("# "))
    paths = dict(_parse_paths(lines))
    stamps = {path: _stamp(repository.top / path) for path, kind in paths.items() if kind != "?"}
    pushed = headers.get("branch.ab", "").startswith("+0 ")
    return WorkingTree(repository.top, headers.get("branch.oid", ""), pushed, tuple(paths), stamps)


def _parse_paths(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Each path with the kind of its line."""
    remaining = iter(lines)
    for line in remaining:
        kind, _, rest = line.partition(" ")
        if kind in FIELDS:
            yield rest.split(" ", FIELDS[kind] - 1)[-1], kind
        if kind == "2":
            next(remaining, None)  # the old path of a rename


def _stamp(path: Path) -> tuple[int, int]:
    try:
        facts = path.lstat()
    except OSError:
        return (-1, -1)
    return (facts.st_size, facts.st_mtime_ns)
