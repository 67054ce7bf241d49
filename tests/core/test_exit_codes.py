"""Which exit codes a command can have: only certain knowledge counts."""

from __future__ import annotations

import pytest

from yaoki.core.commands.exit_codes import PossibleExits, possible_exits
from yaoki.core.commands.program import Program, find_programs, resolve_program
from yaoki.core.commands.shell import (
    CHARS_MAX,
    DEPTH_MAX,
    OpaqueCommand,
    parse_shell,
    simple_commands,
)

pytestmark = pytest.mark.spec("16.4")

ZERO, OTHER, ANY = "zero", "other", "any"
ENDS = {
    PossibleExits(True, False): ZERO,
    PossibleExits(False, True): OTHER,
    PossibleExits(True, True): ANY,
}


@pytest.mark.parametrize(
    ("script", "ends"),
    [
        # Lists: the last command counts.
        ("", ZERO),
        ("true", ZERO),
        ("false", OTHER),
        ("make", ANY),
        ("false; true", ZERO),
        ("true; false", OTHER),
        ("make; false", OTHER),
        ("make &", ZERO),
        ("false & true", ZERO),
        ("true & false", OTHER),
        # `&&` and `||`, from left to right.
        ("true && false", OTHER),
        ("false && true", OTHER),
        ("false && make", OTHER),
        ("true && make", ANY),
        ("true || false", ZERO),
        ("true || make", ZERO),
        ("false || make", ANY),
        ("false || true", ZERO),
        ("false || false", OTHER),
        ("make && true", ANY),
        ("make && false", OTHER),
        ("make || true", ZERO),
        ("make || false", ANY),
        ("true && false || true", ZERO),
        ("false || true && false", OTHER),
        # Pipelines: any part fails the whole.
        ("true | true", ZERO),
        ("false | true", OTHER),
        ("make | true", ANY),
        ("true |& make", ANY),
        ("make | false", OTHER),
        ("exit 1 | true", OTHER),
        ("exit 0 | true", ZERO),
        ("! true", OTHER),
        ("! false", ZERO),
        ("! make", ANY),
        ("! exit 0", ZERO),
        # Leaving early.
        ("exit 0", ZERO),
        ("exit 1", OTHER),
        ("exit 00", OTHER),
        ("exit 0; false", ZERO),
        ("exit 1; true", OTHER),
        ("return 0; false", ZERO),
        ("true; exit", ZERO),
        ("false; exit", OTHER),
        ("false; exit $?", OTHER),
        ("make; exit $?", ANY),
        ("exit $code", ANY),
        ("make && exit", ANY),
        ("false || exit", OTHER),
        ("true && exit", ZERO),
        ("false; exit | true", OTHER),
        ("make && exit 0; false", ANY),
        ("make || exit 0; true", ZERO),
        ("make || exit 1; true", ANY),
        ("make && exit 1; true", ANY),
        ("make && exit 1; false", OTHER),
        ("exit 0 && false", ZERO),
        ("exit 1 || true", OTHER),
        ("exit 1 & true", ZERO),
        ("false && exit 0; false", OTHER),
        # Groups; an exit leaves only a subshell.
        ("(false)", OTHER),
        ("(exit 1); true", ZERO),
        ("(exit 0); false", OTHER),
        ("{ exit 1; }; true", OTHER),
        ("{ exit 0; }; false", ZERO),
        ("{ true; }", ZERO),
        ("{ make; } || true", ZERO),
        # `set -e` ends the script at the first failure.
        ("set -e; false; true", OTHER),
        ("set -e; make; true", ANY),
        ("set -o errexit; make; true", ANY),
        ("set -eu; make; true", ANY),
        ("set -u; make; true", ZERO),
        ("set -e\nfalse || true", ZERO),
        ("set -e; true", ZERO),
        ("make; set -e; true", ZERO),
        ("sh -c 'make; true'", ZERO),
        ("sh -ec 'make; true'", ANY),
        ("bash -e -c 'make; true'", ANY),
        ("bash -o errexit -c 'make; true'", ANY),
        ("bash -c 'exit 1'", OTHER),
        ("bash -c 'exit 1'; true", ZERO),
        # Words alone.
        ("A=1", ZERO),
        ("A=1 B=2", ZERO),
        ("A=$(make)", ANY),
        ("A=`make`", ANY),
        ("A=1 make", ANY),
        ("A=1 true", ZERO),
    ],
)
def test_the_possible_exit_codes_of_a_script_are_found(script: str, ends: str) -> None:
    assert ENDS[possible_exits((), script)] == ends


