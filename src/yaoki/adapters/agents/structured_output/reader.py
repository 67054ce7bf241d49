"""Identifies the agent and reads its output.

The first event identifies the agent, so an agent that merely prints events of another one is not
mistaken for it.  Agents without events are identified by their command line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from yaoki.adapters.agents.output_files import ERR, OUT, last_write_s, read_tail
from yaoki.adapters.agents.preset import AgentPreset, load_preset, shipped_preset_names
from yaoki.adapters.agents.structured_output import (
    acp,
    claude,
    codex,
    copilot,
    opencode,
    other_agents,
)
from yaoki.adapters.agents.structured_output.call_record import read_call_record, validate_session
from yaoki.adapters.agents.structured_output.model_activity import has_model_activity
from yaoki.adapters.agents.structured_output.summary import (
    MESSAGE_CHARS_MAX,
    AgentEvent,
    AgentOutput,
    OutputSummary,
    parse_events,
    parse_json_objects,
    text_at,
)
from yaoki.adapters.system.files import read_plain_bytes
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import AgentLimit
from yaoki.core.text import strip_terminal_codes
from yaoki.ports import outbox

HEAD_BYTES_READ = 64 * 1024
TAIL_BYTES_READ = 512 * 1024
# Files to which these agents write their trajectory.
TRAJECTORIES = {"mini": "trajectory.json", "vibe": "vibe/export.json"}
REPEATS_MAX = 25
# Waiting does not help.
PERMANENT_LIMITS = frozenset(
    {
        AgentLimit.AUTH,
        AgentLimit.REQUEST,
        AgentLimit.NOT_FOUND,
        AgentLimit.FORBIDDEN,
        AgentLimit.MONEY,
        AgentLimit.CONTEXT,
    }
)

RetryNoticeReader = Callable[[AgentEvent], tuple[AgentLimit, timedelta | None]]

_READERS: Mapping[str, Callable[[AgentOutput], OutputSummary]] = {
    "acp": acp.read,
    "claude": claude.read,
    "codex": codex.read,
    "continue": other_agents.read_continue,
    "copilot": copilot.read,
    "gemini": other_agents.read_gemini,
    "opencode": opencode.read,
    "openhands": other_agents.read_openhands,
    "pi": other_agents.read_pi,
    "mini": other_agents.read_mini,
    "aider": other_agents.read_aider,
    "vibe": other_agents.read_vibe,
    "lines": other_agents.read_lines,
}
_RETRY_NOTICE_READERS: Mapping[str, RetryNoticeReader] = {
    "acp": acp.read_retry_notice,
    "claude": claude.read_retry_notice,
    "codex": codex.read_retry_notice,
    "copilot": copilot.read_retry_notice,
    "pi": other_agents.read_pi_retry_notice,
}
# A cheap test before a line is parsed: this runs many times a second.
_RETRY_MARKS = (
    *("api_retry", "Reconnecting", "auto_retry_start", "model.call_failure"),
    '"willRetry": true',
)
# Copilot prints these after the failure of a call, whether or not it goes on.
_NO_PROGRESS_MARKS = ('"model.call_finished"', '"session.background_tasks_changed"')
_WITHOUT_EVENTS = frozenset({"gemini", "mini", "vibe", "aider", "continue", "openhands", "lines"})
_BY_TEXT = frozenset({"aider"})
# The last lines of both channels: an error goes to the other one than an answer.
_BY_BOTH_TEXTS = frozenset({"continue", "lines"})


def read_summary(folder: Path, code: int | None, now: datetime) -> OutputSummary:
    """The summary from the events of the agent; empty for an unknown agent."""
    preset, opening = _find_preset(folder)
    if preset is None:
        return _read_without_events(folder, _recorded_preset(folder), now)
    name = preset.events
    output = _build_output(folder, preset, opening, code, now)
    summary = _READERS[name](output)
    return replace(
        summary,
        message=strip_terminal_codes(summary.message)[:MESSAGE_CHARS_MAX].strip(),
        session=validate_session(summary.session),
        preset_name=preset.name,
        model_responded=has_model_activity(name, output.events),
    )


def find_output_preset(folder: Path) -> AgentPreset | None:
    """The preset of the agent whose output this is, if its format is known."""
    return _find_preset(folder)[0]


def _find_preset(folder: Path) -> tuple[AgentPreset | None, tuple[AgentEvent, ...]]:
    """The preset whose format the output has, and the events at its head."""
    preset = _recorded_preset(folder)
    opening = _read_opening(folder, banners=preset is not None)
    name = _identify(opening[0]) if opening else ""
    if not name:
        return (preset, ()) if preset and preset.events in _WITHOUT_EVENTS else (None, ())
    if preset is None or preset.events != name:
        preset = load_preset(name)
    return preset, opening


def _recorded_preset(folder: Path) -> AgentPreset | None:
    """The preset of the agent that was started, if it was recognised."""
    name = read_call_record(folder).name
    return load_preset(name) if name in shipped_preset_names() else None


def _read_without_events(folder: Path, preset: AgentPreset | None, now: datetime) -> OutputSummary:
    """Read the end of an agent that wrote no event, by the error lines of its preset."""
    if preset is None or not preset.lines:
        return OutputSummary()
    last_words = strip_terminal_codes(read_tail(folder / ERR, HEAD_BYTES_READ))
    summary = other_agents.read_lines(
        AgentOutput((), None, now, text=last_words, limit_by_line=preset.lines)
    )
    return replace(
        summary,
        message=summary.message[:MESSAGE_CHARS_MAX],
        preset_name=preset.name,
        model_responded=has_model_activity(preset.events, ()),
    )


def _build_output(
    folder: Path,
    preset: AgentPreset,
    opening: tuple[AgentEvent, ...],
    code: int | None,
    now: datetime,
) -> AgentOutput:
    reader_name = preset.events
    return AgentOutput(
        _read_events(folder, opening),
        code,
        now,
        text=_read_text(folder, reader_name),
        trajectory=_read_ends(outbox(folder) / TRAJECTORIES[reader_name])
        if reader_name in TRAJECTORIES
        else "",
        limit_by_exit_code=preset.exit_codes,
        limit_by_line=preset.lines,
    )


def _read_text(folder: Path, reader_name: str) -> str:
    logs = (OUT, ERR) if reader_name in _BY_BOTH_TEXTS else (OUT,) * (reader_name in _BY_TEXT)
    return "\n".join(strip_terminal_codes(read_tail(folder / log, HEAD_BYTES_READ)) for log in logs)


def read_announced_wait(folder: Path, now: datetime) -> timedelta:
    """The wait that the agent's last events announce; zero while it works.

    For a notice without a time its age counts: an agent that continues prints more.
    """
    lines = read_tail(folder / OUT, HEAD_BYTES_READ).splitlines()
    while lines and any(mark in lines[-1][:120] for mark in _NO_PROGRESS_MARKS):
        lines.pop()
    if not lines or not any(mark in lines[-1] for mark in _RETRY_MARKS):
        return timedelta(0)
    opening = _read_opening(folder, banners=read_call_record(folder).name in shipped_preset_names())
    reader = _RETRY_NOTICE_READERS.get(_identify(opening[0]) if opening else "")
    notices = list(_retry_notices(lines, reader)) if reader else []
    if not notices:
        return timedelta(0)
    limit, delay = notices[0]
    is_endless = limit in PERMANENT_LIMITS or len(notices) >= REPEATS_MAX
    age = timedelta(seconds=max(now.timestamp() - last_write_s(folder), 0.0))
    return timedelta.max if is_endless else delay or age


def _retry_notices(
    lines: Sequence[str], reader: RetryNoticeReader
) -> Iterator[tuple[AgentLimit, timedelta | None]]:
    """The retry notices at the very end, the newest first."""
    for line in reversed(lines):
        events = parse_json_objects(line)
        limit, delay = reader(events[-1]) if events else (AgentLimit.NONE, None)
        if not limit:
            return
        yield limit, delay


def _read_opening(folder: Path, *, banners: bool) -> tuple[AgentEvent, ...]:
    """The events at the head of the output; only known agents may print text before them."""
    head = read_plain_bytes(folder / OUT, HEAD_BYTES_READ) or b""
    if not banners and not head.lstrip().startswith((b"{", b"[")):
        return ()
    return parse_events(head.decode("utf-8", errors="replace"))


def _read_events(folder: Path, opening: tuple[AgentEvent, ...]) -> tuple[AgentEvent, ...]:
    """The first event, which names the session, and the last ones."""
    text = read_tail(folder / OUT, TAIL_BYTES_READ) if opening else ""
    return opening[:1] + parse_events(text) if text else ()


def _identify(event: AgentEvent) -> str:
    """The agent that prints this first event; empty if unknown."""
    kind, subtype = text_at(event, "type"), text_at(event, "subtype")
    if kind.startswith("acp."):
        return "acp"
    if kind == "thread.started":
        return "codex"
    if kind == "init" and text_at(event, "session_id"):
        return "gemini"
    if kind == "session" and text_at(event, "id"):
        return "pi"
    if kind.startswith(("session.", "user.", "assistant.")) and "data" in event:
        return "copilot"
    if text_at(event, "kind").endswith("Event") and text_at(event, "source"):
        return "openhands"
    if kind and text_at(event, "sessionID"):
        return "opencode"
    return "claude" if kind in {"system", "result"} and subtype else ""


def _read_ends(file: Path) -> str:
    head = read_plain_bytes(file, HEAD_BYTES_READ) or b""
    return head.decode("utf-8", errors="replace") + (
        read_tail(file, HEAD_BYTES_READ) if head else ""
    )
