"""Output of set-up that was made from the sources of the repository, such as a build or a copy.

Such output is stale as soon as a commit changes a source: a check that uses it would prove nothing
of that commit.  What package managers download does not depend on the sources.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Collection, Iterator
from filecmp import cmp
from pathlib import Path, PurePosixPath

from yaoki.adapters.workspace.proof_rooms.package_origin import (
    DIRECT_URL,
    DIRECT_URL_BYTES_MAX,
    Origin,
    PackageOrigins,
)
from yaoki.adapters.workspace.proof_rooms.room import CACHES as HOME_CACHES
from yaoki.adapters.workspace.worktrees.generated_folders import (
    CACHES,
    DEPENDENCIES,
    METADATA,
    is_source,
)
from yaoki.core.lazy_dataclass import dataclass, field

# Hidden folders and files of package managers; any other hidden folder may be a build.
HIDDEN = frozenset(
    {
        *(name for name in HOME_CACHES if name.startswith(".") and "/" not in name),
        *(".venv", ".tox", ".nox", ".eggs", ".direnv", ".devenv", ".devbox", ".pixi", ".mamba"),
        *(".pnpm", ".uv", ".uv-cache", ".pip-cache", ".poetry", ".virtualenvs", ".terraform"),
        *(".cache", ".hypothesis", ".nyc_output", ".husky", ".git"),
        *(".pnp.cjs", ".pnp.js", ".pnp.loader.mjs"),
    }
)
# Set-up may copy sources into it, and many tools download into it.
VENDORED = "vendor"
ARCHIVES = (
    *(".zip", ".pyz", ".tar", ".tar.gz", ".tar.xz", ".tar.bz2", ".tgz", ".whl", ".jar", ".war"),
    *(".egg", ".gem", ".nupkg", ".phar"),
)
# A tool builds the files in these folders from sources, whatever their names end with.
BUILDS = frozenset({"build", "dist", "out", "target"})
# Environments of Python are known by the file `pyvenv.cfg`, or by `conda-meta`: anything may be
# built into a folder of that name.
ENVIRONMENTS = frozenset({".venv", "venv", "env"})
COMMENTS = ("#", "//", "/*", "*", "--", "<!--")
# Below this size, files of different packages with the same name are often equal.
ALIKE_BYTES_MIN = 64
COMPILED = frozenset(
    {
        *(".so", ".pyd", ".dylib", ".dll", ".o", ".a", ".class", ".wasm", ".node", ".exe"),
        ".pyc",
    }
)


@dataclass(slots=True)
class BuiltOutput:
    """Looks for it among the files that set-up left in the checkout `top`.

    `tracked`: the files of the commit; `inputs`: those whose change runs set-up again anyway;
    `has_all_inputs`: the plan lists what set-up reads, so only a copy of another file counts, and
    in a package only if its package manager took it from this machine; `only_installs`: nothing
    but package managers ran, so their records of releases are believed.
    """

    top: Path
    tracked: Collection[str]
    inputs: Collection[str]
    has_all_inputs: bool
    only_installs: bool
    _by_size: dict[int, list[str]] = field(default_factory=dict)
    _packages: frozenset[str] = frozenset()
    _origins: PackageOrigins = field(init=False)

    def find_among(self, output: Collection[str]) -> str:
        """The file that set-up built, in words after "set-up output contains"; empty if none."""
        files = [path for path in output if not CACHES.intersection(path.split("/"))]
        self._packages = frozenset(_package_folders(files))
        self._origins = PackageOrigins(self.top, self.tracked, files)
        for path in self.tracked:
            if path not in self.inputs and (size := _size(self.top / path)):
                self._by_size.setdefault(size, []).append(path)
        return next(filter(None, map(self._describe, files)), "")

    def _describe(self, path: str) -> str:
        *folders, name = path.split("/")
        if any(folder.endswith(METADATA) for folder in folders):
            is_copy = name == DIRECT_URL and self._names_this_project(path)
            return f"an installed copy of this project: {path}" if is_copy else ""
        if self._is_in_package(folders) or name in HIDDEN:
            is_seen = is_source(name) and self._goes_stale_in_package(path, folders)
            return self._describe_copy(path, self._copied(path)) if is_seen else ""
        if copied := self._copied(path):
            return self._describe_copy(path, copied)
        is_made = bool(BUILDS.intersection(folders)) and _size(self.top / path) > 0
        is_built = not self.has_all_inputs and (is_made or _is_code(self.top / path))
        return f"a build: {path}" if is_built else ""

    @staticmethod
    def _describe_copy(path: str, copied: list[str]) -> str:
        name = path.rpartition("/")[2]
        named = (one for one in copied if PurePosixPath(one).name == name)
        return f"a copy of {next(named, copied[0])}: {path}"

    def _goes_stale_in_package(self, path: str, folders: list[str]) -> bool:
        is_vendored = VENDORED in folders
        if not self._is_copy_in_package(path, is_vendored):
            return False
        if is_vendored:
            return True
        origin = self._origins.find(path)
        is_release = origin is Origin.RELEASED and self.only_installs
        return origin is Origin.LOCAL or not (is_release or self.has_all_inputs)

    def _is_in_package(self, folders: list[str]) -> bool:
        managed = (DEPENDENCIES | HIDDEN) - ENVIRONMENTS
        if managed.intersection(folders):
            return True
        return any("/".join(folders[:n]) in self._packages for n in range(1, len(folders) + 1))

    def _is_copy_in_package(self, path: str, is_vendored: bool) -> bool:
        """Packages have short files that are alike; what is vendored may be a few lines."""
        is_long, same = _size(self.top / path) >= ALIKE_BYTES_MIN, self._copied(path)
        name = PurePosixPath(path).name
        has_name = any(PurePosixPath(one).name == name for one in same)
        if not is_vendored:
            return is_long and has_name
        return (has_name or (is_long and bool(same))) and _has_statement(self.top / path)

    def _copied(self, path: str) -> list[str]:
        """The tracked files with the same content."""
        size, file = _size(self.top / path), self.top / path
        alike = self._by_size.get(size, ()) if size else ()
        return [one for one in alike if cmp(file, self.top / one, shallow=False)]

    def _names_this_project(self, path: str) -> bool:
        """Did an installer of Python copy a folder of this checkout, other than by a link to it?"""
        file = self.top / path
        if self.has_all_inputs or not 0 < _size(file) <= DIRECT_URL_BYTES_MAX:
            return False
        try:
            document = json.loads(file.read_bytes())
        except ValueError:
            return True
        place = document.get("dir_info") if isinstance(document, dict) else None
        return isinstance(place, dict) and place.get("editable") is not True


def _package_folders(files: Collection[str]) -> Iterator[str]:
    """Folders that package managers of Python fill, whatever their names are."""
    for path in files:
        folder, _, name = path.rpartition("/")
        outer, _, last = folder.rpartition("/")
        if name == "pyvenv.cfg" and folder:
            yield folder
        elif (last == "conda-meta" and outer) or (last.endswith(".dist-info") and outer):
            yield outer


def _is_code(file: Path) -> bool:
    is_archive = file.name.lower().endswith(ARCHIVES)
    if is_archive or is_source(file.name) or file.suffix in COMPILED:
        return _size(file) > 0
    return _size(file) > 0 and bool(file.stat().st_mode & 0o111)


def _has_statement(file: Path) -> bool:
    """More than blank lines and comments."""
    lines = (line.strip() for line in file.read_text("utf-8", "replace").splitlines())
    return any(line and not line.startswith(COMMENTS) for line in lines)


def _size(file: Path) -> int:
    """The size of a plain file; 0 for anything else, such as a link to a source."""
    try:
        facts = os.lstat(file)
    except OSError:
        return 0
    return facts.st_size if stat.S_ISREG(facts.st_mode) else 0
