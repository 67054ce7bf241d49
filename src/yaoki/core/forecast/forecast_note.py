"""A forecast as an entry of the journal: what the user was told."""

from __future__ import annotations

from yaoki.core.forecast.forecast import Forecast
from yaoki.core.machine.journal_notes import JournalNote
from yaoki.core.machine.value_codec import to_data


def forecast_note(forecast: Forecast) -> JournalNote:
    """The forecast as the user is told it at the start of a run."""
    return JournalNote(
        "RUN_FORECAST",
        {
            "seconds": to_data(forecast.seconds),
            "agent_runs": to_data(forecast.agent_runs),
            "money": to_data(forecast.money),
            "asks": forecast.asks,
            "over_budget": forecast.over_budget,
            "attempts": forecast.attempts,
            "rounds": forecast.rounds,
            "unknown_costs": list(forecast.unknown_costs),
            "assumed_agents": list(forecast.assumed_agents),
        },
    )
