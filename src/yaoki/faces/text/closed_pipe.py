"""The error for a reader of our output that went away."""

from __future__ import annotations


class ReaderGone(Exception):
    """The reader of our output has gone.  No `BrokenPipeError`: click would turn that into exit
    code 1.
    """
