"""Secrets passed to an agent are never stored, whichever worker continues the run."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import GIT_IDENTITY, Project, file_contains, wait_until
from tests.adapters.store.store_actions import run_sql

# The name of the first says that it is secret; of the second only the plan knows.
TOKEN = 'tok/en "with" ümlaut zebra'
PLAIN = "correct-horse-battery"
STARS = "*" * len(PLAIN)

# The agent prints its keys in every way it can and fails; then it does its work.
TELLS = """
import json, os, pathlib, sys, time
from urllib.parse import quote
if os.environ["YAOKI_ATTEMPT"] != "1":
    pathlib.Path("a.txt").write_text("good\\n")
    sys.exit(0)
token, plain, marker = os.environ["MY_TOKEN"], os.environ["ACME_LOGIN"], pathlib.Path(sys.argv[1])
def tell(stream):
    print("so", plain, token, json.dumps(token), quote(token), file=stream, flush=True)
tell(sys.stdout)
marker.with_name("begun").touch()
for _ in range(600):
    if marker.exists(): break
    time.sleep(0.05)
tell(sys.stderr)
note = {"status": "failed", "summary": "no login with " + plain + " and " + token}
pathlib.Path(os.environ["YAOKI_RESULT"]).write_text(json.dumps(note))
sys.exit(1)
"""


def plan_that_prints_secrets(marker: Path) -> dict[str, Any]:
    command = [sys.executable, "-c", TELLS, str(marker)]
    agent = {"command": command, "pass_env": ["MY_TOKEN", "ACME_LOGIN"], "prompt": "file"}
    task = {"id": "a", "goal": f"Log in as {PLAIN}.", "checks": ["good"]}
    return {
        "goal": "Log in",
        "agents": {"mine": agent},
        "agent": "mine",
        "checks": {"good": file_contains("a.txt")},
        "tasks": [task],
    }


def all_stored_bytes(project: Project) -> dict[str, bytes]:
    """Everything that is kept of the run: each file, and each row of a store on a server."""
    top = project.repo / ".yaoki"
    held = {str(file): file.read_bytes() for file in top.rglob("*") if file.is_file()}
    if not isinstance(project.database, Path):
        names = run_sql(
            project.database, "SELECT tablename FROM pg_tables WHERE schemaname='public'"
        )
        for (name,) in names:
            held[name] = repr(run_sql(project.database, f'SELECT t::text FROM "{name}" t')).encode()
    return held


@pytest.mark.full
@pytest.mark.spec("14.2", "3.7")
def test_a_worker_without_the_secret_variable_stores_and_shows_no_secret(
    project: Project, tmp_path: Path
) -> None:
    marker, without = tmp_path / "go", dict(project.env)
    plan = plan_that_prints_secrets(marker)
    # The plan is stored verbatim, so the goal must not contain the searched value.
    plan["tasks"][0]["goal"] = "Log in."
    project.env = {**without, "MY_TOKEN": TOKEN, "ACME_LOGIN": PLAIN}
    worker = project.start("run", project.plan(plan))
    wait_until(marker.with_name("begun").exists, "the agent is at work")
    worker.kill()
    worker.communicate()
    project.env = without
    marker.touch()

    resumed = project.yaoki("resume")

    assert resumed.code == 0, resumed.out + resumed.err
    secrets = [word.encode() for word in (PLAIN, "zebra", "tok/en", "tok%2Fen")]
    held = all_stored_bytes(project)
    assert [(name, word) for name, text in held.items() for word in secrets if word in text] == []
    shown = [project.yaoki("logs", "a", "--attempt", "1", *more).out for more in ((), ("--err",))]
    assert [text.startswith(f"so {STARS} *") for text in shown] == [True, True]
    entries = str(project.events("a"))
    assert f"no login with {STARS} and **" in entries, (
        "what the agent noted is told, but for its keys"
    )


@pytest.mark.full
@pytest.mark.spec("14.2")
def test_a_passed_secret_is_masked_in_prompts(project: Project, tmp_path: Path) -> None:
    marker = tmp_path / "go"
    marker.touch()
    handed = {"MY_TOKEN": TOKEN, "ACME_LOGIN": PLAIN}

    done = project.yaoki("run", project.plan(plan_that_prints_secrets(marker)), env=handed)

    assert done.code == 0, done.out + done.err
    prompts = [project.prompt(project.task("a"), attempt) for attempt in (1, 2)]
    assert [PLAIN in prompt for prompt in prompts] == [False, False]
    assert "Log in as [masked]." in prompts[0]
    assert os.environ.get("ACME_LOGIN") is None


# The agent calls yaoki with its full environment, and then with its identity only.
CALLS = """
import json, os, pathlib, subprocess, sys
plain, way = os.environ["ACME_LOGIN"], os.environ["YAOKI_TASK_NAME"]
bare = {n: v for n, v in os.environ.items() if n.startswith("YAOKI_") or n in ("PATH", "HOME")}
yaoki = [sys.executable, "-m", "yaoki"]
def tool(name, **given):
    hello = {"protocolVersion": "2025-06-18", "capabilities": {},
             "clientInfo": {"name": "x", "version": "1"}}
    sent = [("initialize", hello), ("tools/call", {"name": name, "arguments": given})]
    frames = [{"jsonrpc": "2.0", "id": n, "method": m, "params": p}
              for n, (m, p) in enumerate(sent)]
    words = "".join(json.dumps(frame) + "\\n" for frame in frames)
    got = subprocess.run([*yaoki, "mcp"], input=words, env=bare, capture_output=True, text=True)
    print(got.stdout, got.stderr)
