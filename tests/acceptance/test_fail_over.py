"""A chain of agents goes on by cause: nobody is asked while an agent is left."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import SETTINGS, Project
from tests.acceptance.test_closed_accounts import (
    NO_CREDIT,
    OVERLOADED,
    REFUSED,
    Service,
    entries,
    make_plan,
)
from tests.acceptance.test_structured_agents import an_agent
from tests.quick_selection import is_quick

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("18.1")]

DISTANT_LIMIT = "API Error: 429 rate_limit_error: Retry-After: 7200"
# A fail-over after half a second instead of five minutes; a service is tried every 200 ms.
QUICK = """
[retry]
fail_over_after_s = 0.5
account_probe_max_s = 0.2
[retry.cause_specific.INCOMPLETE.backoff]
initial_delay_ms = 10
[retry.cause_specific.QUALITY_FAILURE.backoff]
initial_delay_ms = 10
"""
SESSION = "0d0e0f00-0000-4000-8000-000000000000"
REFUSAL = "\n".join(
    json.dumps({"session_id": SESSION, **event})
    for event in (
        {"type": "system", "subtype": "init"},
        {"type": "result", "is_error": False, "stop_reason": "refusal", "result": "I cannot."},
    )
)


DENIAL = "\n".join(
    json.dumps({"session_id": SESSION, **event})
    for event in (
        {"type": "system", "subtype": "init"},
        {
            "type": "result",
            "is_error": False,
            "result": "I may not.",
            "permission_denials": [{"tool_name": "Bash", "tool_input": {"command": "make"}}],
        },
    )
)


def fails(calls: Path, act: str, folder: Path | None = None) -> dict[str, Any]:
    """With a folder it is a program named claude, whose structured output is read."""
    line = f"echo x >> {calls}; {act}"
    if folder is None:
        return {"command": ["sh", "-c", line]}
    folder.mkdir()
    return {"command": [an_agent(folder, "claude", line)]}


def count_calls(file: Path) -> int:
    return len(file.read_text().split()) if file.exists() else 0


# The causes after which the next agent continues: what the first one says, and the word for it.
TAKEN_OVER = {
    "limit": (f"echo '{DISTANT_LIMIT}' >&2; exit 1", "limit"),
    "key": (f"echo '{REFUSED}' >&2; exit 1", "key-refused"),
    "credit": (f"echo '{NO_CREDIT}' >&2; exit 1", "no-credit"),
    "overloaded": (f"echo '{OVERLOADED}' >&2; exit 1", "outage"),
    "away": ("echo 'API Error: connect ECONNREFUSED 127.0.0.1:9' >&2; exit 1", "outage"),
    "missing": ("exit 127", "missing-program"),
    "model": ("echo 'API Error: 404 model: huge not found' >&2; exit 1", "unusable"),
    "request": ("echo 'API Error: 400 invalid_request_error: tools' >&2; exit 1", "unusable"),
    "denied": (f"echo '{DENIAL}'", "unusable"),
    "refusal": (f"echo '{REFUSAL}'", "refusal"),
    "repeated": ("echo bad > repeated.txt", "repeated-failure"),
    "spent": ("echo bad > spent.txt", ""),
}
# An account, a program, a bad answer, the same failure again and all attempts used.
QUICK_CAUSES = ("limit", "overloaded", "missing", "request", "repeated", "spent")
# How often the first agent is called; an outage is waited for a while.
CALLS = {"repeated": 3, "spent": 2, "overloaded": None, "away": None}


def test_for_every_cause_the_next_agent_lands_the_work_and_nobody_is_asked(
    project: Project, tmp_path: Path
) -> None:
    """Each task has a first agent of its own that cannot go on, and the same second one."""
    causes = {name: TAKEN_OVER[name] for name in (QUICK_CAUSES if is_quick() else TAKEN_OVER)}
    calls = {name: tmp_path / f"{name}-calls" for name in causes}
    first = {
        f"{name}-agent": fails(calls[name], act, tmp_path / name if "{" in act else None)
        for name, (act, _) in causes.items()
    }
    second = {"command": ["sh", "-c", "echo good > $YAOKI_TASK_NAME.txt"]}
    plan = make_plan({**first, "second": second}, "second", list(causes))
    for task in plan["tasks"]:
        task["agent"] = [f"{task['id']}-agent", "second"]
        task["retry"] = {"max_retries": 1 if task["id"] == "spent" else 3}
    project.settings(SETTINGS.replace("parallel = 2", "parallel = 4") + QUICK)

    done = project.yaoki("run", project.plan(plan))

    assert done.code == 0, done.out + done.err
    assert entries(project, "ESCALATE_DECISION") == []
    for name, file in calls.items():
        expected = CALLS.get(name, 1)
        found = count_calls(file)
        assert found == expected if expected else found >= 2, (name, found)
    switched = [entry["fail_over"] for entry in entries(project, "RETRY_DECISION")]
    expected_words = [word for _, word in causes.values()]
    assert sorted(filter(None, switched)) == sorted(filter(None, expected_words))
    last = project.yaoki("why", "spent", "--json").document["attempts"][-1]
    assert last["agent"] == "second", "the one re-run is made by the next agent"


def test_causes_that_need_the_same_agent_or_a_person_call_no_other_one(
    project: Project, tmp_path: Path
) -> None:
    """The rest of the table: each first agent fails in its first attempt only."""
    repeated = {
        "near": "echo 'API Error: 429 rate_limit_error: Retry-After: 1' >&2; exit 1",
        "full": "echo 'API Error: 400 prompt is too long: 210000 tokens' >&2; exit 1",
        "gone": "echo 'Error: No conversation found with session ID: 1' >&2; exit 1",
    }
    asked = {
        "question": {"status": "question", "question": "Which port?"},
        "conflict": {"status": "conflict", "summary": "the check wants both"},
        "unsafe": {"status": "failed", "summary": "half sent", "retry_safe": False},
    }
    acts = {
        **repeated,
        **{
            name: f"echo '{json.dumps(result)}' > $YAOKI_RESULT; exit 1"
            for name, result in asked.items()
        },
    }
    calls = {name: tmp_path / f"{name}-calls" for name in acts}
    good = "echo good > $YAOKI_TASK_NAME.txt"
    agents = {
        f"{name}-agent": fails(
            calls[name], f"if [ $(wc -l < {calls[name]}) = 1 ]; then {act}; fi; {good}"
        )
        for name, act in acts.items()
    }
    agents["second"] = fails(tmp_path / "second-calls", good)
    plan = make_plan(agents, "second", list(acts))
    for task in plan["tasks"]:
        task["agent"] = [f"{task['id']}-agent", "second"]
    project.settings(SETTINGS.replace("parallel = 2", "parallel = 4"))

    done = project.yaoki("run", project.plan(plan))

    assert done.code == 4, done.out + done.err
    assert count_calls(tmp_path / "second-calls") == 0
    for name in acts:
        state, count = ("DONE", 2) if name in repeated else ("ESCALATED", 1)
        assert (project.task(name)["state"], count_calls(calls[name])) == (state, count), name


def test_a_program_that_is_removed_during_the_run_has_a_successor(
    project: Project, tmp_path: Path
) -> None:
    """It is found to be missing before the attempt begins."""
    program = tmp_path / "agent"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    agents = {
        "first": {"command": [str(program)]},
        "second": {"command": ["sh", "-c", "echo good > $YAOKI_TASK_NAME.txt"]},
        "remover": {"command": ["sh", "-c", f"rm {program}; echo good > $YAOKI_TASK_NAME.txt"]},
    }
    plan = make_plan(agents, ["first", "second"], ["remove", "one"])
    plan["tasks"][0]["agent"] = "remover"
    plan["tasks"][1]["needs"] = ["remove"]

    done = project.yaoki("run", project.plan(plan))

    assert done.code == 0, done.out + done.err
    assert "first cannot do this (missing-program); second continues" in (
        project.yaoki("why", "one").out
    )


def test_an_agent_that_takes_over_is_told_what_is_there(project: Project, tmp_path: Path) -> None:
    begins = f"echo half > begun.txt; echo '{DISTANT_LIMIT}' >&2; exit 1"
    agents = {
        "first": fails(tmp_path / "first", begins),
        "second": {"command": ["sh", "-c", "cat begun.txt > one.txt; echo good >> one.txt"]},
    }
    plan = make_plan(agents, ["first", "second"], ["one"])

    done = project.yaoki("run", project.plan(plan))

    assert done.code == 0, done.out + done.err
    prompt = project.prompt(project.task("one"), 2)
    assert "You take over from an agent that could not continue" in prompt
    assert "- first (limit): " in prompt
    assert "- begun.txt" in prompt
    assert project.show(project.status()["run_branch"], "one.txt") == "half\ngood"


@pytest.mark.spec("18.6")
def test_other_tasks_leave_an_account_with_a_distant_reset_and_it_stays_closed(
    project: Project, tmp_path: Path
) -> None:
    limited = Service(tmp_path / "limited", DISTANT_LIMIT)
    agents = {
        "first": limited.agent(),
        "second": {"command": ["sh", "-c", "echo good > $YAOKI_TASK_NAME.txt"]},
    }
    names = ["one", "two", "three"]
    plan = make_plan(agents, ["first", "second"], names)

    done = project.yaoki("run", "--parallel", "1", project.plan(plan))

    assert done.code == 0, done.out + done.err
    assert limited.requests == ["one"], "nobody tries the account before its reset"
    assert [entry["cause"] for entry in entries(project, "AGENT_SWITCHED")] == ["limit", "limit"]
    (left,) = entries(project, "RETRY_DECISION")
    assert left["account_until"] > left["due_at"], "the reset is kept"


def test_with_nobody_left_one_question_names_all_causes(project: Project, tmp_path: Path) -> None:
    agents = {
        "first": fails(tmp_path / "first", "echo 'no such model: huge' >&2; exit 127"),
        "second": fails(tmp_path / "second", f"echo '{REFUSED}' >&2; exit 1"),
    }
    plan = make_plan(agents, ["first", "second"], ["one"])

    done = project.yaoki("run", project.plan(plan))

    assert done.code == 4, done.out + done.err
    assert len(entries(project, "ESCALATE_DECISION")) == 1
    question = project.task("one")["question"]
    assert "refused the credentials" in question
    assert "failed before: first: the agent's command ended with exit code 127" in question


@pytest.mark.spec("18.2")
def test_the_large_agent_is_called_at_the_fourth_attempt_whatever_else_lands(
    project: Project, tmp_path: Path
) -> None:
    """The small one leaves something else each time; other tasks land beside it."""
    small = tmp_path / "small"
    act = "echo bad > hard.txt; date +%N > other.txt"
    agents = {
        "small": fails(small, act),
        "large": {"command": ["sh", "-c", "echo good > hard.txt"]},
        "quick": {"command": ["sh", "-c", "echo good > $YAOKI_TASK_NAME.txt"]},
    }
    names = ["hard", "a", "b", "c"]
    plan = make_plan(agents, "quick", names)
    plan["tasks"][0]["agent"] = ["small", "large"]
    project.settings(SETTINGS + QUICK)

    done = project.yaoki("run", project.plan(plan))

    assert done.code == 0, done.out + done.err
    assert count_calls(small) == 3
    attempts = project.yaoki("why", "hard", "--json").document["attempts"]
    assert [one["agent"] for one in attempts] == ["small", "small", "small", "large"]


def pooled_agent(act: str) -> dict[str, Any]:
    """An agent that sees its account by a key, which is a variable of the worker's."""
    accounts = {name: {"env_from": {"KEY": f"KEY_{name.upper()}"}} for name in ("work", "home")}
    return {"command": ["sh", "-c", act], "accounts": accounts}


