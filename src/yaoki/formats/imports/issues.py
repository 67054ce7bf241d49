"""Reads GitHub issues from a file, as `gh issue list --json number,title,body,labels` prints them.

Anybody may have written an issue, so hidden text is dropped, and a note asks to read the plan.
"""

from __future__ import annotations

import re
from typing import Any

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.imports.located_json import LocatedValue, NotJson, parse_json
from yaoki.formats.imports.model import ImportedList, ImportedTask, ImportOptions, join_paragraphs

NAME = "github"
_HIDDEN = lazy_compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_REPO = r"[\w.-]{1,100}/[\w.-]{1,100}"
_LINK = (
    rf"https?://[\w.:-]{{1,200}}/(?:api/v3/)?(?:repos/)?({_REPO})/(?:issues|pull|pulls)/(\d{{1,9}})"
)
_NEEDS = lazy_compile(
    r"\b(?:depends on|blocked by|requires)[ \t:]{0,4}"
    rf"((?:(?:,|and|&|[ \t]){{0,8}}(?:{_LINK}|(?:{_REPO})?#\d{{1,9}})){{1,50}})",
    re.IGNORECASE,
)
_NUMBER = lazy_compile(rf"{_LINK}|({_REPO})?#(\d{{1,9}})", re.IGNORECASE)
UNTRUSTED_WORDS_NOTE = "anybody may have written these words: read the plan before you run it"


def looks_like(data: Any) -> bool:
    listed = data.get("issues") if isinstance(data, dict) else data
    return (
        isinstance(listed, list)
        and any(isinstance(one, dict) for one in listed)
        and any("number" in one and "title" in one for one in listed if isinstance(one, dict))
    )


def read_issues(text: str, result: ImportedList, _: ImportOptions) -> None:
    try:
        document = parse_json(text)
    except NotJson as fault:
        result.add_unreadable(fault.line, fault.reason)
        return
    listed = document.get("issues") or document
    if not isinstance(listed.data, list):
        result.add_unreadable(
            1, "a list of issues is needed: gh issue list --json number,title,body,labels"
        )
        return
    open_issues: dict[int, LocatedValue] = {}
    closed: set[int] = set()
    for value in listed.elements():
        _sort(value, open_issues, closed, result)
    for number, value in open_issues.items():
        result.items.append(_item(number, value, set(open_issues), closed, result))
    if result.items:
        result.add_note(1, UNTRUSTED_WORDS_NOTE)


def _sort(
    value: LocatedValue,
    open_issues: dict[int, LocatedValue],
    closed: set[int],
    result: ImportedList,
) -> None:
    data = value.data
    number = data.get("number") if isinstance(data, dict) else None
    title = data.get("title") if isinstance(data, dict) else None
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        result.add_unreadable(value.line, "an issue without a number")
    elif not isinstance(title, str) or not title.strip():
        result.add_unreadable(value.line, f"issue #{number} has no title")
    elif number in open_issues or number in closed:
        result.add_unreadable(value.line, f"issue #{number} is already in the list")
    elif "pull_request" in data:
        result.add_skipped(f"#{number} {title.strip()}"[:120], value.line, "a pull request")
    elif str(data.get("state", "")).lower() == "closed" or data.get("closed") is True:
        closed.add(number)
        result.add_skipped(f"#{number} {title.strip()}"[:120], value.line, "closed")
    else:
        open_issues[number] = value


def _item(
    number: int, value: LocatedValue, known: set[int], closed: set[int], result: ImportedList
) -> ImportedTask:
    data = value.data
    body = data.get("body")
    body_text = _HIDDEN.sub("", body).replace("\r\n", "\n").strip() if isinstance(body, str) else ""
    labels = ", ".join(_labels(data.get("labels")))
    goal = join_paragraphs(
        f"{data['title'].strip()} (issue #{number})",
        body_text,
        f"Labels: {labels}" if labels else "",
    )
    needs = []
    own = _own(data)
    for repo, other in _find_needs(data, body_text):
        if repo and repo.lower() != own:
            words = f"issue #{number} waits for {repo}#{other}, which is not in this list"
            result.add_note(value.line, f"{words}: treated as done")
        elif other in known and other != number:
            needs.append(f"issue-{other}")
        elif other != number and other not in closed:
            words = (
                f"issue #{number} waits for #{other}, which is not in this list: treated as done"
            )
            result.add_note(value.line, words)
    return ImportedTask(f"issue-{number}", goal, value.line, tuple(dict.fromkeys(needs)))


def _own(data: dict[str, Any]) -> str:
    """The repository of an issue, from its address; empty when it has none."""
    for key in ("html_url", "url"):
        match = re.match(_LINK, data[key]) if isinstance(data.get(key), str) else None
        if match:
            return match[1].lower()
    return ""


def _find_needs(data: dict[str, Any], body_text: str) -> list[tuple[str, int]]:
    """Issues that must be closed first, from the body or from GitHub's own field.

    Each with its repository, if one is named.
    """
    words = (match[1] for match in _NEEDS.finditer(body_text))
    each = (match for text in words for match in _NUMBER.finditer(text))
    numbers = [(match[1] or match[3] or "", int(match[2] or match[4])) for match in each]
    blocked = data.get("blockedBy")
    nodes = blocked.get("nodes") if isinstance(blocked, dict) else blocked
    for one in nodes if isinstance(nodes, list) else ():
        if isinstance(one, dict) and isinstance(one.get("number"), int):
            numbers.append(("", one["number"]))
    return list(dict.fromkeys(numbers))


def _labels(entries: Any) -> list[str]:
    """`gh` prints objects with a name, others plain names."""
    listed = entries if isinstance(entries, list) else []
    names = (one.get("name") if isinstance(one, dict) else one for one in listed)
    return [name for name in names if isinstance(name, str) and name]
