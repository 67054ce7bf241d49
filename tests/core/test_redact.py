"""Secrets are masked, and ordinary text is not."""

import json
from collections.abc import Callable
from html import escape
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaoki.core.environment import BASIC_VARIABLES, filter_environment
from yaoki.core.redact import MARK, mask, mask_document, mask_values, secret_values, written_forms

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
WORDS = st.text(alphabet=LETTERS + " \n.,:;/=_-", max_size=200)
SECRETS = st.text(alphabet=LETTERS + "+/=_-.!$*(\\", min_size=6, max_size=80)

# (text, the secret part)
KEYS = [
    ("AKIA" + "ABCDEFGH23456789", "AKIAABCD"),
    ("AIza" + "Sy" * 17 + "x", "AIzaSy"),
    ("ghp_" + "a1B2" * 9, "a1B2a1B2"),
    ("github_pat_" + "11AB_cd" * 5, "11AB_cd"),
    ("glpat-" + "x1y2z3w4" * 3, "x1y2z3w4"),
    ("sk-" + "abcDEF123456" * 3, "abcDEF12"),
    ("sk-ant-api03-" + "Q" * 40, "QQQQ"),
    ("sk_live_" + "51Hxyz" * 4, "51Hxyz"),
    ("hf_" + "abcdEFGH" * 4, "abcdEFGH"),
    ("xoxb-" + "123456789012-abcdef", "123456789012"),
    ("npm_" + "a" * 36, "aaaaaa"),
    ("pypi-" + "AgEIcHlwaS5vcmc" * 2, "AgEIcHlw"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlc2ln", "eyJzdWI"),
    ("https://bob:hunter2xyz@example.org/x", "hunter2xyz"),
    ("Authorization: Bearer abcdefghijklmnopqrst", "abcdefghij"),
    ("authorization: Basic Ym9iOmh1bnRlcjI=", "Ym9iOmh1"),
    ("OPENAI_API_KEY=correcthorsebattery", "correcthorse"),
    ('"client_secret": "s3cr3tvalue99"', "s3cr3tvalue99"),
    ("password: hunter2hunter2", "hunter2hunter2"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nAAAA\n-----END RSA PRIVATE KEY-----", "MIIEow"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk", "b3BlbnNz"),
]

HARMLESS = [
    "tests/test_token.py::test_x - assert token == 'abc'",
    "max_tokens=100000 reached",
    "def login(password: str, token: Token) -> None:",
    "the basic responsibilities of a bearer",
    "see https://example.org:8080/path@v2",
    "E   AssertionError: assert 429 == 200",
    "password: Refuse passwords shorter than twelve",
    "sk-learn is not installed",
]


@pytest.mark.spec("14.2")
@pytest.mark.parametrize(("text", "secret"), KEYS)
def test_a_key_is_masked_by_its_shape(text: str, secret: str) -> None:
    masked = mask(f"before {text} after")

    assert secret not in masked
    assert MARK in masked
    assert masked.startswith("before ")


@pytest.mark.parametrize("text", HARMLESS)
def test_ordinary_words_are_not_masked(text: str) -> None:
    assert mask(text) == text


@pytest.mark.spec("14.2")
@given(before=WORDS, secret=SECRETS, after=WORDS)
def test_a_known_value_is_always_masked(before: str, secret: str, after: str) -> None:
    if secret not in MARK:
        assert secret not in mask(before + secret + after, [secret])
        assert secret not in mask_values(secret + before + secret, [secret])


@given(secrets=st.lists(SECRETS, max_size=4), text=WORDS)
def test_masking_is_idempotent(secrets: list[str], text: str) -> None:
    once = mask(" ".join([text, *secrets]), secrets)

    assert mask(once, secrets) == once


def test_the_longer_of_two_secrets_is_masked_first() -> None:
    assert mask("x abcdefgh x", ["abcdef", "abcdefgh"]) == f"x {MARK} x"


def test_a_value_too_short_to_be_secret_is_not_masked() -> None:
    assert mask("true and 12345", ["true", "12345"]) == "true and 12345"


def test_masking_takes_linear_time() -> None:
    """Each of these made a careless pattern quadratic."""
    for piece in ("token", "a-", "://a:", "-----BEGIN PRIVATE KEY-----", "eyJ", "sk-", "bearer "):
        assert len(mask(piece * 20_000)) > 0


@pytest.mark.spec("14.2")
def test_secret_variables_are_recognised_by_name() -> None:
    environ = {
        "OPENAI_API_KEY": "value-one",
        "GITHUB_TOKEN": "value-two-longer",
        "DB_PASSWORD": "value-3",
        "AWS_SECRET_ACCESS_KEY": "value-four",
        "CI_PASS": "short",
        "KEYBOARD": "qwertyuiop",
        "TOKENIZERS_PARALLELISM": "enabled",
        "PATH": "/usr/local/bin",
    }

    assert secret_values(environ) == ("value-two-longer", "value-four", "value-one", "value-3")


@pytest.mark.spec("14.2")
def test_a_variable_that_a_plan_passes_on_is_secret_whatever_its_name() -> None:
    environ = {
        "ACME_LOGIN": "correct-horse",
        "ACME_MODE": "fast",
        "PLAIN": "in the open",
        "HOME": "/home/somebody",
        "GIT_DIR": "/elsewhere/.git",
    }

    assert secret_values(environ, ["ACME_*", "HOME", "GIT_*"]) == ("correct-horse",)
    assert secret_values(environ, ["*"]) == ("correct-horse", "in the open")
    assert secret_values(environ) == ()


@pytest.mark.spec("14.2")
@pytest.mark.parametrize(
    "written",
    [
        'to/k"en\\n ü+(1)',
        json.dumps('to/k"en\\n ü+(1)')[1:-1],
        json.dumps('to/k"en\\n ü+(1)', ensure_ascii=False)[1:-1],
        quote('to/k"en\\n ü+(1)'),
        quote('to/k"en\\n ü+(1)', safe=""),
        quote_plus('to/k"en\\n ü+(1)'),
        quote('to/k"en\\n ü+(1)', safe="!'()*"),
        escape('to/k"en\\n ü+(1)'),
        "to/k&quot;en\\n ü+(1)",
    ],
)
def test_a_value_is_masked_as_json_xml_and_addresses_write_it(written: str) -> None:
    assert mask_values(f"a {written} b", ['to/k"en\\n ü+(1)']) == f"a {MARK} b"


@pytest.mark.spec("14.2")
@pytest.mark.parametrize("around", ["{}\r", "{}\n", " {} ", "\t{}\r\n"])
def test_a_value_is_masked_without_the_white_space_around_it(around: str) -> None:
    """A file of variables from another system leaves some, and programs take it away."""
    value = around.format("correct-horse")

    assert mask_values("(correct-horse)", [value]) == f"({MARK})"
    assert mask_values("(short)", [around.format("short")]) == "(short)"


@pytest.mark.spec("14.2")
@pytest.mark.parametrize("shown", [repr, ascii, lambda value: repr(value.encode())])
@pytest.mark.parametrize("value", ['dom\\user"x', "dom\\user'x", "tok\x1ben-1", "zwölf\\\\boxer"])
def test_a_value_is_masked_as_python_shows_it(value: str, shown: Callable[[str], str]) -> None:
    written = shown(value)

    masked = mask_values(f"KEY={written}", [value])
    assert MARK in masked
    assert not any(word in masked for word in ("user", "en-1", "boxer"))


@given(st.text(min_size=6, max_size=40))
def test_every_form_of_a_value_is_known_and_the_longest_comes_first(value: str) -> None:
    forms = written_forms([value, "short"])

    assert (value in forms) == (value not in MARK)
    assert list(forms) == sorted(forms, key=len, reverse=True)
    assert "short" not in forms


@pytest.mark.spec("14.2")
def test_only_allowed_variables_pass_and_no_variable_of_git() -> None:
    environ = {"PATH": "/bin", "LC_ALL": "C", "MY_KEY": "x", "GIT_DIR": "/x", "ACME_A": "1"}

    assert filter_environment(environ, BASIC_VARIABLES) == {"PATH": "/bin", "LC_ALL": "C"}
    assert filter_environment(environ, ["ACME_*", "*_DIR"]) == {"ACME_A": "1"}
    assert "GIT_DIR" not in filter_environment(environ, ["*"])


def test_every_text_of_a_document_is_masked_and_nothing_else_changes() -> None:
    document = {"a": ["secret-value", 1, None], "b": ({"c": "x secret-value"}, True)}

    assert mask_document(document, ["secret-value"]) == {
        "a": [MARK, 1, None],
        "b": [{"c": f"x {MARK}"}, True],
    }
