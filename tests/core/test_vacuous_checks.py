"""Commands that cannot fail are vacuous checks."""

from __future__ import annotations

import pytest

from yaoki.core.commands.test_runners import fail_fast_option, find_test_runners
from yaoki.core.commands.vacuous_checks import why_vacuous, why_vacuous_script
from yaoki.core.model import CheckSpec, CheckType, GitCheck

pytestmark = pytest.mark.spec("16.4")

IDLE = [
    *("true", ":", "echo hi", "exit 0", "false || true", "! false", "X=1", "env X=1 true"),
    *("pytest || true", "pytest; true", "pytest; echo done", "pytest;exit 0", "pytest || :"),
    *("pytest || echo failed", "(pytest) || true", "pytest &", "pytest\ntrue", "exit 0; pytest"),
    *("pytest || { echo x; exit 0; }", "sh -c 'pytest || true'", "bash -c ':'", "timeout 5 true"),
    *("if pytest; then echo; fi || true", "pytest | cat; true", "cd . && true", "date && true"),
    *("make -n test", "make --dry-run", "pytest --help", "python -m pytest --version"),
    *("npm --version", "pytest --collect-only", "test -d .", "[ -d . ]", "test 1 = 1", "ls"),
    *("find . -name x", "git status", "git status --porcelain", "git diff --exit-code"),
    *("python -c pass", "python -c 'import sys; sys.exit(0)'", "node -e ''"),
]
ABLE = [
    *(
        "pytest",
        "test -f x",
        "[ -f x ]",
        "ls g*.txt",
        "cat a.txt",
        "make test",
        "false",
        "(pytest)",
    ),
    *("pytest && echo ok", "set -e; pytest; echo ok", "bash -ec 'pytest; echo ok'"),
    *("pytest; rc=$?; echo; exit $rc", "pytest || exit 1; echo ok", "pytest; exit $?"),
    *("! grep -q x y", "grep -q a b || exit 3", "true && test -f x", "echo x && false"),
    *("python -c 'import mymod'", "python -c 'assert 1 == 2'", "python t.py", "x=$(pytest)"),
    *("./tool --help", "mytool --version", "grep -q -- --help README", "pytest | tail"),
    *("if pytest; then exit 0; else exit 1; fi", "f() { true; }; f", "pytest & wait $!"),
    *("git diff --exit-code main", "git merge-base --is-ancestor a b", 'test -n "$(ls)"'),
    *("find . -name x -exec false {} +", "cargo test --no-run", "cat <<E\nx\nE", "'unclosed"),
]


def shell(text: str, success: str = "exitCode:0") -> CheckSpec:
    return CheckSpec("c", shell=text, success=success)


@pytest.mark.parametrize("text", IDLE)
def test_a_command_that_cannot_fail_is_recognised(text: str) -> None:
    assert why_vacuous(shell(text))


@pytest.mark.parametrize("text", ABLE)
def test_a_command_that_may_fail_is_accepted(text: str) -> None:
    assert not why_vacuous(shell(text))


@pytest.mark.parametrize(
    ("text", "success", "known"),
    [
        ("pytest; echo DONE", "contains:DONE", True),
        ("pytest; true", "matches:.*", True),
        ("echo all good", "matches:^all", True),
        ("true", "empty", True),
        ("git status --porcelain", "empty", True),
        ("exit 3", "exitCode:3", True),
        ("pytest; true", "contains:3 passed", False),
        ("pytest && echo OK || echo BAD", "contains:OK", False),
        ("pytest", "matches:.*", False),
        ("find . -name '*.orig'", "empty", False),
        ("test -f x", "exitCode:1", False),
        ("ls", "contains:x.txt", False),
        ("true", "exitCode:1", False),
        ("exit 1", "exitCode:1", True),
        ("false", "exitCode:2", True),
        ("pytest", "exitCode:1", False),
        ("true", "exitCode:0", True),
        ("git diff", "empty", True),
        ("git log", "empty", False),
        ("git diff main", "empty", False),
        ("cd . && : && set -u && export A=1", "empty", True),
        ("cd . && ls", "empty", False),
        ("", "empty", False),
        ("sleep 1", "empty", True),
        ("test 1 = 1 && [ 1 = 1 ]", "empty", True),
        ("echo a | cat; echo b", "contains:b", True),
        ("echo a | tr a b; true", "contains:a", False),
        ("true | echo OK", "contains:OK", False),
        ("echo OK && true", "contains:OK", True),
        ("true && echo OK", "contains:OK", False),
        ("sh -c 'echo OK'", "contains:OK", True),
        ("echo 3", "3:3", False),
        ("echo all good", "matches:^all good$", True),
        ("echo all good", "matches:.*good.*", True),
        ("echo all good", "matches:^bad", False),
        ("echo all good", "matches:a.l", False),
        ("echo all good", "matches:(", False),
        ("true", "matches:^$", True),
        ("true", "matches:x", False),
        ("true", "other:x", False),
    ],
)
def test_a_check_of_a_constant_output_is_vacuous(text: str, success: str, known: bool) -> None:
    assert bool(why_vacuous(shell(text, success))) is known


