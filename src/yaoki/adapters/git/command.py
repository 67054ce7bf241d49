"""Runs git: safe settings, a clean environment, a timeout, and classified failures."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from pathlib import Path

from yaoki.adapters.git.batch import OBJECT_BYTES_MAX, GitBatch, GitObject
from yaoki.adapters.git.filters import Filters, FilterSettings, as_variables
from yaoki.adapters.processes.command import CommandResult, run_command
from yaoki.adapters.system.clock import SystemClock
from yaoki.adapters.system.files import free_disk_bytes, read_plain_bytes
from yaoki.core.environment import BASIC_VARIABLES, filter_environment, rooted
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.text import short_path
from yaoki.errors import (
    DiskFull,
    FatalCode,
    Fault,
    GitFailed,
    GitMissing,
    RepositoryUnusable,
    WorkspaceError,
)

# An agent can write the repository's config, and config is code: nothing in it may start a
# program during yaoki's calls, and no result may depend on the user's display preferences.
SETTINGS = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.quotePath=false",
    "core.sparseCheckout=false",
    "core.splitIndex=false",
    "core.untrackedCache=false",
    "commit.gpgSign=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "diff.ignoreSubmodules=dirty",
    "submodule.recurse=false",
    "worktree.useRelativePaths=false",
    "i18n.commitEncoding=UTF-8",
    # The file facts in an index must reveal every change of a file.
    "core.checkStat=default",
    "core.trustctime=true",
    "core.ignoreStat=false",
    "advice.addEmbeddedRepo=false",
    # A tracked folder can be a bare repository with settings of its own.
    "safe.bareRepository=explicit",
)
ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    # Otherwise a replacement object would be verified instead of the one that lands.
    "GIT_NO_REPLACE_OBJECTS": "1",
    # A missing object is an error: no local call may start a program that fetches it.
    "GIT_NO_LAZY_FETCH": "1",
}
CONFIG_BYTES_MAX = 1 << 20
# Variables that git and its helpers need to find settings and to reach other machines.  Others are
# not passed on: a filter that an agent planted could read them.
PASSED_VARIABLES = (
    *BASIC_VARIABLES,
    *("LANGUAGE", "TZ", "XDG_*", "LD_LIBRARY_PATH", "LOCALE_ARCHIVE", "DBUS_SESSION_BUS_ADDRESS"),
    *("SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "DISPLAY"),
    *("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"),
    *("no_proxy", "NO_PROXY", "SSL_CERT_*", "CURL_CA_BUNDLE", "NIX_SSL_CERT_FILE", "KRB5*"),
)
TIMEOUT = timedelta(minutes=10)
# For one query to a batch process: all other threads wait meanwhile.
BATCH_TIMEOUT = timedelta(seconds=30)
BATCHES_KEPT = 8
# Commands that write neither commits nor reflogs: git needs no name of an author for them.
READ_COMMANDS = frozenset(
    ("config", "for-each-ref", "log", "ls-tree", "merge-base", "rev-list", "show-ref", "status")
)
LOCK_PAUSES_S = (0.02, 0.05, 0.1, 0.25)
STALE_LOCK_S = 10.0
DEFAULT_IDENTITY = ("yaoki", "yaoki@localhost")
# A list of folders with further objects.
ALTERNATES = "GIT_ALTERNATE_OBJECT_DIRECTORIES"

DISK_FULL = lazy_compile(r"No space left on device|Disk quota exceeded|Out of diskspace")
# git gives no reason here, so the free space of the disk is checked.
WRITE_FAILED = lazy_compile(r"couldn't write|unable to write|cannot (?:update|lock) ref")
FREE_BYTES_MIN = 1 << 20
CHECKED_OUT = lazy_compile(r"already (?:checked out|used by worktree) at '(.+?)'")
# Objects that were just written and are gone, were removed by a clean-up: a retry writes them.
TRANSIENT = lazy_compile(
    r"Resource temporarily unavailable|error building trees|bad object|invalid object"
    r"|unable to read (?:tree|object)|is not a valid object"
    # A worktree that is deleted while git creates or resets it.
    r"|not a git repository: '.+/\.git'|Unable to read current working directory"
    r"|this operation must be run in a work tree"
)
# A path of an agent's that is too long to show.
LONG_WORD = lazy_compile(r"\S{200,}")
PARTIAL = lazy_compile(rb"^\s*(?:partialclone|promisor)\s*=", re.MULTILINE)
LOCKED = lazy_compile(r"Unable to create '(.+?\.lock)': File exists", re.DOTALL)


@dataclass(frozen=True, slots=True)
class GitLocation:
    """The place where a command works: git folder, files and index.

    Always given and never discovered, so a `.git` that an agent removed or changed has no effect.
    """

    git_dir: Path
    work_tree: Path | None = None
    index: Path | None = None


def git_environment(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables that git needs, without the caller's GIT_ variables."""
    variables = os.environ if environ is None else environ
    return rooted(filter_environment(variables, PASSED_VARIABLES)) | ENVIRONMENT


