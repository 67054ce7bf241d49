"""The parts of the user's repository that a room gets: objects, refs, and a few settings."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path

from yaoki.adapters.git.command import Git
from yaoki.adapters.git.repository import GitRepository
from yaoki.adapters.git.submodules import find_repository
from yaoki.adapters.git.tree_paths import TreePaths
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile

# Settings that a clone needs to read its content or to reach its submodules.
SETTINGS = r"^(filter|lfs|remote|user)\."
# Filters of a submodule are not used: nobody watches its settings while agents work.
SUBMODULE_SETTINGS = r"^(remote|user)\."
# Refs of runs are left out: a check must not be able to tell that it runs under yaoki.
OWN_REFS = ("refs/yaoki/", "refs/heads/yaoki/")
SHA256_LENGTH = 64
_PLAIN_KEY = lazy_compile(r"([A-Za-z0-9-]+)(?:\.(.+))?\.([A-Za-z0-9-]+)", re.DOTALL)


@dataclass(frozen=True)
class RoomSource:
    """Reads the repository, once per process where that is enough."""

    git: Git
    repository: GitRepository
    settings: str = SETTINGS

    @property
    def name(self) -> str:
        """The name of the user's folder: some tests depend on it."""
        return self.repository.top.name or "repository"

    @cached_property
    def listings(self) -> TreePaths:
        return TreePaths(self.git)

    @property
    def objects(self) -> Path:
        return self.repository.common_dir / "objects"

    def submodule(self, name: str, files: Path) -> RoomSource | None:
        """The source of a submodule; None if the user's checkout does not have it."""
        folders = (self.repository.git_dir, self.repository.common_dir)
        folder = find_repository(folders, name)
        if folder is None:
            return None
        return RoomSource(Git(folder), GitRepository(files, folder, folder), SUBMODULE_SETTINGS)

    def has_commit(self, commit: str) -> bool:
        return self.git.run("cat-file", "-e", f"{commit}^{{commit}}", ok=(0, 1, 128)).code == 0

    def shallow(self) -> bytes:
        file = self.repository.common_dir / "shallow"
        return file.read_bytes() if file.is_file() else b""

    @cached_property
    def packed_refs(self) -> bytes:
        """Branches and tags as one file, for checks that derive a version from git.

        Read once per process: a branch that moves meanwhile does not concern the commit.
        """
        form = "%(objectname) %(refname)"
        rows = self.git.run("for-each-ref", f"--format={form}").out.splitlines(keepends=True)
        own = tuple(name.encode() for name in OWN_REFS)
        shown = (row for row in rows if not row.partition(b" ")[2].startswith(own))
        return b"# pack-refs with: sorted\n" + b"".join(shown)

    def config(self, commit: str) -> str:
        """The config of a repository that checks files out exactly as the commit has them."""
        sha256 = len(commit) == SHA256_LENGTH
        lines = [
            "[core]",
            f"\trepositoryformatversion = {int(sha256)}",
            *("\tbare = false", "\tfilemode = true", "\tautocrlf = false", "\tsymlinks = true"),
        ]
        if sha256:
            lines += ["[extensions]", "\tobjectformat = sha256"]
        lines += ["[lfs]", f"\tstorage = {_quote(str(self.repository.common_dir / 'lfs'))}"]
        return "\n".join((*lines, *self._user_settings, ""))

    @cached_property
    def _user_settings(self) -> tuple[str, ...]:
        args = ("config", "--local", "-z", "--get-regexp", self.settings)
        out = self.git.run(*args, ok=(0, 1)).out.decode("utf-8", "surrogateescape")
        pairs = (entry.partition("\n") for entry in out.split("\0") if entry)
        return tuple(line for key, _, value in pairs for line in _section(key, value))


def _section(key: str, value: str) -> list[str]:
    match = _PLAIN_KEY.fullmatch(key)
    if match is None:
        return []
    section, sub, name = match.groups()
    head = f"[{section} {_quote(sub)}]" if sub else f"[{section}]"
    return [head, f"\t{name} = {_quote(value)}"]


def _quote(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
