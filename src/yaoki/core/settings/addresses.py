"""Addresses for notices: which are allowed, and which part of them may be shown.

Services put keys into the path of an address, so a screen shows only its beginning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.redact import MARK

# Stricter than the standard: every URL parser reads these addresses in the same way.
_WEB = lazy_compile(
    r"(?P<scheme>https?)://(?P<host>[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[[0-9a-fA-F:]+\])"
    r"(?::(?P<port>[0-9]{1,5}))?(?P<rest>[/?][!-~]*)?"
)
_LOOPBACK = lazy_compile(r"localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\]", re.IGNORECASE)
_SERVICE = lazy_compile(r"([A-Za-z][A-Za-z0-9+.-]{0,40})://\S+")
_BETWEEN = lazy_compile(r"[/:@?&=,#]+")
ADDRESS_CHARS_MAX = 2_000


def web_defect(address: str, *, http: bool) -> str:
    """The reason why the address is refused; empty when it is allowed.  `http` allows plain HTTP
    beyond this machine.
    """
    match = _WEB.fullmatch(address)
    if match is None or "#" in address or len(address) > ADDRESS_CHARS_MAX:
        return "must be http:// or https://, a host, and a path, without name, password or fragment"
    if int(match["port"] or 1) not in range(1, 65_536):
        return f"{match['port']} is not a valid port"
    if match["scheme"] == "http" and not http and not is_loopback_address(address):
        return "http is only for this machine; write https, or allow it: webhook_http = true"
    return ""


def is_loopback_address(address: str) -> bool:
    """Is the address on this machine?"""
    match = _WEB.fullmatch(address)
    return match is not None and _LOOPBACK.fullmatch(match["host"]) is not None


def mask_web_address(address: str) -> str:
    """`https://host/[masked]`: the host, without the secret path."""
    match = _WEB.fullmatch(address)
    if match is None:
        return MARK if address else ""
    where = address[: match.start("rest")] if match["rest"] else address
    return f"{where}/{MARK}" if len(match["rest"] or "") > 1 else address


def service_defect(address: str) -> str:
    """The reason why this is no address of a service; empty when it looks like one."""
    if _SERVICE.fullmatch(address) and len(address) <= ADDRESS_CHARS_MAX:
        return ""
    return "must be an address like slack://…, without spaces"


def mask_service_address(address: str) -> str:
    """`slack://[masked]`."""
    match = _SERVICE.fullmatch(address)
    return f"{match[1]}://{MARK}" if match else MARK


def address_secrets(addresses: Iterable[str]) -> tuple[str, ...]:
    """The addresses and their parts, to be masked where a service repeats them."""
    all_addresses = tuple(addresses)
    pieces = (
        part for address in all_addresses for part in _BETWEEN.split(address.partition("://")[2])
    )
    return (*all_addresses, *pieces)
