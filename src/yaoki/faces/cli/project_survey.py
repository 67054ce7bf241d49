"""Finds the agents and checks of a project for `yaoki init`, tries the checks, and shows them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from yaoki.core.environment import VIRTUAL_ENV
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.text import format_duration
from yaoki.faces.cli.trust_question import require_trust
from yaoki.faces.text.progress import report_progress
from yaoki.faces.text.render import (
    align_columns,
    clean_line,
    paint,
    print_wrapped,
)
from yaoki.formats.discovery import (
    Discovery,
    FoundAgent,
    TrialResult,
    TrialState,
    find_checks,
    settings_text,
)

if TYPE_CHECKING:
    from yaoki.app.build import App


UNUSABLE_STATES = tuple(state for state in TrialState if not state.is_usable)
COLOURS = {
    TrialState.GREEN: "green",
    TrialState.RED: "red",
    **dict.fromkeys(UNUSABLE_STATES, "yellow"),
}
SHOWN = {
    **dict.fromkeys(UNUSABLE_STATES, "cannot run"),
    TrialState.EMPTY: "no tests",
    TrialState.TOO_RED: "too red",
}


@dataclass(frozen=True, slots=True)
class ProjectSurvey:
    """The agents and checks that were found."""

    agents: tuple[FoundAgent, ...]
    discovery: Discovery
    trials: tuple[TrialResult, ...]

    @property
    def text(self) -> str:
        return settings_text(self.agents, self.trials)

    @property
    def ran_checks(self) -> bool:
        """Did a check run, so that a person was asked before?"""
        return any(one.state is not TrialState.NOT_RUN for one in self.trials)


def _require_trust(app: App, discovery: Discovery, call: str, *, trust: bool) -> None:
    """Trying the checks runs code of this repository."""
    from yaoki.app.try_checks import list_detected_commands
    from yaoki.core.trust import FileCommands

    commands = FileCommands("init", list_detected_commands(discovery.checks))
    require_trust(app, commands, trust=trust, hint=f"{call} --trust, or {call} --no-run")


def survey_project(
    app: App, limit: timedelta | None, call: str, *, trust: bool, quiet: bool
) -> ProjectSurvey:
    """`call` is the command as the user typed it, which a hint repeats with a further option."""
    from yaoki.app.checkout_files import read_checkout
    from yaoki.app.try_checks import try_detected_checks

    agents = _agents(quiet=quiet)
    discovery = find_checks(read_checkout(app))
    if not quiet:
        words = f"{_ecosystem_words(discovery)}{_trial_words(discovery, limit)}"
        print_wrapped(f"checks: {len(discovery.checks)} found{words}")
        for file, why in discovery.unreadable.items():
            print_wrapped(
                paint(
                    f"  cannot be read: {clean_line(file, 120)}: {clean_line(why, 160)}", "yellow"
                )
            )
        _print_passed_over(discovery)
    if limit is None:
        tried = [TrialResult(one, TrialState.NOT_RUN) for one in discovery.checks]
        for one in () if quiet else tried:
            _show(one, discovery)
    else:
        if discovery.checks:
            _require_trust(app, discovery, call, trust=trust)
        tell = (lambda _: None) if quiet else (lambda one: _show(one, discovery))
        tried = (
            try_detected_checks(app, discovery.checks, limit, tell, report_progress)
            if discovery.checks
            else []
        )
    if not quiet:
        _explain_replacements(tried)
        _explain_skipped_tests(tried)
        _warn_of_environment(tried)
    return ProjectSurvey(agents, discovery, tuple(tried))


def _print_passed_over(discovery: Discovery) -> None:
    for one in discovery.skipped_checks:
        there = ", ".join(check.name for check in discovery.checks if check.kind == one.kind)
        print_wrapped(
            paint(
                f"  skipped: {clean_line(one.command, 60)}: {clean_line(there, 80)} may cover it",
                "yellow",
            )
        )
        print_wrapped("    if it checks more than these, add it to yaoki.toml as a separate check")


def _ecosystem_words(discovery: Discovery) -> str:
    """` (Python with uv, Node with npm)`."""
    pairs = dict.fromkeys((one.language, one.manager) for one in discovery.checks)
    names = ", ".join(
        language if language.lower() == manager else f"{language} with {manager}"
        for language, manager in pairs
    )
    return f" ({names})" if names else ""


def _trial_words(discovery: Discovery, limit: timedelta | None) -> str:
    more = f", {discovery.left_out} more left out" if discovery.left_out else ""
    if limit is None or not discovery.checks:
        return more
    bound = f"at most {format_duration(limit.total_seconds())} each"
    return f"{more}; each command runs once on the base, in its own checkout ({bound})"


def _agents(*, quiet: bool) -> tuple[FoundAgent, ...]:
    from yaoki.adapters.agents.availability import find_presets_on_path, probe_presets

    found = probe_presets(find_presets_on_path())
    agents = tuple(
        FoundAgent(
            one.preset.name,
            one.preset.title,
            one.is_responding,
            one.version_or_reason,
            one.preset.install,
        )
        for one in found
    )
    if not quiet:
        noun = "agent is" if len(agents) == 1 else "agents are"
        print_wrapped(
            f"agents: {len(agents) or 'no'} known {noun} on the PATH (list all: yaoki agents list)"
        )
        rows = [("responds" if one.answers else "no answer", one.name, one.words) for one in agents]
        for text in align_columns([(a, b, clean_line(c)) for a, b, c in rows]):
            print_wrapped(f"  {text}")
    return agents


def _show(one: TrialResult, discovery: Discovery) -> None:
    size = max(len(found.name) for found in discovery.checks)
    head = f"{SHOWN.get(one.state, one.state.value):<11}  {one.check.name:<{size}}"
    words = one.words or clean_line(one.check.command, 100)
    print_wrapped(paint(f"  {head}  {clean_line(words, 200)}", COLOURS.get(one.state)))
    if one.next_command:
        print_wrapped(f"  {'':<11}  {'':<{size}}  {clean_line(one.next_command)}")


def _explain_replacements(tried: Sequence[TrialResult]) -> None:
    for check in (one.check for one in tried if one.check.instead_of):
        where = f" in {check.env[VIRTUAL_ENV]}" if VIRTUAL_ENV in check.env else ""
        words = f"{check.instead_of} is not installed, so check {check.name} runs {check.tool}"
        print_wrapped(clean_line(f"{words}{where} instead"))


def _explain_skipped_tests(tried: Sequence[TrialResult]) -> None:
    names = [one.check.name for one in tried if one.skips_many]
    if names:
        checks = f"check{'' if len(names) == 1 else 's'} {', '.join(names)}"
        words = "a skipped test proves nothing; usually an optional package or a service is missing"
        print_wrapped(clean_line(f"many tests of {checks} are skipped: {words}"))


def _warn_of_environment(tried: Sequence[TrialResult]) -> None:
    """In yaoki's own environment the packages of the project are hidden."""
    from yaoki.app.remedies import find_own_python, suggest_project_python

    here = find_own_python()
    unable = {TrialState.MISSING, TrialState.BROKEN, TrialState.TOO_RED}
    hidden = (
        one for one in tried if one.check.program == "python" and VIRTUAL_ENV not in one.check.env
    )
    if here and any(one.state in unable for one in hidden):
        words = f"{here} belongs to yaoki, so checks see its packages and not those of your project"
        print_wrapped(paint(clean_line(words), "yellow"))
        print_wrapped(f"  {clean_line(suggest_project_python())}")