@pytest.mark.parametrize(
    ("command", "ends"),
    [
        ("echo $(make)", ZERO),
        ("printf `make`", ZERO),
        ("export A=$(make)", ANY),
        ("export A=`make`", ANY),
        ("export A=1", ZERO),
        ("env", ZERO),
        ("printenv", ZERO),
        ("printenv HOME", ANY),
        ("wait", ZERO),
        ("wait 1", ANY),
        # Help and versions of known tools.
        ("pytest --version", ZERO),
        ("go version", ZERO),
        ("npm run test --help", ZERO),
        ("npm run test a --help", ANY),
        ("pytest --help tests", ANY),
        ("own --help", ANY),
        ("pytest", ANY),
        # Dry runs.
        ("make -n", ZERO),
        ("make test --dry-run", ZERO),
        ("pytest --collect-only -q", ZERO),
        ("mvn -DskipTests verify", ZERO),
        ("mvn -Dmaven.test.skip=true verify", ZERO),
        ("ctest --show-only=json-v1", ZERO),
        ("ctest -n", ANY),
        ("own -n", ANY),
        # Paths that are always there.
        ("ls", ZERO),
        ("ls -la .", ZERO),
        ("ls src", ANY),
        ("du", ZERO),
        ("cat x /dev/null", ANY),
        ("own -c pass", ANY),
        ("cd ..", ZERO),
        ("cd src", ANY),
        ("stat /tmp", ZERO),
        ("stat", ANY),
        ("du -s x", ANY),
        ("cat /dev/null", ZERO),
        ("cat x", ANY),
        ("cat", ANY),
        ("touch .", ZERO),
        ("touch x", ANY),
        ("mkdir -p /tmp", ZERO),
        # find
        ("find", ZERO),
        ("find . -name x", ZERO),
        ("find -name x", ZERO),
        ("find src -name x", ANY),
        ("find . -exec false {} +", ANY),
        ("find . -okdir false {} +", ANY),
        # test
        ("test -d .", ZERO),
        ("test -d src", ANY),
        ("[ -e / ]", ZERO),
        ("[[ -r /tmp ]]", ZERO),
        ("test -w .", ZERO),
        ("test -x .", ZERO),
        ("test -s .", ZERO),
        ("test -f .", ANY),
        ("test -n x", ZERO),
        ("test -n ''", ANY),
        ("test -n $X", ANY),
        ("test -n `x`", ANY),
        ("test -z ''", ZERO),
        ("test -z x", ANY),
        ("test x", ZERO),
        ("test ''", ANY),
        ("test $X", ANY),
        ("test `x`", ANY),
        ("test a = a", ZERO),
        ("test a == a", ZERO),
        ("test 1 -eq 1", ZERO),
        ("test a = b", ANY),
        ("test a != a", ANY),
        ('test "$(x)" = "$(x)"', ANY),
        ("test `x` = `x`", ANY),
        ("test a = a -a b", ANY),
        ("test", ANY),
        # git in a checkout of one commit
        ("git", ANY),
        ("git status", ZERO),
        ("git --no-pager log -3", ZERO),
        ("git -C . show HEAD", ZERO),
        ("git diff --exit-code HEAD", ZERO),
        ("git diff", ZERO),
        ("git diff main", ANY),
        ("git log main", ANY),
        ("git fsck", ANY),
        # One-liners that do nothing.
        ("python -c pass", ZERO),
        ("python3 -c 'import os; print(1)'", ZERO),
        ("python -c 'print(\"x\")\nexit()'", ZERO),
        ("python -c", ANY),
        ("python -c 'import mine'", ANY),
        ("python -c 'pass; import mine'", ANY),
        ("python x.py", ANY),
        ("node -e 'process.exit(0)'", ZERO),
        ("node -p ' 1; '", ZERO),
        ("node -e 'console.log(1)'", ZERO),
        ("node -e 'require(1)'", ANY),
        ("node -e", ANY),
        ("node x.js", ANY),
    ],
)
def test_the_possible_exit_codes_of_a_command_are_found(command: str, ends: str) -> None:
    words = next(simple_commands(parse_shell(command)))

    assert ENDS[possible_exits((), command)] == ends
    assert ENDS[possible_exits(words, "")] == ends


# ------------------------------------------------------------------ programs


