"""The names of a JavaScript runner, and whether a file replaces what they stand for.

`const test = require('node:test')` binds a name to a library; `const test = () => {}` keeps every
test below it from running.  Only a value that is read as a whole and comes from a test library, or
from a file of the base, is a binding.  Any other value is a replacement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from posixpath import dirname

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.definition.file_index import FileIndex
from yaoki.formats.quality.definition.references import find_js_modules
from yaoki.formats.quality.languages import language_of
from yaoki.formats.quality.lexer import scan_source
from yaoki.formats.quality.suites import without_comments

EXTEND_CHARS_MAX = 20_000
_NAMED = lazy_compile(
    r"(?<![-$])\b(?:global(?:This)?\.)?(?P<name>expect|assert|it|test|describe)(?P<member>\.\w+)?\s*=(?!=|>)"
    r"|\bfunction\s+(?:it|test|expect|assert|describe)\s*\("
)
_WITH_ASSERTIONS = frozenset(
    {"@jest/globals", "@playwright/test", "@storybook/test", "bun:test", "jasmine", "jasmine-core"}
    | {"ospec", "qunit", "riteway", "tap", "vitest", "zora"}
)
_RUNNERS = _WITH_ASSERTIONS | {
    *("node:test", "test", "mocha", "ava", "uvu", "baretest", "brittle", "tapzero", "@hapi/lab"),
    *("tape", "tape-promise", "tape-catch", "blue-tape", "fresh-tape", "supertape", "@japa/runner"),
}
_ASSERTIONS = _WITH_ASSERTIONS | {
    *("assert", "assert/strict", "node:assert", "node:assert/strict", "power-assert", "uvu/assert"),
    *("chai", "expect", "expect.js", "unexpected", "must", "earl", "@hapi/code", "@japa/assert"),
}
TEST_LIBRARIES = _RUNNERS | _ASSERTIONS
# Not `skip`, `todo` or `bind`: a test under such a name does not run.
_MEMBERS = r"test|it|describe|suite|script|expect|assert|strict|default"
_REQUIRE = r"require\s{0,9}\(\s{0,99}(['\"`])(?P<file>[^'\"`\n]{1,300})\1\s{0,99}\)"
# The same behind one group more.
_REQUIRED = _REQUIRE.replace(r"\1", r"\2")
_PATH = rf"(?P<path>(?:\s{{0,99}}\.\s{{0,9}}(?:{_MEMBERS})\b)*)"
_VALUE = lazy_compile(rf"\s{{0,99}}(?:{_REQUIRE}|(?P<word>[A-Za-z_$][\w$]{{0,99}})){_PATH}")
_TITLE_CALL = lazy_compile(r"\(\s{0,99}(['\"`])[^'\"`\n]{0,300}\1\s{0,99}\)")
_EXTEND = lazy_compile(r"\s{0,99}\.\s{0,9}extend\s{0,9}(?:<[^()]{0,2000}>)?\(")
# A value that goes on, also in the next line, is more than what was read.
_END = lazy_compile(r"[ \t]*(?:[;,})\]]|\Z|\r?\n(?!\s*[-|&?.(\[`+*/%,<>=^]))")
_ASSIGNED = lazy_compile(rf"([A-Za-z_$][\w$]{{0,99}})\s{{0,9}}=\s{{0,99}}{_REQUIRED}{_PATH}")
_UNPACKED = lazy_compile(rf"\{{([^{{}}]{{1,2000}})\}}\s{{0,9}}=\s{{0,99}}{_REQUIRED}")
_IMPORTED = lazy_compile(
    r"\bimport\s{1,9}(?P<names>[^'\"`;()]{1,2000}?)\s{0,9}\bfrom\s{0,9}(['\"])(?P<file>[^'\"\n]{1,300})\2"
)
_PART = lazy_compile(rf"\s*(?:{_MEMBERS})\s*(?:(?::|\bas\b)\s*([A-Za-z_$][\w$]*)\s*)?")
_WORD = lazy_compile(r"[A-Za-z_$][\w$]*")
_OWN_REQUIRE = lazy_compile(
    r"(?<![.\w$])require\s*=(?!=|>)(?!\s*(?:\w+\.)?createRequire\s*\()|\bfunction\s+require\b"
)
_RUNS_TEXT = lazy_compile(r"\beval\s*\(|\bFunction\s*\(|\bvm\b")


def count_replaced_names(path: str, text: str, base: FileIndex) -> int:
    """How often the file gives a name of the runner another function; `base` has the helpers."""
    grammar = language_of(path)
    if grammar is None:
        return len(_NAMED.findall(text))
    source = scan_source(text, grammar)
    bare = without_comments(source)
    if grammar.name != "javascript":
        return len(_NAMED.findall(bare))
    # A text that is run as code may hold the assignment.
    is_code = source.unfinished_at < 0 and not _RUNS_TEXT.search(source.code)
    hits = _NAMED.finditer(source.code if is_code else bare)
    if _OWN_REQUIRE.search(bare):
        return sum(1 for _ in hits)
    return sum(not _is_bound(hit, path, bare, base) for hit in hits)


def _is_bound(hit: re.Match[str], path: str, text: str, base: FileIndex) -> bool:
    value = _VALUE.match(text, hit.end())
    if hit["name"] is None or hit["member"] or value is None or not _ends(text, value.end()):
        return False
    libraries = _ASSERTIONS if hit["name"] in ("expect", "assert") else _RUNNERS
    files = [value["file"]] if value["file"] else _sources_of(value["word"], text)
    # A name with two sources may stand for either.
    return len(files) == 1 and (files[0] in libraries or _is_in_base(files[0], path, base))


def _ends(text: str, at: int) -> bool:
    """Is this the end of the value, perhaps after a title or after `extend({…})`?"""
    if call := _TITLE_CALL.match(text, at):
        at = call.end()
    elif call := _EXTEND.match(text, at):
        at = _closing(text, call.end())
    return _END.match(text, at) is not None


def _closing(text: str, at: int) -> int:
    depth = 1
    for place in range(at, min(len(text), at + EXTEND_CHARS_MAX)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return place + 1
    return at


def _sources_of(word: str, text: str) -> list[str]:
    """The modules that a name of the file is read from; one more if it is assigned elsewhere."""
    sources = [file for name, file in _bindings(text) if name == word]
    assigned = len(re.findall(rf"(?<![\w$.]){re.escape(word)}\s*=(?!=|>)", text))
    required = sum(hit[1] == word for hit in _ASSIGNED.finditer(text))
    return sources + [""] * (assigned - required)


def _bindings(text: str) -> Iterator[tuple[str, str]]:
    for hit in _ASSIGNED.finditer(text):
        if _END.match(text, hit.end()):
            yield hit[1], hit["file"]
    for hit in _UNPACKED.finditer(text):
        yield from ((name, hit["file"]) for name in _unpacked_names(hit[1]))
    for hit in _IMPORTED.finditer(text):
        whole, _, members = hit["names"].partition("{")
        yield from ((name, hit["file"]) for name in _WORD.findall(whole))
        yield from ((name, hit["file"]) for name in _unpacked_names(members.partition("}")[0]))


def _unpacked_names(members: str) -> Iterator[str]:
    """`it, test as base` and `it, test: base`: the new names of members that run tests."""
    for part in members.split(","):
        if hit := _PART.fullmatch(part):
            yield hit[1] or part.strip()


def _is_in_base(file: str, path: str, base: FileIndex) -> bool:
    return file.startswith(".") and bool(find_js_modules(file, dirname(path), base))
