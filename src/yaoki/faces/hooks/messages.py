"""What agent and person are told besides the prompt of the pattern, in the project's language."""

from __future__ import annotations

from collections.abc import Mapping

from yaoki.faces.hooks.state import Phase, Session

COMMAND = "yaoki hook answer go-on|abort|take-over"

AGAIN: Mapping[str, str] = {
    "en": "This stop was refused: try {count} of {most}{phase}. Mend what failed, then stop again; "
    "the checks then run again on what you left.",
    "ja": "停止は拒否されました({most} 回中 {count} 回目{phase})。失敗した点を直してから、もう一度"
    "停止してください。検査をもう一度実行します。",
}
ASKED: Mapping[str, str] = {
    "en": "{count} of {most} tries{phase} and it is still not proven: {summary}\n"
    "Go on, abort or take over? {how}",
    "ja": "{most} 回中 {count} 回試行しましたが{phase}、まだ証明されていません: {summary}\n"
    "続行、中止、引き継ぎのどれにしますか? {how}",
}
HERE: Mapping[str, str] = {
    "en": "Say `yaoki: go on`, `yaoki: abort` or `yaoki: take over` here, or run: ",
    "ja": "ここで `yaoki: go on`、`yaoki: abort`、`yaoki: take over` と入力するか、次を実行: ",
}
IN: Mapping[str, str] = {"en": " in phase {name}", "ja": "、フェーズ {name}"}
FOLLOWS: Mapping[str, str] = {
    "go-on": "the agent has a fresh budget, and is told the reason at the next prompt",
    "abort": "the stops of this session are no longer checked until a new phase begins",
    "take-over": "stops go through and tell what still fails; once all passes, the gate is back",
}


def again(session: Session, phase: Phase, most: int, language: str) -> str:
    """The reason for the agent, and where it stands."""
    kept = session.kept.reason if session.kept else ""
    text = AGAIN[language].format(count=session.count, most=most, phase=_in(phase, language))
    return f"{kept}\n\n{text}"


def question(
    session: Session, phase: Phase, most: int, language: str, *, here: bool, chars_max: int
) -> str:
    """One question that can be answered; only the summary is ever cut."""
    how = (HERE[language] if here else "") + COMMAND
    fixed = {"count": session.count, "most": most, "phase": _in(phase, language), "how": how}
    summary = session.kept.summary if session.kept else ""
    room = max(40, chars_max - len(ASKED[language].format(**fixed, summary="")))
    summary = summary if len(summary) <= room else summary[: room - 1] + "…"
    return ASKED[language].format(**fixed, summary=summary)


def _in(phase: Phase, language: str) -> str:
    name = f"{phase.name} ({phase.subtask})" if phase.subtask else phase.name
    return IN[language].format(name=name) if phase.name else ""
