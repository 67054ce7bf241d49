"""Verdicts in the store: found by their key, and only if the journal confirms them."""

from __future__ import annotations

import pytest

from tests.adapters.store.store_actions import (
    StoreLocation,
    claim_one,
    lease_of,
    run_sql,
    submit,
)
from tests.builders import RUN_ID, a_finding, a_spec
from yaoki.adapters.store import SqlStore
from yaoki.core.decide.verdict_reuse import REUSED_FROM, with_key
from yaoki.core.lazy_dataclass import replace
from yaoki.core.machine.journal_notes import check_finished_note
from yaoki.core.model import Finding, Outcome
from yaoki.core.model.verdict_key import VerdictKey, VerdictOrigin

pytestmark = pytest.mark.spec("17.5")
KEY = VerdictKey("inputs", "definition", "plain", "tools")
PASSED = with_key(a_finding(Outcome.PASSED, check="tests"), KEY)


def prove(store: SqlStore, *findings: Finding) -> str:
    (task_id,) = submit(store, a_spec("a"))
    task = claim_one(store)
    store.record(lease_of(task), lambda _: [check_finished_note(one, "c1") for one in findings])
    return task_id


def test_a_pass_is_found_by_its_key_and_by_no_other(store: SqlStore) -> None:
    task_id = prove(store, PASSED)

    assert store.find_verdict(KEY) == VerdictOrigin(RUN_ID, task_id, "c1")
    assert store.find_verdict(replace(KEY, tools="newer")) is None


@pytest.mark.parametrize(
    "finding",
    [
        with_key(a_finding(Outcome.FAILED, check="tests"), KEY),
        with_key(a_finding(Outcome.FLAKY, check="tests"), KEY),
        a_finding(Outcome.PASSED, check="tests"),
        replace(PASSED, params={**PASSED.params, REUSED_FROM: {"commit": "c0"}}),
    ],
    ids=["failed", "flaky", "without a key", "reused itself"],
)
def test_anything_but_a_pass_of_its_own_is_not_found(store: SqlStore, finding: Finding) -> None:
    prove(store, finding)

    assert store.find_verdict(KEY) is None


@pytest.mark.parametrize(
    "poison",
    [
        "UPDATE verdicts SET commit_id = 'c2'",
        "UPDATE verdicts SET task_id = 'r-9'",
        "UPDATE journal SET data = replace(data, 'PASSED', 'FAILED')",
    ],
    ids=["commit", "task", "journal"],
)
def test_a_row_that_the_journal_does_not_confirm_is_not_found(
    store: SqlStore, store_location: StoreLocation, poison: str
) -> None:
    prove(store, PASSED)

    run_sql(store_location, poison)

    assert store.find_verdict(KEY) is None


def test_a_written_row_alone_is_not_found(store: SqlStore, store_location: StoreLocation) -> None:
    task_id = prove(store, a_finding(Outcome.PASSED, check="tests"))
    row = f"('{KEY.digest}', '{RUN_ID}', '{task_id}', 'c1')"

    run_sql(store_location, f"INSERT INTO verdicts VALUES {row}")

    assert store.find_verdict(KEY) is None
