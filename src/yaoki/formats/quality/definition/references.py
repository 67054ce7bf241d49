"""The files that a source file refers to: imports, requires, and names in strings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from posixpath import dirname

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.definition.file_index import FileIndex, resolve_path

LITERALS_MAX = 3_000
_JS_IMPORT = lazy_compile(
    r"""(?:\brequire(?:\.resolve)?\s*\(\s*|\bimport\s*\(\s*|\bfrom\s+|^\s*import\s+)["'`]([^"'`\n]{1,300})["'`]""",
    re.MULTILINE,
)
_RUBY_IMPORT = lazy_compile(
    r"""\b(?:require_relative|load|require)\s*\(?\s*["']([^"'\n]{1,300})["']"""
)
IMPORT = lazy_compile(
    r"^[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+(\([^)]{0,2000}\)|[^\n#]{1,500})"
    r"|import[ \t]+([\w., \t]{1,500}))",
    re.MULTILINE,
)
_LITERAL = lazy_compile(r"""(["'`])((?:(?!\1)[^\\\n]){1,300})\1""")
_JS_ENDINGS = ("", ".js", ".ts", ".mjs", ".cjs", ".jsx", ".tsx", ".json", "/index.js", "/index.ts")


def python_imports(text: str, path: str, files: FileIndex) -> Iterator[str]:
    """Modules of the repository that a Python file imports, for any possible root."""
    for module, names, plain in IMPORT.findall(text):
        for name in plain.split(","):
            yield from module_paths(name.split(" as ")[0].strip(), path, files)
        if module:
            listed = [word.split(" as ")[0].strip(" \n\t()\\") for word in names.split(",")]
            yield from _from(module, listed, path, files)


def _from(module: str, names: list[str], path: str, files: FileIndex) -> Iterator[str]:
    base = module.lstrip(".")
    level = len(module) - len(base)
    if not level:
        yield from module_paths(base, path, files)
        yield from (p for name in names for p in module_paths(f"{base}.{name}", path, files))
        return
    folder = dirname(path)
    for _ in range(level - 1):
        folder = dirname(folder)
    stem = "/".join(filter(None, (folder, base.replace(".", "/"))))
    yield from _files_of(stem, files)
    yield from (p for name in names for p in _files_of(f"{stem}/{name}".lstrip("/"), files))


def module_paths(name: str, path: str, files: FileIndex) -> Iterator[str]:
    """The files of a dotted name, below the folders that Python searches."""
    stem = name.replace(".", "/")
    if not stem:
        return
    for top in dict.fromkeys((dirname(path), *_above(path), "", "src", "lib", "tests", "test")):
        paths = list(_files_of(f"{top}/{stem}".lstrip("/"), files))
        if paths:
            yield from paths
            return


def _above(path: str) -> Iterator[str]:
    folder = dirname(path)
    while folder.strip("/"):
        folder = dirname(folder)
        yield folder


def _files_of(stem: str, files: FileIndex) -> Iterator[str]:
    ways = (f"{stem}.py", f"{stem}/__init__.py", f"{stem}/__main__.py")
    yield from (way for way in ways if way in files.paths)


def js_names(text: str) -> list[str]:
    """The names of the modules that a JavaScript file imports, as they are written."""
    return _JS_IMPORT.findall(text)


def js_imports(text: str, path: str, files: FileIndex) -> Iterator[str]:
    for name in js_names(text):
        if name.startswith("."):
            yield from find_js_modules(name, dirname(path), files)


def find_js_modules(name: str, folder: str, files: FileIndex) -> list[str]:
    """The files that `./name` may stand for in a file of this folder."""
    stem = resolve_path(name, folder)
    paths = (f"{stem}{end}" for end in _JS_ENDINGS) if stem else ()
    return [path for path in paths if path in files.paths]


def ruby_imports(text: str, path: str, files: FileIndex) -> Iterator[str]:
    for name in _RUBY_IMPORT.findall(text):
        for place in (dirname(path), "", "lib", "spec", "test"):
            at = resolve_path(name, place)
            yield from (w for w in (at, f"{at}.rb") if w and w in files.paths)


def string_literals(text: str) -> Iterator[str]:
    """The strings of a source file that could be a file name, a folder name or a command."""
    for count, hit in enumerate(_LITERAL.finditer(text)):
        if count >= LITERALS_MAX:
            return
        yield hit[2]