@pytest.mark.parametrize(
    ("command", "name", "args"),
    [
        ("pytest -q", "pytest", "-q"),
        ("/venv/bin/pytest -q", "pytest", "-q"),
        (r"'C:\bin\prettier.cmd' x", "prettier", "x"),
        ("tool.exe", "tool", ""),
        ("A=1 B=2 make x", "make", "x"),
        ("env -u HOME A=1 make", "make", ""),
        ("env -i -- make -n", "make", "-n"),
        ("env -- A=1 make", "make", ""),
        ("nice -n 5 make", "make", ""),
        ("nice make", "make", ""),
        ("timeout -s KILL 5 make", "make", ""),
        ("timeout --kill-after 1 5 make", "make", ""),
        ("python", "python", ""),
        ("python -I", "python", ""),
        ("python - x", "python", "- x"),
        ("env -i -- -n make", "-n", "make"),
        ("timeout 5 make x", "make", "x"),
        ("timeout -k 1 --signal KILL 5 make", "make", ""),
        ("timeout --foreground 5 make", "make", ""),
        ("nohup nice time make", "make", ""),
        ("npx --no-install jest --ci", "jest", "--ci"),
        ("npx -p x jest", "jest", ""),
        ("uv run --with x pytest", "pytest", ""),
        ("uv --project x run pytest", "pytest", ""),
        ("uv sync x", "uv", "sync x"),
        ("uv", "uv", ""),
        ("poetry run pytest", "pytest", ""),
        ("pnpm --filter a exec jest", "jest", ""),
        ("pnpm test", "pnpm", "test"),
        ("bundle exec rspec", "rspec", ""),
        ("coverage run x.py", "python", "x.py"),
        ("coverage report", "coverage", "report"),
        ("python x.py -m a", "python", "x.py -m a"),
        ("python3.12 -X dev -W error x.py", "python3.12", "x.py"),
        ("python -I -c pass", "python", "-c pass"),
        ("python -m", "python", "-m"),
        ("pythonic -m x", "pythonic", "-m x"),
        ("env", "", ""),
        ("timeout 5", "", ""),
    ],
)
def test_the_program_behind_its_prefixes_is_found(command: str, name: str, args: str) -> None:
    found = resolve_program(command.replace("'", "").split())

    assert found == Program(name, tuple(args.split()))


@pytest.mark.parametrize(
    ("command", "name", "args"),
    [
        ("python -m pytest -q", "pytest", "-q"),
        ("pypy3 -X dev -m pytest", "pytest", ""),
        ("coverage run --source x -m pytest -q", "pytest", "-q"),
        ("python -m coverage run --source x -m pytest -q", "pytest", "-q"),
        ("python -m coverage report", "coverage", "report"),
    ],
)
def test_a_module_is_found_behind_its_interpreter(command: str, name: str, args: str) -> None:
    assert resolve_program(command.split()) == Program(name, tuple(args.split()), module=True)


def test_the_chain_of_prefixes_is_bounded() -> None:
    assert resolve_program(["nice"] * 11 + ["make"]).name == "make"
    assert resolve_program(["nice"] * 100 + ["make"]).name == "nice"


@pytest.mark.parametrize(
    ("script", "names"),
    [
        ("a && b || c; d | e & f", "a b c d e f"),
        ("(a; b); { c; }", "a b c"),
        ("sh -c 'a; b' && c", "a b c"),
        ("bash -o pipefail -c 'a'", "a"),
        ("bash -ec a", "a"),
        ("bash --norc -c a", "a"),
        ("bash -c", ""),
        ("bash x.sh -c a", "bash"),
        ("bash xc a", "bash"),
        ("sh", "sh"),
        ("zsh -c \"dash -c 'ksh -c a'\"", "a"),
        ("node -c a", "node"),
    ],
)
def test_every_program_of_a_script_is_found(script: str, names: str) -> None:
    assert [program.name for program in find_programs((), script)] == names.split()


def test_an_argument_list_is_not_parsed_as_a_script() -> None:
    assert find_programs(("a", "&&", "b"), "c") == (Program("a", ("&&", "b")),)
    assert find_programs(("sh", "-c", "a && b"), "") == (Program("a"), Program("b"))


# ------------------------------------------------------------------ shell


