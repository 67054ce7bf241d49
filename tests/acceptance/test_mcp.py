"""The MCP server, asked by the official client: its tools work in a real run, and a late caller
is refused by name."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import anyio
import pytest

from tests.acceptance.project import Project, a_plan, file_contains, waits_for, writes
from tests.acceptance.test_agent_results import (
    CHECKS,
    event_data,
    one_task,
    read_environment,
    running_attempt,
    save_environment,
    task_rows,
)

if TYPE_CHECKING:
    from mcp import Client

pytestmark = pytest.mark.acceptance
Seen = TypeVar("Seen")
TOOLS = {"result", "ask", "status", "why", "submit", "extend", "add_retry_task", "complete"}


def with_client(
    project: Project,
    who: Mapping[str, str],
    use: Callable[[Client], Awaitable[Seen]],
    mode: Literal["auto", "legacy"] = "auto",
    cwd: Path | None = None,
) -> Seen:
    """The client starts the server as agents do: by its command line, in the caller's folder."""
    # Slow to import: not when every process collects its tests.
    from mcp import Client, StdioServerParameters

    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "yaoki", "mcp"],
        env={**project.env, **who},
        cwd=cwd or (project.folder if who else project.repo),
    )

    async def talk() -> Seen:
        async with Client(server, mode=mode) as client:
            return await use(client)

    return anyio.run(talk)


class Answer:
    """What a call came to: the document, or the error that the agent reads."""

    def __init__(self, got: Any) -> None:
        self.failed: bool = got.is_error
        self.text: str = got.content[0].text
        self.document: dict[str, Any] = got.structured_content
        self.error: dict[str, Any] = self.document.get("error", {})


async def _all(calls: tuple[tuple[str, dict[str, Any]], ...], client: Client) -> list[Answer]:
    return [Answer(await client.call_tool(name, given)) for name, given in calls]


def call_tools(
    project: Project,
    who: Mapping[str, str],
    *calls: tuple[str, dict[str, Any]],
    cwd: Path | None = None,
) -> list[Answer]:
    return with_client(project, who, partial(_all, calls), cwd=cwd)


@pytest.mark.spec("12.7", "9.2", "11.2", "2.6")
def test_an_agent_reads_its_run_extends_it_and_reports_its_result(
    project: Project, tmp_path: Path
) -> None:
    kept, go = tmp_path / "env", tmp_path / "go"
    plan = a_plan(
        {
            "one": [[save_environment(kept), waits_for(go), *writes("a.txt")]],
            "more": [[*writes("a.txt"), *writes("more.txt")]],
        },
        [{"id": "one", "checks": ["a"]}],
        CHECKS,
    )
    more = {"id": "more", "goal": "Do more.", "needs": ["one"], "checks": ["a"]}
    done = {"status": "done", "summary": "It works."}

    with running_attempt(project, plan, kept, go) as who:
        looked, reasons, bad, grown, early, noted, again = call_tools(
            project,
            who,
            ("status", {}),
            ("why", {"task": "one"}),
            ("extend", {"tasks": [{**more, "checks": ["aa"], "gaol": "x"}]}),
            ("extend", {"tasks": [more]}),
            ("complete", {}),
            ("result", done),
            ("result", done),
        )

    assert looked.document["tasks"][0]["state"] == "ACTIVE"
    assert looked.document["run"] == who["YAOKI_RUN"]
    assert reasons.document["task"]["name"] == "one"
    assert bad.failed
    assert any("unknown key 'gaol'" in line for line in bad.error["defects"]), bad.text
    assert "yaoki-mcp-" not in bad.text, "where the server keeps its papers is nobody's business"
    assert (grown.failed, grown.document["revision"]) == (False, 2), grown.text
    assert (early.failed, "one (ACTIVE)" in early.text) == (True, True), early.text
    assert (noted.failed, noted.document["noted"]) == (False, True), noted.text
    assert (again.error["refused"], again.error["exit_code"]) == ("DUPLICATE", 66)
    assert len(event_data(project, "RESULT_NOTED")) == 1
    states = {t["name"]: t["state"] for t in project.status()["tasks"]}
    assert states == {"one": "DONE", "more": "DONE"}


