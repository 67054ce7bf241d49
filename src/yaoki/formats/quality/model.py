"""The input of the criteria: the files a task changed, and what was promised and claimed."""

from __future__ import annotations

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model.change import Change, ChangeContext


@dataclass(frozen=True, slots=True)
class Violation:
    """A place that violates a criterion, and its text.

    `owner` distinguishes identical marks: the function that contains a lone `...`.
    """

    file: str
    line: int
    text: str
    owner: str = ""


__all__ = ["Change", "ChangeContext", "Violation"]
