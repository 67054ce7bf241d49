"""What each event means, in a line; the fields of those that have no class of their own."""

from __future__ import annotations

from collections.abc import Mapping

# Events whose class does not say it itself, or says it only to its makers.
CLASSES: Mapping[str, str] = {
    "TASK_CLAIMED": "A worker has the right to act on the task until the lease ends.",
    "ATTEMPT_STARTED": "A worktree stands ready, and the attempt has its number.",
    "AGENT_FINISHED": "The agent ended; everything it left is kept at `head`.",
    "LAND_REFUSED": "The run branch had moved meanwhile; the work is verified again.",
    "TASK_LANDED": "The branch stands at the proven commit; the task is done.",
    "RETRY_DECISION": "It failed and is tried again at `due_at`.",
    "ESCALATE_DECISION": "It failed and a person is asked; `question` is what.",
    "ESCALATION_ANSWERED": "What a person said.",
    "CANCEL_REQUESTED": "The wish to end a task or a run, durable before anything acts on it.",
    "TASK_CANCELLED": "It is over; `kept` is the commit with its work.",
}

# Events that only tell: their words, and their fields.
TOLD: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "USER_REQUEST": (
        "What was asked for, before anything else of the run.",
        ("goal", "base", "tasks"),
    ),
    "PLAN_SUBMITTED": (
        "The run was stored with all its tasks; `run` is all of it.",
        ("goal", "tasks", "revision", "base", "run"),
    ),
    "PLAN_EXTENDED": (
        "Tasks were added; `replaces` says whose place they take.",
        ("replaces", "revision", "set", "tasks"),
    ),
    "TASK_BLOCKED": (
        "It ended badly, and all that need it, near and far, wait in vain.",
        ("dependents", "tasks", "cause", "reason", "dependents_reason"),
    ),
    "TASK_REVIVED": ("They no longer wait in vain.", ("dependents", "tasks", "cause")),
    "CHECK_FINISHED": (
        "What one look of one check saw.",
        (
            "check",
            "outcome",
            "required",
            "commit",
            "pattern",
            "message",
            "tests",
            "known",
            "items",
            "exit_code",
            "seconds",
            "log",
        ),
    ),
    "RETRY_START": (
        "The attempt that just started is a retry.",
        ("retry_count", "previous_failure_type", "modification_hint"),
    ),
    "RETRY_SUCCESS": (
        "It landed after failures; `cured` is the pattern that was fixed last, `waived` the check "
        "that a person waived instead.",
        ("retry_count", "total_attempts", "final_status", "cured", "waived"),
    ),
    "RECOVERY_COMPLETE": (
        "The group landed after a recovery; `left_out_subtasks` failed and are not in it.",
        ("strategy", "recovered_subtasks", "left_out_subtasks", "final_status"),
    ),
    "SNAPSHOT_RESTORE": (
        "A worktree or a group's branch was put back.",
        ("snapshot_id", "restored_files", "deleted_files"),
    ),
    "ESCALATE_EXECUTED": ("What the person is shown.", ("user_message", "recommended_actions")),
    "DEAD_LETTERED": (
        "It was given to workers too often and never came back.",
        ("deliveries", "message"),
    ),
    "CHECKOUT_CHANGED": ("Your checkout changed while an agent was at work.", ("what", "message")),
    "PROMPT_FAULT": ("A template failed, and built-in words were used.", ("fault",)),
    "RESULT_NOTED": (
        "An agent said how its attempt ended; a claim.",
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
        "A late result of a worker or a call of an agent that no longer counts; nothing changed.",
        ("holder", "task", "call", "refused", "attempt", "epoch", "current_epoch", "state"),
    ),
    "RECONCILED": (
        "A mismatch was found and mended.",
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
        "A line of a damaged journal that could not be applied, kept as it was.",
        ("event", "data", "why"),
    ),
    "WARNING": (
        "Something a person should know; nothing changed. Of a bug of ours the end of its "
        "`traceback`.",
        ("message", "traceback"),
    ),
    "PHASE_FILLED": ("A deferred phase got its tasks.", ("phase", "tasks")),
    "PHASE_REFUSED": ("An answer for a phase was refused.", ("phase", "defects")),
    "PHASE_REOPENED": ("A task of the phase was replaced.", ("phase", "replaced", "by")),
    "PHASE_TIMED_OUT": ("Nobody filled the phase in time.", ("phase", "deadline_s", "cancelled")),
    "REPLAN_REQUESTED": ("The planner is asked for what is missing.", ()),
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
        "A person let the next iteration begin; the fields are those of ITERATION_FINISHED.",
        (),
    ),
    "RUN_PAUSED": ("Nothing new is begun until a person says go.", ("why", "set")),
    "RUN_RESUMED": ("A person said go.", ("was", "words", "set", "how")),
    "RUN_REOPENED": ("A run that was summed up goes on.", ("set",)),
    "RUN_MERGED": (
        "`yaoki merge` moved a branch to the run's work.",
        ("branch", "commit", "how", "set"),
    ),
    "FINAL_SUMMARY": (
        "Everything rests; how the run ended.",
        ("status", "tasks", "run_branch", "set"),
    ),
    "RUN_ARCHIVED": (
        "The run left the store; this line is what is left of it here.",
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
    "BUDGET_WARNING": ("80 % of a limit are used.", ("message", "limit", "used")),
    "NOTICE_SENT": ("A channel took a notice.", ("notice", "channel", "tells")),
    "NOTICE_FAILED": ("A channel did not take it.", ("notice", "channel", "why", "given_up")),
}
