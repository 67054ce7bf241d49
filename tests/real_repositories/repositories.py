"""Releases on their registries, each with a right change and wrong ones that its tests notice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Edit = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Repository:
    """A release, what it shows, and edits of it: a file, a text in it, and its replacement.

    `needs` is installed into `.venv` of the repository beside the project itself; None makes no
    environment, because a tool that `init` finds creates its own.
    """

    package: str
    version: str
    shows: str
    right: Edit
    wrong: tuple[Edit, ...]
    needs: tuple[str, ...] | None = ()
    npm: bool = False

    @property
    def edits(self) -> Mapping[str, Edit]:
        """The edits by the names of their tasks."""
        return {
            "right": self.right,
            **{f"wrong-{n}": edit for n, edit in enumerate(self.wrong, start=1)},
        }


def _added(file: str, line: str, more: str) -> Edit:
    """An edit that puts more text before a line."""
    return file, line, f"{more}{line}"


NUMBER, LISTS = "src/humanize/number.py", "src/humanize/lists.py"
SIGNER, TIMED = "src/itsdangerous/signer.py", "src/itsdangerous/timed.py"
ENCODING = "src/itsdangerous/encoding.py"
LEGACY, MODERN = "slugify/_legacy.py", "slugify/slugify.py"
TERMCOLOR, ANSI = "src/termcolor/termcolor.py", "colorama/ansi.py"
SPECIFICATIONS, UTILS = "jsonschema_specifications/_core.py", "tomlkit/_utils.py"
VCS = "hatch_vcs/version_source.py"
TYPES = "src/typing_inspection/introspection.py"
NO_COLOURS = "def plain(text: object) -> str:\n    return str(text)\n\n\n"

REPOSITORIES: Mapping[str, Repository] = {
    one.package: one
    for one in (
        Repository(
            "itsdangerous",
            "2.2.0",
            "pytest, src layout",
            _added(ENCODING, "def int_to_bytes(", "def is_bytes(x):\n    return x == b''\n\n\n"),
            (
                (SIGNER, "return hmac.compare_digest(sig, ", "return True or (sig, "),
                (
                    SIGNER,
                    'raise BadSignature(f"No {self.sep!r} found in value")',
                    "return signed_value",
                ),
                (ENCODING, '.rstrip(b"=")', ""),
                (TIMED, "if age > max_age:", "if age > max_age + 99:"),
            ),
            ("pytest", "freezegun"),
        ),
        Repository(
            "humanize",
            "4.16.0",
            "pytest, options of plugins",
            _added(LISTS, "def natural_list(", "def count(items):\n    return len(items)\n\n\n"),
            (
                (LISTS, 'f"{str(items[0])} and {', 'f"{str(items[0])} BROKEN {'),
                (NUMBER, "in (11, 12, 13) else", "in (11, 12) else"),
            ),
            ("pytest", "freezegun", "pytest-benchmark", "pytest-cov"),
        ),
        Repository(
            "python-slugify",
            "9.1.3",
            "pytest, flat layout",
            _added(LEGACY, "def smart_truncate(", "def is_slug(text):\n    return text\n\n\n"),
            (
                (LEGACY, "if len(string) < max_length:", "if len(string) <= max_length + 1:"),
                (LEGACY, "NUMBERS_PATTERN.sub('', text)", "NUMBERS_PATTERN.sub('x', text)"),
                (MODERN, "if 0xD800 <= value <= 0xDFFF:", "if 0xD800 <= value <= 0xD801:"),
                (MODERN, "text = text.lower()", "text = text.upper()"),
            ),
            ("pytest", "text-unidecode", "Unidecode", "anyascii"),
        ),
        Repository(
            "termcolor",
            "3.3.0",
            "pytest, editable install",
            _added(TERMCOLOR, "def cprint(", NO_COLOURS),
            ((TERMCOLOR, '"red": 31', '"red": 32'),),
            ("pytest",),
        ),
        Repository(
            "colorama",
            "0.4.6",
            "unittest, no pytest",
            _added(ANSI, "def set_title(", "def bell():\n    return BEL\n\n"),
            ((ANSI, "str(code) + 'm'", "str(code) + 'n'"),),
        ),
        Repository(
            "tomlkit",
            "0.15.2",
            "poetry without poetry",
            _added(UTILS, "def parse_rfc3339(", "def is_utc(zone):\n    return zone is _utc\n\n\n"),
            ((UTILS, "minute = int(", "minute = 1 + int("),),
            ("pytest", "PyYAML"),
        ),
        Repository(
            "typing-inspection",
            "0.4.2",
            "uv, a group for tests",
            _added(TYPES, "def _literal_type_check(", "NO_VALUES = ()\n\n\n"),
            ((TYPES, "return {'final', 'class_var'}", "return {'final'}"),),
            None,
        ),
        Repository(
            "hatch-vcs",
            "0.5.0",
            "hatch without hatch",
            _added(VCS, "class VCSVersionSource(", "PLUGIN = 'vcs'\n\n\n"),
            ((VCS, "config['tag_regex']", "config['tag']"),),
            ("pytest",),
        ),
        Repository(
            "first",
            "2.0.2",
            "tox",
            _added("first.py", "def first(", "def none():\n    return None\n\n\n"),
            (("first.py", "            if el:\n", "            if not el:\n"),),
            None,
        ),
        Repository(
            "jsonschema-specifications",
            "2024.10.1",
            "nox",
            _added(SPECIFICATIONS, "def _schemas():", "SCHEMAS = 'schemas'\n\n\n"),
            ((SPECIFICATIONS, "yield Resource.from_contents(contents)", "return"),),
            None,
        ),
        Repository(
            "string-hash",
            "1.1.3",
            "npm, mocha",
            _added("index.js", "function hash(", "function seed() {\n  return 5381;\n}\n\n"),
            (("index.js", "hash * 33", "hash * 31"),),
            None,
            npm=True,
        ),
        Repository(
            "concat-map",
            "0.0.1",
            "npm, tape",
            _added("index.js", "var isArray =", "var none = [];\n\n"),
            (("index.js", "res.push.apply(res, x)", "res.push(x)"),),
            None,
            npm=True,
        ),
        Repository(
            "glob-to-regexp",
            "0.4.1",
            "npm, node alone",
            _added("index.js", "  // The regexp we are", "  var parts = [];\n"),
            (("index.js", 'reStr += "\\\\" + c;', "reStr += c;"),),
            None,
            npm=True,
        ),
    )
}
