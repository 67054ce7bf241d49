"""The apprise channel: the services of the apprise library, if it is installed.

The library runs in its own process, which has a time limit and costs nothing when it is not used.
Addresses contain keys: they are passed on standard input, never as arguments, and are masked in
every message.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path

from yaoki.adapters.notify.message import prepare_notice, take_output_tail
from yaoki.adapters.notify.programs import NotifyProgram
from yaoki.adapters.notify.run_apprise import BAD_ADDRESS, MISSING
from yaoki.adapters.system.machine import pip_install_command
from yaoki.core.environment import BASIC_VARIABLES, filter_environment
from yaoki.core.redact import secret_values
from yaoki.core.settings.addresses import address_secrets, service_defect
from yaoki.errors import NoticeFailed
from yaoki.ports import Notice

RUNNER = Path(__file__).with_name("run_apprise.py")
NETWORK_VARIABLES = ("PYTHONPATH", "*_proxy", "*_PROXY", "SSL_CERT_*", "REQUESTS_CA_BUNDLE")
PERMANENT_EXIT_CODES = frozenset({MISSING, BAD_ADDRESS})
HINTS = {MISSING: pip_install_command("apprise>=2.2,<3")}


class AppriseChannel:
    """Sends the notice to every address; if one fails, the retry sends it to all again."""

    def __init__(
        self,
        addresses: Sequence[str],
        variable: str,
        top: Path,
        timeout: timedelta,
        environ: Mapping[str, str],
    ) -> None:
        self._configured, self._variable = tuple(addresses), variable
        self._top, self._timeout, self._environ = top, timeout, environ

    def send(self, notice: Notice) -> None:
        prepared, addresses = prepare_notice(notice, self._environ), self._addresses()
        request = {"addresses": addresses, "subject": prepared.subject, "body": prepared.body}
        env = filter_environment(self._environ, (*BASIC_VARIABLES, *NETWORK_VARIABLES))
        argv = (sys.executable, "-P", str(RUNNER))
        program = NotifyProgram("apprise", argv, self._top, env, self._timeout)
        result = program.run(json.dumps(request).encode(), hint="yaoki notify test")
        if result.code != 0:
            secrets = (*address_secrets(addresses), *secret_values(self._environ))
            raise _make_failure(result.code, take_output_tail(result.err or result.out, secrets))

    def _addresses(self) -> list[str]:
        listed = self._environ.get(self._variable, "").split() if self._variable else []
        if self._variable and not listed:
            raise NoticeFailed(
                f"the variable {self._variable} of notify.apprise_env is not set",
                permanent=True,
                hint=f"export {self._variable}='SERVICE://…'",
            )
        if any(service_defect(address) for address in listed):
            message = f"the variable {self._variable} is not a list of service addresses"
            raise NoticeFailed(
                message, permanent=True, hint=f"export {self._variable}='SERVICE://…'"
            )
        return list(dict.fromkeys((*self._configured, *listed)))


def _make_failure(code: int, output: str) -> NoticeFailed:
    hint = HINTS.get(code, "check the addresses of notify.apprise, then: yaoki notify test")
    message = output or f"apprise ended with code {code}"
    return NoticeFailed(message, permanent=code in PERMANENT_EXIT_CODES, hint=hint)
