"""The test oracle: do the checks of every DONE task pass in a fresh clone?

It reads the DONE tasks and their checks from the store, clones the repository as a
new user would (another home, no ignored files, no git settings, no variables of yaoki) and runs
the checks there as plain subprocesses.  It uses no code of yaoki.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tests.false_success.run_claim import RunClaim, read_claim, read_runs

BOUND_S = 60
# Of the outside world a check needs to find its programs, and nothing else.
PASSED_ON = ("PATH", "LANG", "LC_ALL", "USER", "LOGNAME", "SHELL")


@dataclass(frozen=True)
class FreshCloner:
    """Clones the repository for the first time, with a new home."""

    folder: Path
    path: str = field(default_factory=lambda: os.environ["PATH"])

    def env(self, home: Path) -> dict[str, str]:
        around = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        nothing = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        own = {"HOME": str(home), "TMPDIR": str(home / "tmp"), "TERM": "xterm-256color"}
        return {**around, **nothing, **own, "PATH": self.path}

    @contextmanager
    def clone(self, repo: Path, commit: str) -> Iterator[tuple[Path, dict[str, str]]]:
        """A fresh clone at this commit, and the environment for it."""
        home = Path(tempfile.mkdtemp(prefix="stranger-", dir=self.folder))
        (home / "tmp").mkdir()
        env, tree = self.env(home), home / "project"
        try:
            _git(env, home, "clone", "-q", "--no-checkout", f"file://{repo}", str(tree))
            _git(env, tree, "-c", "advice.detachedHead=false", "checkout", "-q", commit)
            yield tree, env
        finally:
            shutil.rmtree(home, ignore_errors=True)

    def fault(
        self, repo: Path, commit: str, check: Mapping[str, Any], prepare: Sequence[str] = ()
    ) -> str:
        """Why the check fails at this commit in a fresh clone; empty if it passes."""
        with self.clone(repo, commit) as (tree, env):
            for line in prepare:
                _run(("bash", "-c", line), tree, env)
            return _run_check(check, tree, env)


def assert_done_is_true(
    repo: Path,
    run: str = "",
    *,
    folder: Path,
    path: str = "",
    prepare: Sequence[str] = (),
    truth: Sequence[str] = (),
) -> None:
    """Every DONE task of this run (the newest unless named) passes its checks in fresh clones.

    `prepare` are shell lines to run first (besides the plan's set-up);
    `truth` are shell lines that must pass if the whole run is done, regardless of its checks.
    """
    claim = read_claim(repo, run)
    stranger = FreshCloner(folder, path or os.environ["PATH"])
    faults = list(_faults(repo, claim, stranger, prepare, truth)) if claim else []
    assert not faults, "false DONE: " + "; ".join(faults)


def assert_every_run_is_true(repo: Path, *, folder: Path) -> None:
    """The same for all runs of a repository: what a suite of tests calls when one has ended."""
    for run in read_runs(repo):
        assert_done_is_true(repo, run, folder=folder)


# ------------------------------------------------------------------ faults


def _faults(
    repo: Path, claim: RunClaim, stranger: FreshCloner, prepare: Sequence[str], truth: Sequence[str]
) -> Iterator[str]:
    head = _git(stranger.env(stranger.folder), repo, "rev-parse", claim.branch)
    for task in claim.tasks:
        if not task.group and not _holds(stranger, repo, head, task.commit):
            yield f"{task.name} landed {task.commit[:10]}, which {claim.branch} does not hold"
            continue
        # Later landings must not break earlier ones: a done run is checked at its head as well.
        for commit in {task.commit, head} if claim.whole and not task.group else {task.commit}:
            ready = [*prepare, *map(_line, task.setup)]
            for check in task.checks:
                if words := _fault(repo, claim.base, commit, check, stranger, ready):
                    yield f"{task.name} at {commit[:10]}: {words}"
    if claim.whole:
        ready = [*prepare, *(_line(words) for task in claim.tasks for words in task.setup)]
        lines = [{"name": "the truth", "shell": line} for line in truth]
        for check in (*claim.done_when, *lines):
            if words := _fault(repo, claim.base, head, check, stranger, ready):
                yield f"the whole at {head[:10]}: {words}"


def _line(words: Sequence[str]) -> str:
    return words if isinstance(words, str) else shlex.join(words)


def _holds(stranger: FreshCloner, repo: Path, head: str, commit: str) -> bool:
    done = subprocess.run(
        ("git", "merge-base", "--is-ancestor", commit, head),
        cwd=repo,
        env=stranger.env(stranger.folder),
        check=False,
        capture_output=True,
    )
    return done.returncode == 0


def _fault(
    repo: Path,
    base: str,
    commit: str,
    check: Mapping[str, Any],
    stranger: FreshCloner,
    prepare: Sequence[str],
) -> str:
    """Why the check fails there; empty if it passes.

    A guard (`baseline: known`) that fails at the base too decides nothing.
    """
    words = stranger.fault(repo, commit, check, prepare)
    if words and check.get("baseline") == "known":
        return "" if stranger.fault(repo, base, check, prepare) else words
    return words


def _run_check(check: Mapping[str, Any], tree: Path, env: Mapping[str, str]) -> str:
    match check.get("type", "command"):
        case "command":
            return _command(check, tree, env)
        case "file":
            return _file(check, tree)
        case _:
            return ""  # a judge, a package's own check, git's own state: nothing a clone can say


def _command(check: Mapping[str, Any], tree: Path, env: Mapping[str, str]) -> str:
    report = tree.parent / "report.xml"
    given = {"{report}": str(report), "{worktree}": str(tree), "{base}": "", "{commit}": "HEAD"}
    argv = ["bash", "-o", "pipefail", "-c", str(check.get("shell"))]
    if check.get("argv"):
        argv = [_filled(word, given) for word in check["argv"]]
    own = {**env, **check.get("env", {})}
    if "YAOKI_REPORT" in str(check.get("shell")):
        own["YAOKI_REPORT"] = str(report)
    try:
        code, out, err = _run(argv, tree / check.get("cwd", ""), own)
    except (OSError, subprocess.TimeoutExpired) as fault:
        return f"{check['name']} cannot run: {fault}"
    wants = str(report) in argv or "YAOKI_REPORT" in own
    if not _success(check.get("success", "exitCode:0"), code, out):
        return f"{check['name']} does not hold (exit {code}): {(out + err)[-300:].strip()}"
    return f"{check['name']}: {_report_defect(report)}" if wants and _report_defect(report) else ""


def _run(argv: Sequence[str], where: Path, env: Mapping[str, str]) -> tuple[int, str, str]:
    """To files, since a process that is left behind would hold a pipe open; it is ended here."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(
            argv, cwd=where, env=env, stdout=out, stderr=err, start_new_session=True
        )
        try:
            code = process.wait(BOUND_S)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for file in (out, err):
            file.seek(0)
        return code, out.read(), err.read()


