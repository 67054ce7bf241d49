"""Finds the files of a tree by the words that commands, scripts and tests use for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import cached_property
from posixpath import dirname, join, normpath

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model.check_definition import TreeView

MATCHES_MAX = 2_000
_WILD = lazy_compile(r"[*?\[]")
# `$HERE/x.sh`, `${DIR}/x.sh`, `$(dirname "$0")/x.sh`: a folder that only the shell knows.
_VARIABLE = lazy_compile(r"^(?:\$\{[^}]{1,200}\}|\$\([^)]{1,200}\)|\$\w{1,80}|`[^`]{1,200}`|~)/")


class FileIndex:
    """A tree view with an index by folder."""

    def __init__(self, tree: TreeView) -> None:
        self.paths, self.read = tree.paths, tree.read
        self._blob_ids = tree.blob_ids
        self._globs: dict[str, list[str]] = {}

    @cached_property
    def _folders(self) -> dict[str, list[str]]:
        """Every folder with all paths below it."""
        folders: dict[str, list[str]] = defaultdict(list)
        for path in self.paths:
            above = dirname(path)
            while above:
                folders[above].append(path)
                above = dirname(above)
            folders[""].append(path)
        return {folder: sorted(paths) for folder, paths in folders.items()}

    def find_unique(self, word: str) -> str:
        """The only file of this name, in any folder; empty when there is none or more than one."""
        matches = self.find_named(word.rsplit("/", 1)[-1])
        return matches[0] if len(matches) == 1 else ""

    def find_named(self, name: str) -> list[str]:
        """All files of this name, in any folder."""
        return self._by_name.get(name, [])

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        paths_by_name: dict[str, list[str]] = defaultdict(list)
        for path in self.paths:
            paths_by_name[path.rsplit("/", 1)[-1]].append(path)
        return paths_by_name

    def text(self, path: str) -> str:
        return (self.read(path) if path in self.paths else None) or ""

    def is_link(self, path: str) -> bool:
        """Is it a symbolic link or a submodule, so that it may stand for a folder?"""
        return self._blob_ids.get(path, "").startswith(("120000", "160000"))

    def is_folder(self, path: str) -> bool:
        return path in self._folders

    def files_below(self, folder: str) -> list[str]:
        return self._folders.get(folder, [])[:MATCHES_MAX]

    def files_in(self, folder: str) -> list[str]:
        """The files directly in a folder."""
        return [path for path in self._folders.get(folder, []) if dirname(path) == folder]

    def find_folder(self, word: str, places: Iterable[str]) -> str | None:
        for place in places:
            at = resolve_path(word, place)
            if at is not None and (at in self._folders or at == ""):
                return at
        return None

    def find(self, word: str, places: Iterable[str]) -> list[str]:
        """The tracked files that a word refers to, relative to these folders; with globs."""
        for one in _path_candidates(word):
            wild = _WILD.search(one) is not None
            for place in places:
                at = resolve_path(one, place)
                if at and at in self.paths:
                    return [at]
                if at and wild and (matches := self._matching(at)):
                    return matches
        return []

    def find_plain(self, word: str, places: Iterable[str]) -> str:
        """The tracked file of that name, without globs and variables; empty when there is none."""
        ways = (resolve_path(word, place) for place in places)
        return next((at for at in ways if at and at in self.paths), "")

    def _matching(self, glob: str) -> list[str]:
        if glob not in self._globs:
            self._globs[glob] = list(self._matched(glob))
        return self._globs[glob]

    def _matched(self, glob: str) -> Iterator[str]:
        parts = glob.split("/")
        fixed = "/".join(part for part in parts[: _wild_at(parts)])
        for path in self.files_below(fixed):
            names = path.split("/")
            deep = "**" in parts
            same = len(names) == len(parts) and all(map(fnmatchcase, names, parts))
            if same or (deep and fnmatchcase(path, glob.replace("**/", "*"))):
                yield path


def _wild_at(parts: list[str]) -> int:
    return next(at for at, part in enumerate(parts) if _WILD.search(part))


def _path_candidates(word: str) -> Iterator[str]:
    """A word may contain a path after an option's `=` or a variable, or before a test's name."""
    bare = word.strip("\"'")
    if bare.startswith("-") and "=" in bare:
        bare = bare.partition("=")[2].strip("\"'")
    yield bare.partition("::")[0]
    without = bare
    while (cut := _VARIABLE.sub("", without)) != without:
        without = cut
        yield without


def resolve_path(word: str, place: str) -> str | None:
    """A word as a path of the repository; None when it leads out of it."""
    if not word or word.startswith(("/", "-", "~")) or "$" in word or len(word) > 400:
        return None
    at = normpath(join(place, word))
    return None if at.startswith("..") else "" if at == "." else at
