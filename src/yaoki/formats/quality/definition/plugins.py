"""Files that a runner loads by itself: conftest files, plugins, and modules that shadow a name."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from posixpath import dirname

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import FindingItem
from yaoki.formats.quality.definition.comparison import Judgement
from yaoki.formats.quality.definition.dependencies import ForeignModules
from yaoki.formats.quality.definition.file_index import FileIndex
from yaoki.formats.quality.definition.python_modules import (
    SUFFIXES,
    find_module,
    read_module_file,
)
from yaoki.formats.quality.definition.references import module_paths
from yaoki.formats.quality.definition.roles import is_in_test_folder
from yaoki.formats.quality.definition.units import CodeUnit, PythonSource, find_replaced_names
from yaoki.formats.quality.languages import is_foreign
from yaoki.formats.quality.python_suites import last_name
from yaoki.formats.quality.suites import is_test_path

REPLACES = "it replaces what the tests use"
_DECIDES = lazy_compile(
    r"load_tests|pytest_(?:collection\w*|ignore_collect|collect_\w+|pycollect_\w+|itemcollected|deselected"
    r"|runtest_\w+|pyfunc_call|sessionfinish|sessionstart|report_\w+|exception_interact|make_\w+|generate_tests"
    r"|load_initial_conftests|cmdline_\w+|unconfigure|assertrepr_compare|assertion_pass|fixture_setup)"
)
_HARMLESS = frozenset({"pytest_addoption", "pytest_report_header", "pytest_plugin_registered"})
_RUNNERS = frozenset(
    {"pytest", "_pytest", "unittest", "doctest", "nose", "nose2", "pluggy", "coverage", "xmlrunner"}
    | {
        "mypy",
        "ruff",
        "flake8",
        "pylint",
        "tox",
        "nox",
        "hypothesis",
        "testtools",
        "ward",
        "behave",
    }
)
_CUSTOM = frozenset({"sitecustomize", "usercustomize"})
_PATCHED = frozenset({*_RUNNERS, "builtins", "__builtins__"})
_MAY_PATCH = lazy_compile(
    r"unittest|pytest|builtins|doctest|coverage|hypothesis|sys\.modules|pluggy|nose|testtools"
)
# Settings that a test may make for itself.
_OWN = lazy_compile(
    r"\.maxDiff$|\.longMessage$|^sys\.(?:path|argv|stdout|stderr|stdin|dont_write_bytecode)\b|^os\.environ"
)
# A call at import time; changes to the module search path are judged elsewhere.
_ACT = lazy_compile(r"(?!sys\.path\b|os\.environ\b|load_dotenv\b)[\w.]+\(")
_NODE_RUNNER = lazy_compile(
    r"(?:^|/)node_modules/(?:\.bin/|(?:jest|mocha|vitest|ava|tap|eslint|typescript|chai|@jest|@vitest)/)"
)


# ------------------------------------------------------------------ replaced names


def judge_replaced_names(
    path: str, old: PythonSource, new: PythonSource, base: FileIndex, judgement: Judgement
) -> None:
    """Names of the runner, or of the program under test, that the file rebinds."""
    was = {words for words, _ in old.replaced_names}
    patches = _runner_patches(new) - _runner_patches(old)
    for words in sorted(patches):
        judgement.items.append(FindingItem(words, "it replaces a part of the test runner", path))
    if not is_test_path(path):
        return
    for words, line in new.replaced_names:
        if words in was or words in patches or _OWN.search(words):
            continue
        if _belongs_to_repository(words, new.imported_names, path, base):
            judgement.items.append(FindingItem(words, f"{REPLACES} (line {line})", path))
        else:
            judgement.is_unsure = True


def may_patch(text: str) -> bool:
    """Is it worth reading the whole file?"""
    return _MAY_PATCH.search(text) is not None


def _runner_patches(source: PythonSource) -> set[str]:
    """Assignments to the runner's own names, also in functions, which may be called at any time."""
    patches: set[str] = set()
    for node in ast.walk(source.tree) if source.tree is not None else ():
        targets: list[ast.expr] = []
        if isinstance(node, (ast.Assign, ast.Delete)):
            targets = [t for t in node.targets if isinstance(t, (ast.Attribute, ast.Subscript))]
        elif isinstance(node, ast.Call) and last_name(node.func) in ("setattr", "delattr"):
            targets = node.args[:1]
        patches |= {
            ast.unparse(one) for one in targets if _belongs_to_runner(one, source.imported_names)
        }
    return patches


