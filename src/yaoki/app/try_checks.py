"""Checks tried once on the base, in a worktree of their own that is gone afterwards."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.adapters.git.command import Git, Site
from yaoki.adapters.processes.command import run
from yaoki.app.base_checks import BaseRoom
from yaoki.app.remedies import here, inactive_environment, no_toolchain, other_python, own_python
from yaoki.core.decide.baseline import at_base, of_base
from yaoki.core.decide.classification import TIMED_OUT
from yaoki.core.decide.integrity import tests_told
from yaoki.core.display import one_line, plain
from yaoki.core.environment import BASIC, allowed
from yaoki.core.model import CheckSpec, Finding, Outcome
from yaoki.core.trust import Command, of_check, of_setup
from yaoki.errors import Fault
from yaoki.formats.discovery import Found, State, Tree, Tried, is_wanted
from yaoki.formats.discovery.tree import TEXT_BYTES_MAX

if TYPE_CHECKING:
    from yaoki.app import App

# All checks and set-up commands together; what comes later is told as not tried.
# The room of `init` and `doctor`, made anew each time.
ROOM = "init"
TOTAL = timedelta(minutes=10)
WORDS_CHARS_MAX = 200
RAN_NONE = "it ran no tests, and so it proves nothing"
OVER = "not tried: the time for all of them was over"
# The options by which a tool only looks, for those that change files in some repositories.
_LOOKS = {"ruff": "--no-fix", "eslint": "--no-fix", "black": "--check", "prettier": "--check"}
PYTEST = ("python", "-m", "pytest", "-q", "--junit-xml", "{report}")


def look(app: App) -> Tree:
    """The files of the user's checkout that git knows or would not ignore."""
    repository = app.repository
    at = Site(repository.git_dir, repository.top)
    listed = Git(repository.common_dir).names(
        "ls-files", "-c", "-o", "--exclude-standard", "-z", at=at
    )
    paths = frozenset(path for path in listed if not path.endswith("/"))
    wanted = sorted(path for path in paths if is_wanted(path))
    return Tree(paths, {path: _text(repository.top / path) for path in wanted})


def _text(file: Path) -> str:
    """A link may lead anywhere, and a file that git knows may be gone."""
    if file.is_symlink() or not file.is_file():
        return ""
    with file.open("rb") as stream:
        return stream.read(TEXT_BYTES_MAX).decode("utf-8", errors="replace")


def head(app: App) -> str:
    """The commit that the user's checkout stands on."""
    at = Site(app.repository.git_dir)
    return Git(app.repository.common_dir).text("rev-parse", "--verify", "HEAD^{commit}", at=at)


def try_found(
    app: App, found: Iterable[Found], timeout: timedelta, tell: Callable[[Tried], None]
) -> list[Tried]:
    """Each check once on the base; the user's checkout stays as it is."""
    made = []
    with _bench(app, timeout) as bench:
        for one in found:
            tried = bench.tried(one)
            tell(tried)
            made.append(tried)
    return made


def try_specs(app: App, specs: Iterable[CheckSpec], timeout: timedelta) -> list[Finding]:
    """The same for checks that somebody wrote; those that need a task or an agent are left out."""
    with _bench(app, timeout) as bench:
        return [bench.finding(spec) for spec in specs if spec.type in {"command", "file"}]


def commands_found(found: Iterable[Found]) -> tuple[Command, ...]:
    """Everything that trying these would start."""
    made: list[Command | None] = []
    for one in found:
        made += [of_setup(one.setup, one.setup_cwd)] if one.setup else []
        made.append(of_check(_spec(one)))
    return tuple(dict.fromkeys(command for command in made if command is not None))


@contextmanager
def _bench(app: App, timeout: timedelta) -> Iterator[Bench]:
    from yaoki.adapters.checks import Checks

    app.trust.refuse()
    commit, until = head(app), app.clock.now() + TOTAL
    checks = Checks(app.processes, timedelta(0))
    with (
        app.rooms.taken(ROOM, fresh=True) as room,
        tempfile.TemporaryDirectory(prefix="base-") as logs,
    ):
        room.put(commit)
        room.seal()
        yield Bench(app, BaseRoom(room, checks, commit), Path(logs), timeout, until)


