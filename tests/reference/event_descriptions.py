"""A one-line description of each event, and the fields of events without a class."""

from __future__ import annotations

from collections.abc import Mapping

# Events whose class does not say it itself, or says it only to its makers.
CLASSES: Mapping[str, str] = {
    "TASK_CLAIMED": "A worker has the right to act on the task until the lease ends.",
    "LEASE_EXPIRED": "The lease expired without a result, so the task can be claimed again. "
    "`counted` is false when a person resumed a stopped run: then no worker failed.",
    "ATTEMPT_STARTED": "The worktree is ready, and the attempt has its number.",
    "AGENT_FINISHED": "The agent ended; everything it left is saved at `head`.",
    "JOINT_PROOF_FAILED": (
        "A check failed on the work of several tasks together. It is unknown which task caused the "
        "failure, so the task is verified again, alone; no attempt is counted."
    ),
    "LAND_REFUSED": (
        "The verified commit cannot land, so the work is verified again. `cause`: `moved` (the "
        "branch has moved), `predecessor` (a predecessor in the merge queue did not land), "
        "`waited` (the task waited beside the queue and now enters it behind tasks that have not "
        "landed yet), `companion` (a task that was verified with it was withdrawn), `answer` (the "
        "answer of a plan task names a task that no longer exists), or `unknown`. `passed_onto` "
        "is the commit of the run branch on which the work passed. Only older journals have `why`, "
        "for a companion."
    ),
    "TASK_LANDED": "The branch is at the verified commit; the task is done.",
    "RETRY_DECISION": "The attempt failed and the task is retried at `due_at`.",
    "ESCALATE_DECISION": "The attempt failed and a person is asked `question`.",
    "ESCALATION_ANSWERED": "The answer of a person.",
    "CANCEL_REQUESTED": "A request to cancel a task or a run, stored before anything acts on it.",
    "TASK_CANCELLED": "The task is cancelled; `kept` is the commit with its work.",
}

