"""Warnings that belong to no command's output."""

from __future__ import annotations

import os
import sys

from yaoki.core.redact import mask, secret_values


def print_warning(words: str) -> None:
    """A line on standard error, besides the output of any command: important, but no failure."""
    print(f"yaoki: {mask(words, secret_values(os.environ))}", file=sys.stderr, flush=True)
