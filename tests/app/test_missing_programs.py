"""The refusal of a plan whose programs or variables are missing."""

from __future__ import annotations

import pytest

from yaoki.app.missing_programs import MissingProgram, refuse_missing_programs
from yaoki.errors import PlanInvalid

pytestmark = pytest.mark.spec("2.2", "0.6")
CHECK = MissingProgram("check c: the program 'x' is not on the PATH", "install it")
AGENT = MissingProgram("agent 'a': 'b' is not on the PATH", "install b", is_agent=True)
KEY = MissingProgram(
    "agent 'a/one': its variable K is not set", "set K", is_agent=True, is_variable=True
)


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        ([CHECK, CHECK], "2 programs are missing"),
        ([CHECK, AGENT], "2 programs are missing or cannot run here"),
        ([KEY, KEY], "2 variables of agents are not set"),
        ([CHECK, KEY], "1 program is missing, and 1 variable of an agent is not set"),
    ],
)
def test_several_missing_things_are_counted_by_what_they_are(
    missing: list[MissingProgram], words: str
) -> None:
    with pytest.raises(PlanInvalid) as refused:
        refuse_missing_programs(missing)

    assert refused.value.sentence == words
    assert list(refused.value.defects) == [f"{one.sentence}; {one.remedy}" for one in missing]
    assert refused.value.hint == "each line ends with its remedy; then run the command again"


def test_one_missing_thing_is_named_with_its_remedy() -> None:
    with pytest.raises(PlanInvalid) as refused:
        refuse_missing_programs([KEY])

    assert (refused.value.sentence, refused.value.hint) == (KEY.sentence, "set K")
