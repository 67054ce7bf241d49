"""Judges what a task changed and claimed: the criteria Q1 to Q6, and test integrity.

Values in, findings out.
"""

from __future__ import annotations

from yaoki.formats.quality.criteria import judge_criteria
from yaoki.formats.quality.definition import find_absent_tests, review_definition
from yaoki.formats.quality.definition.roles import list_test_files
from yaoki.formats.quality.failing_tests import is_python_test_file, make_tests_fail
from yaoki.formats.quality.gaming.own_equality import decides_equality, find_own_equality
from yaoki.formats.quality.gaming.process_access import find_process_access
from yaoki.formats.quality.model import Change, ChangeContext
from yaoki.formats.quality.mutants import list_hidden_code, list_mutants
from yaoki.formats.quality.suppressions import find_suppressions, remove_suppressions
from yaoki.formats.quality.tell_tales import find_gaming
from yaoki.formats.quality.triviality import is_trivial
from yaoki.formats.quality.wrong_values import compare_with_wrong_values, is_unread

__all__ = [
    "Change",
    "ChangeContext",
    "compare_with_wrong_values",
    "decides_equality",
    "find_absent_tests",
    "find_gaming",
    "find_own_equality",
    "find_process_access",
    "find_suppressions",
    "is_python_test_file",
    "is_trivial",
    "is_unread",
    "judge_criteria",
    "list_hidden_code",
    "list_mutants",
    "list_test_files",
    "make_tests_fail",
    "remove_suppressions",
    "review_definition",
]
