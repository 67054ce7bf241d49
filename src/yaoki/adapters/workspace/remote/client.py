"""Calls to the remote: read exact refs, fetch, push with expected old values.

Every call has a timeout and a few retries when the remote does not answer.  Failures are
classified: not reached (retry later), refused (another machine was faster), forbidden (a person
must act).
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path

from yaoki.adapters.git.command import Git, remote_environment, run_git
from yaoki.adapters.git.refs import RefMove
from yaoki.adapters.processes.command import CommandResult
from yaoki.adapters.system.clock import SystemClock
from yaoki.adapters.workspace.remote.address import RemoteAddress
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.text import one_line, strip_terminal_codes
from yaoki.errors import GitFailed, RemoteUnreachable

PAUSES_S = (0.1, 0.3, 0.6)
# No retry after this time: the stage is repeated later anyway.
RETRY_TIME = timedelta(seconds=10)
FETCH_TIMEOUT = timedelta(minutes=2)
PUSH_TIMEOUT = timedelta(minutes=10)
REFSPECS_MAX = 200
MESSAGE_MAX = 300
HOOK_PREFIX = "remote:"
NONEXISTENT_REF = "refs/yaoki/nowhere"

FETCH = ("fetch", "-q", "--no-tags", "--no-prune", "--recurse-submodules=no", "--no-auto-gc")
PUSH = ("push", "--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no")
MISSING = lazy_compile(r"couldn't find remote ref (\S+)")
FETCHED = lazy_compile(r"([0-9a-f]{40,64})\t[^\t]*\t(?:(branch|tag) )?'([^']+)' of ")
ROW = lazy_compile(r"([ +\-*=!])\t[^\t]*?:(\S+)\t(.*)")
# The server's words for a lack of permission; anything else is a race, or a lock of the server.
FORBIDDEN = lazy_compile(r"hook declined|protected|prohibited|denied|not allowed|hidden ref|funny")
# Waiting does not help: this machine needs credentials.
NO_ACCESS = lazy_compile(
    r"Authentication failed|could not read (?:Username|Password)|Permission denied|"
    r"Host key verification failed|unsupported protocol|transport '\S+' not allowed"
)


@dataclass(frozen=True, slots=True)
class PushOutcome:
    """The refs that a push did not move, each with the server's reason.

    `hook_output` is what the server's hooks printed.
    """

    refused: Mapping[str, str]
    hook_output: str = ""

    @property
    def forbidden_reason(self) -> str:
        return next((each for each in self.refused.values() if FORBIDDEN.search(each)), "")

    def reason_for(self, ref: str) -> str:
        """The reason why this ref was not moved, with the output of the server's hooks."""
        reason = self.refused[ref]
        return f"{reason}: {self.hook_output}" if self.hook_output else reason


