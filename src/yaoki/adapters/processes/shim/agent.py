"""The agent process: fork, exec, reap."""

from __future__ import annotations

import errno
import json
import os
import signal
import time

from yaoki.adapters.processes.shim.files import make_temporary_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

# The name that service managers use: a check must not recognise that yaoki started it.
MARK_VARIABLE = "INVOCATION_ID"


class AgentProcess:
    """The child in its own session, and the orphans that it leaves to us."""

    def __init__(self, launch: dict[str, Any], mark: str) -> None:
        self.started_s = time.monotonic()
        self.wait_status: int | None = None
        self.process_group = 0
        self.start_errno, self.start_error, self.cwd_not_entered = 0, "", False
        self._out = os.open("out.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._err = os.open("err.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.temporary = make_temporary_folder(launch.get("temporary", ""))
        own = {MARK_VARIABLE: mark, **({"TMPDIR": self.temporary} if self.temporary else {})}
        self._launch = {**launch, "env": {**launch["env"], **own}}

    def start(self, stdin: int) -> None:
        """Fork and exec.  The pipe closes on exec; only a failure is written to it."""
        reader, writer = os.pipe()
        self.started_s = time.monotonic()
        try:
            self.process_group = os.fork()
        except OSError as error:
            self.start_errno, self.start_error = error.errno or 0, f"cannot fork: {error.strerror}"
            return
        if self.process_group == 0:
            exec_agent(self._launch, (stdin, self._out, self._err), writer)
        os.close(writer)
        with open(reader, encoding="utf-8") as pipe:
            if failure := pipe.read():
                self.start_errno, self.start_error, self.cwd_not_entered = json.loads(failure)

    @property
    def is_running(self) -> bool:
        return self.process_group != 0 and self.wait_status is None

    def output_bytes(self) -> int:
        return os.fstat(self._out).st_size + os.fstat(self._err).st_size

    def reap(self) -> bool:
        """Reaps every child that ended, adopted ones included; true if any is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.process_group:
                self.wait_status = status

    def exit_facts(self, ended_by: str, remaining_pids: list[int]) -> dict[str, Any]:
        has_exited = self.wait_status is not None and not self.start_error
        code = os.waitstatus_to_exitcode(self.wait_status or 0)
        return {
            "code": code if has_exited and code >= 0 else None,
            "signal": -code if has_exited and code < 0 else None,
            "ended_by": ended_by,
            "seconds": time.monotonic() - self.started_s,
            "output_bytes": self.output_bytes(),
            "start_error": self.start_error,
            "start_errno": self.start_errno,
            "not_entered": self.cwd_not_entered,
            "left": remaining_pids,
        }


def exec_agent(launch: dict[str, Any], stdio: tuple[int, ...], writer: int) -> NoReturn:
    """Execute the agent in the forked child, or write the reason of the failure."""
    step, cwd_not_entered = f"cannot enter {launch['cwd']}", True
    failure = (errno.EINVAL, step, cwd_not_entered)
    try:
        os.setsid()
        for name in ("SIGINT", "SIGQUIT", "SIGHUP", "SIGPIPE", "SIGXFSZ"):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        for target, descriptor in enumerate(stdio):
            os.dup2(descriptor, target)
        os.chdir(launch["cwd"])
        step, cwd_not_entered = f"cannot run {' '.join(launch['argv'][:1])}", False
        os.execvpe(launch["argv"][0], launch["argv"], launch["env"])
    except OSError as error:
        failure = (error.errno or 0, f"{step}: {error.strerror}", cwd_not_entered)
    except (ValueError, TypeError, IndexError) as error:
        failure = (errno.EINVAL, f"{step}: {error}", cwd_not_entered)
    finally:  # in any case: a second shim must not continue from here
        os.write(writer, json.dumps(failure).encode())
        os._exit(127)


def open_stdin(text: str | None) -> int:
    if text is None:
        return os.open(os.devnull, os.O_RDONLY)
    descriptor = os.open("stdin", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        file.write(text)
    return os.open("stdin", os.O_RDONLY)
