"""Fetches releases from whichever registries this machine uses, each once for all tests."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.acceptance.project import Completed
from tests.real_repositories.repository import Registry, Repository

BOUND_S = 3600
# It installs a dozen environments in the time in which pip installs one.
UV = Path(sys.executable).with_name("uv")
# Tools that a user has on the PATH, and the backends that pip needs to look at a release.
TOOLS = ("uv", "tox", "tox-uv", "nox", "poetry", "hatch")
BACKENDS = (
    *("setuptools", "wheel", "hatchling", "flit-core", "poetry-core"),
    *("hatch-vcs", "hatch-fancy-pypi-readme", "setuptools-scm"),
)


def call(words: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None) -> Completed:
    done = subprocess.run(
        words, cwd=cwd, env=env, capture_output=True, text=True, timeout=BOUND_S, check=False
    )
    return Completed(done.returncode, done.stdout, done.stderr)


def call_ok(words: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None) -> None:
    done = call(words, cwd, env)
    assert done.code == 0, f"{' '.join(words)}: {done.out}{done.err}"


def made_once(folder: Path, make: Callable[[Path], None]) -> Path:
    """The folder, made by whichever test comes first; the others wait until it is complete."""
    complete = folder.with_name(f"{folder.name}.complete")
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not complete.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            complete.touch()
    return folder


def install(home: Path, *words: str) -> None:
    """Install into an environment, which is made if there is none."""
    if not (home / "bin" / "python").exists():
        venv.create(home, symlinks=True)
    into = (str(UV), "pip", "install", "-q", "--python", str(home / "bin" / "python"))
    call_ok((*into, *words), home)


def fetch(one: Repository, python: Path, folder: Path) -> None:
    """The release, unpacked; `python` has the build backends that pip asks for its metadata."""
    match one.registry:
        case Registry.PYPI:
            fetch_from_pypi(one, python, folder)
        case Registry.NPM:
            call_ok(("npm", "pack", "--silent", f"{one.package}@{one.version}"), folder)
        case Registry.DEBIAN:
            return fetch_from_debian(one, folder)
    (archive,) = folder.iterdir()
    with tarfile.open(archive) as held:
        held.extractall(folder, filter="data")
    return archive.unlink()


def fetch_from_pypi(one: Repository, python: Path, folder: Path) -> None:
    get = (sys.executable, "-m", "pip", "--python", str(python), "download", "-q", "--no-deps")
    plain = ("--no-build-isolation", "--no-binary", one.package)
    call_ok((*get, *plain, f"{one.package}=={one.version}", "-d", "."), folder)


def fetch_from_debian(one: Repository, folder: Path) -> None:
    """The sources of a Rust package, which Debian installs for other packages to build with."""
    with tempfile.TemporaryDirectory() as own:
        call_ok(("apt-get", "download", "-q", one.package), Path(own))
        (archive,) = Path(own).iterdir()
        call_ok(("dpkg", "-x", str(archive), own), Path(own))
        (source,) = Path(own).glob("usr/share/cargo/registry/*")
        shutil.copytree(source, folder / source.name)


def change(one: Repository, folder: Path) -> None:
    """What has to be different so that the tests of the release run on this machine."""
    for name, old, new in one.changed:
        text = (folder / name).read_text(encoding="utf-8")
        assert old in text, f"{name} lacks {old!r}"
        new = new.replace("{index}", find_index()) if "{index}" in new else new
        (folder / name).write_text(text.replace(old, new, 1), encoding="utf-8")
    for name in one.left_out:
        (folder / name).unlink()
    if one.manifest is not None:
        file = folder / "package.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), **one.manifest}, indent=2))


def find_index() -> str:
    """The address of the index that pip uses on this machine."""
    pip = (sys.executable, "-m", "pip", "config", "get", "global.index-url")
    default = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"
    configured = os.environ.get("PIP_INDEX_URL") or call(pip, Path.cwd()).out.strip()
    return configured or call((sys.executable, "-c", default), Path.cwd()).out.strip()


def user_environment(project: Mapping[str, str], *first: Path) -> dict[str, str]:
    """The variables of a user with these folders first on the PATH and no active environment."""
    dropped = ("VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE")
    around = {name: value for name, value in project.items() if name not in dropped}
    return {**around, "PATH": os.pathsep.join((*map(str, first), os.environ["PATH"]))}
