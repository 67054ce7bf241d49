"""Both forms of the report against parsers of their standards, with hostile text in every place.

Text from elsewhere may not change the structure of a report, and is shown literally.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from justhtml import JustHTML
from markdown_it import MarkdownIt

from tests.report.test_report import a_branch, a_story, entry, landed, report_of
from tests.views.test_views import a_row
from yaoki.core.model import State
from yaoki.report import render_markdown, render_page

PLAIN = "plain"
AT = "2026-01-01T00:00:00+00:00"
HOSTILE = (
    "<script>alert(1)</script>",
    "</style><b onclick=x>",
    "</title></code></pre>",
    "<!-- x",
    "]]> <![CDATA[",
    "a|b",
    "|",
    "\\|",
    "`",
    "a`|`b",
    "``` x",
    "~~~ x",
    "~~x~~",
    "# x",
    "#",
    "- x",
    "-",
    "---",
    "- - -",
    "+ x",
    "* x",
    "***",
    "___",
    "===",
    "1. x",
    "12) x",
    "> x",
    "[a](b)",
    "![a](b)",
    "[a]: b",
    "<https://localhost/>",
    "*x*",
    "__x__",
    "&lt; &amp;",
    "&#60;b&#62;",
    "\\",
    "x\\",
    "\"x\" 'y'",
    "日本語 👧",
    "{{ run }} {% if %}",
    "<svg/onload=x>",
)


def report_with(text: str) -> dict[str, Any]:
    """Every section of a report is there, and has the text in each field from elsewhere."""
    rows = [
        *(replace(row, name=text) for row in landed(1)),
        replace(a_row(2, State.ESCALATED, attempt=1, question=text), name=text),
        replace(a_row(3, State.CANCELLED, attempt=1), name=text),
    ]
    exit_ = {"cost": 0.5, "tokens": 7, "session": text}
    lost: dict[str, Any] = {"failure": {"kind": "INCOMPLETE", "pattern": text, "message": text}}
    entries = [
        *a_story(1, 1, **exit_),
        *a_story(2, 10, **exit_)[:4],
        entry(20, "RETRY_DECISION", 2, **lost, delay_s=1.0),
    ]
    made, _ = report_of(rows, entries, a_branch(1))
    made = copy.deepcopy(made)
    made["run"] |= {"goal": text, "paused": text, "base_branch": text, "run_branch": text}
    made["run"] |= {"merged": "c" * 40, "merged_into": text}
    made |= {"warnings": [text], "verdict": text, "made_with": {text: text}, "next": text}
    made["time"]["wall_s"] = 100.0
    where = {"task": "none", "name": text, "at": AT}
    for one in made["asking"]:
        one |= {"name": text, "question": text, "answers": [{"command": text, "what": text}]}
    made["noticed"]["listed"] = [{**where, "words": text, "times": 2}]
    answer = {**where, "choice": "retry", "check": text, "words": text, "how": text}
    made["decided"]["answers"] = [answer]
    work = {**where, "attempt": 1, "ref": text, "commit": "c" * 40, "command": text}
    made["kept"]["work"] = [work]
    made["flaky"] = [{"check": text, "times": 2, "tasks": [text], "tasks_left_out": 1}]
    made["red_before"] = [{"check": text, "failures": text}]
    made["retries"] = [{"kind": "INCOMPLETE", "pattern": text, "count": 2}]
    made["not_retried"] = [{"kind": "INCOMPLETE", "pattern": text, "count": 2}]
    for task in made["tasks"]:
        task |= {"agent_ended": text, "next": text}
        for check in task["proof"]["checks"] if task["proof"] else ():
            check |= {"check": text, "message": text, "command": text, "versions": {text: text}}
            check["exit_code"] = 1
    return made


# ------------------------------------------------------------------ HTML


def elements(node: Any) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each element in order, with the names of its attributes."""
    for child in getattr(node, "children", None) or ():
        if not child.name.startswith(("#", "!")):
            yield child.name, tuple(child.attrs or ())
        yield from elements(child)


@cache
def parsed_page(text: str) -> JustHTML:
    """Strict: the first deviation from the HTML standard is an error."""
    return JustHTML(render_page(report_with(text)), sanitize=False, strict=True)


@pytest.mark.spec("14.4", "10.4")
@pytest.mark.parametrize("text", HOSTILE)
def test_the_page_is_valid_html_and_foreign_text_changes_no_element(text: str) -> None:
    page = parsed_page(text)

    assert list(elements(page.root)) == list(elements(parsed_page(PLAIN).root))
    for place in ("h1", "tbody th", "article q", "li b", "dd code", "footer code", ".note"):
        shown = [node.to_text(strip=False) for node in page.query(place)]
        assert any(" ".join(text.split()) in " ".join(words.split()) for words in shown), place


# ------------------------------------------------------------------ Markdown


@cache
def markdown_tokens(text: str) -> list[Any]:
    """By CommonMark with the tables and the strikethrough of GitHub."""
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    return parser.parse(render_markdown(report_with(text)))


def structure(tokens: list[Any]) -> list[Any]:
    plain = {"text", "text_special", "softbreak"}
    return [
        tuple(one.type for one in token.children if one.type not in plain)
        if token.type == "inline"
        else token.type
        for token in tokens
    ]


@pytest.mark.spec("14.4", "10.4")
@pytest.mark.parametrize("text", HOSTILE)
def test_the_markdown_has_the_same_structure_and_shows_foreign_text_literally(text: str) -> None:
    tokens = markdown_tokens(text)

    assert structure(tokens) == structure(markdown_tokens(PLAIN))
    lines = [token for token in tokens if token.type == "inline"]
    shown = ["".join(one.content for one in line.children) for line in lines]
    in_code = text.replace("`", "'")
    for begin, words in {
        "Run run00001: ": text,
        "Warning: ": text,
        "The run is paused: ": text,
        "already failing on the base: ": f"{text}: {text}",
        "Next: ": in_code,
    }.items():
        assert any(line.startswith(f"{begin}{words}") for line in shown), begin
    assert text in shown, "a question alone in its line, and a name alone in its cell"
    assert in_code in shown, "a command alone in its cell"
