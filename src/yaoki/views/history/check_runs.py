"""Every execution of a check, and those whose result was not used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from yaoki.core.lazy_dataclass import dataclass, field, replace
from yaoki.core.model import CheckRunPurpose
from yaoki.core.text import format_count, format_duration
from yaoki.ports import JournalEntry

# In the order in which they are named; the candidate itself needs no name.
_PURPOSE_WORDS = {
    CheckRunPurpose.AGAIN: "again after a failure",
    CheckRunPurpose.BASE: "on the base",
    CheckRunPurpose.COMPARISON: "for comparison",
    CheckRunPurpose.MUTANT: "on mutants",
    CheckRunPurpose.BISECTION: "to find the landing that broke it",
}
VOID_WORDS = "that do not count, because other work landed or failed first"


@dataclass(frozen=True, slots=True)
class CheckRuns:
    """Executions of one check for one purpose, added up.

    `is_void`: the verification was given up, or its commit could not land, and was repeated.
    """

    check: str
    purpose: str
    count: int
    seconds: float
    attempt: int = 0
    is_void: bool = False


@dataclass(slots=True)
class CheckRunLog:
    """The executions of a task or a run; a verification is open until it is judged."""

    runs: list[CheckRuns] = field(default_factory=list)
    # The start of the open verification, and of the one judged last.
    _open: int = 0
    _judged: int = 0

    def add(self, entry: JournalEntry) -> None:
        """Add the executions of a CHECKS_RAN."""
        runs = entry.data["runs"]
        if any(run["purpose"] == CheckRunPurpose.CANDIDATE for run in runs):
            self.give_up()
        self.runs += (
            CheckRuns(run["check"], run["purpose"], run["count"], run["seconds"], entry.attempt)
            for run in runs
        )

    def judge(self) -> None:
        self._judged, self._open = self._open, len(self.runs)

    def give_up(self) -> None:
        """The verification that is open led to no verdict."""
        self._void(self._open)

    def refuse(self) -> None:
        """The commit that was judged last could not land, and is verified again."""
        self._void(self._judged)

    def _void(self, start: int) -> None:
        self.runs[start:] = [replace(run, is_void=True) for run in self.runs[start:]]
        self._open = self._judged = len(self.runs)


def sum_check_runs(runs: Iterable[CheckRuns]) -> tuple[int, float]:
    """The number of executions and their seconds."""
    counted = list(runs)
    return sum(run.count for run in counted), sum(run.seconds for run in counted)


def describe_check_runs(runs: Sequence[CheckRuns]) -> str:
    """`7 executions, of which 2 on the base (1.2 s), 1 again after a failure (0.3 s)`."""
    words = format_count(sum_check_runs(runs)[0], "execution")
    parts = ", ".join(_parts(runs))
    return f"{words}, of which {parts}" if parts else words


def _parts(runs: Sequence[CheckRuns]) -> Iterator[str]:
    """An execution that is void is named as such only."""
    valid = [run for run in runs if not run.is_void]
    named = [
        (words, [run for run in valid if run.purpose == purpose])
        for purpose, words in _PURPOSE_WORDS.items()
    ]
    named.append((VOID_WORDS, [run for run in runs if run.is_void]))
    for words, some in named:
        count, seconds = sum_check_runs(some)
        if count:
            yield f"{count:,} {words} ({format_duration(seconds)})"
