"""Documents point to what exists; lock files tell no addresses."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.documents import PAGES, ROOT, blocks, name, prose

LOCKS = ("requirements.lock", "requirements-dev.lock", "benchmarks/peers.lock")

CODE = re.compile(r"^ *(```+|~~~+).*?^ *\1|`[^`\n]+`", re.MULTILINE | re.DOTALL)
INLINE_LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
NAMED_LINK = re.compile(r"^ {0,3}\[[^\]]+\]:\s+<?([^\s>]+)", re.MULTILINE)
SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
HEADING = re.compile(r"^ {0,3}#{1,6} +(.*?) *#*$", re.MULTILINE)
ADDRESS = re.compile(r"https?:|file:|git\+|--(extra-)?index|--find-links|-f ", re.IGNORECASE)


def relative_links(text: str) -> Iterator[str]:
    """Targets inside the repository; what stands in code is an example, not a link."""
    prose = CODE.sub("", text)
    for pattern in (INLINE_LINK, NAMED_LINK):
        for target in pattern.findall(prose):
            if not SCHEME.match(target):
                yield unquote(target)


def anchors(text: str) -> set[str]:
    """Headings as readers' tools name them; the second of a name gets a number."""
    seen: Counter[str] = Counter()
    found = set()
    for heading in HEADING.findall(prose(text)):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return found


def broken(page: Path, target: str) -> str:
    """Why this link leads nowhere, or nothing."""
    path, _, anchor = target.partition("#")
    file = page.parent / path if path else page
    if not file.exists():
        return f"{target}: no such file"
    if anchor and anchor not in anchors(file.read_text(encoding="utf-8")):
        return f"{target}: no such heading"
    return ""


def test_links_are_found_and_examples_are_not() -> None:
    text = """
See [a](a.md), [b](docs/b%20c.md#part "title"), ![c](<d.png>).
And [here](#x). Not this: [out](https://example.org).

[named]: e.md

```
[no](no.md)
```
And `[no](no.md)`.
"""

    assert list(relative_links(text)) == ["a.md", "docs/b c.md#part", "d.png", "#x", "e.md"]


def test_headings_are_named_as_readers_tools_name_them() -> None:
    text = "# `yaoki run PLAN|GOAL`\n## What it's for\n## Notes\n## Notes\n```\n# no\n```\n"

    assert anchors(text) == {"yaoki-run-plangoal", "what-its-for", "notes", "notes-1"}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_relative_link_points_to_what_is_there(page: Path) -> None:
    targets = relative_links(page.read_text(encoding="utf-8"))

    wrong = [why for target in targets if (why := broken(page, target))]

    assert not wrong, f"{name(page)} links to what is not there: {wrong}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_page_can_be_reached_from_the_first(page: Path) -> None:
    """By links alone; a folder that is linked stands for its pages."""
    assert page in reached()


@cache
def reached() -> frozenset[Path]:
    found, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in found:
            continue
        found.add(page)
        for target in relative_links(page.read_text(encoding="utf-8")):
            file = (page.parent / target.partition("#")[0]).resolve()
            waiting += file.glob("*.md") if file.is_dir() else [file][: file.suffix == ".md"]
    return frozenset(found)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_fence_is_closed_and_names_a_language_that_readers_know(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    known = {
        "",
        "sh",
        "text",
        "yaml",
        "json",
        "toml",
        "python",
        "ini",
        "promql",
        "jinja",
        "mermaid",
    }

    assert "```" not in prose(text)
    assert {block.language for block in blocks(text)} <= known


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_file_holds_no_address(lock: str) -> None:
    lines = (ROOT / lock).read_text(encoding="utf-8").splitlines()

    told = [f"{lock}:{n}: {line}" for n, line in enumerate(lines, 1) if ADDRESS.search(line)]

    assert not told
