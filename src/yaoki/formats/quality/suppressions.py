"""Finds comments and attributes that silence a linter, a type checker or coverage; removes them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from difflib import SequenceMatcher

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import CheckSpec
from yaoki.core.model.check_definition import TreeView
from yaoki.core.model.suppression import Suppression
from yaoki.formats.quality.definition.examiner_settings import may_run_any_tool
from yaoki.formats.quality.definition.file_index import FileIndex
from yaoki.formats.quality.definition.reach import find_reached_files
from yaoki.formats.quality.gaming.coverage import asks_for_coverage, is_left_out_by_everybody
from yaoki.formats.quality.languages import language_of
from yaoki.formats.quality.lexer import scan_source
from yaoki.formats.quality.model import Change

FILE_CHARS_MAX = 400_000
# A line with a small change is the same line; its suppression is an old one.
_SIMILAR = 0.6
_TYPES = frozenset({"mypy", "dmypy", "pyright", "basedpyright", "ty", "pyrefly", "pyre", "pytype"})
_LINTERS = frozenset({"ruff", "flake8", "pycodestyle", "pyflakes", "pydocstyle"})
# Not a tool that a command names: the checks ask for coverage.
COVERAGE = frozenset({"coverage: asked"})
_JS = frozenset({"eslint", "oxlint", "standard", "xo"})
# What silences which tools; the first group is there if more than one line is silenced.
_SILENCES: tuple[tuple[re.Pattern[str], Set[str]], ...] = tuple(
    (lazy_compile(shape, re.IGNORECASE), tools)
    for shape, tools in (
        (r"#\s*((?:mypy|pyright|pytype|pyre)[:-]\s*(?!ignore(?:\[|\s|$))[\w-]+)[^#\n]*", _TYPES),
        (r"#\s*(?:type|ty|pyright|pyre|pyrefly|mypy)(?::|-)\s*ignore\b[^#\n]*", _TYPES),
        (r"#\s*((?:ruff|flake8)\s*:\s*(?:noqa|disable|isort)\b)[^#\n]*", _LINTERS),
        (r"#\s*(?:ruff:\s*ignore|noqa)\b[^#\n]*", _LINTERS),
        (r"#\s*pylint:\s*(skip-file|disable(?!-next))[^#\n]*", frozenset({"pylint"})),
        (r"#\s*pylint:\s*disable-next[^#\n]*", frozenset({"pylint"})),
        (r"#\s*(?:nosec|nosemgrep)\b[^#\n]*", frozenset({"bandit", "ruff", "semgrep"})),
        (r"#\s*(?:isort|ruff:\s*isort):\s*(skip_file|off)[^#\n]*", frozenset({"isort", "ruff"})),
        (
            r"#\s*(?:isort|yapf|fmt):\s*(off|disable|skip)\b[^#\n]*",
            frozenset({"isort", "black", "yapf", "ruff"}),
        ),
        (r"#\s*rubocop:\s*(disable|todo)[^#\n]*", frozenset({"rubocop", "rake"})),
        (r"#\s*shellcheck\s+disable=[^#\n]*", frozenset({"shellcheck"})),
        (r"#\s*yamllint\s+(disable(?!-line))?[^#\n]*", frozenset({"yamllint"})),
        (r"(?:/[/*])\s*(eslint-disable|oxlint-disable)(?!-(?:next-)?line)[^\n]*", _JS),
        (r"(?:/[/*])\s*(?:eslint|oxlint)-disable-(?:next-)?line[^\n]*", _JS),
        (r"/\*\s*(eslint)\s+[\w@/-]+\s*:[^\n]*", _JS),
        (r"(?:/[/*])\s*(@ts-nocheck)[^\n]*", frozenset({"tsc", "vue-tsc", "deno"})),
        (r"(?:/[/*])\s*@ts-(?:ignore|expect-error)[^\n]*", frozenset({"tsc", "vue-tsc", "deno"})),
        (r"(?:/[/*])\s*(biome-ignore-all)[^\n]*", frozenset({"biome"})),
        (r"(?:/[/*]|#)\s*(?:biome|prettier)-ignore[^\n]*", frozenset({"biome", "prettier"})),
        (r"//\s*(deno-lint-ignore-file)[^\n]*", frozenset({"deno"})),
        (r"//\s*deno-lint-ignore\b[^\n]*", frozenset({"deno"})),
        (r"//\s*nolint\b[^\n]*", frozenset({"golangci-lint"})),
        (r"#\s*pragma:?\s*no[\s-]*(?:cover|branch)[^#\n]*", COVERAGE),
        (r"#\s*:nocov:[^#\n]*", COVERAGE),
        (r"(?:/[/*])\s*(?:istanbul|c8|v8)\s+ignore\s+(file|start)\b[^\n]*", COVERAGE),
        (r"(?:/[/*])\s*(node:coverage\s+disable)\b[^\n]*", COVERAGE),
        (r"(?:/[/*])\s*(?:istanbul|c8|v8|node:coverage)\s+ignore\b[^\n]*", COVERAGE),
        (
            r"//\s*(?:@phpstan-ignore|phpcs:(?:ignore|disable)|NOSONAR)[^\n]*",
            frozenset({"phpstan", "phpcs"}),
        ),
    )
)
_RUST = lazy_compile(r"#(!)?\[\s*(?:allow|expect)\s*\([^\]\n]*\)\s*\]")
_NO_TYPES = lazy_compile(r"^[ \t]*@(?:typing\.)?no_type_check\b[^\n]*", re.MULTILINE)
_IMPORT = lazy_compile(r"^\s*(?:import|from)\s|\brequire\(|^\s*use\s")
_CODED = lazy_compile(r"\[[\w-]+(?:\s*,\s*[\w-]+)*\]|:\s*[A-Z]+\d+|=\s*[\w-]+|line\s+[\w@/-]+")


def find_suppressions(
    changes: Sequence[Change], checks: Sequence[CheckSpec], base: TreeView
) -> tuple[Suppression, ...]:
    """Those that the change adds and that silence a tool of the checks."""
    if not any(_places(change.path, change.after or "", None) for change in changes):
        return ()
    index = FileIndex(base)
    reached = find_reached_files(checks, index, tests=False)
    asked = COVERAGE if asks_for_coverage(checks, index) else frozenset[str]()
    silenced = None if may_run_any_tool(reached) else frozenset(reached.tools) | asked
    return tuple(one for change in changes for one, _ in _added(change, changes, silenced))


def remove_suppressions(
    changes: Sequence[Change], suppressions: Sequence[Suppression]
) -> Mapping[str, str]:
    """The texts of the changed files without these; every line keeps its number."""
    wanted, texts = set(suppressions), dict[str, str]()
    for change in changes:
        text = change.after or ""
        found = [hit for one, hit in _added(change, changes, None) if one in wanted]
        for start, end in sorted(found, reverse=True):
            text = text[:start] + text[end:]
        if found:
            texts[change.path] = text
    return texts


def _added(
    change: Change, changes: Sequence[Change], tools: Set[str] | None
) -> Iterator[tuple[Suppression, tuple[int, int]]]:
    after, added = change.after or "", {line for line, _ in change.added}
    lines = after.split("\n")
    old, new = (_count_lines(texts) for texts in zip(*_sides(changes), strict=True))
    for start, end, whole in _places(change.path, after, tools):
        number = after.count("\n", 0, start) + 1
        line = lines[number - 1]
        words = after[start:end].strip()
        is_moved = new[line.strip()] <= old[line.strip()]
        if number not in added or is_moved or _was_there(change, line, words):
            continue
        one = Suppression(
            change.path,
            number,
            words,
            is_import=bool(_IMPORT.search(line) and _CODED.search(words)),
            is_whole_file=whole,
            is_new_file=change.before is None,
        )
        yield one, (start, end)


def _sides(changes: Sequence[Change]) -> Iterator[tuple[str, str]]:
    return ((one.before or "", one.after or "") for one in changes)


def _count_lines(texts: Sequence[str]) -> Counter[str]:
    return Counter(line.strip() for text in texts for line in text.split("\n"))


def _was_there(change: Change, line: str, words: str) -> bool:
    """Did the same suppression follow nearly the same code?"""
    if (change.after or "").count(words) > (change.before or "").count(words):
        return False
    code = line.replace(words, "").strip()
    old = (one for one in (change.before or "").split("\n") if words in one)
    codes = (one.replace(words, "").strip() for one in old)
    return any(code and SequenceMatcher(None, code, one).ratio() >= _SIMILAR for one in codes)


def _places(path: str, text: str, tools: Set[str] | None) -> list[tuple[int, int, bool]]:
    """Start, end, and whether more than a line is silenced; None: those of every tool."""
    grammar = language_of(path)
    if grammar is None or grammar.is_prose or len(text) > FILE_CHARS_MAX:
        return []
    found: list[tuple[int, int, bool]] = []
    for comment in scan_source(text, grammar).comments:
        code = _code_before(text, comment.start)
        for shape, silenced in _SILENCES:
            if silenced is COVERAGE and is_left_out_by_everybody(code):
                continue
            hit = shape.search(comment.raw) if tools is None or silenced & tools else None
            if hit and _is_comment_start(comment.raw, hit.start()):
                block = comment.raw.startswith("/*")
                start, end = (0, len(comment.raw)) if block else hit.span()
                whole = bool(hit.re.groups and hit[1]) and not code.strip()
                found.append((comment.start + start, comment.start + end, whole))
                break
    if path.endswith(".rs") and (tools is None or "cargo" in tools):
        found += [(*hit.span(), bool(hit[1])) for hit in _RUST.finditer(text)]
    if path.endswith((".py", ".pyi")) and (tools is None or _TYPES & tools):
        found += [(*hit.span(), False) for hit in _NO_TYPES.finditer(text)]
    return found


def _is_comment_start(raw: str, at: int) -> bool:
    """`# x  # noqa` has two comments; a word in the middle of prose is none."""
    return at == 0 or raw[:at].endswith((" ", "\t")) or raw[at : at + 1] in "#/"


def _code_before(text: str, start: int) -> str:
    return text[text.rfind("\n", 0, start) + 1 : start]