def remote_environment() -> dict[str, str]:
    """The environment of calls to a remote: all but GIT_ variables, because a credential helper may
    need any.
    """
    return rooted(filter_environment(os.environ, ("*",))) | ENVIRONMENT


def run_git(
    args: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: bytes | None = None,
    timeout: timedelta = TIMEOUT,
) -> CommandResult:
    """Run git once; a non-zero exit code is no error here."""
    try:
        return run_command(_argv(args), cwd=cwd, env=env, timeout=timeout, input=stdin)
    except Fault as fault:
        raise _explain_fault(fault, cwd) from fault


def _argv(args: Sequence[str]) -> list[str]:
    settings = [word for setting in SETTINGS for word in ("-c", setting)]
    return ["git", *settings, *args]


def _explain_fault(fault: Fault, cwd: Path) -> WorkspaceError:
    if fault.code == FatalCode.RESOURCE_NOT_FOUND and cwd.is_dir():
        return GitMissing("git is not installed", hint="install git 2.38 or newer")
    if fault.code == FatalCode.RESOURCE_NOT_FOUND:
        # The folder was deleted meanwhile; a retry of the stage makes the worktree again.
        return GitFailed(f"the folder {cwd} is gone", transient=True)
    return GitFailed(fault.sentence, transient=fault.transient, hint=fault.hint)


def _quote_path(path: Path) -> str:
    """One path in a list of paths, which colons separate."""
    escaped = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@lru_cache(maxsize=BATCHES_KEPT)
def _open_batch(common_dir: Path, environment: frozenset[tuple[str, str]]) -> GitBatch:
    """The batch that all users of a repository share, because each batch has several processes."""
    return GitBatch(common_dir, dict(environment), _argv, BATCH_TIMEOUT)


def is_partial(common_dir: Path) -> bool:
    """True for a partial clone; read at start-up, before an agent could change the setting."""
    config = read_plain_bytes(common_dir / "config", CONFIG_BYTES_MAX) or b""
    return PARTIAL.search(config.lower()) is not None


