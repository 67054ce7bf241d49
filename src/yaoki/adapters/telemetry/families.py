"""Every metric by name, with its type and its meaning; nothing else is ever exposed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

COUNTER, GAUGE, HISTOGRAM = "counter", "gauge", "histogram"


class MetricFamily(NamedTuple):
    """`labels` all have few values: never the name of a task, a run or a check."""

    type: str
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


CHECK_BUCKETS = (0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0)
AGENT_BUCKETS = (1.0, 10.0, 60.0, 300.0, 900.0, 1800.0, 3600.0, 7200.0)

METRIC_FAMILIES: Mapping[str, MetricFamily] = {
    # How it stands now.
    "yaoki_info": MetricFamily(GAUGE, "Always 1; which yaoki answers.", ("version",)),
    "yaoki_tasks": MetricFamily(GAUGE, "Tasks of the runs in the store.", ("state",)),
    "yaoki_runs": MetricFamily(GAUGE, "Runs in the store: open, paused or finished.", ("status",)),
    "yaoki_workers": MetricFamily(GAUGE, "Workers that live, as far as anybody knows."),
    "yaoki_slots": MetricFamily(GAUGE, "Tasks that all live workers together can carry at once."),
    "yaoki_accounts_limited": MetricFamily(GAUGE, "Accounts whose service asked to wait."),
    "yaoki_journal_seq": MetricFamily(GAUGE, "The number of the journal's last line."),
    "yaoki_metrics_complete": MetricFamily(GAUGE, "0 while counters catch up with a long journal."),
    # What has happened.
    "yaoki_runs_submitted_total": MetricFamily(COUNTER, "Runs that were submitted."),
    "yaoki_runs_finished_total": MetricFamily(COUNTER, "Runs that came to their end.", ("status",)),
    "yaoki_tasks_submitted_total": MetricFamily(COUNTER, "Tasks that were submitted."),
    "yaoki_claims_total": MetricFamily(COUNTER, "Claims of tasks by workers."),
    "yaoki_leases_expired_total": MetricFamily(COUNTER, "Claims taken back: the holder was gone."),
    "yaoki_leases_released_total": MetricFamily(COUNTER, "Claims given back in good order."),
    "yaoki_results_refused_total": MetricFamily(
        COUNTER, "Late or foreign results refused.", ("why",)
    ),
    "yaoki_dead_letters_total": MetricFamily(COUNTER, "Tasks that no worker brought back."),
    "yaoki_attempts_started_total": MetricFamily(COUNTER, "Attempts that began."),
    "yaoki_attempts_total": MetricFamily(
        COUNTER, "Attempts that ended, by outcome and kind of failure.", ("outcome", "kind")
    ),
    "yaoki_retries_total": MetricFamily(COUNTER, "Retries, by cause.", ("kind", "pattern")),
    "yaoki_waits_total": MetricFamily(COUNTER, "Waits that began, by cause.", ("cause",)),
    "yaoki_wait_seconds_total": MetricFamily(
        COUNTER, "Seconds of waits: as planned, and of persons as they were.", ("cause",)
    ),
    "yaoki_escalations_total": MetricFamily(COUNTER, "Questions to a person.", ("reason",)),
    "yaoki_answers_total": MetricFamily(COUNTER, "Answers of persons.", ("choice",)),
    "yaoki_landings_total": MetricFamily(COUNTER, "Landings on a run branch."),
    "yaoki_landings_refused_total": MetricFamily(
        COUNTER, "Landings refused: the branch had moved."
    ),
    "yaoki_checks_total": MetricFamily(COUNTER, "Checks that ran.", ("outcome",)),
    "yaoki_check_seconds": MetricFamily(HISTOGRAM, "How long checks took.", buckets=CHECK_BUCKETS),
    "yaoki_agent_runs_total": MetricFamily(
        COUNTER, "Agents that ended, and by what.", ("ended_by",)
    ),
    "yaoki_agent_seconds": MetricFamily(
        HISTOGRAM, "How long agents worked.", buckets=AGENT_BUCKETS
    ),
    "yaoki_cost_usd_total": MetricFamily(COUNTER, "What agents said they cost, in US dollars."),
    "yaoki_cost_unknown_total": MetricFamily(COUNTER, "Agents that ended and told no cost."),
    "yaoki_tokens_total": MetricFamily(COUNTER, "What agents said they used, in tokens."),
    "yaoki_tokens_unknown_total": MetricFamily(COUNTER, "Agents that ended and told no tokens."),
    "yaoki_reconciled_total": MetricFamily(
        COUNTER, "Mismatches that were repaired.", ("mismatch",)
    ),
}
