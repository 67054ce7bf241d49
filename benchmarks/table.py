"""The one table."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.results import Line

HEAD = ("", "what", "measured", "beside", "ratio", "goal", "")


def table(lines: Sequence[Line]) -> str:
    rows = [HEAD, *(_cells(line) for line in lines)]
    widths = [max(len(row[n]) for row in rows) for n in range(len(HEAD))]
    shown = [_row(row, widths) for row in rows]
    rule = "  ".join("-" * width for width in widths)
    notes = [f"({line.part}) {line.what}: {line.note}" for line in lines if line.note]
    return "\n".join([shown[0], rule, *shown[1:], "", *notes])


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    right = {2, 4}
    sized = enumerate(zip(cells, widths, strict=True))
    put = (c.rjust(w) if n in right else c.ljust(w) for n, (c, w) in sized)
    return "  ".join(put).rstrip()


def _cells(line: Line) -> tuple[str, ...]:
    verdict = "" if line.met is None else ("met" if line.met else "NOT MET")
    measured = "missing" if line.value is None else f"{number(line.value)} {line.unit}"
    ratio = "" if line.ratio is None else f"{line.ratio:.2f}"
    return (line.part, line.what, measured, line.beside, ratio, line.goal, verdict)


def number(value: float) -> str:
    """Three digits that count, blanks between thousands."""
    if abs(value) >= 100:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.3g}"
