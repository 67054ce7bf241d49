"""What the packages of the tests do when they are imported: they may hide their own modules.

`from tests import helpers` takes a name that `tests/__init__.py` binds before it looks for
`tests/helpers.py`, and `__path__` or `sys.modules` may lead to any other file.  Text does not show
for sure what is found then, so such a file is undecided.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from posixpath import basename, dirname

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model.change import Change
from yaoki.formats.quality.definition.file_index import FileIndex
from yaoki.formats.quality.definition.python_modules import find_module
from yaoki.formats.quality.definition.references import python_imports
from yaoki.formats.quality.definition.roles import is_in_test_folder, is_support
from yaoki.formats.quality.definition.units import parse_source
from yaoki.formats.quality.python import parse_python
from yaoki.formats.quality.suites import is_test_path

# The machinery of imports, which decides what every later import finds.
_IMPORTS = lazy_compile(
    r"\.modules\b(?!\()|\bfrom sys import [^\n]*(?:\*|\bmodules\b)|\bgetattr\(sys\b"
    r"|\bmeta_path\b|\bpath_hooks\b|\b__path__\b"
    r"|\bpath_importer_cache\b|\b__import__\b|\bSourceFileLoader\b|\bspec_from_\w+"
)
# What binds a name of a package without writing it.
_BINDS = lazy_compile(
    r"\b__getattr__\b|\bglobals\(|\bvars\(|\blocals\(|\b__dict__\b|\bsetattr\(|\bexec\(|\beval\(|\b__class__\b"
)


# Acts of a test file, while it is imported, that reach the modules which later ones import.
_LEADS_AWAY = lazy_compile(
    r"\bmeta_path\b|\bpath_hooks\b|\bpath_importer_cache\b|__pycache__|\bpy_compile\b|\bcompileall\b"
    r"|\.pyc\b|\bcache_from_source\b|\bUNCHECKED_HASH\b"
)
_MAY_REBIND = lazy_compile(
    r"\bvars\(|__dict__|\bsetattr\(|\bmodules\[|^\w+(?:\.\w+)+ *=", re.MULTILINE
)


def find_hiding_files(
    changes: Sequence[Change], base: FileIndex, candidate: FileIndex
) -> Iterator[str]:
    """Changed files that decide, while they are imported, what older tests import after them."""
    changed = {one.path: one for one in changes if one.after and one.before != one.after}
    firsts = [path for path in changed if _is_loaded_first(path)]
    helpers = _only_for_conftests(changed, candidate)
    for path in sorted({*firsts, *helpers, *_imported_by(firsts, changed, candidate)}):
        one = changed[path]
        hides = _is_package(path) and _hides_modules(one, base, candidate)
        if hides or _adds(_IMPORTS, one) or _rebinds_names(one):
            yield path
    for path in sorted(changed.keys() - set(firsts)):
        is_test = path.endswith(".py") and is_test_path(path)
        if is_test and _adds(_LEADS_AWAY, changed[path]):
            yield path


def _rebinds_names(change: Change) -> bool:
    """Does it give the names of other modules another value?"""
    before, after = change.before or "", change.after or ""
    if is_test_path(change.path) or not _MAY_REBIND.search(after):
        return False
    old, new = (
        {words for words, _ in parse_source(text).replaced_names} for text in (before, after)
    )
    return bool(new - old)


def _is_package(path: str) -> bool:
    return basename(path) == "__init__.py"


def _is_loaded_first(path: str) -> bool:
    own = is_test_path(path) or is_in_test_folder(path)
    return basename(path) == "conftest.py" or (own and _is_package(path))


def _only_for_conftests(changed: dict[str, Change], candidate: FileIndex) -> list[str]:
    """Changed modules that conftest files import, and no other file does."""
    sources = [
        path
        for path, one in changed.items()
        if path.endswith(".py")
        and not is_test_path(path)
        and (_MAY_REBIND.search(one.after or "") or _IMPORTS.search(one.after or ""))
    ]
    if not sources:
        return []
    everywhere = [path for path in sorted(candidate.paths) if path.endswith(".py")]
    conftests = [path for path in everywhere if basename(path) == "conftest.py"]
    imported = {
        one for path in conftests for one in python_imports(candidate.text(path), path, candidate)
    }
    helpers = [path for path in sources if path in imported and basename(path) != "__init__.py"]
    return [path for path in helpers if not _is_used_elsewhere(path, everywhere, candidate)]


def _is_used_elsewhere(path: str, everywhere: Sequence[str], candidate: FileIndex) -> bool:
    named = re.compile(rf"\b{re.escape(basename(path).removesuffix('.py'))}\b")
    others = (one for one in everywhere if one != path and basename(one) != "conftest.py")
    texts = ((one, candidate.text(one)) for one in others)
    return any(
        named.search(text) and path in python_imports(text, one, candidate) for one, text in texts
    )


def _imported_by(
    firsts: Sequence[str], changed: dict[str, Change], candidate: FileIndex
) -> Iterator[str]:
    """Changed files that are loaded with them, directly or not."""
    todo, seen = list(firsts), set(firsts)
    while todo:
        path = todo.pop()
        for one in python_imports(candidate.text(path), path, candidate):
            if one in changed and one not in seen and is_support(one):
                seen.add(one)
                todo.append(one)
                yield one


def _adds(pattern: re.Pattern[str], change: Change) -> bool:
    old, new = (_at_import(text or "") for text in (change.before, change.after))
    return len(pattern.findall(new)) > len(pattern.findall(old))


def _at_import(text: str) -> str:
    """The text without comments, tests, and fixtures that a test must ask for."""
    tree = parse_python(text)
    if tree is None:
        return text
    try:
        return "\n".join(ast.unparse(node) for node in tree.body if not _waits(node))
    except RecursionError:
        return text


def _waits(node: ast.stmt) -> bool:
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    marks = [ast.unparse(one) for one in node.decorator_list]
    is_fixture = any("fixture" in one for one in marks)
    is_automatic = any("autouse" in one for one in marks)
    return node.name.startswith("test") or (is_fixture and not is_automatic)


def _hides_modules(change: Change, base: FileIndex, candidate: FileIndex) -> bool:
    """Does the package bind a name that was one of its modules?"""
    folder = dirname(change.path)
    names = _modules_in(folder, base)
    hidden = {name for name in names if find_module(f"{folder}/{name}", candidate)}
    if not hidden:
        return False
    tree = parse_python(change.after or "")
    if tree is None or _adds(_BINDS, change):
        return True
    old = parse_python(change.before or "")
    added = _bound(tree, folder) - (_bound(old, folder) if old is not None else set())
    named = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(hidden)))})\b")
    stars = _texts_of_stars(tree, change.path, candidate)
    return bool(added & hidden) or any(map(named.search, stars))


def _modules_in(folder: str, files: FileIndex) -> set[str]:
    rest = (path.removeprefix(f"{folder}/") for path in files.files_below(folder))
    return {path.partition("/")[0].partition(".")[0] for path in rest} - {"__init__", ""}


def _bound(tree: ast.Module, folder: str) -> set[str]:
    """The names that a module binds anywhere, but not by importing a module of its own package."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.Import):
            names |= {one.asname or one.name.partition(".")[0] for one in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= _bound_by_import(node, folder)
    return names


def _bound_by_import(node: ast.ImportFrom, folder: str) -> set[str]:
    package = folder.replace("/", ".")
    is_own = (node.level == 1 and not node.module) or (not node.level and node.module == package)
    return {
        one.asname or one.name
        for one in node.names
        if one.name != "*" and not (is_own and one.asname in (None, one.name))
    }


def _texts_of_stars(tree: ast.Module, path: str, candidate: FileIndex) -> Iterator[str]:
    """The files whose names a package takes over with `*`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and any(one.name == "*" for one in node.names):
            for found in python_imports(ast.unparse(node), path, candidate):
                yield candidate.text(found)
