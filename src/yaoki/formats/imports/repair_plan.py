"""Writes a plan with one task: an agent repairs a flaky test, proven by many runs in a row."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.core.model import CheckSpec
from yaoki.formats.imports.plan_text import dump_plan

TASK_ID = "repair-flaky-test"
CHECK_NAME = "repeated-runs"
TIMES = 50
# The placeholder of an argument is a variable in a shell.
REPORT_WORD, REPORT_VARIABLE = "{report}", '"$YAOKI_REPORT"'
ADVICE = (
    "Find the cause (timing, order, shared state, randomness, a resource outside) and remove it in"
    " the test or in the code that it tests. Do not delete, skip, loosen or repeat the test."
)


@dataclass(frozen=True, slots=True)
class FlakyTestRepair:
    """`spec`: the check that runs this test, alone if possible.  `timeout_max`: a check must not
    take longer than an agent may.  `evidence`: what was seen.
    """

    test: str
    spec: CheckSpec
    timeout_max: timedelta
    times: int = TIMES
    evidence: str = ""
    commits: Sequence[str] = ()
    # Checks of the settings that must pass as well.
    other_checks: Sequence[str] = field(default_factory=tuple)


def repair_plan_text(request: FlakyTestRepair) -> str:
    goal = [f"Make the flaky test {request.test} reliable."]
    if request.evidence:
        seen = f" Seen on {', '.join(request.commits)}." if request.commits else ""
        goal.append(f"It {request.evidence}.{seen}")
    goal += [ADVICE, f"The check runs it {request.times} times, and every run must pass."]
    task = {
        "id": TASK_ID,
        "goal": "\n".join(goal),
        "checks": [CHECK_NAME, *request.other_checks],
    }
    plan = {"goal": goal[0], "checks": {CHECK_NAME: _check(request)}, "tasks": [task]}
    comments = ("Written by yaoki plan flaky.", "Agents are those of yaoki.toml.")
    return dump_plan(plan, comments)


def _check(request: FlakyTestRepair) -> Mapping[str, Any]:
    spec = request.spec
    timeout = min(spec.timeout * request.times, request.timeout_max)
    return {
        "shell": repeat_command(spec, request.times),
        "timeout": f"{int(timeout.total_seconds())}s",
        # The first failure counts: no further run may excuse it.
        "rerun": False,
        **({"pattern": spec.pattern} if spec.pattern else {}),
        **({"reader": spec.reader} if spec.reader else {}),
        **({"cwd": spec.cwd} if spec.cwd not in ("", ".") else {}),
        **({"env": dict(spec.env)} if spec.env else {}),
    }


def repeat_command(spec: CheckSpec, times: int) -> str:
    """A line of shell that ends with the first failure."""
    command = f"( {spec.shell} )" if spec.shell else " ".join(map(_quote, spec.argv))
    return f"for n in $(seq {times}); do {command} || exit 1; done"


def _quote(word: str) -> str:
    return (
        REPORT_VARIABLE.join(shlex.quote(part) if part else "" for part in word.split(REPORT_WORD))
        or "''"
    )