@dataclass(frozen=True, slots=True)
class Bench:
    """A checkout of the base, and what was done in it so far."""

    app: App
    base: BaseRoom
    logs: Path
    timeout: timedelta
    until: datetime
    # How each set-up command did: nothing, or why it failed and what helps.
    prepared: dict[tuple[str, ...], tuple[str, str]] = field(default_factory=dict)

    def tried(self, found: Found) -> Tried:
        if not (self.place / found.because).exists():
            words = f"not tried: {found.because} is not committed"
            return Tried(
                found, State.UNCOMMITTED, words, next=f"git add {shlex.quote(found.because)}"
            )
        if self.app.clock.now() > self.until:
            return Tried(found, State.NOT_RUN, OVER)
        why, remedy = self._prepared(found)
        if why:
            return Tried(found, State.BROKEN, why, next=remedy)
        if not self._there(found):
            words = f"{found.program} is not installed"
            return Tried(found, State.MISSING, words, next=here(found.install))
        tried = _judged(found, self.finding(_spec(found)), self.timeout)
        if tried.state is State.EMPTY and found.tool == "unittest":
            return self._by_pytest(tried)
        return tried if tried.state.usable else self._with_environment(tried)

    def _by_pytest(self, tried: Tried) -> Tried:
        """Functions named test_* are no tests for unittest, and are for pytest."""
        run = (*tried.found.run[: tried.found.run.index("python")], *PYTEST)
        remedy = "python -m pip install pytest"
        other = self.tried(replace(tried.found, tool="pytest", run=run, remedy=remedy))
        return tried if other.state is State.EMPTY else other

    def _with_environment(self, tried: Tried) -> Tried:
        """An environment in the repository that is not active may hold what is missing."""
        hint = inactive_environment(self.app.repository.top)
        if not hint or tried.found.program != "python" or tried.state is State.EMPTY:
            return tried
        return replace(tried, next=f"{hint} && yaoki init --again")

    def finding(self, spec: CheckSpec) -> Finding:
        """What the check says of the base, which it must leave as it is."""
        bounded = replace(spec, timeout=min(spec.timeout, self.timeout))
        found = self.base.finding(bounded, self.logs / f"{len(list(self.logs.iterdir()))}")
        changed = list(self.base.changed())
        if changed and found.outcome is not Outcome.BROKEN:
            return _unfit(found, spec, changed)
        return found if was_cut_off(found) else at_base(found)

    @property
    def place(self) -> Path:
        return self.base.room.files

    def _there(self, found: Found) -> bool:
        if "/" in found.program:
            return os.access(self.place / found.folder / found.program, os.X_OK)
        return shutil.which(found.program) is not None

    def _prepared(self, found: Found) -> tuple[str, str]:
        """What the folder's manager must do first, once for all checks of it."""
        key = (found.setup_cwd, *found.setup)
        if found.setup and key not in self.prepared:
            self.prepared[key] = self._prepare(found)
        return self.prepared.get(key, ("", ""))

    def _prepare(self, found: Found) -> tuple[str, str]:
        command = " ".join(found.setup)
        if shutil.which(found.setup[0]) is None:
            return f"{found.setup[0]} is not installed", here(found.setup_install)
        env = allowed(os.environ, (*BASIC, "VIRTUAL_ENV"))
        try:
            cwd = self.place / found.setup_cwd
            done = run(found.setup, cwd=cwd, env=env, timeout=self.timeout)
        except Fault as fault:
            return fault.sentence, command
        if done.code == 0:
            # What the manager made is there for every check that follows.
            self.base.room.seal()
            return "", ""
        said = plain((done.err or done.out).decode("utf-8", errors="replace")).split("\n")
        last = one_line(next((line for line in reversed(said) if line.strip()), ""), 120)
        return f"{command} failed with exit code {done.code}: {last}", command


def _unfit(finding: Finding, spec: CheckSpec, changed: list[str]) -> Finding:
    """A run refuses such a check as well, after an agent has worked for it."""
    words = spec.argv or tuple(spec.shell.split())
    option = next((option for tool, option in _LOOKS.items() if tool in words), "")
    remedy = f"; add {option}" if option else "; let it only look"
    said = f"changes files of the repository ({', '.join(changed[:3])}){remedy}"
    return replace(finding, outcome=Outcome.BROKEN, message=said, items=(), params={})


def _spec(found: Found) -> CheckSpec:
    return CheckSpec(
        name=found.name,
        argv=found.run,
        shell=found.shell,
        pattern=found.pattern,
        cwd=found.folder,
        env=found.env,
        rerun=False,
    )


def _judged(found: Found, finding: Finding, timeout: timedelta) -> Tried:
    words = one_line(finding.message.removeprefix("cannot run: "), WORDS_CHARS_MAX)
    said = f"{finding.message}\n{finding.output}"
    if ran_none(finding):
        return Tried(found, State.EMPTY, RAN_NONE, next="write a test and commit it")
    match finding.outcome:
        case Outcome.PASSED:
            return Tried(found, State.GREEN, tests_told(finding))
        case Outcome.FAILED | Outcome.BROKEN if remedy := no_toolchain(said):
            return Tried(found, State.MISSING, words, next=remedy)
        case Outcome.FAILED if was_cut_off(finding):
            said = f"did not end within {timeout.total_seconds():g} s and was cut off"
            return Tried(found, State.CUT_OFF, said, next="yaoki init --seconds 900 --dry-run")
        case Outcome.FAILED if any(item.more for item in finding.items):
            said = f"red at the base, with more failures than can be told from new ones: {words}"
            return Tried(found, State.BROKEN, said)
        case Outcome.FAILED:
            number = int(finding.params.get("failureCount", len(finding.items)))
            counted = f"{_counted(number, 'failure')}: " if number else ""
            good = tests_told(finding)
            beside = f"; {good} pass" if good else ""
            known = bool(number) and of_base(finding).outcome is Outcome.FAILED
            told = f"{counted}{words}{beside}"
            return Tried(found, State.RED, told, number, known=known)
        case _:
            missing = finding.code == "RESOURCE_NOT_FOUND"
            state = State.MISSING if missing else State.BROKEN
            remedy = _remedy(found) if missing else str(finding.params.get("remedy", ""))
            return Tried(found, state, words, next=remedy)


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'s' if number != 1 else ''}"


def ran_none(finding: Finding) -> bool:
    """By its own count, or because the script behind its name runs nothing."""
    ran = finding.params.get("testCount", 0) - finding.params.get("skippedCount", 0)
    none = finding.params.get("passedCount") == 0 and ran == 0
    return bool(finding.params.get("idle")) or (none and "loadError" not in finding.params)


def _remedy(found: Found) -> str:
    """Nothing is installed into the environment that yaoki itself lives in."""
    if found.program == "python" and own_python():
        return other_python()
    return here(found.remedy)


def was_cut_off(finding: Finding) -> bool:
    return finding.outcome is Outcome.FAILED and TIMED_OUT in finding.params
