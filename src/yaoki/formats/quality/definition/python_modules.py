"""Where Python finds a module in one folder: the package, then the file, then a plain folder."""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import basename, dirname

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.definition.file_index import FileIndex

# In the order of Python's own finder; stubs (`.pyi`) are never run.
SUFFIXES = (".so", ".pyd", ".py", ".pyc")
_FILE = lazy_compile(r"([^\W\d]\w*)(?:\.(?:cpython-[\w-]+|cp\d+-\w+|abi3))?(\.(?:so|pyd|py|pyc))")
_BARE = lazy_compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class FoundModule:
    """Of two files for one module, the lower rank wins.  `path` is empty for a plain folder."""

    rank: int
    path: str


@dataclass(frozen=True, slots=True)
class ModuleFile:
    """A file, and the module that it is: `name` in `folder`."""

    folder: str
    name: str
    rank: int

    @property
    def stem(self) -> str:
        return f"{self.folder}/{self.name}".lstrip("/")


def read_module_file(path: str, files: FileIndex) -> ModuleFile | None:
    """The module that a file is; a link to a folder may be a package."""
    folder, last = dirname(path), basename(path)
    if files.is_link(path) and _BARE.fullmatch(last):
        return ModuleFile(folder, last, 0)
    if (hit := _FILE.fullmatch(last)) is None:
        return None
    name, rank = hit[1], SUFFIXES.index(hit[2]) + 1
    if name == "__init__":
        return ModuleFile(dirname(folder), basename(folder), rank) if folder else None
    return ModuleFile(folder, name, rank + len(SUFFIXES))


def find_module(stem: str, files: FileIndex) -> FoundModule | None:
    """The file that Python loads for this name in this folder."""
    ways = (*(f"{stem}/__init__{end}" for end in SUFFIXES), *(f"{stem}{end}" for end in SUFFIXES))
    for rank, way in enumerate(ways, start=1):
        if way in files.paths:
            return FoundModule(rank, way)
    if any(path.endswith(SUFFIXES) for path in files.files_below(stem)):
        return FoundModule(2 * len(SUFFIXES) + 1, "")
    return None


def find_displacing_modules(
    base: FileIndex, candidate: FileIndex
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """New files that Python loads in place of a file of the base, each with the files displaced.

    A plain folder that becomes a package keeps its modules.
    """
    for path in sorted(candidate.paths - base.paths):
        module = read_module_file(path, candidate)
        old = find_module(module.stem, base) if module is not None else None
        if module is None or old is None or module.rank >= old.rank:
            continue
        if old.path:
            yield path, (old.path,)
        elif dirname(path) == module.folder:
            yield path, tuple(base.files_below(module.stem))
