"""The changes that the events of a race make to the racing task and to its candidates."""

from __future__ import annotations

from yaoki.core.machine.failure_transitions import count_failure
from yaoki.core.machine.fast_replace import replace
from yaoki.core.machine.race_events import (
    CandidateFailed,
    CandidateReleased,
    JudgeEnded,
    RaceDecided,
)
from yaoki.core.machine.transitions import apply_final, end_waivers
from yaoki.core.model import (
    CandidateScore,
    PendingRequest,
    Stage,
    State,
    Task,
    TaskId,
    WaitReason,
)


def apply_race_started(task: Task, candidates: tuple[TaskId, ...]) -> Task:
    """The racing task gives its claim back and waits for its candidates."""
    return replace(
        task,
        state=State.WAITING,
        lease=None,
        waiting_for=WaitReason.RACE,
        candidates=candidates,
        judge=TaskId(""),
    )


def apply_candidate_released(task: Task, event: CandidateReleased) -> Task:
    return replace(
        task,
        waiting_for=WaitReason.CLAIM,
        due_at=event.due_at,
        feedback=event.feedback or task.feedback,
        answer_text=event.answer_text or task.answer_text,
    )


def apply_candidate_proven(task: Task, score: CandidateScore) -> Task:
    return replace(task, state=State.WAITING, lease=None, waiting_for=WaitReason.RACE, score=score)


def apply_candidate_failed(task: Task, event: CandidateFailed) -> Task:
    """The candidate is not retried; its work is saved like that of every attempt."""
    return replace(
        task,
        state=State.REPLACED,
        lease=None,
        request=PendingRequest.NONE,
        counts=count_failure(task.counts, event.failure),
        failure=event.failure,
        failure_kinds=(*task.failure_kinds, event.failure.kind.value),
        score=event.score,
    )


def apply_judge_ended(task: Task, event: JudgeEnded) -> Task:
    ended = apply_final(task, State.REPLACED, PendingRequest.NONE)
    return replace(ended, judgment=event.judgment, failure=event.failure)


def apply_race_decided(task: Task, event: RaceDecided) -> Task:
    """The winner's work is verified and landed; without one a retry or a question follows."""
    won = bool(event.winner)
    decided = replace(
        task,
        stage=Stage.VERIFY if won else Stage.PREPARE,
        waiting_for=WaitReason.CLAIM if won else WaitReason.DECISION,
        work=event.work,
        session="",
    )
    return end_waivers(decided)
