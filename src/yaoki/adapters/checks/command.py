"""Command checks: run in the worktree, judged by exit code, output and report."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from yaoki.adapters.checks.command_run import REPORT, CommandCheckRun, split_words
from yaoki.adapters.checks.command_verdict import OUTPUT_BYTES_MAX, judge_command
from yaoki.adapters.checks.environment import (
    add_own_variables,
    build_check_environment,
    describe_missing_environment,
    environment_command,
    find_copied_report,
    find_missing_environment,
    protect_node_assertions,
    save_report,
)
from yaoki.adapters.checks.findings import make_broken, make_failed
from yaoki.adapters.checks.output import OUT
from yaoki.adapters.checks.readers import reader_defect
from yaoki.adapters.checks.runner import CheckProcesses
from yaoki.adapters.checks.test_count_request import request_test_count
from yaoki.adapters.system.clock import SystemClock
from yaoki.adapters.system.files import read_plain_bytes
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import CheckSpec, Finding
from yaoki.errors import FatalCode
from yaoki.ports import CheckFacts, Launch

WORDS_READ = 40
SCRIPT_BYTES_READ = 64 * 1024

_PLACEHOLDER = lazy_compile(r"\{(report|worktree|base|commit)\}")


def check_command(
    spec: CheckSpec, worktree: Path, runner: CheckProcesses, facts: CheckFacts
) -> Finding:
    cwd = (worktree / spec.cwd).resolve()
    finding = _find_defect(spec, worktree, cwd, runner.checkout)
    if finding is not None:
        return finding
    spec, folder = request_test_count(spec), runner.next_free_folder()
    room = facts.room
    values = _placeholder_values(worktree, room.reports if room else folder, facts)
    if spec.inputs:
        # Its result may not depend on the commit, nor on what is below it.
        values = {**values, "base": "", "commit": ""}
    scripts = _read_scripts(spec, cwd)
    env = {
        **build_check_environment(runner, room),
        **_mentioned_variables(spec, scripts, values, facts.environment),
    }
    writable = (worktree, room.home, room.temporary, room.reports) if room else ()
    env = add_own_variables(env, spec.env, cwd, runner.checkout)
    env = protect_node_assertions(env, spec.env, split_words(spec), (cwd, worktree))
    launch = _build_launch(spec, cwd, values, env, runner, tuple(map(str, writable)))
    started_at = SystemClock().now()
    result = runner.run(folder, launch)
    if room:
        save_report(room.reports / REPORT, folder / REPORT, launch.secrets)
    if room and (original := find_copied_report(worktree, room.reports / REPORT, started_at)):
        message = f"its report is a copy of {original}, which existed before the check"
        return make_failed(spec, message, log=str(folder / OUT), seconds=result.state.seconds)
    expects_report = _expects_report(spec, scripts)
    run = CommandCheckRun(spec, worktree, runner, result, expects_report, facts.changed)
    return judge_command(run)


def _find_defect(spec: CheckSpec, worktree: Path, cwd: Path, checkout: Path) -> Finding | None:
    defect = reader_defect(spec.reader)
    if defect or not (spec.argv or spec.shell):
        return make_broken(spec, defect or "the check has no command")
    if not cwd.is_relative_to(worktree.resolve()):
        return make_broken(spec, f"working directory {spec.cwd!r} is outside the worktree")
    if not cwd.is_dir():
        message = f"working directory {spec.cwd!r} does not exist"
        return make_failed(spec, message, "file-not-exists")
    if lacking := find_missing_environment(spec.env, checkout):
        sentence = describe_missing_environment(spec.env, checkout)
        message = f"{sentence}; {environment_command(lacking)}"
        return make_broken(spec, message, code=FatalCode.RESOURCE_NOT_FOUND)
    return None


def _expects_report(spec: CheckSpec, scripts: tuple[str, ...]) -> bool:
    is_mentioned = any("YAOKI_REPORT" in text for text in (spec.shell, *scripts))
    return is_mentioned or any("{report}" in part for part in spec.argv)


def _read_scripts(spec: CheckSpec, cwd: Path) -> tuple[str, ...]:
    """The text of each file that the command names: a script may use our variables as well."""
    words = dict.fromkeys(split_words(spec)[:WORDS_READ])
    texts = (read_plain_bytes(cwd / word, SCRIPT_BYTES_READ) for word in words if word)
    return tuple(text.decode("utf-8", "replace") for text in texts if text)


def _placeholder_values(worktree: Path, folder: Path, facts: CheckFacts) -> Mapping[str, str]:
    return {
        "report": str(folder / REPORT),
        "worktree": str(worktree),
        "base": facts.base,
        "commit": facts.commit,
    }


def _build_launch(
    spec: CheckSpec,
    cwd: Path,
    values: Mapping[str, str],
    env: Mapping[str, str],
    runner: CheckProcesses,
    writable: tuple[str, ...],
) -> Launch:
    """Values reach a shell as variables only, and an argument as one whole argument."""
    argv = (_PLACEHOLDER.sub(lambda hit: values[hit[1]], part) for part in spec.argv)
    return Launch(
        argv=(*_find_shell(env), spec.shell) if spec.shell else tuple(argv),
        cwd=str(cwd),
        env=env,
        deadline=spec.timeout,
        lease=runner.lease,
        output_bytes_max=OUTPUT_BYTES_MAX,
        secrets=runner.visible_secrets(env),
        writable=writable,
        # The code under test could send the hidden files away.
        network=spec.hidden is None,
    )


def _mentioned_variables(
    spec: CheckSpec,
    scripts: tuple[str, ...],
    values: Mapping[str, str],
    task_variables: Mapping[str, str],
) -> dict[str, str]:
    """Only the variables that the command or its scripts mention, ports and databases of the
    task included: any other variable would tell the code under test that yaoki runs it.
    """
    own = {f"YAOKI_{name.upper()}": value for name, value in values.items()}
    texts = (spec.shell, *spec.argv, *spec.env.values(), *scripts)
    return {
        name: value
        for name, value in {**own, **task_variables}.items()
        if any(name in text for text in texts)
    }


def _find_shell(env: Mapping[str, str]) -> tuple[str, ...]:
    """The shell of a check.  In `mypy src | tail` the failure must count, and only bash can do that
    everywhere.
    """
    bash = shutil.which("bash", path=env.get("PATH"))
    return (bash, "-o", "pipefail", "-c") if bash else ("/bin/sh", "-c")
