"""Checks tried once on the base, in their own worktree that is removed afterwards."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.adapters.git.checkout import read_head
from yaoki.adapters.processes.command import run_command
from yaoki.app.base_checks import (
    BaseRoom,
    BaseSetup,
    Progress,
    SetupProblem,
    open_base_room,
    report_nothing,
)
from yaoki.app.changed_files import CHANGED, make_unfit_finding
from yaoki.app.ignored_files import IGNORED_FILES, explain_ignored_files
from yaoki.app.missing_modules import complete_missing_modules
from yaoki.app.remedies import (
    REMEDY,
    choose_local_command,
    find_own_python,
    find_toolchain_remedy,
    install_into_environment,
    suggest_more_time,
    suggest_project_python,
)
from yaoki.core.decide.baseline import (
    as_baseline,
    as_displayed_baseline,
    describe_alike_failures,
    is_too_red,
)
from yaoki.core.decide.integrity import SKIPPED, XFAILED, describe_test_count
from yaoki.core.environment import (
    COMMAND_VARIABLES,
    VIRTUAL_ENV,
    check_search_path,
    filter_environment,
)
from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.model import CheckSpec, Finding, Outcome
from yaoki.core.model.check_types import FILE_CHECKS
from yaoki.core.text import format_duration, one_line, strip_terminal_codes
from yaoki.core.trust import CommandDigest, digest_check, digest_setup
from yaoki.errors import CommandTimedOut, FatalCode, Fault
from yaoki.formats.discovery import FoundCheck, TrialResult, TrialState

if TYPE_CHECKING:
    from yaoki.app.build import App

# All checks and set-up commands together; the rest is reported as not tried.
# The proof room of `init` and `doctor`, created each time.
ROOM_NAME = "init"
TOTAL_TIMEOUT = timedelta(minutes=10)
WORDS_CHARS_MAX = 200
NO_TESTS_MESSAGE = "it ran no tests, so it proves nothing"
NOT_TRIED_MESSAGE = "not tried: the time limit for all checks was reached"
# Checks of the whole code, whose old failures must be told from new ones.
STATIC_KINDS = ("lint", "types", "format")
PYTEST = ("python", "-m", "pytest", "-q", "--junit-xml", "{report}")


def read_head_commit(app: App) -> str:
    """The commit of the user's checkout."""
    return read_head(app.repository)


def try_detected_checks(
    app: App,
    detected: Iterable[FoundCheck],
    timeout: timedelta,
    tell: Callable[[TrialResult], None],
    progress: Progress = report_nothing,
) -> list[TrialResult]:
    """Each check once on the base; the user's checkout does not change."""
    results = []
    with _open_trial_room(app, timeout, progress) as bench:
        for one in detected:
            tried = bench.try_check(one)
            tell(tried)
            results.append(tried)
    return results


def try_written_checks(
    app: App, specs: Iterable[CheckSpec], timeout: timedelta, progress: Progress
) -> tuple[SetupProblem | None, list[Finding]]:
    """The same for configured checks that depend on files alone, after the set-up of the settings.

    They run in the room that a run uses, which is then ready for the next run.
    """
    from yaoki.adapters.checks import CheckDispatcher

    app.trust.require_trusted()
    commit, until = read_head_commit(app), app.clock.now() + TOTAL_TIMEOUT
    checks = CheckDispatcher(app.context.processes, timedelta(0), checkout=app.repository.top)
    setup = BaseSetup(app.settings.setup.commands, app.settings.setup.inputs)
    with (
        open_base_room(app.context.proof_rooms, checks, commit, setup, progress) as (room, problem),
        tempfile.TemporaryDirectory(prefix="base-") as logs,
    ):
        if problem is not None:
            return problem, []
        bench = TrialRoom(app, room, Path(logs), timeout, until, progress)
        return None, [bench.run_check(spec) for spec in specs if spec.type in FILE_CHECKS]


