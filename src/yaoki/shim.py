"""Owns one agent's process tree: the agent outlives its worker, and nothing outlives the agent.

A bare script, `python -I -S shim.py FOLDER`, started in its own session.  docs/decisions/shim.md
tells the files of the folder.  Beside Linux it reads the tree from `ps`; that is not tested.
"""

# The start of this script is the start of every attempt: pathlib, dataclasses and subprocess
# would double it.
# ruff: noqa: PTH105, PTH108, PTH110, PTH112, PTH116, PTH123, PTH208

from __future__ import annotations

import errno
import fcntl
import json
import os
import select
import signal
import stat
import sys
import time
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import FrameType
    from typing import Any, NoReturn

PROC = os.path.isdir("/proc/self")
PR_SET_CHILD_SUBREAPER = 36
MARK = "YAOKI_MARK"
POLL_S_MIN, POLL_S_MAX = 0.05, 0.25
BEAT_S = 1.0
# Reading the whole process table is the dearest thing done here.
SAMPLE_S_MIN, SAMPLE_S_MAX = 0.1, 5.0
# A machine that slept did not miss a renewal: at most this much counts between two looks.
AWAKE_S_MAX = 1.0
WALK_S_MAX = 2.0
KILL_S_MAX = 10.0
RECORD_S_MAX = 60.0
# What an agent or a check says, as others will read it; what is short comes first.
SAID = (
    *("result.json", "answer.json", "err.log", "out.log", "report.xml"),
    *("trajectory.json", "aider.input", "aider.chat.md", "vibe/export.json"),
)
PIECE_BYTES = 1 << 20
STARS_S_MAX = 20.0


# ------------------------------------------------------------------ files


def say(words: str) -> None:
    """To shim.log, which lies on the same disk: when that is full, silence must do."""
    with suppress(OSError):
        print(words, file=sys.stderr, flush=True)


def record(name: str, facts: dict[str, Any], *, durable: bool = True) -> None:
    """Write a file of the folder whole or not at all; `durable` survives a power cut too."""
    temporary = f"{name}.tmp"
    discard(temporary)
    # Made anew, so that no link the agent laid there is followed.
    with open(temporary, "x", encoding="utf-8") as file:
        json.dump(facts, file)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    os.replace(temporary, name)
    if durable:
        folder = os.open(".", os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)


def record_exit(facts: dict[str, Any]) -> None:
    """The exit is the one fact nobody can find out again: wait a bounded time for a full disk."""
    give_up = time.monotonic() + RECORD_S_MAX
    while True:
        try:
            return record("exit.json", facts)
        except OSError as error:
            if time.monotonic() > give_up:
                raise
            say(f"exit.json: {error}; trying again")
            time.sleep(POLL_S_MAX)


def discard(name: str) -> None:
    if os.path.lexists(name):
        os.unlink(name)


def take_lock() -> bool:
    """Hold the folder until this process ends; no child inherits the descriptor."""
    try:
        fcntl.flock(os.open("lock", os.O_RDWR | os.O_CREAT, 0o600), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


# ------------------------------------------------------------------ the process table


def stat_fields(pid: int | str) -> list[str]:
    """/proc/PID/stat from the state on: the name before it may hold blanks and brackets."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return file.read().rpartition(")")[2].split()


def proc_table() -> dict[int, tuple[int, float]]:
    """Parent and CPU seconds, with those of waited-for children, of every process."""
    table, tick = {}, os.sysconf("SC_CLK_TCK")
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                fields = stat_fields(name)
            except (FileNotFoundError, ProcessLookupError):
                continue
            table[int(name)] = (int(fields[1]), sum(map(int, fields[11:15])) / tick)
    return table


def ps_table() -> dict[int, tuple[int, float]]:
    """The same from ps, itself left out; its times read [[days-]hours:]minutes:seconds."""
    import subprocess

    argv = ["ps", "-axo", "pid=,ppid=,time="]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as ps:
        rows = [line.split() for line in ps.stdout or ()]
    table = {}
    for pid, parent, used in rows:
        days, _, clock = used.rpartition("-")
        parts = enumerate(reversed(clock.split(":")))
        seconds = int(days or 0) * 86400 + sum(float(part) * 60**power for power, part in parts)
        if int(pid) != ps.pid:
            table[int(pid)] = (int(parent), seconds)
    return table


def tree() -> dict[int, float]:
    """Every process below this one, with its CPU seconds; as subreaper we lose none."""
    table = proc_table() if PROC else ps_table()
    children: dict[int, list[int]] = {}
    for pid, (parent, _) in table.items():
        children.setdefault(parent, []).append(pid)
    found, todo = {}, [os.getpid()]
    while todo:
        for pid in children.get(todo.pop(), ()):
            found[pid] = table[pid][1]
            todo.append(pid)
    return found


def become_subreaper() -> None:
    """Let orphans of the tree become our children instead of init's; Linux only."""
    if PROC:
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


# ------------------------------------------------------------------ signals


class Bell:
    """Sleeps until a signal rings or the time is over."""

    def __init__(self) -> None:
        self.asked = False
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        self._reader, writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, self._ring)
        signal.signal(signal.SIGTERM, self._ring)

    def _ring(self, number: int, _: FrameType | None) -> None:
        self.asked = self.asked or number == signal.SIGTERM

    def wait(self, seconds: float) -> None:
        if select.select([self._reader], [], [], max(seconds, 0.0))[0]:
            os.read(self._reader, 4096)


