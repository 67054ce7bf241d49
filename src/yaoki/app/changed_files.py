"""Remedies for a check that changes tracked files on the base, by the files and the command."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from yaoki.app.remedies import REMEDY
from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import CheckSpec, Finding, Outcome

CHANGED = "changedFiles"
NAMES_SHOWN = 3
# Options that keep a tool from changing files, for tools that do so in some repositories.
_LOOKS: Sequence[tuple[tuple[str, ...], str]] = (
    (("ruff", "format"), "--check"),
    (("ruff",), "--no-fix"),
    (("eslint",), "--no-fix"),
    (("black",), "--check"),
    (("isort",), "--check"),
    (("prettier",), "--check"),
    (("cargo", "fmt"), "--check"),
    (("rustfmt",), "--check"),
)
_OUTPUT_FOLDER = lazy_compile(
    r".+\.(?:egg-info|dist-info)|__pycache__|\.(?:pytest|mypy|ruff)_cache|htmlcov|\.nyc_output"
    r"|test-results|playwright-report|\.hypothesis|\.tox|\.nox|node_modules"
)
_OUTPUT_FILE = lazy_compile(
    r"\.coverage(?:\..+)?|(?:clover|coverage)\.(?:xml|json|lcov|info|out)|lcov\.info|cover\.out"
    r"|(?:junit|report|test-?reports?|test-?results?)(?:[-_.].{0,60})?\.(?:xml|json|html|txt)"
    r"|\.testmondata|\.eslintcache|.+\.(?:tsbuildinfo|pyc|profraw|log)",
    re.IGNORECASE,
)
_SNAPSHOT = lazy_compile(r"(?:.*/)?__snapshots?__/.+|.+\.(?:snap|ambr)")
# Lock files, and what keeps their tool from writing them.
_LOCKS: Mapping[str, str] = {
    "Cargo.lock": "add --locked",
    "uv.lock": "add --locked",
    "yarn.lock": "use yarn install --immutable",
    "package-lock.json": "use npm ci",
    "pnpm-lock.yaml": "add --frozen-lockfile",
    "go.sum": "add -mod=readonly",
    **dict.fromkeys(("poetry.lock", "pdm.lock", "Pipfile.lock", "Gemfile.lock"), ""),
    "composer.lock": "",
}
_GENERIC = (
    "a check must not change files: let it only report; if it generates them, let git ignore them "
    "(git rm --cached FILE, and add FILE to .gitignore)"
)


@dataclass(frozen=True, slots=True)
class ChangeRemedy:
    """A remedy in words, and its command if there is one."""

    words: str
    command: str = ""


def make_unfit_finding(finding: Finding, spec: CheckSpec, changed: Sequence[str]) -> Finding:
    """A run refuses such a check as well, but only after an agent has worked."""
    remedy = suggest_remedy(changed, spec.argv or tuple(spec.shell.split()))
    shown = list(changed[:NAMES_SHOWN])
    message = f"changes files of the repository ({', '.join(shown)}); {remedy.words}"
    params = {CHANGED: shown} | ({REMEDY: remedy.command} if remedy.command else {})
    return replace(finding, outcome=Outcome.BROKEN, message=message, items=(), params=params)


def suggest_remedy(changed: Sequence[str], words: Sequence[str]) -> ChangeRemedy:
    """`words` are those of the command."""
    if outputs := list(dict.fromkeys(filter(None, map(_generated_path, changed)))):
        return _stop_tracking(outputs)
    for tool, option in _LOOKS:
        if set(tool) <= set(words):
            return ChangeRemedy(f"add {option}")
    if all(_SNAPSHOT.fullmatch(path) for path in changed):
        return ChangeRemedy(
            "commit the snapshots that it writes, and let it only compare them (jest: --ci, no -u)"
        )
    names = {PurePosixPath(path).name for path in changed}
    if names <= _LOCKS.keys():
        options = "".join(f", or {_LOCKS[name]}" for name in sorted(names) if _LOCKS[name])
        return ChangeRemedy(f"run it in your checkout and commit the lock file{options}")
    return ChangeRemedy(_GENERIC)


def _generated_path(path: str) -> str:
    """The output folder that contains the file, else the file if it is one; empty otherwise."""
    parts = path.split("/")
    for number, part in enumerate(parts[:-1], start=1):
        if _OUTPUT_FOLDER.fullmatch(part):
            return "/".join(parts[:number]) + "/"
    return path if _OUTPUT_FILE.fullmatch(parts[-1]) else ""


def _stop_tracking(outputs: Sequence[str]) -> ChangeRemedy:
    is_one = len(outputs) == 1
    words = "it is generated: let git ignore it" if is_one else "let git ignore generated files"
    shown = outputs[:NAMES_SHOWN]
    paths = shlex.join(path.rstrip("/") for path in shown)
    lines = shlex.join(f"/{path}" for path in shown)
    command = f"git rm -r --cached {paths} && printf '%s\\n' {lines} >> .gitignore"
    return ChangeRemedy(f"{words}, and commit that", command)
