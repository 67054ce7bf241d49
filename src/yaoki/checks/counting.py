"""pytest is asked for a report although nobody named one, so that its tests are counted.

Without it an exit code is all there is: `--collect-only` in a settings file, or a module that ends
the process with zero, would pass for tests that ran.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import PurePosixPath

from yaoki.core.model import CheckSpec

REPORT = ("--junit-xml", "{report}")
_PROGRAMS = frozenset({"pytest", "py.test"})
# They start what comes after `run`, in an environment of their own.
_STARTERS = frozenset({"uv", "poetry", "pdm", "pipenv", "hatch", "rye"})
# Whoever asks for one of these wants no tests to run, or has a report already.
_OTHERWISE = (
    *("--junit", "--collect", "--help", "-h", "--version", "-V", "--fixtures", "--markers"),
    *("--setup-plan", "--setup-only", "--cache-show", "no:junitxml", "-pno:junitxml"),
)


def counted(spec: CheckSpec) -> CheckSpec:
    """The same check, with a report if it is pytest itself and nothing in it speaks against."""
    argv = spec.argv
    usual = spec.success == "exitCode:0" and "--" not in argv
    otherwise = "--co" in argv or any(word.startswith(_OTHERWISE) for word in argv)
    if not usual or otherwise or not _is_pytest(argv):
        return spec
    return replace(spec, argv=(*argv, *REPORT))


def _is_pytest(argv: tuple[str, ...]) -> bool:
    program = PurePosixPath(argv[0]).name if argv else ""
    if program in _STARTERS and argv[1:2] == ("run",):
        return _is_pytest(argv[2:])
    if program.startswith("python"):
        return ("-m", "pytest") in pairwise(argv[:6])
    return program in _PROGRAMS
