"""What a person hands to an agent in confidence is stored nowhere, whoever goes on with the run."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import WHO, Place, holds, until
from tests.adapters.store.store_actions import by_hand

# The name of the first says that it is secret; of the second only the plan knows.
TOKEN = 'tok/en "with" ümlaut zebra'
PLAIN = "correct-horse-battery"
STARS = "*" * len(PLAIN)

# First it tells its keys in every way it can, and fails; then it does its work.
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


def a_telling_plan(marker: Path) -> dict[str, Any]:
    command = [sys.executable, "-c", TELLS, str(marker)]
    agent = {"command": command, "pass_env": ["MY_TOKEN", "ACME_LOGIN"], "prompt": "file"}
    task = {"id": "a", "goal": f"Log in as {PLAIN}.", "checks": ["good"]}
    return {
        "goal": "Log in",
        "agents": {"mine": agent},
        "agent": "mine",
        "checks": {"good": holds("a.txt")},
        "tasks": [task],
    }


def stored(place: Place) -> dict[str, bytes]:
    """Everything that is kept of the run: each file, and each row of a store on a server."""
    top = place.repo / ".yaoki"
    held = {str(file): file.read_bytes() for file in top.rglob("*") if file.is_file()}
    if not isinstance(place.database, Path):
        names = by_hand(place.database, "SELECT tablename FROM pg_tables WHERE schemaname='public'")
        for (name,) in names:
            held[name] = repr(by_hand(place.database, f'SELECT t::text FROM "{name}" t')).encode()
    return held


@pytest.mark.full
@pytest.mark.spec("14.2", "3.7")
def test_a_worker_without_the_secret_variable_stores_and_shows_no_secret(
    place: Place, tmp_path: Path
) -> None:
    marker, without = tmp_path / "go", dict(place.env)
    plan = a_telling_plan(marker)
    # The plan is stored as it was written, so the goal may not hold what is looked for.
    plan["tasks"][0]["goal"] = "Log in."
    place.env = {**without, "MY_TOKEN": TOKEN, "ACME_LOGIN": PLAIN}
    worker = place.start("run", place.plan(plan))
    until(marker.with_name("begun").exists, "the agent is at work")
    worker.kill()
    worker.communicate()
    place.env = without
    marker.touch()

    resumed = place.yaoki("resume")

    assert resumed.code == 0, resumed.out + resumed.err
    secrets = [word.encode() for word in (PLAIN, "zebra", "tok/en", "tok%2Fen")]
    held = stored(place)
    assert [(name, word) for name, text in held.items() for word in secrets if word in text] == []
    shown = [place.yaoki("logs", "a", "--attempt", "1", *more).out for more in ((), ("--err",))]
    assert [text.startswith(f"so {STARS} *") for text in shown] == [True, True]
    told = str(place.events("a"))
    assert f"no login with {STARS} and **" in told, "what the agent noted is told, but for its keys"


@pytest.mark.full
@pytest.mark.spec("14.2")
def test_a_passed_secret_is_masked_in_prompts(place: Place, tmp_path: Path) -> None:
    marker = tmp_path / "go"
    marker.touch()
    handed = {"MY_TOKEN": TOKEN, "ACME_LOGIN": PLAIN}

    done = place.yaoki("run", place.plan(a_telling_plan(marker)), env=handed)

    assert done.code == 0, done.out + done.err
    prompts = [place.prompt(place.task("a"), attempt) for attempt in (1, 2)]
    assert [PLAIN in prompt for prompt in prompts] == [False, False]
    assert "Log in as [masked]." in prompts[0]
    assert os.environ.get("ACME_LOGIN") is None


# It calls yaoki itself, with all it was given and then with no more than who it is.
CALLS = """
import json, os, pathlib, subprocess, sys
plain, way = os.environ["ACME_LOGIN"], sys.argv[1]
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
pathlib.Path("a.txt").write_text("good\\n")
if os.environ["YAOKI_TASK_NAME"] != "a":
    pathlib.Path("b.txt").write_text("more\\n")
elif way == "result":
    said = ["--status", "done", "--summary", "logged in as " + plain]
    subprocess.run([*yaoki, "result", *said], check=True)
elif way == "ask":
    tool("ask", question="Is " + plain + " right?")
