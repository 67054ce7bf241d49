"""The final check is not a task of the plan."""

from __future__ import annotations

import pytest

from tests.faces.web.page_server import PageServer

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