def _filled(word: str, given: Mapping[str, str]) -> str:
    for name, value in given.items():
        word = word.replace(name, value)
    return word


def _success(wanted: str, code: int, out: str) -> bool:
    form, _, rest = wanted.partition(":")
    match form:
        case "exitCode":
            return code == int(rest)
        case "empty":
            return code == 0 and not out.strip()
        case "contains":
            return code == 0 and rest in out
        case "matches":
            return code == 0 and re.search(rest, out, re.MULTILINE) is not None
        case _:
            raise AssertionError(f"no such form of success: {wanted}")


def _report_defect(report: Path) -> str:
    if not report.exists():
        return "no report was written"
    cases = list(ElementTree.parse(report).iter("testcase"))
    bad = [
        case for case in cases if case.find("failure") is not None or case.find("error") is not None
    ]
    run = [case for case in cases if case.find("skipped") is None]
    return "" if run and not bad else f"{len(bad)} of {len(run)} tests of the report failed"


def _file(check: Mapping[str, Any], tree: Path) -> str:
    file, wants = tree / check["path"], check.get("file", {})
    if wants.get("absent"):
        return "" if not file.exists() else f"{check['name']}: {check['path']} is there"
    text = file.read_text(errors="replace") if file.is_file() else None
    if text is None and not (file.exists() and set(wants) <= {"exists"}):
        return f"{check['name']}: {check['path']} is not there"
    held = wants.get("contains", "") in (text or "")
    held = held and re.search(wants.get("matches", ""), text or "", re.MULTILINE) is not None
    return "" if held else f"{check['name']}: {check['path']} does not hold what it must"


def _git(env: Mapping[str, str], where: Path, *words: str) -> str:
    done = subprocess.run(
        ("git", *words), cwd=where, env=env, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, f"git {' '.join(words)}: {done.stderr}"
    return done.stdout.strip()
