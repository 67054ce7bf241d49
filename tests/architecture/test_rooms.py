"""Each package imports only what its layer allows.

Which layer may import which is a contract in pyproject.toml; here is what that contract cannot
say.
"""

import ast
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "yaoki"
FILES = sorted(SOURCE.rglob("*.py"))

# Modules of values: same input, same output, nothing touched.
CORE_MAY_IMPORT = (
    "__future__",
    "bisect",
    "base64",
    "collections",
    "dataclasses",
    "datetime",
    "decimal",
    "difflib",
    "enum",
    "fnmatch",
    "fractions",
    "functools",
    "graphlib",
    "hashlib",
    "heapq",
    # For `lazy_names` only, by which packages import their names when they are first used.
    "importlib",
    "inspect",
    "itertools",
    "json",
    "math",
    "operator",
    "re",
    # For its quoting: a prompt shows a command as a shell needs it.
    "shlex",
    "string",
    # For `lazy_dataclass` only, which compiles methods beside the names of a class's module.
    "sys",
    "textwrap",
    "types",
    "typing",
)

# Modules that reach the outside world, and the only packages that may import them.
ONLY_IN = {
    "subprocess": ("adapters/processes/",),
    "time": ("adapters/processes/", "adapters/system/"),
}


def name_of(file: Path) -> str:
    return file.relative_to(SOURCE).as_posix()


def files_in(package: str) -> list[Path]:
    return sorted((SOURCE / package).rglob("*.py"))


@cache
def imported(file: Path) -> Sequence[str]:
    """Full names of the modules that a file imports anywhere."""
    return tuple(_imported(file))


def _imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom("yaoki", names, 0):
                yield from (f"yaoki.{alias.name}" for alias in names)
            case ast.ImportFrom(str(module), _, 0):
                yield module
            case ast.ImportFrom():
                pytest.fail(f"{file}:{node.lineno}: a relative import hides its layer")
            case _:
                pass


def inside(module: str, *packages: str) -> bool:
    """Is the module one of the packages, or in one?"""
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def imports_beyond(files: Iterable[Path], *packages: str) -> dict[str, list[str]]:
    """What files import besides these packages, by file."""
    beyond = {
        name_of(file): sorted({name for name in imported(file) if not inside(name, *packages)})
        for file in files
    }
    return {name: found for name, found in beyond.items() if found}


def test_every_module_opens_with_a_docstring() -> None:
    silent = [name_of(file) for file in FILES if not ast.get_docstring(ast.parse(file.read_text()))]

    assert not silent, f"these files do not say what lives there: {silent}"


def test_the_core_imports_only_values() -> None:
    assert not imports_beyond(files_in("core"), "yaoki.core", "yaoki.errors", *CORE_MAY_IMPORT)


def test_the_shim_runs_as_a_bare_script() -> None:
    """It is started by path in foreign environments, where yaoki cannot be imported."""
    files = files_in("adapters/processes/shim")

    assert not imports_beyond(files, "yaoki.adapters.processes.shim", *sys.stdlib_module_names)


@pytest.mark.parametrize("module", ONLY_IN)
def test_only_one_package_starts_processes_or_reads_the_clock(module: str) -> None:
    users = [
        name_of(file)
        for file in FILES
        if not name_of(file).startswith(ONLY_IN[module])
        and module in file.read_text(encoding="utf-8")
        and any(inside(name, module) for name in imported(file))
    ]

    assert not users, f"only {ONLY_IN[module]} may import {module}: {users}"
