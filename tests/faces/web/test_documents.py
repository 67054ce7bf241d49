"""Every route is published and matches its schema; documents equal those of the command line."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.acceptance.project import Project
from tests.faces.web.page_server import PageServer, run_page_server
from yaoki.faces.web.routes import BASE, ROUTES

# Fields that only the list of runs has.
MORE = {"blocked", "carried", "proofs"}
GETS = [route for route in ROUTES if route.method == "GET" and route.response_schema]


def closed(schema: Any) -> Any:
    """Published schemas allow new fields; here every field must be published."""
    if isinstance(schema, list):
        return [closed(held) for held in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(held) for key, held in schema.items()}
    if "properties" in made and "additionalProperties" not in made:
        made["additionalProperties"] = False
    return made


def wrong(document: Any, name: str, openapi: dict[str, Any]) -> list[str]:
    """Where a document does not match its schema."""
    schema = closed({"$ref": f"#/components/schemas/{name}", "components": openapi["components"]})
    found = Draft202012Validator(schema).iter_errors(document)
    return [f"{'/'.join(map(str, error.path))}: {error.message[:200]}" for error in found]


@pytest.fixture(scope="module")
def openapi(page_server: PageServer) -> dict[str, Any]:
    return page_server.client.document("/openapi.json")


@pytest.fixture(scope="module")
def parts(finished_project: Project) -> dict[str, str]:
    lie = finished_project.task("lie")["id"]
    return {"run": finished_project.status()["run"], "task": lie, "attempt": "1", "seq": "3"}


@pytest.mark.spec("12.5")
def test_every_route_is_in_the_published_document(openapi: dict[str, Any]) -> None:
    published = {(m, path) for path, held in openapi["paths"].items() for m in held}

    assert openapi["openapi"].startswith("3.1")
    assert published == {(route.method.lower(), BASE + route.path) for route in ROUTES}
    for schema in openapi["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


@pytest.mark.full
@pytest.mark.spec("12.5")
def test_the_published_document_is_valid_openapi(openapi: dict[str, Any]) -> None:
    """Also: each default fits its own schema, and each reference has a target."""
    assert [error.message for error in OpenAPIV31SpecValidator(openapi).iter_errors()] == []


@pytest.mark.spec("12.5")
def test_a_list_in_the_query_is_published_with_its_separator_and_values(
    openapi: dict[str, Any],
) -> None:
    told = openapi["paths"][f"{BASE}/runs/{{run}}/tasks"]["get"]["parameters"]
    state = next(param for param in told if param["name"] == "state")

    assert (state["style"], state["explode"], state["schema"]["type"]) == ("form", False, "array")
    assert "ESCALATED" in state["schema"]["items"]["enum"]


@pytest.mark.spec("12.5")
@pytest.mark.parametrize("route", GETS, ids=lambda route: route.operation_id)
def test_an_answer_has_the_published_shape(
    page_server: PageServer, openapi: dict[str, Any], parts: dict[str, str], route: Any
) -> None:
    path = route.path.format(**parts)

    answer = page_server.client.get(path)

    assert answer.status == 200, answer.body
    assert answer.headers["content-type"] == "application/json"
    assert wrong(answer.document, route.response_schema, openapi) == []


@pytest.mark.spec("12.5")
def test_an_error_has_the_published_shape(page_server: PageServer, openapi: dict[str, Any]) -> None:
    answers = [
        page_server.client.get(path) for path in ("/nothing", "/runs/zzz", "/tasks/zzzzzzzz-1")
    ]
    answers.append(page_server.client.get("/journal?limit=0"))

    assert [answer.status for answer in answers] == [404, 404, 404, 400]
    assert all(wrong(answer.document, "Error", openapi) == [] for answer in answers)


@pytest.mark.spec("12.5", "12.1")
def test_documents_equal_those_of_the_command_line(
    finished_project: Project, page_server: PageServer
) -> None:
    run = finished_project.status()["run"]
    task = finished_project.task("asks")["id"]
    ask = page_server.client.document

    status = finished_project.status()
    head, tasks = ask(f"/runs/{run}"), ask(f"/runs/{run}/tasks")["tasks"]
    why = finished_project.query("why", task, "--json").document
    trace = finished_project.events(run)
    journal = list(page_server.client.pages("/journal?limit=7", "entries"))
    stats = finished_project.query("stats", "prompts", "--json").document
    config = finished_project.query("config", "show", "--json").document
    diff = finished_project.query("diff", "lie", "--json").document
    told = ask(f"/tasks/{finished_project.task('lie')['id']}/diff")

    assert {key: head[key] for key in status if key != "tasks"} == {
        key: held for key, held in status.items() if key != "tasks"
    }
    assert [
        {k: v for k, v in task.items() if k not in {"waits_for", "waits"}} for task in tasks
    ] == status["tasks"]
    held = ask(f"/tasks/{task}")
    assert {key: held[key] for key in why if key != "task"} == {
        key: value for key, value in why.items() if key != "task"
    }
    runs = [{k: v for k, v in one.items() if k not in MORE} for one in ask("/runs")["runs"]]
    assert runs == finished_project.query("status", "--all", "--json").document["runs"]
    assert [entry["seq"] for entry in reversed(journal)] == [entry["seq"] for entry in trace]
    assert ask("/prompts")["prompts"] == stats["prompts"]
    assert ask("/config")["settings"] == config["settings"]
    assert {key: told[key] for key in diff} == diff


@pytest.mark.full
@pytest.mark.spec("12.5")
def test_all_lists_are_empty_before_the_first_run(
    project: Project, openapi: dict[str, Any]
) -> None:
    lists = ("/session", "/runs", "/journal", "/needs-you", "/workers", "/limits", "/prompts")
    with run_page_server(project) as server:
        answers = {path: server.client.get(path) for path in (*lists, "/reliability", "/config")}
        missing = server.client.get("/runs/any")
        document = answers["/session"].document

    by_path = {route.path: route.response_schema for route in GETS}
    for path, answer in answers.items():
        assert answer.status == 200, answer.body
        assert wrong(answer.document, by_path[path], openapi) == []
    assert (document["has_store"], document["cursor"]) == (False, 0)
    assert missing.status == 404
    assert not (project.repo / ".yaoki").exists(), "looking makes nothing"
