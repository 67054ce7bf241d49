"""The agent: forked, turned into its command, collected."""

from __future__ import annotations

import errno
import json
import os
import signal
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

# Named as a service manager names it: a check must not be able to tell who started it.
MARK_VARIABLE = "INVOCATION_ID"


class AgentProcess:
    """The child in its own session, and whatever it leaves to us."""

    def __init__(self, launch: dict[str, Any], mark: str) -> None:
        self.started_s = time.monotonic()
        self.wait_status: int | None = None
        self.process_group = 0
        self.start_errno, self.start_error, self.cwd_not_entered = 0, "", False
        self._out = os.open("out.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._err = os.open("err.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._launch = {**launch, "env": {**launch["env"], MARK_VARIABLE: mark}}

    def start(self, stdin: int) -> None:
        """Fork and exec.  The pipe closes on exec; what comes through it is why that failed."""
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
        with open(reader, encoding="utf-8") as told:
            if why := told.read():
                self.start_errno, self.start_error, self.cwd_not_entered = json.loads(why)

    @property
    def is_running(self) -> bool:
        return self.process_group != 0 and self.wait_status is None

    def output_bytes(self) -> int:
        return os.fstat(self._out).st_size + os.fstat(self._err).st_size

    def reap(self) -> bool:
        """Collect every child that ended, adopted ones included; is any left?"""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.process_group:
                self.wait_status = status

    def exit_facts(self, ended_by: str, left: list[int]) -> dict[str, Any]:
        ended = self.wait_status is not None and not self.start_error
        code = os.waitstatus_to_exitcode(self.wait_status or 0)
        return {
            "code": code if ended and code >= 0 else None,
            "signal": -code if ended and code < 0 else None,
            "ended_by": ended_by,
            "seconds": time.monotonic() - self.started_s,
            "output_bytes": self.output_bytes(),
            "start_error": self.start_error,
            "start_errno": self.start_errno,
            "not_entered": self.cwd_not_entered,
            "left": left,
        }


def exec_agent(launch: dict[str, Any], stdio: tuple[int, ...], writer: int) -> NoReturn:
    """In the forked child: turn into the agent, or say why not."""
    step, outside = f"cannot enter {launch['cwd']}", True
    why = (errno.EINVAL, step, outside)
    try:
        os.setsid()
        for name in ("SIGINT", "SIGQUIT", "SIGHUP", "SIGPIPE", "SIGXFSZ"):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        for target, descriptor in enumerate(stdio):
            os.dup2(descriptor, target)
        os.chdir(launch["cwd"])
        step, outside = f"cannot run {' '.join(launch['argv'][:1])}", False
        os.execvpe(launch["argv"][0], launch["argv"], launch["env"])
    except OSError as error:
        why = (error.errno or 0, f"{step}: {error.strerror}", outside)
    except (ValueError, TypeError, IndexError) as error:
        why = (errno.EINVAL, f"{step}: {error}", outside)
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
