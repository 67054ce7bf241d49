"""`yaoki agents`: known agents, their command lines, and the rehearsal."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.scripted_model import ModelServer, shell
from tests.scripted_model.programs import environ, needed
from yaoki.adapters.agents.preset import shipped_preset_names
from yaoki.faces.cli.commands.agents import agents

# It answers like Claude Code and writes the files that the test requests.
ACTOR = """
import json, os, sys
from pathlib import Path
told = sys.stdin.read()
again = "--resume" in sys.argv
lines = json.loads(Path(__file__).with_suffix(".json").read_text())
session = "s-1" if lines["session"] else ""
print(json.dumps({"type": "system", "subtype": "init", "session_id": session}))
with open("yaoki.txt", "a") as file:
    file.write(lines["second" if again else "first"])
end = {"type": "result", "subtype": "success", "is_error": False, "result": "Done."}
print(json.dumps({**end, "num_turns": 3, "usage": {"input_tokens": 5}, **lines["end"]}))
"""


def called(*words: str, **variables: str) -> Result:
    return CliRunner().invoke(agents, words, env=variables, standalone_mode=False)


def actor(top: Path, first: str = "risen\n", second: str = "RISEN\n", **about: Any) -> str:
    script = top / "actor.py"
    script.write_text(ACTOR)
    facts = {"first": first, "second": second, "session": True, "end": {}, **about}
    (top / "actor.json").write_text(json.dumps(facts))
    program = top / "claude"
    python = shlex.quote(sys.executable)
    program.write_text(f'#!/bin/sh\nexec {python} -I -S {shlex.quote(str(script))} "$@"\n')
    program.chmod(0o755)
    return str(program)


@pytest.mark.spec("12.1", "12.8")
def test_every_known_agent_is_listed_with_its_installation() -> None:
    people, programs = called("list", PATH="/nowhere"), called("list", "--json", PATH="/nowhere")

    listed = json.loads(programs.output)
    assert [held["preset"] for held in listed["agents"]] == list(shipped_preset_names())
    assert {held["found"] for held in listed["agents"]} == {None}
    assert all(name in people.output for name in shipped_preset_names())
    assert "npm install -g @openai/codex" in people.output


@pytest.mark.spec("12.1", "12.8")
def test_an_agent_is_shown_with_its_command_lines_and_version(tmp_path: Path) -> None:
    program = tmp_path / "codex"
    program.write_text("#!/bin/sh\necho codex-cli 9.9\n")
    program.chmod(0o755)

    people = called("show", "codex", PATH=f"{tmp_path}:/usr/bin:/bin")
    shown = json.loads(called("show", "codex", "--json", PATH=str(tmp_path)).output)

    assert "codex exec resume --json" in people.output
    assert "codex-cli 9.9" in people.output
    assert shown["resume"][:3] == ["codex", "exec", "resume"]
    assert shown["found"] == str(program)


@pytest.mark.spec("0.6")
@pytest.mark.parametrize("words", [("show", "claud"), ("test", "claud")])
def test_an_unknown_agent_is_refused_with_the_nearest(words: tuple[str, str]) -> None:
    refused = called(*words)

    assert "no known agent 'claud'; did you mean 'claude'" in str(refused.exception)


@pytest.mark.spec("12.8")
def test_a_rehearsal_writes_a_file_continues_and_reports_its_use(tmp_path: Path) -> None:
    done = called("test", "claude", "--program", actor(tmp_path), "--json")

    document = json.loads(done.output)
    assert (done.return_value, document["ok"]) == (0, True)
    assert [line["name"] for line in document["lines"]] == ["program", "work", "usage", "resume"]
    assert document["lines"][2]["words"] == "cost unknown, 5 tokens, 3 turns"
    assert not Path(document["folder"]).exists()


@pytest.mark.spec("12.8", "0.1")
@pytest.mark.parametrize(
    ("about", "last", "words"),
    [
        ({"first": ""}, "work", "failed (exit code 0)"),
        ({"second": ""}, "resume", "failed (exit code 0)"),
        (
            {"first": "", "end": {"is_error": True, "api_error_status": 401, "result": "no key"}},
            "work",
            "failed (auth): no key",
        ),
    ],
)
def test_a_rehearsal_checks_files_and_ignores_claims(
    tmp_path: Path, about: dict[str, Any], last: str, words: str
) -> None:
    done = called("test", "claude", "--program", actor(tmp_path, **about), "--json")

    document = json.loads(done.output)
    assert (done.return_value, document["ok"]) == (1, False)
    assert (document["lines"][-1]["name"], document["lines"][-1]["words"]) == (last, words)
    assert document["lines"][-1]["next"]
    assert (Path(document["folder"]) / "logs").is_dir(), "kept for whoever wants to know why"
    shutil.rmtree(document["folder"])


@pytest.mark.spec("12.8")
def test_a_rehearsal_without_the_program_names_the_next_command() -> None:
    done = called("test", "claude", PATH="/usr/bin:/bin")
    document = json.loads(called("test", "claude", "--json", PATH="/usr/bin:/bin").output)

    assert done.return_value == 1
    assert "BAD  program: agent 'claude': 'claude' is not on the PATH" in done.output
    install = "npm install -g @anthropic-ai/claude-code"
    assert f"{install}, or name the program: --program FILE" in done.output
    assert "next: " + install in done.output
    assert document["folder"] is None, "nothing was begun, so there is nothing to look at"


@pytest.mark.spec("12.8", "0.6")
def test_a_rehearsal_names_a_missing_file() -> None:
    done = called("test", "claude", "--program", "/nowhere/claude")

    assert "agent 'claude': '/nowhere/claude' does not exist" in done.output
    assert "next: yaoki agents show claude" in done.output


@pytest.mark.spec("12.8", "4.7")
@pytest.mark.parametrize(
    ("preset", "said", "words"),
    [
        (
            "claude",
            "echo 'Not logged in · Please run /login' >&2; exit 1",
            "failed (auth): Not logged in · Please run /login",
        ),
        (
            "gemini",
            "echo 'Please set an Auth method in your settings' >&2; exit 41",
            "failed (auth): Please set an Auth method in your settings",
        ),
        (
            "pi",
            "printf 'No API key found for the selected model.\\n\\n  docs.md\\n' >&2; exit 1",
            "failed (auth): No API key found for the selected model.",
        ),
    ],
)
def test_a_rehearsal_of_an_agent_that_is_not_logged_in_says_how_to_log_in(
    tmp_path: Path, preset: str, said: str, words: str
) -> None:
    program = tmp_path / "agent"
    program.write_text(f"#!/bin/sh\ncat > {tmp_path}/told\n{said}\n")
    program.chmod(0o755)

    document = json.loads(called("test", preset, "--program", str(program), "--json").output)

    shutil.rmtree(document["folder"])
    last = document["lines"][-1]
    assert last["words"] == words
    assert last["next"].startswith(f"log in: start {preset} once by hand, or set ")
    assert "_API_KEY" in last["next"]


@pytest.mark.agents
@pytest.mark.spec("12.8", "3.7")
def test_a_real_program_passes_its_rehearsal(tmp_path: Path) -> None:
    program = needed("codex").program
    first, *_, done = needed("codex").wrote("yaoki.txt", "risen\n")
    with ModelServer(first, done, shell("echo RISEN >> yaoki.txt"), done) as model:
        words = ("--program", str(program), "--base-url", f"{model.url}/v1", "--model", "scripted")
        played = called("test", "codex", *words, **{**environ(), "HOME": str(tmp_path)})

    assert played.return_value == 0, played.output
    assert "ok   resume: it continued" in played.output