def list_detected_commands(detected: Iterable[FoundCheck]) -> tuple[CommandDigest, ...]:
    """Every command that trying these checks may start."""
    digests: list[CommandDigest | None] = []
    for one in detected:
        digests += [digest_setup(one.setup, one.setup_cwd)] if one.setup else []
        digests += [digest_check(_spec(variant)) for variant in _list_variants(one)]
    return tuple(dict.fromkeys(command for command in digests if command is not None))


def _list_variants(detected: FoundCheck) -> Iterator[FoundCheck]:
    """The check in each form in which it is tried; the name says why there is a further one."""
    name = detected.name
    yield detected
    if detected.look:
        yield replace(_as_look(detected), name=f"{name}, if it changes files")
    if detected.tool == "unittest":
        yield replace(_as_pytest(detected), name=f"{name}, also tried with pytest")


def _as_look(detected: FoundCheck) -> FoundCheck:
    """The check with the words that keep it from changing files."""
    return replace(detected, run=(*detected.run, *detected.look), look=())


def _as_pytest(detected: FoundCheck) -> FoundCheck:
    """The check for unittest with pytest instead."""
    run = (*detected.run[: detected.run.index("python")], *PYTEST)
    return replace(detected, tool="pytest", run=run, remedy="python -m pip install pytest")


@contextmanager
def _open_trial_room(app: App, timeout: timedelta, progress: Progress) -> Iterator[TrialRoom]:
    from yaoki.adapters.checks import CheckDispatcher

    app.trust.require_trusted()
    commit, until = read_head_commit(app), app.clock.now() + TOTAL_TIMEOUT
    top = app.repository.top
    checks = CheckDispatcher(app.context.processes, timedelta(0), checkout=top)
    with (
        app.context.proof_rooms.acquire(ROOM_NAME, fresh=True) as room,
        tempfile.TemporaryDirectory(prefix="base-") as logs,
    ):
        room.check_out(commit)
        room.record_setup_output()
        yield TrialRoom(app, BaseRoom(room, checks, commit), Path(logs), timeout, until, progress)


@dataclass(frozen=True, slots=True)
class FailedSetup:
    """Why a set-up command did not prepare the checkout, and the command that helps."""

    words: str
    remedy: str
    state: TrialState = TrialState.BROKEN


