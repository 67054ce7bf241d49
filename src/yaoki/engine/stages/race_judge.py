"""The parts of a race's judge that touch the world: the diffs of its prompt, and its answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from yaoki.core.model import ComparedWork, JudgingBrief, RaceJudgment, Task
from yaoki.core.model.stage_report import JudgeAnswered
from yaoki.core.race_judge_prompt import answer_code, compose_judge_prompt, read_judge_answer
from yaoki.ports import Workspace


class RaceJudgeStages:
    """Writes the prompt and reads the answer of a task of kind `judge`.

    `read_output` gives the standard output of the agent that worked in a folder.
    """

    def __init__(self, workspace: Workspace, read_output: Callable[[Path], str]) -> None:
        self._workspace, self._read_output = workspace, read_output

    def prompt(self, task: Task) -> str:
        brief = _brief(task)
        diffs = [self._diff(work) for work in brief.works]
        return compose_judge_prompt(task.spec, diffs, answer_code(brief))

    def _diff(self, work: ComparedWork) -> str:
        """The diff without the ids of its commits, by which a judge could find the candidate; the
        note about a diff that is too long would contain them.
        """
        diff = self._workspace.contents.diff(work.base, work.head)
        return diff.replace(work.head, "").replace(work.base, "")

    def verify(self, task: Task, folder: Path) -> JudgeAnswered:
        brief, output = _brief(task), self._read_output(folder)
        try:
            return JudgeAnswered(read_judge_answer(output, len(brief.works), answer_code(brief)))
        except ValueError as defect:
            return JudgeAnswered(RaceJudgment(), str(defect))


def _brief(task: Task) -> JudgingBrief:
    assert task.spec.judging_brief is not None, f"{task.id} judges no race"
    return task.spec.judging_brief
