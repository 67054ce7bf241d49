"""`yaoki init`: find the checks of a project, try them on the base, write a first `yaoki.toml`."""

from __future__ import annotations

import errno
import os
import shlex
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from yaoki.app.remedies import TRIAL_SECONDS_MAX
from yaoki.core.text import format_count
from yaoki.errors import YaokiError
from yaoki.faces.cli.context import json_option, repo_option
from yaoki.faces.cli.doctor.condition import edit_command
from yaoki.faces.cli.project_survey import ProjectSurvey, survey_project
from yaoki.faces.cli.trust_question import trust_option
from yaoki.faces.text.render import (
    clean_line,
    print_document,
    print_line,
    print_next_command,
    print_wrapped,
)
from yaoki.formats.discovery import (
    OWN_CHECK,
    TrialResult,
    TrialState,
    add_agents,
    add_setup,
    add_usable_checks,
    commented_out_checks,
    refresh_comments,
    update_environments,
)
from yaoki.views import SCHEMA

if TYPE_CHECKING:
    from yaoki.app.build import App


@click.command()
@click.option("--dry-run", is_flag=True, help="Show what would be written; write nothing.")
@click.option("--again", is_flag=True, help="Try again: add the checks that can run now.")
@click.option("--no-run", is_flag=True, help="Do not run the checks on the base.")
@click.option(
    "--seconds",
    default=120,
    show_default=True,
    type=click.IntRange(1, TRIAL_SECONDS_MAX),
    help="The timeout of each check on the base, in seconds.",
)
@trust_option
@json_option
@repo_option
def init(
    dry_run: bool,
    again: bool,
    no_run: bool,
    seconds: int,
    trust: bool,
    as_json: bool,
    repo: Path,
) -> int:
    """Find agents and checks, try them, and write a yaoki.toml unless there is one."""
    from yaoki.app.build import App
    from yaoki.app.try_checks import read_head_commit

    app = App(repo.absolute())
    file = app.context.loaded_settings.file
    if file is not None and not dry_run and not again:
        return _print_unchanged(file, trust=trust, as_json=as_json)
    read_head_commit(app)
    place = app.repository.top / "yaoki.toml"
    limit = None if no_run else timedelta(seconds=seconds)
    found = survey_project(app, limit, _describe_call(), trust=trust, quiet=as_json)
    if again and file is not None:
        return _add_checks(app, found, file, dry_run=dry_run, as_json=as_json)
    if not dry_run and not _write_new(place, found.text):
        return _print_unchanged(place, trust=trust, as_json=as_json)
    if not dry_run and (trust or found.ran_checks or not found.trials):
        _trust_written(app)
    if as_json:
        print_document(_document(found, place, dry_run=dry_run))
    elif dry_run:
        print_line()
        print_line(clean_line(f"# {place} would contain:"))
        print_line(found.text)
    else:
        _print_result(app, found, place)
    return 0


def _describe_call() -> str:
    """This call with its options as the user gave them, to be typed again with a further one."""
    context = click.get_current_context()
    words = ["yaoki", "init"]
    for option in context.command.params:
        value = context.params[option.name or ""]
        if option.name == "repo":
            words += [] if value == Path() else [option.opts[0], shlex.quote(str(value))]
        elif value != option.get_default(context):
            words += [option.opts[0], *([] if value is True else [str(value)])]
    return " ".join(words)


def _print_unchanged(file: Path, *, trust: bool, as_json: bool) -> int:
    if as_json:
        print_document({"schema": SCHEMA, "file": str(file), "made": False, "checks": []})
        return 0
    print_wrapped(f"{clean_line(str(file))}: exists already; unchanged")
    aside = commented_out_checks(file.read_text(encoding="utf-8"))
    for one in aside:
        print_wrapped(f"  {clean_line(one.words)}")
    again = "yaoki init --again --trust" if trust else "yaoki init --again"
    if aside and all(one.needs_edit for one in aside):
        again = edit_command(file.parent, file.name)
    print_next_command(again if aside else "yaoki doctor")
    return 0


