"""The plan as the rest of yaoki uses it, and the names outside the file that it may refer to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from yaoki.core.lazy_dataclass import dataclass, field

if TYPE_CHECKING:
    from yaoki.core.model import Catalogue, ContinuousMode, PromptFiles, TaskSpec


@dataclass(frozen=True, slots=True)
class PromptRequirements:
    """The prompt files that a plan uses, and the extra params of each pattern (None: unknown)."""

    files: tuple[PromptFiles, ...] = ()
    params: Mapping[str, Sequence[str] | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlanEnvironment:
    """The environment that a plan may refer to: extractors, and the defects of prompt files."""

    extractors: Callable[[], Collection[str]] = tuple
    prompt_defects: Callable[[PromptRequirements], Sequence[str]] = lambda _: ()


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan without defects.  Specs share the objects of the catalogue, in plan order."""

    goal: str
    base: str
    catalogue: Catalogue
    specs: tuple[TaskSpec, ...]
    done_when: tuple[str, ...]
    source: str
    priority: int = 0
    language: str = "en"
    planner_agents: tuple[str, ...] = ()
    default_agents: tuple[str, ...] = ()
    budget: Mapping[str, float] = field(default_factory=dict)
    continuous: ContinuousMode | None = None
    prompt_requirements: PromptRequirements = field(default_factory=PromptRequirements)
