"""The words of persons, as the next agent of a task reads them."""

from __future__ import annotations

import pytest

from tests.builders import a_task, an_exit
from yaoki.core.decide.person_words import SAID_CHARS, compose_said
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import Reason, Task, Work

pytestmark = pytest.mark.spec("7.3", "10.4")


def asking(task: Task, question: str) -> Task:
    return replace(task, work=Work(exit=an_exit(question=question)))


@pytest.mark.parametrize("words", ["", "Use the other file."])
def test_the_words_alone_are_not_repeated(words: str) -> None:
    assert compose_said(a_task(), words) == ""
    assert compose_said(a_task(work=Work(exit=an_exit())), words) == ""
    assert compose_said(a_task(answer_text=words), words) == ""


def test_earlier_words_stay() -> None:
    task = a_task(answer_text="Use b.")

    assert compose_said(task, "And c.") == "Use b.\n\nAnd c."
    assert compose_said(task, "") == "Use b."


def test_a_question_stands_before_its_answer() -> None:
    assert compose_said(asking(a_task(), "Red?"), "yes") == "Question: Red?\nAnswer: yes"
    again = asking(a_task(answer_text="Question: Red?\nAnswer: yes"), "Big?")
    said = "Question: Red?\nAnswer: yes\n\nQuestion: Big?\nAnswer: (no words)"
    assert compose_said(again, "") == said


def test_an_undo_is_told() -> None:
    undone = a_task(reason=Reason.MANUAL, attempt=3)

    told = "A person undid the work of attempt 3, which had landed."
    assert compose_said(undone, "") == told
    assert compose_said(undone, "Shorter.") == f"{told}\n\nShorter."
    assert compose_said(replace(undone, reason=Reason.NEEDS_HUMAN), "") == ""


def test_long_words_keep_their_end() -> None:
    said = compose_said(a_task(answer_text="x" * SAID_CHARS), "Last.")

    assert said.endswith("Last.")
    assert len(said) < SAID_CHARS + 50
