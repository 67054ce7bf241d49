"""Where an installed package comes from, by what its package manager recorded beside it.

A project may depend on a release of itself: those files equal tracked ones, but no change of a
source makes them stale.  A record is believed only about files that were written before it: set-up
may have copied sources over a package afterwards.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Collection, Mapping
from enum import Enum, auto
from pathlib import Path
from typing import Any

from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.core.lazy_pattern import lazy_compile

NODE_PACKAGES, NPM_RECORD = "node_modules", ".package-lock.json"
# npm may leave the address of a registry out, but never that of a folder or of a local archive.
REGISTRIES = ("https://", "http://")
LOCAL_ADDRESS = "file:"
DIST_INFO, PYTHON_RECORD = ".dist-info", "RECORD"
DIRECT_URL, DIRECT_URL_BYTES_MAX = "direct_url.json", 10_000
# A Python project whose name and version only such a file knows.
LEGACY_MANIFESTS = frozenset({"setup.py", "setup.cfg"})
_RELEASE = lazy_compile(r"v?(\d+(?:\.\d+)*)")


class Origin(Enum):
    """`LOCAL`: from a folder or an archive on this machine, such as the sources themselves."""

    RELEASED = auto()
    LOCAL = auto()
    UNKNOWN = auto()


@dataclass(slots=True)
class PackageOrigins:
    """The origins of packages below `top`; `tracked` and `output` are the files there."""

    top: Path
    tracked: Collection[str]
    output: Collection[str]
    _npm_records: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def find(self, path: str) -> Origin:
        """The origin of the package that contains this file."""
        if NODE_PACKAGES in path.split("/")[:-1]:
            return self._find_in_node(path)
        return self._find_in_python(path)

    def _find_in_node(self, path: str) -> Origin:
        parts = path.split("/")[:-1]
        first = parts.index(NODE_PACKAGES)
        last = len(parts) - 1 - parts[::-1].index(NODE_PACKAGES)
        length = 3 if parts[last + 1 :] and parts[last + 1].startswith("@") else 2
        root, package = "/".join(parts[: first + 1]), "/".join(parts[first : last + length])
        record = self.top / root / NPM_RECORD
        entry = self._npm_packages(root, record).get(package)
        if not isinstance(entry, dict):
            return Origin.UNKNOWN
        address = entry.get("resolved", REGISTRIES[0])
        if entry.get("link") or str(address).startswith(LOCAL_ADDRESS):
            return Origin.LOCAL
        manifest = self.top.joinpath(*parts[: last + length], "package.json")
        is_whole = _read_json(manifest).get("version") == entry.get("version")
        is_release = entry.get("integrity") and str(address).startswith(REGISTRIES)
        is_older = _is_older(self.top / path, record) and _is_older(manifest, record)
        return Origin.RELEASED if is_release and is_whole and is_older else Origin.UNKNOWN

    def _npm_packages(self, root: str, record: Path) -> Mapping[str, Any]:
        """npm writes its record when all packages are there, before the project's own scripts."""
        if root not in self._npm_records:
            packages = _read_json(record).get("packages")
            self._npm_records[root] = packages if isinstance(packages, dict) else {}
        return self._npm_records[root]

    def _find_in_python(self, path: str) -> Origin:
        owner = self._find_distribution(path)
        if owner is None:
            return Origin.UNKNOWN
        if (owner / DIRECT_URL).exists():
            address = str(_read_json(owner / DIRECT_URL).get("url", LOCAL_ADDRESS))
            return Origin.LOCAL if address.startswith(LOCAL_ADDRESS) else Origin.UNKNOWN
        name, _, version = owner.name.removesuffix(DIST_INFO).partition("-")
        is_older = _is_older(self.top / path, owner / PYTHON_RECORD)
        is_other = is_older and self._is_other_release(_normalize(name), version)
        return Origin.RELEASED if is_other else Origin.UNKNOWN

    def _find_distribution(self, path: str) -> Path | None:
        """The metadata of the distribution that recorded this file."""
        for record in self.output:
            folder, _, name = record.rpartition("/")
            site = folder.rpartition("/")[0]
            if name != PYTHON_RECORD or not folder.endswith(DIST_INFO):
                continue
            if path.startswith(f"{site}/") and self._is_listed(record, path[len(site) + 1 :]):
                return self.top / folder
        return None

    def _is_listed(self, record: str, path: str) -> bool:
        lines = (self.top / record).read_text("utf-8", "replace").splitlines()
        return any(line.startswith(f"{path},") for line in lines)

    def _is_other_release(self, name: str, version: str) -> bool:
        """Not what a wheel of this project would be: an index on this machine leaves no trace."""
        for path in self.tracked:
            file = path.rpartition("/")[2]
            if file in LEGACY_MANIFESTS:
                return False
            if file == "pyproject.toml" and self._may_make(self.top / path, name, version):
                return False
        return True

    def _may_make(self, manifest: Path, name: str, version: str) -> bool:
        try:
            project = tomllib.loads(manifest.read_text("utf-8")).get("project")
        except (OSError, ValueError):
            return True
        if not isinstance(project, dict) or not isinstance(project.get("name"), str):
            return True
        if _normalize(project["name"]) != name:
            return False
        own = project.get("version")
        return not isinstance(own, str) or _release_number(own) == _release_number(version)


def _is_older(file: Path, record: Path) -> bool:
    """By the ctime, which no ordinary program can set back."""
    try:
        return os.lstat(file).st_ctime_ns < os.lstat(record).st_ctime_ns
    except OSError:
        return False


def _read_json(file: Path) -> Mapping[str, Any]:
    """An empty one if the file is absent or no object."""
    try:
        document = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def _release_number(version: str) -> tuple[int, ...]:
    """Versions are written in several ways, so those that begin alike may be the same."""
    begin = _RELEASE.match(version)
    numbers = [int(number) for number in begin[1].split(".")] if begin else []
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def _normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
