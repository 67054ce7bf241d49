"""Every file stands on a floor, and imports only what its floor allows.

The table of floors is the layers contract in pyproject.toml, which also holds
who may import whom.  Here is what that contract cannot say.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "yaoki"
FILES = sorted(SOURCE.rglob("*.py"))
IDS = [file.relative_to(SOURCE).as_posix() for file in FILES]

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
    "itertools",
    "json",
    "math",
    "operator",
    "re",
    "string",
    "textwrap",
    "types",
    "typing",
)

# Doors to the outside world, and the only rooms that have one.
ONLY_IN = {
    "subprocess": {"system", "shim"},
    "time": {"system", "shim"},
}


def room(file: Path) -> str:
    """The top-level module a file belongs to: `store/sql.py` stands in `store`."""
    return file.relative_to(SOURCE).parts[0].removesuffix(".py")


def rooms_on_floors() -> set[str]:
    """The rooms named by the layers contract."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    [floors] = [contract for contract in contracts if contract["id"] == "floors"]
    return {name for layer in floors["layers"] for name in re.findall(r"\w+", layer)}


def imported(file: Path) -> Iterator[str]:
    """Full names of the modules a file imports, wherever the import stands."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom("yaoki", names, 0):
                yield from (f"yaoki.{alias.name}" for alias in names)
            case ast.ImportFrom(str(module), _, 0):
                yield module
            case ast.ImportFrom():
                pytest.fail(f"{file}:{node.lineno}: a relative import hides its floor")
            case _:
                pass


def inside(module: str, *packages: str) -> bool:
    """Is the module one of the packages, or in one?"""
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def files_of(*names: str) -> list[Path]:
    return [file for file in FILES if room(file) in names]


@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_every_file_stands_on_a_floor(file: Path) -> None:
    known = rooms_on_floors() | {"__init__"}

    assert room(file) in known, (
        f"{room(file)!r} stands on no floor: name it in the layers of "
        "[[tool.importlinter.contracts]] in pyproject.toml"
    )


@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_every_module_says_what_lives_there(file: Path) -> None:
    assert ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))), (
        f"{file.relative_to(ROOT)} has no docstring: open it with a line on what lives there"
    )


@pytest.mark.parametrize("file", files_of("core"), ids=lambda file: file.name)
def test_the_core_imports_only_values(file: Path) -> None:
    foreign = {
        module
        for module in imported(file)
        if not inside(module, "yaoki.core", "yaoki.errors", *CORE_MAY_IMPORT)
    }

    assert not foreign, f"{file.relative_to(ROOT)} imports {sorted(foreign)}"


@pytest.mark.parametrize("file", files_of("shim"), ids=lambda file: file.name)
def test_the_shim_runs_as_a_bare_script(file: Path) -> None:
    """It is started by path in foreign environments, where yaoki cannot be imported."""
    known = ("yaoki.shim", *sys.stdlib_module_names)
    foreign = {module for module in imported(file) if not inside(module, *known)}

    assert not foreign, f"{file.relative_to(ROOT)} imports {sorted(foreign)}"


@pytest.mark.parametrize("door", ONLY_IN)
def test_a_door_to_the_world_is_used_only_in_its_rooms(door: str) -> None:
    users = {
        file.relative_to(ROOT).as_posix()
        for file in FILES
        if room(file) not in ONLY_IN[door] and any(inside(name, door) for name in imported(file))
    }

    assert not users, f"only {sorted(ONLY_IN[door])} may import {door}: {sorted(users)}"
