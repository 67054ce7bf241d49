"""The document of an attempt has the evidence that its checks prove something."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.acceptance.project import Project
from tests.faces.web.page_server import PageServer
from tests.faces.web.test_documents import wrong

pytestmark = pytest.mark.spec("12.5")


@pytest.fixture(scope="module")
def attempts(evidence_project: Project, evidence_server: PageServer) -> list[dict[str, Any]]:
    """The three attempts of `half`."""
    task = evidence_project.task("half")
    assert task["attempt"] == 3
    ask = evidence_server.client.document
    return [ask(f"/tasks/{task['id']}/attempts/{n}") for n in (1, 2, 3)]


def test_the_evidence_has_the_published_shape(
    attempts: list[dict[str, Any]], evidence_server: PageServer
) -> None:
    openapi = evidence_server.client.document("/openapi.json")

    assert [wrong(attempt, "Attempt", openapi) for attempt in attempts] == [[], [], []]


@pytest.mark.spec("17.4")
def test_tell_tales_are_named_with_what_else_is_wrong(attempts: list[dict[str, Any]]) -> None:
    evidence = attempts[0]["evidence"]

    (place,) = evidence["tell_tales"]["places"]
    assert place["where"] == "half.py:4"
    assert place["words"].startswith("finds out whether a test runs it")
    assert evidence["tell_tales"]["outcome"] == "FAILED"
    assert (evidence["red_first"]["asked"], evidence["red_first"]["outcome"]) == (True, None)
    assert (evidence["mutants"]["asked"], evidence["mutants"]["outcome"]) == (True, None)
    assert [one["outcome"] for one in evidence["hidden_checks"]] == ["FAILED"]


@pytest.mark.spec("17.2")
def test_a_hidden_check_has_its_hash_and_its_outcome_and_nothing_of_its_content(
    attempts: list[dict[str, Any]],
) -> None:
    _, second, third = ([*one["evidence"]["hidden_checks"]] for one in attempts)

    assert [one["check"] for one in (*second, *third)] == ["acceptance", "acceptance"]
    assert [one["outcome"] for one in (*second, *third)] == ["FAILED", "PASSED"]
    assert len({one["digest"] for one in (*second, *third)}) == 1
    assert len(second[0]["digest"]) == 64
    assert not [
        secret for secret in ("424300071", "212150035", "test_large.py") if secret in str(attempts)
    ]


@pytest.mark.spec("17.1", "17.3")
def test_the_landed_attempt_has_its_red_tests_and_its_mutants(
    attempts: list[dict[str, Any]],
) -> None:
    evidence = attempts[2]["evidence"]

    red, mutants = evidence["red_first"], evidence["mutants"]
    assert (red["outcome"], red["required"]) == ("PASSED", True)
    assert (red["tests"], red["tests_left_out"]) == (["test_half.py::test_odd"], 0)
    assert (mutants["outcome"], mutants["required"]) == ("PASSED", False)
    counts = mutants["counts"]
    assert sum(counts[key] for key in ("killed", "survived", "unjudged", "untried")) == 4
    assert counts["survived"] == len(mutants["survivors"]) > 0
    assert mutants["survivors"][0]["words"].startswith("no test notices if ")
    assert mutants["survivors"][0]["where"].startswith("half.py:")
    assert (evidence["tell_tales"]["outcome"], evidence["commit"]) == (
        None,
        attempts[2]["findings"][-1]["commit"],
    )


def test_a_task_that_is_asked_for_nothing_says_so(
    evidence_project: Project, evidence_server: PageServer
) -> None:
    task = evidence_project.task("plain")["id"]

    evidence = evidence_server.client.document(f"/tasks/{task}/attempts/1")["evidence"]

    assert (evidence["red_first"]["asked"], evidence["mutants"]["asked"]) == (False, False)
    assert (evidence["hidden_checks"], evidence["tell_tales"]["places"]) == ([], [])
    assert len(json.dumps(evidence)) < 600
