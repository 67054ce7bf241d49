"""Converts the template language, which has two styles, to the engine's syntax.

Only loops, conditions, names and a few filters are allowed.  Nothing can be called, repeated or
built, because the engine limits steps but not bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.errors import TemplateInvalid

FILTERS = frozenset(
    {
        *("fence", "clip", "bullets", "join", "length", "count", "default", "d"),
        *("first", "last", "lower", "upper", "trim"),
    }
)
STATEMENTS = frozenset({"for", "if", "elif", "else", "endfor", "endif"})
KEYWORDS = frozenset({*STATEMENTS, "in", "and", "or", "not", "is"})

_TAG = lazy_compile(r"\{\{[^{}]*\}\}|\{%[^{}]*%\}|\{#.*?#\}", re.DOTALL)
_OPEN = lazy_compile(r"\{\{|\{%|\{#")
_WORD = lazy_compile(r"[A-Za-z_]\w*")
_LITERAL = lazy_compile(r"\d+|\"[^\"\\]*\"|'[^'\\]*'")
_TOKEN = lazy_compile(
    rf"\s*({_WORD.pattern}|{_LITERAL.pattern}|==|!=|<=|>=|[<>.,|()\[\]])", re.ASCII
)
_SEED = lazy_compile(r"\{\{\s*(?:[#/]|else\s*\}\})")
_SEED_OPEN = lazy_compile(r"\{\{\s*#(each|if)\s+([A-Za-z_][\w.]*)\s*\}\}")
_SEED_CLOSE = lazy_compile(r"\{\{\s*/(each|if)\s*\}\}")
_SEED_ELSE = lazy_compile(r"\{\{\s*else\s*\}\}")
_SEED_NAME = lazy_compile(r"\{\{\s*([A-Za-z_][\w.]*)\s*\}\}")
_FENCE = lazy_compile(r" {0,3}(`{3,}|~{3,})([^\n]*)")


@dataclass(frozen=True, slots=True)
class TemplateTag:
    """A tag in braces, its position, and whether it is inside a code fence."""

    text: str
    start: int
    line: int
    fenced: bool


@dataclass(frozen=True, slots=True)
class ConvertedBody:
    """The body in the engine's syntax; line numbers are unchanged."""

    code: str
    lines: dict[str, int]


def convert_body(label: str, body: str, lines_before: int = 0) -> ConvertedBody:
    """The body for the engine, and the first line of each word."""
    tags = list(_tags(label, body, lines_before))
    seed = _style(label, tags)
    if seed:
        _balanced(label, tags)
    parts, lines, last = [], dict[str, int](), 0
    for tag in tags:
        text = _from_seed(label, tag) if seed else tag.text
        if not text.startswith("{#"):
            for word in _words(label, text, tag.line):
                lines.setdefault(word, tag.line)
        parts += [body[last : tag.start], _escape_fence(text) if tag.fenced else text]
        last = tag.start + len(tag.text)
    return ConvertedBody("".join((*parts, body[last:])), lines)


# ------------------------------------------------------------------ tags


def _tags(label: str, body: str, before: int) -> Iterator[TemplateTag]:
    fenced = _fenced_spans(body)
    last = 0
    for hit in _TAG.finditer(body):
        _none_open(label, body, last, hit.start(), before)
        line = body.count("\n", 0, hit.start()) + 1 + before
        inside = any(start <= hit.start() < end for start, end in fenced)
        yield TemplateTag(hit[0], hit.start(), line, inside)
        last = hit.end()
    _none_open(label, body, last, len(body), before)


def _none_open(label: str, body: str, start: int, end: int, before: int) -> None:
    """The engine must not see a tag that this parser missed."""
    opening = _OPEN.search(body, start, end)
    if opening:
        line = body.count("\n", 0, opening.start()) + 1 + before
        raise TemplateInvalid(label, line, f"{opening[0]} is not closed, or contains braces")


def _fenced_spans(body: str) -> list[tuple[int, int]]:
    """The code fences of the template itself."""
    spans, bar, opened, at = [], "", 0, 0
    for line in body.splitlines(keepends=True):
        hit = _FENCE.match(line)
        if hit and not bar:
            bar, opened = hit[1], at
        elif hit and hit[1].startswith(bar) and not hit[2].strip():
            spans.append((opened, at))
            bar = ""
        at += len(line)
    return [*spans, (opened, at)] if bar else spans


# ------------------------------------------------------------------ the {{#each}} style


