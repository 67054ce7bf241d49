"""Top-level modules that belong to others: Python, the runner of the checks, and what they need.

A new file of that name in a searched folder is loaded in their place, before the first test.  The
environment of a check is not known here, so the names come from three places: what runners are
known to load, what the repository declares or locks, and the standard library.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from posixpath import basename
from typing import Any

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.definition.file_index import FileIndex
from yaoki.formats.quality.definition.node_modules import read_json

# Loaded at the start of any test runner, or by plugins that load themselves.
_ALWAYS = (
    "iniconfig packaging pygments py exceptiongroup tomli colorama attr attrs typing_extensions"
    " execnet xdist sortedcontainers _hypothesis_pytestplugin _hypothesis_ftz_detector"
    " _hypothesis_globals anyio sniffio idna pkg_resources setuptools _distutils_hack"
    " importlib_metadata zipp"
)
_PLUGIN = lazy_compile(r"_?pytest_\w+")
# Loaded by one program; some of these names are common words.
_BY_TOOL: Mapping[str, str] = {
    "tox": "virtualenv filelock cachetools chardet platformdirs pyproject_api distlib",
    "nox": "argcomplete colorlog dependency_groups virtualenv filelock humanize distlib",
    "mypy": "mypyc mypy_extensions pathspec librt ast_serialize lxml",
    "flake8": "pycodestyle pyflakes mccabe",
    "pylint": "astroid dill isort mccabe platformdirs tomlkit",
    "black": "blib2to3 click mypy_extensions pathspec platformdirs pytokens",
    "behave": "parse parse_type six cucumber_expressions cucumber_tag_expressions",
    "ward": "click rich pprintpp click_default_group cucumber_tag_expressions",
    "testtools": "fixtures extras",
    "stestr": "subunit fixtures testtools cliff voluptuous",
    "trial": "twisted zope constantly incremental hyperlink automat",
    "green": "green unidecode lxml",
    "xmlrunner": "lxml",
    "bandit": "stevedore yaml rich pbr",
    "manage.py": "django asgiref sqlparse",
}
# Where the name of a distribution is not that of its module.
_MODULES: Mapping[str, tuple[str, ...]] = {
    "pyyaml": ("yaml", "_yaml"),
    "pillow": ("PIL",),
    "beautifulsoup4": ("bs4",),
    "scikit_learn": ("sklearn",),
    "scikit_image": ("skimage",),
    "python_dateutil": ("dateutil",),
    "python_dotenv": ("dotenv",),
    "attrs": ("attr", "attrs"),
    "protobuf": ("google",),
    "opencv_python": ("cv2",),
    "setuptools": ("setuptools", "pkg_resources", "_distutils_hack"),
    "pyjwt": ("jwt",),
    "pycryptodome": ("Crypto",),
    "pyserial": ("serial",),
    "psycopg2_binary": ("psycopg2",),
    "mysqlclient": ("MySQLdb",),
    "msgpack_python": ("msgpack",),
    "djangorestframework": ("rest_framework",),
    "markdown_it_py": ("markdown_it",),
    "faker": ("faker",),
    "gitpython": ("git",),
    "pytest_cov": ("pytest_cov", "coverage"),
    "unittest_xml_reporting": ("xmlrunner",),
}
_REQUIREMENTS = lazy_compile(
    r"(?:^|/)(?:[\w.-]*(?:requirements|constraints)[\w.-]*|requirements/[^/]+)\.(?:txt|in)$"
)
_LOCKED = lazy_compile(r'^name\s*=\s*"([\w.-]+)"(?:\n(?!\[\[)[^\n]*){0,3}', re.MULTILINE)
_OWN = lazy_compile(r"\b(?:editable|virtual|directory)\s*=")
_REQUIREMENT = lazy_compile(r"\s*([A-Za-z0-9][\w.-]*)")
_LOCKS = frozenset({"uv.lock", "poetry.lock", "pdm.lock", "pylock.toml"})


class ForeignModules:
    """Names of top-level modules that code outside of the repository has."""

    def __init__(self, base: FileIndex, tools: Iterable[str]) -> None:
        self._base = base
        loaded = (_ALWAYS, *(_BY_TOOL.get(tool, "") for tool in tools))
        self._loaded = frozenset(" ".join(loaded).split())

    def has(self, name: str) -> bool:
        known = name in sys.stdlib_module_names or name in self._loaded
        return known or _PLUGIN.fullmatch(name) is not None or name in self._declared

    @cached_property
    def _declared(self) -> frozenset[str]:
        base = self._base
        found = {_plain(name) for path in base.paths for name in _declared_in(path, base)}
        return frozenset(one for name in found for one in _MODULES.get(name, (name,)))


def _plain(name: str) -> str:
    return re.sub(r"[-.]+", "_", name).lower()


def _declared_in(path: str, files: FileIndex) -> Iterator[str]:
    """The names of the distributions that a file of the repository asks for or locks."""
    name = basename(path)
    if name == "pyproject.toml":
        yield from _in_project(_read_toml(files.text(path)))
    elif name in _LOCKS:
        text = files.text(path)
        yield from (hit[1] for hit in _LOCKED.finditer(text) if not _OWN.search(hit[0]))
    elif name == "Pipfile.lock":
        data = read_json(path, files)
        yield from (one for key in ("default", "develop") for one in _table(data.get(key)))
    elif _REQUIREMENTS.search(path):
        yield from _names(files.text(path).splitlines())


def _in_project(data: dict[str, Any]) -> Iterator[str]:
    project, poetry = _table(data.get("project")), _table(_table(data.get("tool")).get("poetry"))
    lists = [project.get("dependencies"), *_table(project.get("optional-dependencies")).values()]
    lists += _table(data.get("dependency-groups")).values()
    own = _plain(str(project.get("name") or poetry.get("name") or ""))
    names = [name for one in lists if isinstance(one, list) for name in _names(one)]
    groups = [_table(one) for one in _table(poetry.get("group")).values()]
    for table in (poetry, *groups):
        names += [*_table(table.get("dependencies")), *_table(table.get("dev-dependencies"))]
    yield from (name for name in names if _plain(name) not in (own, "python"))


def _names(lines: Iterable[object]) -> Iterator[str]:
    for line in lines:
        hit = _REQUIREMENT.match(line) if isinstance(line, str) else None
        if hit:
            yield hit[1]


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _read_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return {}
