"""Ten one-line edits for each repository, each of behaviour that its own tests cover."""

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
        (LISTS, 'return ", ".join(', 'return "; ".join('),
        (NUMBER, 'return "NaN"', 'return "nan"'),
        (NUMBER, "in (11, 12, 13) else", "in (11, 12) else"),
        (NUMBER, "if not 0 <= value < 10:", "if not 0 <= value < 9:"),
        (NUMBER, 'part1 + " x 10"', 'part1 + " * 10"'),
        (SIZE, '_("%d Byte") %', '_("%d byte") %'),
        (TIME, 'return _("a moment")', 'return _("a while")'),
        (TIME, 'return _("now")', 'return _("then")'),
        (TIME, "return now - (now + delta)", "return delta"),
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
        (SIGNER, "return base64_encode(sig)", 'return b"x"'),
        (SIGNER, "return value + self.sep + self", "return self.sep + value + self"),
        (SIGNER, "if self.sep in _base64_alphabet:", "if not self.sep:"),
        (SIGNER, 'raise BadSignature(f"No {self.sep!r} found in value")', "return signed_value"),
        (ENCODING, '.rstrip(b"=")', ""),
        (ENCODING, "(-len(string) % 4)", "(-len(string) % 3)"),
        (ENCODING, "_int_to_bytes(num).lstrip", "_int_to_bytes(num + 1).lstrip"),
        (TIMED, "if age > max_age:", "if age > max_age + 99:"),
        (TIMED, "return value, self.timestamp_to_datetime(ts_int)", "return value"),
    ),
    ("freezegun",),
)

LEGACY, MODERN = "slugify/_legacy.py", "slugify/slugify.py"
SLUGIFY = Repository(
    "python-slugify",
    "9.1.3",
    (
        (LEGACY, "if len(string) < max_length:", "if len(string) <= max_length + 1:"),
        (LEGACY, "return string[:max_length].strip(separator)", "return string[:max_length]"),
        (LEGACY, "NUMBERS_PATTERN.sub('', text)", "NUMBERS_PATTERN.sub('x', text)"),
        (LEGACY, "chr(int(m.group(1)))", "chr(int(m.group(1)) + 1)"),
        (LEGACY, r"re.compile(r'-{2,}')", r"re.compile(r'-{9,}')"),
        (LEGACY, "r'[^-a-zA-Z0-9]+'", "r'[^-a-zA-Z]+'"),
        (LEGACY, "elif next_len == max_length:", "elif next_len == max_length + 1:"),
        (MODERN, "if 0xD800 <= value <= 0xDFFF:", "if 0xD800 <= value <= 0xD801:"),
        (LEGACY, "word not in excluded)", "word in excluded)"),
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
        (INDEX, "value = value !== 'false';", "value = value === 'false';"),
        (INDEX, "setArg(key, false, arg);", "setArg(key, true, arg);"),
        (INDEX, "key === '__proto__'", "key === '__prot__'"),
        (INDEX, "o[lastKey] = [o[lastKey], value];", "o[lastKey] = value;"),
        (INDEX, "? Number(val)", "? String(val)"),
        (INDEX, "flags.strings[k] = true;", "flags.strings[k] = false;"),
        (INDEX, "argv['--'] = notFlags.slice();", "argv['--'] = [];"),
        (INDEX, "setArg(letters[j], next.slice(1), arg);", "setArg(letters[j], next, arg);"),
        (INDEX, "if (opts.stopEarly) {", "if (opts.stopLate) {"),
    ),
    npm=True,
)

REPOSITORIES: Mapping[str, Repository] = {
    one.package: one for one in (HUMANIZE, ITSDANGEROUS, SLUGIFY, MINIMIST)
}
