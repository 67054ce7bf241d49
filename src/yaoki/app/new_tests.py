"""Checks that fail on the base because a task of the plan has yet to write their tests."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from yaoki.adapters.checks.command_run import split_words
from yaoki.core.decide.baseline import incomplete_suite_reason
from yaoki.core.lazy_dataclass import replace
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import CheckSpec, Finding, Outcome, TaskSpec
from yaoki.core.scope import paths_outside_scope
from yaoki.core.text import list_some
from yaoki.formats.quality.suites import is_collected_path

SHOWN_MAX = 3
# node names what it was called with: one path, or all words.
_NOT_FOUND_BY_NODE = lazy_compile(r"Could not find '(.{1,1000})'$")
# A module of tests in the words of unittest.
_MODULE = lazy_compile(r"(?:\w{1,100}\.){1,20}test\w{0,100}")


def explain_new_tests(
    finding: Finding, spec: CheckSpec, tasks: Sequence[TaskSpec], room: Path
) -> Finding | None:
    """The finding as an ordinary failure that names the missing test files.

    None if the check did run, if it lacks anything else, or if no task may create such a file: then
    the check itself may be wrong.
    """
    if finding.outcome is not Outcome.FAILED or spec.hidden:
        return None
    sought = _sought_by_node(finding)
    if not sought and not incomplete_suite_reason(finding):
        return None
    files = [file for file in _named_test_files(spec, sought) if not (room / file).exists()]
    modules = set(finding.params.get("missingModules", ())) - {file.split("/")[0] for file in files}
    if not files or modules or not all(_may_be_created(file, tasks) for file in files):
        return None
    verb, it = ("does", "it") if len(files) == 1 else ("do", "them")
    message = (
        f"{list_some(files, SHOWN_MAX)} {verb} not exist at the base, so a task has to create {it}"
    )
    return replace(finding, message=message, items=())


def _sought_by_node(finding: Finding) -> tuple[str, ...]:
    """The paths in the words of `node --test` that it was called with what does not exist."""
    hit = None if finding.items else _NOT_FOUND_BY_NODE.search(finding.message)
    return tuple(hit[1].split(", ")) if hit else ()


def _named_test_files(spec: CheckSpec, sought: Sequence[str]) -> Iterator[str]:
    """The test files that the command names, as paths in the repository.

    A path that the runner itself looks for as tests may have any name.
    """
    for word in dict.fromkeys(split_words(spec)):
        path = word.partition("::")[0]
        if _MODULE.fullmatch(path):
            path = f"{path.replace('.', '/')}.py"
        place = os.path.normpath(Path(spec.cwd, path))
        is_inside = not place.startswith(("/", "..", "-"))
        is_sought = any(f"/{one}".rstrip("/").endswith(f"/{path.rstrip('/')}") for one in sought)
        is_test = is_collected_path(place) or is_sought
        if is_inside and is_test and not any(sign in place for sign in "*?[{"):
            yield place


def _may_be_created(file: str, tasks: Sequence[TaskSpec]) -> bool:
    return any(not paths_outside_scope([file], task.scope) for task in tasks)
