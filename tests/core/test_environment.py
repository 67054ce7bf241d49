"""The environment of a child process: which variables pass, and where programs are searched."""

from __future__ import annotations

import pytest

from yaoki.core.environment import activate_environment, check_search_path, filter_environment

ENVIRON = {
    "PATH": "/bin",
    "LC_ALL": "C",
    "LC_TIME": "C",
    "NPM_TOKEN": "x",
    "PIP_TOKEN": "y",
    "TOKEN_1": "a",
    "TOKEN_2": "b",
    "TOKEN_10": "c",
    "GIT_DIR": "/repo/.git",
    "GIT_TOKEN": "z",
}


@pytest.mark.parametrize(
    ("names", "passed"),
    [
        ((), set()),
        (("PATH", "MISSING"), {"PATH"}),
        (("PAT",), set()),
        (("LC_*",), {"LC_ALL", "LC_TIME"}),
        (("TOKEN_1*",), {"TOKEN_1", "TOKEN_10"}),
        (("*_TOKEN",), {"NPM_TOKEN", "PIP_TOKEN"}),
        (("TOKEN_?",), {"TOKEN_1", "TOKEN_2"}),
        (("TOKEN_[2-9]",), {"TOKEN_2"}),
        (("?IP_*",), {"PIP_TOKEN"}),
        (("NPM?*",), {"NPM_TOKEN"}),
        (("*IP_*",), {"PIP_TOKEN"}),
        (("*_TIME", "NPM_?????", "PATH", "TOKEN_2*"), {"LC_TIME", "NPM_TOKEN", "PATH", "TOKEN_2"}),
    ],
)
def test_only_variables_that_match_a_name_or_a_glob_pass(
    names: tuple[str, ...], passed: set[str]
) -> None:
    assert filter_environment(ENVIRON, names) == {name: ENVIRON[name] for name in passed}


@pytest.mark.parametrize("name", ["GIT_DIR", "GIT_*", "*_DIR", "*", "GIT_D?R"])
def test_no_variable_of_git_passes_whatever_is_allowed(name: str) -> None:
    assert not any(passed.startswith("GIT_") for passed in filter_environment(ENVIRON, [name]))


@pytest.mark.parametrize(
    ("variables", "active"),
    [
        ({"PATH": "/bin"}, {"PATH": "/bin"}),
        ({"PATH": "/bin", "VIRTUAL_ENV": ""}, {"PATH": "/bin", "VIRTUAL_ENV": ""}),
        (
            {"PATH": "/bin", "VIRTUAL_ENV": "/env", "LANG": "C"},
            {"PATH": "/env/bin:/bin", "VIRTUAL_ENV": "/env", "LANG": "C"},
        ),
        (
            {"PATH": "/bin", "VIRTUAL_ENV": ".venv"},
            {"PATH": "/checkout/.venv/bin:/bin", "VIRTUAL_ENV": "/checkout/.venv"},
        ),
        ({"VIRTUAL_ENV": "/env"}, {"PATH": "/env/bin", "VIRTUAL_ENV": "/env"}),
    ],
)
def test_the_programs_of_an_active_virtual_environment_come_first(
    variables: dict[str, str], active: dict[str, str]
) -> None:
    assert activate_environment(variables, "/checkout") == active


@pytest.mark.parametrize(
    ("own", "path"),
    [
        ({}, None),
        ({"LANG": "C"}, None),
        ({"PATH": "/own"}, "/own"),
        ({"VIRTUAL_ENV": ".venv"}, "/checkout/.venv/bin:/bin"),
        ({"VIRTUAL_ENV": "/env", "PATH": "/own"}, "/env/bin:/own"),
    ],
)
def test_a_check_finds_its_programs_by_its_own_variables(
    own: dict[str, str], path: str | None
) -> None:
    environ = {"PATH": "/bin", "VIRTUAL_ENV": "/active"}

    assert check_search_path(environ, own, "/checkout") == path
