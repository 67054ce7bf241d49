"""Files by which a linter or type checker may leave out another one: ignore lists and stubs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from posixpath import dirname

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.definition.examiner_settings import may_run_any_tool
from yaoki.formats.quality.definition.file_index import FileIndex
from yaoki.formats.quality.definition.reached_files import ReachedFiles
from yaoki.formats.quality.model import Change

_IGNORE_LIST = lazy_compile(r"(?:^|/)\.\w*ignore$")
# Lists of paths in the form of git; the form of others is unknown.
_LISTS_PATHS = lazy_compile(r"(?:^|/)\.(?:git|rg|fd|hg|docker|npm)?ignore$")
_STUB = lazy_compile(r"(?:^|/)([^/]+?)(/__init__)?(?:\.pyi|\.d\.[cm]?ts)$")
# A set of characters is any character here: a file too many costs only a second run.
_PARTS = lazy_compile(r"^\*\*/|/\*\*/|/\*\*$|\*+|\?|\[[^\]]+\]|\\?.")
_WILD = {"/**/": "/(?:.*/)?", "/**": "/.*", "*": "[^/]*", "**": "[^/]*", "?": "[^/]"}
_TYPE_CHECKERS = frozenset(
    {"mypy", "dmypy", "pyright", "basedpyright", "ty", "pyrefly", "pyre", "pytype", "pylint"}
    | {"tsc", "vue-tsc", "tsd", "svelte-check", "ts-node", "ts-jest", "jest", "vitest", "eslint"}
    | {"deno", "bun", "ng", "vite", "webpack", "rollup", "tsup", "biome"}
)
_SOURCES = {".pyi": (".py",), "ts": (".js", ".jsx", ".mjs", ".cjs")}


def hides_files(
    change: Change, base: FileIndex, candidate: FileIndex, reached: ReachedFiles
) -> bool:
    """May a check examine fewer files, or other ones, because of this file?

    `reached` is what the checks of the base run.
    """
    if _IGNORE_LIST.search(change.path):
        return _ignores(change, candidate)
    return change.before is None and _is_stub(change.path, base) and _reads_stubs(reached)


def _reads_stubs(reached: ReachedFiles) -> bool:
    """Other programs, such as test runners, load the modules themselves."""
    return may_run_any_tool(reached) or bool(reached.tools & _TYPE_CHECKERS)


def _ignores(change: Change, candidate: FileIndex) -> bool:
    """Does a new line match a tracked file?  Files that git ignores itself are in no commit."""
    old, new = ([*_lines(text or "")] for text in (change.before, change.after))
    if any(line.startswith("!") for line in old if line not in new):
        return True
    added = [line for line in new if line not in old and not line.startswith("!")]
    if not added or not _LISTS_PATHS.search(change.path):
        return bool(added)
    folder = dirname(change.path)
    start = f"{folder}/" if folder else ""
    shape = re.compile("|".join(map(_shape, added)))
    tracked = candidate.files_below(folder) if folder else sorted(candidate.paths)
    paths = (path.removeprefix(start) for path in tracked if path != change.path)
    return any(shape.match(path) for path in paths)


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        bare = line.strip()
        if bare and not bare.startswith("#"):
            yield bare


def _shape(pattern: str) -> str:
    """A regular expression for the paths that a pattern ignores, and those below them."""
    bare = pattern.strip("/")
    deep = "/" not in pattern.rstrip("/") or bare.startswith("**/")
    below = "/" if pattern.endswith("/") else "(?:/|$)"
    text = "".join(_part(part) for part in _PARTS.findall(bare))
    return f"{'(?:.*/)?' if deep else ''}{text}{below}"


def _part(part: str) -> str:
    if part.startswith("[") and len(part) > 1:
        return "[^/]"
    return _WILD.get(part) or ("" if part == "**/" else re.escape(part.removeprefix("\\")))


def _is_stub(path: str, base: FileIndex) -> bool:
    """Does a stub have the name of a module of the base?  It is read instead of the module.

    Folders of stubs may be anywhere, so only the names are compared.
    """
    match = _STUB.search(path)
    if match is None:
        return False
    name = match[1].removesuffix("-stubs")
    ends = _SOURCES[".pyi" if path.endswith(".pyi") else "ts"]
    files = {f"{name}{end}" for end in ends}
    packages = {f"{name}/{'__init__' if end == '.py' else 'index'}{end}" for end in ends}
    return any(
        one.rsplit("/", 1)[-1] in files or "/".join(one.rsplit("/", 2)[-2:]) in packages
        for one in base.paths
    )
