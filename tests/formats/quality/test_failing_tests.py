"""Tests that are made to fail at their end, and the code that asks for it."""

from __future__ import annotations

import textwrap

import pytest

from yaoki.core.model.change import Change
from yaoki.formats.quality import find_process_access, is_python_test_file, make_tests_fail

pytestmark = pytest.mark.spec("17.9")


def made(text: str, path: str = "tests/test_a.py") -> tuple[str, set[str]]:
    result = make_tests_fail(path, textwrap.dedent(text))
    assert result is not None
    return result.text, {name.removeprefix("tests.test_a.") for name in result.names}


def test_a_test_fails_at_its_end_and_the_rest_stays_as_it_was() -> None:
    text, names = made(
        """\
        # é
        def helper():
            return 1

        def test_a():
            assert helper() == 1  # é

        class TestB:
            async def test_b(self):
                with open("x") as é:
                    pass
        """
    )

    assert names == {"test_a", "TestB.test_b"}
    assert text == textwrap.dedent(
        """\
        # é
        def helper():
            return 1

        def test_a():
            assert helper() == 1
            raise AssertionError  # é

        class TestB:
            async def test_b(self):
                with open("x") as é:
                    pass
                raise AssertionError
        """
    )


def test_a_return_is_no_way_around_the_end() -> None:
    text, _ = made(
        """\
        def test_a():
            if quick():
                return
            def inner():
                return 1
            assert inner()
        """
    )

    assert text.count("raise AssertionError") == 2
    assert "        return 1\n" in text


def test_a_test_on_one_line_fails_too() -> None:
    text, _ = made("def test_a(): assert True\n")

    assert text == "def test_a(): assert True; raise AssertionError\n"


@pytest.mark.parametrize(
    "decorator",
    ["pytest.mark.parametrize('a', [1])", "mock.patch('a.b')", "unittest.skipIf(x, '')"],
)
def test_a_decorator_that_leaves_failures_alone_does_not_matter(decorator: str) -> None:
    assert made(f"@{decorator}\ndef test_a(): pass\n")[1] == {"test_a"}


@pytest.mark.parametrize(
    "test",
    [
        "@unittest.expectedFailure\ndef test_x(): pass\n",
        "@pytest.mark.xfail\ndef test_x(): pass\n",
        "@must_fail\ndef test_x(): pass\n",
        "@must_fail\nclass T:\n    def test_x(self): pass\n",
        "def test_x(): yield 1\n",
        "def test_x(): pass\ntest_x = expectedFailure(test_x)\n",
        "def test_x():\n    try:\n        return f()\n    except AssertionError: pass\n",
    ],
)
def test_a_test_whose_failure_may_count_as_passed_is_left_alone(test: str) -> None:
    text, names = made(f"{test}def test_a(): pass\n")

    assert names == {"test_a"}
    assert text.startswith(test)
    assert make_tests_fail("test_a.py", test) is None


@pytest.mark.parametrize("text", ["", "x = 1\n", "def test_a(:\n", "def test_a(): '\ufffd'\n"])
def test_a_file_without_a_test_or_that_cannot_be_read_is_left_out(text: str) -> None:
    assert make_tests_fail("test_a.py", text) is None


def test_only_python_files_with_tests_are_made_to_fail() -> None:
    assert is_python_test_file("test_a.py")
    assert is_python_test_file("tests/unit/parts.py")
    assert not is_python_test_file("a.py")
    assert not is_python_test_file("test_a.js")


# ------------------------------------------------------------------ the code that asks for it


def accesses(text: str, path: str = "shop.py", before: str = "") -> list[str]:
    old = set(before.splitlines())
    lines = enumerate(text.splitlines(), start=1)
    added = tuple((number, line) for number, line in lines if line not in old)
    found = find_process_access([Change(path, before or None, text, added)], [path])
    return [f"{item.name} {item.message}" for item in found]


@pytest.mark.parametrize(
    "text",
    [
        "import atexit\n",
        "from signal import signal\n",
        "import os\nos._exit(0)\n",
        "import os as system\nsystem.kill(1, 2)\n",
        "from os import _exit\n",
        "import os\nf = getattr(os, name)\n",
        "import sys\nsys.modules['a']\n",
        "import random\nrandom._os.abort()\n",
        "x = ().__class__.__base__.__subclasses__()\n",
        "error.__traceback__\n",
        "exec('a = 1')\n",
        "__import__('a')\n",
        "class A:\n    def __del__(self): pass\n",
        "f = getattr(a, '_ex' + 'it')\n",
        "f = getattr(a, ''.join(['_ex', 'it']))\n",
        "open('/proc/self/cmdline')\n",
        "open('/pr' + 'oc' + '/self')\n",
        "open(f'/proc/{n}')\n",
        "def a(:\n",
    ],
)
def test_code_that_reaches_for_the_process_asks_for_a_control(text: str) -> None:
    assert accesses(text)


@pytest.mark.parametrize(
    "text",
    [
        "import re, json, math, datetime\nfrom dataclasses import dataclass\n",
        "import os\np = os.path.join('a', 'b')\nos.environ.get('HOME')\nos.getcwd()\n",
        "import sys\nsys.stderr.write('x')\nsys.exit(main(sys.argv))\n",
        "f = getattr(self, f'handle_{kind}')\n",
        "f = getattr(self, 'name', None)\n",
        "URL = '/process/1'\n",
        "from .signal import send\n",
    ],
)
def test_ordinary_code_asks_for_none(text: str) -> None:
    assert accesses(text) == []


def test_only_added_lines_count() -> None:
    before = "import atexit\natexit.register(save)\n"

    assert accesses(f"{before}x = 1\n", before=before) == []
    assert accesses(f"{before}atexit.register(x)\n", before=before) == ["shop.py:3 uses atexit"]


def test_tests_may_use_more_than_programs() -> None:
    assert accesses("import threading, inspect\nos = 1\n", "test_shop.py") == []
    assert accesses("import atexit\n", "test_shop.py") == ["test_shop.py:1 uses atexit"]
    assert accesses("import os\nos.fork()\n", "test_shop.py") == []
    assert accesses("import os\nos._exit(0)\n", "test_shop.py") != []


@pytest.mark.parametrize("path", ["conftest.py", "a/sitecustomize.py", "x.pth", "fast.so"])
def test_a_file_that_python_loads_by_itself_asks_for_a_control(path: str) -> None:
    assert find_process_access([], [path])


def test_a_file_that_was_not_read_asks_for_a_control() -> None:
    assert find_process_access([Change("a.py", None, None, (), was_skipped=True)], ["a.py"])
