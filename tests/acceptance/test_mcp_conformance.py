"""The MCP server against the official package: its client over pipes, and its wire models."""

from __future__ import annotations

import fcntl
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import anyio
import jsonschema
import pytest

from tests.acceptance.prepared import Prepared
from tests.acceptance.project import Project, a_plan, waits_for, writes
from tests.acceptance.test_agent_results import CHECKS, one_task, running_attempt, save_environment
from tests.acceptance.test_mcp import TOOLS, Answer, with_client
from tests.faces.mcp.test_server import VERSION, PipedServer, framed
from yaoki.faces.mcp.server import HANDSHAKE, MODERN

# Slow to import: not when every process collects its tests.
if TYPE_CHECKING:
    from mcp import Client

pytestmark = pytest.mark.acceptance
Mode = Literal["auto", "legacy"]
MODES: tuple[Mode, ...] = ("auto", "legacy")
PEOPLES = ("approve", "answer", "waive", "merge", "cancel", "undo", "resume", "revive", "go")
SECONDS_MAX = 60.0
CLIENT = {"name": "test", "version": "1"}
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


@contextmanager
def writers_wait(repo: Path) -> Iterator[None]:
    """No process can write to the store meanwhile."""
    with (repo / ".yaoki" / "state.lock").open("rb+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def a_run(project: Project) -> None:
    """One landed task, so that the tools have something to show."""
    assert project.yaoki("run", project.plan(one_task([writes("a.txt")])), "--quiet").code == 0


@pytest.mark.spec("12.7", "9.2")
@pytest.mark.parametrize("mode", MODES)
def test_the_official_client_calls_every_tool(project: Project, tmp_path: Path, mode: Mode) -> None:
    """The client refuses a frame that its models do not accept, and structured content that does
    not fit a declared schema.  No tool is reserved for people."""
    kept, go = tmp_path / "env", tmp_path / "go"
    more = {"id": "more", "goal": "Do more.", "needs": ["one"], "checks": ["a"]}
    plan = a_plan(
        {"one": [[save_environment(kept), waits_for(go), *writes("a.txt")]], "more": [[]]},
        [{"id": "one", "checks": ["a"]}],
        CHECKS,
    )
    calls: dict[str, tuple[dict[str, Any], bool]] = {
        "status": ({}, True),
        "why": ({"task": "one"}, True),
        "submit": ({"plan": one_task([writes("a.txt")])}, True),
        "extend": ({"tasks": [more]}, True),
        "add_retry_task": ({"task": "one"}, False),
        "complete": ({}, False),
        "result": ({"status": "done", "summary": "It works."}, True),
        "ask": ({"question": "Which port?"}, True),
    }

    async def use(client: Client) -> tuple[str, Any, dict[str, Answer]]:
        listed = (await client.list_tools()).tools
        got = {
            name: Answer(await client.call_tool(name, given)) for name, (given, _) in calls.items()
        }
        return client.protocol_version, listed, got

    with running_attempt(project, plan, kept, go) as who:
        version, listed, got = with_client(project, who, use, mode)

    assert version == {"auto": "2026-07-28", "legacy": "2025-11-25"}[mode]
    assert set(calls) == {tool.name for tool in listed} == TOOLS
    assert not [name for name in TOOLS if any(word in name for word in PEOPLES)]
    reads = {tool.name for tool in listed if tool.annotations.read_only_hint}
    assert reads == {"status", "why"}
    for tool in listed:
        assert tool.description
        assert tool.input_schema["additionalProperties"] is False
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        jsonschema.validate(calls[tool.name][0], tool.input_schema)
    for name, (_, succeeds) in calls.items():
        assert got[name].failed is not succeeds, (name, got[name].text)
        assert got[name].document, name
        if not succeeds:
            assert got[name].error["sentence"] in got[name].text
            assert got[name].error["exit_code"], name


@pytest.mark.spec("12.7", "14.4")
@pytest.mark.parametrize("mode", MODES)
def test_the_official_client_distinguishes_protocol_errors_from_failed_tools(
    project: Project, mode: Mode
) -> None:
    import mcp_types
    from mcp import MCPError

    async def use(client: Client) -> tuple[int, Answer, Answer]:
        with pytest.raises(MCPError) as no_tool:
            await client.call_tool("merge", {})
        wrong = Answer(await client.call_tool("why", {"task": 7}))
        return no_tool.value.error.code, wrong, Answer(await client.call_tool("status", {}))

    code, wrong, nothing = with_client(project, {}, use, mode)

    assert code == mcp_types.INVALID_PARAMS
    assert (wrong.failed, "task: Input should be" in wrong.text) == (True, True), wrong.text
    assert (nothing.failed, "there is no run here yet" in nothing.text) == (True, True)


@pytest.mark.spec("12.7")
def test_the_official_client_pings(project: Project) -> None:
    """Only in the older protocol: 2026-07-28 has no ping."""

    async def use(client: Client) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return await client.send_ping()

    assert with_client(project, {}, use, "legacy") is not None


@pytest.mark.full
@pytest.mark.sqlite(why="it holds the lock file of the store's own file")
@pytest.mark.spec("12.7", "11.2")
@pytest.mark.parametrize("mode", MODES)
def test_the_server_answers_the_next_call_after_a_cancelled_one(
    prepared: Prepared, mode: Mode
) -> None:
    """The protocol lets a server finish a cancelled call; the client must then drop its answer.

    The call is stuck behind another writer when the client gives it up.
    """
    project, _ = prepared.after(a_run)
    plan = one_task([writes("a.txt")])

    async def use(client: Client) -> tuple[bool, Answer]:
        with writers_wait(project.repo), anyio.move_on_after(1.0) as given_up:
            await client.call_tool("submit", {"plan": plan})
        with anyio.fail_after(SECONDS_MAX):
            return given_up.cancelled_caught, Answer(await client.call_tool("why", {"task": "one"}))

    cancelled, next_answer = with_client(project, {}, use, mode)

    assert cancelled
    assert not next_answer.failed, next_answer.text
    assert next_answer.document["task"]["name"] == "one"


# ------------------------------------------------------------------ each version's own models


def params_of(version: str, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    if version in HANDSHAKE:
        return dict(given or {})
    meta = {VERSION: version, "io.modelcontextprotocol/clientInfo": CLIENT, CAPABILITIES: {}}
    return {**(given or {}), "_meta": meta}


@pytest.mark.quick_cases(1)
@pytest.mark.spec("12.7")
@pytest.mark.parametrize("version", [*HANDSHAKE, *MODERN])
def test_each_answer_fits_the_models_of_its_protocol_version(
    prepared: Prepared, version: str
) -> None:
    import mcp_types
    from mcp_types.methods import validate_server_result

    project, _ = prepared.after(a_run)
    server = PipedServer(project.repo, project.env)
    shake = {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT}
    begin = ("initialize", shake) if version in HANDSHAKE else ("server/discover", {})
    requests: list[tuple[str, dict[str, Any]]] = [
        begin,
        ("tools/list", {}),
        ("tools/call", {"name": "status", "arguments": {}}),
        ("tools/call", {"name": "why", "arguments": {"task": "one"}}),
        ("tools/call", {"name": "why", "arguments": {"task": "none such"}}),
        *([("ping", {})] if version in HANDSHAKE else []),
    ]

    try:
        answers = [
            (method, server.ask(framed(method, params_of(version, given))))
            for method, given in requests
        ]
        unknown = server.ask(framed("resources/list", params_of(version)))
    finally:
        server.process.communicate(timeout=SECONDS_MAX)

    for method, answer in answers:
        mcp_types.JSONRPCResponse.model_validate(answer)
        validate_server_result(method, version, answer["result"])
    failure = mcp_types.JSONRPCError.model_validate(unknown)
    assert failure.error.code == mcp_types.METHOD_NOT_FOUND
