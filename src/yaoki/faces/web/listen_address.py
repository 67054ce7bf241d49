"""Where the server listens, and which host names it accepts.  Cheap to import."""

from __future__ import annotations

import ipaddress
import socket

from yaoki.adapters.system.machine import machine_name
from yaoki.core.lazy_dataclass import dataclass
from yaoki.errors import NotNow

PORT = 7878
HOST = "127.0.0.1"
ANY_ADDRESS = frozenset({"0.0.0.0", "::"})
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """`host_names` are the accepted hosts besides those of this machine.

    `any_address`: a bare IP address is accepted too, because no DNS entry can redirect it.
    """

    port: int
    host_names: frozenset[str] = frozenset()
    any_address: bool = False

    def answers_to(self, host: str) -> bool:
        name = host_name(host)
        if name in LOOPBACK or name in self.host_names:
            return True
        return self.any_address and is_address(name)


def host_name(host: str) -> str:
    """The name in a Host header without the port, which may differ behind a tunnel."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Can it be reached only from this machine?"""
    return host == "localhost" or (is_address(host) and ipaddress.ip_address(host).is_loopback)


@dataclass(frozen=True, slots=True)
class ListeningSocket:
    """A listening socket, and its address."""

    socket: socket.socket
    host: str
    listen_address: ListenAddress

    @property
    def page_address(self) -> str:
        """The address to open in a browser."""
        return page_address(
            machine_name() if self.host in ANY_ADDRESS else self.host, self.listen_address.port
        )


def page_address(name: str, port: int) -> str:
    return f"http://{f'[{name}]' if ':' in name else name}:{port}"


def bind(host: str = HOST, port: int = PORT, *, any_port: bool = False) -> ListeningSocket:
    """`any_port`: use any free port when this one is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named so that the loop recognises TCP.  Else the second part of each response
    # waits for the browser to acknowledge the first, forty milliseconds each time.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        _bind(listener, host, port, any_port=any_port)
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise NotNow(
            f"cannot listen on {host} port {port}: {error.strerror or error}",
            hint="choose another port: yaoki ui --port 0",
        ) from error
    name = machine_name() if host in ANY_ADDRESS else host
    place = ListenAddress(
        listener.getsockname()[1], frozenset({name.lower()}), any_address=host in ANY_ADDRESS
    )
    return ListeningSocket(listener, host, place)


def _bind(listener: socket.socket, host: str, port: int, *, any_port: bool) -> None:
    try:
        listener.bind((host, port))
    except OSError:
        if not any_port:
            raise
        listener.bind((host, 0))