def _add_checks(app: App, found: ProjectSurvey, file: Path, *, dry_run: bool, as_json: bool) -> int:
    """Add checks that can run now and are commented out or missing, and update the comments."""
    text = file.read_text(encoding="utf-8")
    known = app.settings.checks
    new_text, updated, others = update_environments(text, found.trials, known)
    new_text, added = add_usable_checks(new_text, found.trials, known)
    new_text = refresh_comments(new_text, found.trials, {*known, *added}, others)
    if not (app.settings.agents or app.settings.agent):
        new_text, more = add_agents(new_text, found.agents)
        added = [*more, *added]
    if file.name != "pyproject.toml":
        new_text, more = add_setup(new_text, found.trials, app.settings.setup.commands)
        added += [f"set-up {command}" for command in more]
    is_changed = new_text.rstrip("\n") != text.rstrip("\n")
    if is_changed and not dry_run:
        _replace(file, new_text)
        if (added or updated) and found.ran_checks:
            _trust_written(app)
    if as_json:
        document = _document(found, file, dry_run=dry_run)
        document = {**document, "made": is_changed and not dry_run, "added": added}
        document = {**document, "updated": updated, "not_tried": others}
        print_document({**document, "text": new_text} if dry_run else document)
        return 0
    words = _describe_change(added, updated, is_changed=is_changed, dry_run=dry_run)
    print_wrapped(clean_line(f"{file}: {words}"))
    _print_others(others, file)
    _print_too_red(found, new_text, file)
    has_checks = bool(added or app.settings.checks)
    print_next_command(_choose_next(app, found, "yaoki doctor --checks", has_checks=has_checks))
    return 0


def _print_others(names: Sequence[str], file: Path) -> None:
    """The results above are those of init's own commands."""
    for name in names:
        words = f"{name} has another command or environment in {file.name}, which was not tried"
        print_wrapped(clean_line(words))


def _describe_change(
    added: Sequence[str], updated: Sequence[str], *, is_changed: bool, dry_run: bool
) -> str:
    would = "would be " if dry_run else ""
    named = {"added": added, "updated to the environment that was tried": updated}
    changes = [f"{would}{verb}: {', '.join(names)}" for verb, names in named.items() if names]
    if changes:
        return "; ".join(changes)
    return f"nothing new; the comments {would or 'are '}updated" if is_changed else "nothing new"


def _trust_written(app: App) -> None:
    """The person accepted the commands that were tried and written."""
    from yaoki.app.build import App as Opened

    Opened(app.repository.top).trust.accept_settings()


def _print_result(app: App, survey: ProjectSurvey, place: Path) -> None:
    usable = [trial.check.name for trial in survey.trials if trial.state.is_usable]
    others = [trial for trial in survey.trials if not trial.state.is_usable]
    names = f"{format_count(len(usable), 'check')} ({clean_line(', '.join(usable))})"
    print_wrapped(f"Wrote {clean_line(str(place))} with {names if usable else 'no check'}.")
    if not survey.trials:
        print_wrapped(clean_line(_explain_own_check(survey.text)))
    unable = [trial for trial in others if trial.state is not TrialState.TOO_RED]
    if unable:
        verb = "is" if len(unable) == 1 else "are"
        more = f"{len(unable)} more" if usable else format_count(len(unable), "check")
        print_wrapped(f"{more} {verb} commented out; {_suggest_second_look(unable)}.")
    _print_too_red(survey, survey.text, place)
    presets = [agent.name for agent in survey.agents if agent.answers]
    if words := app.context.sandbox_choice.explain_unsandboxed(presets):
        print_wrapped(clean_line(words))
    print_next_command(_choose_next(app, survey, "yaoki doctor", has_checks=bool(usable)))


def _print_too_red(survey: ProjectSurvey, text: str, file: Path) -> None:
    """Name the line to edit for a check with too many failures at the base: no command helps."""
    names = {one.check.name for one in survey.trials if one.state is TrialState.TOO_RED}
    for one in commented_out_checks(text):
        if one.name in names:
            words = f"{one.name} is commented out in line {one.line} of {file.name}"
            print_wrapped(clean_line(f"{words}: {one.remedy or one.reason}"))