pathlib.Path(way + ".txt").write_text("good\\n")
if way == "result":
    said = ["--status", "done", "--summary", "logged in as " + plain]
    subprocess.run([*yaoki, "result", *said], check=True)
elif way == "ask":
    tool("ask", question="Is " + plain + " right?")
elif way == "extend":
    tool("extend", tasks=[{"id": "b", "goal": "Log in as " + plain + ".", "checks": ["any"]}])
elif way == "plan-extend":
    tasks = {"tasks": [{"id": "c", "checks": ["any"], "goal": "Log in as " + plain + "."}]}
    more = pathlib.Path(os.environ["YAOKI_RESULT"]).with_name("more.json")
    more.write_text(json.dumps(tasks))
    repo = ["--repo", os.environ["YAOKI_REPO"]]
    subprocess.run([*yaoki, "plan", "extend", str(more), *repo], check=True)
    more.unlink()
elif way == "submit":
    tool("submit", plan={"goal": "Log in as " + plain, "tasks": [{"id": "d", "goal": "Go."}]})
"""


def plan_of_calls(*ways: str) -> dict[str, Any]:
    """A task for each way; what they add has the check `any`."""
    command = [sys.executable, "-c", CALLS]
    return {
        "goal": "Log in",
        "agents": {"mine": {"command": command, "pass_env": ["ACME_LOGIN", "PYTHON*"]}},
        "agent": "mine",
        "checks": {
            **{way: file_contains(f"{way}.txt") for way in ways},
            "any": {"shell": "ls *.txt"},
        },
        "tasks": [{"id": way, "goal": "Log in.", "checks": [way, "any"]} for way in ways],
    }


def assert_not_stored(project: Project) -> None:
    held = all_stored_bytes(project)
    assert [name for name, text in held.items() if PLAIN.encode() in text] == []
    assert PLAIN not in project.git("log", "--all", "--format=%B")


@pytest.mark.spec("14.2", "12.7")
def test_a_passed_secret_is_masked_in_the_result_of_an_agent(project: Project) -> None:
    """Its name does not say that it is secret."""
    plan = project.plan(plan_of_calls("result"))

    done = project.yaoki("run", plan, env={"ACME_LOGIN": PLAIN})

    assert done.code == 0, done.out + done.err
    assert_not_stored(project)
    assert "[masked]" in str(project.events())


@pytest.mark.full
@pytest.mark.spec("14.2", "12.7")
def test_a_passed_secret_is_masked_in_the_calls_of_an_agent(project: Project) -> None:
    """Its name does not say that it is secret, and a server may not even have been given it."""
    plan = project.plan(plan_of_calls("ask", "extend", "plan-extend", "submit"))

    done = project.yaoki("run", plan, env={"ACME_LOGIN": PLAIN})

    assert done.code == 4, done.out + done.err
    assert_not_stored(project)
    states = {task["name"]: task["state"] for task in project.status()["tasks"]}
    assert [name for name, state in states.items() if state != "DONE"] == ["ask"]
    assert "[masked]" in project.task("ask")["question"]
    for name in "bc":
        assert "Log in as [masked]." in project.prompt(project.task(name), 1)
    assert "the name of the variable, not its value" in project.yaoki("logs", "submit").out


# What it was given it writes down; the checks then read it aloud.
LEAKS = """
import os, pathlib
name = os.environ["YAOKI_TASK_NAME"]
said = os.environ["ACME_LOGIN"] + " and " + os.environ["MY_TOKEN"]
pathlib.Path(name + "-leak.txt").write_text(said + "\\n")
note = pathlib.Path("note.py")
if os.environ["YAOKI_ATTEMPT"] != "1":
    pathlib.Path(name + ".txt").write_text("good\\n")
    note.unlink(missing_ok=True)
elif name == "quoted":
    note.write_text("# TODO: log in as " + said + "\\n")
