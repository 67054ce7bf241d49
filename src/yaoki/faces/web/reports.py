"""The report of a run as a file to download."""

from __future__ import annotations

from yaoki.app.report import make_report, render_report
from yaoki.core.lazy_dataclass import dataclass
from yaoki.faces.web.parameters import PageRequest
from yaoki.faces.web.request_context import RequestContext

FILE_FORMATS = {
    "html": ("text/html; charset=utf-8", "html"),
    "markdown": ("text/markdown; charset=utf-8", "md"),
    "json": ("application/json", "json"),
}


@dataclass(frozen=True, slots=True)
class Download:
    """A response that is a file."""

    data: bytes
    media_type: str
    file_name: str


def get_report(context: RequestContext, request: PageRequest) -> Download:
    run = context.run(request.run)
    form = request.query["format"]
    media, end = FILE_FORMATS[form]
    text = render_report(make_report(context.app, run), form)
    return Download(text.encode(), media, f"yaoki-{run.id}.{end}")