class Git:
    """git on one repository."""

    def __init__(
        self,
        common_dir: Path,
        environ: Mapping[str, str] | None = None,
        filters: Filters | None = None,
        objects: Path | None = None,
    ) -> None:
        """`filters` confines the user's filter programs when they read files of agents.

        `objects`: the objects of another repository that this one reads as well.
        """
        self.common_dir, self._filters = common_dir, filters
        self._filter_settings = FilterSettings(
            common_dir, lambda args, env: run_git(args, cwd=common_dir, env=env)
        )
        self._environment = git_environment(environ)
        if is_partial(common_dir):
            del self._environment["GIT_NO_LAZY_FETCH"]
        if objects is not None:
            self._environment[ALTERNATES] = _quote_path(objects)
        self._clock = SystemClock()

    def run(
        self,
        *args: str,
        at: GitLocation | None = None,
        stdin: bytes | None = None,
        ok: Sequence[int] = (0,),
    ) -> CommandResult:
        """Run a command; a lock file of another process is waited for briefly."""
        cwd = (at.work_tree if at else None) or self.common_dir
        reads_only = args[0] in READ_COMMANDS or args[:2] == ("worktree", "list")
        env = self._variables(at, with_author=not reads_only)
        for pause in (*LOCK_PAUSES_S, None):
            result = run_git(args, cwd=cwd, env=env, stdin=stdin)
            if result.code in ok:
                return result
            lock = LOCKED.search(_text(result.err))
            if lock is None or pause is None:
                break
            if not self._remove_stale_lock(Path(lock[1])):
                self._clock.sleep(timedelta(seconds=pause))
        if (
            WRITE_FAILED.search(_text(result.err))
            and free_disk_bytes(self.common_dir) < FREE_BYTES_MIN
        ):
            raise DiskFull(f"git {args[0]} failed: the disk of {self.common_dir} is full")
        raise explain_failure(args, result)

    def run_with_objects(
        self, objects: Path, *args: str, stdin: bytes | None = None, ok: Sequence[int] = (0,)
    ) -> CommandResult:
        """Run a command that also reads the objects of another folder, and nothing else of it."""
        env = self._environment | self._identity_variables | {"GIT_DIR": str(self.common_dir)}
        env |= {ALTERNATES: _quote_path(objects), "GIT_NO_LAZY_FETCH": "1"}
        result = run_git(args, cwd=self.common_dir, env=env, stdin=stdin)
        if result.code not in ok:
            raise explain_failure(args, result)
        return result

    def read_object(self, revision: str, bytes_max: int = OBJECT_BYTES_MAX) -> GitObject | None:
        """An object of any kind, None if missing; the content of a too large one is empty."""
        try:
            return self.batch.read_object(revision, bytes_max)
        except Fault as fault:
            raise _explain_fault(fault, self.common_dir) from fault

    def look_up(self, *revisions: str) -> list[GitObject | None]:
        """The object of each revision without its content, None where there is none."""
        try:
            return self.batch.look_up(revisions)
        except Fault as fault:
            raise _explain_fault(fault, self.common_dir) from fault

    def read_commits(self, revisions: Sequence[str]) -> dict[str, tuple[str, bytes]]:
        """The id and the text of each revision that is a commit."""
        try:
            return self.batch.read_commits(revisions)
        except Fault as fault:
            raise _explain_fault(fault, self.common_dir) from fault

    def read_tree_ids(self, *revisions: str) -> list[str]:
        """The tree of each revision that has one."""
        try:
            return self.batch.read_tree_ids(*revisions)
        except Fault as fault:
            raise _explain_fault(fault, self.common_dir) from fault

    def read_refs(self, *names: str) -> list[str]:
        """The object of each ref, empty where it does not exist."""
        try:
            return self.batch.read_refs(*names)
        except Fault as fault:
            raise _explain_fault(fault, self.common_dir) from fault

    @cached_property
    def batch(self) -> GitBatch:
        return _open_batch(self.common_dir, frozenset(self._environment.items()))

    def read_text(
        self, *args: str, at: GitLocation | None = None, stdin: bytes | None = None
    ) -> str:
        return _text(self.run(*args, at=at, stdin=stdin).out).strip()

    def succeeds(self, *args: str) -> bool:
        """Run a command that answers by its exit code: 0 for yes, 1 for no."""
        return self.run(*args, ok=(0, 1)).code == 0

    def read_names(self, *args: str, at: GitLocation | None = None) -> list[str]:
        """The paths that the command prints; it must print them with `-z`."""
        return [os.fsdecode(name) for name in self.run(*args, at=at).out.split(b"\0") if name]

    @cached_property
    def identity(self) -> tuple[str, str]:
        """Name and email for yaoki's commits: the user's own if they are configured."""
        result = run_git(
            ["config", "-z", "--get-regexp", r"^user\.(name|email)$"],
            cwd=self.common_dir,
            env=self._environment | {"GIT_DIR": str(self.common_dir)},
        )
        pairs = (entry.partition("\n") for entry in _text(result.out).split("\0"))
        settings = {key: value for key, _, value in pairs if value.strip()}
        name, email = DEFAULT_IDENTITY
        return settings.get("user.name", name), settings.get("user.email", email)

    @cached_property
    def _identity_variables(self) -> dict[str, str]:
        name, email = self.identity
        roles = ("AUTHOR", "COMMITTER")
        return {f"GIT_{role}_NAME": name for role in roles} | {
            f"GIT_{role}_EMAIL": email for role in roles
        }

    def _variables(self, at: GitLocation | None, *, with_author: bool) -> dict[str, str]:
        location = at or GitLocation(self.common_dir)
        variables = {"GIT_DIR": str(location.git_dir)}
        if location.git_dir != self.common_dir:
            variables["GIT_COMMON_DIR"] = str(self.common_dir)
        if location.work_tree:
            variables["GIT_WORK_TREE"] = str(location.work_tree)
        if location.index:
            variables["GIT_INDEX_FILE"] = str(location.index)
        variables |= self._environment | (self._identity_variables if with_author else {})
        if location.work_tree is None:
            return variables
        return variables | self._filter_variables(location.work_tree, variables)

    def _filter_variables(self, files: Path, env: Mapping[str, str]) -> dict[str, str]:
        if self._filters is None:
            return {}
        settings = self._filter_settings.read(env)
        return as_variables(self._filters.overrides(settings, files, env))

    def _remove_stale_lock(self, lock: Path) -> bool:
        """Remove a lock that a killed process of yaoki's left; never one of the user's git."""
        refs = self.common_dir / "refs"
        own = (refs / "yaoki", refs / "heads" / "yaoki", self.common_dir / "worktrees")
        if not any(lock.is_relative_to(folder) for folder in own):
            return False
        try:
            age = datetime.now(UTC).timestamp() - lock.stat().st_mtime
        except FileNotFoundError:
            return True
        if age > STALE_LOCK_S:
            lock.unlink(missing_ok=True)
        return age > STALE_LOCK_S