def _belongs_to_runner(target: ast.expr, imported: dict[str, str]) -> bool:
    text = ast.unparse(target)
    if re.match(r"sys\.modules\[['\"](?:pytest|unittest|_pytest|builtins)", text):
        return True
    root = re.split(r"[.\[]", text)[0]
    module = imported.get(root, "" if root != "__builtins__" else root)
    return module.lstrip(".").partition(".")[0] in _PATCHED and not _OWN.search(text)


def _belongs_to_repository(
    words: str, imported: dict[str, str], path: str, product: FileIndex
) -> bool:
    root = re.split(r"[.\[(,]", words.removeprefix("setattr(").removeprefix("delattr("))[0]
    name = imported.get(root, "").lstrip(".")
    ways = (name, name.rpartition(".")[0])
    return any(list(module_paths(way, path, product)) for way in ways if way)


# ------------------------------------------------------------------ conftest and plugins


def judge_plugin(
    path: str, old: PythonSource, new: PythonSource, base: FileIndex, judgement: Judgement
) -> None:
    """Hooks, plugin lists and fixtures of a file that the runner loads by itself."""
    _hooks(path, old, new, judgement)
    _assigned(path, old, new, judgement)
    for name, unit in new.units.items():
        fixture = any("fixture" in one for one in unit.decorators)
        # In a test file only the autouse fixtures reach the existing tests.
        own = is_test_path(path) and not path.endswith("conftest.py")
        is_opt_in = own and not any("autouse=True" in one for one in unit.decorators)
        if fixture and name not in old.units and not is_opt_in:
            _fixture(path, unit, new.imported_names, base, judgement)


def _hooks(path: str, old: PythonSource, new: PythonSource, judgement: Judgement) -> None:
    for name, unit in new.units.items():
        marked = any("hookimpl" in one for one in unit.decorators)
        hook = marked or name.startswith("pytest_") or name == "load_tests"
        if not hook or unit.node is None or name in _HARMLESS:
            continue
        known = old.units.get(name)
        if known is not None and known.shape == unit.shape:
            continue
        if name == "pytest_configure" and _only_marks(unit.node):
            continue
        if _DECIDES.fullmatch(name) or (marked and not name.startswith("pytest_")):
            judgement.items.append(FindingItem(name, "it changes which tests count", path))
        else:
            judgement.is_unsure = True


