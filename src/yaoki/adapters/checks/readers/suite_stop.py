"""Finds out why a suite did not run completely: what could not be loaded, and where it stopped.

Only lines in the form of the runners count.  core/decide/baseline.py decides whether the base or
the task is the cause.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from yaoki.adapters.checks.readers.command_output import CommandOutput
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile

MODULES_MAX = 20
TEXT_BYTES_MAX = 1 << 20
_NAME = r"([\w@./+-]{1,200})"
# A program that reports its own wrong call: `pytest: `, `python -m pytest: `.
_PROGRAM = r"(?:(?:\S{1,200} -m )?\S{0,200}: )?"
_LOAD = tuple(
    lazy_compile(shape)
    for shape in (
        r"!+ Interrupted: \d+ errors? during collection !+$",
        r"=* ?(?:_+ )?ERROR collecting ",
        r"INTERNALERROR> ",
        r"ERROR: (?:file or directory not found|not found|usage|found no collectors for)",
        rf"{_PROGRAM}error: unrecognized arguments: ",
        r"ImportError while loading conftest ",
        r"(?:E +)?fixture '\w+' not found$",
        r"ERROR: \S+ \(unittest\.loader\._FailedTest",
        r"ImportError: Failed to import test module: ",
        r" *● Test suite failed to run$",
        r"⎯+ Failed Suites \d+ ⎯+$",
        r"FAIL\t\S+ \[(?:build|setup) failed\]$",
        r"error: could not compile `",
        r"An error occurred while loading \S+",
    )
)
# A program that cannot open its script, or does not know an option: python, sh, node, pytest.
_FAILED_START = tuple(
    lazy_compile(shape)
    for shape in (
        r"\S{1,200}: can't open file ",
        r"(?:\S{0,200}/)?(?:da)?sh: \d{1,6}: cannot open .{1,300}: No such file$",
        r"Error: Cannot find module '/.{1,300}'$",
        rf"{_PROGRAM}[Ee]rror: (?:unrecognized arguments|[Nn]o such option)",
    )
)
# A command that names a file or an option that does not exist.
_WRONG_CALL = tuple(
    lazy_compile(shape)
    for shape in (
        *(shape.pattern for shape in _FAILED_START),
        r"ERROR: (?:file or directory not found|not found|found no collectors for)",
        rf"{_PROGRAM}[Ee]rror: argument -",
        r".{1,300}: No such file or directory$",
        # The runners of JavaScript: node, jest, vitest.
        r"Could not find '.{1,300}'$",
        r"No tests found, exiting with code 1",
        r"No test files found",
    )
)
_MISSING_PATH = lazy_compile(r"ERROR: file or directory not found: (.{1,300})$")
_EARLY = tuple(
    lazy_compile(shape)
    for shape in (
        r"!+ (stopping after \d+ failures?) !+$",
        r"!+ (?:_pytest\.outcomes\.Exit|xdist\.dsession\.Interrupted|KeyboardInterrupt)()",
        r"!+ Interrupted: (stopping after \d+ failures?) !+$",
        r"error: (test failed), to rerun pass ",
        r" *Cancell?ing due to (test failure|signal|timeout)",
        r"Test Suites: .{0,100}, (\d+ of \d+ total)$",
    )
)
_PYTHON = lazy_compile(rf"(?:E +)?ModuleNotFoundError: No module named '{_NAME}'")
_FIXTURE = lazy_compile(r"(?:E +)?fixture '(\w{1,100})' not found$")
_OPTIONS_LINE = lazy_compile(
    r"(?:\S{0,200}py\.?test|\S{1,200} -m pytest|__main__\.py): "
    r"error: unrecognized arguments: (-.{1,1000})"
)
_XDIST_NUMBER = lazy_compile(r"-n(?:\d{1,4}|auto|logical)?")
_PLUGIN = lazy_compile(
    rf"(?:ERROR|ImportError): Error importing plugin \"{_NAME}\": No module named "
)
_REQUIRED = lazy_compile(r"ERROR: Missing required plugins: (\S.{0,1000})")
_REQUIREMENT = lazy_compile(r"\w[\w.-]{0,100}")
_NODE = lazy_compile(
    r"\s*(?:\w*Error(?: \[\w+\])?: )?Cannot find (?:module|package) '([^'./][^']{0,200})'"
)
_GO = lazy_compile(rf".{{0,300}}no required module provides package {_NAME}")
_CARGO = lazy_compile(
    r"error(?:\[E\d+\])?: (?:can't find crate for|unresolved import) `(\w{1,100})"
)
_RUBY = lazy_compile(rf".{{0,300}}cannot load such file -- {_NAME} \(LoadError\)")
# Packages whose name differs from the module, fixture or option that they provide.
_PACKAGES: Mapping[str, str] = {
    "yaml": "PyYAML",
    "PIL": "Pillow",
    "cv2": "opencv-python",
    "sklearn": "scikit-learn",
    "bs4": "beautifulsoup4",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    "attr": "attrs",
    "jwt": "PyJWT",
    "git": "GitPython",
    "serial": "pyserial",
    "OpenSSL": "pyOpenSSL",
    "Crypto": "pycryptodome",
    "pkg_resources": "setuptools",
    "psycopg2": "psycopg2-binary",
}
_FIXTURES: Mapping[str, str] = {
    "benchmark": "pytest-benchmark",
    "mocker": "pytest-mock",
    "httpx_mock": "pytest-httpx",
    "httpserver": "pytest-httpserver",
    "requests_mock": "requests-mock",
    "freezer": "pytest-freezer",
    "snapshot": "syrupy",
    "datadir": "pytest-datadir",
    "faker": "Faker",
    "aiohttp_client": "pytest-aiohttp",
    "django_db": "pytest-django",
    "qtbot": "pytest-qt",
    "subtests": "pytest-subtests",
}
# The first words of options of pytest, which further words may follow (`--cov-append`).
_OPTIONS: Mapping[str, str] = {
    "--cov": "pytest-cov",
    "--no-cov": "pytest-cov",
    "--numprocesses": "pytest-xdist",
    "--maxprocesses": "pytest-xdist",
    "--dist": "pytest-xdist",
    "--forked": "pytest-forked",
    "--timeout": "pytest-timeout",
    "--reruns": "pytest-rerunfailures",
    "--benchmark": "pytest-benchmark",
    "--asyncio": "pytest-asyncio",
    "--randomly": "pytest-randomly",
    "--random-order": "pytest-random-order",
    "--mypy": "pytest-mypy",
    "--flake8": "pytest-flake8",
    "--ruff": "pytest-ruff",
    "--html": "pytest-html",
    "--json-report": "pytest-json-report",
    "--count": "pytest-repeat",
    "--doctest-plus": "pytest-doctestplus",
    "--remote-data": "pytest-remotedata",
    "--hypothesis": "hypothesis",
    "--snapshot": "syrupy",
    "--alluredir": "allure-pytest",
    "--ds": "pytest-django",
    "--reuse-db": "pytest-django",
    "--create-db": "pytest-django",
    "--no-migrations": "pytest-django",
    "--nomigrations": "pytest-django",
}
_PLUGINS: Mapping[str, str] = {"xdist": "pytest-xdist"}
_MANIFESTS = (
    *("pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "noxfile.py", "Pipfile"),
    *("requirements*.txt", "requirements/*.txt", "requirements/*.in", "*requirements.txt"),
    *("environment.yml", "package.json", "go.mod", "Cargo.toml", "Gemfile"),
)


@dataclass(frozen=True, slots=True)
class MissingPackage:
    """A package that is not installed, and the command that installs it."""

    name: str
    install_command: str


@dataclass(frozen=True, slots=True)
class SuiteStop:
    """`load_error`: the line that reports it.  `early_stop`: where the suite stopped early."""

    load_error: str = ""
    early_stop: str = ""
    missing_packages: tuple[MissingPackage, ...] = ()


def find_suite_stop(lines: Iterable[str], command: CommandOutput, load: str = "") -> SuiteStop:
    """`load`: the load error that a report or an exit code has already shown."""
    lines = tuple(lines)
    load_error = load or next((line for line in lines if _matches(line, _LOAD)), "")
    hits = (hit for line in lines for shape in _EARLY if (hit := shape.match(line)))
    early = next((hit[1] or hit[0].strip("! ") for hit in hits), "")
    missing = find_missing_packages(lines, command)
    return SuiteStop(load_error or (missing[0].name if missing else ""), early, missing)


def find_wrong_call(lines: Iterable[str]) -> str:
    """The line about a file or an option of the command that does not exist."""
    return next((line for line in lines if _matches(line, _WRONG_CALL)), "")


def is_unknown_pytest_option(line: str) -> bool:
    return _OPTIONS_LINE.match(line) is not None


def cannot_start(line: str) -> bool:
    """Does the line say that the program could not begin?  The work is not to blame for it."""
    return _matches(line, _FAILED_START)


def find_missing_path(line: str) -> str:
    """The path that pytest was given and did not find, without the name of a test."""
    hit = _MISSING_PATH.match(line)
    return hit[1].partition("::")[0].strip() if hit else ""


def _matches(line: str, shapes: Iterable[re.Pattern[str]]) -> bool:
    return any(shape.match(line) for shape in shapes)


def find_missing_packages(
    lines: Iterable[str], command: CommandOutput
) -> tuple[MissingPackage, ...]:
    """Each missing package once, without modules of the project itself."""
    packages: dict[str, MissingPackage] = {}
    for package in (one for line in lines for one in _parse_missing(line)):
        if len(packages) < MODULES_MAX and not _is_own_module(package.name, command.worktree):
            packages.setdefault(package.name, package)
    return tuple(packages.values())


def _parse_missing(line: str) -> Iterator[MissingPackage]:
    if hit := _PYTHON.match(line):
        top = hit[1].partition(".")[0]
        yield MissingPackage(top, f"python -m pip install {_PACKAGES.get(top, top)}")
    elif hit := _NODE.match(line):
        parts = hit[1].split("/")
        name = "/".join(parts[: 2 if hit[1].startswith("@") else 1])
        if not name.startswith("node:"):
            yield MissingPackage(name, f"npm install {name}")
    elif hit := _GO.match(line):
        yield MissingPackage(hit[1], f"go get {hit[1]}")
    elif hit := _CARGO.match(line):
        yield MissingPackage(hit[1], f"cargo add {hit[1]}")
    elif hit := _RUBY.match(line):
        yield MissingPackage(hit[1], "bundle install")
    else:
        names = dict.fromkeys(filter(None, _list_plugins(line)))
        yield from (MissingPackage(name, f"python -m pip install {name}") for name in names)


def _list_plugins(line: str) -> Iterator[str]:
    """The packages of the plugins that pytest misses; empty for an unknown one."""
    if hit := _FIXTURE.match(line):
        yield _FIXTURES.get(hit[1], "")
    elif hit := _OPTIONS_LINE.match(line):
        yield from map(_find_plugin_of_option, hit[1].split())
    elif hit := _PLUGIN.match(line):
        module = hit[1].partition(".")[0]
        yield _PLUGINS.get(module, module)
    elif hit := _REQUIRED.match(line):
        yield from (name[0] for one in hit[1].split(", ") if (name := _REQUIREMENT.match(one)))


def _find_plugin_of_option(word: str) -> str:
    if _XDIST_NUMBER.fullmatch(word):
        return "pytest-xdist"
    option = word.partition("=")[0]
    own = (name for name in _OPTIONS if option == name or option.startswith(f"{name}-"))
    return next((_OPTIONS[name] for name in own), "")


def join_install_commands(packages: Iterable[MissingPackage]) -> str:
    """One command for all packages of the same installer."""
    names: dict[str, dict[str, None]] = {}
    for package in packages:
        installer, _, name = package.install_command.rpartition(" ")
        names.setdefault(installer, {})[name] = None
    return "; ".join(f"{installer} {' '.join(each)}" for installer, each in names.items())


def _is_own_module(name: str, worktree: Path) -> bool:
    """True for a module of the repository, which is in no package index."""
    if worktree == Path() or "/" in name:
        return False
    places = (worktree, worktree / "src", worktree / "lib", worktree / "tests")
    return any((at / name).is_dir() or (at / f"{name}.py").is_file() for at in places)


def list_declared_packages(missing: Sequence[MissingPackage], worktree: Path) -> tuple[str, ...]:
    """Packages that the project declares; any other the task may have to create."""
    if not missing or worktree == Path():
        return ()
    files = (file for shape in _MANIFESTS for file in sorted(worktree.glob(shape))[:20])
    text = "\n".join(_read_text(file) for file in files)
    return tuple(package.name for package in missing if _declares(text, package))


def _declares(text: str, package: MissingPackage) -> bool:
    names = {package.name.lower(), package.install_command.rpartition(" ")[2].lower()}
    shapes = (re.escape(name).replace("_", "[-_]").replace(r"\-", "[-_]") for name in names)
    return any(re.search(rf"(?<![\w-]){shape}(?![\w-])", text) for shape in shapes)


def _read_text(file: Path) -> str:
    """Empty for a link, which may lead anywhere, and for a large file."""
    if file.is_symlink() or not file.is_file() or file.stat().st_size > TEXT_BYTES_MAX:
        return ""
    return file.read_text(encoding="utf-8", errors="replace").lower()
