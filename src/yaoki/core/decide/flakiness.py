"""Is a failure flaky?  Judged by repeated runs of the failed check (rule 6.5)."""

from __future__ import annotations

from yaoki.core.lazy_dataclass import dataclass, replace

# Re-runs of failing tests, on the candidate and on its base.
CANDIDATE_RERUNS_MAX = 5
# Tests that failed twice on the candidate run this often on the base.
BASE_RERUNS_MAX = 2
# Re-runs of a whole check.
WHOLE_RERUNS_MAX = 2


@dataclass(frozen=True, slots=True)
class RepeatedRuns:
    """The runs after the first failure; `needed` passes in a row on the candidate clear it."""

    needed: int
    candidate: tuple[bool, ...] = ()
    base: tuple[bool, ...] = ()
    seconds: tuple[float, ...] = ()

    def with_candidate_run(self, passed: bool, seconds: float = 0.0) -> RepeatedRuns:
        seen = (*self.seconds, seconds)
        return replace(self, candidate=(*self.candidate, passed), seconds=seen)

    def with_base_run(self, passed: bool, seconds: float = 0.0) -> RepeatedRuns:
        return replace(self, base=(*self.base, passed), seconds=(*self.seconds, seconds))

    @property
    def always_passed(self) -> bool:
        """True while every further run on the candidate passed."""
        return all(self.candidate)

    @property
    def never_passed(self) -> bool:
        return not any(self.candidate)

    @property
    def is_flaky(self) -> bool:
        """All later runs passed, or some did and the check is flaky without the change as well.

        A failure that never passes with the change is real, however flaky the check was before.
        """
        cleared = self.always_passed and len(self.candidate) >= self.needed
        return cleared or (self.fails_on_base_at_random and not self.never_passed)

    @property
    def passes_words(self) -> str:
        """The passes of a check that counts as failed; empty if it never passed."""
        passed, count = sum(self.candidate), len(self.candidate)
        if not passed:
            return ""
        return f"it passed {passed} of the {count} times it was run again on the same commit"

    @property
    def fails_on_base_at_random(self) -> bool:
        return any(self.base) and not all(self.base)

    @property
    def counts(self) -> dict[str, int]:
        return {
            "candidate": len(self.candidate),
            "candidate_passed": sum(self.candidate),
            "base": len(self.base),
            "base_passed": sum(self.base),
        }

    @property
    def description(self) -> str:
        if self.always_passed:
            return f"failed, then passed {len(self.candidate)} times in a row on the same commit"
        return f"it passed {sum(self.base)} of {len(self.base)} times without the change as well"
