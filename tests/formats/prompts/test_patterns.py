"""Every shipped pattern has its one record, and what templates and reports need follows from it."""

from __future__ import annotations

import pytest

from yaoki.core.decide.verdict_classification import INCOMPLETE_PATTERNS
from yaoki.core.model import CONTENT_KINDS
from yaoki.core.model.patterns import _SHIPPED, PATTERNS, FailurePattern
from yaoki.formats.prompts.samples import _VALUES, sample_failure
from yaoki.formats.prompts.values import FILES, RECORDS
from yaoki.views.plain_words import describe_cause

pytestmark = pytest.mark.spec("4.5")


def test_no_two_records_have_one_name() -> None:
    assert len(PATTERNS) == len(_SHIPPED)


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_a_pattern_has_words_for_people_and_a_sample_of_each_param(pattern: FailurePattern) -> None:
    failure = sample_failure(pattern.name)

    assert describe_cause(pattern.kind, pattern.name) == pattern.plain_words != ""
    assert set(pattern.params) <= set(_VALUES)
    assert (failure.kind, failure.pattern) == (pattern.kind, pattern.name)
    assert pattern.kind in CONTENT_KINDS


def test_a_param_has_the_same_shape_in_every_pattern() -> None:
    values = {name for pattern in PATTERNS.values() for name in pattern.values}

    assert not (FILES & RECORDS | FILES & values | RECORDS & values)


def test_the_patterns_of_unfinished_work() -> None:
    assert {"agent-failed", "no-change", "omission", "syntax-error", "too-large"} == (
        INCOMPLETE_PATTERNS
    )
