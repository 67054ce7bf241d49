"""Runs a program that delivers a notice, with a time limit, and describes its failure."""

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
# Exit codes of a shell for a command that is missing or not executable.
NOT_EXECUTABLE_CODES = frozenset({126, 127})


@dataclass(frozen=True, slots=True)
class NotifyProgram:
    """Messages use `name` for the program."""

    name: str
    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    timeout: timedelta

    def run(self, input_: bytes, *, hint: str) -> CommandResult:
        """Raises `NoticeFailed` if the program does not start or does not end by itself."""
        try:
            return run_command(
                self.argv,
                cwd=self.cwd,
                env=self.env,
                timeout=self.timeout,
                input=input_,
                output_bytes_max=OUTPUT_BYTES_MAX,
            )
        except Fault as fault:
            # The arguments may contain a key; the name does not.
            message = fault.sentence.replace(" ".join(self.argv[:3]), self.name)
            raise NoticeFailed(message, permanent=not fault.transient, hint=hint) from None
        except ValueError as error:  # a NUL, or a text this machine cannot encode
            message = f"cannot run {self.name}: {error}"
            raise NoticeFailed(message, permanent=True, hint=hint) from error

    def make_failure(
        self, result: CommandResult, environ: Mapping[str, str], *, hint: str
    ) -> NoticeFailed:
        """Names the exit code or signal, and the end of the output."""
        ending = f"exit code {result.code}" if result.code >= 0 else f"signal {-result.code}"
        output = take_output_tail(result.err.strip() or result.out, secret_values(environ))
        message = f"{self.name} ended with {ending}" + (f": {output}" if output else "")
        return NoticeFailed(message, permanent=result.code in NOT_EXECUTABLE_CODES, hint=hint)