def commands(script: str) -> list[list[str]]:
    return [list(words) for words in simple_commands(parse_shell(script))]


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("a b\tc", [["a", "b", "c"]]),
        ("a 'b c' \"d e\"", [["a", "b c", "d e"]]),
        ("a'b'\"c\"d", [["abcd"]]),
        ("a ''", [["a", ""]]),
        (r'a "b\"c"', [["a", 'b"c']]),
        (r"a 'b\' c", [["a", "b\\", "c"]]),
        (r"a\ b c", [["a b", "c"]]),
        ("a \\\nb", [["a", "b"]]),
        ("a\\\nb", [["ab"]]),
        ("a\\", [["a"]]),
        ("a # b\nc", [["a"], ["c"]]),
        ("a # b", [["a"]]),
        ("a b#c", [["a", "b#c"]]),
        ("a # x\nb # y\nc", [["a"], ["b"], ["c"]]),
        ("a\n# b\nc", [["a"], ["c"]]),
        ("# b\nc", [["c"]]),
        (r"a 'b\"c'", [["a", r"b\"c"]]),
        ("`b`c d", [["`b`c", "d"]]),
        ("$(a)b c", [["$(a)b", "c"]]),
        ("$()a b", [["$()a", "b"]]),
        ('$("a)") b', [['$("a)")', "b"]]),
        (r'"a\\" b', [[r"a\\", "b"]]),
        (r'"\"" b', [['"', "b"]]),
        ("a;b", [["a"], ["b"]]),
        ("a;b;c", [["a"], ["b"], ["c"]]),
        ("a & b & c", [["a"], ["b"], ["c"]]),
        ("a |& b", [["a"], ["b"]]),
        ("(a) < x", [["a"]]),
        ("(a) < x && b", [["a"], ["b"]]),
        ("(a) > x > y; b", [["a"], ["b"]]),
        ("(a) &>> x; b", [["a"], ["b"]]),
        ("{ a; b; }; c", [["a"], ["b"], ["c"]]),
        ("while a; do b; done | c", [["c"]]),
        ("a `b c` d", [["a", "`b c`", "d"]]),
        ("a $(b (c) d) e", [["a", "$(b (c) d)", "e"]]),
        ("a $(b ')' c) d", [["a", "$(b ')' c)", "d"]]),
        ("a $b", [["a", "$b"]]),
        ("a > b c", [["a", "c"]]),
        ("a 2> b c", [["a", "c"]]),
        ("a x2 > b", [["a", "x2"]]),
        ("a 2>&1 | b", [["a"], ["b"]]),
        ("a &> b; c", [["a"], ["c"]]),
        ("a &>> b c", [["a", "c"]]),
        ("a < b >> c", [["a"]]),
        ("a <<< b c", [["a", "c"]]),
        ("> b a", [["a"]]),
        ("(a) > b; c", [["a"], ["c"]]),
        ("(a) &> b; c", [["a"], ["c"]]),
        ("{ a; } 2> b", []),
        ("a &&\n\nb ||\nc |\n d", [["a"], ["b"], ["c"], ["d"]]),
        ("a;;b", []),
        ("a & b", [["a"], ["b"]]),
        ("! a", [["a"]]),
        ("\n\na\r\n\nb;", [["a"], ["b"]]),
        ("if a; then b; fi; c", [["c"]]),
        ("for x in 1; do while b; do c; done; done && d", [["d"]]),
        ("case x in a) b;; esac; c", [["c"]]),
    ],
)
def test_the_commands_of_a_script_are_parsed(script: str, words: list[list[str]]) -> None:
    assert commands(script) == words


@pytest.mark.parametrize(
    "script",
    [
        "'open",
        '"open',
        "`open",
        "a $(open",
        "a <<E\nx\nE",
        "f() { a; }",
        "(a",
        "{ a;",
        "a)",
        "if a",
        "&& a",
        "a |",
        "a" * (CHARS_MAX + 1),
        "(" * (DEPTH_MAX + 1) + "a" + ")" * (DEPTH_MAX + 1),
    ],
)
def test_a_script_that_cannot_be_parsed_may_have_any_exit_code(script: str) -> None:
    tree = parse_shell(script)

    assert [part for item, _ in tree.items for part in item.first.parts] == [OpaqueCommand()]
    assert possible_exits((), script) == PossibleExits()


def test_a_script_at_the_limits_is_parsed() -> None:
    deep = DEPTH_MAX - 1

    assert commands("a" * CHARS_MAX) == [["a" * CHARS_MAX]]
    assert commands("(" * deep + "a" + ")" * deep) == [["a"]]
    assert commands("; ".join(["(a)"] * 40)) == [["a"]] * 40
