"""The command channel: any program that reads a notice from its standard input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path

from yaoki.adapters.notify.message import encode_notice, notice_to_document, prepare_notice
from yaoki.adapters.notify.programs import NotifyProgram
from yaoki.core.environment import BASIC_VARIABLES, filter_environment
from yaoki.ports import Notice


class CommandChannel:
    """The program gets the notice as JSON on standard input and as variables; 0 means delivered."""

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
        prepared = prepare_notice(notice, self._environ)
        hint = "run it by hand, then: yaoki notify test"
        env = {
            **filter_environment(self._environ, (*BASIC_VARIABLES, *self._pass_env)),
            **_variables(prepared),
        }
        program = NotifyProgram(self._argv[0], self._argv, self._top, env, self._timeout)
        result = program.run(encode_notice(prepared), hint=hint)
        if result.code != 0:
            raise program.make_failure(result, self._environ, hint=hint)


def _variables(notice: Notice) -> dict[str, str]:
    """`YAOKI_NOTICE`, `YAOKI_RUN`, `YAOKI_EVENT` …; empty for a missing field."""
    fields = notice_to_document(notice).items()
    return {f"YAOKI_{name.upper()}": "" if value is None else str(value) for name, value in fields}
