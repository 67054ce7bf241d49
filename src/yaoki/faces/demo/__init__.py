"""`yaoki demo`: eight agents fall in eight ways, and yaoki raises them.  No key, no network."""

from __future__ import annotations

from yaoki.faces.demo.play import command

__all__ = ["command"]
