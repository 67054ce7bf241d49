"""Outputs copied from tests that start the program as a command.

A program that compares its arguments with those of a test, or ignores them, and prints literally
what the test expects.  Names of commands and options are no input: any program compares those.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import FindingItem
from yaoki.core.model.change import Change
from yaoki.formats.quality.gaming.answers import Answer, KeyUse
from yaoki.formats.quality.gaming.command_runs import CommandRun, printed_text
from yaoki.formats.quality.gaming.copied_results import TABLE_SHARE, Specification
from yaoki.formats.quality.gaming.finite_domains import find_complete_tables
from yaoki.formats.quality.gaming.literals import TRIVIAL_NUMBERS, leaves
from yaoki.formats.quality.gaming.printed_answers import printed_answers

PRINTS = "it prints what a test expects for the arguments of that test; compute the output"
_BETWEEN = lazy_compile(r"[\s,;|:\"'\[\]()]+")
_NUMBER = lazy_compile(r"-?\d+(?:\.\d+)?")


def find_printed_results(
    change: Change, runs: Sequence[CommandRun], specification: Specification
) -> Iterator[FindingItem]:
    name = PurePosixPath(change.path).name
    wanted = [one for one in runs if one.program in ("", name) and one.words]
    if not wanted:
        return
    judge = _Judge(wanted, specification)
    old = {_identity(one) for one in printed_answers(change.path, change.before or "")}
    copied: dict[int, list[Answer]] = defaultdict(list)
    # What a table or a function asks for; one case may print a text and end with a code.
    asked: dict[int, set[object]] = defaultdict(set)
    printed = dict.fromkeys(printed_answers(change.path, change.after or ""))
    complete = find_complete_tables(printed)
    for answer in printed:
        if _identity(answer) in old or judge.is_specified(answer) or answer in complete:
            continue
        if judge.is_about_input(answer):
            asked[answer.table].add(answer.keys)
        if judge.is_copied(answer):
            copied[answer.table].append(answer)
    for table, answers in copied.items():
        if len(answers) >= TABLE_SHARE * len(asked[table]):
            where = f"{change.path}:{answers[0].line}"
            yield FindingItem(where, PRINTS, where)


@dataclass(frozen=True, slots=True)
class _Judge:
    runs: Sequence[CommandRun]
    specification: Specification

    def is_specified(self, answer: Answer) -> bool:
        return self.specification.names(printed_text(answer.value))

    def is_about_input(self, answer: Answer) -> bool:
        """Does the answer depend on an input, rather than only on a command or an option?"""
        return any(self._is_input(part, at) for at, part in enumerate(_arguments(_keys(answer))))

    def is_copied(self, answer: Answer) -> bool:
        text = printed_text(answer.value)
        return bool(text) and any(
            run.output == text and self._asks_for(answer, run) for run in self.runs
        )

    def _asks_for(self, answer: Answer, run: CommandRun) -> bool:
        """Is the answer given for exactly the words of the test, or for any words?"""
        words = _arguments(run.words)
        if not any(self._is_input(word, at) for at, word in enumerate(words)):
            return False
        return answer.use is KeyUse.ALWAYS or set(_parts(words)) <= set(_keys(answer))

    def _is_input(self, word: str, at: int) -> bool:
        """The first word may be a command, and numbers such as 0 and 1 are base cases."""
        if _NUMBER.fullmatch(word):
            return float(word) not in TRIVIAL_NUMBERS
        has_digit = any(map(str.isdigit, word))
        return has_digit or (at > 0 and not self.specification.names(word))


def _arguments(words: Sequence[str]) -> list[str]:
    """Without options; a negative number is none."""
    return [word for word in words if not word.startswith("-") or _NUMBER.fullmatch(word)]


def _parts(texts: Sequence[str]) -> list[str]:
    return [part for text in texts for part in _BETWEEN.split(text) if part]


def _keys(answer: Answer) -> list[str]:
    return _parts([printed_text(leaf) for key in answer.keys for leaf in leaves(key)])


def _identity(answer: Answer) -> tuple[object, ...]:
    return (answer.use, answer.keys, answer.value)
