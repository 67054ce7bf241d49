"""What a report asks about the stored output of checks."""

from __future__ import annotations

from typing import Any, Protocol


class CheckOutputs(Protocol):
    """The output files of checks; a report names them by the `log` path of a finding."""

    def outputs(self, log: str) -> list[dict[str, Any]]:
        """File, size and digest of each stored channel."""

    def versions(self, log: str) -> dict[str, str]:
        """The versions that tools named in their output."""
