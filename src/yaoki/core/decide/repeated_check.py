"""A failed check that is run again outside of a run: by a replay, or by the hook of an agent.

A quarantine excuses as much as it does in a run, and no more (rule 18.8).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from yaoki.core.decide.quarantine import (
    RERUNS_MAX,
    RepeatedTests,
    apply_quarantine,
    name_entries,
    names_every_failure,
    observe_tests,
)
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import CheckSpec, CheckType, Finding, Outcome
from yaoki.core.model.flaky_test import QuarantineEntry, find_entry

# One pass clears a test that is in no quarantine.
PASSES_NEEDED = 1

# Runs the check once more; None if there is no time for it.
RunAgain = Callable[[], Finding | None]


def is_repeatable(spec: CheckSpec, finding: Finding) -> bool:
    return finding.outcome is Outcome.FAILED and spec.rerun and spec.type is CheckType.COMMAND


class RepeatedCheck:
    """Without `run_on_base` a test that seldom passes cannot be compared with the base: then
    `reruns_max` must be less than `FAILURES_TO_COMPARE`.
    """

    def __init__(
        self,
        spec: CheckSpec,
        run_again: RunAgain,
        run_on_base: RunAgain | None = None,
        reruns_max: int = RERUNS_MAX,
    ) -> None:
        self._spec, self._reruns_max = spec, reruns_max
        self._run_again, self._run_on_base = run_again, run_on_base
        self._candidate: list[Finding] = []
        self._base: list[Finding] = []

    def judge(self, first: Finding, entries: Sequence[QuarantineEntry], now: datetime) -> Finding:
        """The failed finding as FLAKY if a re-run passes or a quarantine excuses each failure.

        An entry that has expired makes it red even then.
        """
        if not self._repeat():
            return first
        passed = self._candidate[0].outcome is Outcome.PASSED
        judged = replace(first, outcome=Outcome.FLAKY) if passed else first
        # The names of hidden tests must not be shown.
        if self._spec.hidden is not None:
            return judged
        found = {test: find_entry(entries, test) for test in self._tests(first).failing}
        quarantined = [test for test, entry in found.items() if entry is not None]
        expired = any(entry.has_expired(now) for entry in found.values() if entry is not None)
        if not quarantined:
            return judged
        if passed and not expired:
            return name_entries(judged, quarantined, entries)
        if not expired:
            self._repeat_for(first, quarantined)
        if not names_every_failure((first, *self._candidate)):
            return judged
        tests = self._tests(first)
        verdicts = {
            test: tests.judge(test, PASSES_NEEDED, find_entry(entries, test), now)
            for test in tests.failing
        }
        return apply_quarantine(judged, tests, verdicts, entries)

    def _tests(self, first: Finding) -> RepeatedTests:
        return RepeatedTests(
            observe_tests(first),
            tuple(map(observe_tests, self._candidate)),
            tuple(map(observe_tests, self._base)),
        )

    def _repeat_for(self, first: Finding, quarantined: Sequence[str]) -> None:
        while (
            len(self._candidate) < self._reruns_max
            and self._tests(first).are_undecided(quarantined, PASSES_NEEDED)
            and self._repeat()
        ):
            pass
        while (
            self._run_on_base is not None
            and len(self._base) < RERUNS_MAX
            and any(map(self._tests(first).seldom_passes, quarantined))
            and (base := self._run_on_base()) is not None
        ):
            self._base.append(base)

    def _repeat(self) -> bool:
        again = self._run_again()
        if again is not None:
            self._candidate.append(again)
        return again is not None
