"""Templates of the report: each value is escaped for its format, unless it is markup already."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from typing import Any

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.text import format_count, format_duration
from yaoki.report.wording import (
    answer_notes,
    format_cost,
    format_instant,
    format_tokens,
    one_line_text,
)
from yaoki.views.plain_words import describe_reason

Filters = Mapping[str, Callable[..., Any]]
_INDENT = lazy_compile(r"\n\s*")
WORDS: Filters = {
    "answer_notes": answer_notes,
    "cost": format_cost,
    "count": format_count,
    "duration": format_duration,
    "instant": format_instant,
    "line": one_line_text,
    "lines": lambda text: text.split("\n"),
    "n": lambda number: f"{number:,}",
    "reason": describe_reason,
    "tokens": format_tokens,
}


def render(
    template: str, values: Mapping[str, Any], escape: Callable[[str], str], filters: Filters
) -> str:
    """A new environment for each rendering: threads of the page's server render in parallel."""
    # Imported here: `yaoki verify` reads receipts and renders nothing.
    from minijinja import Environment, Markup

    def finalize(value: Any) -> str:
        if isinstance(value, Markup):
            return value
        return mark_safe("" if value is None else escape(str(value)))

    environment = Environment(
        templates={template: template_text(template)},
        filters={**WORDS, **filters},
        finalizer=finalize,
        # On for every format: the result of a macro is then markup, and not escaped twice.
        auto_escape_callback=lambda _: "html",
        undefined_behavior="strict",
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        debug=False,
        pycompat=False,
    )
    return environment.render_template(template, **values)


def mark_safe(text: str) -> str:
    """Markup, which is printed as it is."""
    from minijinja import safe

    return safe(text)


@cache
def template_text(name: str) -> str:
    """A file of the folder; the lines of an HTML template are joined without indentation."""
    text = resources.files("yaoki.report").joinpath("templates", name).read_text("utf-8")
    return _INDENT.sub("", text) if name.endswith(".html") else text
