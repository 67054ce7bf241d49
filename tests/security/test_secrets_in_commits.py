"""The value of a variable that an agent was given lands in no commit, however it is written."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from typing import Any
from urllib.parse import quote

import pytest

from tests.acceptance.project import GIT_IDENTITY, Project, file_contains
from tests.acceptance.project import a_plan as a_scripted_plan
from yaoki.core.redact import MARK

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("14.2")]
TOKEN = "q7Zr/Hn2+vK9pLx4Tw8s"
LOGIN = "Kd83hs02mLq94Zx"
WRITES = """
import json, os, pathlib, subprocess, sys
first, then = json.loads(sys.argv[1])
acts = first if os.environ["YAOKI_ATTEMPT"] == "1" else then
pathlib.Path("a.txt").write_text("good\\n")
for act in acts:
    if act[0] == "write": pathlib.Path(act[1]).write_bytes(bytes.fromhex(act[2]))
    elif act[0] == "remove": pathlib.Path(act[1]).unlink(missing_ok=True)
    elif act[0] == "say": print(act[1], flush=True)
    else: subprocess.run(act[1:], check=True)
"""


def write(path: str, content: str | bytes) -> list[str]:
    raw = content if isinstance(content, bytes) else content.encode()
    return ["write", path, raw.hex()]


def a_plan(first: list[Any], then: list[Any], **agent: Any) -> dict[str, Any]:
    command = [sys.executable, "-c", WRITES, json.dumps([first, then])]
    mine = {"command": command, "prompt": "file", "pass_env": ["MY_TOKEN", "ACME"], **agent}
    return {
        "goal": "Log in",
        "agents": {"mine": mine},
        "agent": "mine",
        "checks": {"good": file_contains("a.txt")},
        "tasks": [{"id": "a", "goal": "Log in.", "checks": ["good"]}],
    }


def run(project: Project, first: list[Any], then: list[Any], **agent: Any) -> str:
    """The whole story of a run whose first attempt writes a secret and whose second does not."""
    project.env = {**project.env, "MY_TOKEN": TOKEN, "ACME": LOGIN}
    done = project.yaoki("run", project.plan(a_plan(first, then, **agent)), "--quiet")
    assert done.code == 0, done.out + done.err
    story = json.dumps(project.events("a"))
    report = project.yaoki("report", "--format", "md").out
    prompt = project.prompt(project.task("a"), project.task("a")["attempt"])
    for value in (TOKEN, LOGIN):
        assert value not in story + report + prompt
    return story + prompt


def history(project: Project) -> bytes:
    """Every object that a push of the run branch would hand out."""
    branch = f"yaoki/{project.status()['run']}"
    listed = project.git("rev-list", "--objects", branch).splitlines()
    names = "\n".join(line.split()[0] for line in listed)
    output = subprocess.run(
        ("git", "cat-file", "--batch"),
        cwd=project.repo,
        input=names.encode(),
        capture_output=True,
        check=True,
    ).stdout
    return output + "\n".join(listed).encode()


def wrapped(text: str) -> str:
    return "\n".join(text[at : at + 7] for at in range(0, len(text), 7))


B64 = [base64.b64encode(b"x" * n + TOKEN.encode() + b"rest").decode() for n in range(3)]
FORMS = {
    "plain": TOKEN,
    "base64": B64[0],
    "base64-1": B64[1],
    "base64-2": B64[2],
    "base64-url": base64.urlsafe_b64encode(TOKEN.encode()).decode(),
    "base64-lines": wrapped(B64[1]),
    "hex": TOKEN.encode().hex(),
    "HEX": TOKEN.encode().hex().upper(),
    "escapes": "".join(f"\\x{byte:02x}" for byte in TOKEN.encode()),
    "percent": quote(TOKEN, safe=""),
    "percent-all": "".join(f"%{byte:02X}" for byte in TOKEN.encode()),
    "reversed": TOKEN[::-1],
    "capitals": TOKEN.upper(),
    "json": json.dumps(TOKEN),
}


def test_a_secret_is_found_in_every_encoding_reported_by_name_and_never_landed(
    project: Project,
) -> None:
    told = run(
        project,
        [write(f"{name}.py", f"# one\n# two\nKEY = '{text}'\n") for name, text in FORMS.items()],
        [write(f"{name}.py", "KEY = None\n") for name in FORMS],
    )

    assert "The change contains a secret" in told
    held = history(project)
    for name, text in FORMS.items():
        assert f"{name}.py:3" in told, name
        assert text.encode() not in held, name
    assert "the value of MY_TOKEN" in told
    assert "yaoki recover" in told


@pytest.mark.full
def test_a_secret_is_found_in_binaries_large_files_file_names_links_and_set_by_the_plan(
    project: Project,
) -> None:
    make = f"import pathlib; pathlib.Path('l').write_bytes(b'\\n' * (20 << 20) + b'{LOGIN}')"
    told = run(
        project,
        [
            write("x.bin", b"\0\1" + LOGIN.encode() + b"\0"),
            write(f"of-{LOGIN}.txt", "x\n"),
            ["run", "ln", "-s", LOGIN, "link"],
            ["run", sys.executable, "-c", make],
            write("b.txt", "s3cr3t-Value-77\n"),
        ],
        [["remove", name] for name in ("x.bin", f"of-{LOGIN}.txt", "link", "l", "b.txt")],
        env={"SERVICE_PASSWORD": "s3cr3t-Value-77"},
    )

    assert "the value of ACME" in told
    for where in ("x.bin:1", "the name of of-", "link:1", f"l:{(20 << 20) + 1}"):
        assert where in told
    assert "the value of SERVICE_PASSWORD in b.txt:1" in told
    held = history(project)
    assert LOGIN.encode() not in held
    assert b"s3cr3t-Value-77" not in held


@pytest.mark.full
def test_a_secret_is_found_in_the_message_of_an_agents_commit(project: Project) -> None:
    commit = ["run", "git", *GIT_IDENTITY, "commit", "-q", "--allow-empty", "-am", f"with {LOGIN}"]
    again = ["run", "git", *GIT_IDENTITY, "commit", "-q", "--allow-empty", "-am", "without"]
    told = run(project, [["run", "git", "add", "a.txt"], commit], [again])

    assert "the value of ACME in the message of a commit" in told
    assert LOGIN.encode() not in history(project)


@pytest.mark.full
def test_values_present_in_the_base_and_ordinary_words_are_no_secrets(project: Project) -> None:
    (project.repo / "known.txt").write_text(f"{LOGIN}\n")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "known")
    project.env = {**project.env, "ACME": LOGIN, "NODE_ENV": "production", "MAX_TOKENS": "100000"}
    words = f"{LOGIN} production 100000\n"
    plan = a_plan([write("b.txt", words)], [], pass_env=["ACME", "NODE_ENV"])

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    assert project.task("a")["attempt"] == 1
    assert project.show(f"yaoki/{project.status()['run']}", "b.txt") == words.strip()


@pytest.mark.full
def test_a_secret_is_masked_in_every_encoding_in_agent_output(project: Project) -> None:
    run(
        project,
        [["say", f"<{text}>"] for name, text in FORMS.items() if name != "base64-lines"],
        [],
    )

    shown = project.yaoki("logs", "a").out

    for name, text in FORMS.items():
        assert text not in shown, name
    kept = list((project.repo / ".yaoki" / "runs").rglob("out.log"))
    assert kept
    assert all(TOKEN.encode().hex().encode() not in file.read_bytes() for file in kept)
    assert MARK in shown or "***" in shown


def test_files_that_look_left_behind_are_noted_when_they_land(project: Project) -> None:
    """Nobody forbade them, so they land; the person who merges should know."""
    files = {".env": "SECRET=1\n", "a.py.bak": "x\n", "tmp_debug.log": "x\n" * 1000}
    dump = "head -c 3000000 /dev/zero > core.dump"
    wanted = {"a.py": "x = 1\n", "result.log": "ok\n", ".env.example": "SECRET=\n"}
    script = {"a": [[{"write": {**files, **wanted}}, {"run": ["sh", "-c", dump]}]]}
    task = {"id": "a", "goal": "Write a.py and result.log.", "checks": ["ok"]}
    plan = a_scripted_plan(script, [task], {"ok": {"shell": "test -s a.py"}})

    ran = project.yaoki("run", project.plan(plan))

    assert ran.code == 0, ran.out + ran.err
    names = ".env, a.py.bak, core.dump, tmp_debug.log"
    words = f"new files in its work look left behind: {names}; they land anyway; .gitignore"
    assert words in " ".join(ran.out.split())
    assert words in " ".join(project.yaoki("report").out.split())


def test_large_files_and_text_shaped_like_keys_are_noted_when_they_land(project: Project) -> None:
    """Nobody passed this key to the agent, so it may be an example: it lands, with a note."""
    key = "AKIA" + "Q3EXAMPLEEXAMPLE"
    large = "head -c 6000000 /dev/zero > large.bin"
    script = {
        "a": [[{"write": {"conf.py": f"x = 1\nkey = '{key}'\n"}}, {"run": ["sh", "-c", large]}]]
    }
    checks = {"ok": {"shell": "test -s conf.py"}}
    plan = a_scripted_plan(script, [{"id": "a", "checks": ["ok"]}], checks)

    ran = project.yaoki("run", project.plan(plan))

    assert ran.code == 0, ran.out + ran.err
    said = " ".join(ran.out.split())
    assert "its work contains text that looks like a key: conf.py:2" in said
    assert "its work contains large files: large.bin (5.7 MiB)" in said
    assert key not in ran.out
    assert "conf.py:2" in project.yaoki("report").out
