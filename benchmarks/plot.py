"""The figures as one SVG, written by hand: no library, no font from elsewhere."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from benchmarks.table import number

WIDTH, ROW, LEFT, BAR, GAP = 860, 22, 300, 420, 34
INK, DIM, OWN, OTHER, BARE = "#1f2328", "#656d76", "#1a7f64", "#8c959f", "#c9a227"
Bar = tuple[str, float, str]
STYLE = (
    "text{font-family:ui-sans-serif,system-ui,sans-serif;font-size:13px}"
    f".h{{font-weight:600;font-size:15px;fill:{INK}}}.d{{fill:{DIM}}}"
)


def svg(held: Mapping[str, Any]) -> str:
    """Bars of what was measured, one block for each part that has some."""
    y, body = 40.0, []
    for title, bars in _blocks(held.get("parts", {})):
        if bars:
            body.append(f'<text class="h" x="20" y="{y:.0f}">{escape(title)}</text>')
            body += _drawn(bars, y + 12)
            y += 12 + ROW * len(bars) + GAP
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y:.0f}"'
        f' width="{WIDTH}" height="{y:.0f}" role="img" aria-label="yaoki benchmarks">'
    )
    paper = f'<rect width="{WIDTH}" height="{y:.0f}" fill="#ffffff"/>'
    return "\n".join([head, f"<style>{STYLE}</style>", paper, *body, "</svg>", ""])


def _drawn(bars: Sequence[Bar], top: float) -> list[str]:
    """On a scale of powers of ten: the slowest is still seen beside the fastest."""
    low = math.log10(min(value for _, value, _ in bars)) - 0.5
    span = max(math.log10(max(value for _, value, _ in bars)) - low, 0.1)
    out = []
    for n, (name, value, colour) in enumerate(bars):
        y, width = top + n * ROW, BAR * (math.log10(value) - low) / span
        out.append(f'<text class="d" x="{LEFT - 10}" y="{y + 15:.0f}" text-anchor="end">')
        out.append(f"{escape(name)}</text>")
        out.append(
            f'<rect x="{LEFT}" y="{y + 3:.0f}" width="{width:.0f}" height="{ROW - 7}"'
            f' rx="2" fill="{colour}"/>'
        )
        out.append(f'<text x="{LEFT + width + 8:.0f}" y="{y + 15:.0f}" fill="{INK}">')
        out.append(f"{number(value)}</text>")
    return out


def _blocks(parts: Mapping[str, Any]) -> list[tuple[str, list[Bar]]]:
    blocks = [
        (f"Durable no-op tasks per second, four workers, {kind} (log scale)", _rates(told))
        for kind, told in parts.get("a", {}).items()
    ]
    git, start = parts.get("d", {}), parts.get("f", {}).get("median_ms", {})
    costs = parts.get("e", {}).get("costs", [])
    blocks.append(("Milliseconds a task: real git, no-op agent (log scale)", _git(git)))
    blocks.append(("Microseconds a task as the store grows (log scale)", _growth(costs)))
    bars = [(name, value, BARE if name == "bare" else OWN) for name, value in start.items()]
    blocks.append(("Milliseconds to start (log scale)", bars))
    return blocks


def _rates(told: Mapping[str, Any]) -> list[Bar]:
    own = [("yaoki", told["yaoki"], OWN), ("yaoki, through the engine", told["engine"], OWN)]
    bare = [
        ("bare, one commit each step", told["bare_single"], BARE),
        ("bare, batched", told["bare_batched"], BARE),
    ]
    peers = [(name, each, OTHER) for name, each in told["peers"].items()]
    every = [(name, each["per_s"], colour) for name, each, colour in (*own, *bare, *peers)]
    return sorted((bar for bar in every if bar[1] > 0), key=lambda bar: -bar[1])


def _git(told: Mapping[str, Any]) -> list[Bar]:
    own = [(f"yaoki run, {n} at once", s * 1e3, OWN) for n, s in told.get("yaoki_s", {}).items()]
    bare = [(f"bare git, {n} at once", s * 1e3, BARE) for n, s in told.get("bare_s", {}).items()]
    return [bar for bar in (*bare, *own) if bar[1] > 0]


def _growth(costs: Sequence[Mapping[str, Any]]) -> list[Bar]:
    return [(f"{each['shape']}, {each['tasks']} tasks", each["clock_us"], OWN) for each in costs]
