"""Checks on git facts, which the workspace supplies: only it runs git."""

from __future__ import annotations

from collections.abc import Sequence

from yaoki.adapters.checks.findings import make_broken, make_failed, make_passed
from yaoki.core.model import CheckSpec, Finding, FindingItem, GitCheck
from yaoki.core.model.outcome import bound_items
from yaoki.core.scope import paths_outside_scope
from yaoki.ports import CheckFacts


def check_git(spec: CheckSpec, facts: CheckFacts) -> Finding:
    """A missing fact makes the check BROKEN."""
    match spec.git:
        case GitCheck.NONE:
            return make_broken(spec, "the check names no fact about git")
        case GitCheck.CLEAN:
            return _require_no_paths(spec, facts.dirty, "git-dirty", "not committed")
        case GitCheck.SCOPE:
            paths = paths_outside_scope(facts.changed, facts.scope)
            return _require_no_paths(spec, paths, "out-of-scope", "outside the task's scope")
        case GitCheck.PUSHED:
            return _require(spec, facts.pushed, "branch-not-pushed", "the branch is not pushed")
        case GitCheck.MERGED:
            return _require(spec, facts.merged, "check-failed", "the branch is not merged")


def _make_unknown(spec: CheckSpec) -> Finding:
    return make_broken(spec, f"git check '{spec.git}': the fact is not known")


def _require(spec: CheckSpec, fact: bool | None, pattern: str, words: str) -> Finding:
    if fact is None:
        return _make_unknown(spec)
    return make_passed(spec) if fact is True else make_failed(spec, words, pattern)


def _require_no_paths(
    spec: CheckSpec, paths: Sequence[str] | None, pattern: str, words: str
) -> Finding:
    if paths is None:
        return _make_unknown(spec)
    if not paths:
        return make_passed(spec)
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    verb = "are" if more else "is"
    items = bound_items([FindingItem(path, f"is {words}", path) for path in paths], len(paths))
    return make_failed(spec, f"{paths[0]}{more} {verb} {words}", pattern, items=items)
