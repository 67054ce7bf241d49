"""When does a failing check lack a folder that git ignores?"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.builders import a_check, a_finding, a_spec, a_task
from yaoki.core.model import CheckSpec, Finding, Outcome
from yaoki.engine.stages.missing_setup import MissingSetup
from yaoki.engine.stages.proof_room import ProofCheck
from yaoki.errors import FatalCode

pytestmark = pytest.mark.spec("16.1", "0.5")

PASSING_THROUGH = """\
ImportError while loading conftest '/w/tests/sub/conftest.py'.
/c/.venv/lib/python3.11/site-packages/_pytest/config/__init__.py:831: in _importconftest
    mod = import_path(
tests/sub/conftest.py:1: in <module>
    from m import f
E   ImportError: cannot import name 'f' from 'm' (/w/m.py); No such file or directory
"""
OWN = {"VIRTUAL_ENV": ".venv"}
PYTEST = a_check(argv=("pytest", "-q"))
IN_OWN = a_check(argv=("pytest", "-q"), env=OWN)
NAMED = a_check(argv=(".venv/bin/tool",))
MISSING_PROGRAM: dict[str, Any] = {
    "outcome": Outcome.BROKEN,
    "code": FatalCode.RESOURCE_NOT_FOUND,
    "message": "exit code 127: the command 'pytest' was not found",
    "params": {"missingCommand": "pytest"},
}
MISSING_MODULE = {"params": {"missingModules": ["attr"], "remedy": "pip install attrs"}}
MISSING_PACKAGE = {"params": {"missingModules": ["react"], "remedy": "npm install react"}}
ADD_ENVIRONMENT = "; git ignores .venv, so the proof room does not have it: add env: "


def explain(folder: str, spec: CheckSpec, finding: Finding) -> str:
    workspace: Any = SimpleNamespace(
        uncommitted=SimpleNamespace(ignored_folders=lambda _: (folder,)),
        contents=SimpleNamespace(has_path=lambda _, name: name in {"setup.py", "package.json"}),
    )
    nothing: Any = None
    check = ProofCheck(a_task(spec=a_spec("a")), spec, Path("1"), nothing, nothing)
    hint = MissingSetup(workspace).explain(check, finding, "c0").message
    return hint.removeprefix(finding.message)


def failing(**given: Any) -> Finding:
    return a_finding(**{"outcome": Outcome.FAILED, "message": "exit code 4", **given})


@pytest.mark.parametrize(
    ("folder", "spec", "given"),
    [
        (".venv", PYTEST, {"output": PASSING_THROUGH}),
        (".venv", IN_OWN, {"output": PASSING_THROUGH}),
        (".venv", PYTEST, {"output": PASSING_THROUGH, "outcome": Outcome.BROKEN}),
        (".venv", PYTEST, {"output": "my.venv/bin/x: not found"}),
        (".venv", IN_OWN, {"output": "sh: .venv/bin/x: not found"}),
        (".venv", IN_OWN, MISSING_MODULE),
        (".venv", IN_OWN, MISSING_PROGRAM),
        (".venv", PYTEST, MISSING_PACKAGE),
        ("node_modules", PYTEST, {"output": "    at run (/w/node_modules/x/y.js:3:1)"}),
        (
            "node_modules",
            PYTEST,
            {"output": "Cannot find module '/w/m.js' imported from /w/node_modules/x/y.js"},
        ),
        ("node_modules", PYTEST, MISSING_MODULE),
        ("node_modules", PYTEST, MISSING_PROGRAM),
    ],
)
def test_a_failure_that_is_not_for_want_of_the_folder_is_not_explained_by_it(
    folder: str, spec: CheckSpec, given: dict[str, Any]
) -> None:
    assert f"git ignores {folder}" not in explain(folder, spec, failing(**given))


@pytest.mark.parametrize(
    ("folder", "spec", "given", "hint"),
    [
        (".venv", PYTEST, MISSING_PROGRAM, ADD_ENVIRONMENT),
        (".venv", PYTEST, MISSING_MODULE, ADD_ENVIRONMENT),
        (".venv", PYTEST, {"output": "sh: 1: .venv/bin/x: not found"}, ADD_ENVIRONMENT),
        (".venv", NAMED, {"output": "/w/.venv/bin/x: No such file"}, "add setup: [[sh"),
        (".venv", a_check(argv=NAMED.argv, env=OWN), MISSING_PROGRAM, "add setup: [[sh"),
        ("node_modules", a_check(argv=("npm", "test")), MISSING_PROGRAM, "[[npm, install]]"),
        ("node_modules", a_check(argv=("x",)), MISSING_PACKAGE, "[[npm, install]]"),
        ("node_modules", PYTEST, {"output": "cannot execute node_modules/.bin/x"}, "[[npm"),
        (
            "node_modules",
            PYTEST,
            {"output": "Error: Cannot find module '/w/node_modules/x/y.js'"},
            "[[npm",
        ),
    ],
)
def test_a_failure_for_want_of_the_folder_names_what_would_bring_it(
    folder: str, spec: CheckSpec, given: dict[str, Any], hint: str
) -> None:
    told = explain(folder, spec, failing(**given))

    assert f"git ignores {folder}" in told
    assert hint in told
