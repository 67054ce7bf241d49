"""Finds the run or task that a person named on the command line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import FINAL_CHECK_NAME
from yaoki.errors import Unknown

if TYPE_CHECKING:
    from yaoki.core.model import Run, TaskId
    from yaoki.ports import Reads, TaskRow

TASK_ID = lazy_compile(r"[a-z0-9]{8}-\d+")
# As in git; a shorter one is more likely a slip, and some commands cannot be withdrawn.
PREFIX_LENGTH_MIN = 4
# A wrong name must not read the tasks of thousands of runs.
SEARCHED_RUNS_MAX = 20


class RunLookup:
    """`archived_hint` gives the command that shows an archived run, or nothing; for an empty name
    the command that shows all of them.  `find_elsewhere` gives the error for a run or task of
    another checkout of the clone, or nothing; for an empty name the error for all their runs.
    """

    def __init__(
        self,
        store: Reads,
        archived_hint: Callable[[str], str],
        find_elsewhere: Callable[[str], Unknown | None],
    ) -> None:
        self._store, self._archived_hint = store, archived_hint
        self._find_elsewhere = find_elsewhere

    def find_run(self, text: str = "") -> Run:
        """Find a run by id, its beginning, or branch; the newest when `text` is empty."""
        runs = self._store.runs()
        if not text and runs:
            return runs[-1]
        archived = self._archived_hint(text)
        if not runs and not archived:
            here = Unknown("there is no run here yet", hint="yaoki run PLAN")
            raise self._find_elsewhere(text) or here
        if not text:
            raise Unknown("every run of this repository is archived", hint=archived)
        matches = [run for run in runs if run.id == text or run.branch == text]
        matches = matches or [run for run in runs if run.id.startswith(text)]
        if matches and len(text) < PREFIX_LENGTH_MIN:
            words = f"{text!r} is too short for the beginning of a run id"
            hint = f"give at least {PREFIX_LENGTH_MIN} characters: yaoki status --all"
            raise Unknown(words, hint=hint)
        if not matches and not archived and (elsewhere := self._find_elsewhere(text)):
            raise elsewhere
        if len(matches) != 1:
            count = f"{len(matches)} runs" if matches else "no run"
            raise Unknown(f"{count} named {text!r}", hint=archived or "yaoki status --all")
        return matches[0]

    def find_task(self, text: str, run: str = "") -> TaskId:
        """Find a task by id, or by number or name in the given run or the newest one."""
        if archived := self._archived_hint(text):
            raise Unknown(f"the run of {text!r} is archived", hint=archived)
        if TASK_ID.fullmatch(text):
            return self._task_with_id(text)
        found = self.find_run(run)
        rows = self._store.rows(found.id)
        matches = [row for row in rows if row.name == text or str(row.n) == text]
        if matches:
            return matches[0].id
        if text == FINAL_CHECK_NAME and found.done_when:
            words = "the check of done_when starts when every task of the run is done"
            raise Unknown(words, hint=f"yaoki status {found.id}")
        hint = self._suggest_run(text) if not run else ""
        words = f"there is no task {text!r} in this run"
        raise Unknown(words, hint=hint or _suggest_name(text, rows))

    def _task_with_id(self, text: str) -> TaskId:
        try:
            return self._store.task(text).id
        except Unknown as missing:
            raise self._find_elsewhere(text) or missing from None

    def _suggest_run(self, text: str) -> str:
        """The newest other run that has a task of this name."""
        for found in reversed(self._store.runs()[-SEARCHED_RUNS_MAX:]):
            if any(row.name == text for row in self._store.rows(found.id)):
                return f"run {found.id} has one: add --run {found.id}"
        return ""


def _suggest_name(text: str, rows: Sequence[TaskRow]) -> str:
    import difflib  # slow to import, and needed only after a typing error

    matches = difflib.get_close_matches(text, [row.name for row in rows], n=1)
    return f"did you mean {matches[0]!r}?" if matches else "yaoki status"
