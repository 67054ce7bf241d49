"""Messages for agent and person besides the failure's prompt, in the project's language."""

from __future__ import annotations

from collections.abc import Mapping

from yaoki.faces.hooks.state import HookSession, SessionPhase

ANSWER_COMMAND = "yaoki hook answer go-on|abort|take-over"

RETRY_TEXTS: Mapping[str, str] = {
    "en": "This stop was refused: try {count} of {most}{phase}. Fix what failed, then stop again; "
    "the checks then run again.",
    "ja": "停止は拒否されました (試行 {most} 回中 {count} 回目{phase})。失敗した点を修正してから、"
    "もう一度停止してください。停止時の成果に対して、チェックが再度実行されます。",
}
QUESTION_TEXTS: Mapping[str, str] = {
    "en": "{count} of {most} tries{phase} are used, and the work is not proven: {summary}\n"
    "Go on, abort or take over? {how}",
    "ja": "まだ検証に合格していません (試行 {most} 回中 {count} 回目{phase}): {summary}\n"
    "続行、中止、引き継ぎのどれにしますか? {how}",
}
ANSWER_HERE_TEXTS: Mapping[str, str] = {
    "en": "Say `yaoki: go on`, `yaoki: abort` or `yaoki: take over` here, or run: ",
    "ja": "ここに `yaoki: go on`、`yaoki: abort`、`yaoki: take over` のいずれかを入力するか、"
    "次のコマンドを実行してください: ",
}
IN_PHASE_TEXTS: Mapping[str, str] = {"en": " in phase {name}", "ja": "、フェーズ {name}"}
CHOICE_CONSEQUENCES: Mapping[str, str] = {
    "go-on": "the agent has a new budget and gets the reason with the next prompt",
    "abort": "the stops of this session are no longer checked until a new phase begins",
    "take-over": "stops are allowed and report what still fails; "
    "after all checks have passed, stops are checked again",
}


def retry_message(session: HookSession, phase: SessionPhase, most: int, language: str) -> str:
    """The reason for the agent, with the number of the try."""
    reason = session.last_failure.reason if session.last_failure else ""
    text = RETRY_TEXTS[language].format(
        count=session.refusals, most=most, phase=_in(phase, language)
    )
    return f"{reason}\n\n{text}"


def question_message(
    session: HookSession,
    phase: SessionPhase,
    most: int,
    language: str,
    *,
    here: bool,
    chars_max: int,
) -> str:
    """The question to the person; only the summary may be cut."""
    how = (ANSWER_HERE_TEXTS[language] if here else "") + ANSWER_COMMAND
    fixed = {"count": session.refusals, "most": most, "phase": _in(phase, language), "how": how}
    summary = session.last_failure.summary if session.last_failure else ""
    room = max(40, chars_max - len(QUESTION_TEXTS[language].format(**fixed, summary="")))
    summary = summary if len(summary) <= room else summary[: room - 1] + "…"
    return QUESTION_TEXTS[language].format(**fixed, summary=summary)


def _in(phase: SessionPhase, language: str) -> str:
    name = f"{phase.name} ({phase.subtask})" if phase.subtask else phase.name
    return IN_PHASE_TEXTS[language].format(name=name) if phase.name else ""
