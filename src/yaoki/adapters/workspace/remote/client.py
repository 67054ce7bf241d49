"""The one way to the remote: look at exact refs, fetch, push by expected old values.

Everything is bounded in time, tried again a little when the remote does not answer, and sorted:
not reached (worth another try), refused (somebody was faster), forbidden (a person must look).
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from yaoki.adapters.git.command import Git, remote_environment, run_git
from yaoki.adapters.git.refs import RefMove
from yaoki.adapters.processes.command import CommandResult
from yaoki.adapters.system.clock import SystemClock
from yaoki.adapters.workspace.remote.address import RemoteAddress
from yaoki.core.text import one_line, strip_terminal_codes
from yaoki.errors import GitFailed, RemoteUnreachable

PAUSES_S = (0.1, 0.3, 0.6)
# Who waited this long for an answer does not ask again: the stage is repeated later anyway.
PATIENCE = timedelta(seconds=10)
LOOK_TIMEOUT = timedelta(minutes=2)
PUSH_TIMEOUT = timedelta(minutes=10)
REFSPECS_MAX = 200
SAID_MAX = 300
HOOK = "remote:"
NOWHERE = "refs/yaoki/nowhere"

FETCH = ("fetch", "-q", "--no-tags", "--no-prune", "--recurse-submodules=no", "--no-auto-gc")
PUSH = ("push", "--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no")
MISSING = re.compile(r"couldn't find remote ref (\S+)")
FETCHED = re.compile(r"([0-9a-f]{40,64})\t[^\t]*\t(?:(branch|tag) )?'([^']+)' of ")
ROW = re.compile(r"([ +\-*=!])\t[^\t]*?:(\S+)\t(.*)")
# What the server says when nobody may do this; anything else is a race, or a lock of its own.
FORBIDDEN = re.compile(r"hook declined|protected|prohibited|denied|not allowed|hidden ref|funny")
# Waiting does not help: somebody must give this machine a key.
LOCKED_OUT = re.compile(
    r"Authentication failed|could not read (?:Username|Password)|Permission denied|"
    r"Host key verification failed|unsupported protocol|transport '\S+' not allowed"
)


@dataclass(frozen=True, slots=True)
class PushOutcome:
    """What became of a push, by ref: the refs it did not move, each with the server's reason.

    `said` is what its hooks said to whoever pushes.
    """

    refused: Mapping[str, str]
    hook_output: str = ""

    @property
    def forbidden_reason(self) -> str:
        return next((why for why in self.refused.values() if FORBIDDEN.search(why)), "")

    def reason_for(self, ref: str) -> str:
        """Why this ref was not moved, with the server's own words."""
        reason = self.refused[ref]
        return f"{reason}: {self.hook_output}" if self.hook_output else reason