class RemoteClient:
    """Talks git's own protocol to one remote repository."""

    def __init__(self, git: Git, address: RemoteAddress) -> None:
        self._git, self.address, self._clock = git, address, SystemClock()
        # The reason why the remote did not answer the last call; empty when it did.
        self.problem = ""

    def check_reachable(self) -> None:
        """Fetch a ref that does not exist: any answer shows that the remote is reachable."""
        self.fetch_refs([NONEXISTENT_REF])

    def fetch_refs(self, refs: Sequence[str]) -> dict[str, str]:
        """Fetch these refs; returns the commits of those that exist."""
        names = list(dict.fromkeys(refs))
        while names:
            heads, missing = self._fetch(names)
            if not missing:
                return heads
            names = [ref for ref in names if ref != missing]
        return {}

    def fetch_matching(self, *patterns: str) -> dict[str, str]:
        """Fetch the refs of these patterns; returns their commits."""
        return self._fetch([f"+{each}:refs/worktree/{n}/*" for n, each in enumerate(patterns)])[0]

    def fetch_commits(self, commits: Sequence[str]) -> None:
        """Fetch commits by their ids."""
        self._fetch(commits)

    def _fetch(self, specs: Sequence[str]) -> tuple[dict[str, str], str]:
        """Fetch in a private git folder, so that no other process writes its FETCH_HEAD."""
        with tempfile.TemporaryDirectory(prefix="yaoki-") as name:
            folder = Path(name)
            (folder / "HEAD").write_text("ref: refs/heads/yaoki-none\n", encoding="ascii")
            result = self._call((*FETCH, self.address.alias, *specs), folder, FETCH_TIMEOUT)
            error = _text(result.err)
            if missing := MISSING.search(error):
                return {}, missing[1]
            if result.code != 0:
                raise self._unreachable(error)
            file = folder / "FETCH_HEAD"
            return dict(_parse_fetch_head(file.read_text("utf-8") if file.is_file() else "")), ""

    def push(
        self, *moves: RefMove, atomic: bool = True, force: Collection[str] = ()
    ) -> PushOutcome:
        """Move refs at the remote, each from its required old value; `atomic`: all or none.

        A move without a required value (`old` is None) is forced when atomic; otherwise it must
        be a fast-forward, unless the ref is in `force`.
        """
        refused: dict[str, str] = {}
        hook_output = ""
        batch_size = len(moves) if atomic else REFSPECS_MAX
        for start in range(0, len(moves), batch_size):
            outcome = self._push(moves[start : start + batch_size], atomic, force)
            refused |= outcome.refused
            hook_output = hook_output or (outcome.hook_output if outcome.refused else "")
        return PushOutcome(refused, hook_output)

    def _push(self, moves: Sequence[RefMove], atomic: bool, force: Collection[str]) -> PushOutcome:
        leases = [f"--force-with-lease={m.ref}:{m.old}" for m in moves if m.old is not None]
        forced = {m.ref for m in moves if atomic and m.old is None}.union(force)
        specs = [f"{'+' if m.ref in forced else ''}{m.new}:{m.ref}" for m in moves]
        options = ("--atomic",) if atomic else ()
        args = (*PUSH, *options, *leases, self.address.alias, *specs)
        result = self._call(args, None, PUSH_TIMEOUT)
        refused = dict(_parse_refused(_text(result.out)))
        if result.code != 0 and not refused:
            raise self._unreachable(_text(result.err))
        return PushOutcome(refused, self.address.mask(_hook_lines(_text(result.err))))

    def _call(self, args: Sequence[str], folder: Path | None, timeout: timedelta) -> CommandResult:
        """Run git, with retries while the remote does not answer."""
        self.address.refuse_changed_settings(self._git)
        env = {**remote_environment(), **self.address.environment}
        env |= {"GIT_DIR": str(folder or self._git.common_dir)}
        if folder:
            env |= {"GIT_COMMON_DIR": str(self._git.common_dir)}
        deadline = self._clock.now() + RETRY_TIME
        for pause in (*PAUSES_S, None):
            result = self._run(args, env, timeout)
            if not _is_unanswered(result):
                self.problem = ""
                return result
            if pause is None or self._clock.now() > deadline:
                return result
            self.sleep_with_jitter(pause)
        raise AssertionError("the last pause is None")

    def _run(
        self, args: Sequence[str], env: Mapping[str, str], timeout: timedelta
    ) -> CommandResult:
        try:
            return run_git(args, cwd=self._git.common_dir, env=env, timeout=timeout)
        except GitFailed as error:
            if error.transient:
                raise self._unreachable(f"fatal: {error.sentence}") from error
            raise

    def sleep_with_jitter(self, seconds: float) -> None:
        """Random, so that machines that collided once do not collide again."""
        self._clock.sleep(timedelta(seconds=seconds * (0.5 + self._clock.chance())))

    def _unreachable(self, stderr: str) -> GitFailed:
        lines = [line.strip() for line in stderr.splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith(("fatal:", "error:", "ssh:"))]
        detail = self.address.mask((errors or lines or ["no answer"])[0])[:MESSAGE_MAX]
        sentence = f"the remote {self.address.display_name} cannot be used: {detail}"
        hint = f"git ls-remote {self.address.display_name}"
        if NO_ACCESS.search(stderr):
            return GitFailed(sentence, hint=hint)
        self.problem = sentence
        return RemoteUnreachable(sentence, hint=hint)


def _is_unanswered(result: CommandResult) -> bool:
    error = _text(result.err)
    return result.code == 128 and not MISSING.search(error) and not NO_ACCESS.search(error)


def _parse_fetch_head(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        if match := FETCHED.match(line):
            prefix = {"branch": "refs/heads/", "tag": "refs/tags/"}.get(match[2] or "", "")
            yield f"{prefix}{match[3]}", match[1]


def _parse_refused(text: str) -> Iterator[tuple[str, str]]:
    """The refs that were not moved, with reasons, from `git push --porcelain`."""
    for line in text.splitlines():
        match = ROW.match(line)
        if match and match[1] == "!":
            yield match[2], match[3]


def _hook_lines(text: str) -> str:
    """The output of the server's hooks, joined to one short printable line."""
    lines = strip_terminal_codes(text).split("\n")
    output = (line.removeprefix(HOOK_PREFIX) for line in lines if line.startswith(HOOK_PREFIX))
    return one_line(" ".join(output), MESSAGE_MAX)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")