def explain_failure(args: Sequence[str], result: CommandResult) -> WorkspaceError:
    """The error of a failed command, with a hint for people."""
    stderr = _text(result.err).strip()
    sentence = f"git {args[0]} failed"
    if lock := LOCKED.search(stderr):
        hint = f"if no git is running here: rm {shlex.quote(lock[1])}"
        return GitFailed(f"{sentence}: {lock[1]} is locked", transient=True, hint=hint)
    if DISK_FULL.search(stderr):
        return DiskFull(f"{sentence}: the disk is full")
    if checkout := CHECKED_OUT.search(stderr):
        return GitFailed(
            f"{sentence}: its branch is checked out at {checkout[1]}",
            hint=f"release it there: git -C {shlex.quote(checkout[1])} switch --detach",
        )
    if "'refs/heads/yaoki' exists" in stderr:
        return RepositoryUnusable(
            "a branch named 'yaoki' is in the way of run branches, which are named yaoki/<run>",
            hint="git branch -m yaoki another-name",
        )
    transient = bool(TRANSIENT.search(stderr)) or result.code < 0
    detail = _most_telling_line(stderr) or f"code {result.code}"
    return GitFailed(f"{sentence}: {detail}", transient=transient)


def _most_telling_line(stderr: str) -> str:
    """The last line of git's own errors, else the last line."""
    lines = [line for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return LONG_WORD.sub(lambda hit: short_path(hit[0]), (errors or lines or [""])[-1])[:500]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")
