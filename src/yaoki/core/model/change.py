"""What a task changed, file by file, and what was promised and said about it."""

from __future__ import annotations

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import TaskKind

# Of one change so much is read; the criteria fail, by name, on what is beyond.
CHANGED_FILES_MAX = 20_000
CHANGED_BYTES_MAX = 64 << 20


@dataclass(frozen=True, slots=True)
class Change:
    """One changed text file.  `before` None: new; `after` None: deleted.

    `added` are the numbered lines the diff adds.  Binary files are left out.  `unread`: the change
    as a whole is too large, so this file's sides are empty and say nothing about it.  The modes are
    git's, empty where there is no file or nobody asked.
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
    """What the plan expects, what the agent said at the end, and what is known to be true.

    `checks_passed` None: they did not run.  `report` is the text a report task left.
    """

    files_expected: tuple[str, ...] = ()
    agent_output: str = ""
    changed: bool = True
    checks_passed: bool | None = None
    kind: TaskKind = TaskKind.CHANGE
    report: str = ""
