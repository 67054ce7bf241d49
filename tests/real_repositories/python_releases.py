"""Releases of Python packages, one for each way to run tests."""

from __future__ import annotations

from tests.real_repositories.repository import Repository, added

NUMBER, LISTS = "src/humanize/number.py", "src/humanize/lists.py"
SIGNER, TIMED = "src/itsdangerous/signer.py", "src/itsdangerous/timed.py"
ENCODING = "src/itsdangerous/encoding.py"
LEGACY, MODERN = "slugify/_legacy.py", "slugify/slugify.py"
TERMCOLOR, ANSI = "src/termcolor/termcolor.py", "colorama/ansi.py"
SPECIFICATIONS, HUMPS = "jsonschema_specifications/_core.py", "humps/main.py"
VCS = "hatch_vcs/version_source.py"
TYPES = "src/typing_inspection/introspection.py"
NO_COLOURS = "def plain(text: object) -> str:\n    return str(text)\n\n\n"

PROJECT = "pyproject.toml"
UNUSED = {
    "bumpversion": "0.6.0",
    "pylint": "2.12.2",
    "flake8": "5.0.4",
    "pytest-cov": "4.0.0",
    "pathlib2": "2.3.6",
    "scandir": "1.10.0",
    "coveralls": "3.3.1",
    "twine": "3.8.0",
    "ipython": "7.34.0",
    "Sphinx": "4.3.2",
}
# Of its ten tools for development only pytest runs tests.  poetry does not know pip's index.
POETRY_CHANGED = (
    *((PROJECT, f'{name} = "^{version}"\n', "") for name, version in UNUSED.items()),
    added(
        PROJECT,
        "[build-system]",
        '[[tool.poetry.source]]\nname = "here"\nurl = "{index}"\npriority = "primary"\n\n',
    ),
)

PYTHON = (
    Repository(
        "itsdangerous",
        "2.2.0",
        "pytest, src layout",
        "python -m pytest",
        added(ENCODING, "def int_to_bytes(", "def is_bytes(x):\n    return x == b''\n\n\n"),
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
        "python -m pytest",
        added(LISTS, "def natural_list(", "def count(items):\n    return len(items)\n\n\n"),
        (
            (LISTS, 'f"{str(items[0])} and {', 'f"{str(items[0])} BROKEN {'),
            (NUMBER, "in (11, 12, 13) else", "in (11, 12) else"),
        ),
        ("pytest", "freezegun", "pytest-benchmark", "pytest-cov"),
        is_further=True,
    ),
    Repository(
        "python-slugify",
        "9.1.3",
        "pytest, flat layout",
        "python -m pytest",
        added(LEGACY, "def smart_truncate(", "def is_slug(text):\n    return text\n\n\n"),
        (
            (LEGACY, "if len(string) < max_length:", "if len(string) <= max_length + 1:"),
            (LEGACY, "NUMBERS_PATTERN.sub('', text)", "NUMBERS_PATTERN.sub('x', text)"),
            (MODERN, "if 0xD800 <= value <= 0xDFFF:", "if 0xD800 <= value <= 0xD801:"),
            (MODERN, "text = text.lower()", "text = text.upper()"),
        ),
        ("pytest", "text-unidecode", "Unidecode", "anyascii"),
        is_further=True,
    ),
    Repository(
        "termcolor",
        "3.3.0",
        "pytest, editable install",
        "python -m pytest",
        added(TERMCOLOR, "def cprint(", NO_COLOURS),
        ((TERMCOLOR, '"red": 31', '"red": 32'),),
        ("pytest",),
    ),
    Repository(
        "colorama",
        "0.4.6",
        "unittest, no pytest",
        "python -m unittest",
        added(ANSI, "def set_title(", "def bell():\n    return BEL\n\n"),
        ((ANSI, "str(code) + 'm'", "str(code) + 'n'"),),
        (),
    ),
    Repository(
        "pyhumps",
        "3.8.0",
        "poetry, no poetry.lock",
        "poetry run python -m pytest",
        added(HUMPS, "def is_camelcase(", "def is_str(value):\n    return value is str\n\n\n"),
        ((HUMPS, 'return s.replace("-", "_")', 'return s.replace("-", "")'),),
        changed=POETRY_CHANGED,
    ),
    Repository(
        "typing-inspection",
        "0.4.2",
        "uv, uv.lock, a group",
        "uv run --frozen",
        added(TYPES, "def _literal_type_check(", "NO_VALUES = ()\n\n\n"),
        ((TYPES, "return {'final', 'class_var'}", "return {'final'}"),),
    ),
    Repository(
        "hatch-vcs",
        "0.5.0",
        "hatch",
        "hatch run python -m pytest",
        added(VCS, "class VCSVersionSource(", "PLUGIN = 'vcs'\n\n\n"),
        ((VCS, "config['tag_regex']", "config['tag']"),),
        # Its tests build a wheel each, for half a minute in every run.
        left_out=("tests/test_build.py",),
    ),
    Repository(
        "first",
        "2.0.2",
        "tox",
        "tox run -e py",
        added("first.py", "def first(", "def none():\n    return None\n\n\n"),
        (("first.py", "            if el:\n", "            if not el:\n"),),
    ),
    Repository(
        "jsonschema-specifications",
        "2024.10.1",
        "nox",
        "nox -s tests",
        added(SPECIFICATIONS, "def _schemas():", "SCHEMAS = 'schemas'\n\n\n"),
        ((SPECIFICATIONS, "yield Resource.from_contents(contents)", "return"),),
    ),
)
