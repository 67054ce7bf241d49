"""The error for a reader of our output that went away."""

from __future__ import annotations


class ReaderGone(Exception):
    """Not `BrokenPipeError`: click would turn that into exit code 1."""
