"""The settings of pytest, wherever a project has them: moved to another file, they are the same.

pytest reads the first file of a folder that has a section for it.  A change is judged by the
settings that are read before and after it.  Paths in them follow a folder that the change moves.
"""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from posixpath import basename, dirname
from typing import Any

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model.change import Change
from yaoki.formats.quality.definition.file_index import FileIndex, resolve_path
from yaoki.formats.quality.definition.python_modules import find_module, read_module_file
from yaoki.formats.quality.definition.settings import skips_tests
from yaoki.formats.quality.strictness import is_weaker
from yaoki.formats.quality.suites import is_collected_path

# In the order in which pytest looks for them, each with the section that it reads.
_SECTIONS = {
    "pytest.toml": "pytest",
    ".pytest.toml": "pytest",
    "pytest.ini": "pytest",
    ".pytest.ini": "pytest",
    "pyproject.toml": "pytest",
    "tox.ini": "pytest",
    "setup.cfg": "tool:pytest",
}
SECTIONS = frozenset(_SECTIONS.values())
_WORDS = frozenset(
    {"testpaths", "pythonpath", "norecursedirs", "python_files", "python_classes"}
    | {"python_functions", "usefixtures", "required_plugins"}
)
Options = Mapping[str, Any]


def find_equal_settings(
    changes: Iterable[Change], base: FileIndex, candidate: FileIndex
) -> frozenset[str]:
    """The changed files whose section for pytest makes no test check less."""
    paths = {one.path for one in changes if basename(one.path) in _SECTIONS}
    folders = {dirname(path) for path in paths}
    free = {folder for folder in folders if _Folder(folder, base, candidate).is_as_strict()}
    return frozenset(path for path in paths if dirname(path) in free)


@dataclass(frozen=True, slots=True)
class _Folder:
    path: str
    base: FileIndex
    candidate: FileIndex

    def is_as_strict(self) -> bool:
        old, new = _read_first(self.path, self.base), _read_first(self.path, self.candidate)
        if old is None or new is None:
            return False
        before = {**old, "testpaths": self._follow_tests(old, new)} if "testpaths" in old else old
        return (
            not is_weaker(_without_search_path(before), _without_search_path(new), "")
            and not self._skips_tests(before, new)
            and self._finds_same_modules(old, new)
        )

    def _skips_tests(self, before: Options, new: Options) -> bool:
        """Do other `testpaths` skip tests that the change leaves where they are?"""
        paths = _words(new.get("testpaths"))
        left = [path for path in self.base.paths if path in self.candidate.paths]
        is_other = bool(paths) and paths != _words(before.get("testpaths"))
        return is_other and skips_tests(self.path, paths, left)

    # -------------------------------------------------------------- paths

    def _follow_tests(self, old: Options, new: Options) -> list[str]:
        """The `testpaths` as they are after a move: `tests` for `test`."""
        before, now = _words(old.get("testpaths")), _words(new.get("testpaths"))
        gained, lost = _other(now, before), _other(before, now)
        to = {one: next((g for g in gained if self._tests_moved(one, g)), one) for one in lost}
        return [to.get(one, one) for one in before]

    def _finds_same_modules(self, old: Options, new: Options) -> bool:
        """Has every new folder of the search path only modules that were in another of them?"""
        before, now = _words(old.get("pythonpath")), _words(new.get("pythonpath"))
        gained, lost = _other(now, before), _other(before, now)
        if not before or _other(before, lost) != _other(now, gained):
            return not before
        return all(any(self._modules_moved(one, to) for one in before) for to in gained) and all(
            any(self._modules_moved(one, to) for to in gained) for one in lost
        )

    def _tests_moved(self, old: str, new: str) -> bool:
        source, target = (resolve_path(one, self.path) for one in (old, new))
        if not source or not target:
            return False
        files = self.base.files_below(source)
        tests = [path for path in files if is_collected_path(path)] or files
        gone = not any(path in self.candidate.paths for path in files)
        return (
            gone
            and bool(tests)
            and all(f"{target}{path[len(source) :]}" in self.candidate.paths for path in tests)
        )

    def _modules_moved(self, old: str, new: str) -> bool:
        """Were all modules of the new folder in the old one, and are there no more?"""
        source, target = (resolve_path(one, self.path) for one in (old, new))
        if source is None or target is None:
            return False
        names = set(_modules_in(target, self.candidate))
        stems = [f"{source}/{name}".lstrip("/") for name in names]
        return bool(names) and all(
            find_module(stem, self.base) is not None and find_module(stem, self.candidate) is None
            for stem in stems
        )


def _modules_in(folder: str, files: FileIndex) -> Iterator[str]:
    """The modules and packages directly in a folder."""
    start = f"{folder}/" if folder else ""
    for path in files.files_below(folder):
        head, mark, _ = path[len(start) :].partition("/")
        module = read_module_file(path, files)
        if module is not None and not head.startswith("__init__."):
            yield head if mark else module.name


# ------------------------------------------------------------------ sections


def _read_first(folder: str, files: FileIndex) -> Options | None:
    """The options of the file that pytest reads; None if no file has a section for it."""
    for name in _SECTIONS:
        path = f"{folder}/{name}".lstrip("/")
        if path in files.paths:
            options = _read(name, files.text(path))
            if options is not None:
                return {key: _normal(key, value) for key, value in options.items()}
    return None


def _read(name: str, text: str) -> Options | None:
    section = _SECTIONS[name]
    if not name.endswith(".toml"):
        found = _ini(text, section)
        return {} if found is None and name.endswith("pytest.ini") else found
    try:
        table: Any = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return None
    if name == "pyproject.toml":
        table = table.get("tool")
    found = table.get(section) if isinstance(table, dict) else None
    if isinstance(found, dict) and isinstance(found.get("ini_options"), dict):
        return dict(found["ini_options"])
    return found if isinstance(found, dict) else None


def _ini(text: str, section: str) -> Options | None:
    import configparser  # few changes have such a file

    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return None
    return dict(parser.items(section)) if parser.has_section(section) else None


def _normal(key: str, value: object) -> object:
    """One form for the values of both kinds of files."""
    if key == "addopts":
        return " ".join(_options(value))
    if key in _WORDS:
        return _words(value)
    lines = value if isinstance(value, list) else str(value).splitlines()
    text = "\n".join(line for line in (str(one).strip() for one in lines) if line)
    return text.lower() if text.lower() in ("true", "false") else text


def _options(value: object) -> Sequence[str]:
    if not isinstance(value, str):
        return _words(value)
    try:
        return [word for word in shlex.split(value, comments=False) if word]
    except ValueError:
        return value.split()


def _words(value: object) -> list[str]:
    words = value.split() if isinstance(value, str) else value
    return [str(one) for one in words] if isinstance(words, list) else []


def _other(words: Sequence[str], known: Sequence[str]) -> list[str]:
    return [one for one in words if one not in known]


def _without_search_path(options: Options) -> Options:
    return {key: value for key, value in options.items() if key != "pythonpath"}
