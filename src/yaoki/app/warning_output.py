"""Warnings that belong to no command's output."""

from __future__ import annotations

import os
import sys

from yaoki.core.redact import mask, secret_values
from yaoki.core.text import strip_terminal_codes


def print_warning(words: str) -> None:
    """A line on standard error, besides the output of any command: important, but no failure."""
    # It may quote the settings of a repository that nobody trusts yet.
    shown = mask(strip_terminal_codes(words), secret_values(os.environ))
    print(f"yaoki: {shown}", file=sys.stderr, flush=True)
