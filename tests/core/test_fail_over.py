"""Rule 18.1: which agent of the chain continues after which cause, and when a person is asked."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.builders import HOUR, MINUTE, NOW, a_spec, a_verdict, an_active_task, an_agent, an_exit
from tests.core.test_account import closed, ended, escalation_of, retry_of, working
from yaoki.core.decide import rules
from yaoki.core.decide.account import first_agent_after_answer
from yaoki.core.decide.failure_response import ClockAndChance
from yaoki.core.decide.failures import make_failure
from yaoki.core.decide.retry import decide_retry
from yaoki.core.lazy_dataclass import replace
from yaoki.core.machine.events import AgentSwitched, Event, RetryDecided
from yaoki.core.machine.evolution import evolve, fold_events
from yaoki.core.machine.request_events import Answered
from yaoki.core.model import (
    AgentLimit,
    Choice,
    FailOverCause,
    FailureKind,
    FaultSource,
    GivenUpAgent,
    Outcome,
    RetryMethod,
    Stage,
    State,
    Task,
    Work,
)
from yaoki.core.model.stage_report import CandidateVerified, StageFaulted, WorkCommitted
from yaoki.core.prompt import compose_prompt
from yaoki.errors import FatalCode

pytestmark = pytest.mark.spec("18.1")

CHAIN = tuple(an_agent(name) for name in ("first", "second", "third"))


def chained(count: int = 2, **given: Any) -> Task:
    return working(a_spec(agents=CHAIN[:count]), **given)


@pytest.mark.parametrize(
    ("limit", "exit_", "cause"),
    [
        (AgentLimit.RATE, {"retry_after": HOUR}, FailOverCause.LIMIT),
        (AgentLimit.AUTH, {}, FailOverCause.KEY_REFUSED),
        (AgentLimit.MONEY, {}, FailOverCause.NO_CREDIT),
    ],
)
def test_the_next_agent_continues_at_once_and_the_account_stays_closed(
    limit: AgentLimit, exit_: dict[str, Any], cause: FailOverCause
) -> None:
    task = chained()

    decided = retry_of(ended(task, limit, **exit_))
    after = fold_events(task, ended(task, limit, **exit_))

    assert decided.strategy is RetryMethod.NEXT_AGENT
    assert decided.due_at == NOW
    assert decided.account_avoided
    refused = NOW + task.spec.policy.account_probe_max
    assert decided.account_until == (NOW + HOUR if cause is FailOverCause.LIMIT else refused)
    assert after.agent is not None
    assert after.agent.name == "second"
    assert [(one.name, one.cause) for one in after.given_up_agents] == [("first", cause)]
    assert not after.needs_fresh_worktree, "the next agent continues the work"


@pytest.mark.parametrize(("wait", "stays"), [(5 * MINUTE, True), (6 * MINUTE, False)])
def test_a_short_limit_is_waited_for_by_the_same_agent(wait: timedelta, stays: bool) -> None:
    decided = retry_of(ended(chained(), AgentLimit.RATE, retry_after=wait))

    assert (decided.agent_index == 0) is stays
    assert decided.account_avoided is not stays


def test_an_overloaded_service_is_left_when_it_has_been_away_for_long() -> None:
    probe = chained().id
    young = chained(closed_account=closed(waited=MINUTE, probe_task=probe))
    old = chained(closed_account=closed(waited=5 * MINUTE, probe_task=probe))

    assert retry_of(ended(young, AgentLimit.OVERLOADED)).agent_index == 0
    assert retry_of(ended(old, AgentLimit.OVERLOADED)).agent_index == 1


def test_an_answered_attempt_that_meets_a_distant_limit_fails_over_as_well() -> None:
    events = ended(chained(), AgentLimit.RATE, retry_after=HOUR, model_responded=True)

    assert retry_of(events).agent_index == 1
    assert retry_of(events).account_until == NOW + HOUR


@pytest.mark.parametrize(
    ("exit_", "cause"),
    [
        ({"start_error": "no such file"}, FailOverCause.MISSING_PROGRAM),
        ({"code": 127}, FailOverCause.MISSING_PROGRAM),
        ({"limit": AgentLimit.NOT_FOUND}, FailOverCause.UNUSABLE),
        ({"limit": AgentLimit.DENIED}, FailOverCause.UNUSABLE),
        ({"limit": AgentLimit.UNKNOWN}, FailOverCause.UNUSABLE),
        ({"limit": AgentLimit.REFUSAL}, FailOverCause.REFUSAL),
    ],
)
def test_an_agent_that_cannot_work_here_is_followed_by_the_next_and_never_returned_to(
    exit_: dict[str, Any], cause: FailOverCause
) -> None:
    task, events = _after_exit(chained(), exit_)
    _, alone = _after_exit(working(), exit_)
    after = fold_events(task, events)

    assert retry_of(events).fail_over is cause
    assert after.agent_index == 1
    assert after.other_agent_indices == (), "the first would fail again"
    assert escalation_of(alone).question.choices[0] is Choice.RETRY


@pytest.mark.parametrize(
    ("source", "transient", "follows"),
    [
        (FaultSource.AGENT, False, True),
        (FaultSource.AGENT, True, False),
        (FaultSource.SETUP, False, False),
        (None, False, False),
    ],
)
def test_an_agent_that_is_missing_before_the_attempt_is_followed_by_the_next(
    source: FaultSource | None, transient: bool, follows: bool
) -> None:
    report = StageFaulted("no such program", transient, FatalCode.RESOURCE_NOT_FOUND, source)
    moment = ClockAndChance(NOW, 0.5)

    chain = rules.decide(chained(), report, moment)
    (alone, *_) = rules.decide(working(), report, moment)

    causes = [event.fail_over for event in chain if isinstance(event, RetryDecided)]
    assert (causes == [FailOverCause.MISSING_PROGRAM]) is follows
    assert isinstance(alone, RetryDecided) is transient, "without a chain a person is asked"


def _after_exit(task: Task, exit_: dict[str, Any]) -> tuple[Task, tuple[Event, ...]]:
    """What follows an agent that changed nothing; its checks fail, if they run."""
    given = {"code": 1, **exit_}
    moment = ClockAndChance(NOW, 0.5)
    report = WorkCommitted(an_exit(**given), "head", "same", ())
    events = rules.decide(task, report, moment)
    verified = fold_events(task, events)
    if verified.stage is not Stage.VERIFY:
        return task, events
    failed = CandidateVerified(a_verdict(Outcome.FAILED), "head", "onto")
    return verified, rules.decide(verified, failed, moment)


def test_with_every_account_closed_the_task_waits_for_the_first_that_opens() -> None:
    task = chained(3, closed_chain_accounts={"second": NOW + 2 * HOUR, "third": NOW + 20 * MINUTE})

    decided = retry_of(ended(task, AgentLimit.RATE, retry_after=3 * HOUR))

    assert decided.agent_index == 2
    assert decided.due_at == NOW + 20 * MINUTE
    assert decided.account_until == NOW + 3 * HOUR


def test_the_own_account_is_waited_for_if_it_opens_first() -> None:
    task = chained(closed_chain_accounts={"second": NOW + 2 * HOUR})

    decided = retry_of(ended(task, AgentLimit.RATE, retry_after=HOUR))

    assert decided.agent_index == 0
    assert decided.due_at == NOW + HOUR
    assert decided.account_avoided, "it is left as soon as another account opens"


def test_an_agent_is_returned_to_when_only_its_account_was_the_problem() -> None:
    given_up = (GivenUpAgent(0, "first", FailOverCause.LIMIT, "429"),)
    task = chained(agent_index=1, given_up_agents=given_up)

    after = fold_events(task, ended(task, AgentLimit.AUTH))

    assert after.agent_index == 0
    assert [one.name for one in after.given_up_agents] == ["first", "second"]


def test_a_person_is_asked_only_when_nobody_is_left_and_reads_every_cause() -> None:
    given_up = (GivenUpAgent(0, "first", FailOverCause.MISSING_PROGRAM, "first is not installed."),)
    task = chained(agent_index=1, given_up_agents=given_up)

    question = escalation_of(ended(task, AgentLimit.AUTH)).question

    assert "refused the credentials" in question.text
    assert " Other agents failed before: first: first is not installed. " in question.text


def test_an_answer_lets_every_agent_try_again() -> None:
    given_up = (GivenUpAgent(0, "first", FailOverCause.REFUSAL, "no"),)
    task = replace(
        chained(agent_index=1, given_up_agents=given_up), state=State.ESCALATED, lease=None
    )

    assert evolve(task, Answered(Choice.RETRY)).other_agent_indices == (0,)


def test_an_agent_that_takes_over_reads_what_happened_and_what_is_there() -> None:
    given_up = (GivenUpAgent(0, "first", FailOverCause.LIMIT, "429: resets at 3 pm"),)
    task = an_active_task(
        Stage.WORK,
        spec=a_spec(agents=CHAIN[:2]),
        agent_index=1,
        given_up_agents=given_up,
        work=Work(base="ba5e", tree="7ree"),
    )

    text = compose_prompt(task, changed_files=("src/a.py",)).text
    unchanged = compose_prompt(task).text

    assert "# What other agents left" in text
    assert "- first (limit): 429: resets at 3 pm" in text
    assert "- src/a.py" in text
    assert "Nothing of its work is in this directory" in unchanged
    assert "other agents" not in compose_prompt(replace(task, given_up_agents=())).text


def test_a_switch_of_an_earlier_version_leaves_no_list() -> None:
    task = chained(state=State.WAITING, lease=None, stage=Stage.PREPARE)

    assert evolve(task, AgentSwitched(1, "second", "401")).given_up_agents == ()


@pytest.mark.parametrize(("probes", "wait"), [(0, 10), (1, 20), (6, 640), (30, 720)])
def test_a_refused_account_is_tried_less_and_less_often(probes: int, wait: int) -> None:
    task = chained()
    task = replace(task, closed_account=closed(probes=probes, probe_task=task.id))

    decided = retry_of(ended(task, AgentLimit.AUTH))

    assert decided.account_until == NOW + wait * MINUTE


def given_up(index: int, cause: FailOverCause) -> GivenUpAgent:
    return GivenUpAgent(index, CHAIN[index].name, cause, "why")


KEY, FINAL = FailOverCause.KEY_REFUSED, FailOverCause.REPEATED_FAILURE


@pytest.mark.parametrize(
    ("before", "limit", "index"),
    [
        ([given_up(0, KEY), given_up(1, FINAL)], AgentLimit.MONEY, 0),
        ([given_up(0, FINAL), given_up(1, KEY)], AgentLimit.MONEY, 1),
        ([given_up(0, FINAL), given_up(1, FINAL)], AgentLimit.MONEY, None),
        ([given_up(0, FINAL), given_up(1, FINAL)], AgentLimit.NOT_FOUND, 0),
        ([given_up(0, FailOverCause.LEARNED)], AgentLimit.NOT_FOUND, None),
        ([], AgentLimit.AUTH, None),
    ],
)
def test_after_an_answer_the_chain_begins_with_the_first_agent_that_the_question_names(
    before: list[GivenUpAgent], limit: AgentLimit, index: int | None
) -> None:
    """First those whose key or credit it names: a person has mended them."""
    asked = replace(
        chained(3), agent_index=2, given_up_agents=tuple(before), session="s", state=State.ESCALATED
    )
    asked = replace(asked, stage=Stage.PREPARE, failure=escalation_of(_stopped(limit)).failure)

    found = first_agent_after_answer(asked)
    after = evolve(asked, Answered(Choice.RETRY, agent_index=found))

    assert found == index
    assert after.agent_index == (2 if index is None else index)
    assert after.session == ("s" if index is None else ""), "a conversation belongs to one agent"


def _stopped(limit: AgentLimit) -> tuple[Event, ...]:
    return _after_exit(working(), {"limit": limit})[1]


def test_an_agent_that_asked_a_question_reads_the_answer_itself() -> None:
    failure = escalation_of(_stopped(AgentLimit.NOT_FOUND)).failure
    asked = replace(
        chained(2),
        stage=Stage.PREPARE,
        agent_index=1,
        given_up_agents=(given_up(0, KEY),),
        failure=replace(failure, kind=FailureKind.ESCALATE_REQUIRED),
    )

    assert first_agent_after_answer(asked) is None


def test_an_answer_of_an_earlier_version_keeps_the_agent() -> None:
    asked = replace(
        chained(2), agent_index=1, state=State.ESCALATED, given_up_agents=(given_up(0, KEY),)
    )

    assert evolve(asked, Answered(Choice.RETRY)).agent_index == 1


def test_an_agent_whose_account_needs_a_person_takes_nothing_over() -> None:
    refused = {"second": None}
    task, events = _after_exit(
        chained(3, closed_chain_accounts=refused), {"limit": AgentLimit.REFUSAL}
    )
    _, alone = _after_exit(chained(2, closed_chain_accounts=refused), {"limit": AgentLimit.REFUSAL})

    assert fold_events(task, events).agent_index == 2
    assert escalation_of(alone).question.choices[0] is Choice.RETRY


def test_an_account_whose_variable_is_not_set_is_left_as_after_a_refused_key() -> None:
    pool = tuple(replace(an_agent("bot"), account=f"bot/{name}") for name in ("work", "home"))
    fault = StageFaulted(
        "its variable KEY is not set",
        transient=False,
        code=FatalCode.AUTHENTICATION_FAILED,
        source=FaultSource.AGENT,
    )
    chain = an_active_task(Stage.PREPARE, spec=a_spec(agents=pool))
    alone = an_active_task(Stage.PREPARE, spec=a_spec(agents=pool[:1]))

    decided = retry_of(rules.decide(chain, fault, ClockAndChance(NOW, 0.5)))
    asked = escalation_of(rules.decide(alone, fault, ClockAndChance(NOW, 0.5)))

    assert (decided.agent_index, decided.fail_over) == (1, FailOverCause.KEY_REFUSED)
    assert decided.reasoning == "the key of bot/work is not set on this machine; bot/home continues"
    assert "its variable KEY is not set" in asked.question.text


def test_the_decision_about_a_repeated_failure_names_its_rule_and_the_next_agent() -> None:
    """The work differed each time, so the rule about the same work does not apply."""
    failure = make_failure(FailureKind.INCOMPLETE, "one.txt is not there")
    task = chained(feedback=failure, same_fingerprint_failures=2)

    decided = decide_retry(task, failure, 1, 0.5)

    assert (decided.rule, decided.agent_index) == ("18.1", 1)
    assert "the same failure 3 times in a row, so second continues" in decided.reasoning
    otherwise = "the present agent would continue after another failure, or without a further agent"
    assert decided.otherwise == otherwise
