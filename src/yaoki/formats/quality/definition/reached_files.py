"""The files that the commands of the checks reach, each with its role, and the commands
of recipes.
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum

from yaoki.core.lazy_dataclass import dataclass


class FileRole(Enum):
    """The role of a file in a check.  The output of a `PROGRAM` is judged by something else."""

    SCRIPT = "script"
    PROGRAM = "program"
    RECIPE = "recipe"
    SETTINGS = "settings"
    TEST = "test"
    SUPPORT = "support"
    DATA = "data"
    DECLARED = "declared"


@dataclass(slots=True)
class ReachedFiles:
    """`meanings` of recipes: what each goal runs, by file.  `started`: run as an executable.
    `sourced`: read by another script, into its own shell.

    `searched`: folders that the check puts on its module search path.  `targets`: of make, which
    runs nothing for a target that exists as a file.  `started_in`: folders in which its programs
    start, and that Python searches.
    """

    roles: dict[str, FileRole] = field(default_factory=dict)
    meanings: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    participants: dict[str, tuple[str, ...]] = field(default_factory=dict)
    started_files: set[str] = field(default_factory=set)
    sourced_files: set[str] = field(default_factory=set)
    searched_folders: set[str] = field(default_factory=set)
    started_in: set[str] = field(default_factory=set)
    commands: list[str] = field(default_factory=list)
    tools: set[str] = field(default_factory=set)
    targets: set[str] = field(default_factory=set)
