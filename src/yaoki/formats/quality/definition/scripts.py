"""Scripts and programs that a check runs: do they make the verdict, and were they loosened?"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Sequence

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.definition.roles import names_a_verdict, script_language
from yaoki.formats.quality.python import parse_python
from yaoki.formats.quality.python_suites import last_name

SCRIPT = "the check's script was changed"
# Words with which a shell script makes a verdict.
_SHELL_VERDICT = lazy_compile(
    r"(?:^|[\s;&|(!])(?:test|\[\[?|grep|egrep|rg|diff|cmp|exit|assert\w*|false|jq|comm)(?=\s|$|;)"
    r"|\b(?:pytest|unittest|jest|mocha|vitest|mypy|ruff|eslint|tsc|rspec|phpunit|flake8|pylint|bats)\b"
    r"|\b(?:go|cargo|npm|yarn|pnpm|make|tox|nox)\s+(?:run\s+)?(?:test|check|lint|vet|clippy)",
    re.MULTILINE,
)
# A line that may keep the others from running or from failing.
_DANGER = lazy_compile(
    r"\bexit\b|\breturn\b|\|\|\s*(?:true|:|exit\s+0|echo)|\bset\s+\+|\btrap\b|\balias\b|\bexec\b|\bunset\b"
    r"|\w+\s*\(\)\s*\{?|\bfunction\b|\bPATH=|\bif\s+false|\bbreak\b|\bcontinue\b|<<|&\s*$|\bcd\s|\bcp\s"
    r"|\bmv\s|\brm\s|\bsed\s+-i|\btee\s|[^2&]>|\bgit\s|\bexport\s|\bsource\s|^\s*\.\s|\bln\s|\bkill"
)
_OTHER_VERDICT = lazy_compile(
    r"\bassert\w*\b|process\.exit\(|\bthrow\s|\bexpect\(|\bexit\s*\(?\s*[1-9]|\bdie\b|\babort\b|\braise\b"
)


def plain_lines(text: str) -> tuple[str, ...]:
    """The lines without comments, blank lines and surrounding space."""
    lines = (_uncommented(line.strip()) for line in text.splitlines())
    return tuple(line for line in lines if line)


def _uncommented(line: str) -> str:
    if line.startswith(("#", "//", "-- ")) and not line.startswith("#!"):
        return ""
    before, mark, words = line.rpartition(" # ")
    return before.rstrip() if mark and not {"'", '"'} & set(words) else line


def makes_verdict(path: str, text: str) -> bool:
    """Does the file itself decide whether the work is good, rather than being the work?"""
    return names_a_verdict(path) or holds_verdict(path, text)


def holds_verdict(path: str, text: str) -> bool:
    language = script_language(path, text)
    if language == "py":
        return bool(_python_verdicts(text))
    shape = _SHELL_VERDICT if language in ("sh", "") else _OTHER_VERDICT
    return any(shape.search(line) for line in plain_lines(text))


def _python_verdicts(text: str) -> Counter[str]:
    """Assertions, and exits with a failure."""
    tree, verdicts = parse_python(text), Counter[str]()
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Assert):
            verdicts[ast.unparse(node.test)] += 1
        elif isinstance(node, ast.Raise) and node.exc is not None:
            if last_name(node.exc) in ("SystemExit", "AssertionError"):
                verdicts[ast.unparse(node)] += 1
        elif isinstance(node, ast.Call) and _fails(node):
            verdicts[ast.unparse(node)] += 1
    return verdicts


def _fails(node: ast.Call) -> bool:
    name = ast.unparse(node.func)
    good = not node.args or (
        isinstance(node.args[0], ast.Constant) and node.args[0].value in (0, None)
    )
    if name in ("sys.exit", "exit", "os._exit", "quit"):
        return not good
    return name in ("unittest.main", "pytest.main") or last_name(node.func).startswith("assert")


def has_lost_verdict(path: str, before: str, after: str) -> bool:
    """Is a statement gone with which the script could fail?"""
    if script_language(path, before) == "py":
        return bool(_python_verdicts(before) - _python_verdicts(after))
    old, new = (Counter(_judging(path, text)) for text in (before, after))
    return bool(old - new)


def _judging(path: str, text: str) -> list[str]:
    shape = _SHELL_VERDICT if script_language(path, text) in ("sh", "") else _OTHER_VERDICT
    return [line for line in plain_lines(text) if shape.search(line)]


def only_adds(old: Sequence[str], new: Sequence[str]) -> bool:
    """Are all lines still there, in order, and can no new line silence them?"""
    rest = iter(new)
    if not all(any(one == other for other in rest) for one in old):
        return False
    return not any(_DANGER.search(line) for line in Counter(new) - Counter(old))
