"""Hands one notice to the apprise library: `python run_apprise.py`, the notice on its input.

A bare script: it imports nothing of yaoki.  It says on its error channel what went wrong, by the
number of the address and the name of its service.
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
    given = json.load(sys.stdin)
    # The library tells why a service said no only in its log; keys are left out of that.
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    try:
        library = import_module("apprise")
    except ImportError as absent:
        print(f"the library apprise cannot be used: {absent}", file=sys.stderr)
        return MISSING
    return _delivered(library, given)


def _delivered(library: Any, given: dict[str, Any]) -> int:
    code = 0
    for number, address in enumerate(given["addresses"], 1):
        named = f"address {number} ({address.partition('://')[0]})"
        service = library.Apprise(asset=library.AppriseAsset(app_id="yaoki"))
        if not service.add(address):
            print(f"{named} is not one that apprise understands", file=sys.stderr)
            code = code or BAD_ADDRESS
        elif not service.notify(
            title=given["subject"], body=given["body"], body_format=library.NotifyFormat.TEXT
        ):
            print(f"{named} did not take the notice", file=sys.stderr)
            code = NOT_TAKEN
    return code


if __name__ == "__main__":
    sys.exit(main())
