"""The final check is not a task of the plan; the time of a run never decreases."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from tests.acceptance.project import Project, a_plan, file_contains, wait_until, waits_for
from tests.faces.web.page_server import PageServer, run_page_server

pytestmark = pytest.mark.spec("12.5")


@pytest.mark.full
def test_the_final_check_is_counted_separately_from_the_tasks(whole_server: PageServer) -> None:
    (listed,) = whole_server.client.document("/runs")["runs"]
    run = whole_server.client.document(f"/runs/{listed['run']}")
    last = whole_server.client.document(f"/runs/{run['run']}/burndown")["points"][-1]
    rows = whole_server.client.document(f"/runs/{run['run']}/timeline")

    assert listed["proofs"] == run["proofs"] == {"DONE": 1}
    assert run["counts"]["DONE"] - run["proofs"]["DONE"] == run["planned"] == 4
    assert (last["total"], last["done"]) == (4, 4)
    assert rows["until"] >= rows["rows"][-1]["attempts"][-1]["until"], "it ends after its proof"


def test_the_final_check_is_drawn_after_all_tasks(whole_server: PageServer) -> None:
    run = whole_server.client.document("/runs")["runs"][0]["run"]
    graph = whole_server.client.document(f"/runs/{run}/graph")
    nodes = [dict(zip(graph["fields"], node, strict=True)) for node in graph["nodes"]]
    (proof,) = [node for node in nodes if node["proof"]]
    before = {node["n"]: node for node in nodes if [node["n"], proof["n"]] in graph["edges"]}

    assert {node["name"] for node in before.values()} == {"pair", "alone"}
    assert proof["layer"] == graph["layers"] - 1
    assert all(node["layer"] < proof["layer"] for node in nodes if not node["proof"])


@pytest.mark.full
def test_the_duration_of_a_run_does_not_decrease_when_its_worker_is_killed(
    project: Project,
) -> None:
    """An agent works for long without a journal entry; this time counts too."""
    gate = project.folder / "gate"
    script = {"slow": [[waits_for(gate), {"write": {"slow.txt": "good\n"}}]]}
    plan = a_plan(script, [{"id": "slow", "checks": ["slow"]}], {"slow": file_contains("slow.txt")})
    with run_page_server(project) as page_server:
        worker = project.start("run", project.plan(plan))
        wait_until(lambda: "PROMPT_SENT" in project.event_names(), "the agent is at work")
        run = project.status()["run"]

        def head() -> dict[str, Any]:
            return page_server.client.document(f"/runs/{run}")

        def beyond() -> bool:
            (newest,) = page_server.client.document(f"/journal?run={run}&limit=1")["entries"]
            return instant(head()["moved_at"]) > instant(newest["at"])

        wait_until(beyond, "time goes on beyond the last line")
        known = instant(head()["moved_at"])
        worker.kill()
        worker.communicate()
        wait_until(lambda: not head()["carried"], "it is missed")

        assert instant(head()["moved_at"]) >= known
        gate.touch()
        assert project.yaoki("resume").code == 0


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text)
