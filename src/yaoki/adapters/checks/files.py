"""Checks on files of the worktree: exists, absent, contains, matches."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from yaoki.adapters.checks.findings import bound_items, make_broken, make_failed, make_passed
from yaoki.adapters.checks.output import contains_text, is_blank
from yaoki.adapters.checks.readers import CommandOutput, extract
from yaoki.adapters.checks.runner import CheckProcesses
from yaoki.adapters.checks.search import search_file
from yaoki.core.model import CheckSpec, Finding, FindingItem, Outcome
from yaoki.core.text import one_line

FILE_CONDITIONS = ("exists", "absent", "contains", "matches")
TEXT_CHARS_SHOWN = 100


def check_files(spec: CheckSpec, worktree: Path, runner: CheckProcesses) -> Finding:
    """Every condition must hold; the first that does not is told."""
    defect = _defect(spec)
    if defect:
        return make_broken(spec, defect)
    for name in FILE_CONDITIONS:
        if spec.file.get(name):
            finding = _condition(name, spec, worktree, runner)
            if finding is not None:
                return _with_params(spec, finding, worktree)
    return make_passed(spec)


def _with_params(spec: CheckSpec, finding: Finding, worktree: Path) -> Finding:
    """What the plan asks to be told of this failure; of a file check that is what is missing."""
    if not spec.extract or finding.outcome is not Outcome.FAILED:
        return finding
    asked = (path for name in FILE_CONDITIONS if spec.file.get(name) for path in _paths(name, spec))
    missing = tuple(path for path in dict.fromkeys(asked) if not _there(worktree / path))
    seen = CommandOutput(None, worktree=worktree, missing=missing)
    return replace(finding, params={**finding.params, **extract(spec.extract, seen)})


def _defect(spec: CheckSpec) -> str:
    asked = [name for name in FILE_CONDITIONS if spec.file.get(name)]
    if not asked:
        return f"the file check asks nothing; it needs one of {', '.join(FILE_CONDITIONS)}"
    if unknown := [name for name in spec.file if name not in (*FILE_CONDITIONS, "path")]:
        return f"there is no file check {unknown[0]!r}"
    paths = [path for name in asked for path in _paths(name, spec)]
    if not paths or not all(paths):
        return "the file check names no path"
    if away := [path for path in paths if Path(path).is_absolute() or ".." in Path(path).parts]:
        return f"{away[0]!r} is not a path inside the worktree"
    return ""


def _paths(name: str, spec: CheckSpec) -> list[str]:
    """The paths of a condition: its own, or the one the check is about."""
    about = spec.path or str(spec.file.get("path", ""))
    match name, spec.file[name]:
        case (("exists" | "absent"), str(path)):
            return [path]
        case (("exists" | "absent"), [*paths]):
            return [str(path) for path in paths]
        case _:
            return [about]


def _condition(
    name: str, spec: CheckSpec, worktree: Path, runner: CheckProcesses
) -> Finding | None:
    paths = _paths(name, spec)
    if out := [path for path in paths if not _inside(worktree, path)]:
        return _listed(spec, out[:1], "leads out of the worktree", "check-failed")
    match name:
        case "exists":
            missing = [path for path in paths if not (worktree / path).exists()]
            return _listed(spec, missing, "does not exist", "file-not-exists", "do not exist")
        case "absent":
            there = [path for path in paths if _there(worktree / path)]
            return _listed(spec, there, "exists and must not", "check-failed", "exist and must not")
        case _:
            return _text(name, spec, worktree, paths[0], runner)


def _there(file: Path) -> bool:
    """A link to nothing is there as well."""
    return file.exists() or file.is_symlink()


def _inside(worktree: Path, path: str) -> bool:
    """A link the agent made may lead anywhere; only what stays here counts."""
    return (worktree / path).resolve().is_relative_to(worktree.resolve())


def _listed(
    spec: CheckSpec, paths: list[str], words: str, pattern: str, of_many: str = ""
) -> Finding | None:
    if not paths:
        return None
    items = bound_items([FindingItem(path, words, path) for path in paths], len(paths))
    said = of_many if len(paths) > 1 else words
    return make_failed(spec, f"{', '.join(paths)} {said}", pattern, items=items)


def _text(
    name: str, spec: CheckSpec, worktree: Path, path: str, runner: CheckProcesses
) -> Finding | None:
    file, text = worktree / path, str(spec.file[name])
    if not file.is_file():
        words = "is there and no file" if file.exists() else "does not exist"
        return _listed(spec, [path], words, "file-not-exists")
    if name == "matches":
        return search_file(spec, runner, text, file, path)
    if contains_text(file, text):
        return None
    words = f"does not contain {one_line(text, TEXT_CHARS_SHOWN)!r}{_found(file)}"
    return _listed(spec, [path], words, "check-failed")


def _found(file: Path) -> str:
    """What is there instead, where that is told in a word."""
    if file.is_symlink():
        return ": it is a link, and only a file itself is read"
    return ": it is empty" if is_blank(file) else ""
