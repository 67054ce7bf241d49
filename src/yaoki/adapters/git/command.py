"""The one way to git: safe settings, a clean environment, bounded time, failures sorted."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path

from yaoki.adapters.git.batch import OBJECT_BYTES_MAX, GitBatch, GitObject
from yaoki.adapters.git.filters import Filters, FilterSettings, as_variables
from yaoki.adapters.processes.command import CommandResult, run_command
from yaoki.adapters.system.clock import SystemClock
from yaoki.adapters.system.files import free_disk_bytes, read_plain_bytes
from yaoki.core.display import short_path
from yaoki.core.environment import BASIC_VARIABLES, filter_environment, rooted
from yaoki.errors import DiskFull, Fault, GitFailed, GitMissing, RepositoryUnusable, WorkspaceError

# An agent can write the repository's config, and config is code: nothing in it may start a
# program during our calls, and nothing may depend on how the user likes to see things.
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
    # What an index remembers of a file must tell every change of it.
    "core.checkStat=default",
    "core.trustctime=true",
    "core.ignoreStat=false",
    "advice.addEmbeddedRepo=false",
    # A folder that is tracked can be a git folder too, with settings that came with it.
    "safe.bareRepository=explicit",
)
ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    # A replaced object would be proven in place of the one that lands.
    "GIT_NO_REPLACE_OBJECTS": "1",
    # A missing object is missing: no call that works here starts a program that fetches it.
    "GIT_NO_LAZY_FETCH": "1",
}
CONFIG_BYTES_MAX = 1 << 20
# What git and its own programs need to find settings and to reach other machines.  A filter that
# an agent planted would read the rest as well.
NEEDED = (
    *BASIC_VARIABLES,
    *("LANGUAGE", "TZ", "XDG_*", "LD_LIBRARY_PATH", "LOCALE_ARCHIVE", "DBUS_SESSION_BUS_ADDRESS"),
    *("SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "DISPLAY"),
    *("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"),
    *("no_proxy", "NO_PROXY", "SSL_CERT_*", "CURL_CA_BUNDLE", "NIX_SSL_CERT_FILE", "KRB5*"),
)
TIMEOUT = timedelta(minutes=10)
# Of a kept git: everybody else waits meanwhile.
ANSWER = timedelta(seconds=30)
LOCK_PAUSES_S = (0.02, 0.05, 0.1, 0.25)
STALE_S = 10.0
DEFAULT_IDENTITY = ("yaoki", "yaoki@localhost")

FULL = re.compile(r"No space left on device|Disk quota exceeded|Out of diskspace")
# git does not say why; whoever reads it may look.
UNWRITTEN = re.compile(r"couldn't write|unable to write|cannot (?:update|lock) ref")
ROOM_MIN = 1 << 20
TAKEN = re.compile(r"already (?:checked out|used by worktree) at '(.+?)'")
# What was just written and is not there any more, somebody cleaned away: it is written again.
PASSING = re.compile(
    r"Resource temporarily unavailable|error building trees|bad object|invalid object"
    r"|unable to read (?:tree|object)|is not a valid object"
    # A worktree that somebody deletes while git makes it.
    r"|not a git repository: '.+/\.git'|Unable to read current working directory"
)
# A path of an agent's that nobody reads to its end.
LONG = re.compile(r"\S{200,}")
LOCKED = re.compile(r"Unable to create '(.+?\.lock)': File exists", re.DOTALL)


@dataclass(frozen=True, slots=True)
class GitLocation:
    """Where a command works: which git folder, which files, which index.

    Always said and never discovered, so a `.git` an agent removed or bent has no say.
    """

    git_dir: Path
    work_tree: Path | None = None
    index: Path | None = None


def git_environment(given: Mapping[str, str] | None = None) -> dict[str, str]:
    """What git needs of the caller's environment, and none of its GIT_ variables."""
    return rooted(filter_environment(os.environ if given is None else given, NEEDED)) | ENVIRONMENT


def remote_environment(given: Mapping[str, str] | None = None) -> dict[str, str]:
    """For a call to a remote: all but GIT_ variables, for a credential helper may need any."""
    return rooted(filter_environment(os.environ if given is None else given, ("*",))) | ENVIRONMENT


