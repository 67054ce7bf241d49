"""A key that a person mended is used again: after an answer, by a new run, and after a wait."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import SETTINGS, Project
from tests.acceptance.test_closed_accounts import (
    NO_CREDIT,
    REFUSED,
    Service,
    entries,
    make_plan,
)

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("18.1"), pytest.mark.spec("18.6")]
QUICK_RETRIES = """
[retry.cause_specific.INCOMPLETE.backoff]
initial_delay_ms = 10
max_delay_ms = 20
[retry.cause_specific.QUALITY_FAILURE.backoff]
initial_delay_ms = 10
max_delay_ms = 20
"""


def two_services(folder: Path, *complaints: str) -> tuple[Service, Service, dict[str, Any]]:
    first, second = (
        Service(folder / name, complaint)
        for name, complaint in zip(("first", "second"), complaints, strict=True)
    )
    return first, second, {"first": first.agent(), "second": second.agent()}


def question(project: Project) -> str:
    return str(project.task("one")["question"])


def test_an_answer_opens_every_account_and_the_chain_begins_anew(
    project: Project, tmp_path: Path
) -> None:
    first, second, agents = two_services(tmp_path, REFUSED, NO_CREDIT)
    plan = make_plan(agents, ["first", "second"], ["one"])
    assert project.yaoki("run", project.plan(plan)).code == 4
    assert (len(first.requests), len(second.requests)) == (1, 1)

    assert project.yaoki("answer", "one", "retry").code == 0
    assert project.yaoki("resume").code == 4

    assert (len(first.requests), len(second.requests)) == (2, 2), "each is tried once more"
    asked = question(project)
    assert "credit balance" in asked
    assert "failed before: first: the agent's service refused the credentials" in asked

    first.return_now()
    assert project.yaoki("answer", "one", "retry").code == 0
    assert project.yaoki("resume").code == 0
    assert (len(first.requests), len(second.requests)) == (3, 2), "the first agent goes first"


@pytest.mark.full
def test_a_new_run_tries_a_refused_account_once(project: Project, tmp_path: Path) -> None:
    first, second, agents = two_services(tmp_path, REFUSED, REFUSED)
    second.return_now()
    names = ["one", "two"]
    plan = project.plan(make_plan(agents, ["first", "second"], names))
    project.settings(SETTINGS.replace("parallel = 2", "parallel = 1"))

    assert project.yaoki("run", plan).code == 0
    assert first.requests == ["one"]
    shown = project.query("status").out
    assert "account first is closed: its key was refused" in shown
    assert "a new run tries it again" in shown
    assert shown.splitlines()[-1].startswith("next: ")
    assert "its key was refused" in project.query("doctor").out
    assert project.yaoki("run", plan).code == 0
    assert first.requests == ["one", "one"], "one task of the second run tried it"
    first.return_now()
    assert project.yaoki("run", plan).code == 0

    assert first.requests[2:] == names
    assert len(second.requests) == 4
    assert entries(project, "ESCALATE_DECISION") == []
    assert "is closed" not in project.query("status").out


@pytest.mark.full
def test_a_running_run_tries_a_refused_account_again_after_a_wait(
    project: Project, tmp_path: Path
) -> None:
    """The second agent takes longer than the wait, so a later task tries the first one."""
    first, _, agents = two_services(tmp_path, REFUSED, REFUSED)
    agents["second"] = {"command": ["sh", "-c", "sleep 1; echo good > $YAOKI_TASK_NAME.txt"]}
    names = ["one", "two", "three"]
    plan = make_plan(agents, ["first", "second"], names)
    project.settings(
        SETTINGS.replace("parallel = 2", "parallel = 1") + "[retry]\naccount_probe_max_s = 0.5\n"
    )

    assert project.yaoki("run", project.plan(plan)).code == 0

    assert first.requests[0] == "one"
    assert len(first.requests) in {2, 3}, "a later task tried it"


def test_a_refused_account_is_not_called_before_a_person_answered(
    project: Project, tmp_path: Path
) -> None:
    first, _, agents = two_services(tmp_path, REFUSED, REFUSED)
    calls = tmp_path / "second-calls"
    agents["second"] = {"command": ["sh", "-c", f"echo x >> {calls}; echo bad > one.txt"]}
    plan = make_plan(agents, ["first", "second"], ["one"])
    project.settings(SETTINGS + QUICK_RETRIES)

    assert project.yaoki("run", project.plan(plan)).code == 4

    assert first.requests == ["one"]
    problem = "failed before: first: the agent's service refused the credentials"
    assert problem in question(project)
    before = calls.read_text()
    first.return_now()
    assert project.yaoki("answer", "one", "retry").code == 0
    assert project.yaoki("resume").code == 0
    assert first.requests == ["one", "one"]
    assert calls.read_text() == before, "the agent with the new key goes first"


def test_an_account_whose_variable_is_not_set_is_skipped_and_named_before_the_start(
    project: Project, tmp_path: Path
) -> None:
    """Without its key the agent might bill another account."""
    calls = tmp_path / "calls"
    act = f"echo ${{KEY-none}} >> {calls}; echo good > $YAOKI_TASK_NAME.txt"
    accounts = {name: {"env_from": {"KEY": f"KEY_{name.upper()}"}} for name in ("work", "home")}
    plan = make_plan({"bot": {"command": ["sh", "-c", act], "accounts": accounts}}, "bot", ["one"])
    file = project.plan(plan)

    refused = project.yaoki("run", file)
    project.env["KEY_HOME"] = "home-key"
    shown = project.yaoki("validate", file)
    done = project.yaoki("run", file)

    assert refused.code == 2
    assert "agent 'bot/work': its variable KEY_WORK is not set" in " ".join(refused.err.split())
    note = "agent 'bot/work': its variable KEY_WORK is not set; bot/home takes its place"
    assert note in " ".join(shown.out.split())
    assert done.code == 0, done.out + done.err
    assert note in " ".join(done.out.split())
    assert calls.read_text().split() == ["home-key"]


def test_a_plan_runs_while_each_chain_has_an_agent_that_is_installed(project: Project) -> None:
    agents = {
        "gone": {"command": ["no-such-agent"]},
        "here": {"command": ["sh", "-c", "echo good > $YAOKI_TASK_NAME.txt"]},
    }
    plan = make_plan(agents, ["gone", "here"], ["one", "two"])

    shown = project.yaoki("validate", project.plan(plan))
    done = project.yaoki("run", project.plan(plan))
    plan["tasks"][1]["agent"] = "gone"
    refused = project.yaoki("run", project.plan(plan))

    note = "agent 'gone': 'no-such-agent' is not on the PATH; here takes its place"
    assert f"note: {note}" in " ".join(shown.out.split())
    assert "next: yaoki run" in shown.out
    assert done.code == 0, done.out + done.err
    assert note in " ".join(done.out.split())
    assert refused.code == 2
    assert "agent 'gone': 'no-such-agent' is not on the PATH" in refused.err
