"""Four one-line edits for each repository, each of behaviour that its own tests cover."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Edit = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Repository:
    """A release on its registry; `needs` is what its tests import besides pytest."""

    package: str
    version: str
    edits: tuple[Edit, ...]
    needs: tuple[str, ...] = ()
    npm: bool = False


NUMBER, TIME = "src/humanize/number.py", "src/humanize/time.py"
LISTS, SIZE = "src/humanize/lists.py", "src/humanize/filesize.py"
HUMANIZE = Repository(
    "humanize",
    "4.16.0",
    (
        (LISTS, 'f"{str(items[0])} and {', 'f"{str(items[0])} BROKEN {'),
        (NUMBER, "in (11, 12, 13) else", "in (11, 12) else"),
        (SIZE, '_("%d Byte") %', '_("%d byte") %'),
        (TIME, 'return _("a moment")', 'return _("a while")'),
    ),
    ("freezegun", "pytest-benchmark", "pytest-cov"),
)

SIGNER, TIMED = "src/itsdangerous/signer.py", "src/itsdangerous/timed.py"
ENCODING = "src/itsdangerous/encoding.py"
ITSDANGEROUS = Repository(
    "itsdangerous",
    "2.2.0",
    (
        (SIGNER, "return hmac.compare_digest(sig, ", "return True or (sig, "),
        (SIGNER, 'raise BadSignature(f"No {self.sep!r} found in value")', "return signed_value"),
        (ENCODING, '.rstrip(b"=")', ""),
        (TIMED, "if age > max_age:", "if age > max_age + 99:"),
    ),
    ("freezegun",),
)

LEGACY, MODERN = "slugify/_legacy.py", "slugify/slugify.py"
SLUGIFY = Repository(
    "python-slugify",
    "9.1.3",
    (
        (LEGACY, "if len(string) < max_length:", "if len(string) <= max_length + 1:"),
        (LEGACY, "NUMBERS_PATTERN.sub('', text)", "NUMBERS_PATTERN.sub('x', text)"),
        (MODERN, "if 0xD800 <= value <= 0xDFFF:", "if 0xD800 <= value <= 0xD801:"),
        (MODERN, "text = text.lower()", "text = text.upper()"),
    ),
    ("text-unidecode", "Unidecode", "anyascii"),
)

INDEX = "index.js"
MINIMIST = Repository(
    "minimist",
    "1.2.8",
    (
        (INDEX, "flags.bools[key] = true;", "flags.bools[key] = false;"),
        (INDEX, "key === '__proto__'", "key === '__prot__'"),
        (INDEX, "? Number(val)", "? String(val)"),
        (INDEX, "if (opts.stopEarly) {", "if (opts.stopLate) {"),
    ),
    npm=True,
)

REPOSITORIES: Mapping[str, Repository] = {
    one.package: one for one in (HUMANIZE, ITSDANGEROUS, SLUGIFY, MINIMIST)
}