def run_git(
    args: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: bytes | None = None,
    timeout: timedelta = TIMEOUT,
) -> CommandResult:
    """Start git once, whatever comes of it."""
    try:
        return run_command(_argv(args), cwd=cwd, env=env, timeout=timeout, input=stdin)
    except Fault as fault:
        raise _unstarted(fault, cwd) from fault


def _argv(args: Sequence[str]) -> list[str]:
    settings = [word for setting in SETTINGS for word in ("-c", setting)]
    return ["git", *settings, *args]


def _unstarted(fault: Fault, cwd: Path) -> WorkspaceError:
    if fault.code == "RESOURCE_NOT_FOUND" and cwd.is_dir():
        return GitMissing("git is not installed", hint="install git 2.38 or newer")
    if fault.code == "RESOURCE_NOT_FOUND":
        # Somebody deleted it meanwhile: whoever repeats the stage makes a worktree again.
        return GitFailed(f"there is no folder {cwd} any more", transient=True)
    return GitFailed(fault.sentence, transient=fault.transient, hint=fault.hint)


def is_partial(common_dir: Path) -> bool:
    """Did its user clone it without all objects, before any agent could have said so?"""
    held = read_plain_bytes(common_dir / "config", CONFIG_BYTES_MAX) or b""
    return re.search(rb"^\s*(?:partialclone|promisor)\s*=", held.lower(), re.MULTILINE) is not None


