"""`yaoki demo`: eight agents fail in eight ways, and yaoki recovers.  No key, no network."""

from __future__ import annotations

from yaoki.faces.demo.play import command

__all__ = ["command"]
