"""A plan as the rest of yaoki knows it, and what a plan file may name that stands outside it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import Catalogue, ContinuousMode, PromptFiles, TaskSpec


@dataclass(frozen=True, slots=True)
class PromptRequirements:
    """The prompt files a plan looks for, and the params each of its patterns gives besides the
    usual ones; None: nobody can say.
    """

    files: tuple[PromptFiles, ...] = ()
    params: Mapping[str, Sequence[str] | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlanEnvironment:
    """What stands outside: names of extractors, and what is wrong with the prompt files."""

    extractors: Callable[[], Collection[str]] = tuple
    prompt_defects: Callable[[PromptRequirements], Sequence[str]] = lambda _: ()


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan without defects.  Specs hold the very objects of the catalogue, in plan order."""

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
