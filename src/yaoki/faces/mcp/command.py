"""`yaoki mcp`: the tools for agents, on standard input and output."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from yaoki.errors import OverLimit, YaokiError
from yaoki.faces.mcp.caller import CallRefusal, repository_from_environment

ANSWER_BYTES_MAX = 512 * 1024


@click.command()
@click.option("--repo", metavar="DIR", help="The repository; by default that of the calling task.")
@click.pass_obj
def mcp(above: str | None, repo: str | None) -> int:
    """Serve the tools for agents over MCP, on standard input and output."""
    from yaoki.faces.mcp.call_context import CallContext
    from yaoki.faces.mcp.own_attempt import adopt_own_attempt
    from yaoki.faces.mcp.server import McpServer
    from yaoki.faces.mcp.tools import TOOLS

    if not (repo or above):
        adopt_own_attempt(Path.cwd())
    where = Path(repo or above or repository_from_environment(os.environ) or ".")
    context = CallContext(where, dict(os.environ))
    if sys.stdin.isatty():
        click.echo("yaoki: waiting for an MCP client; press Ctrl-D to quit", err=True)
    server = McpServer(
        [tool.document() for tool in TOOLS.values()],
        lambda name, given: _call(lambda: TOOLS[name].call(context, given), name),
    )
    server.serve(sys.stdin.buffer, _own_output())
    return 0


def _own_output() -> int:
    """Only frames go to standard output; any other output goes to standard error."""
    sys.stdout.flush()
    own = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return own


def _call(work: Callable[[], Mapping[str, Any]], name: str) -> dict[str, Any]:
    """The result of a call in the form of the protocol; no internal error ends the server."""
    from yaoki.faces.text import errors
    from yaoki.faces.text.render import mask_environment_secrets

    try:
        document = mask_environment_secrets(work())
        text = json.dumps(document, ensure_ascii=False)
        if len(text) > ANSWER_BYTES_MAX:
            hint = f"use the command line instead: yaoki {name} --json"
            raise OverLimit(f"the answer of {name}", len(text), ANSWER_BYTES_MAX, hint=hint)
    except YaokiError as error:
        return _failed(mask_environment_secrets(_error_document(error)))
    except Exception as error:  # noqa: BLE001 - the last place where it can be reported
        code = errors.report_internal_error(error, as_json=False, args=["mcp", name])
        details = {
            "sentence": f"internal error: {error!r}",
            "hint": "yaoki doctor",
            "exit_code": code,
        }
        return _failed(mask_environment_secrets({**details, "refused": None, "defects": []}))
    return _content(text, document, failed=False)


def _error_document(error: YaokiError) -> dict[str, Any]:
    code = error.exit_code
    return {
        "sentence": error.sentence,
        "hint": error.hint,
        "defects": list(getattr(error, "defects", ())),
        "exit_code": code,
        "refused": CallRefusal(code).name if code in set(CallRefusal) else None,
    }


def _failed(details: Mapping[str, Any]) -> dict[str, Any]:
    lines = (details["sentence"], *details["defects"], details["hint"])
    return _content("\n".join(filter(None, lines)), {"error": dict(details)}, failed=True)


def _content(text: str, document: Mapping[str, Any], *, failed: bool) -> dict[str, Any]:
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": dict(document),
        "isError": failed,
    }
