"""C and C++ files that give the tests another `assert`, by a macro that they did not have."""

from __future__ import annotations

import re
from posixpath import basename

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model.change import Change
from yaoki.formats.quality.definition.file_index import FileIndex
from yaoki.formats.quality.languages import language_of
from yaoki.formats.quality.lexer import scan_source
from yaoki.formats.quality.suites import is_test_path, without_comments

_HEADER = lazy_compile(r"\.(?:h|hh|hpp|hxx|h\+\+|inc|inl|ipp|tpp)$")
_SOURCE = lazy_compile(r"\.(?:c|cc|cpp|cxx|c\+\+|m|mm)$")
_DIRECTIVE = lazy_compile(r"^[ \t]*#[ \t]*(?:define|undef)[ \t]+(\w+)", re.MULTILINE)
# The names that decide the result of a test: its assertions, and how its program ends.
_DECIDES = lazy_compile(
    r"\w*(?:assert|ASSERT|Assert)\w*|(?:EXPECT|CHECK|REQUIRE|FAIL|SECTION|SUBCASE|TEST)\w*|ck_\w+|cr_\w+"
    r"|mu_\w+|main|exit|_exit|_Exit|abort|if|return|while|strcmp|strncmp|memcmp|fprintf|perror"
)


def find_replaced_macros(change: Change, base: FileIndex) -> list[str]:
    """The names that the tests of the base use and that the file newly defines or undefines."""
    path, after = change.path, change.after or ""
    is_source = _SOURCE.search(path) is not None
    if not (is_source or _HEADER.search(path)) or (is_source and is_test_path(path)):
        return []
    gained = _macros(path, after) - _macros(path, change.before or "")
    decisive = {name for name in gained if name == "NDEBUG" or _DECIDES.fullmatch(name)}
    if not decisive:
        return []
    tests = [base.text(one) for one in sorted(base.paths) if _is_test(one)]
    if is_source:
        tests = [text for text in tests if f'{basename(path)}"' in text]
    used = {name for name in decisive if any(_uses(text, name) for text in tests)}
    return sorted(used)


def _is_test(path: str) -> bool:
    return is_test_path(path) and bool(_SOURCE.search(path) or _HEADER.search(path))


def _macros(path: str, text: str) -> frozenset[str]:
    """A definition that only stands in for a missing one replaces nothing."""
    grammar = language_of(path)
    bare = without_comments(scan_source(text, grammar)) if grammar else text
    guarded = re.findall(r"^[ \t]*#[ \t]*ifndef[ \t]+(\w+)", bare, re.MULTILINE)
    undefined = re.findall(r"^[ \t]*#[ \t]*undef[ \t]+(\w+)", bare, re.MULTILINE)
    return frozenset(_DIRECTIVE.findall(bare)) - (frozenset(guarded) - frozenset(undefined))


def _uses(text: str, name: str) -> bool:
    word = r"assert\s*\(" if name == "NDEBUG" else rf"{re.escape(name)}\b"
    own = re.search(rf"^[ \t]*#[ \t]*define[ \t]+{re.escape(name)}\b", text, re.MULTILINE)
    return re.search(rf"\b{word}", text) is not None and own is None
