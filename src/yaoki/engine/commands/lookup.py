"""Which run or task somebody means by what they typed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from yaoki.core.model import Run, TaskId
from yaoki.errors import Unknown
from yaoki.ports import Reads, TaskRow

TASK_ID = re.compile(r"[a-z0-9]{8}-\d+")


class RunLookup:
    """`archived` says how to see what has left the store."""

    def __init__(self, store: Reads, archived_hint: Callable[[str], str] = lambda _: "") -> None:
        self._store, self._archived = store, archived_hint

    def find_run(self, text: str = "") -> Run:
        """By id or its beginning; the newest when nothing is named."""
        runs = self._store.runs()
        gone = self._archived(text)
        if not runs and not gone:
            raise Unknown("there is no run here yet", hint="yaoki run PLAN")
        if not text:
            return runs[-1]
        found = [run for run in runs if run.id == text or run.branch == text]
        found = found or [run for run in runs if run.id.startswith(text)]
        if len(found) != 1:
            what = "no run" if not found else f"{len(found)} runs"
            raise Unknown(f"{what} named {text!r}", hint=gone or "yaoki status --all")
        return found[0]

    def find_task(self, text: str, run: str = "") -> TaskId:
        """By id, or by number or name in the named or newest run."""
        if gone := self._archived(text):
            raise Unknown(f"there is no {text!r} here any more", hint=gone)
        if TASK_ID.fullmatch(text):
            return self._store.task(text).id
        rows = self._store.rows(self.find_run(run).id)
        found = [row for row in rows if row.name == text or str(row.n) == text]
        if found:
            return found[0].id
        raise Unknown(f"there is no task {text!r} in this run", hint=_near(text, rows))


def _near(text: str, rows: Sequence[TaskRow]) -> str:
    import difflib  # only for who mistyped

    near = difflib.get_close_matches(text, [row.name for row in rows], n=1)
    return f"did you mean {near[0]!r}?" if near else "yaoki status"
