"""The stages of a planning task."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests.builders import a_run, a_spec, a_task
from yaoki.core.model import Run, Task
from yaoki.core.model.stage_report import CandidateVerified
from yaoki.engine.stages.plan_task import PlanTaskStages
from yaoki.ports import PlannerAnswer, PlanReader, Workspace


class Planner:
    """A planner that always answers with one task."""

    def read(self, run: Run, task: Task, folder: Path) -> PlannerAnswer:
        return PlannerAnswer(specs=(a_spec("next"),))


class Branch:
    """A run branch that stays where it is."""

    def head(self, run: Run) -> str:
        return "c0ffee"


@pytest.mark.spec("9.3", "6.2")
def test_a_passing_plan_has_no_changed_paths(tmp_path: Path) -> None:
    """The changed paths were `("(the plan)",)`, where every reader expects a path."""
    workspace = cast(Workspace, SimpleNamespace(branches=Branch()))
    stages = PlanTaskStages(workspace, cast(PlanReader, Planner()))

    report = stages.verify(a_run(), a_task(), tmp_path)

    assert isinstance(report, CandidateVerified)
    assert report.verdict.passed
    assert report.changed == ()
