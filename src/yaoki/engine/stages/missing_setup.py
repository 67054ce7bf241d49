"""Explains a check that cannot run in its proof room: which set-up would install what it needs?

The room contains the commit and the output of set-up.  What the user installed by hand in a folder
that git ignores is in neither, and a plan without `setup` does not create it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import PurePath

from yaoki.core.environment import VIRTUAL_ENV
from yaoki.core.lazy_dataclass import replace
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import CheckType, Finding, Outcome
from yaoki.core.model.outcome import MISSING_COMMAND_PARAM
from yaoki.engine.stages.proof_room import ProofCheck
from yaoki.errors import FatalCode
from yaoki.ports import Workspace

# For each such folder: the repository files that say how to fill it, the most specific first.
_PIP = '[sh, -c, "python3 -m venv {0} && {0}/bin/pip install'
_PYTHON: Mapping[str, str] = {
    "uv.lock": "[uv, sync]",
    "poetry.lock": "[poetry, install]",
    "requirements-dev.txt": f'{_PIP} -r requirements-dev.txt"]',
    "requirements.txt": f'{_PIP} -r requirements.txt"]',
    "pyproject.toml": f'{_PIP} -e ."]',
    "setup.py": f'{_PIP} -e ."]',
}
_NODE: Mapping[str, str] = {
    "pnpm-lock.yaml": "[pnpm, install, --frozen-lockfile]",
    "yarn.lock": "[yarn, install, --frozen-lockfile]",
    "bun.lock": "[bun, install, --frozen-lockfile]",
    "package-lock.json": "[npm, ci]",
    "package.json": "[npm, install]",
}
FOLDERS: Mapping[str, Mapping[str, str]] = {
    ".venv": _PYTHON,
    "venv": _PYTHON,
    "node_modules": _NODE,
    "vendor": {"composer.lock": "[composer, install]", "Gemfile.lock": "[bundle, install]"},
}
_NODE_PROGRAMS = frozenset({"npm", "npx", "pnpm", "yarn", "bun"})
_CANNOT_START = frozenset({FatalCode.RESOURCE_NOT_FOUND, FatalCode.PERMISSION_DENIED})
# In the words of shells, Python and node.
_MISSING = lazy_compile(
    r"(?i)no such file|not found|cannot (?:execute|open|find)|could not find|does not exist"
)


class MissingSetup:
    """Used when a check has not passed."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def explain(self, check: ProofCheck, finding: Finding, commit: str) -> Finding:
        """The finding, with the `setup` that the plan lacks if that may be the cause."""
        if check.spec.type is not CheckType.COMMAND or not _failed(finding):
            return finding
        if not check.task.spec.setup:
            for folder in self._workspace.uncommitted.ignored_folders(tuple(FOLDERS)):
                command = self._setup_command(folder, commit)
                if _has_environment(check, folder) or not command:
                    continue
                if _needs_folder(check, folder, finding):
                    remedy = _activate(check, folder) or _add(command)
                    hint = f"git ignores {folder}, so the proof room does not have it"
                    return _with_hint(finding, f"{hint}: {remedy}")
        missing = finding.params.get(MISSING_COMMAND_PARAM)
        return _with_hint(finding, self._suggest(check, commit, missing)) if missing else finding

    def _suggest(self, check: ProofCheck, commit: str, missing: str) -> str:
        """What to do about a command that was not found."""
        setup = check.task.spec.setup
        change = f"change checks.{check.spec.name}"
        if setup:
            commands = "; ".join(shlex.join(argv) for argv in setup)
            return f"set-up ({commands}) does not install it: install {missing}, or {change}"
        if _uses_package_manager(check) and (
            command := self._setup_command("node_modules", commit)
        ):
            return f"there is no set-up: {_add(command)}"
        return f"install {missing}, or {change}"

    def _setup_command(self, folder: str, commit: str) -> str:
        commands = (
            command
            for file, command in FOLDERS[folder].items()
            if self._workspace.contents.has_path(commit, file)
        )
        return next(commands, "").format(folder)


def _add(command: str) -> str:
    return f"add setup: [{command}] to the plan, or its commands to [setup] in yaoki.toml"


def _activate(check: ProofCheck, folder: str) -> str:
    """An environment in the checkout can be used as it is, unless the command names its files."""
    if FOLDERS[folder] is not _PYTHON or _names_files_of(check, folder):
        return ""
    return f"add env: {{VIRTUAL_ENV: {folder}}} to checks.{check.spec.name}"


def _with_hint(finding: Finding, hint: str) -> Finding:
    return replace(finding, message=f"{finding.message}; {hint}")


def _failed(finding: Finding) -> bool:
    """Permanently, and not because the check changed files."""
    failed = finding.outcome in {Outcome.BROKEN, Outcome.FAILED}
    return failed and not finding.transient and finding.code != FatalCode.CHECK_UNFIT


def _needs_folder(check: ProofCheck, folder: str, finding: Finding) -> bool:
    """Does the failure say that something of the folder is missing?  A traceback that passes
    through its files shows that they are there.
    """
    texts = (finding.message, finding.output, *map(str, finding.params.values()))
    lines = (line for text in texts for line in text.splitlines())
    if any(_is_missing_in(folder, line) for line in lines):
        return True
    remedy = str(finding.params.get("remedy", ""))
    if finding.params.get("missingModules") and remedy:
        return remedy.startswith("npm") == (FOLDERS[folder] is _NODE)
    return finding.code in _CANNOT_START and _starts_programs_of(check, folder)


def _is_missing_in(folder: str, line: str) -> bool:
    told = line.partition(" imported from ")[0]
    named = re.search(rf"(?<![\w.-]){re.escape(folder)}/", told)
    return named is not None and _MISSING.search(told) is not None


def _starts_programs_of(check: ProofCheck, folder: str) -> bool:
    """May a program that was not found be one of the folder's?"""
    if FOLDERS[folder] is _PYTHON or _names_files_of(check, folder):
        return True
    return FOLDERS[folder] is _NODE and _uses_package_manager(check)


def _names_files_of(check: ProofCheck, folder: str) -> bool:
    return any(f"{folder}/" in word for word in (*check.spec.argv, check.spec.shell))


def _uses_package_manager(check: ProofCheck) -> bool:
    words = (*check.spec.argv, *check.spec.shell.split())
    return not _NODE_PROGRAMS.isdisjoint(PurePath(word).name for word in words)


def _has_environment(check: ProofCheck, folder: str) -> bool:
    """Does the check have an environment already, whose files its command does not name?"""
    is_python = FOLDERS[folder] is _PYTHON
    return is_python and VIRTUAL_ENV in check.spec.env and not _names_files_of(check, folder)
