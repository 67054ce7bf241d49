"""A fresh clone in which landed commits are verified again, without files of the user.

The clone is made through git's own transport, so it has only what git holds; the home is empty, and
files that a check leaves are removed before the next one.  Set-up runs again only when its
commands, or the manifests and lock files of the commit, differ from those of the commit before.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path, PurePosixPath

from yaoki.adapters.checks import CheckDispatcher, FindHidden
from yaoki.adapters.git.fresh_clone import FreshClone, clone_fresh
from yaoki.adapters.system.folders import remove_tree
from yaoki.core.decide.baseline import weigh
from yaoki.core.decide.repeated_check import RepeatedCheck, is_repeatable
from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import BaselineMode, CheckSpec, Finding, Outcome
from yaoki.core.model.flaky_test import QuarantineEntry
from yaoki.ports import CheckFacts, Processes, commit_facts

LEASE = timedelta(seconds=60)
# Files that set-up commands read; the same files and commands give the same set-up.
MANIFEST = lazy_compile(
    r"(?:package|composer|deno)\.json|.*[.-]lock(?:\..+)?|.*\.lockb?|package-lock\.json"
    r"|npm-shrinkwrap\.json|requirements.*\.(?:txt|in)|constraints.*\.txt|pyproject\.toml"
    r"|setup\.(?:py|cfg)|Pipfile|environment\.ya?ml|Cargo\.toml|go\.(?:mod|sum|work)|Gemfile"
    r"|pom\.xml|.*\.gradle(?:\.kts)?|mix\.exs|.*\.csproj|\.tool-versions|\.(?:node|python)-version"
)


@dataclass(slots=True)
class ReplayClone:
    """One clone; `setup_key` identifies the set-up done in it, `setup_files` are what it made."""

    clone: FreshClone
    logs: Path
    checks: CheckDispatcher
    quarantine: Sequence[QuarantineEntry] = ()
    setup_key: tuple[str, ...] = ()
    setup_files: frozenset[str] = frozenset()

    def check_out(self, commit: str, setup: Sequence[Sequence[str]], timeout: timedelta) -> str:
        """Check out this commit and set it up; returns why the set-up failed, or nothing."""
        self.clone.check_out(commit)
        key = self._key(commit, setup)
        if setup and key == self.setup_key:
            self._sweep()
            return ""
        self.setup_key, self.setup_files = (), frozenset()
        self._sweep()
        for argv in setup:
            spec = CheckSpec("set-up", argv=tuple(argv), timeout=timeout)
            finding = self._run_check(spec, commit_facts(commit))
            if finding.outcome is not Outcome.PASSED:
                return f"set-up {' '.join(argv)!r}: {finding.message}"
        self.clone.reset(commit)
        self.setup_key, self.setup_files = key, self.clone.list_untracked()
        return ""

    def check(
        self, spec: CheckSpec, facts: CheckFacts, fixes: Sequence[str], now: datetime
    ) -> Finding:
        """One check on the commit of `facts`, as when it was verified: a failure is repeated, and
        compared with the commit before if the check ignores known failures.  The quarantine is
        that of today.
        """
        finding = self._settle(spec, facts)
        if is_repeatable(spec, finding):
            repeated = RepeatedCheck(
                spec, lambda: self._settle(spec, facts), lambda: self._settle_base(spec, facts)
            )
            finding = repeated.judge(finding, self.quarantine, now)
        if finding.outcome is Outcome.FAILED and spec.baseline is BaselineMode.KNOWN:
            return weigh(finding, self._settle_base(spec, facts), fixes)
        return finding

    def _settle_base(self, spec: CheckSpec, facts: CheckFacts) -> Finding:
        self.clone.check_out(facts.baseline_commit)
        base = self._settle(spec, facts)
        self.clone.check_out(facts.commit)
        return base

    def _settle(self, spec: CheckSpec, facts: CheckFacts) -> Finding:
        finding = self._run_check(spec, facts)
        changed = self.clone.changed_files()
        self.clone.reset()
        self._sweep()
        if changed and finding.outcome is Outcome.PASSED:
            words = f"the check itself changed files: {changed[0]}"
            return replace(finding, outcome=Outcome.BROKEN, message=words)
        return finding

    def _run_check(self, spec: CheckSpec, facts: CheckFacts) -> Finding:
        folder = self.logs / f"{len(list(self.logs.iterdir())) + 1}"
        return self.checks.check(spec, self.clone.folder, folder, facts=facts, stop=lambda: False)

    def _key(self, commit: str, setup: Sequence[Sequence[str]]) -> tuple[str, ...]:
        """The commands, and every manifest and lock file of the commit with its content."""
        listed = self.clone.list_tree(commit) if setup else []
        manifests = (
            line
            for line in listed
            if MANIFEST.fullmatch(PurePosixPath(line.rpartition("\t")[2]).name)
        )
        return (*("\0".join(argv) for argv in setup), *manifests)

    def _sweep(self) -> None:
        """Remove everything that is neither tracked nor made by set-up."""
        if not self.setup_files:
            self.clone.clean()
            return
        for name in self.clone.list_untracked() - self.setup_files:
            path = self.clone.folder / name
            if path.is_dir() and not path.is_symlink():
                remove_tree(path)
            else:
                path.unlink(missing_ok=True)


@contextmanager
def open_replay_clone(
    source: Path,
    processes: Processes,
    checkout: Path,
    find_hidden: FindHidden,
    quarantine: Sequence[QuarantineEntry],
) -> Iterator[ReplayClone]:
    """A clone of the repository in a temporary folder that is always removed."""
    with tempfile.TemporaryDirectory(prefix="yaoki-replay-", ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        home, logs = folder / "home", folder / "logs"
        home.mkdir()
        logs.mkdir()
        clone = clone_fresh(source, folder / "clone")
        environ = {**os.environ, "HOME": str(home)}
        checks = CheckDispatcher(
            processes, LEASE, environ, checkout=checkout, find_hidden=find_hidden
        )
        yield ReplayClone(clone, logs, checks, quarantine)
