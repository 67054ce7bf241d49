"""The properties of each type of check; every set of check types is derived from this table."""

from __future__ import annotations

from collections.abc import Mapping

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model.enums import CheckType


@dataclass(frozen=True, slots=True)
class CheckTraits:
    """The properties of a type of check that the engine needs before it runs one.

    `plan_keys` are the keys of a plan that make a check one of this type.
    """

    plan_keys: tuple[str, ...]
    # It runs a program, which could change files.
    starts_program: bool = False
    # It asks an agent, which costs money and may change its mind.
    needs_agent: bool = False
    # It looks at what one task did, not at a commit alone.
    needs_task: bool = False
    # The same files give the same result.
    depends_on_files_alone: bool = False


CHECK_TRAITS: Mapping[CheckType, CheckTraits] = {
    CheckType.COMMAND: CheckTraits(
        ("run", "shell"), starts_program=True, depends_on_files_alone=True
    ),
    CheckType.FILE: CheckTraits(("file",), depends_on_files_alone=True),
    CheckType.GIT: CheckTraits(("git",), needs_task=True),
    CheckType.JUDGE: CheckTraits(("judge",), starts_program=True, needs_agent=True),
    # A function of an installed package may look at anything.
    CheckType.PYTHON: CheckTraits(("python",), starts_program=True),
}

PROGRAM_CHECKS = frozenset(
    check_type for check_type, traits in CHECK_TRAITS.items() if traits.starts_program
)
AGENT_CHECKS = frozenset(
    check_type for check_type, traits in CHECK_TRAITS.items() if traits.needs_agent
)
# These can be run on any commit: on the base before a run, and on each landing to bisect them.
FILE_CHECKS = frozenset(
    check_type for check_type, traits in CHECK_TRAITS.items() if traits.depends_on_files_alone
)
# These say something about the head of a branch, whichever task they were written for.
HEAD_CHECKS = frozenset(
    check_type
    for check_type, traits in CHECK_TRAITS.items()
    if not (traits.needs_agent or traits.needs_task)
)
# The type of a check by the key that the plan gives it.
TYPE_BY_PLAN_KEY: Mapping[str, CheckType] = {
    key: check_type for check_type, traits in CHECK_TRAITS.items() for key in traits.plan_keys
}
