"""A playbook as people write it.  Shapes only, with the keys of the format."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from yaoki.core.settings.keys import RETRIES_MAX
from yaoki.formats.plan.field_values import field_error
from yaoki.formats.plan.fields import BranchName, StrictModel

ASPECTS = ("technical", "consistency", "completeness")
P_FINAL = "p_final"


def as_stated(value: Any) -> Any:
    """A sentence, or a mapping with a command."""
    if isinstance(value, str):
        return {"says": value}
    if value == []:
        return {}
    if isinstance(value, dict) and set(value) <= {"says", "command"}:
        return value
    if isinstance(value, dict):
        raise field_error("contains a colon and is read as a mapping; put the sentence in quotes")
    raise field_error("must be a sentence, or command: and a command")


class StatedModel(StrictModel):
    """A condition: a sentence for a judge, or a command."""

    says: str = Field("")
    command: str = Field("")


StatedField = Annotated[StatedModel, BeforeValidator(as_stated)]


class MetaModel(StrictModel):
    """Facts about the playbook; `roles` map an executor to the name of an agent."""

    schema_version: Any = Field(None)
    project: str = Field("")
    branch: BranchName = Field("")
    created: Any = Field(None)
    issue: Any = Field(None)
    derives_from: Any = Field(None)
    reviewed: bool = Field(True)
    status: str = Field("")
    roles: dict[str, str] = Field({})
    user_prompt_original: str = Field("")


class GoalModel(StrictModel):
    """The overall goal, and the conditions at its end."""

    summary: str = Field("")
    done_when: list[StatedField] = Field([])


class ValidationsModel(StrictModel):
    """The three validations of a subtask."""

    technical: StatedField = Field(default_factory=StatedModel)
    consistency: StatedField = Field(default_factory=StatedModel)
    completeness: StatedField = Field(default_factory=StatedModel)


class SubtaskModel(StrictModel):
    """A box and the keys below it."""

    id: str = Field("")
    says: str = Field("")
    done: bool = Field(False)
    prose: str = Field("")
    executor: str = Field("")
    validations: ValidationsModel = Field(default_factory=ValidationsModel)
    test_command: str = Field("")
    depends_on: list[str] = Field([])
    status: str = Field("")
    validated: str = Field("")
    note: str = Field("")
    command: str = Field("")


class PlaybookPhaseModel(StrictModel):
    """A phase of the playbook."""

    id: str = Field("")
    title: str = Field("")
    prose: str = Field("")
    goal: str = Field("")
    depends_on: list[str] = Field([])
    status: str = Field("")
    max_iterations: int = Field(1, ge=1, le=RETRIES_MAX)
    subtasks: list[SubtaskModel] = Field([])

    @property
    def is_final(self) -> bool:
        return self.id == P_FINAL

    @property
    def open_subtasks(self) -> list[SubtaskModel]:
        """The boxes of p_final are always open: an old verification proves nothing."""
        return [one for one in self.subtasks if self.is_final or not one.done]


class PlaybookModel(StrictModel):
    """The whole file."""

    meta: MetaModel = Field(default_factory=MetaModel)
    context: str = Field("")
    goal: GoalModel = Field(default_factory=GoalModel)
    phases: list[PlaybookPhaseModel] = Field([])
    final_tasks: list[SubtaskModel] = Field([])
