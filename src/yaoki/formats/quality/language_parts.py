"""Files with several languages: components, notebooks, scripts known by their first line."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator

from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.languages import GRAMMARS, Grammar, ending_of, language_of
from yaoki.formats.quality.model import Change

# A larger file is data or generated, and is not judged.
FILE_CHARS_MAX = 400_000
CELLS_MAX = 2_000
_COMPONENTS = frozenset({"vue", "svelte", "astro", "html", "htm"})
_SCRIPT = lazy_compile(r"(<script\b[^>]{0,300}>)([\s\S]*?)(?=</script\s*>|\Z)", re.IGNORECASE)
_STYLE = lazy_compile(r"(<style\b[^>]{0,300}>)([\s\S]*?)(?=</style\s*>|\Z)", re.IGNORECASE)
_FRONT = lazy_compile(r"(\A---[ \t]*\n)([\s\S]*?)(?=^---[ \t]*$)", re.MULTILINE)
_OTHER_SCRIPT = lazy_compile(
    r"lang=[\"'](?!js|ts|jsx|tsx)|type=[\"'](?!module|(?:text|application)/(?:java|type)script)"
)
_OTHER_STYLE = lazy_compile(r"lang=[\"'](?!css|scss|less|postcss)")
_SHEBANG = lazy_compile(
    r"#![^\n]{0,80}?(?:/|\s)(python|node|deno|bun|bash|sh|zsh|ksh|dash|ruby|perl)[\d.]*(?:\s|\Z)"
)
_BY_PROGRAM = {"python": "python", "ruby": "ruby", "perl": "hash"}
_BY_PROGRAM |= dict.fromkeys(("node", "deno", "bun"), "javascript")
_NOT_NEWLINE = lazy_compile(r"[^\n]")

Mask = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class LanguagePart:
    """The part of a change in one grammar; line numbers are unchanged."""

    change: Change
    grammar: Grammar


def split_languages(change: Change) -> Iterator[LanguagePart]:
    if max(len(change.before or ""), len(change.after or "")) > FILE_CHARS_MAX:
        return
    ending, grammar = ending_of(change.path), language_of(change.path)
    if grammar is not None and ending in _COMPONENTS:
        yield from _component(change, grammar, balanced=ending in {"vue", "svelte"})
    elif grammar is not None:
        yield LanguagePart(change, grammar)
        if ending == "ipynb":
            yield LanguagePart(_notebook(change), GRAMMARS["notebook"])
    elif named := _by_first_line(change):
        yield LanguagePart(change, named)


def _by_first_line(change: Change) -> Grammar | None:
    if "." in change.path.rsplit("/", 1)[-1].strip("."):
        return None
    shebang = _SHEBANG.match(change.after or change.before or "")
    return GRAMMARS[_BY_PROGRAM.get(shebang[1], "shell")] if shebang else None


# ------------------------------------------------------------------ components


def _component(change: Change, grammar: Grammar, *, balanced: bool) -> Iterator[LanguagePart]:
    """A page may be filled in later, so only a component's own brackets are judged."""
    yield LanguagePart(_mask_change(change, _without), grammar)
    for name, mask in (("javascript", _script), ("scss", _style)):
        part = _mask_change(change, mask)
        if (part.after or part.before or "").strip():
            part_grammar = GRAMMARS[name]
            yield LanguagePart(part, part_grammar if balanced else replace(part_grammar, pairs=""))


def _mask_change(change: Change, mask: Mask) -> Change:
    before, after = (None if text is None else mask(text) for text in (change.before, change.after))
    return replace(change, before=before, after=after)


def _without(text: str) -> str:
    for shape in (_SCRIPT, _STYLE, _FRONT):
        text = shape.sub(lambda hit: hit[1] + _NOT_NEWLINE.sub(" ", hit[2]), text)
    return text


def _script(text: str) -> str:
    return _keep_only(text, (_SCRIPT, _FRONT), _OTHER_SCRIPT)


def _style(text: str) -> str:
    return _keep_only(text, (_STYLE,), _OTHER_STYLE)


def _keep_only(text: str, shapes: tuple[re.Pattern[str], ...], other: re.Pattern[str]) -> str:
    """Everything else is blanked."""
    spans = [
        hit.span(2) for shape in shapes for hit in shape.finditer(text) if not other.search(hit[1])
    ]
    pieces, at = [], 0
    for start, end in sorted(spans):
        pieces += [_NOT_NEWLINE.sub(" ", text[at:start]), text[start:end]]
        at = max(at, end)
    return "".join([*pieces, _NOT_NEWLINE.sub(" ", text[at:])])


# ------------------------------------------------------------------ notebooks


def _notebook(change: Change) -> Change:
    """The code of the cells, one after the other; its lines have their own numbers."""
    before, after = _cells(change.before), _cells(change.after)
    lines_before = Counter((before or "").split("\n"))
    added = []
    for n, line in enumerate((after or "").split("\n"), 1):
        lines_before[line] -= 1
        if lines_before[line] < 0:
            added.append((n, line))
    return Change(change.path, before, after, tuple(added))


def _cells(text: str | None) -> str | None:
    if text is None:
        return None
    try:
        notebook = json.loads(text)
        cells = [cell for cell in notebook["cells"][:CELLS_MAX] if cell.get("cell_type") == "code"]
        return "\n".join(_source(cell.get("source", "")) for cell in cells)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return ""


def _source(source: object) -> str:
    lines = source if isinstance(source, list) else [source]
    return "".join(line for line in lines if isinstance(line, str))
