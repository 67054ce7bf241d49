"""The option `--until`: the time of the day at which a run stops."""

from __future__ import annotations

from datetime import datetime, time

import click

from yaoki.core.time_of_day import next_time, parse_time_of_day


class TimeOfDay(click.ParamType[time]):
    name = "time of the day"

    def convert(
        self, value: str | time, param: click.Parameter | None, ctx: click.Context | None
    ) -> time:
        if isinstance(value, time):
            return value
        try:
            return parse_time_of_day(value)
        except ValueError as wrong:
            self.fail(str(wrong), param, ctx)


until_option = click.option(
    "--until",
    type=TimeOfDay(),
    metavar="HH:MM",
    default=None,
    help="Stop at this time; running agents are ended and their work is saved.",
)


def next_stop(until: time | None, now: datetime) -> datetime | None:
    """The next moment at which the clock here shows this time."""
    return next_time(until, now.astimezone()) if until else None
