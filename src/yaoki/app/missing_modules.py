"""All Python modules that the tests of a checkout miss, and the one command that installs them.

pytest stops at the first import that fails in a module, so its output names only a part of them.
The imports at the top of the test files are compared with what the Python of the check finds.
"""

from __future__ import annotations

import ast
import configparser
import os
import re
import shutil
import sys
import tomllib
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from yaoki.adapters.processes.command import run_command
from yaoki.adapters.system.files import read_plain_bytes
from yaoki.app.ignored_files import TOOL_FOLDERS
from yaoki.app.remedies import REMEDY, install_for_environment, upgrade_pip_first
from yaoki.core.environment import COMMAND_VARIABLES, check_search_path, filter_environment
from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import CheckSpec, Finding
from yaoki.errors import FatalCode, Fault

MODULES = "missingModules"
PIP = "python -m pip install"
FILES_MAX, FILE_BYTES_MAX, NAMES_MAX = 500, 1 << 20, 200
LOOKUP_TIMEOUT = timedelta(seconds=20)
# Extras and groups that projects use for their tests, the most specific first.
TEST_GROUPS = ("tests", "test", "testing", "dev", "develop", "development")
TEST_FILES = ("conftest.py", "test_*.py", "*_test.py")
_LOOKUP = """\
import importlib.util, sys
for name in sys.argv[1:]:
    try:
        found = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        continue
    if found is None:
        print(name)
"""
_NAME = lazy_compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[([^\]]*)\])?")


def complete_missing_modules(
    finding: Finding, spec: CheckSpec, room: Path, checkout: Path
) -> Finding:
    """The finding with every module that the tests miss; the remedy uses the project's metadata."""
    modules = _named_modules(finding, spec)
    if not modules or spec.argv[:1] != ("python",):
        return finding
    folder = room / spec.cwd
    found = _find_missing(_list_imports(folder), spec, folder, checkout)
    modules += [name for name in found if name not in modules]
    packages = _packages(str(finding.params.get(REMEDY, "")), modules, finding)
    remedy = _install_command(_read_metadata(folder), packages, spec.cwd)
    installed = install_for_environment(remedy, spec.env, checkout)
    python = _find_python(spec, checkout) or sys.executable
    params: dict[str, Any] = {**finding.params, REMEDY: upgrade_pip_first(installed, python)}
    if MODULES in params:
        params[MODULES] = modules
    return replace(finding, params=params)


def _named_modules(finding: Finding, spec: CheckSpec) -> list[str]:
    """The modules that the output names; the test runner itself may be one."""
    if str(finding.params.get(REMEDY, "")).startswith(PIP):
        return [str(name) for name in finding.params.get(MODULES, ())]
    is_tool = finding.code is FatalCode.RESOURCE_NOT_FOUND and spec.argv[1:2] == ("-m",)
    return list(spec.argv[2:3]) if is_tool else []


def _packages(remedy: str, modules: Sequence[str], finding: Finding) -> list[str]:
    """The packages of the modules: the remedy knows those that the output named."""
    known = remedy.removeprefix(PIP).split()
    named = finding.params.get(MODULES, ())
    return [*known, *(name for name in modules if name not in named and name not in known)]


# ------------------------------------------------------------------ what the tests import


def _list_imports(folder: Path) -> list[str]:
    """The modules that test files import without a condition, outside the standard library and
    the project.
    """
    every = sorted(_list_python_files(folder))
    tests = [file for file in every if any(file.match(shape) for shape in TEST_FILES)]
    names = dict.fromkeys(name for file in tests[:FILES_MAX] for name in _imports_of(file))
    own = {name for file in every for name in (file.stem, file.parent.name)}
    outside = (name for name in names if name not in own and name not in sys.stdlib_module_names)
    return list(outside)[:NAMES_MAX]


def _list_python_files(folder: Path) -> Iterator[Path]:
    """Without those of tools, which the set-up may have put there."""
    for place, folders, files in os.walk(folder):
        folders[:] = [one for one in folders if one not in TOOL_FOLDERS and one[0] != "."]
        yield from (Path(place, name) for name in files if name.endswith(".py"))


