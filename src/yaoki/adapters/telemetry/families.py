"""Every metric by name, with its type and its meaning; nothing else is ever exposed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

COUNTER, GAUGE, HISTOGRAM = "counter", "gauge", "histogram"


class Family(NamedTuple):
    """`labels` all have few values: never the name of a task, a run or a check."""

    type: str
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


CHECK_BUCKETS = (0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0)
AGENT_BUCKETS = (1.0, 10.0, 60.0, 300.0, 900.0, 1800.0, 3600.0, 7200.0)

FAMILIES: Mapping[str, Family] = {
    # How it stands now.
    "yaoki_info": Family(GAUGE, "Always 1; which yaoki answers.", ("version",)),
    "yaoki_tasks": Family(GAUGE, "Tasks of the runs in the store.", ("state",)),
    "yaoki_runs": Family(GAUGE, "Runs in the store: open, paused or finished.", ("status",)),
    "yaoki_workers": Family(GAUGE, "Workers that live, as far as anybody knows."),
    "yaoki_slots": Family(GAUGE, "Tasks that all live workers together can carry at once."),
    "yaoki_accounts_limited": Family(GAUGE, "Accounts whose service asked to wait."),
    "yaoki_journal_seq": Family(GAUGE, "The number of the journal's last line."),
    "yaoki_metrics_complete": Family(GAUGE, "0 while counters catch up with a long journal."),
    # What has happened.
    "yaoki_runs_submitted_total": Family(COUNTER, "Runs that were submitted."),
    "yaoki_runs_finished_total": Family(COUNTER, "Runs that came to their end.", ("status",)),
    "yaoki_tasks_submitted_total": Family(COUNTER, "Tasks that were submitted."),
    "yaoki_claims_total": Family(COUNTER, "Claims of tasks by workers."),
    "yaoki_leases_expired_total": Family(COUNTER, "Claims taken back: the holder was gone."),
    "yaoki_leases_released_total": Family(COUNTER, "Claims given back in good order."),
    "yaoki_results_refused_total": Family(COUNTER, "Late or foreign results refused.", ("why",)),
    "yaoki_dead_letters_total": Family(COUNTER, "Tasks that no worker brought back."),
    "yaoki_attempts_started_total": Family(COUNTER, "Attempts that began."),
    "yaoki_attempts_total": Family(
        COUNTER, "Attempts that ended, by outcome and kind of failure.", ("outcome", "kind")
    ),
    "yaoki_retries_total": Family(COUNTER, "Retries, by cause.", ("kind", "pattern")),
    "yaoki_waits_total": Family(COUNTER, "Waits that began, by cause.", ("cause",)),
    "yaoki_wait_seconds_total": Family(
        COUNTER, "Seconds of waits: as planned, and of persons as they were.", ("cause",)
    ),
    "yaoki_escalations_total": Family(COUNTER, "Questions to a person.", ("reason",)),
    "yaoki_answers_total": Family(COUNTER, "Answers of persons.", ("choice",)),
    "yaoki_landings_total": Family(COUNTER, "Landings on a run branch."),
    "yaoki_landings_refused_total": Family(COUNTER, "Landings refused: the branch had moved."),
    "yaoki_checks_total": Family(COUNTER, "Checks that ran.", ("outcome",)),
    "yaoki_check_seconds": Family(HISTOGRAM, "How long checks took.", buckets=CHECK_BUCKETS),
    "yaoki_agent_runs_total": Family(COUNTER, "Agents that ended, and by what.", ("ended_by",)),
    "yaoki_agent_seconds": Family(HISTOGRAM, "How long agents worked.", buckets=AGENT_BUCKETS),
    "yaoki_cost_usd_total": Family(COUNTER, "What agents said they cost, in US dollars."),
    "yaoki_cost_unknown_total": Family(COUNTER, "Agents that ended and told no cost."),
    "yaoki_tokens_total": Family(COUNTER, "What agents said they used, in tokens."),
    "yaoki_tokens_unknown_total": Family(COUNTER, "Agents that ended and told no tokens."),
    "yaoki_reconciled_total": Family(COUNTER, "Mismatches that were repaired.", ("mismatch",)),
}
