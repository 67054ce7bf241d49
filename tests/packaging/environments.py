"""Distributions built from this tree, and empty environments to install them into."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
UV = Path(sys.executable).with_name("uv")
TIMEOUT_S = 300


def call(words: Sequence[str | Path], cwd: Path, env: dict[str, str] | None = None) -> str:
    """The standard output of a program that must succeed."""
    done = subprocess.run(
        words, cwd=cwd, env=env, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def build(folder: Path, kind: str) -> Path:
    """Build one distribution, `wheel` or `sdist`, into a folder.

    The build backend is that of the lock file, so a build needs no network.
    """
    call((sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", folder), ROOT)
    (built,) = folder.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return built


@dataclass(frozen=True)
class Installation:
    """An environment that holds yaoki's wheel, its dependencies and nothing else."""

    folder: Path
    home: Path

    @property
    def env(self) -> dict[str, str]:
        """The variables of a new user: an own home, and the installed programs first."""
        return {
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "PATH": f"{self.folder / 'bin'}:/usr/local/bin:/usr/bin:/bin",
            "GIT_CONFIG_GLOBAL": os.devnull,
        }

    def install(self, *words: str | Path) -> None:
        python = self.folder / "bin" / "python"
        call((UV, "pip", "install", "-q", "--python", python, *words), self.home)

    def run(self, *words: str, cwd: Path) -> str:
        return call(words, cwd, self.env)


def make_environment(folder: Path) -> Installation:
    """An environment without any package, and a home without any file."""
    folder.mkdir(parents=True)
    call((UV, "venv", "-q", "--python", sys.executable, folder / "venv"), folder)
    home = folder / "home"
    home.mkdir()
    return Installation(folder / "venv", home)


def install_locked(wheel: Path, folder: Path) -> Installation:
    """Install a wheel with the dependencies of the lock file, which uv has in its cache."""
    made = make_environment(folder)
    made.install("--require-hashes", "-r", ROOT / "requirements.lock")
    made.install("--no-deps", wheel)
    return made


def install_resolved(wheel: Path, folder: Path, resolution: str) -> Installation:
    """Install a wheel with the `lowest-direct` or `highest` versions that its metadata allows."""
    made = make_environment(folder)
    made.install("--resolution", resolution, wheel)
    return made