elif way == "extend":
    tool("extend", tasks=[{"id": "b", "goal": "Log in as " + plain + "."}])
elif way == "plan extend":
    tasks = {"tasks": [{"id": "b", "goal": "Log in as " + plain + "."}]}
    more = pathlib.Path(os.environ["YAOKI_RESULT"]).with_name("more.json")
    more.write_text(json.dumps(tasks))
    repo = ["--repo", os.environ["YAOKI_REPO"]]
    subprocess.run([*yaoki, "plan", "extend", str(more), *repo], check=True)
    more.unlink()
elif way == "submit":
    tool("submit", plan={"goal": "Log in as " + plain, "tasks": [{"id": "c", "goal": "Go."}]})
"""


@pytest.mark.quick_cases(1)
@pytest.mark.spec("14.2", "12.7")
@pytest.mark.parametrize("way", ["result", "ask", "extend", "plan extend", "submit"])
def test_a_passed_secret_is_masked_in_the_results_of_an_agent(place: Place, way: str) -> None:
    """Its name does not say that it is secret, and a server may not even have been given it."""
    command = [sys.executable, "-c", CALLS, way]
    plan = {
        "goal": "Log in",
        "agents": {"mine": {"command": command, "pass_env": ["ACME_LOGIN", "PYTHON*"]}},
        "agent": "mine",
        "checks": {"good": holds("a.txt")},
        "tasks": [{"id": "a", "goal": "Log in.", "checks": ["good"]}],
    }

    done = place.yaoki("run", place.plan(plan), env={"ACME_LOGIN": PLAIN})

    assert done.code == (4 if way == "ask" else 0), done.out + done.err
    held = stored(place)
    assert [name for name, text in held.items() if PLAIN.encode() in text] == []
    assert PLAIN not in place.git("log", "--all", "--format=%B")
    told = str(place.events())
    if way == "submit":
        assert "the name of the variable, not its value" in place.yaoki("logs", "a").out
    else:
        assert "[masked]" in told


# What it was given it writes down; the checks then read it aloud.
LEAKS = """
import os, pathlib
said = os.environ["ACME_LOGIN"] + " and " + os.environ["MY_TOKEN"]
pathlib.Path("leak.txt").write_text(said + "\\n")
note = pathlib.Path("note.py")
if os.environ["YAOKI_ATTEMPT"] != "1":
    pathlib.Path("a.txt").write_text("good\\n")
    note.unlink(missing_ok=True)
elif pathlib.Path("noting").exists():
    note.write_text("# TODO: log in as " + said + "\\n")
