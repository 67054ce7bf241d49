"""The next attempt after a failure of the work: which conversation, and which agent (18.3, 18.5).

`retry` has decided before that there is a next attempt; this module adds how it is made.
"""

from __future__ import annotations

from collections.abc import Sequence

from yaoki.core.decide.cures import pattern_of
from yaoki.core.decide.retry_decision import RetryAction, RetryDecision
from yaoki.core.decide.thompson import OUTCOMES_READ_MAX, draw_arm
from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.model import CONTENT_KINDS, FailOverCause, Failure, RetryMethod, Task
from yaoki.core.model.treatment import (
    ArmDraw,
    AttemptConversation,
    ConversationMode,
    LearningMode,
    Treatment,
    TreatmentOutcome,
)

CONVERSATION_RULE, LEARNING_RULE = "18.3", "18.5"
# `auto` compares two conversations when each has this many outcomes.
OUTCOMES_COMPARED_MIN = 10
# The reasoning of such a try was wrong, and it would stay in the conversation.
WRONG_TRY_PATTERNS = frozenset(
    {
        *("test-failed", "test-weakened", "gamed", "mutant-survived", "not-red"),
        *("no-change", "agent-failed", "mass-deletion"),
    }
)
_METHODS = frozenset({RetryMethod.CONTINUE, RetryMethod.FRESH, RetryMethod.NEXT_AGENT})
CONTINUED, FRESH = AttemptConversation.CONTINUED, AttemptConversation.FRESH


@dataclass(frozen=True, slots=True)
class _Arm:
    """One way to make the next attempt."""

    index: int
    agent: str
    conversation: AttemptConversation

    @property
    def name(self) -> str:
        return arm_name(self.agent, self.conversation)


def arm_name(agent: str, conversation: AttemptConversation) -> str:
    return f"{agent} {conversation.value}".strip()


def arm_of(treatment: Treatment) -> str:
    return arm_name(treatment.agent, treatment.conversation)


def uses_outcomes(task: Task) -> bool:
    """Does the decision about a failure of its work depend on earlier treatments?"""
    policy = task.spec.policy
    return policy.learn is LearningMode.CHOOSE or policy.conversation is ConversationMode.AUTO


def is_failed_try(task: Task, failure: Failure, decision: RetryDecision) -> bool:
    """Is the next attempt another try of an agent at work that failed?"""
    return (
        decision.action is RetryAction.RETRY
        and decision.strategy in _METHODS
        and failure.kind in CONTENT_KINDS
        and not (failure.is_our_fault or failure.account or failure.account_problem)
        and not failure.agent_problem
        and task.agent is not None
    )


def choose_next_try(task: Task, failure: Failure, decision: RetryDecision) -> RetryDecision:
    """The decision with the conversation, and with `learn: choose` the agent, of the next try."""
    if not is_failed_try(task, failure, decision):
        return decision
    if task.spec.policy.learn is LearningMode.CHOOSE:
        arms = _arms(task, decision)
        if len(arms) > 1:
            return _drawn(task, failure, decision, arms)
    if not _can_continue(task, decision):
        return decision
    conversation, why = choose_conversation(task, failure)
    if not why:
        return replace(decision, conversation=conversation)
    words = "continues its conversation" if conversation is CONTINUED else "in a new conversation"
    return replace(
        decision,
        conversation=conversation,
        reasoning=f"{decision.reasoning}; {words} ({why})",
        inputs={**decision.inputs, "conversation": why},
    )


def _can_continue(task: Task, decision: RetryDecision) -> bool:
    """A new worktree and another agent begin a new conversation, whatever the plan says."""
    return bool(task.session) and decision.strategy is RetryMethod.CONTINUE


# ------------------------------------------------------------------ conversation


def choose_conversation(task: Task, failure: Failure) -> tuple[AttemptConversation, str]:
    """The conversation of the next attempt, and the reason; none for the default."""
    match task.spec.policy.conversation:
        case ConversationMode.CONTINUE:
            return CONTINUED, ""
        case ConversationMode.FRESH:
            return FRESH, "conversation: fresh"
        case ConversationMode.AUTO:
            return _measured(task, failure) or _default(task, failure)


