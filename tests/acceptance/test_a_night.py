"""A night with real agent programs whose services fail, one minute played in one second.

Five services: one at its usage limit for 90 minutes, one away for 10, one that refuses an expired
key (with a second account), one that refuses a key nobody else has, one in a storm of 529s; one
agent hangs.  In the morning everything has landed, and one question was asked.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from tests.acceptance.project import Completed, Project, file_contains
from tests.acceptance.real_agents import RealAgentRun, ScriptedModel
from tests.scripted_model import Fault, Hang, Request, Step
from tests.scripted_model.programs import needed

pytestmark = [pytest.mark.acceptance, pytest.mark.agents, pytest.mark.timeout(600)]

# Of the scaled night, in seconds.
USAGE_LIMIT, OUTAGE, STORM, HANG = 90.0, 10.0, 20.0, 40.0
SETTINGS = f"""\
[retry]
account_probe_max_s = 10.0
account_wait_max_s = 720.0
[retry.default_backoff]
initial_delay_ms = 20
max_delay_ms = 40

[limits]
parallel = 4
heartbeat_s = 0.5
lease_s = 20.0
hang_warning_s = 30.0
hang_s = {HANG}
deadline_s = 150.0
agent_wait_s = 2.0
"""
TASKS: Mapping[str, Sequence[str]] = {
    "claude": ("lexer", "parser", "printer"),
    "codex": ("cache", "index", "query"),
    "gemini": ("login", "logout"),
    "opencode": ("upload", "download"),
    "aider": ("readme", "license"),
}
EVERYBODY = tuple(name for names in TASKS.values() for name in names)
HANGS = "query"


def goal(name: str) -> str:
    return f"Write {name}.txt that says good."


@dataclass
class Service(ScriptedModel):
    """A model service that fails for a time; `refused` holds the moments of its refusals."""

    LIFE_S: ClassVar[float] = 600.0
    scripts: Mapping[str, Sequence[Step]]
    tools: bool
    refused: list[float] = field(default_factory=list)
    first: float = 0.0

    def __post_init__(self) -> None:
        super().__init__(self.scripts, tools=self.tools)

    def next(self, request: Request) -> Step:
        if request.side:
            return super().next(request)
        now = time.monotonic()
        self.first = self.first or now
        fault = self.fault(now - self.first)
        if fault is None:
            return super().next(request)
        self.refused.append(now)
        return fault

    def fault(self, age_s: float) -> Fault | None:
        return None


class Limited(Service):
    """At its usage limit: it names the time that is left."""

    def fault(self, age_s: float) -> Fault | None:
        left = USAGE_LIMIT - age_s
        if left <= 0:
            return None
        headers = {"retry-after": str(max(1, round(left)))}
        return Fault(429, "This request would exceed your usage limit.", headers)


class Away(Service):
    def fault(self, age_s: float) -> Fault | None:
        return Fault(529) if age_s < OUTAGE else None


class Stormy(Service):
    """It refuses most requests; the storm blows over."""

    def fault(self, age_s: float) -> Fault | None:
        return Fault(529) if age_s < STORM and round(age_s) % 4 else None


class Locked(Service):
    """It refuses the key until somebody renews it."""

    is_renewed = False

    def fault(self, age_s: float) -> Fault | None:
        return None if self.is_renewed else Fault(401)


@dataclass
class Night:
    """All programs share one repository; each account has a service of its own."""

    runs: Mapping[str, RealAgentRun]
    services: dict[str, Service] = field(default_factory=dict)

    @property
    def project(self) -> Project:
        return next(iter(self.runs.values())).project

    @contextmanager
    def service(self, account: str, kind: type[Service]) -> Iterator[None]:
        agent_run = self.runs[account.partition("-")[0]]
        scripts = {goal(name): self._turns(agent_run, name) for name in TASKS[agent_run.name]}
        # Aider declares no tools; requests of the others without tools are asides.
        with kind(scripts, agent_run.name != "aider") as service:
            assert isinstance(service, Service)
            self.services[account] = service
            yield

    def _turns(self, agent_run: RealAgentRun, name: str) -> tuple[Step, ...]:
        turns: tuple[Step, ...]
        if agent_run.name == "aider":
            turns = agent_run.program.wrote(f"{name}.txt", "good\n")
        else:
            turns = agent_run.program.ran(f"echo good > {name}.txt")
        return (Hang(), *turns) if name == HANGS else turns

    def plan(self) -> dict[str, Any]:
        agents = {
            account: self.runs[account.partition("-")[0]].agent(service, home=account)
            for account, service in self.services.items()
        }
        return {
            "goal": "A night",
            "agents": agents,
            "checks": {f"has-{name}": file_contains(f"{name}.txt") for name in EVERYBODY},
            "tasks": [
                {"id": name, "goal": goal(name), "agent": chain, "checks": [f"has-{name}"]}
                for program, names in TASKS.items()
                for chain in [["gemini", "gemini-second"] if program == "gemini" else program]
                for name in names
            ],
        }

    def run(self) -> Completed:
        self.project.settings(SETTINGS)
        return self.runs["claude"].run(self.plan())

    def states(self) -> dict[str, str]:
        return {name: self.project.task(name)["state"] for name in EVERYBODY}

    def decisions(self, event: str) -> list[dict[str, Any]]:
        entries = self.project.query("trace", "--json").document["entries"]
        return [entry["data"] for entry in entries if entry["event"] == event]


WEATHER: Mapping[str, type[Service]] = {
    "claude": Limited,
    "codex": Away,
    "gemini": Locked,
    "gemini-second": Service,
    "opencode": Locked,
    "aider": Stormy,
}


@pytest.fixture
def night(project: Project) -> Iterator[Night]:
    played = Night({name: RealAgentRun(needed(name, is_selected=True), project) for name in TASKS})
    with ExitStack() as services:
        for account, kind in WEATHER.items():
            services.enter_context(played.service(account, kind))
        yield played


@pytest.mark.spec("18.6", "18.1", "5.4", "0.1")
def test_a_night_of_failing_services_ends_with_all_landed_and_one_question(
    night: Night,
) -> None:
    evening = night.run()

    assert evening.code == 4, evening.out
    assert_only_the_locked_account_asks(night)
    assert_services_were_left_alone(night)

    renewed = night.services["opencode"]
    assert isinstance(renewed, Locked)
    renewed.is_renewed = True
    (asking,) = (name for name, state in night.states().items() if state == "ESCALATED")
    assert night.project.yaoki("answer", asking, "retry").code == 0
    morning = night.runs["claude"].resume()

    assert morning.code == 0, morning.out
    assert set(night.states().values()) == {"DONE"}
    for name in EVERYBODY:
        assert night.project.show(night.project.status()["run_branch"], f"{name}.txt") == "good"


def assert_only_the_locked_account_asks(night: Night) -> None:
    states = night.states()
    waiting = {name: state for name, state in states.items() if state != "DONE"}
    assert sorted(waiting) == sorted(TASKS["opencode"]), states
    assert sorted(waiting.values()) == ["ESCALATED", "WAITING"], "one question for both tasks"
    (asked,) = night.decisions("ESCALATE_DECISION")
    assert "refused the credentials" in asked["question"]["text"]
    assert "OPENAI_API_KEY" in asked["question"]["text"], "it names the remedy"


def assert_services_were_left_alone(night: Night) -> None:
    """Tasks that started together meet the closed account together; then one at a time tries."""
    together = {account: min(4, len(TASKS[account.partition("-")[0]])) for account in WEATHER}
    refused = {account: len(service.refused) for account, service in night.services.items()}
    assert refused["claude"] <= together["claude"] + 1, "the limit named its time"
    assert refused["gemini"] <= together["gemini"]
    assert refused["opencode"] <= together["opencode"]
    failures = [entry["failure"] for entry in night.decisions("RETRY_DECISION")]
    assert any(failure.get("unanswered") for failure in failures), "the services did refuse"
    counted = {failure["kind"] for failure in failures if not failure.get("unanswered")}
    assert counted <= {"TIMEOUT"}, "only the hang used a retry"
