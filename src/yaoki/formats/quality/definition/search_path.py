"""Changes that let the tests import another copy of a module than before.

The program stays as it was, a copy of it is added, and `pythonpath`, a conftest file or a test
beside the copy puts the folder of the copy first.  What Python would find cannot be read from the
text for sure, so such a file is undecided: the check must also pass with the base's version of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from posixpath import basename, dirname

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model.change import Change
from yaoki.formats.quality.definition.file_index import FileIndex, resolve_path
from yaoki.formats.quality.definition.python_modules import SUFFIXES, find_module
from yaoki.formats.quality.definition.references import IMPORT
from yaoki.formats.quality.definition.settings import pytest_options
from yaoki.formats.quality.definition.tools import PYTEST_SETTINGS
from yaoki.formats.quality.suites import is_collected_path, is_test_path

TESTS_MAX = 500
_COMPILED = tuple(end for end in SUFFIXES if end != ".py")
_SEARCH_OPTIONS = ("pythonpath", "python_paths", "addopts", "testpaths", "rootdir")
_CHANGES_SEARCH = lazy_compile(
    r"\bsys\b[\s\S]{0,40}?\bpath|\bpath\.(?:insert|append|extend)\b|\bsyspath_prepend\b|\bPYTHONPATH\b"
    r"|\baddsitedir\b|\bsys\.modules\b|\bmodules\[|\bmeta_path\b|\bpath_hooks\b|\b__path__\b"
    r"|\bimportlib\b|\b__import__\b|\brunpy\b|\bexec\(|\beval\("
)
# Folders of sources inside of a project.
_SOURCE_FOLDERS = frozenset({"src", "lib", "python"})
# Names that tests have everywhere.
_TEST_NAMES = frozenset({"test", "tests", "spec", "conftest", "__init__", "__main__"})


@dataclass(frozen=True, slots=True)
class _Copy:
    """A changed file of the module `name`, which Python finds if it searches `folder`.

    `others`: the folders of the base that have such a module, too.
    """

    path: str
    name: str
    folder: str
    others: frozenset[str]


def find_redirecting_files(
    changes: Sequence[Change],
    base: FileIndex,
    candidate: FileIndex,
    searched: set[str],
    is_loaded: Callable[[str], bool],
) -> Iterator[str]:
    """`searched`: folders on the search path of the checks.  `is_loaded`: by the test runner."""
    turned = [one.path for one in changes if _changes_search_path(one, is_loaded)]
    found_first = {*searched, *_folders_of_new_tests(changes, candidate)}
    compiled = {path for path in candidate.paths - base.paths if path.endswith(_COMPILED)}
    found = _find_copies(changes, compiled, base)
    copies = [copy for copy in found if _may_shadow(copy, base, candidate)]
    found_first |= set(_folders_in_settings(base)) if copies else set()

    def is_found(copy: _Copy, roots: Iterable[str]) -> bool:
        return copy.folder in found_first or _is_usual(copy.folder, roots)

    # Tests are slow to read.
    if not turned:
        copies = [copy for copy in copies if is_found(copy, copy.others)]
    for test, imported in _imports_of_tests(base) if copies else ():
        for copy in copies:
            roots = _find_roots(copy, test, base) if copy.name in imported else set()
            if copy.folder in roots or not _is_left(copy.name, roots, candidate):
                continue
            acting = (*turned, copy.path) if is_found(copy, roots) else turned
            yield from (path for path in acting if _reaches(path, test, roots))


def _changes_search_path(change: Change, is_loaded: Callable[[str], bool]) -> bool:
    path, before, after = change.path, change.before or "", change.after or ""
    if change.before == change.after:
        return False
    if path.endswith(".py"):
        # Without `__init__.py` pytest searches the folder of a test, with it a folder above.
        if basename(path) == "__init__.py" and None in (change.before, change.after):
            return is_loaded(path)
        return is_loaded(path) and any(map(_CHANGES_SEARCH.search, (before, after)))
    old, new = (pytest_options(path, text) for text in (before, after))
    return basename(path) in PYTEST_SETTINGS and any(
        old.get(name) != new.get(name) for name in _SEARCH_OPTIONS
    )


def _folders_of_new_tests(changes: Iterable[Change], candidate: FileIndex) -> Iterator[str]:
    """pytest searches the folder of a test or conftest file first, unless it is a package."""
    for change in changes:
        own = is_collected_path(change.path) or basename(change.path) == "conftest.py"
        folder = dirname(change.path)
        is_package = f"{folder}/__init__.py" in candidate.paths
        if change.before is None and own and change.path.endswith(".py") and not is_package:
            yield folder


def _folders_in_settings(base: FileIndex) -> Iterator[str]:
    """The search path that the settings of the base declare."""
    for path in base.paths:
        if basename(path) in PYTEST_SETTINGS:
            value = pytest_options(path, base.text(path)).get("pythonpath") or ()
            for word in value.split() if isinstance(value, str) else map(str, value):
                folder = resolve_path(word, dirname(path))
                yield from () if folder is None else (folder,)


# ------------------------------------------------------------------ copies


def _find_copies(changes: Iterable[Change], compiled: set[str], base: FileIndex) -> Iterator[_Copy]:
    """Changed files of modules that the base has in another folder as well."""
    changed = {c.path for c in changes if c.after is not None and c.before != c.after}
    sources = {path for path in changed if path.endswith(".py")}
    places = {path: list(_places(path)) for path in sources | compiled}
    wanted = {name for found in places.values() for name, _ in found} - _TEST_NAMES
    folders: dict[str, set[str]] = defaultdict(set)
    for path in base.paths if wanted else ():
        for name, folder in _places(path) if path.endswith(".py") else ():
            if name in wanted:
                folders[name].add(folder)
    for path, found in sorted(places.items()):
        for name, folder in found:
            if others := folders[name] - {folder}:
                yield _Copy(path, name, folder, frozenset(others))


def _places(path: str) -> Iterator[tuple[str, str]]:
    """The modules and packages that a file belongs to, each with the folder that it is in."""
    parts = path.split("/")
    parts[-1] = parts[-1].partition(".")[0]
    for at, name in enumerate(parts):
        yield name, "/".join(parts[:at])


def _imports_of_tests(base: FileIndex) -> Iterator[tuple[str, set[str]]]:
    """The tests of the base, each with the top-level names that it imports."""
    tests = sorted(path for path in base.paths if path.endswith(".py") and is_test_path(path))
    for path in tests[:TESTS_MAX]:
        names: set[str] = set()
        for module, _, plain in IMPORT.findall(base.text(path)):
            names |= {
                word.split()[0].partition(".")[0] for word in plain.split(",") if word.strip()
            }
            names.add(module.partition(".")[0])
        yield path, names - {""}


def _find_roots(copy: _Copy, test: str, base: FileIndex) -> set[str]:
    """The folder where the test finds the module; all with such a module, if none is usual."""
    above = dirname(test)
    usual = [above]
    while above:
        above = dirname(above)
        usual += [above, *(f"{above}/{one}".lstrip("/") for one in sorted(_SOURCE_FOLDERS))]
    for folder in (*usual, *sorted(_SOURCE_FOLDERS)):
        if _has_module(copy.name, folder, base):
            return {folder}
    return {folder for folder in copy.others if _has_module(copy.name, folder, base)}


def _may_shadow(copy: _Copy, base: FileIndex, candidate: FileIndex) -> bool:
    """A folder without `__init__.py` is found only where no other module has its name."""
    return _is_regular(copy.name, copy.folder, candidate) or not any(
        _is_regular(copy.name, folder, base) for folder in copy.others
    )


def _is_regular(name: str, folder: str, files: FileIndex) -> bool:
    found = find_module(f"{folder}/{name}".lstrip("/"), files)
    return found is not None and bool(found.path)


def _is_left(name: str, roots: Iterable[str], candidate: FileIndex) -> bool:
    """Is the module still where it was?  Else it was moved, and there is no copy."""
    return any(_has_module(name, folder, candidate) for folder in roots)


def _has_module(name: str, folder: str, files: FileIndex) -> bool:
    return find_module(f"{folder}/{name}".lstrip("/"), files) is not None


def _is_usual(folder: str, roots: Iterable[str]) -> bool:
    """Is it another folder of the same project that Python or a check searches by default?"""
    return any(_project(root) == _project(folder) for root in roots)


def _reaches(path: str, test: str, roots: Iterable[str]) -> bool:
    """Does the file act on this test?  Not if it belongs to another project of the repository."""
    projects = map(_project, roots)
    return _is_within(test, dirname(path)) or any(_is_within(path, one) for one in projects)


def _project(root: str) -> str:
    return dirname(root) if basename(root) in _SOURCE_FOLDERS else root


def _is_within(path: str, folder: str) -> bool:
    return not folder or path.startswith(f"{folder}/")