@pytest.mark.full
@pytest.mark.spec("14.2", "14.4", "12.7", "11.5", "11.2", "0.4")
def test_a_stale_epoch_is_refused_by_every_tool_and_what_counts_is_bounded_and_masked(
    project: Project, tmp_path: Path
) -> None:
    key = "correct-horse-battery"
    first, kept, go = tmp_path / "first", tmp_path / "env", tmp_path / "go"
    plan = one_task(
        [[save_environment(first)], [save_environment(kept), waits_for(go), *writes("a.txt")]]
    )
    plan["goal"] = f"Use {key}"
    task = {"id": "more", "goal": "Do more.", "checks": ["a"]}
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("result", {"status": "failed", "summary": "late"}),
        ("ask", {"question": "late?"}),
        ("status", {}),
        ("why", {"task": "one"}),
        ("submit", {"plan": one_task([writes("a.txt")])}),
        ("extend", {"tasks": [task]}),
        ("add_retry_task", {"task": "one"}),
        ("complete", {}),
    )

    many = [("result", {"status": "failed", "summary": f"no {n}"}) for n in range(16)]

    with running_attempt(project, plan, kept, go) as who:
        before = task_rows(project)
        refused = call_tools(project, read_environment(first), *calls, *calls)
        after = task_rows(project)
        long, wrong, extra, foreign, looked, noted, *taken, over = call_tools(
            project,
            {**who, "MY_API_KEY": key},
            ("result", {"status": "failed", "summary": "x" * 4001}),
            ("result", {"status": "won", "summary": "x"}),
            ("result", {"status": "failed", "sumary": "x"}),
            ("status", {"run": "another"}),
            ("status", {}),
            ("result", {"status": "failed", "summary": f"{key} did not work"}),
            *many,
        )

    assert {name for name, _ in calls} == TOOLS
    assert {(one.failed, one.error["refused"]) for one in refused} == {(True, "STALE")}
    assert all("is stale" in one.text and "stop working" in one.text for one in refused)
    assert before == after
    journal = [data["call"] for data in event_data(project, "RESULT_REFUSED")][: len(TOOLS) - 1]
    assert sorted(journal) == sorted(TOOLS - {"ask"}), "one record for each kind of call"
    assert len(project.query("status", "--all", "--json").document["runs"]) == 1
    assert all(one.failed for one in (long, wrong, extra, foreign))
    assert "at most 4000 characters" in long.text
    assert "unknown argument 'sumary'; did you mean 'summary'?" in extra.text
    assert not looked.failed
    assert key not in looked.text
    assert "[masked]" in looked.document["goal"]
    assert not noted.failed, noted.text
    assert not any(one.failed for one in taken)
    assert (over.failed, "17 is over the limit of 16" in over.text) == (True, True), over.text
    summaries = [data["summary"] for data in event_data(project, "RESULT_NOTED")]
    assert summaries == ["[masked] did not work", *(f"no {n}" for n in range(15))]


@pytest.mark.spec("12.7", "3.9")
@pytest.mark.parametrize("inherits", [True, False], ids=["below the agent", "by the worktree"])
def test_a_server_without_variables_finds_its_attempt(
    project: Project, tmp_path: Path, inherits: bool
) -> None:
    """Some clients pass no variables on to their servers, whose parent still has them on Linux."""
    kept, go = tmp_path / "env", tmp_path / "go"
    question = ["result", "--status", "question", "--question", "Which port?"]
    bare = ["env", "-i", f"PATH={project.env['PATH']}", sys.executable, "-m", "yaoki", *question]
    acts = [{"run": bare}] if inherits else [save_environment(kept), waits_for(go)]
    if inherits:
        project.yaoki("run", project.plan(one_task([[*acts, {"hang": None}]])), "--quiet")
    else:
        with running_attempt(project, one_task([acts]), kept, go) as who:
            worktree = Path(who["YAOKI_WORKTREE"])
            [asked, status] = call_tools(
                project, {}, ("ask", {"question": "Which port?"}), ("status", {}), cwd=worktree
            )
            assert not asked.failed, asked.text
            assert status.document["run"] == who["YAOKI_RUN"]

    task = project.task("one")
    assert (task["state"], task["attempt"]) == ("ESCALATED", 1)
    assert "Which port?" in task["question"]


@pytest.mark.full
@pytest.mark.spec("9.1", "9.2", "8.5", "2.2", "10.4")
def test_a_session_without_a_task_changes_the_newest_run_and_submits_plans_for_approval(
    project: Project,
) -> None:
    """A session that a person drives fills a phase, replaces a failed task and submits a plan."""
    plan = a_plan(
        {"one": [writes("a.txt", "bad\n")], "one-r2": [writes("a.txt")], "b": [writes("b.txt")]},
        [{"id": "one", "checks": ["a"], "retry": {"max_retries": 0}, "phase": "first"}],
        {**CHECKS, "b": file_contains("b.txt")},
        phases=[
            {"id": "first"},
            {"id": "later", "needs": ["first"], "deferred": True, "constraints": {"max_tasks": 1}},
        ],
    )
    assert project.yaoki("run", project.plan(plan), "--quiet").code == 4
    run, new = project.status()["run"], one_task([writes("a.txt")])
    task = {"id": "b", "goal": "Do b.", "checks": ["b"], "agent": "actor"}

    crowd, filled, replaced, own, bad, both, made = call_tools(
        project,
        {},
        ("submit", {"phase": "later", "tasks": [task, {**task, "id": "c"}]}),
        ("submit", {"phase": "later", "tasks": [task]}),
        ("add_retry_task", {"task": "one", "goal": "Do it right."}),
        ("result", {"status": "done", "summary": "x"}),
        ("submit", {"plan": {**new, "taks": []}}),
        ("submit", {"plan": new, "phase": "x", "tasks": [{}]}),
        ("submit", {"plan": new}),
    )
    done = project.yaoki("resume", run, "--quiet")
    states = {t["name"]: t["state"] for t in project.status(run)["tasks"]}
    waits = project.yaoki("resume", made.document["run"], "--quiet")
    began = project.task("one")["attempt"]
    project.yaoki("answer", made.document["run"], "go")
    approved = project.yaoki("resume", made.document["run"], "--quiet")

    assert (crowd.failed, "over the limit of 1" in crowd.text) == (True, True), crowd.text
    assert not filled.failed, filled.text
    assert not replaced.failed, replaced.text
    assert (own.failed, "YAOKI_TASK is not set" in own.text) == (True, True)
    assert done.code == 0, done.out + done.err
    assert (states["one"], states["one-r2"], states["b"]) == ("REPLACED", "DONE", "DONE")
    assert (bad.failed, "did you mean 'tasks'?" in bad.text) == (True, True), bad.text
    assert (both.failed, "submit takes plan, or phase with tasks" in both.text) == (True, True)
    assert not made.failed, made.text
    assert (waits.code, began) == (4, 0), waits.out
    assert approved.code == 0, approved.out + approved.err
