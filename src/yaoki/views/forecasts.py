"""A forecast in words and as a document, and its comparison with what happened."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from yaoki.core.forecast.samples import POOL_MIN
from yaoki.core.lazy_dataclass import replace
from yaoki.core.text import format_count, format_duration, list_some
from yaoki.views.costs import format_dollars

if TYPE_CHECKING:
    from yaoki.core.forecast.forecast import Forecast, Quantiles
    from yaoki.core.model import Spend
    from yaoki.views.history.forecast_record import ForecastRecord, ForecastScore

Document = dict[str, Any]
AGENTS_SHOWN = 5
RESULTS = ("inside", "below", "above")
NO_HISTORY = f"no forecast: fewer than {POOL_MIN} attempts have been measured here yet"


def round_seconds(seconds: float) -> float:
    """Minutes have no useful seconds, and hours no useful minutes below five."""
    step = 1 if seconds < 100 else 60 if seconds < 7200 else 300
    return step * max(1, round(seconds / step)) if seconds > 0 else 0


def forecast_words(forecast: Forecast) -> str:
    """`2 h 10 min (90 %: 4 h), 14 agent runs (90 %: 19), $3.10 (90 %: $5.00)`."""
    return ", ".join((time_words(forecast.seconds), *_amount_words(forecast)))


def end_words(forecast: Forecast, now: datetime, show: Callable[[datetime], str]) -> str:
    """`done at 03:40, 90 %: 06:10; 14 agent runs (90 %: 19), …`; `show` writes a time."""
    return f"{end_time_words(forecast, now, show)}; {', '.join(_amount_words(forecast))}"


def rest_words(forecast: Forecast, spent: Spend) -> str:
    """`3 more agent runs (90 %: 5), $0.50 more (90 %: $1.20)`: without what the run has used."""
    rest = replace(
        forecast,
        agent_runs=forecast.agent_runs.shift(-spent.attempts),
        money=forecast.money.shift(-spent.money) if forecast.money else None,
    )
    return ", ".join(_amount_words(rest, is_rest=True))


def end_time_words(forecast: Forecast, now: datetime, show: Callable[[datetime], str]) -> str:
    times = [now + timedelta(seconds=s) for s in (forecast.seconds.middle, forecast.seconds.high)]
    middle, high = (show(at) for at in times)
    return f"done at {middle}, 90 %: {high}"


def time_words(seconds: Quantiles) -> str:
    middle, high = (format_duration(round_seconds(s)) for s in (seconds.middle, seconds.high))
    return f"{middle} (90 %: {high})"


def _amount_words(forecast: Forecast, *, is_rest: bool = False) -> Iterator[str]:
    runs, agent_run = forecast.agent_runs, "more agent run" if is_rest else "agent run"
    yield f"{format_count(round(runs.middle), agent_run)} (90 %: {round(runs.high)})"
    if forecast.money is not None:
        least, more = "at least " if forecast.unknown_costs else "", " more" if is_rest else ""
        middle, high = forecast.money.middle, forecast.money.high
        yield f"{least}{format_dollars(middle)}{more} (90 %: {format_dollars(high)})"
    else:
        yield "cost unknown"


def forecast_notes(forecast: Forecast) -> list[str]:
    """The basis of a forecast, and what it leaves out or assumes."""
    notes = [f"from {format_count(forecast.attempts, 'measured attempt')}"]
    if forecast.asks >= 0.01:
        notes.append(f"{forecast.asks:.0%} of the simulated runs end with a question to you")
    if forecast.over_budget >= 0.01:
        notes.append(f"a budget stops {forecast.over_budget:.0%} of them")
    if forecast.assumed_agents:
        names = list_some(forecast.assumed_agents, AGENTS_SHOWN)
        notes.append(f"no attempt of {names} yet: those of the other agents are used")
    elif forecast.unknown_costs:
        names = list_some(forecast.unknown_costs, AGENTS_SHOWN)
        notes.append(f"{names} reported no cost")
    if forecast.is_open_ended:
        notes.append("tasks that are still to be planned are not counted")
    return notes


def forecast_lines(forecast: Forecast | None) -> list[str]:
    """For a plan before its start."""
    if forecast is None:
        return [NO_HISTORY]
    return [f"forecast {forecast_words(forecast)}", f"  {'; '.join(forecast_notes(forecast))}"]


def forecast_document(forecast: Forecast | None) -> Document | None:
    if forecast is None:
        return None
    return {
        "seconds": _quantile_document(forecast.seconds),
        "agent_runs": _quantile_document(forecast.agent_runs),
        "cost": _quantile_document(forecast.money) if forecast.money else None,
        "asks": round(forecast.asks, 3),
        "over_budget": round(forecast.over_budget, 3),
        "attempts": forecast.attempts,
        "unknown_costs": list(forecast.unknown_costs),
        "assumed_agents": list(forecast.assumed_agents),
        "open_ended": forecast.is_open_ended,
    }


def _quantile_document(bounds: Quantiles) -> Document:
    values = {"p10": bounds.low, "p50": bounds.middle, "p90": bounds.high}
    return {name: round(value, 4) for name, value in values.items()}


def running_document(forecast: Forecast, now: datetime) -> Document:
    """The forecast of a running run, with the instants of its end."""
    document = forecast_document(forecast)
    assert document is not None, "there is a forecast"
    ends = {"p50": forecast.seconds.middle, "p90": forecast.seconds.high}
    at = {name: now + timedelta(seconds=round(seconds)) for name, seconds in ends.items()}
    return {**document, "done_at": {name: one.isoformat() for name, one in at.items()}}


# ------------------------------------------------------------------ what happened


def score_words(record: ForecastRecord) -> str:
    """`forecast 2 h 10 min (90 %: 4 h), …; took 2 h 40 min: inside, …`; empty if there is none."""
    if record.forecast is None:
        return ""
    told = f"forecast {forecast_words(record.forecast)}"
    if record.obstacle:
        return f"{told}; not compared: {record.obstacle}"
    score = record.score
    return f"{told}; {_took_words(score)}" if score else told


def _took_words(score: ForecastScore) -> str:
    parts = [
        f"took {format_duration(round_seconds(score.seconds))}: {score.time_result.value}",
        f"{format_count(score.agent_runs, 'agent run')}: {score.runs_result.value}",
    ]
    if score.cost is not None and score.cost_result is not None:
        parts.append(f"{format_dollars(score.cost)}: {score.cost_result.value}")
    return ", ".join(parts)


def score_document(record: ForecastRecord) -> Document | None:
    """The forecast at the start beside the result; null without a forecast."""
    if record.forecast is None:
        return None
    return {
        "told": forecast_document(record.forecast),
        "took": _took_document(record.score) if record.score else None,
        "not_compared": record.obstacle or None,
        "words": score_words(record),
    }


def _took_document(score: ForecastScore) -> Document:
    return {
        "seconds": round(score.seconds, 3),
        "agent_runs": score.agent_runs,
        "cost": score.cost,
        "time_result": score.time_result.value,
        "runs_result": score.runs_result.value,
        "cost_result": score.cost_result.value if score.cost_result else None,
    }


def coverage(scores: Sequence[ForecastScore]) -> Document:
    """The runs that were inside, below and above P10 to P90; 80 % should be inside."""
    kinds = {
        "time": [score.time_result for score in scores],
        "agent_runs": [score.runs_result for score in scores],
        "cost": [score.cost_result for score in scores if score.cost_result is not None],
    }
    return {
        name: {
            "runs": len(results),
            **{one: sum(result == one for result in results) for one in RESULTS},
        }
        for name, results in kinds.items()
    }
