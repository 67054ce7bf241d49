"""Checks tried once on the base, in a worktree of their own that is gone afterwards."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.app.remedies import here, no_toolchain, other_python, own_python
from yaoki.config.finding import Found, State, Tree, Tried, is_wanted
from yaoki.config.finding.tree import TEXT_BYTES_MAX
from yaoki.core.classify import TIMED_OUT
from yaoki.core.display import one_line, plain
from yaoki.core.environment import BASIC, allowed
from yaoki.core.model import CheckSpec, Finding, Outcome
from yaoki.errors import Fault
from yaoki.system import run
from yaoki.workspace.git import Git, Site

if TYPE_CHECKING:
    from yaoki.app import App
    from yaoki.checks import Checks

# All checks and set-up commands together; what comes later is told as not tried.
TOTAL = timedelta(minutes=10)
WORDS_CHARS_MAX = 200
# How unittest and pytest say that there was nothing; cargo, node and go say it of each part.
_NO_TESTS = re.compile(r"^(?:Ran 0 tests in|NO TESTS RAN|no tests ran in)", re.MULTILINE)
_COUNTED = re.compile(r"^(?:running |# tests |\S tests )(\d+)(?: tests?)?$", re.MULTILINE)
_NO_FILES = "[no test files]"
RAN_NONE = "it ran no tests, and so it proves nothing"
OVER = "not tried: the time for all of them was over"


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


@contextmanager
def _bench(app: App, timeout: timedelta) -> Iterator[Bench]:
    from yaoki.checks import Checks

    commit, until = head(app), app.clock.now() + TOTAL
    checks = Checks(app.processes, timedelta(0))
    with (
        app.workspace.aside(commit) as place,
        tempfile.TemporaryDirectory(prefix="yaoki-base-") as logs,
    ):
        yield Bench(app, checks, commit, place, Path(logs), timeout, until)


@dataclass(frozen=True, slots=True)
class Bench:
    """A checkout of the base, and what was done in it so far."""

    app: App
    checks: Checks
    commit: str
    place: Path
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
        return _judged(found, self.finding(_spec(found)), self.timeout)

    def finding(self, spec: CheckSpec) -> Finding:
        facts = dict.fromkeys(("commit", "base", "onto"), self.commit)
        bounded = replace(spec, timeout=min(spec.timeout, self.timeout))
        more = {**facts, "changed": (), "scope": ()}
        logs = self.logs / f"{len(list(self.logs.iterdir()))}"
        return self.checks.check(bounded, self.place, logs, facts=more, stop=lambda: False)

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
            return "", ""
        said = plain((done.err or done.out).decode("utf-8", errors="replace")).split("\n")
        last = one_line(next((line for line in reversed(said) if line.strip()), ""), 120)
        return f"{command} failed with exit code {done.code}: {last}", command


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
    words = one_line(finding.message, WORDS_CHARS_MAX)
    match finding.outcome:
        case Outcome.PASSED | Outcome.FAILED if found.kind == "tests" and ran_none(finding):
            return Tried(found, State.EMPTY, RAN_NONE, next="write a test and commit it")
        case Outcome.PASSED:
            count = finding.params.get("testCount")
            return Tried(found, State.GREEN, _counted(count, "test") if count else "")
        case Outcome.FAILED if remedy := no_toolchain(f"{finding.message}\n{finding.output}"):
            return Tried(found, State.MISSING, words, next=remedy)
        case Outcome.FAILED if was_cut_off(finding):
            said = f"did not end within {timeout.total_seconds():g} s and was cut off"
            return Tried(found, State.CUT_OFF, said, next="yaoki init --seconds 900 --dry-run")
        case Outcome.FAILED:
            number = int(finding.params.get("failureCount", len(finding.items)))
            counted = f"{_counted(number, 'failure')}: " if number else ""
            return Tried(found, State.RED, f"red at the base: {counted}{words}", number)
        case _:
            missing = finding.code == "RESOURCE_NOT_FOUND"
            state = State.MISSING if missing else State.BROKEN
            return Tried(found, state, words, next=_remedy(found) if missing else "")


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'s' if number != 1 else ''}"


def ran_none(finding: Finding) -> bool:
    """By its own count; one part without tests says nothing of the others."""
    if finding.params.get("testCount") == 0 or _NO_TESTS.search(finding.output):
        return True
    counts = _COUNTED.findall(finding.output)
    said = [line for line in finding.output.splitlines() if line.strip()]
    without = bool(said) and all(line.endswith(_NO_FILES) for line in said)
    return without or (bool(counts) and not any(map(int, counts)))


def _remedy(found: Found) -> str:
    """Nothing is installed into the environment that yaoki itself lives in."""
    if found.program == "python" and own_python():
        return other_python()
    return here(found.remedy)


def was_cut_off(finding: Finding) -> bool:
    return finding.outcome is Outcome.FAILED and TIMED_OUT in finding.params
