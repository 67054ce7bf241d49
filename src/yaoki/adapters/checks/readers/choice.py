"""Chooses the readers for an output: by name, by command, otherwise all in a fixed order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from yaoki.adapters.checks.readers.diagnostics import (
    arrow_text,
    concise_text,
    mypy_text,
    pyright_text,
    stylish_text,
    tsc_text,
)
from yaoki.adapters.checks.readers.entries import OutputReader
from yaoki.adapters.checks.readers.formatters import (
    black_text,
    deno_fmt_text,
    isort_text,
    list_text,
    prettier_text,
    ruff_format_text,
    rustfmt_text,
)
from yaoki.adapters.checks.readers.git_status import git_status
from yaoki.adapters.checks.readers.go_tests import go_json, go_text
from yaoki.adapters.checks.readers.javascript_tests import (
    deno_text,
    jest_text,
    node_text,
    vitest_text,
)
from yaoki.adapters.checks.readers.json_tools import (
    deno_lint_json,
    eslint_json,
    mypy_json,
    pyright_json,
    ruff_json,
    sarif,
)
from yaoki.adapters.checks.readers.mocha import mocha_text
from yaoki.adapters.checks.readers.python_tests import pytest_text, unittest_text
from yaoki.adapters.checks.readers.rust import cargo_text
from yaoki.adapters.checks.readers.tap import tap
from yaoki.core.commands.program import bare_name

WORDS_MAX = 8

# `junit` has no text reader: a report file is always read first.
READERS: Mapping[str, tuple[OutputReader, ...]] = {
    "junit": (),
    "sarif": (sarif,),
    "pytest": (pytest_text,),
    "unittest": (unittest_text,),
    "jest": (jest_text,),
    "vitest": (vitest_text,),
    "mocha": (mocha_text, tap),
    "node": (tap, node_text),
    "go": (go_json, go_text),
    "cargo": (cargo_text, arrow_text),
    "tap": (tap,),
    "deno": (deno_text, tap, tsc_text),
    "mypy": (mypy_json, mypy_text),
    "pyright": (pyright_json, pyright_text),
    "tsc": (tsc_text,),
    "ruff": (ruff_json, sarif, concise_text, arrow_text),
    "eslint": (eslint_json, sarif, stylish_text),
    "deno-lint": (deno_lint_json, arrow_text),
    "clippy": (arrow_text,),
    "black": (black_text,),
    "isort": (isort_text,),
    "ruff-format": (ruff_format_text,),
    "prettier": (prettier_text, list_text),
    "gofmt": (list_text,),
    "rustfmt": (rustfmt_text, list_text),
    "deno-fmt": (deno_fmt_text,),
    "git-status": (git_status,),
}

TEST_READERS: tuple[OutputReader, ...] = (
    go_json,
    pytest_text,
    unittest_text,
    jest_text,
    vitest_text,
    mocha_text,
    cargo_text,
    go_text,
    deno_text,
    node_text,
    tap,
)
TYPE_READERS: tuple[OutputReader, ...] = (
    pyright_json,
    mypy_json,
    tsc_text,
    mypy_text,
    pyright_text,
)
LINT_READERS: tuple[OutputReader, ...] = (
    sarif,
    deno_lint_json,
    eslint_json,
    ruff_json,
    stylish_text,
)
FORMAT_READERS: tuple[OutputReader, ...] = (
    black_text,
    isort_text,
    ruff_format_text,
    prettier_text,
    rustfmt_text,
    deno_fmt_text,
)
# A list of paths could be any output: these readers are used only by name or command.
READER_ORDER: tuple[OutputReader, ...] = (
    *TEST_READERS,
    *TYPE_READERS,
    *LINT_READERS,
    concise_text,
    *FORMAT_READERS,
    arrow_text,
)

# Consecutive words of a command, one or two, that identify the tool.
_ONE: Mapping[str, str] = {
    "pytest": "pytest",
    "py.test": "pytest",
    "unittest": "unittest",
    "jest": "jest",
    "vitest": "vitest",
    "mocha": "mocha",
    "gotestsum": "go",
    "cargo-nextest": "cargo",
    "bats": "tap",
    "prove": "tap",
    "mypy": "mypy",
    "dmypy": "mypy",
    "pyright": "pyright",
    "basedpyright": "pyright",
    "tsc": "tsc",
    "vue-tsc": "tsc",
    "flake8": "ruff",
    "pylint": "ruff",
    "ruff": "ruff",
    "eslint": "eslint",
    "black": "black",
    "isort": "isort",
    "prettier": "prettier",
    "gofmt": "gofmt",
    "goimports": "gofmt",
    "rustfmt": "rustfmt",
    "cargo-clippy": "clippy",
}
_TWO: Mapping[tuple[str, str], str] = {
    ("go", "test"): "go",
    ("go", "vet"): "go",
    ("go", "build"): "go",
    ("cargo", "test"): "cargo",
    ("cargo", "check"): "cargo",
    ("cargo", "build"): "cargo",
    ("cargo", "nextest"): "cargo",
    ("cargo", "clippy"): "clippy",
    ("cargo", "fmt"): "rustfmt",
    ("deno", "test"): "deno",
    ("deno", "check"): "deno",
    ("deno", "lint"): "deno-lint",
    ("deno", "fmt"): "deno-fmt",
    ("ruff", "format"): "ruff-format",
    ("node", "--test"): "node",
    ("git", "status"): "git-status",
}


def recognise_reader(argv: Sequence[str]) -> str:
    """The reader for the first words of a command; empty if unknown."""
    words = [bare_name(word) for word in argv[:WORDS_MAX]]
    for first, second in pairwise((*words, "")):
        if name := _TWO.get((first, second)) or _ONE.get(first):
            return name
    return ""


TEST_READER_NAMES = frozenset(
    ("pytest", "unittest", "jest", "vitest", "mocha", "node", "go", "cargo", "tap", "deno", "junit")
)


def choose_readers(argv: Sequence[str], name: str) -> Iterator[OutputReader]:
    """A named reader alone; otherwise the recognised one first, then all others."""
    if name:
        yield from READERS[name]
        return
    recognised = READERS.get(recognise_reader(argv), ())
    yield from recognised
    yield from (reader for reader in READER_ORDER if reader not in recognised)
