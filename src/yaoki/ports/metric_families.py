"""Every metric by name, with its type and its meaning; no other metric is exposed."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

Labels = tuple[tuple[str, str], ...]


class MetricType(StrEnum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


COUNTER, GAUGE, HISTOGRAM = MetricType.COUNTER, MetricType.GAUGE, MetricType.HISTOGRAM


class MetricFamily(NamedTuple):
    """Every label has few values: never the name of a task, a run or a check."""

    type: MetricType
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


class Sample(NamedTuple):
    """A measured value; `name` is the name of the family, or of one part of a histogram."""

    family: str
    name: str
    labels: Labels
    value: float


CHECK_BUCKETS = (0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0)
AGENT_BUCKETS = (1.0, 10.0, 60.0, 300.0, 900.0, 1800.0, 3600.0, 7200.0)

METRIC_FAMILIES: Mapping[str, MetricFamily] = {
    # The current state.
    "yaoki_info": MetricFamily(GAUGE, "Always 1; the label is the version of yaoki.", ("version",)),
    "yaoki_tasks": MetricFamily(GAUGE, "Tasks of the runs in the store.", ("state",)),
    "yaoki_runs": MetricFamily(GAUGE, "Runs in the store: open, paused or finished.", ("status",)),
    "yaoki_workers": MetricFamily(GAUGE, "Live workers."),
    "yaoki_slots": MetricFamily(GAUGE, "Tasks that all live workers together can run at once."),
    "yaoki_accounts_limited": MetricFamily(GAUGE, "Accounts under a rate limit."),
    "yaoki_journal_seq": MetricFamily(GAUGE, "Number of the last journal entry."),
    "yaoki_metrics_complete": MetricFamily(GAUGE, "0 while counters catch up with a long journal."),
    # Totals since the journal began.
    "yaoki_runs_submitted_total": MetricFamily(COUNTER, "Runs that were submitted."),
    "yaoki_runs_finished_total": MetricFamily(COUNTER, "Runs that finished.", ("status",)),
    "yaoki_tasks_submitted_total": MetricFamily(COUNTER, "Tasks that were submitted."),
    "yaoki_claims_total": MetricFamily(COUNTER, "Claims of tasks by workers."),
    "yaoki_leases_expired_total": MetricFamily(
        COUNTER, "Claims whose lease expired because the holder was gone."
    ),
    "yaoki_leases_released_total": MetricFamily(COUNTER, "Claims that the holder released."),
    "yaoki_results_refused_total": MetricFamily(
        COUNTER, "Results refused as late or foreign.", ("why",)
    ),
    "yaoki_dead_letters_total": MetricFamily(
        COUNTER, "Tasks escalated because every worker that claimed them was lost."
    ),
    "yaoki_attempts_started_total": MetricFamily(COUNTER, "Attempts that began."),
    "yaoki_attempts_total": MetricFamily(
        COUNTER, "Attempts that ended, by outcome and kind of failure.", ("outcome", "kind")
    ),
    "yaoki_retries_total": MetricFamily(COUNTER, "Retries, by cause.", ("kind", "pattern")),
    "yaoki_waits_total": MetricFamily(COUNTER, "Waits that began, by cause.", ("cause",)),
    "yaoki_wait_seconds_total": MetricFamily(
        COUNTER, "Seconds of waiting: planned for retries, measured for persons.", ("cause",)
    ),
    "yaoki_escalations_total": MetricFamily(COUNTER, "Questions to a person.", ("reason",)),
    "yaoki_answers_total": MetricFamily(COUNTER, "Answers of persons.", ("choice",)),
    "yaoki_landings_total": MetricFamily(COUNTER, "Landings on a run branch."),
    "yaoki_landings_refused_total": MetricFamily(
        COUNTER, "Landings refused because of other tasks on the branch."
    ),
    "yaoki_checks_total": MetricFamily(COUNTER, "Checks that ran.", ("outcome",)),
    "yaoki_check_seconds": MetricFamily(HISTOGRAM, "How long checks took.", buckets=CHECK_BUCKETS),
    "yaoki_agent_runs_total": MetricFamily(
        COUNTER, "Agents that ended, and what ended them.", ("ended_by",)
    ),
    "yaoki_agent_seconds": MetricFamily(
        HISTOGRAM, "How long agents worked.", buckets=AGENT_BUCKETS
    ),
    "yaoki_cost_usd_total": MetricFamily(COUNTER, "Cost that agents reported, in US dollars."),
    "yaoki_cost_unknown_total": MetricFamily(
        COUNTER, "Agents that ended without reporting a cost."
    ),
    "yaoki_tokens_total": MetricFamily(COUNTER, "Tokens that agents reported."),
    "yaoki_tokens_unknown_total": MetricFamily(
        COUNTER, "Agents that ended without reporting tokens."
    ),
    "yaoki_reconciled_total": MetricFamily(
        COUNTER, "Mismatches that were repaired.", ("mismatch",)
    ),
}
