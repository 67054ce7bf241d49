"""Searches a file for a regular expression in a process that can be ended."""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path

from yaoki.adapters.checks.findings import make_broken, make_failed
from yaoki.adapters.checks.match import BYTES_MAX
from yaoki.adapters.checks.runner import CheckProcesses
from yaoki.core.model import CheckSpec, EndCause, Finding
from yaoki.core.text import format_duration
from yaoki.ports import Launch

PATTERN_CHARS_MAX = 10_000
SEARCH_TIME_MAX = timedelta(seconds=30)
SCRIPT = Path(__file__).with_name("match.py")


def search_file(
    spec: CheckSpec, runner: CheckProcesses, pattern: str, file: Path, subject: str
) -> Finding | None:
    """The reason why the pattern does not match; None when it does."""
    if len(pattern) > PATTERN_CHARS_MAX:
        return make_broken(spec, f"the pattern is longer than {PATTERN_CHARS_MAX} characters")
    limit = min(spec.timeout, SEARCH_TIME_MAX)
    launch = Launch(
        argv=(sys.executable, "-I", "-S", str(SCRIPT), pattern, str(file)),
        cwd=str(file.parent),
        env={},
        deadline=limit,
        lease=runner.lease,
    )
    result = runner.run(runner.next_free_folder("-match"), launch)
    if result.was_stopped:
        return make_broken(spec, "stopped", transient=True)
    if result.state.ended_by == EndCause.DEADLINE:
        return make_broken(
            spec, f"matching {pattern!r} took longer than {format_duration(limit.total_seconds())}"
        )
    match result.state.code:
        case 0:
            return None
        case 1:
            return make_failed(spec, f"{subject} does not match {pattern!r}")
        case 2:
            return make_broken(spec, f"{pattern!r} is not a valid regular expression")
        case 3:
            return make_failed(
                spec, f"{subject} is longer than the {BYTES_MAX} bytes a match reads"
            )
        case _:
            return make_broken(spec, f"matching {pattern!r} failed", transient=True)