class RemoteClient:
    """git's own protocol to one other repository, through the objects of this one."""

    def __init__(self, git: Git, address: RemoteAddress) -> None:
        self._git, self.address, self._clock = git, address, SystemClock()
        # What the last call met when nobody answered; empty since somebody did.
        self.problem = ""

    def check_reachable(self) -> None:
        """Ask for what is not there: only whether somebody says so counts."""
        self.fetch_refs([NOWHERE])

    def fetch_refs(self, refs: Sequence[str]) -> dict[str, str]:
        """Where these refs are, without those that are not there; their commits are then here."""
        wanted = list(dict.fromkeys(refs))
        while wanted:
            found, missing = self._fetch(wanted)
            if not missing:
                return found
            wanted = [ref for ref in wanted if ref != missing]
        return {}

    def fetch_matching(self, *patterns: str) -> dict[str, str]:
        """Where the refs of these patterns are; their commits are then here."""
        return self._fetch([f"+{each}:refs/worktree/{n}/*" for n, each in enumerate(patterns)])[0]

    def fetch_commits(self, commits: Sequence[str]) -> None:
        """Bring commits that no ref of ours names."""
        self._fetch(commits)

    def _fetch(self, specs: Sequence[str]) -> tuple[dict[str, str], str]:
        """A git folder of its own: what was fetched is written to a file nobody else has."""
        with tempfile.TemporaryDirectory(prefix="yaoki-") as place:
            folder = Path(place)
            (folder / "HEAD").write_text("ref: refs/heads/yaoki-none\n", encoding="ascii")
            done = self._call((*FETCH, self.address.alias, *specs), folder, LOOK_TIMEOUT)
            said = _text(done.err)
            if missing := MISSING.search(said):
                return {}, missing[1]
            if done.code != 0:
                raise self._unreached(said)
            file = folder / "FETCH_HEAD"
            return dict(_fetched(file.read_text("utf-8") if file.is_file() else "")), ""

    def push(
        self, *moves: RefMove, atomic: bool = True, force: Collection[str] = ()
    ) -> PushOutcome:
        """Move refs there, each from where it must be; `atomic`: all or none.

        A move from anywhere (`old` is None) is made whatever stands there when all else holds;
        without `atomic` it only ever goes forward, unless it is in `force`.
        """
        refused: dict[str, str] = {}
        said = ""
        bound = len(moves) if atomic else REFSPECS_MAX
        for at in range(0, len(moves), bound):
            outcome = self._push(moves[at : at + bound], atomic, force)
            refused |= outcome.refused
            said = said or (outcome.hook_output if outcome.refused else "")
        return PushOutcome(refused, said)

    def _push(self, moves: Sequence[RefMove], atomic: bool, force: Collection[str]) -> PushOutcome:
        leases = [f"--force-with-lease={m.ref}:{m.old}" for m in moves if m.old is not None]
        forced = {m.ref for m in moves if atomic and m.old is None}.union(force)
        specs = [f"{'+' if m.ref in forced else ''}{m.new}:{m.ref}" for m in moves]
        whole = ("--atomic",) if atomic else ()
        args = (*PUSH, *whole, *leases, self.address.alias, *specs)
        done = self._call(args, None, PUSH_TIMEOUT)
        rows = dict(_rows(_text(done.out)))
        if done.code != 0 and not rows:
            raise self._unreached(_text(done.err))
        return PushOutcome(rows, self.address.mask(_told(_text(done.err))))

    def _call(self, args: Sequence[str], folder: Path | None, timeout: timedelta) -> CommandResult:
        """Try again when nobody answers; an answer, whatever it is, is for the caller."""
        self.address.refuse_changed_settings(self._git)
        env = {**remote_environment(), **self.address.environment}
        env |= {"GIT_DIR": str(folder or self._git.common_dir)}
        if folder:
            env |= {"GIT_COMMON_DIR": str(self._git.common_dir)}
        give_up = self._clock.now() + PATIENCE
        for pause in (*PAUSES_S, None):
            done = self._invoked(args, env, timeout)
            if not _unanswered(done):
                self.problem = ""
                return done
            if pause is None or self._clock.now() > give_up:
                return done
            self.sleep_with_jitter(pause)
        raise AssertionError("the last pause is none")

    def _invoked(
        self, args: Sequence[str], env: Mapping[str, str], timeout: timedelta
    ) -> CommandResult:
        try:
            return run_git(args, cwd=self._git.common_dir, env=env, timeout=timeout)
        except GitFailed as failed:
            if failed.transient:
                raise self._unreached(f"fatal: {failed.sentence}") from failed
            raise

    def sleep_with_jitter(self, seconds: float) -> None:
        """With dice, so that those who met once do not meet again."""
        self._clock.sleep(timedelta(seconds=seconds * (0.5 + self._clock.chance())))

    def _unreached(self, said: str) -> GitFailed:
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        telling = [line for line in lines if line.startswith(("fatal:", "error:", "ssh:"))]
        words = self.address.mask((telling or lines or ["no answer"])[0])[:SAID_MAX]
        sentence = f"the remote {self.address.display_name} cannot be used: {words}"
        hint = f"git ls-remote {self.address.display_name}"
        if LOCKED_OUT.search(said):
            return GitFailed(sentence, hint=hint)
        self.problem = sentence
        return RemoteUnreachable(sentence, hint=hint)


def _unanswered(done: CommandResult) -> bool:
    said = _text(done.err)
    return done.code == 128 and not MISSING.search(said) and not LOCKED_OUT.search(said)


def _fetched(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        if found := FETCHED.match(line):
            folder = {"branch": "refs/heads/", "tag": "refs/tags/"}.get(found[2] or "", "")
            yield f"{folder}{found[3]}", found[1]


def _rows(text: str) -> Iterator[tuple[str, str]]:
    """The refs that were not moved; without any row nobody answered."""
    for line in text.splitlines():
        found = ROW.match(line)
        if found and found[1] == "!":
            yield found[2], found[3]


def _told(text: str) -> str:
    """The lines of the server's hooks, on one line, fit to show and not too long."""
    lines = (line for line in strip_terminal_codes(text).split("\n") if line.startswith(HOOK))
    return one_line(" ".join(line.removeprefix(HOOK) for line in lines), SAID_MAX)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")
