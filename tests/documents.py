"""The documents of the repository as tests read them: fenced blocks, and commands in them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from yaoki.faces.cli.table import COMMANDS

ROOT = Path(__file__).parents[1]
PAGES = tuple(
    sorted(
        file
        for pattern in ("README*.md", "CONTRIBUTING.md", "docs/**/*.md")
        for file in ROOT.glob(pattern)
    )
)
# Those as well that a reader of the documentation does not come by.
MARKDOWN = (
    *PAGES,
    *sorted(
        file
        for pattern in ("CHANGELOG.md", "benchmarks/*.md", "plugins/**/*.md", "src/**/*.md")
        for file in ROOT.glob(pattern)
    ),
)
# `tutorial.ja.md` is `tutorial.md` in Japanese.
TRANSLATIONS = {
    page: page.with_name(f"{page.name.removesuffix('.ja.md')}.md")
    for page in PAGES
    if page.name.endswith(".ja.md")
}
# They change and start nothing; several pages and tests list them.
ONLY_READING = frozenset(name for name, listed in COMMANDS.items() if listed.only_reads)
SHELLS = {"", "sh", "bash", "console"}
_FENCE = re.compile(
    r"^(?:<!-- (?P<marks>[^\n]*?) -->\n)?"
    r" *(?P<fence>```+|~~~+)(?P<language>[^\n]*)\n(?P<text>.*?)^ *(?P=fence) *$",
    re.MULTILINE | re.DOTALL,
)
_SPAN = re.compile(r"(?<!`)`(yaoki [^`]+)`(?!`)")
# Where a command of a shell ends; what follows is another's.
_ENDS = re.compile(r"^(\|\|?|&&?|;|\d?>+.*|<.*)$")


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@dataclass(frozen=True)
class Block:
    """A fenced block; its marks (`run`, `exit=4`) are in an HTML comment on the line above it."""

    language: str
    marks: tuple[str, ...]
    text: str
    line: int

    def mark(self, key: str) -> str:
        """The value of `key=value`, or nothing."""
        return next((m.partition("=")[2] for m in self.marks if m.startswith(f"{key}=")), "")


def blocks(text: str) -> Iterator[Block]:
    for found in _FENCE.finditer(text):
        line = text.count("\n", 0, found.start("fence")) + 1
        marks = tuple((found["marks"] or "").split())
        yield Block(found["language"].strip(), marks, found["text"], line)


def prose(text: str) -> str:
    """The text without its fenced blocks, line for line."""
    return _FENCE.sub(lambda found: "\n" * found[0].count("\n"), text)


def commands(text: str) -> Iterator[tuple[int, list[str]]]:
    """Every call of `yaoki` in blocks of shell, as its words, with its line."""
    for block in blocks(text):
        if block.language not in SHELLS or block.mark("file"):
            continue
        whole = block.text.replace("\\\n", "  ")
        for offset, line in enumerate(whole.splitlines(), block.line + 1):
            if words := _called(line):
                yield offset, words


def mentions(text: str) -> Iterator[tuple[int, list[str]]]:
    """Every `yaoki …` in a line of prose; a span may run over the end of its line."""
    plain = prose(text)
    for found in _SPAN.finditer(plain):
        yield plain.count("\n", 0, found.start()) + 1, _words(found[1])[1:]


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _called(line: str) -> list[str]:
    try:
        lexer = shlex.shlex(line.strip().removeprefix("$ "), posix=True, punctuation_chars=";&|<>")
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:
        return []
    if "yaoki" not in words:
        return []
    begin = words.index("yaoki")
    if any("=" not in word and not _ENDS.match(word) for word in words[:begin][-1:]):
        return []
    called: list[str] = []
    for word in words[begin + 1 :]:
        if _ENDS.match(word):
            break
        called.append(word)
    return called
