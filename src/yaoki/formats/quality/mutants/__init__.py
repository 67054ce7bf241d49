"""Mutants of exactly the changed lines: which faults to try, at most one a line first (17.3).

yaoki makes them itself, so that a project needs no tool: Python from its syntax tree, JavaScript,
TypeScript and Go from their tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TypeVar

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model.check_definition import TreeView
from yaoki.core.model.mutant import HiddenCode, Mutant
from yaoki.formats.quality.definition.file_index import FileIndex
from yaoki.formats.quality.definition.references import js_imports, python_imports
from yaoki.formats.quality.definition.roles import list_test_files
from yaoki.formats.quality.language_parts import FILE_CHARS_MAX
from yaoki.formats.quality.languages import is_foreign, is_third_party, language_of
from yaoki.formats.quality.model import Change
from yaoki.formats.quality.mutants.edit import Edit
from yaoki.formats.quality.mutants.python import python_edits, python_hidden_code
from yaoki.formats.quality.mutants.tokens import go_edits, javascript_edits
from yaoki.formats.quality.suites import is_collected_path

T = TypeVar("T")
# Settings of tools and generated files: no test of the program reads them.
_NO_PROGRAM = lazy_compile(
    r"(?:^|/)(?:conftest|setup|noxfile|_?version)\.py$|_pb2(?:_grpc)?\.py$|\.pyi$|\.d\.[cm]?ts$"
    r"|\.config\.[cm]?[jt]s$|rc\.[cm]?js$|\.pb\.go$|(?:^|/)(?:docs?|examples?|migrations)/"
)
_EDITS = {"python": python_edits, "javascript": javascript_edits, "go": go_edits}
# A character that is not UTF-8 was replaced when the file was read, so it cannot be written back.
_UNREADABLE = "\ufffd"


def list_mutants(changes: Sequence[Change], count_max: int) -> tuple[Mutant, ...]:
    """At most `count_max` mutants, spread over the changed lines of program files."""
    imported = _imported_by_program(changes)
    tests = frozenset(list_test_files(changes)) - imported
    places: dict[tuple[str, int], list[tuple[Change, Edit]]] = {}
    for change in changes:
        edits = () if change.path in tests else _edits(change, change.path in imported)
        for edit in sorted(edits, key=lambda edit: (edit.line, edit.rank, edit.start)):
            places.setdefault((change.path, edit.line), []).append((change, edit))
    chosen: list[tuple[Change, Edit]] = []
    for round_ in zip_longest(*places.values()):
        found = [one for one in round_ if one is not None]
        chosen += _spread(found, count_max - len(chosen))
    chosen.sort(key=lambda one: (one[0].path, one[1].line))
    # Only now, because each mutant has the whole text.
    return tuple(
        Mutant(change.path, edit.line, edit.fault, edit.apply(change.after or ""))
        for change, edit in chosen
    )


def list_hidden_code(changes: Sequence[Change]) -> tuple[HiddenCode, ...]:
    """The changed places of program files that run a text which is no literal."""
    imported = _imported_by_program(changes)
    tests = frozenset(list_test_files(changes)) - imported
    return tuple(
        HiddenCode(change.path, line, words)
        for change in changes
        if change.path.endswith(".py")
        and change.path not in tests
        and _is_program(change, change.path in imported)
        for line, words in python_hidden_code(change.after or "", _added_lines(change))
    )


def _imported_by_program(changes: Sequence[Change]) -> frozenset[str]:
    """Changed files that the program imports belong to it, whatever their folder is called."""
    texts = {change.path: change.after for change in changes if change.after is not None}
    files = FileIndex(TreeView(frozenset(texts), texts.get))
    tests = set(list_test_files(changes))
    todo = [path for path in texts if path not in tests and not is_foreign(path)]
    imported: set[str] = set()
    while todo:
        path = todo.pop()
        find = python_imports if path.endswith(".py") else js_imports
        for one in find(texts[path], path, files):
            # Only a script that starts the tests imports what a runner collects.
            if one not in imported and not (is_collected_path(one) or is_third_party(one)):
                imported.add(one)
                todo.append(one)
    return frozenset(imported)


def _edits(change: Change, is_imported: bool) -> Iterator[Edit]:
    grammar, text = language_of(change.path), change.after
    make = _EDITS.get(grammar.name) if grammar else None
    if make is None or not text or not _is_program(change, is_imported):
        return
    yield from make(text, _added_lines(change))


def _is_program(change: Change, is_imported: bool) -> bool:
    text, foreign = change.after or "", is_foreign(change.path) and not is_imported
    readable = len(text) <= FILE_CHARS_MAX and _UNREADABLE not in text
    return readable and not foreign and not _NO_PROGRAM.search(change.path)


def _added_lines(change: Change) -> frozenset[int]:
    return frozenset(number for number, _ in change.added)


def _spread(found: Sequence[T], count: int) -> list[T]:
    """This many of them, at even distances."""
    count = min(count, len(found))
    return [found[at * len(found) // count] for at in range(count)]
