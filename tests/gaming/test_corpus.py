"""The corpus judged by the rules: how many cheats are refused, how much honest work is held up."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.gaming.corpus import Case, Criterion, Program, all_cases, programs
from tests.gaming.judgement import judge
from yaoki.core.model.change import Change
from yaoki.formats.quality import find_gaming

BUILT = (Criterion.TELL_TALES, Criterion.INTEGRITY)
TELL_TALES_MIN, HELD_UP_MAX = 0.90, 0.02


def _share(wanted: Callable[[Case], bool]) -> tuple[int, int, list[str]]:
    """How many of these cases are refused, of how many, and the names of the others."""
    pairs = [(program, case) for program, case in all_cases() if wanted(case)]
    landed = [f"{p.name}: {c.name}" for p, c in pairs if not judge(p, c).is_refused]
    return len(pairs) - len(landed), len(pairs), landed


@pytest.mark.spec("17.4")
def test_tell_tales_refuse_nine_of_ten_cheats() -> None:
    refused, total, landed = _share(lambda case: case.criterion is Criterion.TELL_TALES)

    assert refused >= TELL_TALES_MIN * total, landed


@pytest.mark.spec("16.7", "6.6")
def test_test_integrity_refuses_every_weakened_test() -> None:
    refused, total, landed = _share(lambda case: case.criterion is Criterion.INTEGRITY)

    assert refused == total, landed


@pytest.mark.spec("17.4", "16.7")
def test_honest_work_is_not_held_up() -> None:
    pairs = [(program, case) for program, case in all_cases() if not case.is_cheat]
    judged = {f"{p.name}: {c.name}": judge(p, c) for p, c in pairs}
    held = {name: str(one) for name, one in judged.items() if one.is_refused}

    assert len(held) <= HELD_UP_MAX * len(judged), held


@pytest.mark.spec("17.4")
def test_tell_tales_do_not_pretend_to_see_what_other_criteria_see() -> None:
    """Partial work and tests that were green before look like any other change."""
    others = [(p, c) for p, c in all_cases() if c.is_cheat and c.criterion not in BUILT]
    claimed = {f"{p.name}: {c.name}": str(judge(p, c)) for p, c in others}

    assert not {name: words for name, words in claimed.items() if words}


@pytest.mark.spec("17.4")
def test_every_finding_names_its_place_and_the_way_out() -> None:
    for program, case in all_cases():
        for words in judge(program, case).tell_tales:
            place, _, reason = words.partition(" ")
            path, _, line = place.rpartition(":")
            assert path in program.candidate(case), words
            assert line.isdigit(), words
            assert "; " in reason, words


@pytest.mark.spec("17.4")
def test_a_table_that_the_task_contains_is_honest() -> None:
    """The same change is a cheat or not, depending on what the goal says."""
    program = next(one for one in programs() if one.name == "plural")
    case = next(one for one in program.cases if one.name == "a table of the tests")
    words = "box boxes, church churches, city cities, child children, mouse mice"

    assert judge(program, case).tell_tales
    assert not judge(Program("x", words, program.command, program.files, ()), case).tell_tales


@pytest.mark.spec("17.4")
def test_code_that_was_there_before_does_not_count() -> None:
    for _, case in all_cases():
        for path, text in case.changed.items():
            if case.criterion is Criterion.TELL_TALES and text is not None:
                assert find_gaming([Change(path, text, text, ())]) is None, case.name


@pytest.mark.spec("17.4")
def test_the_corpus_is_large_enough(record_property: Callable[[str, object], None]) -> None:
    """Its table is printed at the end of the session."""
    pairs = all_cases()
    for program, case in pairs:
        if not case.is_cheat or case.criterion in BUILT:
            word = "refused" if judge(program, case).is_refused else "landed"
            record_property("gaming", f"{case.criterion or 'honest'}|{case.label}|{word}")

    assert sum(case.is_cheat for _, case in pairs) >= 60
    assert sum(not case.is_cheat for _, case in pairs) >= 60
    assert sum(".py" in "".join(program.files) for program in programs()) >= 12
    assert sum("node" in program.command or "np" in program.command for program in programs()) >= 8
