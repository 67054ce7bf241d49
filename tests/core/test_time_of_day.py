"""Times of the day: quiet hours, also across midnight, and the next time to stop."""

from __future__ import annotations

from datetime import datetime, time

import pytest

from yaoki.core.time_of_day import QuietHours, next_time, parse_quiet_hours, parse_time_of_day

pytestmark = pytest.mark.spec("18.1")


def at(clock: str, day: int = 2) -> datetime:
    return datetime.fromisoformat(f"2026-03-{day:02}T{clock}")


@pytest.mark.parametrize(
    ("hours", "now", "end"),
    [
        ("09:00-18:00", at("08:59:59"), None),
        ("09:00-18:00", at("09:00:00"), at("18:00:00")),
        ("09:00-18:00", at("17:59:59"), at("18:00:00")),
        ("09:00-18:00", at("18:00:00"), None),
        ("22:30-06:15", at("22:29:00"), None),
        ("22:30-06:15", at("22:30:00"), at("06:15:00", 3)),
        ("22:30-06:15", at("00:00:00"), at("06:15:00")),
        ("22:30-06:15", at("06:14:00"), at("06:15:00")),
        ("22:30-06:15", at("06:15:00"), None),
        ("00:00-23:59", at("12:00:00"), at("23:59:00")),
    ],
)
def test_quiet_hours_end_at_their_end(hours: str, now: datetime, end: datetime | None) -> None:
    parsed = parse_quiet_hours(hours)

    assert parsed is not None
    assert parsed.end_after(now) == end


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("07:00", time(7)),
        ("7:05", time(7, 5)),
        (" 23:59 ", time(23, 59)),
        ("00:00", time(0)),
    ],
)
def test_a_time_of_the_day_is_read(text: str, expected: time) -> None:
    assert parse_time_of_day(text) == expected


@pytest.mark.parametrize(
    "text", ["", "7", "7:0", "24:00", "12:60", "07:00:00", "-1:00", "seven", "07:0x", "²:00"]
)
def test_another_text_is_refused_with_the_form(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time of the day such as 07:00"):
        parse_time_of_day(text)


def test_quiet_hours_are_two_different_times_or_nothing() -> None:
    assert parse_quiet_hours(" ") is None
    assert parse_quiet_hours("09:00 - 18:00") == QuietHours(time(9), time(18))
    with pytest.raises(ValueError, match="is not two times such as 09:00-18:00"):
        parse_quiet_hours("09:00")
    with pytest.raises(ValueError, match="begins and ends at the same time"):
        parse_quiet_hours("09:00-09:00")
    with pytest.raises(ValueError, match="is not a time of the day"):
        parse_quiet_hours("09:00-")


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (at("06:59:59"), at("07:00:00")),
        (at("07:00:00"), at("07:00:00", 3)),
        (at("23:00:00"), at("07:00:00", 3)),
    ],
)
def test_the_next_time_is_later_than_now(now: datetime, expected: datetime) -> None:
    assert next_time(time(7), now) == expected


@pytest.mark.spec("18.9")
def test_the_quiet_hours_to_come_begin_with_those_that_are_not_over() -> None:
    day, night = QuietHours(time(9), time(18)), QuietHours(time(22), time(7))

    assert day.list_times(at("10:00:00"), 2) == [
        (at("09:00:00"), at("18:00:00")),
        (at("09:00:00", 3), at("18:00:00", 3)),
    ]
    assert day.list_times(at("18:00:00"), 2) == [(at("09:00:00", 3), at("18:00:00", 3))]
    assert night.list_times(at("06:00:00"), 1) == [
        (at("22:00:00", 1), at("07:00:00")),
        (at("22:00:00"), at("07:00:00", 3)),
    ]