class Git:
    """git on one repository."""

    def __init__(
        self,
        common_dir: Path,
        environ: Mapping[str, str] | None = None,
        filters: Filters | None = None,
    ) -> None:
        """`filters` holds those of the user off from files that agents write."""
        self.common_dir, self._filters = common_dir, filters
        self._filter_settings = FilterSettings(
            common_dir, lambda args, env: run_git(args, cwd=common_dir, env=env)
        )
        self._environment = git_environment(environ)
        if is_partial(common_dir):
            del self._environment["GIT_NO_LAZY_FETCH"]
        self._clock = SystemClock()

    def run(
        self,
        *args: str,
        at: GitLocation | None = None,
        stdin: bytes | None = None,
        ok: Sequence[int] = (0,),
    ) -> CommandResult:
        """Run a command; a lock that somebody holds is waited for, a little."""
        cwd, env = (at.work_tree if at else None) or self.common_dir, self._variables(at)
        for pause in (*LOCK_PAUSES_S, None):
            done = run_git(args, cwd=cwd, env=env, stdin=stdin)
            if done.code in ok:
                return done
            lock = LOCKED.search(_text(done.err))
            if lock is None or pause is None:
                break
            if not self._break(Path(lock[1])):
                self._clock.sleep(timedelta(seconds=pause))
        if UNWRITTEN.search(_text(done.err)) and free_disk_bytes(self.common_dir) < ROOM_MIN:
            raise DiskFull(f"git {args[0]} failed: the disk of {self.common_dir} is full")
        raise explain_failure(args, done)

    def run_with_objects(
        self, objects: Path, *args: str, stdin: bytes | None = None, ok: Sequence[int] = (0,)
    ) -> CommandResult:
        """Run a command that also sees the objects of another folder, and nothing else of it."""
        env = self._environment | self._roles | {"GIT_DIR": str(self.common_dir)}
        env |= {"GIT_ALTERNATE_OBJECT_DIRECTORIES": str(objects), "GIT_NO_LAZY_FETCH": "1"}
        done = run_git(args, cwd=self.common_dir, env=env, stdin=stdin)
        if done.code not in ok:
            raise explain_failure(args, done)
        return done

    def read_object(self, revision: str, bytes_max: int = OBJECT_BYTES_MAX) -> GitObject | None:
        """An object of any kind, None where there is none; one that is too large comes empty."""
        try:
            return self.batch.read_object(revision, bytes_max)
        except Fault as fault:
            raise _unstarted(fault, self.common_dir) from fault

    def look_up(self, *revisions: str) -> list[GitObject | None]:
        """What stands under each of these names, without its content; None where there is none."""
        try:
            return self.batch.look_up(revisions)
        except Fault as fault:
            raise _unstarted(fault, self.common_dir) from fault

    @cached_property
    def batch(self) -> GitBatch:
        return GitBatch(self.common_dir, self._environment, _argv, ANSWER)

    def read_text(
        self, *args: str, at: GitLocation | None = None, stdin: bytes | None = None
    ) -> str:
        return _text(self.run(*args, at=at, stdin=stdin).out).strip()

    def succeeds(self, *args: str) -> bool:
        """For commands that answer by their exit code: 0 yes, 1 no."""
        return self.run(*args, ok=(0, 1)).code == 0

    def read_names(self, *args: str, at: GitLocation | None = None) -> list[str]:
        """Paths as the file system knows them; the command must print them with `-z`."""
        return [os.fsdecode(name) for name in self.run(*args, at=at).out.split(b"\0") if name]

    @cached_property
    def identity(self) -> tuple[str, str]:
        """The name and the address that stand on our commits: the user's own, if they have one."""
        done = run_git(
            ["config", "-z", "--get-regexp", r"^user\.(name|email)$"],
            cwd=self.common_dir,
            env=self._environment | {"GIT_DIR": str(self.common_dir)},
        )
        pairs = (entry.partition("\n") for entry in _text(done.out).split("\0"))
        found = {key: value for key, _, value in pairs if value.strip()}
        name, email = (
            found.get("user.name", DEFAULT_IDENTITY[0]),
            found.get("user.email", DEFAULT_IDENTITY[1]),
        )
        return name, email

    @cached_property
    def _roles(self) -> dict[str, str]:
        name, email = self.identity
        roles = ("AUTHOR", "COMMITTER")
        return {f"GIT_{role}_NAME": name for role in roles} | {
            f"GIT_{role}_EMAIL": email for role in roles
        }

    def _variables(self, at: GitLocation | None) -> dict[str, str]:
        site = at or GitLocation(self.common_dir)
        variables = {"GIT_DIR": str(site.git_dir)}
        if site.git_dir != self.common_dir:
            variables["GIT_COMMON_DIR"] = str(self.common_dir)
        if site.work_tree:
            variables["GIT_WORK_TREE"] = str(site.work_tree)
        if site.index:
            variables["GIT_INDEX_FILE"] = str(site.index)
        variables |= self._environment | self._roles
        return (
            variables | self._held_off(site.work_tree, variables) if site.work_tree else variables
        )

    def _held_off(self, files: Path, env: Mapping[str, str]) -> dict[str, str]:
        if self._filters is None:
            return {}
        return as_variables(self._filters.told(self._filter_settings.now(env), files, env))

    def _break(self, lock: Path) -> bool:
        """Remove a lock a killed process of ours left; never one the user's git may hold."""
        refs = self.common_dir / "refs"
        own = (refs / "yaoki", refs / "heads" / "yaoki", self.common_dir / "worktrees")
        if not any(lock.is_relative_to(folder) for folder in own):
            return False
        try:
            age = datetime.now(UTC).timestamp() - lock.stat().st_mtime
        except FileNotFoundError:
            return True
        if age > STALE_S:
            lock.unlink(missing_ok=True)
        return age > STALE_S


def explain_failure(args: Sequence[str], done: CommandResult) -> WorkspaceError:
    """What a failed command means to a person."""
    said = _text(done.err).strip()
    what = f"git {args[0]} failed"
    if lock := LOCKED.search(said):
        hint = f"if no git is running here: rm {lock[1]}"
        return GitFailed(f"{what}: {lock[1]} is held", transient=True, hint=hint)
    if FULL.search(said):
        return DiskFull(f"{what}: the disk is full")
    if taken := TAKEN.search(said):
        return GitFailed(
            f"{what}: its branch is checked out at {taken[1]}",
            hint=f"release it there: git -C {taken[1]} switch --detach",
        )
    if "'refs/heads/yaoki' exists" in said:
        return RepositoryUnusable(
            "a branch named 'yaoki' stands where the branches of runs must go",
            hint="git branch -m yaoki another-name",
        )
    passing = bool(PASSING.search(said)) or done.code < 0
    return GitFailed(f"{what}: {_line(said) or f'code {done.code}'}", transient=passing)


def _line(said: str) -> str:
    """The line that tells most: git's own verdict, else the last one."""
    lines = [line for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return LONG.sub(lambda hit: short_path(hit[0]), (telling or lines or [""])[-1])[:500]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")
