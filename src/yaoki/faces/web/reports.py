"""The report of a run as a file to keep."""

from __future__ import annotations

from dataclasses import dataclass

from yaoki.app.report import made_report, rendered
from yaoki.faces.web.parameters import Asked
from yaoki.faces.web.request_context import Desk

FORMS = {
    "html": ("text/html; charset=utf-8", "html"),
    "markdown": ("text/markdown; charset=utf-8", "md"),
    "json": ("application/json", "json"),
}


@dataclass(frozen=True, slots=True)
class Download:
    """An answer that is a file."""

    data: bytes
    media: str
    name: str


def report(desk: Desk, asked: Asked) -> Download:
    run = desk.run(asked.run)
    form = asked.query["format"]
    media, end = FORMS[form]
    text = rendered(made_report(desk.app, run), form)
    return Download(text.encode(), media, f"yaoki-{run.id}.{end}")
