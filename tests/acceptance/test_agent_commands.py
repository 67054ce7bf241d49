"""`yaoki`, called by an agent in its worktree, finds its run without being told where."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import Place, a_plan, holds, writes

pytestmark = pytest.mark.acceptance
CHECKS = {"a": holds("a.txt")}


def keeps(file: Path, *words: str) -> dict[str, Any]:
    """The agent calls the program where it stands, and keeps what came of it."""
    script = f'"$@" > {file} 2>&1; echo $? >> {file}'
    return {"run": ["sh", "-c", script, "sh", sys.executable, "-m", "yaoki", *words]}


def kept(file: Path) -> tuple[str, int]:
    out, _, code = file.read_text().rstrip().rpartition("\n")
    return out, int(code)


@pytest.mark.full
@pytest.mark.spec("12.7", "9.2")
def test_an_agent_reads_and_extends_its_run_without_naming_the_repository(
    place: Place, tmp_path: Path
) -> None:
    files = {name: tmp_path / name for name in ("status", "why", "extend", "deep")}
    more = tmp_path / "more.json"
    more.write_text(
        json.dumps(
            {"tasks": [{"id": "more", "goal": "Do more.", "needs": ["one"], "checks": ["a"]}]}
        )
    )
    acts = [
        keeps(files["status"], "status", "--json"),
        keeps(files["why"], "why", "one", "--json"),
        keeps(files["extend"], "plan", "extend", str(more), "--json"),
        {"run": ["mkdir", "deep"]},
        *writes("a.txt"),
    ]
    plan = a_plan(
        {"one": [acts], "more": [writes("b.txt")]}, [{"id": "one", "checks": ["a"]}], CHECKS
    )

    done = place.yaoki("run", place.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    run = place.status()["run"]
    looked, code = kept(files["status"])
    assert (code, json.loads(looked)["run"]) == (0, run)
    reasons, code = kept(files["why"])
    assert (code, json.loads(reasons)["task"]["name"]) == (0, "one")
    assert kept(files["extend"])[1] == 0
    assert [task["name"] for task in place.status()["tasks"]][:2] == ["one", "more"]


@pytest.mark.spec("12.7", "15")
def test_an_agent_finds_settings_named_by_a_variable(place: Place, tmp_path: Path) -> None:
    settings = tmp_path / "elsewhere.toml"
    (place.repo / "yaoki.toml").rename(settings)
    store = f"sqlite://{tmp_path / 'elsewhere.db'}"
    if not place.store:
        settings.write_text(f'store = {{url = "{store}"}}\n{settings.read_text()}')
    file = tmp_path / "status"
    place.env["YAOKI_CONFIG"] = str(settings)
    plan = a_plan(
        {"one": [[keeps(file, "status", "--json"), *writes("a.txt")]]},
        [{"id": "one", "checks": ["a"]}],
        CHECKS,
    )

    done = place.yaoki("run", place.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    looked, code = kept(file)
    assert (code, json.loads(looked)["tasks"][0]["name"]) == (0, "one")


@pytest.mark.full
@pytest.mark.spec("0.2", "12.7")
def test_a_command_in_a_nested_repository_applies_there_and_commands_for_people_are_refused(
    place: Place, tmp_path: Path
) -> None:
    """A test that the agent runs may make repositories; they are not the one that carries it."""
    own, answer = tmp_path / "own", tmp_path / "answer"
    nested = (
        f"git init -q nested && cd nested && git -c user.name=t -c user.email=t@t commit -q "
        f"--allow-empty -m x && {sys.executable} -m yaoki status > {own} 2>&1; echo $? >> {own}; "
        "cd .. && rm -rf nested"
    )
    acts = [
        {"run": ["sh", "-c", nested]},
        keeps(answer, "cancel"),
        *writes("a.txt"),
    ]
    plan = a_plan({"one": [acts]}, [{"id": "one", "checks": ["a"]}], CHECKS)

    done = place.yaoki("run", place.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    assert "there is no run here yet" in kept(own)[0]
    assert "there is no run here yet" in kept(answer)[0]
    assert "CANCEL_REQUESTED" not in place.story()


@pytest.mark.acceptance
@pytest.mark.spec("12.7", "14.3")
@pytest.mark.parametrize("words", [("run", "plan.json"), ("worker",), ("up",)])
def test_an_agent_cannot_start_a_run_in_its_worktree(place: Place, words: tuple[str, ...]) -> None:
    """They would stay behind in the user's repository, and nobody would know of them."""
    place.plan(
        a_plan({"a": [writes("a.txt")]}, [{"id": "a", "checks": ["c"]}], {"c": holds("a.txt")})
    )
    place.env["YAOKI_WORKTREE"] = str(place.repo)

    done = place.yaoki(*words)

    assert done.code == 6
    assert "may not start runs" in done.err
    assert not place.stored()
