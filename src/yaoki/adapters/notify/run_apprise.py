"""Passes one notice to the apprise library: `python run_apprise.py`, the notice on its input.

A bare script that imports nothing of yaoki.  Errors go to standard error, with the number of the
address and the name of its service.
"""

from __future__ import annotations

import json
import logging
import sys
from importlib import import_module
from typing import Any

MISSING = 3
BAD_ADDRESS = 4
NOT_TAKEN = 5


def main() -> int:
    request = json.load(sys.stdin)
    # The library reports why a service refused only in its log, without keys.
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    try:
        library = import_module("apprise")
    except ImportError as error:
        print(f"the library apprise cannot be used: {error}", file=sys.stderr)
        return MISSING
    return _deliver(library, request)


def _deliver(library: Any, request: dict[str, Any]) -> int:
    code = 0
    for number, address in enumerate(request["addresses"], 1):
        label = f"address {number} ({address.partition('://')[0]})"
        service = library.Apprise(asset=library.AppriseAsset(app_id="yaoki"))
        if not service.add(address):
            print(f"{label} is not an address that apprise understands", file=sys.stderr)
            code = code or BAD_ADDRESS
        elif not service.notify(
            title=request["subject"], body=request["body"], body_format=library.NotifyFormat.TEXT
        ):
            print(f"{label} did not accept the notice", file=sys.stderr)
            code = NOT_TAKEN
    return code


if __name__ == "__main__":
    sys.exit(main())
