"""The apprise channel: the hundred services of the notification library, if it is installed.

The library runs in a process of its own: it can be given a bound, and it costs nothing to whoever
does not use it.  Addresses hold keys: they travel by input, never as arguments, and every message
has them masked.
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
    """Every address gets the notice; when one does not take it, all get it again."""

    def __init__(
        self,
        addresses: Sequence[str],
        variable: str,
        top: Path,
        timeout: timedelta,
        environ: Mapping[str, str],
    ) -> None:
        self._written, self._variable = tuple(addresses), variable
        self._top, self._timeout, self._environ = top, timeout, environ

    def send(self, notice: Notice) -> None:
        told, addresses = prepare_notice(notice, self._environ), self._addresses()
        given = {"addresses": addresses, "subject": told.subject, "body": told.body}
        env = filter_environment(self._environ, (*BASIC_VARIABLES, *NETWORK_VARIABLES))
        argv = (sys.executable, "-P", str(RUNNER))
        program = NotifyProgram("apprise", argv, self._top, env, self._timeout)
        done = program.run(json.dumps(given).encode(), hint="yaoki notify test")
        if done.code != 0:
            secrets = (*address_secrets(addresses), *secret_values(self._environ))
            raise _refused(done.code, take_output_tail(done.err or done.out, secrets))

    def _addresses(self) -> list[str]:
        more = self._environ.get(self._variable, "").split() if self._variable else []
        if self._variable and not more:
            raise NoticeFailed(
                f"the variable {self._variable} of notify.apprise_env is not set",
                permanent=True,
                hint=f"export {self._variable}='SERVICE://…'",
            )
        if any(service_defect(address) for address in more):
            words = f"the variable {self._variable} holds something that is no address of a service"
            raise NoticeFailed(words, permanent=True, hint=f"export {self._variable}='SERVICE://…'")
        return list(dict.fromkeys((*self._written, *more)))


def _refused(code: int, said: str) -> NoticeFailed:
    hint = HINTS.get(code, "look at the addresses of notify.apprise, then: yaoki notify test")
    words = said or f"apprise ended with code {code}"
    return NoticeFailed(words, permanent=code in PERMANENT_EXIT_CODES, hint=hint)
