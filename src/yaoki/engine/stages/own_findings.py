"""Findings of the engine itself: built-in rules for any change, and checks that are unfit."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import (
    BUILT_IN_CHECKS,
    NO_CHANGE_CHECK,
    Finding,
    FindingItem,
    OnFailure,
    Outcome,
    Task,
    TaskKind,
)
from yaoki.core.model.names import CONFLICT_MARKERS_CHECK
from yaoki.core.scope import paths_outside_scope, session_paths, yaoki_paths
from yaoki.errors import FatalCode
from yaoki.ports import Candidate

# Caches that tools write wherever they run.
CACHES = frozenset(
    {
        *("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox"),
        *(".coverage", ".eslintcache", ".stylelintcache", ".tsbuildinfo", ".gradle", ".nyc_output"),
    }
)


def unfit_finding(finding: Finding, reason: str, names: Sequence[str]) -> Finding:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return replace(
        finding,
        outcome=Outcome.BROKEN,
        transient=False,
        code=FatalCode.CHECK_UNFIT,
        message=f"{reason}: {', '.join(names[:5])}{more}",
        items=(),
        account="",
        retry_after=None,
    )


def check_changed_files_finding(finding: Finding, names: Sequence[str]) -> Finding:
    """The result of a check that changes tracked files cannot be trusted.

    If it rewrote only a tool's cache, the remedy is to stop tracking the cache.
    """
    caches = [cache for name in names if (cache := _cache_of(name))]
    if len(caches) < len(names):
        reason = "the check itself changed files"
        return unfit_finding(finding, reason, names)
    unfit = unfit_finding(finding, "a tool rewrote its cache, which git tracks", names)
    remedy = f"git rm -r --cached {shlex.join(dict.fromkeys(caches))}"
    return replace(unfit, message=f"{unfit.message}; stop tracking it: {remedy}")


def _cache_of(name: str) -> str:
    """The tool cache (folder or file) that contains the path; empty when none does."""
    path = PurePosixPath(name)
    return next((str(one) for one in (path, *path.parents) if one.name in CACHES), "")


def unmatched_fixes_finding(
    passed: Finding, unmatched: Sequence[str], bases: Sequence[Finding]
) -> Finding:
    """A wrong name in the plan needs a person: no further attempt of the agent can fix it."""
    names = [item.name for base in bases for item in base.items]
    message = f"fixes {', '.join(map(repr, unmatched))} matches no failure of the base"
    return replace(
        passed,
        outcome=Outcome.FAILED,
        on_failure=OnFailure.ABORT,
        pattern="test-failed",
        message=f"{message}; it has {', '.join(dict.fromkeys(names[:5]))}",
    )


def trivial_change_finding() -> Finding:
    """Only blank lines, comments or empty files changed, and the checks pass without them."""
    return Finding(
        NO_CHANGE_CHECK,
        Outcome.FAILED,
        pattern=NO_CHANGE_CHECK,
        message="only blank lines, comments or empty files were changed; "
        "if nothing needs changing, say why",
    )


def built_in_findings(task: Task, candidate: Candidate) -> Iterator[Finding]:
    """The rules that any change must meet, whatever the plan checks.

    Only failures are findings here: to have deleted nothing proves nothing.
    """
    if candidate.conflict_markers and CONFLICT_MARKERS_CHECK not in task.waivers:
        yield _paths_finding(
            CONFLICT_MARKERS_CHECK,
            "merge-conflict",
            "unresolved conflict",
            candidate.conflict_markers,
        )
    too_many = candidate.deleted_count * 2 > candidate.tracked_count and candidate.tracked_count > 0
    allowed = task.spec.allow_mass_deletion or "mass-deletion" in task.waivers
    if too_many and not allowed:
        yield Finding(
            "mass-deletion",
            Outcome.FAILED,
            pattern="mass-deletion",
            message=f"{candidate.deleted_count} of {candidate.tracked_count} tracked files deleted",
            params={"deleted": candidate.deleted_count, "tracked": candidate.tracked_count},
        )
    if candidate.outside_links and "links" not in task.waivers:
        message = "links that lead out of the repository"
        finding = _paths_finding("links", "not-committed", message, candidate.outside_links)
        yield replace(finding, params={"uncommittedFiles": list(candidate.outside_links[:100])})
    if candidate.unchecked_bytecode and "bytecode" not in task.waivers:
        message = "compiled files that hide their sources; delete them"
        yield _paths_finding("bytecode", "", message, candidate.unchecked_bytecode)
    if "scope" not in task.waivers:
        yield from _out_of_scope(task, candidate)
    if "session-files" not in task.waivers and not task.taken_over:
        yield from _session_files(task, candidate)


def _session_files(task: Task, candidate: Candidate) -> Iterator[Finding]:
    """Files that start programs when somebody opens an editor or an agent: a person must look."""
    if task.spec.kind is TaskKind.GROUP:
        return
    if files := session_paths(candidate.changed, task.spec.scope):
        message = "files that start programs in your next session"
        finding = _paths_finding("session-files", "out-of-scope", message, files)
        params = {"outsideFiles": list(files[:100]), "scope": list(task.spec.scope)}
        yield replace(finding, on_failure=OnFailure.ABORT, params=params)


def _out_of_scope(task: Task, candidate: Candidate) -> Iterator[Finding]:
    """A finding about changed paths out of scope, if any; yaoki's own files take precedence."""
    scope = task.spec.scope
    # The subtasks of a group were judged one by one.
    own = yaoki_paths(candidate.changed, scope) if task.spec.kind is not TaskKind.GROUP else ()
    message = "changes to yaoki's own files" if own else "changes outside the declared scope"
    if paths := own or paths_outside_scope(candidate.changed, scope):
        finding = _paths_finding("scope", "out-of-scope", message, paths)
        yield replace(finding, params={"outsideFiles": list(paths[:100]), "scope": list(scope)})


def _paths_finding(name: str, pattern: str, message: str, paths: tuple[str, ...]) -> Finding:
    return Finding(
        name,
        Outcome.FAILED,
        pattern=pattern,
        message=f"{message}: {', '.join(paths[:5])}" + (" …" if len(paths) > 5 else ""),
        items=tuple(FindingItem(path, message) for path in paths),
    )


def report_finding(task: Task, candidate: Candidate) -> Finding:
    """A report exists when an agent ended by itself and said or wrote something."""
    exit_ = task.work.exit
    size = exit_.report_bytes if exit_ else 0
    if exit_ is not None and exit_.ended_cleanly and (size or candidate.changed):
        return Finding("report", Outcome.PASSED, message=f"{size} bytes of report")
    code = f" (exit code {exit_.code})" if exit_ is not None and exit_.code else ""
    clean = exit_ is None or exit_.ended_cleanly
    reason = "no report was written" if clean else f"the agent did not end by itself{code}"
    return Finding("report", Outcome.FAILED, pattern="no-change", message=reason)


def waived_finding(name: str) -> Finding:
    return Finding(name, Outcome.WAIVED, message="waived by a person")


def waived_rule_findings(task: Task) -> tuple[Finding, ...]:
    """The built-in rules that a person waived; the verdict names them as well."""
    return tuple(waived_finding(name) for name in task.waivers if name in BUILT_IN_CHECKS)