"""
JUDGES = """
import json, pathlib, sys
leak, good = pathlib.Path("judge-leak.txt"), pathlib.Path("judge.txt")
said, whole = leak.read_text(), good.exists()
missing = [] if whole else [said]
print(json.dumps({"pass": whole, "reason": said, "missing": missing, "next": "continue"}))
print(said, file=sys.stderr)
"""
REPORTS = """
import html, pathlib, sys
leak, good = pathlib.Path("report-leak.txt"), pathlib.Path("report.txt")
said, whole = leak.read_text(), good.exists()
told = "" if whole else "<failure message='" + html.escape(said) + "'/>"
case = "<testcase name='t'>" + told + "<system-out>" + said + "</system-out></testcase>"
pathlib.Path(sys.argv[1]).write_text("<testsuite>" + case + "</testsuite>")
print(said)
sys.exit(not whole)
"""


def commit_secrets_to_base(project: Project) -> None:
    """Commit the secrets to the base: only then may a commit that checks read contain them."""
    (project.repo / "key.env").write_text(f"{PLAIN} {TOKEN}\n")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "keys")


def a_leaking_plan(checks: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A task for each check."""
    mine = {
        "command": [sys.executable, "-c", LEAKS],
        "pass_env": ["MY_TOKEN", "ACME_LOGIN"],
        "prompt": "file",
    }
    critic = {"command": [sys.executable, "-c", JUDGES], "prompt": "file"}
    return {
        "goal": "Log in",
        "agents": {"mine": mine, **({"critic": critic} if "judge" in checks else {})},
        "agent": "mine",
        "checks": checks,
        "tasks": [{"id": name, "goal": "Log in.", "checks": [name]} for name in checks],
        "done_when": list(checks),
    }


ALOUD: dict[str, dict[str, Any]] = {
    "command": {"shell": "f=command-leak.txt; cat $f $f >&2; cat $f; test -f command.txt"},
    "judge": {"judge": {"agent": "critic", "ask": "All of it is there."}},
    "report": {"run": [sys.executable, "-c", REPORTS, "{report}"]},
    "quoted": {"shell": "test -f quoted-leak.txt"},
}


@pytest.mark.full
@pytest.mark.spec("14.2", "4.4")
def test_a_passed_secret_is_masked_in_the_output_of_checks_in_quoted_lines_and_in_a_diff(
    project: Project,
) -> None:
    """The reader lacks the variables, so the values must be masked before they are stored."""
    commit_secrets_to_base(project)
    handed = {"MY_TOKEN": TOKEN, "ACME_LOGIN": PLAIN}

    done = project.yaoki("run", project.plan(a_leaking_plan(ALOUD)), env=handed)

    assert done.code == 0, done.out + done.err
    secrets = [word.encode() for word in (PLAIN, "zebra", "tok/en")]
    held = all_stored_bytes(project)
    assert [(name, word) for name, text in held.items() for word in secrets if word in text] == []
    shown = {name: shown_of_task(project, name) for name in ALOUD}
    assert [name for name, text in shown.items() if "FAILED" not in text] == []
    every = "".join([*shown.values(), done.out])
    every += "".join(project.query(*words).out for words in FACES)
    assert [word for word in (PLAIN, "zebra", "tok/en") if word in every] == []
    retried = [e["data"] for e in project.events("quoted") if e["event"] == "RETRY_DECISION"]
    assert "TODO" in str(retried)
    for form in ((), ("--json",)):
        diff = project.yaoki("diff", "command", *form, env=handed).out
        assert "[masked] and [masked]" in diff
        assert [word for word in (PLAIN, "zebra", "tok/en") if word in diff] == []


FACES = (("status", "--json"), ("report",), ("report", "--json"), ("trace",))


def shown_of_task(project: Project, task: str) -> str:
    commands = (("why",), ("why", "--json"), ("trace", "--json"), ("logs",))
    return "".join(project.query(word, task, *more).out for word, *more in commands)


@pytest.mark.full
@pytest.mark.spec("14.2", "3.1")
def test_a_passed_secret_is_masked_in_the_output_of_setup(project: Project) -> None:
    """Its last try is named, and its last words are quoted."""
    commit_secrets_to_base(project)
    plan = a_leaking_plan({"a": {"shell": "test -s README"}})
    plan["tasks"][0]["retry"] = {"max_retries": 1}
    plan["setup"] = [["sh", "-c", "cat key.env; echo no login as $(cat key.env) >&2; exit 3"]]

    done = project.yaoki("run", project.plan(plan), env={"MY_TOKEN": TOKEN, "ACME_LOGIN": PLAIN})

    assert done.code != 0
    secrets = [word.encode() for word in (PLAIN, "zebra", "tok/en")]
    held = all_stored_bytes(project)
    assert [(name, word) for name, text in held.items() for word in secrets if word in text] == []
    last = max((project.repo / ".yaoki").glob("**/setup-1*"), key=lambda at: at.stat().st_mtime_ns)
    output = project.query("why", "a").out
    assert f"{last.name}: no login as ***" in " ".join(output.split())
