"""Test integrity: a task may not make a check pass by weakening it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import FindingItem
from yaoki.formats.quality.changed_file import unread_words
from yaoki.formats.quality.model import Change
from yaoki.formats.quality.suites import FileTests, Skip, is_collected_path, read_file_tests

TEST_LOST = "the test was deleted, or is never run"

# Hooks that collect tests, or that report how they ended.
_HOOKS = lazy_compile(
    r"\bcollect_ignore|\bdef pytest_(?:collection_\w{1,40}|ignore_collect|collect_file"
    r"|pycollect_\w{1,40}|itemcollected|runtest_(?:protocol|makereport|call)|pyfunc_call|sessionfinish|report_\w{1,40}"
    r"|deselected)\b|\bos\._exit\("
)


def find_unread_tests(tests: Sequence[Change]) -> Iterator[FindingItem]:
    """Tests beyond the part of a change that is read: whether they were weakened is unknown."""
    if words := unread_words(tests, "changed test files"):
        yield FindingItem("tests that were not read", words)


def find_lost_tests(changes: Sequence[Change], tests: Sequence[Change]) -> Iterator[FindingItem]:
    """Tests known only by their shape: deleted, moved out of a runner's reach, or emptied while
    they were moved.
    """
    other = [c for c in changes if not c.path.endswith(".py")]
    there = _total(
        _after(c).names for c in other if is_collected_path(c.path) or c.path[-3:] == ".rs"
    )
    collected = [c for c in tests if is_collected_path(c.path) or c.path.endswith(".rs")]
    lost = _total(_before(c).names for c in collected) - there
    for change in collected:
        for name in sorted(_before(change).names - _after(change).names):
            moved = [c for c in other if c.path != change.path and name in _after(c).hollow_tests]
            if lost[name] > 0 or (moved and name not in _before(change).hollow_tests):
                yield FindingItem(name, TEST_LOST, change.path)


def find_emptied_tests(tests: Sequence[Change]) -> Iterator[FindingItem]:
    for change in tests:
        old, new = _before(change), _after(change)
        for name in sorted((new.hollow_tests - old.hollow_tests) & frozenset(old.names)):
            yield FindingItem(name, "its body checks nothing any more", change.path)
        for name in sorted(
            (old.asserting_tests & frozenset(new.names)) - new.asserting_tests - new.hollow_tests
        ):
            # A test that calls something new may check there; nothing is known about a broken file.
            if name in new.called_names and new.called_names[name] <= old.called_names[name]:
                yield FindingItem(name, "it asserts nothing any more", change.path)


def find_skipped_tests(tests: Sequence[Change]) -> Iterator[FindingItem]:
    skipped_before = _total(Counter(_key(skip) for skip, _ in _before(c).skips) for c in tests)
    known = _total(_before(c).names for c in tests)
    for change in tests:
        known_names = known + Counter({"": 1} if _before(change).names else {})
        reported_lines: set[int] = set()
        for skip, line in _after(change).skips:
            skipped_before[_key(skip)] -= 1
            old = skipped_before[_key(skip)] >= 0
            # A new test may be skipped where it cannot run.
            if (
                not old
                and line not in reported_lines
                and (not skip.is_conditional or known_names[skip.owner])
            ):
                reported_lines.add(line)
                words = f"{skip.word} was added in line {line}"
                yield FindingItem(skip.owner or change.path, words, change.path)


def _key(skip: Skip) -> str:
    return f"{skip.owner} {skip.word} {skip.is_conditional}"


def find_collection_hooks(tests: Sequence[Change]) -> Iterator[FindingItem]:
    for change in tests:
        before = change.before or ""
        for line, text in change.added:
            hook = _HOOKS.search(text)
            if hook and hook[0] not in before:
                name = hook[0].strip().removeprefix("def ")
                yield FindingItem(name, f"it changes which tests count (line {line})", change.path)


def _total(counters: Iterable[Counter[str]]) -> Counter[str]:
    return sum(counters, Counter[str]())


def _before(change: Change) -> FileTests:
    return read_file_tests(change.path, change.before)


def _after(change: Change) -> FileTests:
    return read_file_tests(change.path, change.after)
