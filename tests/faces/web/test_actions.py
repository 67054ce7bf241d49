"""Actions on the page use the code of the commands, and run only once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acceptance.project import Project, a_plan, file_contains, writes
from tests.faces.web.conftest import the_plan
from tests.faces.web.page_server import run_page_server
from tests.faces.web.test_documents import wrong

pytestmark = pytest.mark.spec("12.5")


def run_plan(project: Project, plan: dict[str, Any], code: int) -> str:
    done = project.yaoki("run", project.plan(plan), "--json")
    assert done.code == code, done.out + done.err
    return str(done.document["run"])


@pytest.mark.spec("10.4")
def test_an_answer_on_the_page_continues_the_run(project: Project) -> None:
    run = run_plan(project, the_plan(), 4)
    asks = f"{run}-3"
    with run_page_server(project) as server:
        ask = server.client
        openapi = ask.document("/openapi.json")
        asking = ask.document("/needs-you")
        before = ask.document(f"/tasks/{asks}")
        strange = [
            ask.post(f"/tasks/{asks}/answer", body)
            for body in ({}, {"choice": "maybe"}, {"choice": "retry", "more": 1})
        ]
        refused = ask.post(f"/tasks/{asks}/answer", {"choice": "waive", "check": "none"})
        answer = ask.post(f"/tasks/{asks}/answer", {"choice": "retry", "words": "an owl, please"})
        again = ask.post(f"/tasks/{asks}/retry", {"words": "or not"})
        resumed = project.yaoki("resume", "--json")
        after = ask.document("/needs-you")

    (question,) = asking["asking"]
    assert question["task"]["question"] == "Shall it be an owl?"
    assert (question["blocks"], asking["total"]) == (1, 1)
    assert before["actions"] == ["answer", "retry", "cancel"]
    assert [answer.status for answer in strange] == [400, 400, 400]
    assert refused.status == 409, "nothing was waived, and the question stands"
    assert answer.status == 200, answer.body
    assert wrong(answer.document, "Answered", openapi) == []
    assert again.status == 200, "words may be added until the attempt starts"
    assert resumed.code == 0, resumed.out + resumed.err
    assert "an owl, please" in project.prompt({"id": asks}, 2)
    assert (after["asking"], after["total"]) == ([], 0)


@pytest.mark.full
def test_a_task_is_cancelled_and_a_landed_task_is_undone(project: Project) -> None:
    plan = the_plan()
    plan["tasks"].pop()
    plan["checks"].pop("waits")
    script = plan["agents"]["actor"]["options"]["scenario"]["tasks"]
    script["lie"] = script["lie"][1:]
    run = run_plan(project, plan, 4)
    with run_page_server(project) as server:
        ask = server.client
        openapi = ask.document("/openapi.json")
        cancelled = ask.post(f"/tasks/{run}-3/cancel", {})
        final = ask.post(f"/tasks/{run}-1/cancel", {})
        standing = ask.post(f"/tasks/{run}-1/undo", {})
        undone = ask.post(f"/tasks/{run}-2/undo", {"cascade": False})
        story = ask.document(f"/tasks/{run}-2")

    assert cancelled.document["cancelled"] == [f"{run}-3"], cancelled.body
    assert wrong(cancelled.document, "Cancelled", openapi) == []
    assert final.status == 409, "what landed is not cancelled"
    assert standing.status == 409
    assert "--cascade" in standing.document["error"]["hint"]
    assert undone.status == 200, undone.body
    assert wrong(undone.document, "Undone", openapi) == []
    assert story["task"]["state"] == "ESCALATED"


@pytest.mark.full
@pytest.mark.spec("10.6")
def test_a_paused_run_can_be_continued(project: Project) -> None:
    names = ("one", "two")
    plan = a_plan(
        {name: [writes(f"{name}.txt")] for name in names},
        [
            {"id": "one", "checks": ["one"]},
            {"id": "two", "checks": ["two"], "needs": ["one"]},
        ],
        {name: file_contains(f"{name}.txt") for name in names},
        budget={"attempts": 1},
    )
    run = run_plan(project, plan, 5)
    with run_page_server(project) as server:
        ask = server.client
        openapi = ask.document("/openapi.json")
        needs = ask.document("/needs-you")
        limits = ask.document("/limits")
        before = ask.document(f"/runs/{run}")
        went = ask.post(f"/runs/{run}/go", {"words": "as much again"})
        again = ask.post(f"/runs/{run}/go", {})

    (paused,) = needs["paused"]
    (budget,) = limits["budgets"]
    assert (paused["run"], paused["choices"]) == (run, ["go", "abort"])
    assert (budget["name"], budget["used"], budget["limit"]) == ("attempts", 1.0, 1.0)
    assert before["actions"] == ["go", "cancel"]
    assert went.status == 200, went.body
    assert wrong(went.document, "Went", openapi) == []
    assert again.status == 409
    assert project.yaoki("resume").code == 0