# Notes without an effect: their descriptions and fields.
NOTE_DESCRIPTIONS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "USER_REQUEST": (
        "The request of the user; the first event of a run.",
        ("goal", "base", "tasks", "file"),
    ),
    "PLAN_SUBMITTED": (
        "The run was stored with all its tasks; `run` contains its fields.",
        ("goal", "tasks", "revision", "base", "run"),
    ),
    "PLAN_RECHECKED": (
        "A person made the checks, the set-up and the rules of the changed plan the next revision "
        "of the run; `checks` names the checks that changed, `tasks` the tasks that change, "
        "`rules` the changed keys of each task, and `landed_before` the tasks that landed with the "
        "earlier checks or set-up.",
        ("revision", "checks", "tasks", "rules", "landed_before", "message", "how", "set"),
    ),
    "RUN_FORECAST": (
        "The forecast at the start of the run: `low`, `middle` and `high` are P10, P50 and P90 of "
        "its seconds, agent runs and US dollars; `asks` and `over_budget` are the shares of the "
        "simulated runs that ask a person or exceed a budget. Only if enough attempts were "
        "measured before this run.",
        (
            "seconds",
            "agent_runs",
            "money",
            "asks",
            "over_budget",
            "attempts",
            "rounds",
            "unknown_costs",
            "assumed_agents",
        ),
    ),
    "PLAN_EXTENDED": (
        "Tasks were added; `replaces` names the tasks that they replace.",
        ("replaces", "revision", "set", "tasks"),
    ),
    "TASK_BLOCKED": (
        "The task failed for good; all tasks that need it, directly or indirectly, are blocked.",
        ("dependents", "tasks", "cause", "reason", "dependents_reason"),
    ),
    "TASK_REVIVED": ("The dependents are no longer blocked.", ("dependents", "tasks", "cause")),
    "CHECK_FINISHED": (
        "The result of one execution of a check.",
        (
            "check",
            "outcome",
            "required",
            "commit",
            "pattern",
            "message",
            "tests",
            "known",
            "known_count",
            "items",
            "exit_code",
            "seconds",
            "fail_to_pass",
            "mutants",
            "hidden",
            "key",
            "reused",
            "rerun_seconds",
            "rerun_passes",
            "quarantined",
            "quarantine_expired",
            "quarantine_unmatched",
            "test_runs",
            "log",
        ),
    ),
    "RETRY_START": (
        "The attempt that just started is a retry.",
        ("retry_count", "previous_failure_type", "modification_hint"),
    ),
    "RETRY_SUCCESS": (
        "The task landed after failures; `cured` is the pattern fixed last, `waived` the check "
        "that a person waived instead.",
        ("retry_count", "total_attempts", "final_status", "cured", "waived"),
    ),
    "RECOVERY_COMPLETE": (
        "The group landed after a recovery; `left_out_subtasks` failed and are not in it.",
        ("strategy", "recovered_subtasks", "left_out_subtasks", "final_status"),
    ),
    "SNAPSHOT_RESTORE": (
        "A worktree or a group branch was restored.",
        ("snapshot_id", "restored_files", "deleted_files"),
    ),
    "ESCALATE_EXECUTED": (
        "The text that the person is shown.",
        ("user_message", "recommended_actions"),
    ),
    "DEAD_LETTERED": (
        "Too many workers that claimed the task died.",
        ("deliveries", "message"),
    ),
    "CHECKOUT_CHANGED": ("Your checkout changed while an agent was active.", ("what", "message")),
    "CHECKOUT_FILES_ADDED": (
        "New untracked files appeared in your checkout while an agent was active, nothing else.",
        ("what", "message"),
    ),
    "PROMPT_FAULT": ("A template failed, and the built-in text was used.", ("fault",)),
    "RESULT_NOTED": (
        "An agent reported how its attempt ended; this is only a claim.",
        (
            "status",
            "summary",
            "question",
            "retry_safe",
            "retry_after_s",
            "partial_changes",
            "epoch",
        ),
    ),
    "RESULT_REFUSED": (
        "A late result of a worker, or a call of an agent whose attempt is over; nothing changed.",
        ("holder", "task", "call", "refused", "attempt", "epoch", "current_epoch", "state"),
    ),
    "RECONCILED": (
        "A mismatch was found and repaired.",
        (
            "mismatch",
            "tasks",
            "commit",
            "repair",
            "damage",
            "quarantine",
            "restored_from",
            "damaged_backups",
            "replayed",
            "lost",
            "skipped",
            "how",
        ),
    ),
    "LINE_NOT_REPLAYED": (
        "A line of a damaged journal that could not be applied, kept unchanged.",
        ("event", "data", "why"),
    ),
    "CHECKS_RAN": (
        "The number of check executions in one verification, also in a discarded one, by "
        "check and `purpose`: `candidate`, `again` after a failure, `base`, `comparison`, "
        "`mutant`, `bisection`. For a merge or an undo, the line has no task.",
        ("runs",),
    ),
    "WARNING": (
        "Something that a person should know; nothing changed. For a bug in yaoki, `traceback` is "
        "the end of the traceback.",
        ("message", "traceback"),
    ),
    "PHASE_FILLED": ("A deferred phase got its tasks.", ("phase", "tasks")),
    "PHASE_REFUSED": ("An answer for a phase was refused.", ("phase", "defects")),
    "PHASE_REOPENED": ("A task of the phase was replaced.", ("phase", "replaced", "by")),
    "PHASE_TIMED_OUT": (
        "The phase was not filled before its deadline.",
        ("phase", "deadline_s", "cancelled"),
    ),
    "REPLAN_REQUESTED": ("The planner is asked for the missing tasks.", ()),
    "ITERATION_FINISHED": (
        "An iteration of a continuous run ended.",
        (
            "iteration",
            "commit",
            "head",
            "partial_changes_possible",
            "retry_safe",
            "proven",
            "failed",
            "decision",
            "reason",
            "failures_in_row",
            "set",
        ),
    ),
    "ITERATION_GRANTED": (
        "A person allowed the next iteration; the fields are those of ITERATION_FINISHED.",
        (),
    ),
    "RUN_PAUSED": ("No task starts until a person answers `go`.", ("why", "set")),
    "RUN_RESUMED": ("A person answered `go`.", ("was", "words", "set", "how")),
    "RUN_REOPENED": ("A finished run continues.", ("set",)),
    "RUN_MERGED": (
        "`yaoki merge` moved a branch to the run's work.",
        ("branch", "commit", "how", "set"),
    ),
    "MERGE_REFUSED": (
        "`yaoki merge` moved no branch: a check fails on the merge of the run's head (`head`) "
        "with `onto`.",
        ("branch", "head", "onto", "failure"),
    ),
    "FINAL_SUMMARY": (
        "The run is finished, or every open task needs a person.",
        ("status", "tasks", "run_branch", "set"),
    ),
    "RUN_ARCHIVED": (
        "The run was archived; only this line of it remains in the store.",
        (
            "run",
            "goal",
            "created_at",
            "finished_at",
            "archived_at",
            "why",
            "file",
            "bytes",
            "lines",
            "refs",
        ),
    ),
    "BUDGET_WARNING": ("80 % of a limit is used.", ("message", "limit", "used")),
    "NOTICE_SENT": ("A channel accepted a notice.", ("notice", "channel", "tells")),
    "NOTICE_FAILED": (
        "A channel did not accept a notice.",
        ("notice", "channel", "why", "given_up"),
    ),
}
