"""Test integrity: a task may not turn red into green by weakening what looks at it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from yaoki.core.model import Finding, Item, Outcome
from yaoki.quality.model import Change

NAME, PATTERN = "test-integrity", "test-weakened"
ITEMS_MAX = 50

_TEST_FILE = re.compile(
    r"(?:^|/)(?:tests?|__tests__|spec)/|(?:^|/)(?:test_[^/]*|[^/]*_test)\.\w+$"
    r"|\.(?:test|spec)\.\w+$|(?:^|/)[A-Z]\w*Tests?\.(?:java|kt|cs|php)$"
)
# One way a language has of naming a test; the name is the first group that holds something.
_TESTS = re.compile(
    r"^[ \t]{0,40}(?:async )?def (test\w{0,200})\("
    r"|^[ \t]{0,40}class (Test\w{0,200})\b"
    r"|^func (Test\w{0,200})\("
    r"|^[ \t]{0,40}(?:it|test)(?:\.\w{1,20})?\(\s{0,20}['\"`]([^'\"`\n]{1,200})['\"`]"
    r"|#\[(?:tokio::)?test\]\s{0,80}(?:#\[[^\]\n]{0,80}\]\s{0,80})?(?:async )?fn (\w{1,200})"
    r"|@Test\b[^;{]{0,200}?\b(?:void|fun) (\w{1,200})\(",
    re.MULTILINE,
)
_SKIPS = re.compile(
    r"@?pytest\.mark\.(?:skip|skipif|xfail)\b|\bpytest\.(?:skip|xfail)\(|@unittest\.(?:skip|expected)"
    r"|\bself\.skipTest\(|\b(?:it|test|describe)\.(?:skip|todo|only)\b|^\s{0,40}x(?:it|describe)\("
    r"|\bt\.Skip(?:Now|f)?\(|#\[ignore\b|@(?:Disabled|Ignore)\b|\bcollect_ignore",
)
_CONFIG = re.compile(
    r"(?:^|/)(?:pytest\.ini|tox\.ini|noxfile\.py|\.coveragerc|jest\.config\.\w+|vitest\.config\.\w+"
    r"|\.mocharc(?:\.\w+)?|karma\.conf\.js|mypy\.ini|\.mypy\.ini|pyrightconfig\.json|ruff\.toml"
    r"|\.ruff\.toml|\.flake8|\.eslintrc(?:\.\w+)?|eslint\.config\.\w+|\.golangci\.\w+|clippy\.toml)$"
)
# Files with many purposes: only lines about checking count.
_SHARED = re.compile(
    r"(?:^|/)(?:pyproject\.toml|setup\.cfg|package\.json|tsconfig\.json|Makefile)$"
)
_ABOUT = re.compile(
    r"pytest|addopts|testpaths|unittest|jest|vitest|mocha|\"test\w{0,10}\"\s{0,4}:|^test\w{0,20}\s{0,4}:"
    r"|mypy|ruff|flake8|eslint|\"strict\w{0,30}\"|fail_under|ignore_errors|exclude",
    re.IGNORECASE,
)


def weakened(changes: Sequence[Change], commands: Iterable[str] = ()) -> Finding | None:
    """What the change takes away from the tests; None when it takes nothing.

    `commands` are the programs of the plan's checks: a script that checks is part of the checking.
    """
    words = frozenset(commands)
    items = [*_gone(changes), *_skipped(changes), *_loosened(changes, words)]
    if not items:
        return None
    kept = tuple(items[:ITEMS_MAX])
    named = ", ".join(item.name for item in kept[:5])
    return Finding(
        NAME,
        Outcome.FAILED,
        pattern=PATTERN,
        message=f"{len(items)} changes weaken the tests: {named}",
        items=kept,
        params={"weakenedTests": [{"name": i.name, "message": i.message} for i in kept]},
    )


def is_test(path: str) -> bool:
    return _TEST_FILE.search(path) is not None


def _names(text: str | None) -> frozenset[str]:
    hits = _TESTS.finditer(text or "")
    return frozenset(next(g for g in hit.groups() if g) for hit in hits)


def _gone(changes: Sequence[Change]) -> Iterator[Item]:
    """Tests that stood before and stand nowhere in the change after it; a moved test is no loss."""
    still = frozenset[str]().union(*(_names(c.after) for c in changes)) if changes else frozenset()
    for change in changes:
        if not is_test(change.path) or change.before is None:
            continue
        for name in sorted(_names(change.before) - still):
            yield Item(name, "the test was deleted", change.path)
        if change.after is None and not _names(change.before):
            yield Item(change.path, "a file of the tests was deleted", change.path)


def _skipped(changes: Sequence[Change]) -> Iterator[Item]:
    for change in changes:
        if not is_test(change.path) and not change.path.endswith("conftest.py"):
            continue
        before = change.before or ""
        for line, text in change.added:
            found = _SKIPS.search(text)
            if found and text.strip() not in before:
                words = f"{found[0].strip()} was added"
                yield Item(f"{change.path}:{line}", words, f"{change.path}:{line}")


def _loosened(changes: Sequence[Change], commands: frozenset[str]) -> Iterator[Item]:
    for change in changes:
        named = change.path in commands or f"./{change.path}" in commands
        whole = (_CONFIG.search(change.path) or named) and change.before is not None
        about = _SHARED.search(change.path) and any(_ABOUT.search(t) for t in _touched(change))
        if whole or about:
            yield Item(change.path, "how the checks are made was changed", change.path)


def _touched(change: Change) -> Iterator[str]:
    """Lines that came or went; a file made anew configures nothing that was looked at before."""
    if change.before is None:
        return
    before = frozenset(change.before.splitlines())
    after = frozenset((change.after or "").splitlines())
    yield from before ^ after