def test_the_second_account_of_an_agent_continues_when_the_first_is_at_its_limit(
    project: Project, tmp_path: Path
) -> None:
    calls = tmp_path / "calls"
    limit = f"echo '{DISTANT_LIMIT}' >&2; exit 1"
    act = (
        f"echo $KEY >> {calls}; env | grep -q KEY_ && exit 3; "
        f'[ "$KEY" = work-key ] && {{ {limit}; }}; echo good > $YAOKI_TASK_NAME.txt'
    )
    project.env |= {"KEY_WORK": "work-key", "KEY_HOME": "home-key"}
    plan = make_plan({"bot": pooled_agent(act)}, "bot", ["one", "two"])
    plan["tasks"][1]["needs"] = ["one"]

    done = project.yaoki("run", project.plan(plan))

    assert done.code == 0, done.out + done.err
    assert calls.read_text().split() == ["work-key", "home-key", "home-key"]
    why, report = project.yaoki("why", "one").out, project.yaoki("report").out
    assert "the service of bot/work is at its limit; bot/home continues" in " ".join(why.split())
    assert re.search(r"^ +1 .* bot/work ", why, re.MULTILINE)
    assert re.search(r"^ +2 .* bot/home ", why, re.MULTILINE)
    attempts = project.yaoki("why", "one", "--json").document["attempts"]
    assert [one["agent"] for one in attempts] == ["bot/work", "bot/home"]
    assert "bot/home" in report
    assert [project.task(name)["agent"] for name in ("one", "two")] == ["bot/home"] * 2
    assert "with bot/home" in project.yaoki("trace", "one").out
    (closed,) = project.status()["accounts"]
    assert (closed["name"], closed["problem"], closed["asking"]) == ("bot/work", "rate-limit", None)
    assert datetime.fromisoformat(closed["until"]) > datetime.now(UTC)
    assert closed["why"]


