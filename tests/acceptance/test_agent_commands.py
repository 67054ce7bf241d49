"""`yaoki` called by an agent in its worktree finds the run of the agent."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import Project, a_plan, file_contains, writes

pytestmark = pytest.mark.acceptance
CHECKS = {"a": file_contains("a.txt")}


def run_yaoki_to_file(file: Path, *words: str) -> dict[str, Any]:
    """An act that calls yaoki in the worktree and writes its output and exit code to a file."""
    script = f'"$@" > {file} 2>&1; echo $? >> {file}'
    return {"run": ["sh", "-c", script, "sh", sys.executable, "-m", "yaoki", *words]}


def read_output_and_code(file: Path) -> tuple[str, int]:
    out, _, code = file.read_text().rstrip().rpartition("\n")
    return out, int(code)


@pytest.mark.full
@pytest.mark.spec("12.7", "9.2", "0.2")
def test_an_agent_reads_and_extends_its_run_without_naming_the_repository(
    project: Project, tmp_path: Path
) -> None:
    """A command in a nested repository applies there, and commands for people are refused.

    Tests that an agent runs may create repositories, which are not the one of its run.
    """
    files = {name: tmp_path / name for name in ("status", "why", "extend", "own", "cancel")}
    nested = (
        f"git init -q nested && cd nested && git -c user.name=t -c user.email=t@t commit -q "
        f"--allow-empty -m x && {sys.executable} -m yaoki status > {files['own']} 2>&1; "
        f"echo $? >> {files['own']}; cd .. && rm -rf nested"
    )
    more = tmp_path / "more.json"
    more.write_text(
        json.dumps(
            {"tasks": [{"id": "more", "goal": "Do more.", "needs": ["one"], "checks": ["a"]}]}
        )
    )
    acts = [
        run_yaoki_to_file(files["status"], "status", "--json"),
        run_yaoki_to_file(files["why"], "why", "one", "--json"),
        run_yaoki_to_file(files["extend"], "plan", "extend", str(more), "--json"),
        {"run": ["sh", "-c", nested]},
        run_yaoki_to_file(files["cancel"], "cancel"),
        *writes("a.txt"),
    ]
    plan = a_plan(
        {"one": [acts], "more": [writes("b.txt")]}, [{"id": "one", "checks": ["a"]}], CHECKS
    )

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    run = project.status()["run"]
    looked, code = read_output_and_code(files["status"])
    assert (code, json.loads(looked)["run"]) == (0, run)
    reasons, code = read_output_and_code(files["why"])
    assert (code, json.loads(reasons)["task"]["name"]) == (0, "one")
    assert read_output_and_code(files["extend"])[1] == 0
    assert [task["name"] for task in project.status()["tasks"]][:2] == ["one", "more"]
    assert "there is no run here yet" in read_output_and_code(files["own"])[0]
    assert "there is no run here yet" in read_output_and_code(files["cancel"])[0]
    assert "CANCEL_REQUESTED" not in project.event_names()


@pytest.mark.spec("12.7", "15")
def test_an_agent_finds_settings_named_by_a_variable(project: Project, tmp_path: Path) -> None:
    settings = tmp_path / "elsewhere.toml"
    (project.repo / "yaoki.toml").rename(settings)
    store = f"sqlite://{tmp_path / 'elsewhere.db'}"
    if not project.store:
        settings.write_text(f'store = {{url = "{store}"}}\n{settings.read_text()}')
    file = tmp_path / "status"
    project.env["YAOKI_CONFIG"] = str(settings)
    plan = a_plan(
        {"one": [[run_yaoki_to_file(file, "status", "--json"), *writes("a.txt")]]},
        [{"id": "one", "checks": ["a"]}],
        CHECKS,
    )

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    looked, code = read_output_and_code(file)
    assert (code, json.loads(looked)["tasks"][0]["name"]) == (0, "one")


@pytest.mark.acceptance
@pytest.mark.spec("12.7", "14.3")
@pytest.mark.parametrize("words", [("run", "plan.json"), ("worker",), ("up",)])
def test_an_agent_cannot_start_a_run_in_its_worktree(
    project: Project, words: tuple[str, ...]
) -> None:
    """Such runs would remain in the user's repository unnoticed."""
    project.plan(
        a_plan(
            {"a": [writes("a.txt")]}, [{"id": "a", "checks": ["c"]}], {"c": file_contains("a.txt")}
        )
    )
    project.env["YAOKI_WORKTREE"] = str(project.repo)

    done = project.yaoki(*words)

    assert done.code == 6
    assert "may not start runs" in done.err
    assert not project.has_store()