def _explain_own_check(text: str) -> str:
    line = text[: text.index(f"# {OWN_CHECK}")].count("\n") + 1
    return (
        "A plan needs a check that proves the work: in line "
        f"{line} of yaoki.toml remove the # before {OWN_CHECK} and the lines below it, "
        "and put the command of your tests after run ="
    )


def _choose_next(app: App, survey: ProjectSurvey, otherwise: str, *, has_checks: bool) -> str:
    """The remedy of a check that misses a file, of tests that cannot run, or of the first check
    where there is no other.
    """
    red = [one for one in survey.trials if one.state is TrialState.RED]
    unable = [one for one in survey.trials if not one.state.is_usable]
    is_tested = any(o.check.kind == "tests" and o.state.is_usable for o in survey.trials)
    tests = [one for one in unable if one.check.kind == "tests" and not is_tested]
    remedies = [one.next_command for one in (*red, *(() if has_checks else unable), *tests)]
    if remedy := next(filter(None, remedies), ""):
        return clean_line(remedy)
    red_tests = [one.check.name for one in tests if one.state is TrialState.TOO_RED]
    is_usable = has_checks and not set(red_tests) - set(app.settings.checks)
    return otherwise if is_usable else edit_command(app.repository.top)


def _suggest_second_look(others: Sequence[TrialResult]) -> str:
    """A set-up that was cut off only needs more time."""
    late = [one.next_command for one in others if one.state is TrialState.SETUP_CUT_OFF]
    if len(late) == len(others):
        return f"to give set-up more time run {clean_line(late[0])}"
    again = clean_line(late[0]) if late else "yaoki init --again"
    return f"fix what is named above, then run {again}"


def _document(found: ProjectSurvey, place: Path, *, dry_run: bool) -> dict[str, Any]:
    agents = [
        {"preset": one.name, "answers": one.answers, "words": one.words} for one in found.agents
    ]
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "file": str(place),
        "made": not dry_run,
        "checks": [one.name for one in found.discovery.checks],
        "baseline": _baseline(found.trials),
        "managers": list(found.discovery.managers),
        "left_out": found.discovery.left_out,
        "unread": [{"file": f, "why": why} for f, why in found.discovery.unreadable.items()],
        "passed_over": [one.command for one in found.discovery.skipped_checks],
        "agents": agents,
    }
    return {**document, "text": found.text} if dry_run else document


def _baseline(tried: Sequence[TrialResult]) -> list[dict[str, Any]]:
    return [
        {
            "check": one.check.name,
            "kind": one.check.kind,
            "tool": one.check.tool,
            "language": one.check.language,
            "folder": one.check.folder,
            "because": one.check.reason,
            "command": one.check.command,
            "state": one.state.value,
            "failures": one.failures,
            "words": one.words,
            "next": one.next_command or None,
        }
        for one in tried
    ]


def _write_new(file: Path, text: str) -> bool:
    """Never overwrites a file that was created meanwhile, and never writes half of it."""
    try:
        with file.open("x", encoding="utf-8") as stream:
            try:
                stream.write(text)
                stream.flush()
            except OSError:
                file.unlink()
                raise
    except FileExistsError:
        return False
    except OSError as error:
        raise _make_write_error(file, error) from error
    return True


def _replace(file: Path, text: str) -> None:
    """Replaced as a whole or not at all."""
    fresh = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(file)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise _make_write_error(file, error) from error


def _make_write_error(file: Path, error: OSError) -> YaokiError:
    full = error.errno in {errno.ENOSPC, errno.EDQUOT}
    hint = f"free some space: df -h {file.parent}" if full else f"chmod u+w {file.parent}"
    words = f"{file} cannot be written: {(error.strerror or str(error)).lower()}"
    return YaokiError(words, hint=hint)
