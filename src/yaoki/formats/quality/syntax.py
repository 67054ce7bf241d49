"""Q4: source that no longer parses as its language."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.balance import SyntaxProblem, find_imbalance
from yaoki.formats.quality.changed_file import ChangedFile, FileVersion
from yaoki.formats.quality.lexer import strip_comments
from yaoki.formats.quality.python import find_python_problem

_FENCE = lazy_compile(r"(?:```|~~~)[\w+-]{0,20}\s*\Z")
# JSON that its own program reads with comments.
_COMMENTED_JSON = lazy_compile(
    r"(?:^|/)(?:[tj]sconfig[^/]*\.json|[tj]sconfig/[^/]+\.json|\.[\w-]{1,40}rc(?:\.json)?|devcontainer\.json"
    r"|api-extractor\.json|renovate\.json|deno\.json|turbo\.json|nx\.json|project\.json|workspace\.json"
    r"|angular\.json|tslint\.json|biome\.json|cspell\.json|typedoc\.json|jsdoc\.json|rush\.json"
    r"|wrangler\.json|language-configuration\.json|keybindings\.json|settings\.json|launch\.json"
    r"|tasks\.json|appsettings[^/]*\.json|\.(?:vscode|devcontainer|zed)/[^/]+|[^/]+\.jsonc)\Z"
)
_TOML_PLACE = lazy_compile(r"\(at line (\d+), column \d+\)")
# Test data that is invalid by design, by its name.
_ON_PURPOSE = lazy_compile(
    r"test.*/(?:[^/]*[_.-])?(?:invalid|broken|malformed|corrupt|truncated|bad|unterminated"
    r"|unclosed|unparsable|syntax[_-]?errors?)[^/]*\Z",
    re.IGNORECASE,
)
_TEMPLATE = lazy_compile(r"\{\{|\{%|<%")
# Templates are no source yet.
_TEMPLATE_PLACE = lazy_compile(
    r"(?:^|/)(?:templates?|skeleton)/|\{\{|\.(?:tmpl|tpl|j2|jinja2?)\.", re.I
)
YAML_CHARS_MAX = 200_000


def find_breakage(pair: ChangedFile) -> SyntaxProblem | None:
    """The breakage that the change introduced.  A file that was broken before does not count."""
    if pair.after is None or (pair.before is not None and pair.before.text == pair.after.text):
        return None
    problem = _problem(pair.after)
    if problem is None or (pair.before is not None and _problem(pair.before) is not None):
        return None
    return problem


def _problem(side: FileVersion) -> SyntaxProblem | None:
    if side.grammar.is_prose or not side.text.strip() or _ON_PURPOSE.search(side.path):
        return None
    if "\ufffd" in side.text:
        return None  # of another encoding: the text was not read as intended
    if _TEMPLATE_PLACE.search(side.path) and _TEMPLATE.search(side.text):
        return None
    judge = PROBLEM_FINDERS.get(side.grammar.name, _brackets)
    # A fence is broken code that a scanner may mistake for strings.
    return _fence(side) or judge(side)


def _fence(side: FileVersion) -> SyntaxProblem | None:
    """A Markdown answer that was saved as code."""
    shown = [(n, line) for n, line in enumerate(side.lines, 1) if line.strip()]
    for n, line in (*shown[:1], *shown[-1:]):
        if side.grammar.name != "markup" and _FENCE.match(line):
            return SyntaxProblem(n, "there is a Markdown fence in the code")
    return None


def _brackets(side: FileVersion) -> SyntaxProblem | None:
    return find_imbalance(side.scanned, side.grammar)


def _json(side: FileVersion) -> SyntaxProblem | None:
    text = side.text
    if _COMMENTED_JSON.search(side.path):
        text = strip_comments(side.scanned)
    try:
        json.loads(text)
    except json.JSONDecodeError as wrong:
        if wrong.msg == "Extra data" and _is_json_lines(side.lines):
            return None
        at_end = not text[wrong.pos :].strip() or wrong.msg.startswith("Unterminated")
        return SyntaxProblem(wrong.lineno, _mention_end(wrong.msg, at_end), at_end)
    except RecursionError:
        return None
    except ValueError as wrong:  # a number with more digits than Python converts
        return None if "digits" in str(wrong) else SyntaxProblem(1, str(wrong))
    return None


def _is_json_lines(lines: list[str]) -> bool:
    """Is every line a document?  Logs and data often are."""
    try:
        return all(isinstance(json.loads(line), (dict, list)) for line in lines if line.strip())
    except (ValueError, RecursionError):
        return False


def _toml(side: FileVersion) -> SyntaxProblem | None:
    try:
        tomllib.loads(side.text)
    except tomllib.TOMLDecodeError as wrong:
        place = _TOML_PLACE.search(str(wrong))
        at_end = "at end of document" in str(wrong)
        line = int(place[1]) if place else len(side.text.rstrip().split("\n"))
        return SyntaxProblem(line, _mention_end(str(wrong).partition(" (at ")[0], at_end), at_end)
    except (RecursionError, ValueError):
        return None
    return None


def _yaml(side: FileVersion) -> SyntaxProblem | None:
    """Structure only: tags are the reader's business, templates are no YAML yet."""
    import yaml  # imported late: most tasks change no YAML

    if len(side.text) > YAML_CHARS_MAX or _TEMPLATE.search(side.text):
        return None
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        for _ in yaml.parse(side.text, Loader=loader):
            pass
    except yaml.MarkedYAMLError as wrong:
        mark = wrong.problem_mark
        line = mark.line + 1 if mark else 1
        at_end = mark is not None and line > len(side.text.rstrip().split("\n"))
        return SyntaxProblem(line, _mention_end(wrong.problem or "not YAML", at_end), at_end)
    except (yaml.YAMLError, RecursionError, ValueError):
        return None
    return None


def _mention_end(message: str, at_end: bool) -> str:
    return f"the file ends in the middle: {message}" if at_end else message


PROBLEM_FINDERS: dict[str, Callable[[FileVersion], SyntaxProblem | None]] = {
    "python": lambda side: find_python_problem(side.text),
    "json": _json,
    "toml": _toml,
    "yaml": _yaml,
}
