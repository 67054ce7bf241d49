"""What is judged: the files a task changed, and what was promised and said about them."""

from __future__ import annotations

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model.change import Change, ChangeContext


@dataclass(frozen=True, slots=True)
class Violation:
    """One place that violates a criterion: where, and the text that does it.

    `owner` tells apart marks that look alike: the function a lone `...` stands in.
    """

    file: str
    line: int
    text: str
    owner: str = ""


__all__ = ["Change", "ChangeContext", "Violation"]
