"""Lists with filters and cursors, pieces of logs, the graph, the timeline and the burn-down."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tests.acceptance.project import Project
from tests.faces.web.page_server import PageServer

pytestmark = pytest.mark.spec("12.5")


def test_tasks_are_paged_and_filtered(page_server: PageServer, run_id: str) -> None:
    path = f"/runs/{run_id}/tasks"
    ask = page_server.client

    all_ = list(ask.pages(f"{path}?limit=1", "tasks"))
    some = ask.document(f"{path}?state=DONE,ESCALATED&limit=2")
    named = ask.document(f"{path}?text=CUR")
    chosen = ask.document(f"{path}?ids={run_id}-4,{run_id}-1")
    waits = {task["name"]: task["waits_for"] for task in all_}

    assert [task["n"] for task in all_] == [1, 2, 3, 4]
    assert (some["total"], some["matched"], len(some["tasks"])) == (4, 3, 2)
    assert [task["name"] for task in named["tasks"]] == ["cured"]
    assert [task["n"] for task in chosen["tasks"]] == [1, 4]
    assert waits == {"lie": None, "cured": None, "asks": None, "waits": "blocked by asks"}


@pytest.mark.parametrize(
    "query",
    [
        *("limit=0", "limit=1001", "limit=x", "limit=１", "limit=1_0", "cursor=x", "state=NOPE"),
        *("what=1", "limit=1&limit=2", f"text={'x' * 300}", "ids=" + ",".join("a" * 101)),
    ],
)
def test_an_invalid_parameter_is_refused_by_name(
    page_server: PageServer, run_id: str, query: str
) -> None:
    answer = page_server.client.get(f"/runs/{run_id}/tasks?{quote(query, safe='=&,')}")

    assert (answer.status, answer.code) == (400, "BAD_REQUEST")
    assert query.partition("=")[0] in answer.document["error"]["sentence"]


def test_the_journal_is_read_from_both_ends(
    page_server: PageServer, finished_project: Project, run_id: str
) -> None:
    ask = page_server.client
    entries = finished_project.events(run_id)
    seqs = [entry["seq"] for entry in entries]

    newest = [entry["seq"] for entry in ask.pages("/journal?limit=7", "entries")]
    of_run = [entry["seq"] for entry in ask.pages(f"/journal?run={run_id}&limit=50", "entries")]
    onward = ask.document(f"/journal?after={seqs[4]}&limit=3")
    landed = ask.document("/journal?event=TASK_LANDED,ESCALATE_DECISION&limit=10")
    of_task = list(ask.pages(f"/journal?task={run_id}-1&limit=4", "entries"))
    found = ask.document("/journal?text=does+not+hold&limit=100")["entries"]

    assert newest == of_run == seqs[::-1]
    assert [entry["seq"] for entry in onward["entries"]] == seqs[5:8]
    assert {e["event"] for e in landed["entries"]} == {"TASK_LANDED", "ESCALATE_DECISION"}
    assert {entry["task"] for entry in of_task} == {f"{run_id}-1"}
    assert len(of_task) == len([e for e in entries if e["task"] == f"{run_id}-1"])
    assert found
    assert all("does not hold" in entry["words"] for entry in found)


def test_long_data_are_omitted_from_lists_and_available_per_entry(
    page_server: PageServer, finished_project: Project
) -> None:
    entries = {entry["seq"]: entry for entry in finished_project.events()}
    listed = list(page_server.client.pages("/journal?limit=500", "entries"))

    for entry in listed:
        whole_server = page_server.client.document(f"/journal/{entry['seq']}")["entry"]
        assert whole_server["data"] == entries[entry["seq"]]["data"]
        assert entry["data"] == ({} if entry["cut"] else whole_server["data"])


def test_a_log_is_read_in_pieces_that_fit_together(page_server: PageServer, run_id: str) -> None:
    ask = page_server.client
    path = f"/tasks/{run_id}-1/attempts/2/log"
    attempt = ask.document(f"/tasks/{run_id}-1/attempts/2")
    sizes = {log["file"]: log["bytes"] for log in attempt["logs"]}

    whole_server = ask.document(f"{path}?file=prompt&from=0&bytes=1048576")
    pieces, at = [], 0
    while at < sizes["prompt"]:
        piece = ask.document(f"{path}?file=prompt&from={at}&bytes=100")
        assert piece["from"] == at
        assert piece["until"] > at
        pieces.append(piece["text"])
        at = piece["until"]
    tail = ask.document(f"{path}?file=prompt&bytes=60")

    assert "".join(pieces) == whole_server["text"]
    assert whole_server["text"].endswith(tail["text"])
    assert "lie.txt does not hold good" in whole_server["text"], "the words about the failure"
    assert attempt["prompt"]["pattern"] == "test-failed"
    assert "check:lie" in sizes
    assert ask.document(f"{path}?file=check:lie")["bytes"] == sizes["check:lie"]
    for missing in ("check:none", "none", "../1/out", "check:../../x", "execution:../../1"):
        assert ask.get(f"{path}?file={missing}").status == 404
    assert ask.get(f"/tasks/{run_id}-1/attempts/9/log").status == 404


def test_further_executions_of_a_check_are_logs_of_their_own(
    page_server: PageServer, run_id: str
) -> None:
    attempt = f"/tasks/{run_id}-1/attempts/1"
    logs = page_server.client.document(attempt)["logs"]
    again = page_server.client.document(f"{attempt}/log?file=execution:1-lie-again-1")

    purposes = {log["file"]: log["purpose"] for log in logs}
    assert (purposes["check:lie"], purposes["execution:1-lie-again-1"]) == (None, "again")
    assert "execution:1-lie" not in purposes, "that is check:lie"
    assert "lie.txt does not hold good" in again["text"]


def test_an_attempt_has_its_prompt_its_findings_and_its_decision(
    page_server: PageServer, run_id: str
) -> None:
    first = page_server.client.document(f"/tasks/{run_id}-1/attempts/1")
    diff = page_server.client.document(f"/tasks/{run_id}-1/attempts/1/diff")
    missing = page_server.client.get(f"/tasks/{run_id}-1/attempts/7")

    (finding, *_) = [one for one in first["findings"] if one["check"] == "lie"]
    assert (first["ended"], first["decision"]["decision"]) == ("RETRY", "RETRY")
    assert first["decision"]["rule_words"]
    assert (finding["outcome"], finding["pattern"]) == ("FAILED", "test-failed")
    assert (first["base"], first["head"]) == (diff["old"], diff["new"])
    assert "+bad" in diff["diff"]
    assert missing.status == 404


def test_the_graph_is_compact_and_edges_lead_downward(page_server: PageServer, run_id: str) -> None:
    graph = page_server.client.document(f"/runs/{run_id}/graph")

    nodes = [dict(zip(graph["fields"], node, strict=True)) for node in graph["nodes"]]
    layer = {node["n"]: node["layer"] for node in nodes}
    assert sorted(graph["edges"]) == [[1, 2], [2, 4], [3, 4]]
    assert all(layer[above] < layer[below] for above, below in graph["edges"])
    assert (layer[4], graph["layers"]) == (2, 3)
    assert [node["blocked"] for node in nodes] == [False, False, False, True]


def test_the_timeline_shows_stages_waits_and_their_causes(
    page_server: PageServer, run_id: str
) -> None:
    document = page_server.client.document(f"/runs/{run_id}/timeline")

    rows = {row["name"]: row for row in document["rows"]}
    ends = [attempt["ended"] for attempt in rows["lie"]["attempts"]]
    stages = [held["stage"] for held in rows["lie"]["attempts"][1]["stages"]]
    causes = {name: [wait["cause"] for wait in row["waits"]] for name, row in rows.items()}
    assert ends == ["RETRY", "LANDED"]
    assert stages[:2] == ["PREPARE", "WORK"]
    assert stages[-1] == "LAND"
    assert "BACKOFF" in causes["lie"]
    assert causes["cured"][0] == "NEEDS"
    assert causes["asks"][-1] == "PERSON"
    assert (causes["waits"], rows["waits"]["waits"][0]["until"]) == (["NEEDS"], None)
    for row in rows.values():
        for attempt in row["attempts"]:
            spans = [span for held in attempt["stages"] for span in (held["from"], held["until"])]
            assert spans == sorted(spans), "stages follow one another"


def test_the_burndown_ends_at_the_current_state(page_server: PageServer, run_id: str) -> None:
    head = page_server.client.document(f"/runs/{run_id}")
    all_ = page_server.client.document(f"/runs/{run_id}/burndown?points=1000")
    few = page_server.client.document(f"/runs/{run_id}/burndown?points=2")

    last = all_["points"][-1]
    assert all_["complete"]
    assert (last["total"], last["done"], last["open"], last["escalated"]) == (4, 2, 2, 1)
    assert (last["agent_runs"], last["cost"]) == (head["agent_runs"], None)
    assert few["points"] == [all_["points"][0], last]


def test_the_report_is_served_as_a_download(page_server: PageServer, run_id: str) -> None:
    forms = {"html": "text/html", "markdown": "text/markdown", "json": "application/json"}
    for form, media in forms.items():
        answer = page_server.client.get(f"/runs/{run_id}/report?format={form}")

        assert answer.status == 200, answer.body
        assert answer.headers["content-type"].startswith(media)
        assert answer.headers["content-disposition"].startswith("attachment; filename=")
        assert run_id.encode() in answer.body
    assert page_server.client.get(f"/runs/{run_id}/report?format=pdf").status == 400
