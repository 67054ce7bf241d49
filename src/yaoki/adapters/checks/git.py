"""Checks on git facts, which the workspace supplies: only it runs git."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from yaoki.adapters.checks.findings import bound_items, make_broken, make_failed, make_passed
from yaoki.core.model import CheckSpec, Finding, FindingItem
from yaoki.core.scope import paths_outside_scope


def check_git(spec: CheckSpec, facts: Mapping[str, Any]) -> Finding:
    """A missing fact makes the check BROKEN."""
    required_facts = {"clean": ("dirty",), "scope": ("changed", "scope")}.get(spec.git, (spec.git,))
    if spec.git not in {"clean", "scope", "pushed", "merged"}:
        return make_broken(spec, f"there is no git check {spec.git!r}")
    if missing := [name for name in required_facts if facts.get(name) is None]:
        return make_broken(spec, f"git check {spec.git!r}: {' and '.join(missing)} is not known")
    match spec.git:
        case "clean":
            return _require_no_paths(spec, facts["dirty"], "git-dirty", "not committed")
        case "scope":
            paths = paths_outside_scope(facts["changed"], facts["scope"])
            return _require_no_paths(spec, paths, "out-of-scope", "outside the task's scope")
        case "pushed":
            return _require(spec, facts["pushed"], "branch-not-pushed", "the branch is not pushed")
        case _:
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