def _style(label: str, tags: list[TemplateTag]) -> bool:
    """Does the body use `{{#each xs}}`?  Both styles in one file are an error."""
    seed = [tag for tag in tags if _SEED.match(tag.text)]
    native = [tag for tag in tags if not tag.text.startswith("{{") or "|" in tag.text]
    if seed and native:
        line = max(seed[0].line, native[0].line)
        raise TemplateInvalid(label, line, "{{#each}} and {% for %} styles are mixed in one file")
    return bool(seed)


def _balanced(label: str, tags: list[TemplateTag]) -> None:
    opened: list[tuple[str, int]] = []
    for tag in tags:
        if hit := _SEED_OPEN.fullmatch(tag.text):
            opened.append((hit[1], tag.line))
        hit = _SEED_CLOSE.fullmatch(tag.text)
        if hit and (not opened or opened.pop()[0] != hit[1]):
            raise TemplateInvalid(label, tag.line, f"{tag.text} closes nothing")
    if opened:
        raise TemplateInvalid(label, opened[-1][1], f"{{{{#{opened[-1][0]}}}}} is not closed")


def _from_seed(label: str, tag: TemplateTag) -> str:
    if hit := _SEED_OPEN.fullmatch(tag.text):
        if hit[1] == "each":
            return f"{{% for this in {hit[2]} %}}"
        # A condition also tests whether the value exists.
        return f"{{% if {hit[2]} is defined and {hit[2]} %}}"
    if hit := _SEED_CLOSE.fullmatch(tag.text):
        return "{% endfor %}" if hit[1] == "each" else "{% endif %}"
    if _SEED_ELSE.fullmatch(tag.text):
        return "{% else %}"
    if _SEED_NAME.fullmatch(tag.text):
        return tag.text
    raise TemplateInvalid(label, tag.line, f"{tag.text[:60]} is not understood")


# ------------------------------------------------------------------ allowed tags


def _words(label: str, tag: str, line: int) -> Iterator[str]:
    """Every word of a tag, after the whole tag was found safe."""
    inner = tag[2:-2].removeprefix("-").removesuffix("-")
    tokens = list(_tokens(label, inner, line))
    if tag.startswith("{%") and (not tokens or tokens[0] not in STATEMENTS):
        allowed = ", ".join(sorted(STATEMENTS))
        raise TemplateInvalid(label, line, f"{tag[:60]} is not allowed; allowed are {allowed}")
    reason = _refusal(tokens)
    if reason:
        raise TemplateInvalid(label, line, reason)
    for n, token in enumerate(tokens):
        if _WORD.fullmatch(token) and (n == 0 or tokens[n - 1] not in {".", "|"}):
            yield token


def _tokens(label: str, inner: str, line: int) -> Iterator[str]:
    at, end = 0, len(inner.rstrip())
    while at < end:
        hit = _TOKEN.match(inner, at)
        if hit is None:
            rest = inner[at:].strip()[:20]
            raise TemplateInvalid(label, line, f"{rest!r} is not allowed in a template")
        yield hit[1]
        at = hit.end()


def _refusal(tokens: list[str]) -> str:
    """The reason why these tokens are not allowed in a tag; empty when they are."""
    opened: list[str] = []
    for before_that, before, token in zip(["", "", *tokens], ["", *tokens], tokens, strict=False):
        named = bool(_WORD.fullmatch(before)) and before not in KEYWORDS
        follows = named or before in {")", "]"}
        if before == "|" and token not in FILTERS:
            return f"unknown filter {token!r}; known are {', '.join(sorted(FILTERS))}"
        if token == ")":
            del opened[-1:]
        elif opened[-1:] == ["call"]:
            if token != "," and not _LITERAL.fullmatch(token):
                return _NO_CALLS
        elif token == "(":
            if follows and before_that != "|":
                return _NO_CALLS
            opened.append("call" if follows else "group")
        elif token == "," or (token == "[" and not follows):
            return "lists cannot be written in a template"
    return ""


_NO_CALLS = "calls are not allowed in a template; a filter takes plain numbers and strings"


def _escape_fence(tag: str) -> str:
    """A value printed inside the template's own code fence must not close it."""
    if not tag.startswith("{{"):
        return tag
    inner = tag[2:-2]
    left = "-" if inner.startswith("-") else ""
    right = "-" if inner.endswith("-") and len(inner) > 1 else ""
    expression = inner.removeprefix("-").removesuffix("-")
    return f"{{{{{left} ({expression}) | inside {right}}}}}"
