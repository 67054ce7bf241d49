"""HTML built from escaped parts: text is always escaped, only `tag` makes markup."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from yaoki.core.text import strip_terminal_codes

VOID = frozenset({"br", "hr", "link", "meta", "rect"})


class Html(str):
    """Text that is markup already; only `tag` and `join_html` make it."""

    __slots__ = ()


def tag(name: str, /, *parts: object, **attributes: object) -> Html:
    """`class_` and `http_equiv` are `class` and `http-equiv`; None leaves an attribute out."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_escaped(held)}"'
        for key, held in attributes.items()
        if held is not None
    )
    if name in VOID and not parts:
        return Html(f"<{name}{given}>" if name != "rect" else f"<{name}{given}/>")
    return Html(f"<{name}{given}>{join_html(parts)}</{name}>")


def join_html(parts: Iterable[object]) -> Html:
    return Html("".join(_part(part) for part in parts))


def _part(part: object) -> str:
    if isinstance(part, Html):
        return part
    if isinstance(part, list | tuple):
        return join_html(part)
    return "" if part is None else _escaped(part)


def _escaped(value: object) -> str:
    return escape(strip_terminal_codes(str(value)), quote=True)
