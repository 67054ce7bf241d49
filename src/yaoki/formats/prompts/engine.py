"""Loads templates, refuses unsafe ones, and renders them; values are never evaluated."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from minijinja import Environment, Markup, TemplateError, safe

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.prompt import fence
from yaoki.core.text import clip_bytes, one_line, strip_terminal_codes
from yaoki.errors import TemplateInvalid
from yaoki.formats.prompts.location import TemplateFile
from yaoki.formats.prompts.syntax import convert_body
from yaoki.formats.prompts.template_source import TemplateSource, read_template
from yaoki.formats.prompts.values import LEFT_OUT

FUEL_MIN, FUEL_MAX = 2_000, 20_000
# Steps times the size of the file: the engine counts only the steps.
RAW_BYTES_MAX = 64 << 20
PRINTED_CHARS_MAX = 1 << 20
CLIP_BYTES = 6_000
LINE_CHARS_MAX = 400
ITEMS_SHOWN = 20
SEPARATOR_CHARS_MAX = 20

# A line that Markdown would read as a heading, a rule or a code fence.
_CONTROL = lazy_compile(
    r"^( {0,3})(?=#{1,6}(?:\s|$)|`{3,}|~{3,}|=+[ \t]*$|-+[ \t]*$)", re.MULTILINE
)
_COMMENT = lazy_compile(r"\{#[\s\S]*?#\}|<!--[\s\S]*?-->")
_LEFT_OUT = lazy_compile(r"… \(\+(\d+)\)")
_BAR = lazy_compile(r"^( {0,3})(?=`{3,}|~{3,})", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Template:
    """A valid template: its source, its code, and the line of each name it uses."""

    source: TemplateSource
    code: str
    used_names: Mapping[str, int]


def load_template(hit: TemplateFile) -> Template:
    """Read and convert a template; refuse a broken one, or one with undeclared names."""
    source = read_template(hit)
    if is_blank(source.body):
        raise TemplateInvalid(source.label, 1, "is empty")
    body = convert_body(source.label, source.body, source.lines_before)
    try:
        free = _environment(body.code, OutputMeter()).undeclared_variables_in_str(body.code)
    except TemplateError as error:
        raise _invalid(source, error) from error
    used = {name: body.lines.get(name, 1) for name in free}
    for name, line in sorted(used.items(), key=lambda pair: pair[1]):
        if name not in source.params:
            reason = f"{name!r} is used but not declared; add it to params in the front matter"
            raise TemplateInvalid(source.label, line, reason)
    return Template(source, body.code, used)


def render_template(template: Template, values: Mapping[str, Any]) -> str:
    """The text.  Values are data: nothing in them is evaluated or read as a heading."""
    environment = _environment(template.code, OutputMeter())
    try:
        return environment.render_str(template.code, template.source.label, **values).strip()
    except TemplateError as error:
        raise _invalid(template.source, error) from error
    except (TypeError, ValueError) as error:
        raise TemplateInvalid(template.source.label, 1, str(error)) from error


def is_blank(words: str) -> bool:
    """Empty, or only comments."""
    return not _COMMENT.sub("", strip_terminal_codes(words)).strip()


def _invalid(source: TemplateSource, error: TemplateError) -> TemplateInvalid:
    reason = {
        "OutOfFuel": "takes too many steps: are loops nested?",
        "UndefinedError": "uses a value that does not exist; test it with `is defined` first",
    }.get(error.kind, error.detail or error.message)
    return TemplateInvalid(source.label, (error.line or 1) + source.lines_before, reason)


class OutputMeter:
    """Counts the output, and stops a template that prints too much."""

    def __init__(self) -> None:
        self._chars = 0

    def charge(self, text: str) -> str:
        self._chars += len(text)
        if self._chars > PRINTED_CHARS_MAX:
            raise ValueError(f"prints more than {PRINTED_CHARS_MAX} characters")
        return text


def _environment(code: str, meter: OutputMeter) -> Environment:
    """A new environment for each rendering: threads run in parallel, each with its own meter."""
    marked: dict[str, Callable[..., str]] = {
        "fence": lambda value: fence(words) if (words := as_text(value).strip("\n")) else "",
        "bullets": lambda value, most=ITEMS_SHOWN: format_bullets(value, int(most)),
        "inside": lambda value: _BAR.sub(r"\1\\", as_text(value)),
    }
    unmarked: dict[str, Callable[..., str]] = {
        "clip": lambda value, most=CLIP_BYTES: clip_bytes(as_text(value), max(0, int(most))),
        "join": lambda value, by=", ": _join(value, str(by)[:SEPARATOR_CHARS_MAX]),
    }
    filters = {
        **{name: _metered(write_value, meter, safe) for name, write_value in marked.items()},
        **{name: _metered(write_value, meter, str) for name, write_value in unmarked.items()},
    }
    return Environment(
        filters=filters,
        finalizer=lambda value: meter.charge(_printed(value)),
        fuel=max(FUEL_MIN, min(FUEL_MAX, RAW_BYTES_MAX // max(1, len(code)))),
        undefined_behavior="strict",
        auto_escape_callback=lambda _: False,
        debug=False,
        pycompat=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _metered(
    write_value: Callable[..., str], meter: OutputMeter, mark: Callable[[str], str]
) -> Callable[..., str]:
    return lambda *args: mark(meter.charge(write_value(*args)))


def _printed(value: Any) -> str:
    """The output of our own filters is safe; any other value must not look like a heading."""
    return str(value) if isinstance(value, Markup) else _CONTROL.sub(r"\1\\", as_text(value))


# ------------------------------------------------------------------ values as text


def as_text(value: Any) -> str:
    match value:
        case str():
            return value
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float() if value.is_integer():
            return str(int(value))
        case Mapping():
            return describe_record(value)
        case list() | tuple():
            return _join(value, ", ")
        case _:
            return str(value)


def _join(value: Any, by: str) -> str:
    if not isinstance(value, list | tuple):
        return as_text(value)
    return by.join(as_text(one) for one in value)


def describe_record(record: Mapping[str, Any]) -> str:
    """`name` (where): message, on one line; missing parts are left out."""
    name, where, message = (_line(record.get(key)) for key in ("name", "where", "message"))
    head = " ".join((*([_code(name)] if name else []), *([f"({where})"] if where else [])))
    return ": ".join(filter(None, (head, message if message != name else "")))


def format_bullets(value: Any, most: int) -> str:
    """A list, one line per item, up to `most`; then the number of the rest."""
    items = value if isinstance(value, list | tuple) else [value] if value else []
    counted = _LEFT_OUT.fullmatch(_name(items[-1])) if items else None
    listed = items[:-1] if counted else items
    rest = max(0, len(listed) - most) + (int(counted[1]) if counted else 0)
    lines = [f"- {_bullet(item)}" for item in listed[:most]]
    return "\n".join([*lines, f"- {LEFT_OUT.format(rest)}"] if rest else lines)


def _name(item: Any) -> str:
    return as_text(item.get("name") if isinstance(item, Mapping) else item)


def _bullet(item: Any) -> str:
    return describe_record(item) if isinstance(item, Mapping) else _code(_line(item))


def _line(value: Any) -> str:
    return one_line(strip_terminal_codes(as_text(value)), LINE_CHARS_MAX)


def _code(text: str) -> str:
    """Inline code, with more backquotes than the text contains in a row."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    bar = "`" * (longest + 1)
    return f"{bar} {text} {bar}" if longest else f"{bar}{text}{bar}"


def unused_params(template: Template) -> Iterable[str]:
    return (name for name in template.source.params if name not in template.used_names)
