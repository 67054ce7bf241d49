"""Links of documents lead to what exists; lock files contain no addresses."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from tests.documents import MARKDOWN, PAGES, ROOT, TRANSLATIONS, blocks, name, prose

DOCS = ROOT / "docs"
LOCKS = tuple(name(lock) for lock in (*ROOT.glob("*.lock"), *ROOT.glob("benchmarks/*.lock")))

CODE = re.compile(r"^ *(```+|~~~+).*?^ *\1|`[^`\n]+`", re.MULTILINE | re.DOTALL)
INLINE_LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
NAMED_LINK = re.compile(r"^ {0,3}\[[^\]]+\]:\s+<?([^\s>]+)", re.MULTILINE)
SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
HEADING = re.compile(r"^ {0,3}#{1,6} +(.*?) *#*$", re.MULTILINE)
ADDRESS = re.compile(r"https?:|file:|git\+|--(extra-)?index|--find-links|-f ", re.IGNORECASE)


def relative_links(text: str) -> Iterator[str]:
    """Targets inside the repository; text in code blocks is an example, not a link."""
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
    if DOCS in page.parents and DOCS not in file.resolve().parents:
        return f"{target}: not on the site, which holds docs/ alone; name the file without a link"
    if DOCS in page.parents and file.is_dir():
        return f"{target}: the site has no page for a folder; link to its index.md"
    if anchor and anchor not in anchors(file.read_text(encoding="utf-8")):
        return f"{target}: no such heading"
    return ""


def test_links_are_found_outside_of_examples() -> None:
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


def test_heading_anchors_are_those_of_renderers() -> None:
    text = "# `yaoki run PLAN|GOAL`\n## What it's for\n## Notes\n## Notes\n```\n# no\n```\n"

    assert anchors(text) == {"yaoki-run-plangoal", "what-its-for", "notes", "notes-1"}


def test_every_relative_link_has_an_existing_target() -> None:
    wrong = [
        f"{name(page)}: {why}"
        for page in MARKDOWN
        for target in relative_links(page.read_text(encoding="utf-8"))
        if (why := broken(page, target))
    ]

    assert not wrong, "\n".join(wrong)


def test_the_navigation_of_the_site_lists_every_page_once() -> None:
    project = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]

    listed = Counter(in_navigation(project["nav"]))

    assert listed == Counter(name(page).removeprefix("docs/") for page in DOCS.rglob("*.md"))


def in_navigation(entry: Any) -> Iterator[str]:
    """The pages below an entry: a page, a list of entries, or a title with either."""
    if isinstance(entry, str):
        yield entry
        return
    for below in entry.values() if isinstance(entry, dict) else entry:
        yield from in_navigation(below)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_page_is_reachable_from_the_index(page: Path) -> None:
    """By links alone."""
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
            waiting += [file] if file.suffix == ".md" else []
    return frozenset(found)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_fence_is_closed_and_names_a_known_language(page: Path) -> None:
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
    }

    assert "```" not in prose(text)
    assert {block.language for block in blocks(text)} <= known


@pytest.mark.spec("12.1")
@pytest.mark.parametrize("page", TRANSLATIONS, ids=name)
def test_a_translation_has_the_blocks_the_headings_and_the_links_of_its_original(
    page: Path,
) -> None:
    """tests/acceptance walks through the original; so the commands of both are tried."""
    ours, original = (file.read_text(encoding="utf-8") for file in (page, TRANSLATIONS[page]))

    assert [(b.language, b.marks, b.text) for b in blocks(ours)] == [
        (b.language, b.marks, b.text) for b in blocks(original)
    ]
    assert shape(ours) == shape(original)


def shape(text: str) -> tuple[list[str], list[str]]:
    """The levels of the headings, and the targets of the links but those between languages."""
    levels = re.findall(r"^#+(?= )", prose(text), re.MULTILINE)
    links = (target.replace(".ja.md", ".md") for target in relative_links(text))
    return levels, [target for target in links if not target.startswith(("README", "tutorial"))]


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_file_contains_no_address(lock: str) -> None:
    lines = (ROOT / lock).read_text(encoding="utf-8").splitlines()

    told = [f"{lock}:{n}: {line}" for n, line in enumerate(lines, 1) if ADDRESS.search(line)]

    assert not told
