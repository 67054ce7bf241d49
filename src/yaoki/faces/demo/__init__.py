"""`yaoki demo`: agents fail in seven ways, and yaoki recovers.  No key, no network."""

from __future__ import annotations

from yaoki.faces.demo.play import command

__all__ = ["command"]
