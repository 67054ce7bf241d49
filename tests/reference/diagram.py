"""An SVG of states and the events between them: one column per state, one row per arrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

Arrows = Mapping[tuple[str, str], Sequence[str]]
COLUMN, EDGE, TOP, LINE, GAP, HEAD = 145, 70, 40, 15, 18, 9
STYLE = (
    "text{font-family:ui-monospace,monospace;font-size:11px;text-anchor:middle;fill:#1f2328}"
    ".state{font-family:ui-sans-serif,system-ui,sans-serif;font-size:13px;font-weight:600}"
    ".event{paint-order:stroke;stroke:#fff;stroke-width:4px}"
    ".column{stroke:#d0d7de}.box{fill:#ddf4ff;stroke:#54aeff}.arrow{stroke:#1a7f64;fill:#1a7f64}"
)


def draw(title: str, columns: Sequence[str], arrows: Arrows) -> str:
    at = {name: EDGE + n * COLUMN for n, name in enumerate(columns)}
    width = 2 * EDGE + (len(columns) - 1) * COLUMN
    rows: list[str] = []
    height = TOP + GAP
    for (start, end), events in arrows.items():
        height += GAP + LINE * len(events)
        rows += _arrow(at[start], at[end], height, events)
    height += GAP
    words = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-label="{escape(title)}">',
        f"<style>{STYLE}</style>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        *(word for name in columns for word in _column(name, at[name], height)),
        *rows,
        "</svg>",
    ]
    return "\n".join(words) + "\n"


def _column(name: str, x: int, height: int) -> Iterator[str]:
    yield f'<line class="column" x1="{x}" y1="{TOP}" x2="{x}" y2="{height - 6}"/>'
    yield f'<rect class="box" x="{x - 55}" y="{TOP - 26}" width="110" height="26" rx="5"/>'
    yield f'<text class="state" x="{x}" y="{TOP - 9}">{name}</text>'


def _arrow(start: int, end: int, y: int, events: Sequence[str]) -> Iterator[str]:
    back = HEAD if end < start else -HEAD
    tip = f"{end},{y} {end + back},{y - HEAD / 2:g} {end + back},{y + HEAD / 2:g}"
    yield f'<line class="arrow" x1="{start}" y1="{y}" x2="{end + back}" y2="{y}"/>'
    yield f'<circle class="arrow" cx="{start}" cy="{y}" r="2"/>'
    yield f'<polygon class="arrow" points="{tip}"/>'
    for n, event in enumerate(events):
        above = y - 5 - LINE * (len(events) - 1 - n)
        yield f'<text class="event" x="{(start + end) / 2:g}" y="{above}">{event}</text>'
