"""Several cases of work that must not land in one run: each has its own folder and task.

A case about the top folder of the repository, its git settings or several tasks runs alone, and so
does honest work: a run of landings checks each of them again at its end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from tests.false_success.case import Asks, Case, Lands, NotDone, OnlyIfTrue, Refused, Task
from tests.false_success.case_runner import CaseResult, CaseRunner, run_case
from tests.false_success.oracle import FreshCloner

TOGETHER = 10
# The other fields of a case concern the whole repository or the whole run.
OF_ONE_TASK = {"story", "files", "checks", "acts", "ends", "keys", "truth"}


@dataclass(frozen=True)
class CaseBatch:
    """Cases that are tried in one run."""

    cases: Sequence[Case]

    def __str__(self) -> str:
        more = f"-and-{len(self.cases) - 1}-more" if self.cases[1:] else ""
        return f"{self.cases[0]}{more}"

    def together(self) -> Case:
        """One case with a folder and a task for each case."""
        parts = {f"c{n}": case for n, case in enumerate(self.cases)}
        return Case(
            str(self),
            {
                f"{at}/{path}": text
                for at, case in parts.items()
                for path, text in case.files.items()
            },
            {
                f"{at}-{name}": _check_in(at, check)
                for at, case in parts.items()
                for name, check in case.checks.items()
            },
            tasks=[_task_in(at, case) for at, case in parts.items()],
        )


def batches(cases: Sequence[Case], *, alone: int = 0) -> list[CaseBatch]:
    """The first cases alone, as `--quick` has them; then batches, then those that fit into none."""
    fit = [case for case in cases[alone:] if _fits(case)]
    return [
        *(CaseBatch([case]) for case in cases[:alone]),
        *(CaseBatch(fit[n : n + TOGETHER]) for n in range(0, len(fit), TOGETHER)),
        *(CaseBatch([case]) for case in cases[alone:] if not _fits(case)),
    ]


def _fits(case: Case) -> bool:
    whole = (one.name for one in fields(case) if one.name not in OF_ONE_TASK)
    return not any(getattr(case, name) for name in whole)


def _check_in(at: str, check: Mapping[str, Any]) -> dict[str, Any]:
    if "file" in check:
        return {**check, "file": {**check["file"], "path": f"{at}/{check['file']['path']}"}}
    if "git" in check:
        return dict(check)
    return {**check, "cwd": f"{at}/{check['cwd']}" if "cwd" in check else at}


def _task_in(at: str, case: Case) -> Task:
    acts = (case.acts,) if isinstance(case.acts, str) else case.acts
    keys = dict(case.keys)
    if "scope" in keys:
        keys["scope"] = [f"{at}/{path}" for path in keys["scope"]]
    keys["checks"] = [f"{at}-{name}" for name in keys.get("checks", case.checks)]
    return Task(at, tuple(f"cd {at}\n{text}" for text in acts), keys)


def run_batch(batch: CaseBatch, case_runner: CaseRunner) -> None:
    """Run the cases in one run, let the oracle confirm every DONE, and compare each ending."""
    if not batch.cases[1:]:
        run_case(batch.cases[0], case_runner)
        return
    whole = batch.together()
    ended = case_runner.run(whole)
    case_runner.check_oracle(whole)
    assert ended.code == 4, ended.output
    for task, case in zip(whole.tasks, batch.cases, strict=True):
        _assert_ending(case, ended, task.name)
        if ended.state(task.name) == "DONE":
            _assert_truth(case, ended, task.name, case_runner)


def _assert_ending(case: Case, ended: CaseResult, name: str) -> None:
    told = f"{case.story}: {ended.describe(name)}"
    match case.ends:
        case Asks(patterns):
            assert ended.state(name) == "ESCALATED", f"nobody was asked: {told}"
            assert not patterns or patterns & ended.patterns(name), f"for another reason: {told}"
        case OnlyIfTrue():
            assert ended.state(name) in ("DONE", "ESCALATED"), told
        case NotDone():
            assert ended.state(name) == "ESCALATED", f"not asked about: {told}"
        case Lands() | Refused():
            raise AssertionError(f"a case of one run: {told}")


def _assert_truth(case: Case, ended: CaseResult, name: str, case_runner: CaseRunner) -> None:
    """At the commit that landed it, in a fresh clone, regardless of its checks."""
    (commit,) = (task["landed"] for task in ended.status["tasks"] if task["name"] == name)
    stranger = FreshCloner(case_runner.folder, case_runner.env["PATH"])
    for line in case.truth:
        check = {"name": "the truth", "shell": f"cd {name} && {line}"}
        fault = stranger.fault(case_runner.repo, commit, check)
        assert not fault, f"false DONE: {case.story}: {fault}"
