"""The command channel: any program that reads a notice from its input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path

from yaoki.adapters.notify.message import encode_notice, notice_to_document, prepare_notice
from yaoki.adapters.notify.programs import NotifyProgram
from yaoki.core.environment import BASIC_VARIABLES, filter_environment
from yaoki.ports import Notice


class CommandChannel:
    """Gets the JSON document on its input, each field as a variable; exit code 0: delivered."""

    def __init__(
        self,
        argv: Sequence[str],
        pass_env: Sequence[str],
        top: Path,
        timeout: timedelta,
        environ: Mapping[str, str],
    ) -> None:
        self._argv, self._pass_env = tuple(argv), tuple(pass_env)
        self._top, self._timeout, self._environ = top, timeout, environ

    def send(self, notice: Notice) -> None:
        told = prepare_notice(notice, self._environ)
        hint = "run it by hand, then: yaoki notify test"
        env = {
            **filter_environment(self._environ, (*BASIC_VARIABLES, *self._pass_env)),
            **_variables(told),
        }
        program = NotifyProgram(self._argv[0], self._argv, self._top, env, self._timeout)
        done = program.run(encode_notice(told), hint=hint)
        if done.code != 0:
            raise program.make_failure(done, self._environ, hint=hint)


def _variables(notice: Notice) -> dict[str, str]:
    """`YAOKI_NOTICE`, `YAOKI_RUN`, `YAOKI_EVENT` …; what is not there is empty."""
    held = notice_to_document(notice).items()
    return {f"YAOKI_{name.upper()}": "" if value is None else str(value) for name, value in held}
