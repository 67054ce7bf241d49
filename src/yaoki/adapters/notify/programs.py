"""Programs that deliver a notice: run within a bound, their end turned into words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path

from yaoki.adapters.notify.message import take_output_tail
from yaoki.adapters.processes.command import CommandResult, run_command
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.redact import secret_values
from yaoki.errors import Fault, NoticeFailed

OUTPUT_BYTES_MAX = 1 << 20
# What a shell says of a command that is not there or may not be run.
NOT_EXECUTABLE_CODES = frozenset({126, 127})


@dataclass(frozen=True, slots=True)
class NotifyProgram:
    """Who runs, where, how long, and what it may know.  `name` is what people call it."""

    name: str
    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    timeout: timedelta

    def run(self, given: bytes, *, hint: str) -> CommandResult:
        """How it ended; `NoticeFailed` when it did not start, or did not end by itself."""
        try:
            return run_command(
                self.argv,
                cwd=self.cwd,
                env=self.env,
                timeout=self.timeout,
                input=given,
                output_bytes_max=OUTPUT_BYTES_MAX,
            )
        except Fault as fault:
            # Its arguments may hold a key; its name does not.
            words = fault.sentence.replace(" ".join(self.argv[:3]), self.name)
            raise NoticeFailed(words, permanent=not fault.transient, hint=hint) from None
        except ValueError as unfit:  # a NUL, or a text this machine cannot encode
            words = f"cannot run {self.name}: {unfit}"
            raise NoticeFailed(words, permanent=True, hint=hint) from unfit

    def make_failure(
        self, done: CommandResult, environ: Mapping[str, str], *, hint: str
    ) -> NoticeFailed:
        """It ended badly: how, and the end of what it said."""
        how = f"exit code {done.code}" if done.code >= 0 else f"signal {-done.code}"
        said = take_output_tail(done.err.strip() or done.out, secret_values(environ))
        words = f"{self.name} ended with {how}" + (f": {said}" if said else "")
        return NoticeFailed(words, permanent=done.code in NOT_EXECUTABLE_CODES, hint=hint)