@dataclass(frozen=True, slots=True)
class TrialRoom:
    """A checkout of the base, and the set-up done in it so far."""

    app: App
    base_room: BaseRoom
    logs: Path
    timeout: timedelta
    give_up_at: datetime
    progress: Progress
    setup_results: dict[tuple[str, ...], FailedSetup | None] = field(default_factory=dict)

    def try_check(self, detected: FoundCheck) -> TrialResult:
        tried = install_into_environment(self._try_once(detected), self.app.repository.top)
        return self._try_with_pytest(tried) if detected.tool == "unittest" else tried

    def _try_once(self, detected: FoundCheck) -> TrialResult:
        if not (self.folder / detected.reason).exists():
            words = f"not tried: {detected.reason} is not committed"
            return TrialResult(
                detected,
                TrialState.UNCOMMITTED,
                words,
                next_command=f"git add {shlex.quote(detected.reason)}",
            )
        if self.app.clock.now() > self.give_up_at:
            return TrialResult(detected, TrialState.NOT_RUN, NOT_TRIED_MESSAGE)
        if failed := self._prepare_once(detected):
            return TrialResult(detected, failed.state, failed.words, next_command=failed.remedy)
        if not self._program_exists(detected):
            words = f"{detected.program} is not installed"
            return TrialResult(
                detected,
                TrialState.MISSING,
                words,
                next_command=choose_local_command(detected.install),
            )
        finding = self.run_check(_spec(detected), f": {_command(detected)}")
        if detected.look and CHANGED in finding.params:
            return self._try_once(_as_look(detected))
        return _judge(detected, finding, self.timeout)

    def _try_with_pytest(self, tried: TrialResult) -> TrialResult:
        """The result of pytest, unless it is not installed or runs fewer tests.

        pytest also runs functions named test_*; unittest silently ignores them.
        """
        other = self.try_check(_as_pytest(tried.check))
        if not tried.state.is_usable:
            ran = tried.state is TrialState.TOO_RED
            has_run = other.state.is_usable or other.state is TrialState.TOO_RED
            fails = not has_run if ran else other.state is TrialState.EMPTY
            return tried if fails else other
        runs_as_many = other.state.is_usable and other.passed_tests >= tried.passed_tests
        return other if runs_as_many else tried

    def run_check(self, spec: CheckSpec, command: str = "") -> Finding:
        """The result of the check on the base, which it must not change.

        The progress names the command of a check that may be tried with more than one.
        """
        bounded = replace(spec, timeout=min(spec.timeout, self.timeout))
        with self.progress(f"check {spec.name}{command}"):
            finding = self.base_room.run_check(
                bounded, self.logs / f"{len(list(self.logs.iterdir()))}"
            )
        changed = list(self.base_room.changed_files())
        if changed and finding.outcome is not Outcome.BROKEN:
            return make_unfit_finding(finding, spec, changed)
        if finding.is_late:
            return finding
        top = self.app.repository.top
        complete = complete_missing_modules(finding, spec, self.folder, top)
        displayed = as_displayed_baseline(complete)
        return explain_ignored_files(displayed, spec, self.app.repository, self.folder)

    @property
    def folder(self) -> Path:
        return self.base_room.room.files

    def _program_exists(self, detected: FoundCheck) -> bool:
        if "/" in detected.program:
            return os.access(self.folder / detected.folder / detected.program, os.X_OK)
        path = check_search_path(os.environ, detected.env, str(self.app.repository.top))
        return shutil.which(detected.program, path=path) is not None

    def _prepare_once(self, detected: FoundCheck) -> FailedSetup | None:
        """Run the set-up of the folder's package manager, once for all its checks."""
        key = (detected.setup_cwd, *detected.setup)
        if detected.setup and key not in self.setup_results:
            self.setup_results[key] = self._prepare(detected)
        return self.setup_results.get(key)

    def _prepare(self, detected: FoundCheck) -> FailedSetup | None:
        command = " ".join(detected.setup)
        if shutil.which(detected.setup[0]) is None:
            install = choose_local_command(detected.setup_install)
            return FailedSetup(f"{detected.setup[0]} is not installed", install)
        env = filter_environment(os.environ, COMMAND_VARIABLES)
        try:
            cwd = self.folder / detected.setup_cwd
            with self.progress(f"preparing: {command}"):
                done = run_command(detected.setup, cwd=cwd, env=env, timeout=self.timeout)
        except CommandTimedOut as late:
            if remedy := suggest_more_time(self.timeout):
                return FailedSetup(late.sentence, remedy, TrialState.SETUP_CUT_OFF)
            return FailedSetup(late.sentence, command)
        except Fault as fault:
            return FailedSetup(fault.sentence, command)
        if done.code == 0:
            # Files that the package manager made are there for every following check.
            self.base_room.room.record_setup_output()
            return None
        lines = strip_terminal_codes(
            (done.err or done.out).decode("utf-8", errors="replace")
        ).split("\n")
        last = one_line(next((line for line in reversed(lines) if line.strip()), ""), 120)
        return FailedSetup(f"{command} failed with exit code {done.code}: {last}", command)


def _spec(detected: FoundCheck) -> CheckSpec:
    return CheckSpec(
        name=detected.name,
        argv=detected.run,
        shell=detected.shell,
        pattern=detected.pattern,
        cwd=detected.folder,
        env=detected.env,
        rerun=False,
    )


def _command(detected: FoundCheck) -> str:
    return detected.shell or shlex.join(detected.run)


