"""Old tests, written with the names that the goal of the task asks for.

"Rename old_mul to mul" changes every test of it.  The tests of the base are compared as if they
used the new name already, so that a rename is no change and everything beside it is one.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from itertools import pairwise

from yaoki.core.lazy_dataclass import replace
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model.change import Change
from yaoki.formats.quality.definition.program_names import AskedRename, code_of, is_javascript
from yaoki.formats.quality.language_parts import FILE_CHARS_MAX
from yaoki.formats.quality.python import parse_python
from yaoki.formats.quality.python_suites import last_name
from yaoki.formats.quality.suites import read_file_tests

# They take the name of an attribute as a string.
_BY_NAME = frozenset({"setattr", "delattr", "getattr", "hasattr", "object"})
_HUMPS = lazy_compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_BEHIND_DOT = lazy_compile(r"(?<!\.)\.\s*\Z")


def with_asked_names(change: Change, renames: Sequence[AskedRename]) -> Change:
    """The change as if its base used the new names; as it is if a name would get two meanings."""
    before = change.before
    if before is None or len(before) > FILE_CHARS_MAX:
        return change
    for one in renames:
        if one.is_for(change.path) and one.old.bare in before:
            before = (
                _rename_javascript(change.path, before, change.after or "", one)
                if is_javascript(change.path)
                else _rename_python(before, one)
            )
    return replace(change, before=before) if before != change.before else change


def renamed_title(name: str, renames: Sequence[AskedRename]) -> str:
    """`test_old_mul_of_zero` is `test_mul_of_zero` now, and TestOldMul is TestMul."""
    for one in renames:
        name = re.sub(_word_pattern(one.old.bare), one.new.bare, name)
        old, new = (_humps(word.bare) for word in (one.old, one.new))
        name = re.sub(rf"(?<=[a-z\d]){re.escape(old)}(?![a-z])", new, name)
    return name


def renamed_titles(change: Change, renames: Sequence[AskedRename]) -> dict[str, str]:
    """The tests that are gone and have the new name in their title now."""
    old, new = (
        frozenset(read_file_tests(change.path, text).names)
        for text in (change.before, change.after)
    )
    titles = {title: renamed_title(title, renames) for title in sorted(old - new)}
    return {title: now for title, now in titles.items() if now in new - old}


def _word_pattern(name: str) -> str:
    return rf"(?<![A-Za-z0-9$]){re.escape(name)}(?![A-Za-z0-9$])"


def _humps(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in _HUMPS.findall(name))


# ------------------------------------------------------------------ Python


def _rename_python(text: str, rename: AskedRename) -> str:
    tree = parse_python(text)
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return text
    old, new = rename.old.bare, rename.new.bare
    dotted = {token.start: before.string == "." for before, token in pairwise(tokens)}
    uses = {
        name: [t.start for t in tokens if t.type == tokenize.NAME and t.string == name]
        for name in (old, new)
    }
    kinds = [{dotted.get(place, False) for place in uses[name]} for name in (old, new)]
    if tree is None or kinds[0] & kinds[1]:
        return text
    places = dict.fromkeys(uses[old], new)
    lines = io.StringIO(text).readlines()
    for node, value in _named_strings(tree, rename):
        column = len(lines[node.lineno - 1].encode()[: node.col_offset].decode())
        written = ast.get_source_segment(text, node) or ""
        # Not `r"…"`, nor a string in several parts.
        if written[1:-1] == node.value:
            places[node.lineno, column + 1] = value
    for (line, column), value in sorted(places.items(), reverse=True):
        known = lines[line - 1]
        length = _word_length(known, column)
        lines[line - 1] = known[:column] + value + known[column + length :]
    written_anew = "".join(lines)
    return text if parse_python(written_anew) is None else written_anew


def _word_length(line: str, column: int) -> int:
    """Of a name, or of the dotted name in a string."""
    in_string = column > 0 and line[column - 1] in "'\""
    found = re.compile(r"[\w.]+" if in_string else r"\w+").match(line, column)
    return len(found[0]) if found else 0


def _named_strings(tree: ast.Module, rename: AskedRename) -> Iterator[tuple[ast.Constant, str]]:
    """Strings that name it: `patch("calc.old_mul")`, `hasattr(calc, "old_mul")`."""
    ways = rename.old.ways() - {rename.old.bare}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            is_by_name = last_name(node.func) in _BY_NAME
            for at, arg in enumerate(node.args[:2]):
                value = arg.value if isinstance(arg, ast.Constant) else None
                if not isinstance(value, str) or not isinstance(arg, ast.Constant):
                    continue
                if at == 0 and "." in value and value in ways:
                    yield arg, value.removesuffix(rename.old.bare) + rename.new.bare
                elif at == 1 and is_by_name and value == rename.old.bare:
                    yield arg, rename.new.bare


# ------------------------------------------------------------------ JavaScript


def _rename_javascript(path: str, before: str, after: str, rename: AskedRename) -> str:
    old, new = rename.old.bare, rename.new.bare
    code = code_of(path, before)
    if _js_kinds(code, old) & _js_kinds(code, new):
        return before
    places = [hit.start() for hit in _js_word(old).finditer(code)]
    for at in reversed(places):
        before = before[:at] + new + before[at + len(old) :]
    for title, now in renamed_titles(Change(path, before, after, ()), [rename]).items():
        for quote in "'\"`":
            before = before.replace(f"{quote}{title}{quote}", f"{quote}{now}{quote}")
    return before


def _js_word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")


def _js_kinds(code: str, name: str) -> set[bool]:
    """Is it used behind a dot, or on its own?"""
    return {
        _BEHIND_DOT.search(code, max(0, hit.start() - 80), hit.start()) is not None
        for hit in _js_word(name).finditer(code)
    }