def _only_marks(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    calls = [n for n in ast.walk(node) if isinstance(n, ast.Call)]
    stores = (n for n in ast.walk(node) if isinstance(n, (ast.Assign, ast.Raise, ast.Delete)))
    return all(last_name(n.func) == "addinivalue_line" for n in calls) and not any(stores)


def _assigned(path: str, old: PythonSource, new: PythonSource, judgement: Judgement) -> None:
    for text in set(new.module_statements) - set(old.module_statements):
        if text.startswith("collect_ignore"):
            name = text.partition(" ")[0]
            judgement.items.append(FindingItem(name, "it changes which tests count", path))
        elif text.startswith("pytest_plugins"):
            judgement.items.append(
                FindingItem("pytest_plugins", "it loads a plugin into the test runner", path)
            )
        elif path.endswith("conftest.py") and _ACT.match(text):
            judgement.is_unsure = True


def _fixture(
    path: str, unit: CodeUnit, imported: dict[str, str], base: FileIndex, judgement: Judgement
) -> None:
    """A new fixture is a risk only if existing tests get it without asking."""
    autouse = any("autouse=True" in one for one in unit.decorators)
    patches = re.search(r"\.(?:setattr|setitem|patch)\b|patch\(", unit.shape)
    replaced = list(find_replaced_names(unit.node, imported)) if unit.node is not None else []
    if autouse and (patches or replaced):
        judgement.items.append(FindingItem(unit.name, f"{REPLACES}, in every test", path))
    elif autouse or _is_requested(unit.name, base, _fixture_folder(path)):
        judgement.is_unsure = True


def _fixture_folder(path: str) -> str:
    """Tests below a conftest file see its fixtures; those of a plugin are seen everywhere."""
    is_conftest = path.rpartition("/")[2] == "conftest.py"
    return f"{dirname(path)}/" if is_conftest and dirname(path) else ""


def _is_requested(name: str, base: FileIndex, folder: str) -> bool:
    request = re.compile(rf"def test\w*\([^)]*\b{re.escape(name)}\b")
    below = (path for path in sorted(base.paths) if path.startswith(folder))
    tests = (path for path in below if path.endswith(".py") and is_test_path(path))
    return any(request.search(base.text(path)) for path in list(tests)[:500])


# ------------------------------------------------------------------ modules that take a place


def find_shadowing_files(
    base: FileIndex, candidate: FileIndex, searched: set[str], tools: Iterable[str]
) -> Iterator[tuple[str, str]]:
    """New files that are found before the runner, what it needs, or the standard library: path and
    name.

    The name is empty when only a second run of the check can decide.
    """
    new = candidate.paths - base.paths
    folders = {*searched, *_top_folders(candidate)}
    foreign = ForeignModules(base, tools)
    for path in sorted(new):
        if _NODE_RUNNER.search(path) or path.endswith(".pth"):
            yield path, path.rpartition("node_modules/")[2]
            continue
        name, folder = _module_name(path, folders, candidate)
        if name in _CUSTOM:
            yield path, "what Python loads at its start"
        elif name in _RUNNERS and folder is not None:
            yield path, name
        elif folder is not None and (
            _is_shadow(path, name, folder, foreign, base, candidate)
            or _covers(path, name, folder, base)
        ):
            yield path, ""


def _is_shadow(
    path: str,
    name: str,
    folder: str,
    foreign: ForeignModules,
    base: FileIndex,
    candidate: FileIndex,
) -> bool:
    """A folder that is no package is found after everything that is installed."""
    if name in sys.stdlib_module_names:
        return True
    stem = f"{folder}/{name}".lstrip("/")
    if not foreign.has(name) or _is_regular(stem, base):
        return False
    own = read_module_file(path, candidate)
    return (own is not None and own.stem == stem) or _is_regular(stem, candidate)


def _is_regular(stem: str, files: FileIndex) -> bool:
    found = find_module(stem, files)
    return found is not None and bool(found.path)


def starts_with_python(path: str) -> bool:
    """Does every start of Python import it?"""
    return path.rpartition("/")[2].removesuffix(".py") in _CUSTOM


def find_idle_targets(goals: Iterable[str], base: FileIndex, candidate: FileIndex) -> Iterator[str]:
    """New files named like a target of a check: make finds them and runs nothing."""
    for goal in dict.fromkeys(goals):
        if goal in candidate.paths and goal not in base.paths:
            yield goal


def _covers(path: str, name: str, folder: str, base: FileIndex) -> bool:
    """Is it among the tests, with the name of a module of the program?

    A file inside a package has the name of the package, which it does not cover.
    """
    own = f"{folder}/{name}/__init__.py" if folder else f"{name}/__init__.py"
    tests = is_in_test_folder(path) or any(
        is_test_path(one) for one in base.files_below(dirname(path) or "")
    )
    places = (
        f"{project}{top}{name}{end}"
        for project in _parents(path)
        for top in ("", "src/", "lib/")
        for end in (".py", "/__init__.py")
    )
    # A test that moves to another folder keeps its name.
    program = (place for place in places if not is_in_test_folder(place))
    covered = any(place not in {path, own} and place in base.paths for place in program)
    return bool(dirname(path)) and tests and covered


def _parents(path: str) -> Iterator[str]:
    """The folders above it with a final slash: each may be a project, the root without a name."""
    parts = path.split("/")[:-1]
    for length in range(len(parts) + 1):
        yield "".join(f"{part}/" for part in parts[:length])


def _module_name(path: str, folders: set[str], files: FileIndex) -> tuple[str, str | None]:
    """The top-level name of a module, and its folder."""
    is_module = path.endswith((".pyi", *SUFFIXES)) or files.is_link(path)
    if not is_module or is_foreign(path):
        return "", None
    parts = path.split("/")
    for at in reversed(range(len(parts))):
        folder = "/".join(parts[:at])
        if folder in folders:
            return parts[at].partition(".")[0], folder
    return parts[-1].partition(".")[0], None


def _top_folders(files: FileIndex) -> Iterator[str]:
    """Folders that Python searches for modules: the root, and the roots of test packages."""
    yield from ("", "src", "lib")
    for path in files.paths:
        if path.endswith(".py") and is_test_path(path):
            folder = dirname(path)
            while folder and f"{folder}/__init__.py" in files.paths:
                folder = dirname(folder)
            yield folder
