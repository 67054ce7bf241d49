"""The role of a file in checks, by its path and content: test, support, settings, data."""

from __future__ import annotations

import re
from collections.abc import Sequence

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.model import Change
from yaoki.formats.quality.suites import is_test_path

_TEST_FOLDER = lazy_compile(
    r"(?:^|/)(?:tests?|__tests__|specs?|testing|e2e|integration_tests?|unit_tests?|features)/"
)
_SUPPORT_FOLDER = lazy_compile(
    r"(?:^|/)(?:scripts?|tools?|ci|\.ci|\.github|checks?|support|helpers?|fixtures|hack|qa|build-tools"
    r"|harness|dev|etc|mk|make|lint|plugins?|steps)/"
)
_SUPPORT_NAME = lazy_compile(
    r"(?:^|[_.\-/])(?:help(?:er)?s?|test\w*|assert\w*|checks?|checker|expect\w*|support|harness|verify|verifier"
    r"|compare|compar\w*|match(?:er)?s?|runner|run|lint\w*|rules?|setup|suites?|cases?|mocks?|stubs?|fakes?"
    r"|fixtures?|spec|ci|smoke|e2e|gate|judge|valid\w*|plugins?|conftest|oracle)(?:[_.\-]|$)",
    re.IGNORECASE,
)
_PRODUCT_FOLDER = lazy_compile(r"(?:^|/)(?:src|lib|app|pkg|internal|cmd|packages)/")
# A file whose name says that it makes a verdict.
_VERDICT_NAME = lazy_compile(
    r"(?:^|[_.\-/])(?:tests?|t|checks?|checker|lint\w*|verify|verifier|valid\w*|specs?|ci|assert\w*|expect\w*"
    r"|gate|suites?|smoke|e2e|judge|oracle|runtests?|harness)(?:[_.\-]|$)",
    re.IGNORECASE,
)
_EXPECTED = lazy_compile(
    r"(?:^|[_.\-/])(?:expect(?:ed|ations?|s)?|golden|goldens|snapshots?|__snapshots__|approved|want"
    r"|wanted|baselines?|cassettes?|answers?|solutions?|oracle|truth|cases?|suites?|rules?)(?:[_.\-/]|$)"
    r"|\.(?:snap|golden|approved|exp|expected|out\.txt|ambr|storyshot)(?:\.\w+)?$",
    re.IGNORECASE,
)
_EXPECTED_RESULT = lazy_compile(
    r"(?:^|[_.\-/])(?:expected|goldens?|snapshots?|__snapshots__|approved)(?:[_.\-/]|$)",
    re.IGNORECASE,
)
DATA = frozenset(
    [
        "json",
        "json5",
        "jsonl",
        "ndjson",
        "yaml",
        "yml",
        "toml",
        "csv",
        "tsv",
        "txt",
        "xml",
        "html",
        "htm",
        "snap",
        "golden",
        "expected",
        "exp",
        "out",
        "list",
        "lst",
        "approved",
        "ambr",
        "ini",
        "cfg",
        "conf",
        "md",
        "dat",
        "sql",
        "tap",
        "stdout",
        "stderr",
        "ref",
        "properties",
    ]
)
SCRIPTS = frozenset(
    [
        "sh",
        "bash",
        "zsh",
        "ksh",
        "bats",
        "py",
        "js",
        "mjs",
        "cjs",
        "ts",
        "mts",
        "cts",
        "rb",
        "pl",
        "php",
        "lua",
        "tcl",
        "r",
        "ps1",
        "fish",
    ]
)
_SHELLS = frozenset({"sh", "bash", "zsh", "ksh", "bats", "dash"})
_BY_SHEBANG = {"python": "py", "node": "js", "deno": "ts", "bun": "ts", "ruby": "rb", "perl": "pl"}


def file_ending(path: str) -> str:
    name = path.rsplit("/", 1)[-1]
    return name.rpartition(".")[2].lower() if "." in name.strip(".") else ""


def script_language(path: str, text: str) -> str:
    """`sh`, `py`, `js`, …: by the suffix, else by the first line; empty when unknown."""
    own = file_ending(path)
    if own in _SHELLS:
        return "sh"
    if own in ("mjs", "cjs", "jsx"):
        return "js"
    if own in ("mts", "cts", "tsx"):
        return "ts"
    if own:
        return own
    word = _started_by(text)
    return "sh" if word in _SHELLS else _BY_SHEBANG.get(word, word)


def _started_by(text: str) -> str:
    """The interpreter of the first line: `#!/usr/bin/env -S python3 -u` is python."""
    first = text.split("\n", 1)[0]
    words = [w.rsplit("/", 1)[-1] for w in first.removeprefix("#!").split() if w[:1] != "-"]
    names = [word for word in words if word != "env"] if first.startswith("#!") else []
    return names[0].rstrip("0123456789.") if names else ""


def is_script(path: str, text: str) -> bool:
    return file_ending(path) in SCRIPTS or text.startswith("#!")


def is_data(path: str) -> bool:
    return file_ending(path) in DATA


def is_product_data(path: str) -> bool:
    """Prose, and data among the sources, belong to the program and not to its tests."""
    prose = file_ending(path) in ("md", "rst", "adoc", "html", "htm")
    return prose or _PRODUCT_FOLDER.search(path) is not None


def is_in_test_folder(path: str) -> bool:
    return _TEST_FOLDER.search(path) is not None


def list_test_files(changes: Sequence[Change]) -> tuple[str, ...]:
    """The changed files that hold tests, or data and helpers of tests, and no product code.

    Rust keeps unit tests inside the product's files, so files do not separate the two.
    """
    paths = (change.path for change in changes)
    return tuple(
        path
        for path in paths
        if is_in_test_folder(path) or (is_test_path(path) and not path.endswith(".rs"))
    )


def is_support(path: str) -> bool:
    """May it be a helper of tests or check scripts rather than the program under test?"""
    if is_in_test_folder(path) or is_test_path(path):
        return True
    if _SUPPORT_FOLDER.search(path):
        return True
    stem = path.rsplit("/", 1)[-1]
    return _SUPPORT_NAME.search(stem) is not None and not _PRODUCT_FOLDER.search(path)


def is_snapshot(path: str) -> bool:
    """Does the runner itself find and compare it?"""
    return "__snapshots__/" in path or path.endswith((".snap", ".ambr", ".storyshot"))


def names_a_verdict(path: str) -> bool:
    return _VERDICT_NAME.search(path.rsplit("/", 1)[-1]) is not None or is_in_test_folder(path)


def names_expected_result(path: str) -> bool:
    """Does its name leave no doubt that it is the expected result of something?"""
    return _EXPECTED_RESULT.search(path) is not None


def is_expected(path: str) -> bool:
    """Does its name say that something is compared with it?"""
    return _EXPECTED.search(path) is not None
