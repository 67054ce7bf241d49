"""The JSON documents of the command line, each with its schema version."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from yaoki.core.model import AccountProblem, Reason, Spend, Stage, State
from yaoki.core.run_status import RunStatus
from yaoki.ports import AccountRow, JournalEntry
from yaoki.views.costs import cost_document
from yaoki.views.decisions import ExplainedDecision
from yaoki.views.history import RecordedAnswer
from yaoki.views.history.races import RaceCandidate, RaceJudge, RaceRound
from yaoki.views.plans import PlanView, TaskBound
from yaoki.views.tasks import LastMerge, RunView, TaskView
from yaoki.views.why import AttemptSummary, Explanation

SCHEMA = 1
Document = dict[str, Any]


def status_document(view: RunView) -> Document:
    return {
        "schema": SCHEMA,
        **_run(view),
        "tasks": [_task(task) for task in view.tasks],
        "notes": [task.row.id for task in view.unlanded_optional_tasks],
        "accounts": [account_document(account) for account in view.closed_accounts],
        "forecast": _forecast(view),
        "last_merge": _last_merge(view.last_merge),
        "indistinct": _list_or_none(view.indistinct_task_ids),
        "next": view.next_command,
    }


def _list_or_none(values: Sequence[str] | None) -> list[str] | None:
    return None if values is None else list(values)


def account_document(account: AccountRow) -> Document:
    return {
        "name": account.name,
        "until": account.until.isoformat(),
        "why": account.reason,
        "problem": account.problem.value,
        "probe": account.probe_task or None,
        "asking": account.asking_task or None,
    }


def _forecast(view: RunView) -> Document | None:
    """The forecast of the rest of an active run."""
    if view.forecast is None or view.forecast_at is None:
        return None
    from yaoki.views.forecasts import running_document

    return running_document(view.forecast, view.forecast_at)


def _last_merge(merge: LastMerge | None) -> Document | None:
    if merge is None:
        return None
    return {
        "branch": merge.branch,
        "commit": merge.commit,
        "partial": merge.is_partial,
        "not_landed": list(merge.missing_task_ids),
        "undone": list(merge.undone_task_ids),
        "landed_again": list(merge.relanded_task_ids),
        "more_landed": merge.has_later_landings,
    }


def runs_document(views: Iterable[RunView]) -> Document:
    return {"schema": SCHEMA, "runs": [_run(view) for view in views]}


def _run(view: RunView) -> Document:
    run = view.run
    return {
        "run": run.id,
        "goal": run.goal,
        "status": view.status.value,
        "exit_code": view.exit_code,
        "run_branch": run.branch,
        "base_branch": run.base_branch,
        "base": run.base,
        "created_at": run.created_at.isoformat(),
        "finished_at": _instant(run.finished_at),
        "cancel_wanted": run.cancel_requested,
        "paused": run.pause_reason or None,
        "revision": run.revision,
        "revised_checks": sorted(run.revised_checks),
        "iteration": run.iteration or None,
        "last_iteration": _iteration(view) if view.last_iteration else None,
        "merged": run.merged_commit or None,
        "unmerged_reverts": [
            {"branch": one.branch, "tasks": list(one.task_ids), "next": one.next_command}
            for one in view.unmerged_reverts
        ],
        "counts": dict(view.counts),
        **_spend(view.spent),
    }


def _iteration(view: RunView) -> Document:
    last = view.last_iteration
    return {key: last.get(key) for key in ("iteration", "commit", "head", "decision", "reason")}


def _task(view: TaskView) -> Document:
    row = view.row
    return {
        "id": row.id,
        "name": row.name,
        "n": row.n,
        "kind": row.kind,
        "state": row.state.value,
        "stage": row.stage,
        "attempt": row.attempt,
        "required": row.required,
        "agent": row.agent_title or None,
        "group": row.parent or None,
        "race": row.race_task or None,
        "phase": row.phase or None,
        "held": row.awaiting_rerun,
        "needs": list(view.needs),
        "reason": view.reason or None,
        "cause": view.blocked_by or None,
        "question": row.question or None,
        "choices": list(view.choices),
        "due_at": _instant(row.due_at),
        "cancel_wanted": row.cancel_requested,
        "landed": row.landed_commit or None,
        "agent_ended": row.agent_exit or None,
        "waived": list(row.waivers),
        "on_branch": view.on_branch,
        "session": row.session or None,
        **_spend(row.spend),
        "next": view.next_command or None,
    }


def _spend(used: Spend) -> Document:
    """The use that agents reported; a value that none reported is unknown: null and never zero."""
    return {"cost": used.money or None, "tokens": used.tokens or None, "untold": used.unknown}


def _instant(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def explanation_document(explanation: Explanation) -> Document:
    return {
        "schema": SCHEMA,
        "run": explanation.view.row.run_id,
        "task": _task(explanation.view),
        "headline": explanation.headline,
        "waits_for": explanation.wait_words or None,
        "decisions": [_decision(decision) for decision in explanation.decisions],
        "answers": [_answer(answer) for answer in explanation.answers],
        "attempts": [_attempt(one) for one in explanation.attempts],
        "proven": dict(explanation.proof),
        "survivors": list(explanation.survivors),
        "races": [race_document(one) for one in explanation.races],
        "message": explanation.message or None,
        "warnings": list(explanation.warnings),
    }


def race_document(race: RaceRound) -> Document:
    return {
        "attempt": race.attempt,
        "at": race.started_at.isoformat(),
        "decided_at": _instant(race.decided_at),
        "winner": race.winner or None,
        "criterion": race.criterion or None,
        "words": race.words,
        "judge": _race_judge(race.judge) if race.judge else None,
        "candidates": [_candidate(one) for one in race.candidates],
    }


def _race_judge(judge: RaceJudge) -> Document:
    return {
        "id": judge.id or None,
        "agent": judge.agent,
        "letters": {letter: candidate for letter, (candidate, _) in judge.letters.items()},
        "choice": judge.choice or None,
        "reason": judge.reason or None,
        "message": judge.message or None,
    }


def _candidate(candidate: RaceCandidate) -> Document:
    return {
        "id": candidate.id,
        "name": candidate.name or None,
        "agent": candidate.agent or None,
        "outcome": candidate.outcome or None,
        "failed_checks": candidate.failed_checks,
        "hidden_failures": candidate.hidden_failures,
        "surviving_mutants": candidate.surviving_mutants,
        "changed_lines": candidate.changed_lines,
        "cost": candidate.cost,
        "head": candidate.head or None,
        "message": candidate.message or None,
    }


def _decision(decision: ExplainedDecision) -> Document:
    return {
        "at": decision.at.isoformat(),
        "attempt": decision.attempt,
        "decision": decision.decision,
        "failure": decision.failure,
        "reasoning": decision.reasoning,
        "rule": decision.rule,
        "rule_words": decision.rule_words,
        "inputs": dict(decision.inputs),
        "otherwise": list(decision.alternatives),
        "draw": dict(decision.draw) or None,
    }


def _answer(answer: RecordedAnswer) -> Document:
    return {
        "at": answer.at.isoformat(),
        "attempt": answer.attempt,
        "choice": answer.choice,
        "check": answer.check or None,
        "words": answer.words or None,
        "how": answer.channel or None,
    }


def _attempt(attempt: AttemptSummary) -> Document:
    return {
        "attempt": attempt.attempt,
        "at": attempt.at.isoformat(),
        "agent": attempt.agent or None,
        "checks": dict(attempt.checks),
        "ended": attempt.ended or None,
        "session": attempt.session or None,
        "conversation": attempt.conversation or None,
        "prompt_draw": dict(attempt.prompt_draw) or None,
        "cost": attempt.cost,
        "tokens": attempt.tokens,
        "queue": dict(attempt.queue_choice) or None,
        "check_runs": attempt.check_runs,
        "checks_s": attempt.check_seconds,
    }


def entry_document(entry: JournalEntry) -> Document:
    return {
        "seq": entry.seq,
        "at": entry.at.isoformat(),
        "run": entry.run_id,
        "task": entry.task_id or None,
        "subtask": entry.subtask or None,
        "attempt": entry.attempt,
        "event": entry.event,
        "data": dict(entry.data),
    }


def plan_document(view: PlanView) -> Document:
    from yaoki.views.forecasts import forecast_document

    return {
        "schema": SCHEMA,
        "goal": view.goal,
        "tasks": [_bound(task) for task in view.tasks],
        "done_when": list(view.done_when),
        "worst_case": {
            "content": view.content_runs_max,
            "total": view.runs_max,
            "budget": view.budget_runs or None,
        },
        "cost": cost_document(view.costs),
        "forecast": forecast_document(view.forecast),
    }


def _bound(task: TaskBound) -> Document:
    spec = task.spec
    return {
        "n": task.n,
        "name": spec.name,
        "kind": spec.kind.value,
        "goal": spec.goal,
        "scope": list(spec.scope),
        "needs": list(spec.needs),
        "agents": [agent.name for agent in spec.agents],
        "checks": [check.name for check in spec.checks],
        "required": spec.required,
        "worst_case": {
            "total": task.bound.total,
            "content": task.bound.content,
            "rerun": task.bound.reruns,
            "repeats": task.bound.repeats,
            "interruptions": task.bound.interruptions,
            "judging": task.bound.judge_runs,
            "unanswered": task.bound.unanswered,
            "made_of": task.bound_words,
        },
    }


# ------------------------------------------------------------------ the shape, published

_TEXT, _NUMBER, _YES = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
_MAYBE = {"type": ["string", "null"]}
_TEXTS = {"type": "array", "items": _TEXT}
_SPENT = {
    "cost": {"type": ["number", "null"]},
    "tokens": {"type": ["integer", "null"]},
    "untold": _NUMBER,
}


def status_schema() -> Document:
    """The JSON schema (draft 7) of `yaoki status --json`."""
    run = {
        "schema": {"const": SCHEMA},
        **dict.fromkeys(("run", "goal", "run_branch", "base_branch", "base", "created_at"), _TEXT),
        "status": {"enum": [status.value for status in RunStatus]},
        "exit_code": _NUMBER,
        "finished_at": _MAYBE,
        "cancel_wanted": _YES,
        "paused": _MAYBE,
        "revision": _NUMBER,
        "revised_checks": _TEXTS,
        "iteration": {"type": ["integer", "null"]},
        "last_iteration": {"type": ["object", "null"]},
        "merged": _MAYBE,
        "unmerged_reverts": {
            "type": "array",
            "items": _object({"branch": _TEXT, "tasks": _TEXTS, "next": _TEXT}),
        },
        "counts": {"type": "object", "additionalProperties": _NUMBER},
        **_SPENT,
        "tasks": {"type": "array", "items": _object(_task_properties())},
        "notes": _TEXTS,
        "accounts": {"type": "array", "items": _object(_account_properties())},
        "forecast": {"type": ["object", "null"]},
        "indistinct": {**_TEXTS, "type": ["array", "null"]},
        "last_merge": {**_object(_last_merge_properties()), "type": ["object", "null"]},
        "next": _TEXT,
    }
    draft = {"$schema": "http://json-schema.org/draft-07/schema#", "title": "yaoki status"}
    return {**draft, **_object(run)}


def _last_merge_properties() -> Document:
    return {
        **dict.fromkeys(("branch", "commit"), _TEXT),
        **dict.fromkeys(("partial", "more_landed"), _YES),
        **dict.fromkeys(("not_landed", "undone", "landed_again"), _TEXTS),
    }


def _account_properties() -> Document:
    return {
        **dict.fromkeys(("name", "until", "why"), _TEXT),
        "problem": {"enum": [problem.value for problem in AccountProblem]},
        **dict.fromkeys(("probe", "asking"), _MAYBE),
    }


def _task_properties() -> Document:
    return {
        **dict.fromkeys(("id", "name", "kind"), _TEXT),
        **dict.fromkeys(("n", "attempt"), _NUMBER),
        "state": {"enum": [state.value for state in State]},
        "stage": {"enum": [stage.value for stage in Stage]},
        "required": _YES,
        "cancel_wanted": _YES,
        "held": _YES,
        "on_branch": {"type": ["boolean", "null"]},
        "reason": {"enum": [None, *(reason.value for reason in Reason)]},
        **dict.fromkeys(("agent", "cause", "question", "due_at", "landed", "next"), _MAYBE),
        **dict.fromkeys(("group", "race", "phase", "session", "agent_ended"), _MAYBE),
        **_SPENT,
        **dict.fromkeys(("needs", "choices", "waived"), _TEXTS),
    }


def _object(properties: Document) -> Document:
    return {"type": "object", "properties": properties, "required": sorted(properties)}
