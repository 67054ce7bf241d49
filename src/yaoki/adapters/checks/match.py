"""Searches a file for a regular expression: `python match.py PATTERN FILE`.

A bare script: a hostile pattern may search forever, and only a process can be ended.
Exit codes: 0 match, 1 no match, 2 invalid regular expression, 3 file too long.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

BYTES_MAX = 1 << 20


def main(pattern: str, file: str) -> int:
    with Path(file).open("rb") as stream:
        raw = stream.read(BYTES_MAX + 1)
    if len(raw) > BYTES_MAX:
        return 3
    try:
        regex = re.compile(pattern, re.MULTILINE)
    except (re.error, OverflowError, RecursionError):
        return 2
    return 0 if regex.search(raw.decode("utf-8", errors="replace")) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
