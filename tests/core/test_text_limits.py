"""Shortening, counting, cleaning: the exact text at and around every limit."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from yaoki.core.environment import filter_environment, rooted
from yaoki.core.redact import confidential_variables, mask_values, secret_values, written_forms
from yaoki.core.text import (
    SUGGESTION_CHARS_MAX,
    SUGGESTION_WORDS_MAX,
    bullet_some,
    clip_bytes,
    clip_head_and_tail,
    did_you_mean,
    first_line,
    format_count,
    list_some,
    nearest,
    one_line,
    replace_lone_surrogates,
    short_path,
    shorten,
    strip_terminal_codes,
)

pytestmark = pytest.mark.spec("14.4")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07x", "x"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("a\tb", "a\tb"),
        ("\x07", "\\x07"),
        ("\x85", "\\x85"),
        ("\u00ad", "\\xad"),
        ("\u202e", "\\u202e"),
        ("\u061c", "\\u061c"),
        ("\ufeff", "\\ufeff"),
        ("\U000e0041", "\\U000e0041"),
        ("\ud800", "\\ud800"),
        ("plain ü", "plain ü"),
        ("#x1B[31mred#x1B[0m", "red"),
    ],
)
def test_control_characters_are_escaped(text: str, shown: str) -> None:
    assert strip_terminal_codes(text) == shown


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("plain", "plain"),
        ("a\ud800b", "a\ufffdb"),
        ("a\udc80", "a\ufffd"),
        ("\ud83d\ude00", "\U0001f600"),
    ],
)
def test_a_lone_surrogate_is_replaced_and_a_pair_is_joined(text: str, clean: str) -> None:
    assert replace_lone_surrogates(text) == clean


@pytest.mark.parametrize(
    ("change", "given", "text"),
    [
        (
            shorten,
            (
                "abcde",
                5,
            ),
            "abcde",
        ),
        (
            shorten,
            (
                "abcdef",
                5,
            ),
            "abcd…",
        ),
        (one_line, (" a \n b\t c ",), "a b c"),
        (one_line, ("x" * 200,), "x" * 200),
        (one_line, ("x" * 201,), "x" * 199 + "…"),
        (first_line, ("\n\n  a b\nc",), "a b"),
        (first_line, ("",), ""),
        (first_line, ("x" * 161,), "x" * 159 + "…"),
        (short_path, ("a" * 100,), "a" * 100),
        (short_path, ("a" * 50 + "b" * 51,), "a" * 50 + "…" + "b" * 49),
        (
            short_path,
            (
                "abcdefghijk",
                10,
            ),
            "abcde…hijk",
        ),
        (
            clip_head_and_tail,
            (
                "abcdef",
                3,
                3,
            ),
            "abcdef",
        ),
        (
            clip_head_and_tail,
            (
                "abcdefg",
                3,
                3,
            ),
            "abc\n[1 characters left out]\nefg",
        ),
        (
            clip_head_and_tail,
            (
                "abcdefg",
                3,
                0,
            ),
            "abc\n[4 characters left out]\n",
        ),
        (
            format_count,
            (
                0,
                "task",
            ),
            "0 tasks",
        ),
        (
            format_count,
            (
                1,
                "task",
            ),
            "1 task",
        ),
        (
            format_count,
            (
                1000,
                "task",
            ),
            "1,000 tasks",
        ),
        (
            format_count,
            (
                2,
                "try",
                "tries",
            ),
            "2 tries",
        ),
        (
            list_some,
            (
                ["a", "b"],
                2,
            ),
            "a, b",
        ),
        (
            list_some,
            (
                ["a", "b", "c"],
                2,
            ),
            "a, b and 1 more",
        ),
        (
            list_some,
            (
                ["a"] * 1002,
                1,
            ),
            "a and 1,001 more",
        ),
        (
            bullet_some,
            (
                ["a", "b"],
                2,
            ),
            ["- a", "- b"],
        ),
        (
            bullet_some,
            (
                ["a", "b", "c"],
                2,
            ),
            ["- a", "- b", "- and 1 more"],
        ),
        (
            bullet_some,
            (
                [],
                2,
            ),
            [],
        ),
        (
            did_you_mean,
            (
                "neds",
                ["goal", "needs"],
            ),
            "; did you mean 'needs'?",
        ),
        (
            did_you_mean,
            (
                "xyz",
                ["goal", "needs"],
            ),
            "",
        ),
        (
            nearest,
            (
                "neds",
                ["needs"] * SUGGESTION_WORDS_MAX,
            ),
            "needs",
        ),
        (
            nearest,
            (
                "neds",
                ["needs"] * (SUGGESTION_WORDS_MAX + 1),
            ),
            "",
        ),
        (
            nearest,
            (
                "n" * SUGGESTION_CHARS_MAX,
                ["n" * 199],
            ),
            "n" * 199,
        ),
        (
            nearest,
            (
                "n" * (SUGGESTION_CHARS_MAX + 1),
                ["n" * 200],
            ),
            "",
        ),
    ],
)
def test_a_text_is_shortened_to_its_limit(
    change: Callable[..., object], given: tuple[object, ...], text: object
) -> None:
    assert change(*given) == text


@pytest.mark.parametrize(
    ("text", "limit", "clipped"),
    [
        ("a" * 40, 40, "a" * 40),
        ("a" * 30 + "b" * 30, 50, "a" * 8 + "\n[… 34 bytes cut …]\n" + "b" * 18),
        ("ü" * 50, 50, "ü" * 4 + "\n[… 76 bytes cut …]\n" + "ü" * 8),
        ("€" * 40, 50, "€" * 2 + "\n[… 99 bytes cut …]\n" + "€" * 5),
        ("\udc80", 6, "\\udc80"),
        ("a" * 99, 0, ""),
        ("a" * 99, 5, "\n[…"),
        ("a" * 99, 4, "\n["),
    ],
)
def test_a_clipped_text_counts_the_cut_bytes(text: str, limit: int, clipped: str) -> None:
    assert clip_bytes(text, limit) == clipped


def test_a_text_that_is_clipped_twice_counts_every_byte_once() -> None:
    once = clip_bytes("a" * 1000, 300)
    twice = clip_bytes(once, 100)

    kept = twice.count("a")
    assert f"[… {1000 - kept} bytes cut …]" in twice
    assert len(twice.encode()) <= 100


# ------------------------------------------------------------------ the environment


@pytest.mark.spec("14.2")
@pytest.mark.parametrize(
    ("names", "passed"),
    [
        ((), ""),
        (("PATH",), "PATH"),
        (("LC_*",), "LC_ALL"),
        (("*",), "LC_ALL PATH PATH2"),
        (("GIT_DIR",), ""),
        (("path",), ""),
    ],
)
def test_only_named_variables_pass_and_no_variable_of_git(
    names: tuple[str, ...], passed: str
) -> None:
    environ = {"PATH": "/bin", "PATH2": "x", "LC_ALL": "C", "GIT_DIR": "/x"}

    assert " ".join(sorted(filter_environment(environ, names))) == passed


@pytest.mark.spec("14.2", "16.10")
def test_search_paths_keep_only_absolute_folders() -> None:
    given = {"PATH": "/bin::.:bin:/usr/bin:", "LD_LIBRARY_PATH": "lib", "OTHER": "a:b"}

    assert rooted(given) == {"PATH": "/bin:/usr/bin", "LD_LIBRARY_PATH": "", "OTHER": "a:b"}


# ------------------------------------------------------------------ secrets


@pytest.mark.spec("14.2")
@pytest.mark.parametrize(
    ("name", "value", "handed", "confidential"),
    [
        ("API_KEY", "words only", (), True),
        ("API_KEY", "short", (), False),
        ("API_KEY", " short ", (), False),
        ("API_KEY", "sixsix", (), True),
        ("API_KEY", "12345678", (), False),
        ("API_KEY", "enabled", (), False),
        ("API_KEY", "/home/me/key.pem", (), False),
        ("MODEL", "claude-large", ("MODEL",), False),
        ("MODEL", "a8f3k2m9x", ("MODEL",), True),
        ("MODEL", "a8f3k2m9x", (), False),
        ("HOME", "a8f3k2m9x", ("HOME",), False),
        ("MONKEY", "a8f3k2m9x", (), False),
    ],
)
def test_confidential_variables_are_found(
    name: str, value: str, handed: tuple[str, ...], confidential: bool
) -> None:
    found = confidential_variables({name: value, "OTHER": "value-of-other"}, handed)

    assert found == ({name: value} if confidential else {})


@pytest.mark.spec("14.2")
def test_secret_values_are_found() -> None:
    environ = {
        "API_KEY": "secret-one",
        "B_TOKEN": "secret-number-two",
        "HOME": "/home/me",
        "MODEL": "claude-large",
        "PASSWORD": "short",
        "EDITOR": "editor-name",
    }

    assert secret_values(environ) == ("secret-number-two", "secret-one")
    assert secret_values(environ, ("MODEL", "HOME")) == (
        "secret-number-two",
        "claude-large",
        "secret-one",
    )


@pytest.mark.spec("14.2")
@pytest.mark.parametrize("size", [10, 5_000])
def test_a_value_is_masked_in_a_short_and_in_a_long_text(size: int) -> None:
    pad = "x" * size

    for written in ('se"cret', 'se\\"cret', "se%22cret", "se&quot;cret", 'terc"es', 'SE"CRET'):
        assert mask_values(f"{pad} {written} {pad}", ['se"cret']) == f"{pad} [masked] {pad}"
    assert mask_values(pad, []) == pad


@pytest.mark.spec("14.2")
@pytest.mark.parametrize(
    "form",
    [
        "a b/<c>&'d'\"é",
        "a%20b/%3Cc%3E%26%27d%27%22%C3%A9",
        "a%20b%2F%3Cc%3E%26%27d%27%22%C3%A9",
        "a%20b%2F%3Cc%3E%26'd'%22%C3%A9",
        "a+b%2F%3Cc%3E%26%27d%27%22%C3%A9",
        "a b/&lt;c&gt;&amp;'d'\"é",
        "a b/&lt;c&gt;&amp;'d'&quot;é",
        "a b/&lt;c&gt;&amp;&#x27;d&#x27;&quot;é",
        "a b/&lt;c&gt;&amp;&#39;d&#39;&quot;é",
        "a b/&lt;c&gt;&amp;&apos;d&apos;&quot;é",
        "a b/<c>&'d'\\\"é",
        "a b/<c>&'d'\\\"\\u00e9",
        "a b/<c>&\\'d\\'\"é",
        "a b/<c>&'d'\"\\xe9",
        "a b/<c>&'d'\"\\xc3\\xa9",
    ],
)
def test_every_written_form_of_a_value_is_found(form: str) -> None:
    assert form in written_forms(["a b/<c>&'d'\"é"])


@pytest.mark.spec("14.2")
def test_written_forms_are_longest_first_and_exclude_short_values() -> None:
    forms = written_forms([" value-1 "])

    assert " value-1 " in forms
    assert "value-1" in forms
    assert [len(form) for form in forms] == sorted((len(form) for form in forms), reverse=True)
    assert written_forms(["short", "masked"]) == ()
