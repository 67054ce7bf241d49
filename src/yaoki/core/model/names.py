"""Names and bounds with a fixed meaning: ids, built-in checks, and how often something is asked."""

from __future__ import annotations

from typing import NewType

RunId = NewType("RunId", str)
TaskId = NewType("TaskId", str)
# The final check, which verifies the plan's done_when; later ones of a run are numbered.
FINAL_CHECK_NAME = "done_when"
# In place of an agent: a person did the work and answered `done`.
PERSON_AGENT = "person"
# Further questions to the planner in one run, and for one lineage of tasks.
REPLANS_MAX = 3
# Tasks that get their re-run each time nothing else can be claimed.
RERUNS_PER_ROUND = 5
# Questions to a judge about one commit before a person decides.
JUDGE_TRIES_MAX = 3
# The group of entry points through which installed packages provide checks.
CHECK_ENTRY_POINTS = "yaoki.checks"
# Checks on every change, whatever the plan checks; a person may waive each by its name.
GIT_CONFIG_CHECK = "git-config"
# The task changed nothing and its checks pass; a person may accept it as done.
NO_CHANGE_CHECK = "no-change"
# Does a test fail without the change?
RED_FIRST_CHECK = "red-first"
# Does a test fail if a changed line has a fault?
MUTANTS_CHECK = "mutants"
# Code that satisfies a check instead of the task.
GAMED_CHECK = "gamed"
# Does a check fail when its tests are made to fail?
NEGATIVE_CONTROL_CHECK = "negative-control"
# Do its comparisons fail with wrong values?
WRONG_VALUES_CHECK = "wrong-values"
# The error of a test whose comparison holds for a wrong value as well.
WRONG_VALUE_ERROR = "HoldsForWrongValue"
# Does the work contain an unresolved conflict?
CONFLICT_MARKERS_CHECK = "conflict-markers"
BUILT_IN_CHECKS = (
    GIT_CONFIG_CHECK,
    NO_CHANGE_CHECK,
    *("scope", "mass-deletion", CONFLICT_MARKERS_CHECK, "test-integrity", "links"),
    "bytecode",
    *(GAMED_CHECK, "secrets", RED_FIRST_CHECK, MUTANTS_CHECK),
    *(NEGATIVE_CONTROL_CHECK, WRONG_VALUES_CHECK),
    "session-files",
    *("Q1", "Q2", "Q3", "Q4", "Q5", "Q6"),
)
# The quality criteria in words; only their codes are stored.
CRITERIA_NAMES = {
    "Q1": "missing files",
    "Q2": "notes of work to do",
    "Q3": "placeholders for code",
    "Q4": "broken syntax",
    "Q5": "no evidence",
    "Q6": "a claim without evidence",
}


def explain_check_name(name: str) -> str:
    """The name as people see it: `Q5 (no evidence)`; any other name explains itself."""
    return f"{name} ({CRITERIA_NAMES[name]})" if name in CRITERIA_NAMES else name
