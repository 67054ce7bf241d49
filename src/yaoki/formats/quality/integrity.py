"""Test integrity: a task may not turn red into green by weakening what looks at it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from yaoki.core.model import Item
from yaoki.formats.quality.changed_file import unread_words
from yaoki.formats.quality.model import Change
from yaoki.formats.quality.suites import Skip, Suite, is_collected, suite_of

# Hooks that gather tests, or that say how they ended.
_HOOKS = re.compile(
    r"\bcollect_ignore|\bdef pytest_(?:collection_\w{1,40}|ignore_collect|collect_file"
    r"|pycollect_\w{1,40}|itemcollected|runtest_(?:protocol|makereport|call)|pyfunc_call|sessionfinish|report_\w{1,40}"
    r"|deselected)\b|\bos\._exit\("
)


def unread(tests: Sequence[Change]) -> Iterator[Item]:
    """Tests beyond what is read of one change: whether they were weakened nobody can say."""
    if words := unread_words(tests, "changed test files"):
        yield Item("tests that nobody looked at", words)


def gone_by_shape(changes: Sequence[Change], tests: Sequence[Change]) -> Iterator[Item]:
    """Tests that are only known by their shape: deleted, moved out of a runner's sight, or emptied
    while they were moved."""
    other = [c for c in changes if not c.path.endswith(".py")]
    there = _total(_after(c).names for c in other if is_collected(c.path) or c.path[-3:] == ".rs")
    seen = [c for c in tests if is_collected(c.path) or c.path.endswith(".rs")]
    lost = _total(_before(c).names for c in seen) - there
    for change in seen:
        for name in sorted(_before(change).names - _after(change).names):
            moved = [c for c in other if c.path != change.path and name in _after(c).hollow]
            if lost[name] > 0 or (moved and name not in _before(change).hollow):
                yield Item(name, "the test was deleted, or is never run", change.path)


def emptied(tests: Sequence[Change]) -> Iterator[Item]:
    for change in tests:
        old, new = _before(change), _after(change)
        for name in sorted((new.hollow - old.hollow) & frozenset(old.names)):
            yield Item(name, "its body checks nothing any more", change.path)
        for name in sorted((old.asks & frozenset(new.names)) - new.asks - new.hollow):
            # A test that calls something new may check there; of a broken file nothing is known.
            if name in new.called and new.called[name] <= old.called[name]:
                yield Item(name, "it asserts nothing any more", change.path)


def skipped(tests: Sequence[Change]) -> Iterator[Item]:
    stood = _total(Counter(_key(skip) for skip, _ in _before(c).skips) for c in tests)
    known = _total(_before(c).names for c in tests)
    for change in tests:
        held = known + Counter({"": 1} if _before(change).names else {})
        seen: set[int] = set()
        for skip, line in _after(change).skips:
            stood[_key(skip)] -= 1
            old = stood[_key(skip)] >= 0
            # A new test may be skipped where it cannot run.
            if not old and line not in seen and (not skip.perhaps or held[skip.owner]):
                seen.add(line)
                words = f"{skip.word} was added in line {line}"
                yield Item(skip.owner or change.path, words, change.path)


def _key(skip: Skip) -> str:
    return f"{skip.owner} {skip.word} {skip.perhaps}"


def hooked(tests: Sequence[Change]) -> Iterator[Item]:
    for change in tests:
        before = change.before or ""
        for line, text in change.added:
            found = _HOOKS.search(text)
            if found and found[0] not in before:
                name = found[0].strip().removeprefix("def ")
                yield Item(name, f"it changes which tests count (line {line})", change.path)


def _total(counters: Iterable[Counter[str]]) -> Counter[str]:
    return sum(counters, Counter[str]())


def _before(change: Change) -> Suite:
    return suite_of(change.path, change.before)


def _after(change: Change) -> Suite:
    return suite_of(change.path, change.after)
