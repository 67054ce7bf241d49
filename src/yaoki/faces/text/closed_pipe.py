"""The error for a reader of our output that went away."""

from __future__ import annotations


class ReaderGone(Exception):
    """The reader of our output is gone.  Not a `BrokenPipeError`, which click would turn into
    exit code 1.
    """
