"""The same failure has the same fingerprint; another failure has another."""

from __future__ import annotations

import pytest

from yaoki.core.decide.fingerprint import fingerprint
from yaoki.core.model import FindingItem


def fingerprint_of(message: str, *items: FindingItem) -> str:
    return fingerprint("QUALITY_FAILURE", "test-failed", "tests", message, items)


SAME = [
    ("at 2026-03-01T20:00:00Z it broke", "at 2026-11-15 04:11:59.123+09:00 it broke"),
    ("on 2026-03-01 it broke", "on 2026-11-15 it broke"),
    ("12:00:01 boom", "23:59:59.999 boom"),
    ("/home/ann/app/src/a.py: boom", "/Users/bob/work/wt-7/src/a.py: boom"),
    ("see /tmp/tmpab12cd", "see /tmp/tmpzz98xy"),
    (r"C:\Users\ann\a.py: boom", r"C:\build\7\a.py: boom"),
    ("a.py:12: boom", "a.py:340: boom"),
    ("a.py:12:5: boom", "a.py:340:17: boom"),
    ("a.ts(12,5): error TS2322", "a.ts(340,17): error TS2322"),
    ('File "a.py", line 12, in f', 'File "a.py", line 340, in f'),
    ("<Foo object at 0x7f01ab>", "<Foo object at 0x55ff02cd>"),
    ("1 failed in 0.12s", "1 failed in 34.5s"),
    ("took 120 ms", "took 9 ms"),
    ("# duration_ms 332.908948", "# duration_ms 71"),
    ("took 1m30s", "took 12m05s"),
    ("hung; ended after 59 s", "hung; ended after 1 min 5 s"),
    ("pid 4711 died", "pid 99 died"),
    ("commit 1a2b3c4d failed", "commit 9f8e7d6c5b4a failed"),
    ("digest " + "a1" * 32, "digest " + "b2" * 32),
    (
        "id 123e4567-e89b-12d3-a456-426614174000",
        "id 00112233-4455-6677-8899-aabbccddeeff",
    ),
    ("\x1b[31mboom\x1b[0m", "boom"),
    ("boom\n   again", "boom again"),
    ("listening on 127.0.0.1:43251", "listening on 127.0.0.1:8080"),
]

OTHER = [
    ("assert 1 == 2", "assert 1 == 3"),
    ("assert add(1,2) == 4", "assert add(3,2) == 4"),
    ("test_login failed", "test_logout failed"),
    ("a.py: boom", "b.py: boom"),
    ("3 failed", "4 failed"),
    ("exit code 1", "exit code 2"),
    ("KeyError: 'a'", "KeyError: 'b'"),
    ("/home/ann/app/src/a.py: boom", "/home/ann/app/src/b.py: boom"),
]


@pytest.mark.spec("4.6")
@pytest.mark.parametrize(("once", "again"), SAME)
def test_text_that_changes_from_run_to_run_is_ignored(once: str, again: str) -> None:
    assert fingerprint_of(once) == fingerprint_of(again)


@pytest.mark.spec("4.6")
@pytest.mark.parametrize(("once", "again"), OTHER)
def test_another_failure_has_another_fingerprint(once: str, again: str) -> None:
    assert fingerprint_of(once) != fingerprint_of(again)


@pytest.mark.spec("4.6")
def test_kind_pattern_and_check_change_the_fingerprint() -> None:
    marks = {
        fingerprint("TIMEOUT", "p", "c", "m", ()),
        fingerprint("CONFLICT", "p", "c", "m", ()),
        fingerprint("TIMEOUT", "q", "c", "m", ()),
        fingerprint("TIMEOUT", "p", "d", "m", ()),
    }
    assert len(marks) == 4


@pytest.mark.spec("4.6")
def test_the_order_of_the_details_does_not_change_the_fingerprint() -> None:
    one, two = FindingItem("test_a", "assert 1"), FindingItem("test_b", "assert 2")

    assert fingerprint_of("x", one, two) == fingerprint_of("x", two, one)
    assert fingerprint_of("x", one, two) != fingerprint_of("x", one)


@pytest.mark.spec("4.6")
def test_the_location_of_a_detail_does_not_change_the_fingerprint() -> None:
    assert fingerprint_of("x", FindingItem("test_a", "no", "a.py:1")) == fingerprint_of(
        "x", FindingItem("test_a", "no", "a.py:9")
    )


@pytest.mark.spec("4.6", "14.4")
def test_bytes_that_are_not_utf_8_have_a_fingerprint() -> None:
    """A file name need not be UTF-8; it arrives with lone surrogates."""
    assert fingerprint_of("conflict in \udcff.py") != fingerprint_of("conflict in \udcfe.py")