@pytest.mark.parametrize(
    ("spec", "known"),
    [
        (CheckSpec("c", argv=("true",)), True),
        (CheckSpec("c", argv=("sh", "-c", "pytest; true")), True),
        (CheckSpec("c", argv=("pytest", "-q")), False),
        (CheckSpec("c", type=CheckType.GIT, git=GitCheck.CLEAN), True),
        (CheckSpec("c", type=CheckType.GIT, git=GitCheck.SCOPE), True),
        (CheckSpec("c", type=CheckType.GIT, git=GitCheck.PUSHED), False),
        (CheckSpec("c", type=CheckType.FILE, path=".", file={"exists": True}), True),
        (CheckSpec("c", type=CheckType.FILE, path="a", file={"exists": True}), False),
        (CheckSpec("c", type=CheckType.JUDGE), False),
    ],
    ids=lambda value: getattr(value, "type", None),
)
def test_every_type_of_check_is_examined(spec: CheckSpec, known: bool) -> None:
    assert bool(why_vacuous(spec)) is known


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("env CI=1 uv run --frozen --with x python -m pytest -q", ("pytest",)),
        ("cd x && timeout -k 5 10 poetry run pytest", ("pytest",)),
        ("coverage run --source x -m unittest", ("unittest",)),
        ("npx --no-install jest && go test ./...", ("jest", "go")),
        ("node --test test/", ("node",)),
        ("cargo +nightly test", ("cargo",)),
        ("pip install pytest", ()),
        ("cargo test --no-run", ()),
        ("go vet ./...", ()),
        ("python script.py pytest", ()),
        ("go test -c ./...", ()),
        ("go -v test", ("go",)),
        ("node test", ()),
        ("deno --test", ()),
        ("deno test", ("deno",)),
        ("node", ()),
        ("unittest", ()),
        ("python -m doctest x.py", ("doctest",)),
        ("jest --list", ("jest",)),
        ("pytest; bats x && py.test", ("pytest", "tap", "pytest")),
    ],
)
def test_the_test_runner_of_a_command_is_found_behind_its_prefixes(
    command: str, found: tuple[str, ...]
) -> None:
    assert find_test_runners((), command) == found


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (shell("true"), "`true` cannot fail"),
        (shell("  true &&\n  true"), "`true && true` cannot fail"),
        (CheckSpec("c", argv=("echo", "a")), "`echo a` cannot fail"),
        (shell("echo " + "x" * 55), f"`echo {'x' * 55}` cannot fail"),
        (shell("echo " + "x" * 56), f"`echo {'x' * 54}…` cannot fail"),
        (shell("exit 3", "exitCode:3"), "its exit code is always the same"),
        (
            CheckSpec("c", type=CheckType.GIT, git=GitCheck.CLEAN),
            "git: clean holds for every change",
        ),
        (
            CheckSpec("c", type=CheckType.FILE, path=".", file={"exists": True, "empty": False}),
            ". always exists",
        ),
        (CheckSpec("c", type=CheckType.FILE, path=".", file={"exists": True, "a": "b"}), ""),
        (CheckSpec("c", type=CheckType.JUDGE), ""),
        (shell("pytest"), ""),
    ],
)
def test_a_vacuous_check_has_its_reason(spec: CheckSpec, why: str) -> None:
    assert why_vacuous(spec) == why


def test_an_argument_list_with_a_constant_output_is_vacuous() -> None:
    said = CheckSpec("c", argv=("echo", "all", "good"), success="contains:all good")

    assert why_vacuous(said) == "`echo all good` cannot fail"
    assert not why_vacuous(CheckSpec("c", argv=("echo", "all"), success="contains:good"))
    assert why_vacuous(CheckSpec("c", argv=("true",), success="empty"))
    assert not why_vacuous(CheckSpec("c", argv=("ls",), success="empty"))
    inner = CheckSpec("c", argv=("sh", "-c", "echo OK"), success="contains:OK")
    assert why_vacuous(inner) == "`sh -c echo OK` cannot fail"


def test_a_script_or_recipe_is_judged_by_its_exit_code() -> None:
    assert why_vacuous_script("pytest || true") == "`pytest || true` cannot fail"
    assert why_vacuous_script("pytest") == ""


def test_a_fail_fast_option_is_recognised() -> None:
    assert fail_fast_option(("pytest", "--maxfail=1"), "") == "--maxfail=1"
    assert fail_fast_option((), "python -m unittest -f") == "-f"
    assert fail_fast_option((), "head -x; pytest") == ""
    assert fail_fast_option((), "pytest -q; go test -failfast") == "-failfast"
    assert fail_fast_option(("pytest", "-q", "-x"), "pytest --maxfail=2") == "-x"


def test_the_test_runner_of_an_argument_list_is_found() -> None:
    assert find_test_runners(("uv", "run", "pytest"), "jest") == ("pytest",)
