"""The explanation of a task's state as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from yaoki.app.run_view import ATTEMPTS_SHOWN
from yaoki.core.model import State
from yaoki.core.model.names import explain_check_name
from yaoki.core.text import bullet_some, format_duration
from yaoki.faces.text.render import (
    clean_line,
    clean_lines,
    clean_text,
    local_date_time,
    local_time,
)
from yaoki.views.decisions import DecisionKind
from yaoki.views.history.races import describe_candidate

if TYPE_CHECKING:
    from yaoki.views import AttemptSummary, ExplainedDecision, Explanation
    from yaoki.views.history import RecordedAnswer
    from yaoki.views.history.races import RaceRound

ANSWERS_SHOWN = 5
RACES_SHOWN = 3


def explanation_lines(explanation: Explanation) -> Iterator[str]:
    """The explanation of a task, without the next command."""
    row = explanation.view.row
    yield f"{clean_line(row.name, 80)} ({row.id})"
    at = f", on {local_date_time(explanation.ended_at)}" if explanation.ended_at else ""
    yield f"  {clean_line(explanation.headline)}{at}"
    if row.question:
        first, *more = clean_lines(row.question) or [""]
        yield f"  question: {first}"
        yield from (f"    {text}" for text in more)
        yield f"  choices: {', '.join(explanation.view.choices)}"
    if explanation.proof:
        checks = _outcomes(explanation.proof_words)
        earlier = explanation.proof_revision != explanation.check_revision
        with_ = " with its checks before they were revised" if earlier else ""
        yield f"  verified on that commit{with_}: {clean_line(checks)}"
    yield from (f"  {clean_line(text)}" for text in bullet_some(explanation.survivors, 5))
    if explanation.check_revision:
        yield f"  checks: those of revision {explanation.check_revision} of the plan"
    for words in explanation.warnings:
        yield f"  warning: {clean_line(words)}"
    yield from map(_answer_line, explanation.answers[:ANSWERS_SHOWN])
    for race in explanation.races[:RACES_SHOWN]:
        yield from _race_lines(race)
    decided, tried = _last_decision_lines(explanation), _attempt_lines(explanation.attempts)
    # Once a task has landed, what was decided before is history.
    yield from (*tried, *decided) if row.state is State.DONE else (*decided, *tried)


def _last_decision_lines(explanation: Explanation) -> Iterator[str]:
    if explanation.decisions:
        is_done = explanation.view.row.state is State.DONE
        title = "last decision before it landed" if is_done else "last decision"
        yield from _decision_lines(explanation.decisions[0], title)
        yield from _decision_before(explanation.decisions)


def _attempt_lines(attempts: Sequence[AttemptSummary]) -> Iterator[str]:
    if attempts:
        yield "attempts, newest first:"
    for attempt in list(reversed(attempts))[:ATTEMPTS_SHOWN]:
        yield _attempt_line(attempt)
        details = (attempt.conversation_words, attempt.queue_words, attempt.check_run_words)
        yield from (f"     {words}" for words in details if words)
        if attempt.prompt_draw:
            yield "     its template was drawn at random, weighted by past fixes:"
            yield from (f"       {words}" for words in _draw_lines(attempt.prompt_draw))


def _race_lines(race: RaceRound) -> Iterator[str]:
    """The candidates one below the other, with the values that were compared."""
    yield f"race of attempt {race.attempt}: {clean_line(race.words)}"
    if race.judge:
        yield f"  {clean_line(race.judge.words, 600)}"
    for one in race.candidates:
        has_lost = one.head and one.id != race.winner
        saved = f"; saved: yaoki recover {one.id}" if has_lost else ""
        yield f"  {clean_line(describe_candidate(one, race.winner), 300)}{saved}"


def _answer_line(answer: RecordedAnswer) -> str:
    how = f" ({clean_line(answer.channel)})" if answer.channel else ""
    parts = (answer.choice, explain_check_name(answer.check), answer.words)
    words = clean_line(" ".join(part for part in parts if part))
    return f"  a person answered on {local_date_time(answer.at)}{how}: {words}"


def _decision_before(decisions: Sequence[ExplainedDecision]) -> Iterator[str]:
    """The decision that ended the retries, if the last decision is about the re-run after them."""
    if decisions[0].decision not in {DecisionKind.ESCALATE, DecisionKind.RERUN}:
        return
    before = [one for one in decisions[1:] if one.decision is not DecisionKind.RERUN]
    if before and before[0].decision is DecisionKind.HOLD:
        last = before[0]
        yield "what ended the retries:"
        yield f"  rule      {last.rule}: {clean_line(last.rule_words)}"
        yield f"  reasoning {clean_line(last.reasoning)}"


def _decision_lines(decision: ExplainedDecision, title: str) -> Iterator[str]:
    after = f" after attempt {decision.attempt}" if decision.attempt else ""
    yield f"{title}, at {local_time(decision.at)}{after}: {decision.decision}"
    if decision.failure:
        yield f"  because   {clean_line(decision.failure)}"
    yield f"  rule      {decision.rule}: {clean_line(decision.rule_words)}"
    yield f"  reasoning {clean_line(decision.reasoning)}"
    shown = (_input(k, v) for k, v in decision.inputs.items() if _is_shown(k, v))
    yield f"  inputs    {clean_line(', '.join(shown), 600)}"
    if decision.draw:
        yield "  drawn     at random, weighted by past fixes of such failures:"
        yield from (f"            {words}" for words in _draw_lines(decision.draw))
    for words in decision.alternatives:
        yield f"  otherwise {clean_line(clean_text(words))}"


def _draw_lines(draw: Mapping[str, Any]) -> Iterator[str]:
    """Each arm with its discounted counts and its sample; the largest sample was chosen."""
    for arm in draw["arms"]:
        chosen = " (chosen)" if arm["name"] == draw["chosen"] else ""
        fixed, not_fixed = (f"{arm.get(key, 0.0):g}" for key in ("cured", "failed"))
        name = clean_line(str(arm["name"]), 100)
        yield f"{name}: fixed {fixed}, not {not_fixed}; sample {arm['sample']:.3f}{chosen}"


def _is_shown(name: str, value: object) -> bool:
    """A fingerprint is not for people, and reasons are printed in lines of their own."""
    return name not in {"reasoning", "retries_ended", "fingerprint"} and value not in (None, "")


def _input(name: str, value: object) -> str:
    """`delay_s=42960.2` is `delay=11 h 56 min`."""
    if name.endswith("_s") and isinstance(value, (int, float)):
        return f"{name.removesuffix('_s')}={format_duration(value)}"
    return f"{name}={value}"


def _outcomes(words: Mapping[str, str]) -> str:
    return ", ".join(f"{explain_check_name(name)} {outcome}" for name, outcome in words.items())


def _attempt_line(attempt: AttemptSummary) -> str:
    checks = _outcomes(attempt.check_words)
    ended = attempt.ended or "not ended"
    agent = f" {clean_line(attempt.agent, 40)}" if attempt.agent else ""
    results = f"  [{clean_line(checks)}]" if checks else ""
    return f"  {attempt.attempt}  {local_time(attempt.at)}{agent}  {clean_line(ended)}{results}"
