"""The flaky tests of a store, with the quarantine of the settings."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from yaoki.core.model import CheckSpec, Finding, FindingItem, Outcome
from yaoki.core.text import list_some
from yaoki.errors import NotNow
from yaoki.views.flaky_tests import SHA_CHARS, FlakyTestView, view_flaky_tests

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model.flaky_test import FlakyTest
    from yaoki.views.history import RunHistory

# A person replaces it by a name.
OWNER = "NAME"
COMMITS_NAMED = 5
ENTRIES_NAMED = 2


def list_flaky_tests(app: App, run_id: str = "") -> list[FlakyTestView]:
    """All of them, or those that were seen flaky in one run."""
    tests = [
        test
        for test in app.store.flaky_tests()
        if not run_id or any(sighting.run_id == run_id for sighting in test.sightings)
    ]
    return view_flaky_tests(tests, app.settings.quarantine, app.clock.now(), OWNER)


def describe_unmatched_entries(app: App, history: RunHistory) -> list[str]:
    """One warning for the entries of today's settings that matched no test of the run."""
    from yaoki.formats.config.key_lines import find_quarantine_line
    from yaoki.report.totals import list_unmatched_entries

    file, listed = app.context.loaded_settings.file, {e.test for e in app.settings.quarantine}
    unmatched = [test for test in list_unmatched_entries(history) if test in listed]
    if not unmatched or file is None:
        return []
    text = file.read_text(encoding="utf-8")
    places = [f"{test} ({file.name}:{find_quarantine_line(text, test)})" for test in unmatched]
    names = list_some(places, ENTRIES_NAMED)
    words = f"the quarantine of {names} matched no test of this run"
    return [f"{words}; correct or remove it: ${{EDITOR:-vi}} {file.name}"]


def write_repair_plan(app: App, test: str, command: Sequence[str], times: int) -> str:
    """The text of a plan with which an agent repairs the test; `command` runs it, if given."""
    from yaoki.formats.imports.repair_plan import FlakyTestRepair, repair_plan_text

    tests = list_flaky_tests(app) if app.has_store else []
    seen = next((one for one in tests if one.test.test == test), None)
    spec = CheckSpec(test, argv=tuple(command)) if command else _find_check(app, test, seen)
    return repair_plan_text(
        FlakyTestRepair(
            test,
            spec,
            timedelta(seconds=app.settings.limits.deadline_s),
            times,
            seen.words.partition(";")[0] if seen else "",
            [one.commit[:SHA_CHARS] for one in seen.test.sightings[:COMMITS_NAMED]] if seen else (),
            [spec.name] if spec.name in app.settings.checks else (),
        )
    )


def _find_check(app: App, test: str, seen: FlakyTestView | None) -> CheckSpec:
    """The check in which the test was seen, for this test alone if its runner can do that."""
    command = f"yaoki plan flaky {shlex.quote(test)} -- COMMAND"
    if seen is None:
        raise NotNow(f"{test} was not seen flaky, so no check is known that runs it", hint=command)
    from yaoki.adapters.checks.selection import narrow_to_failures

    spec = _check_of_settings(app, seen.test.check) or _check_of_task(app, seen.test)
    if spec is None:
        words = f"the check {seen.test.check!r}, which ran {test}, is no longer known"
        raise NotNow(words, hint=command)
    alone = Finding(spec.name, Outcome.FAILED, items=(FindingItem(test),))
    return narrow_to_failures(spec, alone) or spec


def _check_of_settings(app: App, name: str) -> CheckSpec | None:
    from yaoki.formats.plan.settings_parts import read_settings_parts

    parts = read_settings_parts(app.settings)
    return next((check for check in parts.checks if check.name == name), None)


def _check_of_task(app: App, test: FlakyTest) -> CheckSpec | None:
    """The check of a run that is still stored; archived ones are not read."""
    runs = {run.id for run in app.store.runs()}
    for sighting in test.sightings:
        if sighting.run_id in runs:
            specs = app.store.task(sighting.task_id).spec.checks
            return next((spec for spec in specs if spec.name == test.check), None)
    return None
