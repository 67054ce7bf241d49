"""The changes of a task, file by file, and their context."""

from __future__ import annotations

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import TaskKind

# Files and bytes that are read of one change; the criteria fail on files beyond them.
CHANGED_FILES_MAX = 20_000
CHANGED_BYTES_MAX = 64 << 20


@dataclass(frozen=True, slots=True)
class Change:
    """A changed text file.  `before` is None for a new file, `after` for a deleted one.

    `added` are the lines that the diff adds, with their numbers.  Binary files are left out.
    `was_skipped`: the change as a whole is too large, so the content of this file was not read.
    The modes are those of git; empty where there is no file or they were not requested.
    """

    path: str
    before: str | None
    after: str | None
    added: tuple[tuple[int, str], ...]
    was_skipped: bool = False
    mode_before: str = ""
    mode_after: str = ""


@dataclass(frozen=True, slots=True)
class ChangeContext:
    """The context of a change: the plan's expectation, the agent's report, and known facts.

    `checks_passed` None: the checks did not run.  `report` is the text of a report task.
    """

    files_expected: tuple[str, ...] = ()
    agent_output: str = ""
    changed: bool = True
    checks_passed: bool | None = None
    kind: TaskKind = TaskKind.CHANGE
    report: str = ""
