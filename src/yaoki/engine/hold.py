"""What binds a carrier to its task, and how it learns that it must let go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hold:
    """Why the carrier of a task must let go: empty, `cancel`, `stop` or `lost`.

    `warn` writes down what a person may want to know while the stage still runs.
    """

    why: Callable[[], str]
    warn: Callable[[str], None] = lambda _: None


class Superseded(Exception):
    """The claim was lost while the stage ran; nothing may be recorded."""
