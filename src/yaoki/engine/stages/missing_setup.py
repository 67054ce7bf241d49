"""A check that cannot run in its proof room: which `setup` would make what it needs?

The room holds the commit and the output of set-up.  What the user installed by hand in a folder
that git ignores is in neither, and a plan without `setup` makes it nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from yaoki.core.decide.classification import CHECK_UNFIT
from yaoki.core.model import Finding, Outcome
from yaoki.engine.stages.proof_room import ProofCheck
from yaoki.ports import Workspace

# For each such folder the files of a repository that tell what fills it, the surest first.
_PIP = "python3 -m venv {0} && {0}/bin/pip install"
_PYTHON: Mapping[str, str] = {
    "uv.lock": "[uv, sync]",
    "poetry.lock": "[poetry, install]",
    "requirements-dev.txt": f'"{_PIP} -r requirements-dev.txt"',
    "requirements.txt": f'"{_PIP} -r requirements.txt"',
    "pyproject.toml": f'"{_PIP} -e ."',
    "setup.py": f'"{_PIP} -e ."',
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


class MissingSetup:
    """Asked when a check has not passed."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def explain(self, case: ProofCheck, finding: Finding, commit: str) -> Finding:
        """The finding, with the `setup` that the plan lacks where that may be the cause."""
        if case.spec.type != "command" or case.task.spec.setup or not _failed(finding):
            return finding
        for folder in self._workspace.uncommitted.ignored_folders(tuple(FOLDERS)):
            command = self._command(folder, commit)
            if command and _concerns(folder, finding):
                words = (
                    f"; git ignores {folder}, so the proof room does not have it: "
                    f"add setup: [{command}] to the plan"
                )
                return replace(finding, message=f"{finding.message}{words}")
        return finding

    def _command(self, folder: str, commit: str) -> str:
        made = (
            how
            for file, how in FOLDERS[folder].items()
            if self._workspace.contents.has_path(commit, file)
        )
        return next(made, "").format(folder)


def _failed(finding: Finding) -> bool:
    """For good, and not because the check does more than look."""
    failed = finding.outcome in {Outcome.BROKEN, Outcome.FAILED}
    return failed and not finding.transient and finding.code != CHECK_UNFIT


def _concerns(folder: str, finding: Finding) -> bool:
    """Nothing could be started, a module is missing, or the folder itself is spoken of."""
    if finding.outcome is Outcome.BROKEN or finding.params.get("missingModules"):
        return True
    said = (finding.message, finding.output, *map(str, finding.params.values()))
    return any(f"{folder}/" in words for words in said)