def _imports_of(file: Path) -> Iterator[str]:
    """Imports inside `try`, `if` or a function may be optional."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those of the user's code are no concern of ours
            tree = ast.parse(_read(file))
    except (OSError, SyntaxError, ValueError, RecursionError):
        return  # the check itself reports a file that cannot be read
    for statement in tree.body:
        if isinstance(statement, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
            yield statement.module.partition(".")[0]


def _find_missing(
    names: Sequence[str], spec: CheckSpec, folder: Path, checkout: Path
) -> tuple[str, ...]:
    """The names that the Python of the check does not find; none where it gives no answer."""
    python = _find_python(spec, checkout)
    if not names or python is None:
        return ()
    env = filter_environment(os.environ, COMMAND_VARIABLES)
    try:
        done = run_command(
            (python, "-c", _LOOKUP, *names), cwd=folder, env=env, timeout=LOOKUP_TIMEOUT
        )
    except Fault:
        return ()  # the modules that the output names are known anyway
    return tuple(done.out.decode("utf-8", "replace").split()) if done.code == 0 else ()


def _find_python(spec: CheckSpec, checkout: Path) -> str | None:
    path = check_search_path(os.environ, spec.env, str(checkout))
    return shutil.which("python", path=path)


# ------------------------------------------------------------------ what the project declares


@dataclass(frozen=True, slots=True)
class Metadata:
    """`dependencies` are always installed; `extras` and `groups` map names to requirements."""

    name: str
    dependencies: tuple[str, ...]
    extras: Mapping[str, Sequence[Any]]
    groups: Mapping[str, Sequence[Any]]
    is_package: bool

    def choose_group(self, packages: Iterable[str]) -> tuple[str, bool]:
        """The extra or group of the tests, and whether it is an extra; empty if there is none.

        One that declares a missing package comes first.
        """
        wanted = {_normalize(package) for package in packages}
        both = [(name, True) for name in TEST_GROUPS if name in self.extras and self.is_package]
        both += [(name, False) for name in TEST_GROUPS if name in self.groups]
        declaring = (one for one in both if wanted & self.covered_packages(*one))
        return next(declaring, both[0] if both else ("", False))

    def covered_packages(self, group: str, is_extra: bool) -> set[str]:
        """The packages that installing the project with the group brings."""
        own = set(self.dependencies) if self.is_package else set()
        return {_normalize(name) for name in (*own, *self._list(group, is_extra, set()))}

    def _list(self, group: str, is_extra: bool, seen: set[str]) -> Iterator[str]:
        if group in seen:
            return
        seen.add(group)
        for one in (self.extras if is_extra else self.groups).get(group, ()):
            if isinstance(one, dict):
                yield from self._list(str(one.get("include-group", "")), False, seen)
            elif match := _NAME.match(str(one)):
                yield match[1]
                if _normalize(match[1]) == _normalize(self.name):
                    for extra in (match[2] or "").split(","):
                        yield from self._list(extra.strip(), True, seen)


def _read_metadata(folder: Path) -> Metadata:
    table = _read_toml(folder / "pyproject.toml")
    project = _table(table, "project")
    extras = {**_read_setup_cfg(folder / "setup.cfg"), **_table(project, "optional-dependencies")}
    requirements = project.get("dependencies", [])
    names = (_NAME.match(str(one)) for one in requirements if isinstance(requirements, list))
    has_script = any((folder / name).is_file() for name in ("setup.py", "setup.cfg"))
    return Metadata(
        str(project.get("name", "")),
        tuple(match[1] for match in names if match),
        {key: value for key, value in extras.items() if isinstance(value, list)},
        {k: v for k, v in _table(table, "dependency-groups").items() if isinstance(v, list)},
        bool(project) or has_script,
    )


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_read(file).decode())
    except (OSError, ValueError, RecursionError):
        return {}  # `init` reports an unreadable manifest by itself


def _read_setup_cfg(file: Path) -> dict[str, list[str]]:
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(_read(file).decode())
    except (OSError, ValueError, configparser.Error):
        return {}
    section = "options.extras_require"
    pairs = parser.items(section) if parser.has_section(section) else []
    return {name: text.split("\n") for name, text in pairs}


def _read(file: Path) -> bytes:
    """Empty for a link, which may lead anywhere."""
    return read_plain_bytes(file, FILE_BYTES_MAX) or b""


def _table(data: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = data.get(key)
    return value if isinstance(value, dict) else {}


def _install_command(metadata: Metadata, packages: Sequence[str], cwd: str) -> str:
    group, is_extra = metadata.choose_group(packages)
    if not group:
        return f"{PIP} {' '.join(packages)}"
    place = "." if cwd == "." else f"./{cwd}"
    editable = (
        f'-e "{place}[{group}]"' if is_extra else f"-e {place}" if metadata.is_package else ""
    )
    file = f"{group}" if cwd == "." else f"{cwd}/pyproject.toml:{group}"
    words = [editable, "" if is_extra else f"--group {file}"]
    covered = metadata.covered_packages(group, is_extra)
    words += [package for package in packages if _normalize(package) not in covered]
    return f"{PIP} {' '.join(word for word in words if word)}"


def _normalize(package: str) -> str:
    return re.sub(r"[-_.]+", "-", package).lower()
