"""Checks on git facts, which the workspace supplies: only it runs git."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from yaoki.adapters.checks.findings import bound_items, make_broken, make_failed, make_passed
from yaoki.core.model import CheckSpec, Finding, FindingItem, GitCheck
from yaoki.core.scope import paths_outside_scope

REQUIRED_FACTS: Mapping[GitCheck, tuple[str, ...]] = {
    GitCheck.NONE: (),
    GitCheck.CLEAN: ("dirty",),
    GitCheck.SCOPE: ("changed", "scope"),
    GitCheck.PUSHED: ("pushed",),
    GitCheck.MERGED: ("merged",),
}


def check_git(spec: CheckSpec, facts: Mapping[str, Any]) -> Finding:
    """A missing fact makes the check BROKEN."""
    missing = [name for name in REQUIRED_FACTS[spec.git] if facts.get(name) is None]
    if missing:
        return make_broken(spec, f"git check '{spec.git}': {' and '.join(missing)} is not known")
    match spec.git:
        case GitCheck.NONE:
            return make_broken(spec, "the check names no fact about git")
        case GitCheck.CLEAN:
            return _require_no_paths(spec, facts["dirty"], "git-dirty", "not committed")
        case GitCheck.SCOPE:
            paths = paths_outside_scope(facts["changed"], facts["scope"])
            return _require_no_paths(spec, paths, "out-of-scope", "outside the task's scope")
        case GitCheck.PUSHED:
            return _require(spec, facts["pushed"], "branch-not-pushed", "the branch is not pushed")
        case GitCheck.MERGED:
            return _require(spec, facts["merged"], "check-failed", "the branch is not merged")


def _require(spec: CheckSpec, fact: object, pattern: str, words: str) -> Finding:
    return make_passed(spec) if fact is True else make_failed(spec, words, pattern)


def _require_no_paths(spec: CheckSpec, paths: Sequence[str], pattern: str, words: str) -> Finding:
    if not paths:
        return make_passed(spec)
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    verb = "are" if more else "is"
    items = bound_items([FindingItem(path, f"is {words}", path) for path in paths], len(paths))
    return make_failed(spec, f"{paths[0]}{more} {verb} {words}", pattern, items=items)