def _measured(task: Task, failure: Failure) -> tuple[AttemptConversation, str] | None:
    """The conversation that cured more often, if both were tried often enough."""
    pattern, agent = pattern_of(failure), task.agent.name if task.agent else ""
    known = _known_outcomes(task, failure)
    continued, fresh = (_select(known, agent, one) for one in (CONTINUED, FRESH))
    if min(len(continued), len(fresh)) < OUTCOMES_COMPARED_MIN:
        return None
    difference = sum(continued) * len(fresh) - sum(fresh) * len(continued)
    if not difference:
        return None
    chosen = CONTINUED if difference > 0 else FRESH
    return chosen, (
        f"auto: after {pattern} {agent} fixed {sum(continued)} of {len(continued)} in the same "
        f"conversation, {sum(fresh)} of {len(fresh)} in a new one"
    )


def _known_outcomes(task: Task, failure: Failure) -> tuple[TreatmentOutcome, ...]:
    """The outcomes of all runs, newest first, and this attempt if it failed as the one before."""
    own = task.work.treatment
    if own is None or own.pattern != pattern_of(failure):
        return task.treatment_outcomes
    return (TreatmentOutcome(own, cured=False), *task.treatment_outcomes)[:OUTCOMES_READ_MAX]


def _select(
    known: Sequence[TreatmentOutcome], agent: str, conversation: AttemptConversation
) -> list[bool]:
    return [
        one.cured
        for one in known
        if one.treatment.agent == agent and one.treatment.conversation is conversation
    ]


def _default(task: Task, failure: Failure) -> tuple[AttemptConversation, str]:
    pattern, basis = pattern_of(failure), "neither conversation is known to fix it more often"
    if task.feedback is not None and pattern_of(task.feedback) == pattern:
        return FRESH, f"auto: {pattern} again; {basis}"
    if pattern in WRONG_TRY_PATTERNS:
        return FRESH, f"auto: {pattern} shows a wrong approach; {basis}"
    return CONTINUED, f"auto: {pattern} says what to correct; {basis}"


# ------------------------------------------------------------------ learning


def _arms(task: Task, decision: RetryDecision) -> tuple[_Arm, ...]:
    """Everything that the plan allows for the next attempt, the present agent first."""
    present = [
        _Arm(task.agent_index, task.agent.name, conversation)
        for conversation in _conversations(task, decision)
        if task.agent is not None
    ]
    others = (
        _Arm(index, task.spec.agents[index].name, FRESH)
        for index in task.substitute_indices
        if not _is_closed(task, index)
    )
    is_given_up = decision.strategy is RetryMethod.NEXT_AGENT
    arms = [*([] if is_given_up else present), *others]
    return tuple({arm.name: arm for arm in reversed(arms)}.values())[::-1]


def _conversations(task: Task, decision: RetryDecision) -> Sequence[AttemptConversation]:
    if not _can_continue(task, decision):
        return (FRESH,)
    match task.spec.policy.conversation:
        case ConversationMode.CONTINUE:
            return (CONTINUED,)
        case ConversationMode.FRESH:
            return (FRESH,)
        case ConversationMode.AUTO:
            return (CONTINUED, FRESH)


def _is_closed(task: Task, index: int) -> bool:
    account = task.spec.agents[index].billed_account
    return account != task.account and account in task.closed_chain_accounts


def _drawn(
    task: Task, failure: Failure, decision: RetryDecision, arms: Sequence[_Arm]
) -> RetryDecision:
    draw = draw_arm(
        [arm.name for arm in arms],
        _known_outcomes(task, failure),
        arm_of,
        pattern_of(failure),
        f"{task.run_id}/{task.id}/{task.attempt}",
    )
    chosen = next(arm for arm in arms if arm.name == draw.chosen)
    is_switch = chosen.index != task.agent_index
    cause = decision.fail_over or (FailOverCause.LEARNED if is_switch else FailOverCause.NONE)
    return replace(
        decision,
        rule=LEARNING_RULE,
        reasoning=f"{decision.reasoning}; learn: choose drew {describe_draw(draw)}",
        otherwise=f"{decision.otherwise}; with other counts the draw may differ",
        agent_index=chosen.index if is_switch else None,
        fail_over=cause if is_switch else FailOverCause.NONE,
        conversation=chosen.conversation,
        draw=draw,
    )


def describe_draw(draw: ArmDraw) -> str:
    """`large fresh (0.81) against small continued (0.32)`."""
    chosen = next(arm for arm in draw.arms if arm.name == draw.chosen)
    others = ", ".join(f"{a.name} ({a.sample:.2f})" for a in draw.arms if a.name != draw.chosen)
    return f"{chosen.name} ({chosen.sample:.2f}) against {others}"
