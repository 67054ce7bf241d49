"""Findings of the engine's own: what must hold of any change, and checks that are not fit."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from yaoki.core.decide.classification import CHECK_UNFIT
from yaoki.core.model import (
    NO_CHANGE_CHECK,
    Finding,
    FindingItem,
    OnFailure,
    Outcome,
    Task,
    TaskKind,
)
from yaoki.core.scope import paths_outside_scope, session_paths, yaoki_paths
from yaoki.ports import Candidate

# What tools write beside their work, wherever they run.
CACHES = frozenset(
    {
        *("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox"),
        *(".coverage", ".eslintcache", ".stylelintcache", ".tsbuildinfo", ".gradle", ".nyc_output"),
    }
)


def unfit_finding(finding: Finding, words: str, names: Sequence[str]) -> Finding:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return replace(
        finding,
        outcome=Outcome.BROKEN,
        transient=False,
        code=CHECK_UNFIT,
        message=f"{words}: {', '.join(names[:5])}{more}",
        items=(),
        account="",
        retry_after=None,
    )


def check_changed_files_finding(finding: Finding, names: Sequence[str]) -> Finding:
    """A check that changes what git tracks proves nothing; a tool's cache is not its fault."""
    caches = [cache for name in names if (cache := _cache(name))]
    if len(caches) < len(names):
        return unfit_finding(finding, "the check itself changed files, so it proves nothing", names)
    told = unfit_finding(finding, "a tool rewrote its cache, which git tracks", names)
    remedy = f"git rm -r --cached {shlex.join(dict.fromkeys(caches))}"
    return replace(told, message=f"{told.message}; stop tracking it: {remedy}")


def _cache(name: str) -> str:
    """The folder or file of a tool's cache that the path is in; empty when it is in none."""
    path = PurePosixPath(name)
    return next((str(one) for one in (path, *path.parents) if one.name in CACHES), "")


def unmatched_fixes_finding(
    passed: Finding, lost: Sequence[str], bases: Sequence[Finding]
) -> Finding:
    """No further try of the agent mends a name in the plan, so a person is asked."""
    names = [item.name for base in bases for item in base.items]
    words = f"fixes {', '.join(map(repr, lost))} matches no failure of the base"
    return replace(
        passed,
        outcome=Outcome.FAILED,
        on_failure=OnFailure.ABORT,
        pattern="test-failed",
        message=f"{words}; it has {', '.join(dict.fromkeys(names[:5]))}",
    )


def trivial_change_finding() -> Finding:
    """Only what no computer reads was changed, and the checks pass without it as well."""
    words = "only blank lines, comments or empty files were changed; if nothing needs changing, say"
    return Finding(NO_CHANGE_CHECK, Outcome.FAILED, pattern=NO_CHANGE_CHECK, message=f"{words} why")


def built_in_findings(task: Task, candidate: Candidate) -> Iterator[Finding]:
    """What must hold of any change, whatever the plan checks.

    Only failures are findings here: that nothing was deleted proves nothing.
    """
    if candidate.conflict_markers and "conflict-markers" not in task.waivers:
        yield _failing(
            "conflict-markers", "merge-conflict", "unresolved conflict", candidate.conflict_markers
        )
    too_many = candidate.deleted_count * 2 > candidate.tracked_count and candidate.tracked_count > 0
    allowed = task.spec.allow_mass_deletion or "mass-deletion" in task.waivers
    if too_many and not allowed:
        words = f"{candidate.deleted_count} of {candidate.tracked_count} tracked files deleted"
        numbers = {"deleted": candidate.deleted_count, "tracked": candidate.tracked_count}
        yield Finding(
            "mass-deletion", Outcome.FAILED, pattern="mass-deletion", message=words, params=numbers
        )
    if candidate.outside_links and "links" not in task.waivers:
        words = "links that lead out of the repository"
        found = _failing("links", "not-committed", words, candidate.outside_links)
        yield replace(found, params={"uncommittedFiles": list(candidate.outside_links[:100])})
    if "scope" not in task.waivers:
        yield from _strays(task, candidate)
    if "session-files" not in task.waivers and not task.taken_over:
        yield from _session_files(task, candidate)


def _session_files(task: Task, candidate: Candidate) -> Iterator[Finding]:
    """Merged, they start programs for whoever opens an editor or an agent there: a person looks."""
    if task.spec.kind is TaskKind.GROUP:
        return
    if files := session_paths(candidate.changed, task.spec.scope):
        words = "files that start programs in your next session"
        found = _failing("session-files", "out-of-scope", words, files)
        params = {"outsideFiles": list(files[:100]), "scope": list(task.spec.scope)}
        yield replace(found, on_failure=OnFailure.ABORT, params=params)


def _strays(task: Task, candidate: Candidate) -> Iterator[Finding]:
    """At most one finding; what is yaoki's own goes before what is merely outside."""
    scope = task.spec.scope
    # The subtasks of a group were judged one by one.
    own = yaoki_paths(candidate.changed, scope) if task.spec.kind is not TaskKind.GROUP else ()
    words = "changes of yaoki's own files" if own else "changes outside the declared scope"
    if strays := own or paths_outside_scope(candidate.changed, scope):
        found = _failing("scope", "out-of-scope", words, strays)
        yield replace(found, params={"outsideFiles": list(strays[:100]), "scope": list(scope)})


def _failing(name: str, pattern: str, words: str, paths: tuple[str, ...]) -> Finding:
    return Finding(
        name,
        Outcome.FAILED,
        pattern=pattern,
        message=f"{words}: {', '.join(paths[:5])}" + (" …" if len(paths) > 5 else ""),
        items=tuple(FindingItem(path, words) for path in paths),
    )
