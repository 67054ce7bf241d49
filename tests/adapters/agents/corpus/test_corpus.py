"""Every labelled ending of an agent is read and classified as its label says."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from time import perf_counter
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.adapters.agents.corpus.cases import (
    AGENT,
    NOW,
    Case,
    classify,
    load,
    without_unlabelled_fields,
    write_attempt,
)
from tests.builders import a_policy, a_verdict, an_active_task, in_outbox
from yaoki.adapters.agents.limits import (
    classify_error_lines,
    classify_error_text,
    find_retry_after,
    select_error_lines,
)
from yaoki.adapters.agents.reset_times import find_wait
from yaoki.adapters.agents.structured_output import identify_agent, read_summary, record_agent_name
from yaoki.core.decide.failure_response import ClockAndChance
from yaoki.core.decide.failures import FATAL_CATALOGUE
from yaoki.core.decide.rules import decide
from yaoki.core.machine.events import EscalationDecided, RetryDecided
from yaoki.core.machine.journal_notes import JournalNote
from yaoki.core.model import AgentExit, AgentLimit, FailureKind, Outcome, Stage, Work
from yaoki.core.model.stage_report import CandidateVerified
from yaoki.errors import FatalCode
from yaoki.ports import ProcessPhase, ProcessState

CASES = load()


@pytest.mark.spec("4.1", "4.2", "4.3", "3.10", "5.4")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_an_ending_is_classified_as_labelled(
    case: Case, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    played = classify(case, tmp_path)
    record_property("corpus", f"{case.expect.row}|{played.label.row}")

    assert without_unlabelled_fields(played.label, case.expect) == case.expect, played.exit


@pytest.mark.spec("4.1", "4.2")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_only_kinds_with_a_rule_are_retried(case: Case, tmp_path: Path) -> None:
    """After exactly the wait that the service named."""
    policy = a_policy()
    decision = classify(case, tmp_path).decision

    if isinstance(decision, RetryDecided):
        assert decision.failure.kind in policy.rules
        asked = decision.failure.retry_after
        if asked is not None:
            assert decision.delay_ms == asked // timedelta(milliseconds=1)
    if isinstance(decision, EscalationDecided):
        assert decision.failure.kind not in policy.rules or decision.failure.is_our_fault


WAITING = [case for case in CASES if case.waits is not None]


@pytest.mark.spec("3.10")
@pytest.mark.parametrize("case", WAITING, ids=lambda case: case.id)
def test_the_announced_wait_of_a_running_agent_is_read(case: Case, tmp_path: Path) -> None:
    write_attempt(case, tmp_path)

    waits = AGENT.announced_wait(tmp_path)

    expected = timedelta.max if case.waits == "endless" else case.waits
    if isinstance(expected, timedelta):
        assert waits == expected
    else:
        assert round(waits.total_seconds()) == expected


@pytest.mark.spec("4.2")
def test_the_corpus_is_large_and_covers_every_kind_an_exit_can_have() -> None:
    kinds = Counter(case.expect.row for case in CASES)
    agents = {case.agent for case in CASES}
    codes = {case.expect.code for case in CASES}

    assert len(CASES) >= 120
    assert len({case.id for case in CASES}) == len(CASES)
    # CONFLICT and LOST come from git and from leases, not from how an agent ended.
    assert set(kinds) == {*FailureKind, "PASS", "UNKNOWN"} - {
        FailureKind.CONFLICT,
        FailureKind.LOST,
    }
    assert agents >= {"claude", "codex", "gemini", "qwen", "opencode", "mini", "aider", "pi"}
    assert codes == {*FATAL_CATALOGUE, ""}


# ------------------------------------------------------------------ waits

NEW_YORK = datetime(2026, 11, 15, 7, 0, tzinfo=ZoneInfo("America/New_York"))  # the same instant

# (what the line says, seconds); `now` is Sunday, 2026-11-15 12:00:00 UTC.
TIMES: list[tuple[str, float | None]] = [
    ("Retry-After: 7", 7),
    ("retry-after: 0", 0),
    ("'retry-after': '3600'", 3600),
    ('"retry-after":"120"', 120),
    ("retry_after=30", 30),
    ("retry-after-ms: 1500", 1.5),
    ("retry-after: 1500ms", 1.5),
    ("Retry-After: 2m30s", 150),
    ("retry_after_seconds=30", 30),
    ('"retry_delay_ms": 5399333.25', 5399.333),
    ("Retry-After: Sun, 15 Nov 2026 12:01:00 GMT", 60),
    ("Retry-After: Sunday, 15-Nov-26 12:02:00 GMT", 120),
    ("Retry-After: Sun Nov 15 12:03:00 2026", 180),
    ("Retry-After: Sun, 15 Nov 2026 11:00:00 GMT", None),
    ("Retry-After: Xyz, 99 Nov 2026 99:99:99 GMT", None),
    # A time to the minute is the end of that minute.
    ("resets at 3pm (UTC)", 3 * 3600 + 60),
    ("You've hit your limit · resets 2:55am (UTC)", 14 * 3600 + 56 * 60),
    ("try again at 4:02:30 PM.", 4 * 3600 + 150),
    ("resets 3pm (America/New_York)", 8 * 3600 + 60),
    ("resets 3pm (PST)", 11 * 3600 + 60),
    ("resets 3pm EST", 8 * 3600 + 60),
    ("resets 3pm (UTC+2)", 3600 + 60),
    ("resets at 15:30+02:00", 1.5 * 3600 + 60),
    ("resets at 3pm (Mars)", None),
    ("resets at 3pm (Mars/Olympus_Mons)", None),
    ("resets at 15:30 UTC", 3.5 * 3600 + 60),
    ("resets 12am (UTC)", 12 * 3600 + 60),
    ("resets 12pm (UTC)", 60),
    ("resets 11:55am (UTC)", None),
    ("resets at 11:00 UTC", 23 * 3600 + 60),
    ("resets at 25:00 UTC", None),
    ("resets Nov 17, 9am (UTC)", 45 * 3600 + 60),
    ("resets 17 Nov at 9am (UTC)", 45 * 3600 + 60),
    ("resets tomorrow at 9am (UTC)", 21 * 3600 + 60),
    ("resets Jan 2 at 10am (UTC)", 30 * 86400),
    ("try again at 2:55 PM.", 2 * 3600 + 56 * 60),
    ("try again at Nov 17th, 2026 9:00 AM.", 45 * 3600 + 60),
    ("try again at Feb 31st, 2027 9:00 AM.", None),
    ("Please try again later.", None),
    ("resets in 2h 5m", 7500),
    ("Your quota will reset after 5h12m3s.. Retrying after 19748986ms...", 18723),
    ("Retrying after 19748986ms...", 19748.986),
    ("Retrying in 60s (attempt 1/10)", 60),
    ("Please try again in 6.123s.", 6.123),
    ("Please retry in 34.074824224s.", 34.075),
    ("try again in 1 hour 5 minutes", 3900),
    ("try again in 1 hour, 5 minutes and 2 seconds", 3902),
    ("try again in 3 days 4 hours", 4 * 3600 + 3 * 86400),
    ("please wait 45 seconds before the next request", 45),
    ('"retryDelay": "34s"', 34),
    ("x-ratelimit-reset-requests: 6m0s", 360),
    ("anthropic-ratelimit-requests-reset: 2026-11-15T12:00:30Z", 30),
    ("rate limit reached, resets at 2026-11-15T12:30:00Z", 1800),
    ("resets at 2026-11-15T13:30:00+01:00", 1800),
    ("resets at 2026-11-15 13:30 UTC", 1.5 * 3600 + 60),
    ("resets at 2026-11-15 13:30:00", 1.5 * 3600),
    ("resets at 2026-99-15T13:30:00Z", None),
    ("Claude AI usage limit reached|1794751200", 7200),
    ("Claude AI usage limit reached|1735689600", None),
    ('"resets_at": 1794744060', 60),
    ('"resetsAt":1794744060000', 60),
    ("x-ratelimit-reset: 1794744090", 90),
    ("resets in 1.5h", 5400),
    ("resets in 400d", 30 * 86400),
    ("resets in 999999999d 999999999d", 30 * 86400),
    ("it resets the counter to 3", None),
    ("I will try again", None),
]


@pytest.mark.spec("5.4")
@pytest.mark.parametrize(("line", "seconds"), TIMES)
def test_a_named_wait_is_parsed_in_every_form(line: str, seconds: float | None) -> None:
    wait = find_wait(line, NOW)

    assert (None if wait is None else round(wait.total_seconds(), 3)) == seconds


@pytest.mark.spec("5.4")
def test_a_time_of_day_without_a_zone_is_in_the_zone_of_the_machine() -> None:
    minute = timedelta(minutes=1)
    assert find_wait("try again at 9:00 AM.", NEW_YORK) == timedelta(hours=2) + minute
    assert find_wait("resets at 3pm (UTC)", NEW_YORK) == timedelta(hours=3) + minute
    assert find_wait("Retry-After: Sun, 15 Nov 2026 12:01:00 GMT", NEW_YORK) == timedelta(minutes=1)


# ------------------------------------------------------------------ the catalogue


@pytest.mark.spec("4.7", "10.3")
@pytest.mark.parametrize(
    ("exit_", "code"),
    [
        (AgentExit(code=1, limit=AgentLimit.AUTH), FatalCode.AUTHENTICATION_FAILED),
        (AgentExit(code=126), FatalCode.PERMISSION_DENIED),
        (AgentExit(code=127), FatalCode.RESOURCE_NOT_FOUND),
        (AgentExit(code=1, limit=AgentLimit.REQUEST), FatalCode.REQUEST_REFUSED),
    ],
)
def test_a_fatal_end_reaches_the_person_with_its_message_and_actions(
    exit_: AgentExit, code: FatalCode
) -> None:
    task = an_active_task(Stage.VERIFY, work=Work(base="ba5e", head="head", exit=exit_))
    report = CandidateVerified(a_verdict(Outcome.FAILED), "c0ffee", "ba5e")

    events = decide(task, report, ClockAndChance(NOW, 0.5))

    told = next(e for e in events if isinstance(e, JournalNote) and e.name == "ESCALATE_EXECUTED")
    failure = next(e.failure for e in events if isinstance(e, EscalationDecided))
    assert failure.code == code
    assert failure.message in str(told.data["user_message"])
    assert FATAL_CATALOGUE[code].actions[0] in str(told.data["recommended_actions"])


# ------------------------------------------------------------------ which agent it was


@pytest.mark.spec("4.2")
@pytest.mark.parametrize(
    ("command", "agent"),
    [
        (("claude", "-p"), "claude"),
        (("/opt/bin/gemini", "--yolo"), "gemini"),
        (("npx", "-y", "@openai/codex@0.166.0", "exec"), "codex"),
        (("env", "A=b", "aider"), "aider"),
        (("my-agent", "claude"), ""),
        (("sh", "-c", "gemini"), ""),
        ((), ""),
    ],
)
def test_an_agent_is_identified_by_its_command_line(command: tuple[str, ...], agent: str) -> None:
    assert identify_agent(command) == agent


@pytest.mark.spec("4.2")
def test_the_end_of_a_long_output_is_found_and_its_session_too(tmp_path: Path) -> None:
    opening = '{"type":"thread.started","thread_id":"t-1"}\n'
    noise = '{"type":"item.completed","item":{"type":"command_execution"}}\n' * 30_000
    final = '{"type":"turn.failed","error":{"message":"unexpected status 503"}}\n'
    (tmp_path / "out.log").write_text(opening + noise + final)

    told = read_summary(tmp_path, 1, NOW)

    assert (told.limit, told.session) == ("overloaded", "t-1")


# ------------------------------------------------------------------ anything at all

SECONDS_MAX = 2.0
HOSTILE = [
    b"a" * 2_000_000,
    b"error " * 300_000,
    b"\n" * 2_000_000,
    b"retry after 1 h 1 h 1 h 1 h 1 h" * 50_000,
    b"resets at 9 9 9 9" * 50_000,
    b"a." * 1_000_000 + b"Error",
    b"[" * 500_000,
    b'{"type":"system","subtype":"init"}\n' + b'{"a":' * 100_000,
    b'{"type":"result","subtype":' + b"9" * 100_000 + b"}\n",
    b"\x1b[" * 500_000,
    b"Error: " + b"\xff" * 1_000_000,
    b"error error error status code " * 60_000 + b"429",
]


@pytest.mark.quick_cases(12)
@pytest.mark.spec("14.4", "4.2")
@pytest.mark.parametrize("raw", HOSTILE, ids=lambda raw: repr(raw[:12]))
@pytest.mark.parametrize("agent", ["any", "claude", "aider", "gemini", "mini"])
def test_hostile_output_is_read_in_bounded_time(tmp_path: Path, raw: bytes, agent: str) -> None:
    record_agent_name(tmp_path, (agent,))
    in_outbox(tmp_path)
    for name in ("out.log", "err.log", "outbox/result.json", "outbox/trajectory.json"):
        (tmp_path / name).write_bytes(raw)

    began = perf_counter()
    AGENT.read(tmp_path, ProcessState(ProcessPhase.EXITED, code=1))
    AGENT.announced_wait(tmp_path)

    assert perf_counter() - began < SECONDS_MAX


LINES = [line.encode() for case in CASES for line in (case.err or case.out).splitlines()[:3]]
CHANNEL = st.one_of(
    st.binary(max_size=400),
    st.lists(st.sampled_from(LINES), max_size=6).map(b"\n".join),
    st.text(max_size=200).map(lambda text: text.encode("utf-8", errors="replace")),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
KEYS = sorted({key for case in CASES for event in case.events for key in event})
TYPES = sorted({str(event.get("type")) for case in CASES for event in case.events})
EVENTS = st.lists(
    st.builds(
        lambda kind, rest: {**rest, "type": kind},
        st.sampled_from(TYPES) | st.text(max_size=5),
        st.dictionaries(st.sampled_from(KEYS), JSON, max_size=6),
    ),
    max_size=6,
)
OPENINGS = [case.events[0] for case in CASES if case.events]
ANY_FOLDER = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.mark.spec("14.4", "4.2")
@ANY_FOLDER
@given(out=CHANNEL, err=CHANNEL, note=CHANNEL, code=st.none() | st.integers(-1, 300))
def test_any_bytes_in_any_channel_are_read(
    tmp_path: Path, out: bytes, err: bytes, note: bytes, code: int | None
) -> None:
    for name, raw in (("out.log", out), ("err.log", err), ("outbox/result.json", note)):
        in_outbox(tmp_path)
        (tmp_path / name).write_bytes(raw)

    exit_ = AGENT.read(tmp_path, ProcessState(ProcessPhase.EXITED, code=code))

    assert exit_.code == code
    assert AGENT.announced_wait(tmp_path) >= timedelta(0)


@pytest.mark.spec("14.4", "4.2")
@ANY_FOLDER
@given(opening=st.sampled_from(OPENINGS), events=EVENTS, code=st.integers(0, 255))
def test_events_of_any_shape_are_read(
    tmp_path: Path, opening: dict[str, object], events: list[dict[str, object]], code: int
) -> None:
    lines = "".join(json.dumps(event) + "\n" for event in (opening, *events))
    (tmp_path / "out.log").write_text(lines)
    (tmp_path / "err.log").write_text("")

    exit_ = AGENT.read(tmp_path, ProcessState(ProcessPhase.EXITED, code=code))

    assert isinstance(exit_.session, str)
    assert exit_.retry_after is None or exit_.retry_after >= timedelta(0)
    assert AGENT.announced_wait(tmp_path) >= timedelta(0)


@pytest.mark.spec("5.4", "14.4")
@given(st.text(max_size=300) | st.sampled_from([line for line, _ in TIMES]))
def test_any_line_is_parsed_for_a_wait_without_error(line: str) -> None:
    wait = find_wait(line, NOW)

    assert wait is None or timedelta(0) <= wait <= timedelta(days=30)
    assert isinstance(classify_error_text(line), str)
    assert isinstance(classify_error_lines(select_error_lines(line)), str)
    assert find_retry_after((line,), NOW) == wait
