"""A sample failure of every kind and pattern, to try a template before it is needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yaoki.core.model import Failure, FailureKind, FindingItem
from yaoki.core.model.patterns import PATTERNS
from yaoki.formats.prompts.values import COMMON_PARAMS, KINDS, OWN_PARAMS, PARAMS

_VALUES: Mapping[str, Any] = {
    "errorOutput": "E   assert 8 >= 12\n1 failed in 0.12s",
    "stdout": "collected 7 items",
    "stderr": "warning: cache is stale",
    "exitCode": 3,
    "timeoutSeconds": 1200,
    "elapsedSeconds": 1201.5,
    "changedFiles": ["src/auth/login.py"],
    "untrackedFiles": ["notes/plan.txt"],
    "stagedFiles": ["src/auth/session.py"],
    "failedTests": [
        {
            "name": "tests/test_login.py::test_short_password",
            "error": "assert 8 >= 12",
            "where": "tests/test_login.py:14",
        }
    ],
    "typeErrors": [
        {
            "file": "src/auth/login.py",
            "line": 7,
            "code": "arg-type",
            "message": 'Argument 1 has type "str", expected "int"',
        }
    ],
    "lintErrors": [
        {"file": "src/auth/login.py", "line": 3, "code": "F401", "message": "os is unused"}
    ],
    "unformattedFiles": ["src/auth/rules.py"],
    "diff": "-x=1\n+x = 1",
    "missingFiles": ["docs/security.md"],
    "uncommittedFiles": [
        {"name": "src/auth/local.py", "message": "ignored by .gitignore:3 local.py"}
    ],
    "conflictedFiles": ["src/auth/store.py"],
    "outsideFiles": ["setup.cfg"],
    "scope": ["src/auth/**"],
    "sameWork": "everything that was changed has already landed with login",
    "deletedFiles": ["src/billing/invoice.py"],
    "deleted": 41,
    "tracked": 60,
    "omissions": [{"name": "src/auth/form.py:30", "message": "# rest of the code is unchanged"}],
    "todos": [{"name": "src/auth/mail.py:12", "message": "a note about later work"}],
    "syntaxErrors": [{"name": "src/auth/token.py", "where": "line 9", "message": "'(' not closed"}],
    "weakenedTests": [
        {"name": "test_bounce", "message": "skip was added", "file": "tests/test_mail.py"}
    ],
    "branch": "feature/login",
    "tellTales": [{"name": "src/auth/rules.py:4", "message": "finds out whether a test runs it"}],
    "greenTests": [{"name": "test_bounce", "message": "passes without the change"}],
    "survivors": [
        {"name": "src/auth/rules.py:12", "message": "no test notices if it returns None"}
    ],
    "tooLarge": ["data/dump.bin has 4 GiB; limits.file_bytes allows 512 MiB"],
    "secrets": [{"name": "src/auth/mail.py:7", "message": "the value of MAIL_TOKEN"}],
    "claim": "the sandbox has no network",
    "unreadable": "result.json is not JSON",
}
_ITEMS = (FindingItem("tests/test_login.py", "assert 8 >= 12", "line 14"),)


def sample_failure(name: str, values: Mapping[str, Any] | None = None) -> Failure:
    """A failure for a template's name, with sample values or the given ones."""
    params = dict(_sample_params(name) if values is None else values)
    kind = params.pop("kind", "") or KINDS.get(name) or _kind_of_pattern(name)
    params.pop("pattern", None)
    return Failure(
        FailureKind(kind),
        message=str(
            params.pop("message", "" if values is not None else "what the last attempt left undone")
        ),
        pattern="" if name in {*KINDS, ""} else name,
        check=str(params.pop("check", "" if values is not None else "tests")),
        items=_ITEMS if values is None and name not in OWN_PARAMS else (),
        params=params,
    )


def _kind_of_pattern(name: str) -> FailureKind:
    return PATTERNS[name].kind if name in PATTERNS else FailureKind.QUALITY_FAILURE


def _sample_params(name: str) -> dict[str, Any]:
    names = (*OWN_PARAMS.get(name, ()), *COMMON_PARAMS)
    return {one: _VALUES[one] for one in names if one in _VALUES and one in PARAMS.get(name, names)}