"""
JUDGES = """
import json, pathlib, sys
said, whole = pathlib.Path("leak.txt").read_text(), pathlib.Path("a.txt").exists()
missing = [] if whole else [said]
print(json.dumps({"pass": whole, "reason": said, "missing": missing, "next": "continue"}))
print(said, file=sys.stderr)
"""
REPORTS = """
import html, pathlib, sys
said, whole = pathlib.Path("leak.txt").read_text(), pathlib.Path("a.txt").exists()
told = "" if whole else "<failure message='" + html.escape(said) + "'/>"
case = "<testcase name='t'>" + told + "<system-out>" + said + "</system-out></testcase>"
pathlib.Path(sys.argv[1]).write_text("<testsuite>" + case + "</testsuite>")
print(said)
sys.exit(not whole)
"""


def make_known(place: Place) -> None:
    """What the base holds is kept out of no commit: only then the checks come to read it."""
    (place.repo / "key.env").write_text(f"{PLAIN} {TOKEN}\n")
    place.git("add", "-A")
    place.git(*WHO, "commit", "-qm", "keys")


def a_leaking_plan(check: dict[str, Any]) -> dict[str, Any]:
    mine = {
        "command": [sys.executable, "-c", LEAKS],
        "pass_env": ["MY_TOKEN", "ACME_LOGIN"],
        "prompt": "file",
    }
    critic = {"command": [sys.executable, "-c", JUDGES], "prompt": "file"}
    return {
        "goal": "Log in",
        "agents": {"mine": mine, **({"critic": critic} if "judge" in check else {})},
        "agent": "mine",
        "checks": {"aloud": check},
        "tasks": [{"id": "a", "goal": "Log in.", "checks": ["aloud"]}],
        "done_when": ["aloud"],
    }


ALOUD: dict[str, dict[str, Any]] = {
    "command": {"shell": "cat leak.txt leak.txt >&2; cat leak.txt; test -f a.txt"},
    "judge": {"judge": {"agent": "critic", "ask": "All of it is there."}},
    "report": {"run": [sys.executable, "-c", REPORTS, "{report}"]},
}


@pytest.mark.full
@pytest.mark.spec("14.2")
@pytest.mark.parametrize("check", ALOUD.values(), ids=ALOUD)
def test_a_passed_secret_is_masked_in_the_output_of_a_check(
    place: Place, check: dict[str, Any]
) -> None:
    """Whoever looks has not the variables, so it is not the looking that hides them."""
    make_known(place)
    handed = {"MY_TOKEN": TOKEN, "ACME_LOGIN": PLAIN}

    done = place.yaoki("run", place.plan(a_leaking_plan(check)), env=handed)

    assert done.code == 0, done.out + done.err
    secrets = [word.encode() for word in (PLAIN, "zebra", "tok/en")]
    held = stored(place)
    assert [(name, word) for name, text in held.items() for word in secrets if word in text] == []
    commands = [
        *(("why", "a"), ("why", "a", "--json"), ("status", "--json"), ("trace", "a", "--json")),
        *(("report",), ("report", "--json"), ("logs", "a"), ("trace",)),
    ]
    shown = "".join(place.look(*words).out for words in commands)
    assert "FAILED" in shown
    assert [word for word in (PLAIN, "zebra", "tok/en") if word in shown + done.out] == []


@pytest.mark.full
@pytest.mark.spec("14.2", "4.4")
def test_a_passed_secret_is_masked_in_a_quoted_line_of_the_change(
    place: Place,
) -> None:
    (place.repo / "noting").touch()
    make_known(place)

    plan = a_leaking_plan({"shell": "test -f a.txt"})
    done = place.yaoki("run", place.plan(plan), env={"MY_TOKEN": TOKEN, "ACME_LOGIN": PLAIN})

    assert done.code == 0, done.out + done.err
    told = [entry["data"] for entry in place.events("a") if entry["event"] == "RETRY_DECISION"]
    assert "TODO" in str(told)
    secrets = [word.encode() for word in (PLAIN, "zebra", "tok/en")]
    held = stored(place)
    assert [(name, word) for name, text in held.items() for word in secrets if word in text] == []


@pytest.mark.full
@pytest.mark.spec("14.2", "3.1")
def test_a_passed_secret_is_masked_in_the_output_of_setup(place: Place) -> None:
    """Its last try is named, and its last words are quoted."""
    make_known(place)
    plan = a_leaking_plan({"shell": "test -s README"})
    plan["tasks"][0]["retry"] = {"max_retries": 1}
    plan["setup"] = [["sh", "-c", "cat key.env; echo no login as $(cat key.env) >&2; exit 3"]]

    done = place.yaoki("run", place.plan(plan), env={"MY_TOKEN": TOKEN, "ACME_LOGIN": PLAIN})

    assert done.code != 0
    secrets = [word.encode() for word in (PLAIN, "zebra", "tok/en")]
    held = stored(place)
    assert [(name, word) for name, text in held.items() for word in secrets if word in text] == []
    last = max((place.repo / ".yaoki").glob("**/setup-1*"), key=lambda at: at.stat().st_mtime_ns)
    told = place.look("why", "a").out
    assert f"{last.name}: no login as ***" in " ".join(told.split())


@pytest.mark.full
@pytest.mark.spec("14.2")
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_passed_secret_is_masked_in_a_diff(place: Place, form: tuple[str, ...]) -> None:
    make_known(place)
    handed = {"MY_TOKEN": TOKEN, "ACME_LOGIN": PLAIN}
    done = place.yaoki("run", place.plan(a_leaking_plan({"shell": "test -f leak.txt"})), env=handed)
    assert done.code == 0, done.out + done.err

    shown = place.yaoki("diff", "a", *form, env=handed).out

    assert "[masked] and [masked]" in shown
    assert [word for word in (PLAIN, "zebra", "tok/en") if word in shown] == []
