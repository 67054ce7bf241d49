"""Secrets are masked before anything is shown, stored or sent.

Known values go first, then the shapes of keys that cloud, forge and model vendors
hand out.  Every shape is bounded or reads forward only, so a hostile text costs
no more than its length.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from yaoki.core.environment import BASIC_VARIABLES, filter_environment
from yaoki.core.lazy_pattern import lazy_compile

MARK = "[masked]"
VALUE_CHARS_MIN = 6
NAMES_KEPT = 1024
LONG_CHARS = 4_096

_SECRET_NAME = lazy_compile(
    r"(?:^|_)(?:API_?KEYS?|KEYS?|TOKENS?|SECRETS?|PASSWORDS?|PASSWD|PASSPHRASE|PASS|PWD_?HASH"
    r"|CREDENTIALS?|PAT|COOKIE|PRIVATE)(?:_|$)",
    re.IGNORECASE,
)

# Numbers, switches and paths are no secrets, whatever the variable is called.
_ORDINARY = lazy_compile(
    r"[\d.,:_-]{1,15}|(?i:true|false|enabled?|disabled?)|[~/.][\w./~-]{0,4096}"
)
# Eight letters and digits in a row that are no word and no number.
_RANDOM = lazy_compile(
    r"(?=[a-zA-Z0-9]{8})(?:[a-zA-Z]{1,64}\d|\d{1,64}[a-zA-Z]|[a-zA-Z]{0,64}[a-z][A-Z])"
)

# Characters that are not escaped in a URL.  Paths keep the slash, browsers a few more.
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_KEPT_IN_ADDRESSES = (_UNRESERVED, _UNRESERVED | set(b"/"), _UNRESERVED | set(b"!'()*"))

# The value after a name like "secret".  After a colon prose is likely, so a digit is required.
_NAMED = r"(?:api[_-]?key|secret(?:[_-]?key)?|token|passw(?:or)?d|passphrase|credentials?)[\"']?"
_VALUE = r"[\w.~+/!$%^&*-]"

# (shape, replacement): a group that stays tells the reader which secret was there.
_SHAPES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (lazy_compile(shape), kept)
    for shape, kept in (
        (
            r"(?s)-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?"
            r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
            MARK,
        ),
        (r"\beyJ[\w-]{8,4096}\.[\w-]{8,8192}\.[\w-]{8,4096}", MARK),  # JSON web token
        (r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b", MARK),  # Amazon
        (r"\bAIza[\w-]{35}", MARK),  # Google
        (r"\bya29\.[\w-]{20,}", MARK),  # Google OAuth
        (r"\bgh[pousr]_[A-Za-z0-9]{30,}", MARK),  # GitHub
        (r"\bgithub_pat_\w{22,}", MARK),
        (r"\bglpat-[\w-]{20,}", MARK),  # GitLab
        (r"\b[sr]k-[\w-]{20,}", MARK),  # OpenAI, Anthropic, OpenRouter and others
        (r"\b[spr]k_(?:live|test)_\w{16,}", MARK),  # Stripe
        (r"\b(?:gsk_|xai-|hf_|r8_|pplx-)[\w-]{20,}", MARK),  # model vendors
        (r"\bxox[abeoprs]-[\w-]{10,}", MARK),  # Slack
        (r"\bnpm_[A-Za-z0-9]{36}", MARK),
        (r"\bpypi-[\w-]{16,}", MARK),
        (r"(://[^/\s:@]{0,256}:)[^/\s@]{1,1024}(?=@)", rf"\1{MARK}"),  # user:password@host
        (r"(?i)(\bbearer\s{1,4})[\w.~+/=-]{16,}", rf"\1{MARK}"),
        (
            r"(?i)(\bauthorization[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?:basic|token)\s{1,4})[^\s\"']{6,}",
            rf"\1{MARK}",
        ),
        (rf"(?i)({_NAMED}=[\"']?){_VALUE}{{6,}}", rf"\1{MARK}"),
        (
            rf"(?i)({_NAMED}\s{{0,4}}[:=]\s{{0,4}}[\"']?)(?=[^\d\s]{{0,64}}\d){_VALUE}{{8,}}",
            rf"\1{MARK}",
        ),
    )
)

# Every text with such a shape has one of these.  Screens mask ten thousand short texts at once;
# most have none, and then no shape is tried.
_SIGN = lazy_compile(
    r"-----BEGIN|eyJ|AKIA|ASIA|AIza|ya29|gh[pousr]_|github_pat_|glpat-|[srp]k[-_]|gsk_|xai-|hf_|r8_"
    r"|pplx-|xox|npm_|pypi-|://|(?i:bearer|authorization|api|secret|token|passw|passph|credential)"
)


def mask(text: str, secrets: Iterable[str] = ()) -> str:
    """The text without known secrets and without anything shaped like one."""
    text = mask_values(text, secrets)
    if _SIGN.search(text) is None:
        return text
    for shape, prefix in _SHAPES:
        text = shape.sub(prefix, text)
    return text


def is_shaped_like_key(text: str) -> bool:
    """Has the text the shape of a private key, or of a key that a vendor hands out?"""
    if _SIGN.search(text) is None:
        return False
    return any(shape.search(text) for shape, replacement in _SHAPES if replacement == MARK)


def mask_values(text: str, secrets: Iterable[str]) -> str:
    """The text without these values, also as written in JSON, XML, a URL or base64.

    One expression is fastest for short texts; for long ones, a search for each form.
    """
    secrets = tuple(secrets)
    if len(text) > LONG_CHARS:
        for form in _cached_forms(secrets):
            text = text.replace(form, MARK)
        return text
    known = _pattern(secrets)
    return text if known is None else known.sub(MARK, text)


@lru_cache(maxsize=64)
def _cached_forms(secrets: tuple[str, ...]) -> tuple[str, ...]:
    return written_forms(secrets)


# Screens mask ten thousand texts with the same few values.
@lru_cache(maxsize=64)
def _pattern(secrets: tuple[str, ...]) -> re.Pattern[str] | None:
    forms = _cached_forms(secrets)
    return re.compile("|".join(map(re.escape, forms))) if forms else None


def written_forms(secrets: Iterable[str]) -> tuple[str, ...]:
    """Every form in which these values are written, longest first, since one may contain another.

    A value too short to be a secret has none.  White space around a value is left out.
    """
    values = (form for value in secrets for form in (value, value.strip()))
    worth = (value for value in values if len(value) >= VALUE_CHARS_MIN and value not in MARK)
    forms = (form for value in worth for form in _forms(value))
    return _longest_first(form for form in forms if form not in MARK)


def _forms(value: str) -> Iterator[str]:
    yield value
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    for unquoted in _KEPT_IN_ADDRESSES:
        yield _quoted(value, unquoted)
    yield _quoted(value, _UNRESERVED).replace("%20", "+")
    yield from _in_markup(value)
    yield from _in_python(value)
    yield from encoded_variants(value)


def _in_python(value: str) -> Iterator[str]:
    """The text as Python shows it in a str or bytes; the quote depends on the value."""
    raw = value.encode("utf-8", "surrogatepass")
    for shown in (repr(value)[1:-1], ascii(value)[1:-1], repr(raw)[2:-1]):
        yield shown
        yield shown.replace("\\'", "'")


def _in_markup(value: str) -> Iterator[str]:
    """The text as XML and HTML write it: in a text, in an attribute, with either quote."""
    text = value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    yield text
    quoted = text.replace('"', "&quot;")
    yield from (quoted.replace("'", quote) for quote in ("'", "&#x27;", "&#39;", "&apos;"))


def _quoted(value: str, unquoted: frozenset[int]) -> str:
    # A variable may hold lone surrogates, which must not raise here.
    raw = value.encode("utf-8", "surrogatepass")
    return "".join(chr(byte) if byte in unquoted else f"%{byte:02X}" for byte in raw)


@lru_cache(maxsize=NAMES_KEPT)
def _is_secret_name(name: str) -> bool:
    return _SECRET_NAME.search(name) is not None


def secret_values(environ: Mapping[str, str], passed_names: Iterable[str] = ()) -> tuple[str, ...]:
    """Values of the variables with a secret name, and of those that a plan passes on.

    `passed_names` are names and globs; variables that every child gets anyway are not secret.
    """
    variables = dict(environ)  # reading `os.environ` costs more than a dictionary
    passed_on = filter_environment(variables, passed_names) if passed_names else {}
    passed_on_names = passed_on.keys() - filter_environment(passed_on, BASIC_VARIABLES).keys()
    return _longest_first(
        value
        for name, value in variables.items()
        if (_is_secret_name(name) or name in passed_on_names) and len(value) >= VALUE_CHARS_MIN
    )


def confidential_variables(
    environ: Mapping[str, str], passed_names: Iterable[str] = ()
) -> dict[str, str]:
    """The variables, by name, whose value must not be in a commit.

    A value is masked on the least suspicion, but work is stopped only by a real secret: not by a
    number, a switch or a path; nor, unless the name of the variable says secret, by a value that
    reads like words, such as a mode, a model or a region.
    """
    passed_on = filter_environment(environ, passed_names)
    passed_on_names = passed_on.keys() - filter_environment(passed_on, BASIC_VARIABLES).keys()
    return {
        name: value
        for name, value in environ.items()
        if len(value.strip()) >= VALUE_CHARS_MIN
        and not _ORDINARY.fullmatch(value.strip())
        and (_is_secret_name(name) or (name in passed_on_names and _RANDOM.search(value)))
    }


def _longest_first(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(words), key=lambda word: (-len(word), word)))


def mask_document(value: Any, secrets: Sequence[str] = ()) -> Any:
    """The data with known secrets, and texts shaped like one, masked."""
    return _mask_value(value, secrets, {})


def _mask_value(value: Any, secrets: Sequence[str], masked: dict[str, str]) -> Any:
    """Large documents repeat the same few texts; each is masked once."""
    if isinstance(value, str):
        clean = masked.get(value)
        if clean is None:
            clean = masked[value] = mask(value, secrets)
        return clean
    if isinstance(value, Mapping):
        return {key: _mask_value(item, secrets, masked) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_mask_value(item, secrets, masked) for item in value]
    return value


def encoded_variants(value: str) -> Iterator[str]:
    """Reversed, upper and lower case, base64 at any offset, hex, and escaped bytes."""
    raw = value.encode("utf-8", "surrogatepass")
    yield value[::-1]
    yield value.upper()
    yield value.lower()
    for digits in (raw.hex(), raw.hex().upper()):
        yield digits
        pairs = [digits[at : at + 2] for at in range(0, len(digits), 2)]
        for between in ("%", "\\x", ":", " "):
            yield between.join(pairs)
    for shift in range(3):
        plain = _base64_at_offset(raw, shift)
        yield plain
        yield plain.replace("+", "-").replace("/", "_")


def _base64_at_offset(raw: bytes, shift: int) -> str:
    """The base64 letters of the value at this offset, without those shared with its neighbours."""
    from base64 import b64encode  # few values are encoded, and most commands mask none

    text = b64encode(bytes(shift) + raw).decode("ascii")
    first = (8 * shift + 5) // 6
    last = 8 * (shift + len(raw)) // 6
    return text[first:last]