def _judge(detected: FoundCheck, finding: Finding, timeout: timedelta) -> TrialResult:
    # The message of a missing module ends with the remedy, which has its own line.
    message = finding.message.removesuffix(f": {finding.params.get(REMEDY, '')}")
    words = one_line(message.removeprefix("cannot run: "), WORDS_CHARS_MAX)
    output = f"{finding.message}\n{finding.output}"
    passed = int(finding.params.get("passedCount", 0))
    skipped = int(finding.params.get(SKIPPED, 0)) - int(finding.params.get(XFAILED, 0))
    including = str(finding.params[REMEDY]) if IGNORED_FILES in finding.params else ""
    if ran_no_tests(finding):
        return TrialResult(
            detected, TrialState.EMPTY, NO_TESTS_MESSAGE, next_command="write a test and commit it"
        )
    match finding.outcome:
        case Outcome.PASSED:
            return TrialResult(
                detected,
                TrialState.GREEN,
                describe_test_count(finding),
                passed_tests=passed,
                skipped_tests=skipped,
            )
        case Outcome.FAILED | Outcome.BROKEN if remedy := find_toolchain_remedy(output):
            return TrialResult(detected, TrialState.MISSING, words, next_command=remedy)
        case Outcome.FAILED if finding.is_late:
            output = (
                f"did not end within {format_duration(timeout.total_seconds())} and was stopped"
            )
            return TrialResult(
                detected,
                TrialState.CUT_OFF,
                output,
                next_command="yaoki init --seconds 900 --dry-run",
            )
        case Outcome.FAILED if is_too_red(finding):
            alike = one_line(describe_alike_failures(finding), WORDS_CHARS_MAX)
            many = f"red at the base, with too many failures to recognise new ones: {words}"
            return TrialResult(
                detected,
                TrialState.TOO_RED,
                alike or many,
                next_command=including,
                fails_alike=bool(alike),
            )
        case Outcome.FAILED if detected.kind in STATIC_KINDS and not finding.items:
            return TrialResult(
                detected,
                TrialState.TOO_RED,
                f"red at the base, and its failures cannot be read: {words}",
                next_command=including,
            )
        case Outcome.FAILED:
            number = int(finding.params.get("failureCount", len(finding.items)))
            counted = f"{_count_words(number, 'failure')}: " if number else ""
            good = describe_test_count(finding)
            beside = f"; passed: {good}" if good else ""
            known = bool(number) and as_baseline(finding).outcome is Outcome.FAILED
            summary = f"{counted}{words}{beside}"
            return TrialResult(
                detected,
                TrialState.RED,
                summary,
                number,
                next_command=including,
                has_comparable_failures=known,
                passed_tests=passed,
                skipped_tests=skipped,
            )
        case _:
            missing = finding.code == FatalCode.RESOURCE_NOT_FOUND
            state = TrialState.MISSING if missing else TrialState.BROKEN
            named = str(finding.params.get(REMEDY, ""))
            remedy = including or (_remedy(detected, named) if missing else named)
            return TrialResult(detected, state, words, next_command=remedy)


def _count_words(number: int, word: str) -> str:
    return f"{number} {word}{'s' if number != 1 else ''}"


def ran_no_tests(finding: Finding) -> bool:
    """By its own count, or because the script of that name runs nothing."""
    ran = finding.params.get("testCount", 0) - finding.params.get("skippedCount", 0)
    none = finding.params.get("passedCount") == 0 and ran == 0
    return bool(finding.params.get("idle")) or (none and "loadError" not in finding.params)


def _remedy(detected: FoundCheck, named: str) -> str:
    """Nothing is installed into yaoki's own environment.  `named`: the remedy of the finding."""
    if detected.program == "python" and VIRTUAL_ENV not in detected.env and find_own_python():
        return suggest_project_python()
    return named or choose_local_command(detected.remedy)
