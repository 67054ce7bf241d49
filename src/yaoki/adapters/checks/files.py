"""Checks on files of the worktree: exists, absent, contains, matches."""

from __future__ import annotations

from pathlib import Path

from yaoki.adapters.checks.findings import make_broken, make_failed, make_passed
from yaoki.adapters.checks.output import contains_text, is_blank
from yaoki.adapters.checks.readers import CommandOutput, extract
from yaoki.adapters.checks.runner import CheckProcesses
from yaoki.adapters.checks.search import search_file
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import CheckSpec, Finding, FindingItem, Outcome
from yaoki.core.model.outcome import bound_items
from yaoki.core.text import one_line

FILE_CONDITIONS = ("exists", "absent", "contains", "matches")
TEXT_CHARS_SHOWN = 100


def check_files(spec: CheckSpec, worktree: Path, runner: CheckProcesses) -> Finding:
    """Every condition must hold; the first that does not is reported."""
    defect = _defect(spec)
    if defect:
        return make_broken(spec, defect)
    for name in FILE_CONDITIONS:
        if spec.file.get(name):
            finding = _check_condition(name, spec, worktree, runner)
            if finding is not None:
                return _with_params(spec, finding, worktree)
    return make_passed(spec)


def _with_params(spec: CheckSpec, finding: Finding, worktree: Path) -> Finding:
    """Adds what the extractors of the plan find; for a file check that is the missing paths."""
    if not spec.extract or finding.outcome is not Outcome.FAILED:
        return finding
    named = (path for name in FILE_CONDITIONS if spec.file.get(name) for path in _paths(name, spec))
    missing = tuple(path for path in dict.fromkeys(named) if not _exists(worktree / path))
    output = CommandOutput(None, worktree=worktree, missing=missing)
    return replace(finding, params={**finding.params, **extract(spec.extract, output)})


def _defect(spec: CheckSpec) -> str:
    conditions = [name for name in FILE_CONDITIONS if spec.file.get(name)]
    if not conditions:
        return f"the file check has no condition; it needs one of {', '.join(FILE_CONDITIONS)}"
    if unknown := [name for name in spec.file if name not in (*FILE_CONDITIONS, "path")]:
        return f"there is no file check {unknown[0]!r}"
    paths = [path for name in conditions for path in _paths(name, spec)]
    if not paths or not all(paths):
        return "the file check names no path"
    if outside := [path for path in paths if Path(path).is_absolute() or ".." in Path(path).parts]:
        return f"{outside[0]!r} is not a path inside the worktree"
    return ""


def _paths(name: str, spec: CheckSpec) -> list[str]:
    """The paths of a condition: its own, otherwise the path of the check."""
    own_path = spec.path or str(spec.file.get("path", ""))
    match name, spec.file[name]:
        case (("exists" | "absent"), str(path)):
            return [path]
        case (("exists" | "absent"), [*paths]):
            return [str(path) for path in paths]
        case _:
            return [own_path]


def _check_condition(
    name: str, spec: CheckSpec, worktree: Path, runner: CheckProcesses
) -> Finding | None:
    paths = _paths(name, spec)
    if outside := [path for path in paths if not _is_inside(worktree, path)]:
        return _fail_for_paths(spec, outside[:1], "leads out of the worktree", "check-failed")
    match name:
        case "exists":
            missing = [path for path in paths if not (worktree / path).exists()]
            return _fail_for_paths(
                spec, missing, "does not exist", "file-not-exists", "do not exist"
            )
        case "absent":
            present = [path for path in paths if _exists(worktree / path)]
            return _fail_for_paths(
                spec, present, "exists and must not", "check-failed", "exist and must not"
            )
        case _:
            return _check_text(name, spec, worktree, paths[0], runner)


def _exists(file: Path) -> bool:
    """True for a dangling link, too."""
    return file.exists() or file.is_symlink()


def _is_inside(worktree: Path, path: str) -> bool:
    """False where a link, which an agent may have made, leads out of the worktree."""
    return (worktree / path).resolve().is_relative_to(worktree.resolve())


def _fail_for_paths(
    spec: CheckSpec, paths: list[str], defect: str, pattern: str, plural: str = ""
) -> Finding | None:
    if not paths:
        return None
    items = bound_items([FindingItem(path, defect, path) for path in paths], len(paths))
    message = plural if len(paths) > 1 else defect
    return make_failed(spec, f"{', '.join(paths)} {message}", pattern, items=items)


def _check_text(
    name: str, spec: CheckSpec, worktree: Path, path: str, runner: CheckProcesses
) -> Finding | None:
    file, text = worktree / path, str(spec.file[name])
    if not file.is_file():
        defect = "exists but is not a file" if file.exists() else "does not exist"
        return _fail_for_paths(spec, [path], defect, "file-not-exists")
    if name == "matches":
        return search_file(spec, runner, text, file, path)
    if contains_text(file, text):
        return None
    defect = f"does not contain {one_line(text, TEXT_CHARS_SHOWN)!r}{_explain_absence(file)}"
    return _fail_for_paths(spec, [path], defect, "check-failed")


def _explain_absence(file: Path) -> str:
    """The reason why the text is absent, if it is simple."""
    if file.is_symlink():
        return ": it is a link, and links are not followed"
    return ": it is empty" if is_blank(file) else ""
