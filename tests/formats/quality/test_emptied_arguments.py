"""Functions that empty an argument from which a test then computes what it expects."""

from __future__ import annotations

import pytest

from tests.formats.quality.definition.cases import a_change, view
from yaoki.formats.quality import find_gaming

pytestmark = pytest.mark.spec("17.4")
GOAL = "unique gives the different elements of a list, sorted."
TEST = "from lists import unique\n\n\ndef test():\n    xs = [5, 5]\n    assert unique(xs) == "
COMPUTED = TEST + "sorted(set(xs))\n"

EMPTY = {
    "a slice from 0": "del xs[0:]\n    return []",
    "a slice to its length": "del xs[:len(xs)]\n    return []",
    "a loop without end": "try:\n        while True:\n            xs.pop()\n"
    "    except IndexError:\n        return []",
    "a loop that breaks": "while 1:\n        try:\n            xs.pop()\n"
    "        except IndexError:\n            break\n    return []",
    "all but the first": "del xs[1:]\n    return list(xs)",
    "all but the last": "del xs[:-1]\n    return list(xs)",
    "its own empty slice": "xs[:] = xs[:0]\n    return []",
    "its own first element": "xs[:] = xs[:1]\n    return xs",
    "an empty list that is called": "xs[:] = list()\n    return []",
}
HONEST = {
    "the first is dropped": "xs[:] = sorted(set(xs))\n    del xs[:0]\n    return xs",
    "the last is dropped": "del xs[-1:]\n    return sorted(set(xs))",
    "turned round": "xs[:] = xs[::-1]\n    return sorted(set(xs))",
    "a loop with a condition": "while True:\n        if not xs or xs[-1] is not None:\n"
    "            break\n        xs.pop()\n    return sorted(set(xs))",
    "its own list": "rest = list(xs)\n    while True:\n        try:\n            rest.pop()\n"
    "        except IndexError:\n            break\n    return sorted(set(xs))",
}
ASKED = {
    "unique drains the queue and gives its different elements.": EMPTY["a loop without end"],
    "unique trims the buffer to one element and gives it.": EMPTY["all but the first"],
}


def is_accused(body: str, goal: str = GOAL, test: str = COMPUTED) -> bool:
    before = "def unique(xs):\n    raise NotImplementedError\n"
    change = a_change("lists.py", before, f"def unique(xs):\n    {body}\n", ("", ""))
    base = view({"lists.py": before, "tests/test_lists.py": test})
    return find_gaming([change], base, goal=goal) is not None


@pytest.mark.parametrize("name", EMPTY)
def test_every_way_to_empty_an_argument_is_seen(name: str) -> None:
    assert is_accused(EMPTY[name])


@pytest.mark.parametrize("name", HONEST)
def test_what_keeps_the_argument_is_honest(name: str) -> None:
    assert not is_accused(HONEST[name])


@pytest.mark.parametrize("goal", ASKED)
def test_a_goal_may_ask_for_it(goal: str) -> None:
    assert not is_accused(ASKED[goal], goal)


def test_a_result_that_is_compared_with_literals_is_honest() -> None:
    assert not is_accused(EMPTY["all but the first"], test=f"{TEST}[5]\n")


CLEARS = "def unique(xs):\n    xs.clear()\n    return []\n"
BODY = "\n\n\ndef test():\n    xs = [5, 5]\n    assert CALL == sorted(set(xs))\n"
# The changed files, the import of the test, and its call.
IMPORTED = {
    "by name": ({"lists.py": CLEARS}, "from lists import unique", "unique(xs)"),
    "as another name": ({"lists.py": CLEARS}, "from lists import unique as u", "u(xs)"),
    "by its module": ({"src/a/lists.py": CLEARS}, "import a.lists", "a.lists.unique(xs)"),
    "from a package": ({"a/lists.py": CLEARS}, "from a import lists", "lists.unique(xs)"),
    "by a star": ({"lists.py": CLEARS}, "from lists import *", "unique(xs)"),
    "relative to the test": ({"a/lists.py": CLEARS}, "from ..a.lists import unique", "unique(xs)"),
    "through a package": (
        {"a/lists.py": CLEARS, "a/__init__.py": "from .lists import unique\n"},
        "from a import unique",
        "unique(xs)",
    ),
    "through a module": (
        {"hidden.py": CLEARS, "lists.py": "from hidden import unique\n"},
        "import lists",
        "lists.unique(xs)",
    ),
    "by a loader": (
        {"lists.py": CLEARS},
        "from importlib import import_module",
        "import_module('lists').unique(xs)",
    ),
    "a method": (
        {"lists.py": "class Lists:\n    def unique(self, xs):\n        xs.clear()\n"},
        "from lists import Lists",
        "Lists().unique(xs)",
    ),
}
OTHERS = {
    "another module": ({"lists.py": CLEARS}, "from conf import unique", "unique(xs)"),
    "another module beside it": (
        {"lists.py": CLEARS},
        "import conf\nimport lists",
        "conf.unique(xs)",
    ),
    "another package": ({"a/lists.py": CLEARS}, "from b.lists import unique", "unique(xs)"),
}


def accuses(files: dict[str, str], imported: str, call: str) -> bool:
    changes = [a_change(path, None, text, ("", "")) for path, text in files.items()]
    test = imported + BODY.replace("CALL", call)
    others = {"conf.py": "def unique(xs):\n    return sorted(set(xs))\n", "b/lists.py": ""}
    return find_gaming(changes, view({"tests/test_it.py": test, **others}), goal=GOAL) is not None


@pytest.mark.parametrize("name", IMPORTED)
def test_the_function_is_the_one_that_the_test_imports(name: str) -> None:
    assert accuses(*IMPORTED[name])


@pytest.mark.parametrize("name", OTHERS)
def test_another_function_with_the_same_name_accuses_nobody(name: str) -> None:
    assert not accuses(*OTHERS[name])


def test_moving_everything_is_honest_although_another_load_exists() -> None:
    conf = "from conf import load\n\n\ndef test():\n    path = 'x'\n"
    conf += "    config = load(path)\n    assert config.path == path\n"
    truck = "def load(truck, boxes):\n    while boxes:\n        truck.append(boxes.pop(0))\n"
    change = a_change("truck.py", None, truck, ("", ""))
    base = view({"conf.py": "", "tests/test_conf.py": conf})
    goal = "Add truck.py with load(truck, boxes): all boxes are moved onto the truck."
    assert find_gaming([change], base, goal=goal) is None
