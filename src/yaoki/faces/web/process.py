"""The page in its own process: `python -m yaoki.faces.web.process`, started by a worker.

Its arguments come as one line of JSON on standard input; when that closes, the worker is gone and
the page ends.  The listening socket is passed by its descriptor number.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
from pathlib import Path
from typing import Any

from yaoki.faces.web.access_tokens import open_access_tokens
from yaoki.faces.web.listen_address import ListenAddress, ListeningSocket
from yaoki.faces.web.server import PageServer


def main() -> int:
    request: dict[str, Any] = json.loads(sys.stdin.readline())
    heard = socket.socket(fileno=request["socket"])
    bound = ListeningSocket(heard, request["host"], ListenAddress(request["port"]))
    passes = open_access_tokens(Path(request["key"]))
    server = PageServer(Path(request["where"]), bound, passes, store=request["store"])
    threading.Thread(target=_stop_with_worker, args=(server,), daemon=True).start()
    server.run()
    return 0


def _stop_with_worker(server: PageServer) -> None:
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    sys.exit(main())
