"""The text of `yaoki --help`, from the table alone: it must cost no more than the interpreter."""

from __future__ import annotations

from collections.abc import Iterator

from yaoki.faces.cli.table import COMMANDS, SECTIONS

OPTIONS = {
    "--repo DIR": "The repository; by default the current folder.",
    "--version": "Show the version and exit.",
    "-h, --help": "Show this message and exit.",
}


def help_text() -> str:
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield "Usage: yaoki [OPTIONS] COMMAND [ARGS]..."
    yield ""
    yield "  Run coding agents until their work is proven."
    yield ""
    yield "Options:"
    yield from _list_lines(OPTIONS)
    wide = max(map(len, COMMANDS))
    for title, section in SECTIONS.items():
        yield ""
        yield f"{title}:"
        yield from _list_lines({name: listed.help for name, listed in section.items()}, wide)
    yield ""
    yield "  First steps: yaoki demo, then yaoki init."


def _list_lines(rows: dict[str, str], wide: int = 0) -> Iterator[str]:
    wide = wide or max(map(len, rows))
    return (f"  {name:<{wide}}  {words}" for name, words in rows.items())
