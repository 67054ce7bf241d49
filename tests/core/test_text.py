"""Text that is shortened, counted and cleaned."""

import re
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaoki.core.text import (
    as_sentence,
    bullet_some,
    clip_bytes,
    clip_head_and_tail,
    did_you_mean,
    first_line,
    first_sentences,
    format_bytes,
    format_count,
    format_duration,
    list_some,
    one_line,
    quote_path,
    shorten,
    strip_terminal_codes,
)


@pytest.mark.spec("14.4")
def test_terminal_codes_are_removed_and_hidden_characters_made_visible() -> None:
    text = "\x1b[31mred\x1b[0m \x1b]0;title\x07bell\x07 a\u202eb line\r\nnext\rover"

    assert strip_terminal_codes(text) == "red bell\\x07 a\\u202eb line\nnext\nover"


@pytest.mark.spec("14.4")
@given(st.text(max_size=300))
def test_no_terminal_code_is_left(text: str) -> None:
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", strip_terminal_codes(text))


@given(st.text(max_size=300), st.integers(0, 50), st.integers(0, 50))
def test_clipped_text_keeps_both_ends(text: str, head: int, tail: int) -> None:
    short = clip_head_and_tail(text, head, tail)

    assert short.startswith(text[:head])
    assert short.endswith(text[len(text) - tail :] if tail <= len(text) else text)
    assert len(short) <= max(len(text), head + tail) + 40


def test_a_text_is_joined_to_one_bounded_line() -> None:
    assert one_line("a\n  b\tc") == "a b c"
    assert one_line("  a  b \r\n\t c   d  ") == "a  b c   d"
    assert one_line("x" * 300, 10) == "xxxxxxxxx…"


@pytest.mark.spec("7.3")
def test_a_clipped_text_keeps_head_and_tail_and_counts_the_cut_bytes() -> None:
    text = "the head " + "x" * 10_000 + " the tail"

    clipped = clip_bytes(text, 500)

    assert clipped.startswith("the head ")
    assert clipped.endswith(" the tail")
    cut = int(clipped.split("[… ")[1].split(" bytes cut")[0])
    kept = len(clipped.encode()) - len(f"\n[… {cut} bytes cut …]\n".encode())
    assert cut + kept == len(text)


@pytest.mark.spec("7.3")
@given(st.text(max_size=2_000), st.integers(0, 1_000))
def test_a_clipped_text_is_within_its_bytes(text: str, most: int) -> None:
    assert len(clip_bytes(text, most).encode()) <= most


@given(st.text(max_size=500), st.integers(1, 200))
def test_a_first_line_is_one_line_within_its_limit(text: str, most: int) -> None:
    line = first_line(text, most)

    assert len(line) <= most
    assert len(line.splitlines()) <= 1


def test_a_shortened_text_ends_with_an_ellipsis() -> None:
    assert shorten("abcd", 4) == "abcd"
    assert shorten("abcde", 4) == "abc…"


@pytest.mark.parametrize(
    ("n", "text"), [(0, "0 tasks"), (1, "1 task"), (2, "2 tasks"), (1000, "1,000 tasks")]
)
def test_a_count_agrees_with_its_noun(n: int, text: str) -> None:
    assert format_count(n, "task") == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (1023, "1,023 bytes"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        ((1 << 20) - 1, "1 MiB"),
        (268_435_456, "256 MiB"),
        (58_170_000_000, "54.2 GiB"),
        (1 << 51, "2,048 TiB"),
    ],
)
def test_a_size_is_in_units_that_people_read(count: int, text: str) -> None:
    assert format_bytes(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.34, "0.3 s"),
        (5, "5 s"),
        (9.95, "10 s"),
        (59.4, "59 s"),
        (60, "1 min"),
        (65, "1 min 5 s"),
        (3599.6, "1 h"),
        (42_946.3, "11 h 55 min"),
        (48 * 3600, "2 d"),
        (51 * 3600, "2 d 3 h"),
    ],
)
def test_a_duration_is_in_units_that_people_read(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


def test_a_long_list_says_how_many_names_are_not_shown() -> None:
    assert list_some(["a", "b"], 2) == "a, b"
    assert list_some(["a", "b", "c", "d"], 2) == "a, b and 2 more"
    assert bullet_some(["a", "b", "c"], 1) == ["- a", "- and 2 more"]
    assert bullet_some([], 1) == []


def test_a_suggestion_is_made_only_where_a_known_word_is_similar() -> None:
    assert did_you_mean("neds", ["needs", "goal"]) == "; did you mean 'needs'?"
    assert did_you_mean("xyz", ["needs", "goal"]) == ""
    assert did_you_mean("neds", [f"word{n}" for n in range(2_000)]) == ""


def test_words_that_are_about_as_similar_are_suggested_together() -> None:
    known = ["status", "result", "stats", "status"]

    assert did_you_mean("statsu", known) == "; did you mean 'stats' or 'status'?"
    assert did_you_mean("statu", known) == "; did you mean 'status'?"
    assert did_you_mean("ab", ["abc", "abd", "abe", "abf"]).count("'") == 6


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("/home/una/repo", "/home/una/repo"),
        ("/home/una/my repo", "'/home/una/my repo'"),
        ("it's", r"'it'\''s'"),
        ("", "''"),
    ],
)
def test_a_path_is_one_word_of_a_shell_line(path: str, word: str) -> None:
    assert quote_path(path) == word
    assert shlex.split(quote_path(path)) == [path]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Which? a\n  or b", "Which? a or b"),
        ("It failed. " + "Change it in the plan. " * 9, "It failed. Change it in the plan. …"),
        ("Is v1.2 it? " + "x" * 50, "Is v1.2 it? …"),
        ("x" * 50, "x" * 39 + "…"),
    ],
)
def test_a_long_text_is_cut_after_a_sentence(text: str, shown: str) -> None:
    assert first_sentences(text, 40) == shown


def test_a_sentence_has_a_capital_letter_and_a_full_stop() -> None:
    assert as_sentence("it fails") == "It fails."
    assert as_sentence("") == ""
