"""Files that a program finds by itself, from its arguments and conventions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from posixpath import basename, dirname, join

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.definition.file_index import FileIndex
from yaoki.formats.quality.definition.references import module_paths
from yaoki.formats.quality.definition.roles import is_script
from yaoki.formats.quality.definition.tools import SETTINGS_OF

# run-parts skips names with a dot.
_RUN_PARTS = lazy_compile(r"[A-Za-z0-9_-]+")
_INTERPRETER = lazy_compile(
    r"(?:ba|da|z|k|fi)?sh|python[\d.]*|pypy\d?|node|deno|bun|ruby|perl|php|Rscript|lua|tclsh|ts-node|tsx"
)
_SHELL = lazy_compile(r"(?:ba|da|z|k)?sh")
_PYTHON = lazy_compile(r"python[\d.]*")
_CODE = lazy_compile(r"-[a-z]{0,6}[ce]")
_LOADS = frozenset({"-p", "--require", "-r", "--import", "--loader", "--setupFiles"})


def settings_files(name: str, files: FileIndex, places: Sequence[str]) -> Iterator[str]:
    """The settings that a tool reads in these folders, one level up, and at the root."""
    for place in dict.fromkeys((*places, *map(dirname, places), "")):
        for one in SETTINGS_OF.get(name, ()):
            yield from files.find(join(place, one) if place else one, ("",))


def run_parts_scripts(
    words: Sequence[str], files: FileIndex, places: Sequence[str]
) -> Iterator[str]:
    """`run-parts checks.d`: every program of the folder runs."""
    for word in words:
        folder = files.find_folder(word, places)
        for path in files.files_in(folder) if folder is not None else ():
            if _RUN_PARTS.fullmatch(basename(path)):
                yield path


def scripts_of_find(words: Sequence[str], files: FileIndex, places: Sequence[str]) -> Iterator[str]:
    """`find tests -name '*.sh' -exec sh {} ;`: every match runs."""
    names = [name for option, name in pairwise(words) if option in ("-name", "-iname", "-path")]
    tops = [word for word in words if not word.startswith("-")][:1] or ["."]
    folder = files.find_folder(tops[0], places)
    for path in files.files_below(folder) if folder is not None else ():
        fits = not names or any(fnmatchcase(basename(path), name) for name in names)
        if fits and is_script(path, files.text(path)):
            yield path


def module_files(name: str, files: FileIndex, places: Sequence[str]) -> Iterator[str]:
    """`python -m pkg`: the module, if it is in the repository."""
    for place in places:
        for path in module_paths(name, join(place, "x"), files):
            if path.endswith(("__main__.py", f"{name.rpartition('.')[2]}.py")):
                yield path


def plugin_files(words: Sequence[str], files: FileIndex, places: Sequence[str]) -> Iterator[str]:
    """`-p name`, `--require file`: loaded by the runner before the tests."""
    for option, value in pairwise(words):
        if option in _LOADS:
            stem = value.replace(".", "/")
            yield from files.find(f"{stem}.py", places) or files.find(value, places)


def starts_file(words: Sequence[str]) -> bool:
    """Does one of these words start the file that follows?"""
    return any(_INTERPRETER.fullmatch(basename(word)) for word in words)


def code_kind(words: Sequence[str], at: int) -> str:
    """Is this word a program itself: `sh -c '…'`, `eval '…'`, `python -c '…'`?"""
    if at == 0 or " " not in words[at]:
        return ""
    before, names = words[at - 1], [basename(word) for word in words[:at]]
    if before == "-c" and any(_PYTHON.fullmatch(name) for name in names):
        return "python"
    shells = any(_SHELL.fullmatch(name) for name in names)
    runs = before == "eval" or (shells and _CODE.fullmatch(before)) or "/" in words[at]
    return "shell" if runs else ""
