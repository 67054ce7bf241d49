"""The characters that a terminal can show: line drawing and foreign letters, or plain ASCII."""

from __future__ import annotations

import os
from collections.abc import Mapping

from yaoki.core.lazy_dataclass import dataclass

ASCII_LIKENESS = str.maketrans(
    {"…": "~", "━": "=", "─": "-", "·": "|", "▸": ">", "–": "-", "—": "-"}
)


@dataclass(frozen=True, slots=True)
class Glyphs:
    """`unicode` false: everything is ASCII; characters without an equivalent become a question
    mark.
    """

    unicode: bool

    @property
    def bar(self) -> tuple[str, str]:
        return ("━", "─") if self.unicode else ("=", "-")

    @property
    def mark(self) -> str:
        return "▸" if self.unicode else ">"

    @property
    def dot(self) -> str:
        return " · " if self.unicode else " | "

    def to_terminal(self, text: str) -> str:
        if self.unicode:
            return text
        return text.translate(ASCII_LIKENESS).encode("ascii", "replace").decode("ascii")


def glyphs_for_locale(env: Mapping[str, str] = os.environ) -> Glyphs:
    """Choose the glyphs by the locale.

    Python turns the C locale into C.UTF-8 for itself, which says nothing about the terminal.
    """
    locale = env.get("LC_ALL") or env.get("LC_CTYPE") or env.get("LANG") or "C"
    plain_lang = env.get("LANG", "") in {"", "C", "POSIX"}
    coerced = not env.get("LC_ALL") and locale == "C.UTF-8" and plain_lang
    known = locale.lower().replace("-", "").endswith("utf8")
    return Glyphs(known and not coerced)
