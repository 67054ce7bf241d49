"""A service that is away, at its limit, or refuses a key closes its account for every task.

One task tries first after each wait, no retry is used and no check runs meanwhile, and a person is
asked once, if at all.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import SETTINGS, Project, file_contains
from tests.acceptance.test_structured_agents import an_agent
from tests.faces.web.page_server import run_page_server

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("18.6")]
YAOKI = f"{sys.executable} -m yaoki"
NAMES = ("one", "two", "three")
QUICK = """
[retry]
account_wait_max_s = {wait}
account_probe_max_s = 0.5
[retry.cause_specific.TRANSIENT_ERROR.backoff]
initial_delay_ms = 100
max_delay_ms = 400
[retry.cause_specific.RATE_LIMIT.backoff]
initial_delay_ms = 100
"""
OVERLOADED = "API Error: 529 overloaded_error: Overloaded"
REFUSED = "API Error: 401 invalid x-api-key"
NO_CREDIT = "API Error: 400 Your credit balance is too low"
UNNAMED_LIMIT = "API Error: 429 rate_limit_error: too many requests"


class Service:
    """A model service: while it is away, its agents print its complaint and do nothing.

    It answers again after `refusals` requests, or when the test lets it.
    """

    def __init__(self, folder: Path, complaint: str, refusals: int = 1000) -> None:
        folder.mkdir()
        self._away, self._calls = folder / "away", folder / "calls"
        self._away.touch()
        self._calls.touch()
        self._complaint, self._refusals = complaint, refusals

    def agent(self, **more: Any) -> dict[str, Any]:
        script = (
            f"echo $YAOKI_TASK_NAME >> {self._calls}\n"
            f"refused=$(wc -l < {self._calls})\n"
            f"if [ -e {self._away} ] && [ $refused -le {self._refusals} ]; then\n"
            f"echo '{self._complaint}' >&2; exit 1; fi\n"
            "echo good > $YAOKI_TASK_NAME.txt\n"
        )
        return {"command": ["sh", "-c", script], **more}

    @property
    def requests(self) -> list[str]:
        return self._calls.read_text().split()

    def return_now(self) -> None:
        self._away.unlink()


def make_plan(agents: dict[str, Any], chain: str | Sequence[str], names: Sequence[str]) -> Any:
    checks = {f"has-{name}": file_contains(f"{name}.txt") for name in names}
    tasks = [{"id": name, "goal": f"Do {name}.", "checks": [f"has-{name}"]} for name in names]
    plan = {"goal": "Survive", "agents": agents, "agent": chain, "checks": checks, "tasks": tasks}
    return plan


def entries(project: Project, event: str) -> list[dict[str, Any]]:
    found = project.query("trace", "--json").document["entries"]
    return [entry["data"] for entry in found if entry["event"] == event]


def states(project: Project) -> dict[str, str]:
    found = {task["name"]: task["state"] for task in project.status()["tasks"]}
    found.pop("done_when", "")
    return found


def run(project: Project, plan: Any, wait: float = 60.0, parallel: int = len(NAMES)) -> int:
    settings = SETTINGS.replace("parallel = 2", f"parallel = {parallel}")
    project.settings(settings + QUICK.format(wait=wait))
    done = project.yaoki("run", project.plan(plan))
    assert done.code != 2, done.err
    return done.code


def test_an_outage_is_waited_for_by_all_tasks_and_costs_no_retry(
    project: Project, tmp_path: Path
) -> None:
    service = Service(tmp_path / "service", OVERLOADED, refusals=9)

    code = run(project, make_plan({"a": service.agent()}, "a", NAMES))

    assert code == 0
    assert states(project) == dict.fromkeys(NAMES, "DONE")
    decided = entries(project, "RETRY_DECISION")
    assert len(decided) == 9
    assert all(entry["failure"]["unanswered"] for entry in decided)
    closures = [entry["failure"].get("closure") for entry in decided]
    probes = [closure.get("probes", 1) for closure in closures if closure]
    assert probes == sorted(set(probes)), "one task at a time tries"
    assert entries(project, "ESCALATE_DECISION") == []
    outcomes = {entry["outcome"] for entry in entries(project, "CHECK_FINISHED")}
    assert outcomes == {"PASSED"}, "no check runs where nothing was changed"


@pytest.mark.full
def test_an_outage_that_lasts_too_long_asks_one_question(project: Project, tmp_path: Path) -> None:
    """The answer frees all, as that about a refused key below."""
    service, names = Service(tmp_path / "service", OVERLOADED), ("one", "two")

    code = run(project, make_plan({"a": service.agent()}, "a", names), wait=0.7)

    assert code == 4
    assert len(service.requests) > len(names), "it was waited for"
    assert sorted(states(project).values()) == ["ESCALATED", "WAITING"]
    (asked,) = entries(project, "ESCALATE_DECISION")
    assert OVERLOADED.removeprefix("API Error: ") in asked["question"]["text"]


def test_a_refused_key_asks_once_and_one_answer_frees_all(project: Project, tmp_path: Path) -> None:
    """An empty purse is treated alike, see tests/acceptance/test_refused_accounts.py."""
    service = Service(tmp_path / "service", REFUSED)

    assert run(project, make_plan({"a": service.agent()}, "a", NAMES)) == 4

    (asked,) = entries(project, "ESCALATE_DECISION")
    assert REFUSED.removeprefix("API Error: ") in asked["question"]["text"]
    assert len(service.requests) <= len(NAMES), "waiting does not help, so nobody tries again"
    assert entries(project, "CHECK_FINISHED") == []
    assert_answers_offer_no_words_to_the_agent(project)
    assert_report_says_what_the_others_wait_for(project)

    service.return_now()
    (asking,) = (name for name, state in states(project).items() if state == "ESCALATED")
    assert project.yaoki("answer", asking, "retry").code == 0
    assert project.yaoki("resume").code == 0
    assert states(project) == dict.fromkeys(NAMES, "DONE")


def assert_answers_offer_no_words_to_the_agent(project: Project) -> None:
    """No agent can change its key or its credit."""
    shown = project.query("answer").out + project.query("report").out
    shown += project.yaoki("resume").out
    assert "retry" in shown
    assert "words for the agent" not in shown
    (asking,) = project.query("report", "--format", "json").document["asking"]
    retry = asking["answers"][0]
    assert retry["command"] == f"yaoki answer {asking['task']} retry"
    assert retry["what"] == "the account is tried again, and the task with it"


def assert_report_says_what_the_others_wait_for(project: Project) -> None:
    report = project.query("report", "--format", "json").document
    waiting = [task for task in report["tasks"] if task["state"] == "WAITING"]
    assert len(waiting) == 2
    assert all("waits for its account a: its" in task["waits_for"] for task in waiting)
    for form in ("markdown", "html"):
        text = project.query("report", "--format", form).out
        assert text.count("waits for its account a: its") == 2


@pytest.mark.spec("18.1")
def test_with_a_second_account_nobody_is_asked_about_a_refused_key(
    project: Project, tmp_path: Path
) -> None:
    expired, valid = (Service(tmp_path / name, REFUSED) for name in ("expired", "valid"))
    valid.return_now()
    agents = {"first": expired.agent(), "second": valid.agent()}
    plan = make_plan(agents, ["first", "second"], NAMES)

    project.settings(SETTINGS.replace("parallel = 2", "parallel = 1"))

    assert project.yaoki("run", project.plan(plan)).code == 0

    assert expired.requests == ["one"], "the others go on with the second account at once"
    assert sorted(valid.requests) == sorted(NAMES)
    assert entries(project, "ESCALATE_DECISION") == []


@pytest.mark.full
def test_a_limit_without_a_time_is_waited_for(project: Project, tmp_path: Path) -> None:
    """aider prints no events and exits with 0; before, its limit used up the retries."""
    service = Service(tmp_path / "service", UNNAMED_LIMIT, refusals=6)
    complaint = "litellm.RateLimitError: RateLimitError: OpenAIException - Rate limit reached"
    other = Service(tmp_path / "other", complaint, refusals=6)
    *_, script = other.agent()["command"]
    aider = an_agent(tmp_path, "aider", script.replace(" >&2; exit 1", "; exit 0"))
    agents = {"a": service.agent(), "aider": {"command": [aider]}}
    plan = make_plan(agents, "a", ["one", "two"])
    plan["tasks"][1]["agent"] = "aider"

    assert run(project, plan) == 0

    for task in ("one", "two"):
        found = project.query("trace", task, "--json").document["entries"]
        decided = [entry["data"] for entry in found if entry["event"] == "RETRY_DECISION"]
        assert len(decided) == 6, "more tries than the retries of a rate limit"
        assert project.task(task)["state"] == "DONE"
        assert all(entry["failure"]["unanswered"] for entry in decided)


@pytest.mark.full
def test_an_agents_own_note_delays_its_own_task_only(project: Project, tmp_path: Path) -> None:
    noted = tmp_path / "noted"
    script = (
        f"if [ $YAOKI_TASK_NAME = one ] && [ ! -e {noted} ]; then touch {noted}\n"
        f"{YAOKI} result --status failed --summary 'the index is down' --retry-after 1\n"
        "exit 1; fi\n"
        "echo good > $YAOKI_TASK_NAME.txt\n"
    )
    plan = make_plan({"a": {"command": ["sh", "-c", script]}}, "a", ["one", "two"])

    assert run(project, plan, parallel=1) == 0

    (decided,) = entries(project, "RETRY_DECISION")
    assert decided["failure"]["kind"] == "INCOMPLETE"
    assert "the index is down" in decided["failure"]["message"]
    assert decided["delay_ms"] == 1000
    landed = project.query("trace", "--json").document["entries"]
    order = [entry["task"] for entry in landed if entry["event"] == "TASK_LANDED"]
    assert order[0].endswith("-2"), "the other task did not wait"


@pytest.mark.spec("12.5")
def test_the_page_knows_that_a_retry_concerns_the_account(project: Project, tmp_path: Path) -> None:
    """Before, the form promised that an agent reads the words."""
    service = Service(tmp_path / "service", REFUSED)
    run(project, make_plan({"a": service.agent()}, "a", ("one", "two")))

    with run_page_server(project) as server:
        (asked,) = server.client.document("/needs-you")["asking"]
        story = server.client.document(f"/tasks/{asked['task']['id']}")

    assert asked["retry_subject"] == story["retry_subject"] == "account"
