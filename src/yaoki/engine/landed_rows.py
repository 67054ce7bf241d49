"""The tasks whose commits a run branch must contain.  Alone, so that a status starts fast."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yaoki.core.model import TaskKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from yaoki.ports import TaskRow


def rows_on_run_branch(rows: Sequence[TaskRow]) -> list[TaskRow]:
    """The tasks whose commits the run branch must contain.

    A subtask's commit reaches the run branch only when its group lands.
    """
    open_groups = {row.id for row in rows if row.kind == TaskKind.GROUP and not row.landed_commit}
    return [row for row in rows if row.landed_commit and row.parent not in open_groups]