def send(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue  # gone meanwhile, or another user's; the next look at the tree tells


# ------------------------------------------------------------------ the agent


class Agent:
    """The child in its own session, and whatever it leaves to us."""

    def __init__(self, launch: dict[str, Any], mark: str) -> None:
        self.started = time.monotonic()
        self.status: int | None = None
        self.group = 0
        self.start_errno, self.start_error = 0, ""
        self._out = os.open("out.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._err = os.open("err.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._launch = {**launch, "env": {**launch["env"], MARK: mark}}

    def start(self, stdin: int) -> None:
        """Fork and exec.  The pipe closes on exec; what comes through it is why that failed."""
        reader, writer = os.pipe()
        self.started = time.monotonic()
        try:
            self.group = os.fork()
        except OSError as error:
            self.start_errno, self.start_error = error.errno or 0, f"cannot fork: {error.strerror}"
            return
        if self.group == 0:
            become(self._launch, (stdin, self._out, self._err), writer)
        os.close(writer)
        with open(reader, encoding="utf-8") as told:
            if why := told.read():
                self.start_errno, self.start_error = json.loads(why)

    @property
    def running(self) -> bool:
        return self.group != 0 and self.status is None

    def output_bytes(self) -> int:
        return os.fstat(self._out).st_size + os.fstat(self._err).st_size

    def reap(self) -> None:
        """Collect every child that ended, adopted ones included."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.group:
                self.status = status

    def facts(self, ended_by: str, left: list[int]) -> dict[str, Any]:
        ended = self.status is not None and not self.start_error
        code = os.waitstatus_to_exitcode(self.status or 0)
        return {
            "code": code if ended and code >= 0 else None,
            "signal": -code if ended and code < 0 else None,
            "ended_by": ended_by,
            "seconds": time.monotonic() - self.started,
            "output_bytes": self.output_bytes(),
            "start_error": self.start_error,
            "start_errno": self.start_errno,
            "left": left,
        }


def become(launch: dict[str, Any], stdio: tuple[int, ...], writer: int) -> NoReturn:
    """In the forked child: turn into the agent, or say why not."""
    step = f"cannot enter {launch['cwd']}"
    why = (errno.EINVAL, step)
    try:
        os.setsid()
        for name in ("SIGINT", "SIGQUIT", "SIGHUP", "SIGPIPE", "SIGXFSZ"):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        for target, descriptor in enumerate(stdio):
            os.dup2(descriptor, target)
        os.chdir(launch["cwd"])
        step = f"cannot run {' '.join(launch['argv'][:1])}"
        os.execvpe(launch["argv"][0], launch["argv"], launch["env"])
    except OSError as error:
        why = (error.errno or 0, f"{step}: {error.strerror}")
    except (ValueError, TypeError, IndexError) as error:
        why = (errno.EINVAL, f"{step}: {error}")
    finally:  # whatever happened, a second shim must not go on from here
        os.write(writer, json.dumps(why).encode())
        os._exit(127)


def open_stdin(text: str | None) -> int:
    if text is None:
        return os.open(os.devnull, os.O_RDONLY)
    own = os.open("stdin", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(own, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        file.write(text)
    return os.open("stdin", os.O_RDONLY)


# ------------------------------------------------------------------ watching


class Watch:
    """Decides when the agent must be ended.  Zero for a limit means none."""

    def __init__(self, launch: dict[str, Any], agent: Agent, bell: Bell) -> None:
        self._launch, self._agent, self._bell = launch, agent, bell
        self._looked = time.monotonic()
        self._awake = self._busy = self._renewed = 0.0
        self._busy_at = time.time()
        self._beaten = self._sampled = -1e9
        self._output = 0
        self._cpu: dict[int, float] = {}
        self._lease = lease_stamp()

    def until_ended(self) -> str:
        """Wait for the end of the agent; empty when it came by itself, else why it must end."""
        pause = POLL_S_MIN
        while True:
            self._agent.reap()
            if not self._agent.running:
                return ""
            if why := self._why():
                return why
            self._beat()
            fresh = self._busy == self._awake
            pause = POLL_S_MIN if fresh else min(pause * 1.25, POLL_S_MAX)
            self._bell.wait(pause)

    def _why(self) -> str:
        self._tell_time()
        self._sample()
        limit = self._launch
        if asked := asked_to_end(self._bell):
            return asked
        if 0 < limit["deadline_s"] <= time.monotonic() - self._agent.started:
            return "deadline"
        if 0 < limit["output_bytes_max"] < self._output:
            return "output"
        if 0 < limit["lease_s"] <= self._awake - self._renewed:
            return "lease"
        return "hang" if self._hung(limit["hang_s"]) else ""

    def _tell_time(self) -> None:
        now = time.monotonic()
        self._awake += min(now - self._looked, AWAKE_S_MAX)
        self._looked = now

    def _sample(self) -> None:
        """Note renewals, output and CPU; a process that came or went is work as well."""
        lease, output = lease_stamp(), self._agent.output_bytes()
        if lease != self._lease:
            self._lease, self._renewed = lease, self._awake
        if output != self._output:
            self._output = output
            self._mark_busy()
        every = self._launch["hang_s"] / 10 or SAMPLE_S_MAX
        if self._awake - self._sampled >= min(max(every, SAMPLE_S_MIN), SAMPLE_S_MAX):
            self._sampled = self._awake
            if (cpu := tree()) != self._cpu:
                self._cpu = cpu
                self._mark_busy()

    def _mark_busy(self) -> None:
        self._busy, self._busy_at = self._awake, time.time()

    def _hung(self, hang_s: float) -> bool:
        """Quiet that long; then, and only then, look whether a file below cwd changed."""
        if not hang_s or self._awake - self._busy < hang_s:
            return False
        changed = last_change(self._launch["cwd"])
        if changed > self._busy_at:
            ago = max(time.time() - changed, 0.0)
            self._busy = max(self._busy, self._awake - ago)
            self._busy_at = changed
        return self._awake - self._busy >= hang_s

    def _beat(self) -> None:
        if self._awake - self._beaten < BEAT_S:
            return
        self._beaten = self._awake
        beat = {
            "at": time.time(),
            "seconds": time.monotonic() - self._agent.started,
            "quiet_s": self._awake - self._busy,
            "cpu_s": sum(self._cpu.values()) + sum(os.times()[2:4]),
            "out_bytes": self._output,
        }
        try:
            record("beat.json", beat, durable=False)
        except OSError as error:  # a full disk must not end the agent; the lock says it lives
            say(f"beat.json: {error}")


def lease_stamp() -> tuple[int, int]:
    """Changes with every renewal; a lease file that is gone is never renewed again."""
    try:
        facts = os.stat("lease")
    except FileNotFoundError:
        return (0, 0)
    return (facts.st_mtime_ns, facts.st_ino)


def asked_to_end(bell: Bell) -> str:
    """Why somebody wants the end: the word in the file, or a bare SIGTERM."""
    try:
        with open("end", encoding="utf-8") as file:
            return file.read(40).strip() or "stop"
    except FileNotFoundError:
        return "stop" if bell.asked else ""


def last_change(top: str) -> float:
    """The newest change of a file or folder below `top`, .git aside, as far as time allows.

    The inode's own time is taken: it cannot be set back or forward by the agent.
    """
    newest, todo, give_up = 0.0, [top], time.monotonic() + WALK_S_MAX
    while todo and time.monotonic() < give_up:
        for entry in entries_of(todo.pop()):
            newest = max(newest, change_of(entry))
            if entry.is_dir(follow_symlinks=False):
                todo.append(entry.path)
    return newest


def entries_of(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if entry.name != ".git"]
    except OSError:  # removed while we looked, or closed to us
        return []


def change_of(entry: os.DirEntry[str]) -> float:
    try:
        return entry.stat(follow_symlinks=False).st_ctime
    except FileNotFoundError:  # its folder has changed and tells it
        return 0.0


# ------------------------------------------------------------------ ending


def end_tree(agent: Agent, bell: Bell, grace_s: float) -> list[int]:
    """TERM, grace, then KILL until nothing is left; returns what no signal could end."""
    agent.reap()
    if not tree():
        return []
    # Without a subreaper an orphan leaves the tree, but seldom its group.
    group = [] if PROC else [-agent.group]
    send([*tree(), *group], signal.SIGTERM)
    give_up = time.monotonic() + grace_s + KILL_S_MAX
    empty = wait_until_empty(agent, bell, grace_s)
    while not empty and time.monotonic() < give_up:
        send([*freeze(give_up), *group], signal.SIGKILL)
        empty = wait_until_empty(agent, bell, POLL_S_MIN)
    return sorted(tree())


def freeze(give_up: float) -> set[int]:
    """Stop the tree before killing it: what is stopped starts no new processes."""
    stopped: set[int] = set()
    while (new := tree().keys() - stopped) and time.monotonic() < give_up:
        send(new, signal.SIGSTOP)
        stopped |= new
    return stopped


def wait_until_empty(agent: Agent, bell: Bell, seconds: float) -> bool:
    give_up = time.monotonic() + seconds
    while True:
        agent.reap()
        if not tree():
            return True
        if time.monotonic() >= give_up:
            return False
        bell.wait(min(POLL_S_MIN, give_up - time.monotonic()))


# ------------------------------------------------------------------ secrets


def star_all(secrets: list[str]) -> None:
    """Nobody who comes later knows the values, so they go while somebody does.

    What fails here is told in shim.log; the exit must be recorded all the same.
    """
    give_up = time.monotonic() + STARS_S_MAX
    for name in SAID if secrets else ():
        try:
            star_file(name, [os.fsencode(secret) for secret in secrets], give_up)
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:  # half a character cannot be said either
            say(f"{name} may hold secrets: {error}")


def star_file(name: str, words: list[bytes], give_up: float) -> None:
    """Only a plain file of this folder: through a link the agent could have us write anywhere."""
    file = os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        facts = os.fstat(file)
        if not stat.S_ISREG(facts.st_mode) or facts.st_nlink != 1:
            return say(f"{name} may hold secrets: it is no plain file")
        if star(file, words, give_up):
            # The time tells which channel spoke last.
            os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))
            os.fsync(file)
    finally:
        os.close(file)


def star(file: int, words: list[bytes], give_up: float) -> bool:
    """Write stars over every word, in place; the end of a piece is looked at with the next.

    `held` stays as it was said, for a word may begin inside another; `shown` has the stars.
    """
    overlap = max(map(len, words)) - 1
    begin, held, shown, changed = 0, b"", bytearray(), False
    while piece := os.pread(file, PIECE_BYTES, begin + len(held)):
        if time.monotonic() > give_up:
            raise TimeoutError(errno.ETIMEDOUT, f"not looked at beyond byte {begin}")
        held, shown = held + piece, shown + piece
        if star_words(held, shown, words):
            changed = True
            os.pwrite(file, shown, begin)
        begin += max(len(held) - overlap, 0)
        held, shown = held[-overlap:], shown[-overlap:]
    return changed


def star_words(held: bytes, shown: bytearray, words: list[bytes]) -> bool:
    found = False
    for word in words:
        at = held.find(word)
        while at >= 0:
            found = True
            shown[at : at + len(word)] = b"*" * len(word)
            at = held.find(word, at + 1)
    return found


# ------------------------------------------------------------------ the whole


def started_facts(launch: dict[str, Any], mark: str) -> dict[str, Any]:
    return {
        "pid": os.getpid(),
        "start": int(stat_fields("self")[19]) if PROC else 0,
        "boot": launch["boot"],
        "at": time.time(),
        "mark": mark,
        "grace_s": launch["grace_s"],
    }


def carry(launch: dict[str, Any], agent: Agent, stdin: int, bell: Bell) -> dict[str, Any]:
    """From the start of the agent to the end of its tree, whatever happens between."""
    ended_by, left = asked_to_end(bell), []
    try:
        if not ended_by:
            agent.start(stdin)
            discard("launch.json")
            ended_by = Watch(launch, agent, bell).until_ended()
    finally:
        left = end_tree(agent, bell, launch["grace_s"])
        star_all(launch.get("secrets", []))
    return agent.facts(ended_by, left)


def main(folder: str) -> None:
    os.chdir(folder)
    if not take_lock() or os.path.exists("started.json"):
        return
    bell = Bell()
    become_subreaper()
    with open("launch.json", encoding="utf-8") as file:
        launch = json.load(file)
    mark = os.urandom(16).hex()
    # Whatever can fail for want of space comes before the promise that the agent was started.
    agent, stdin = Agent(launch, mark), open_stdin(launch["stdin"])
    record("started.json", started_facts(launch, mark))
    facts = carry(launch, agent, stdin, bell)
    discard("launch.json")  # it holds the environment; a second starter may have left it again
    record_exit(facts)


def leave() -> None:
    """At once: until we are gone nobody believes what we recorded."""
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
    leave()