@pytest.mark.full
def test_another_account_does_not_repeat_what_the_same_agent_failed_at(
    project: Project, tmp_path: Path
) -> None:
    calls = tmp_path / "calls"
    project.env |= {"KEY_WORK": "work-key", "KEY_HOME": "home-key"}
    agents = {
        "bot": pooled_agent(f"echo $KEY >> {calls}; echo bad > one.txt"),
        "second": {"command": ["sh", "-c", "echo good > one.txt"]},
    }
    project.settings(SETTINGS + QUICK)

    done = project.yaoki("run", project.plan(make_plan(agents, ["bot", "second"], ["one"])))

    assert done.code == 0, done.out + done.err
    assert calls.read_text().split() == ["work-key"] * 3


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"account": "mine"}, "an agent has either account or accounts; leave one out"),
        ({"accounts": {"a|b": {}}}, "'a|b' is not a name of letters, digits, - and _"),
        ({"env_from": {"KEY": "MY KEY"}}, "'MY KEY' is not the name of an environment variable"),
    ],
)
def test_an_unsound_pool_of_accounts_is_refused_with_its_place(
    project: Project, more: dict[str, Any], words: str
) -> None:
    plan = make_plan({"bot": {**pooled_agent("true"), **more}}, "bot", ["one"])

    refused = project.yaoki("validate", project.plan(plan))

    assert refused.code == 2
    assert words in " ".join(refused.err.split())
    assert "agents.bot" in refused.err
