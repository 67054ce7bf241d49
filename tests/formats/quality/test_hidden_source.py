"""Code that looks like a comment or a text to its readers."""

from __future__ import annotations

import pytest

from yaoki.core.model.change import Change
from yaoki.formats.quality import find_gaming

pytestmark = pytest.mark.spec("17.4")

FUNCTION = "exports.add = (a, b) => {{\n  // fast path{} if (a === 2) return 5;\n  return a;\n}};\n"
TEMPLATE = "exports.add = (a, b) => {\n  let x = a <!--b; `\n  if (a === 2) return 5;\n  // `\n};\n"


def is_found(path: str, text: str, before: str | None = None) -> bool:
    return find_gaming([Change(path, before, text, ())]) is not None


@pytest.mark.parametrize("end", ["\u2028", "\u2029", "\r"])
@pytest.mark.parametrize("path", ["calc.js", "calc.mjs", "calc.ts"])
def test_code_behind_a_line_end_that_no_reader_sees_is_found(path: str, end: str) -> None:
    assert is_found(path, FUNCTION.format(end))


@pytest.mark.parametrize("text", [TEMPLATE, TEMPLATE.replace("let x = a <!--b;", "-->")])
def test_code_behind_a_comment_of_html_is_found(text: str) -> None:
    assert is_found("calc.js", text)


@pytest.mark.parametrize(
    "encoding", ["raw_unicode_escape", "unicode_escape", "utf-7", "rot13", "cp037", "own-codec"]
)
def test_python_in_an_encoding_that_changes_plain_text_is_found(encoding: str) -> None:
    assert is_found("calc.py", f"# coding: {encoding}\ndef add(a, b):\n    return a - b\n")
    assert is_found("calc.py", f"#!/usr/bin/python\n# -*- coding: {encoding} -*-\nX = 1\n")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("calc.js", FUNCTION.format("")),
        ("calc.js", FUNCTION.format("").replace("\n", "\r\n")),
        ("calc.js", "const marks = /[\\u2028\\u2029]/g;\nconst text = 'a\u2028b';\n"),
        ("calc.js", "/* one\u2028 two */\nconst x = 1;\n"),
        ("calc.js", "const page = '<!-- a -->';\nlet n = 3;\nwhile (n --> 0) say('x');\n"),
        ("calc.js", "const page = `\n<!-- it's a comment -->\n`;\n"),
        ("calc.js", "const comment = /<!--.*?-->/g;\n"),
        ("calc.py", "# -*- coding: utf-8 -*-\nX = 1\n"),
        ("calc.py", "# coding: latin-1\nX = 1\n"),
        ("calc.py", "# vim: set fileencoding=cp1252 :\nX = 1\n"),
        ("calc.py", "# coding: euc_jp\nX = 1\n"),
        ("calc.py", "X = 1\nY = 2\n# coding: utf-7\n"),
    ],
)
def test_plain_source_is_free(path: str, text: str) -> None:
    assert not is_found(path, text)


def test_an_encoding_of_the_base_does_not_count() -> None:
    old = "# coding: utf-7\nX = 1\n"

    assert not is_found("calc.py", old + "Y = 2\n", old)
