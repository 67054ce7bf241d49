"""The exit codes that a command can have, read from its text alone.

Only certain knowledge counts: a command that may fail in some unforeseen way can have any code.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from yaoki.core.commands.program import Program, resolve_program, shell_script
from yaoki.core.commands.shell import (
    AndOr,
    CommandGroup,
    Pipeline,
    ShellNode,
    SimpleCommand,
    parse_shell,
)
from yaoki.core.commands.shell import CommandList as Lines
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile

# Commands that end with zero whatever they find.
_ZERO = frozenset(
    (
        *("true", ":", "echo", "printf", "pwd", "date", "sleep", "hostname", "whoami", "id"),
        *("uname", "export", "unset", "alias", "umask", "local", "set", "shopt"),
        *("tty", "clear", "history", "jobs", "times", "ulimit", "hash", "env", "printenv"),
    )
)
PRINTING_COMMANDS = frozenset({"echo", "printf"})
# Tools whose help or version always succeeds once they are installed.
_TOOLS = frozenset(
    (
        *("pytest", "py.test", "python", "python3", "pip", "pip3", "node", "npm", "npx", "yarn"),
        *("pnpm", "bun", "deno", "go", "cargo", "rustc", "make", "gmake", "just", "tox", "nox"),
        *("jest", "vitest", "mocha", "ava", "eslint", "prettier", "tsc", "mypy", "pyright"),
        *("ruff", "flake8", "pylint", "black", "isort", "git", "bash", "sh", "ruby", "rspec"),
        *("bundle", "rake", "php", "phpunit", "java", "javac", "mvn", "gradle", "dotnet", "mix"),
        *("unittest", "uv", "poetry", "hatch", "pdm", "coverage", "docker", "gcc", "clang"),
    )
)
_INFO_OPTIONS = frozenset({"--help", "-h", "--version", "-V", "help", "version", "-version"})
_DRY = {
    "make": ("-n", "--dry-run", "--just-print", "--recon"),
    "gmake": ("-n", "--dry-run", "--just-print", "--recon"),
    "just": ("-n", "--dry-run", "--list", "-l"),
    "pytest": ("--collect-only", "--co", "--setup-plan", "--fixtures", "--markers"),
    "ninja": ("-n",),
    "rake": ("-n", "--dry-run", "-T"),
    "rspec": ("--dry-run",),
    "phpunit": ("--list-tests", "--list-suites"),
    "jest": ("--listTests", "--showConfig"),
    "mocha": ("--dry-run",),
    "tox": ("--notest", "-l", "--listenvs", "-a"),
    "nox": ("-l", "--list"),
    "mvn": ("-DskipTests", "-Dmaven.test.skip=true"),
    "gradle": ("-m", "--dry-run"),
    "ctest": ("-N", "--show-only"),
}
# In a checkout of exactly one commit the answers of git are known beforehand.
_GIT = frozenset({"status", "diff", "log", "show", "branch", "rev-parse"})
ALWAYS_PRESENT_PATHS = frozenset({".", "./", "..", "/", "/tmp", "/dev/null", "$PWD", "$HOME", "~"})


_IDLE_NODE = lazy_compile(r"[\s;\d]*|process\.exit\(0?\);?|console\.log\([^()]*\);?")
_IDLE_PYTHON = lazy_compile(
    r"|pass|\d+|None|True|import (?:os|sys|re|json|time)|assert (?:True|1)"
    r"|print\((?:'[^']*'|\"[^\"]*\"|\d+)?\)|(?:sys\.)?(?:exit|quit|_exit)\(0?\)|os\._exit\(0\)"
)
_ERREXIT = lazy_compile(r"-[a-z]*e[a-z]*|errexit")


@dataclass(frozen=True, slots=True)
class PossibleExits:
    """The possible exits: zero or not, at the end of the list or by leaving it early."""

    ends_zero: bool = True
    ends_nonzero: bool = True
    leaves_zero: bool = False
    leaves_nonzero: bool = False

    @property
    def as_subshell(self) -> PossibleExits:
        """The exits of a subshell or a whole script, where leaving early ends it."""
        return PossibleExits(
            self.ends_zero or self.leaves_zero, self.ends_nonzero or self.leaves_nonzero
        )

    @property
    def may_continue(self) -> bool:
        return self.ends_zero or self.ends_nonzero


ZERO, OTHER, ANY = (
    PossibleExits(ends_nonzero=False),
    PossibleExits(ends_zero=False),
    PossibleExits(),
)


def possible_exits(argv: Sequence[str], shell: str) -> PossibleExits:
    """The possible exits of the command of a check."""
    return _of_program(resolve_program(argv)) if argv else _of_lines(parse_shell(shell)).as_subshell


def _of_lines(lines: Lines, *, strict: bool = False) -> PossibleExits:
    exits = ZERO
    left_zero = left_other = False
    for item, background in lines.items:
        strict = strict or _sets_errexit(item)
        item_exits = ZERO if background else _of_list(item, exits)
        left_zero, left_other = (
            left_zero or item_exits.leaves_zero,
            left_other or item_exits.leaves_nonzero,
        )
        if strict and item_exits.ends_nonzero:
            left_other = True
            item_exits = PossibleExits(item_exits.ends_zero, ends_nonzero=False)
        exits = PossibleExits(item_exits.ends_zero, item_exits.ends_nonzero)
        if not exits.may_continue:
            break
    return PossibleExits(exits.ends_zero, exits.ends_nonzero, left_zero, left_other)


def _sets_errexit(item: AndOr) -> bool:
    node = item.first.parts[0]
    if not isinstance(node, SimpleCommand) or node.words[0] != "set":
        return False
    return any(_ERREXIT.fullmatch(word) for word in node.words)


def _of_list(item: AndOr, before: PossibleExits) -> PossibleExits:
    exits = _of_pipeline(item.first, before)
    for operator, pipeline in item.rest:
        runs = exits.ends_zero if operator == "&&" else exits.ends_nonzero
        after = (
            _of_pipeline(pipeline, exits)
            if runs
            else PossibleExits(ends_zero=False, ends_nonzero=False)
        )
        zero, other = (False, exits.ends_nonzero) if operator == "&&" else (exits.ends_zero, False)
        exits = PossibleExits(
            zero or after.ends_zero,
            other or after.ends_nonzero,
            exits.leaves_zero or after.leaves_zero,
            exits.leaves_nonzero or after.leaves_nonzero,
        )
    return exits


def _of_pipeline(pipeline: Pipeline, before: PossibleExits) -> PossibleExits:
    """The exit codes of a pipeline; any failing part fails it, since checks run with pipefail."""
    if len(pipeline.parts) == 1:
        exits = _of_node(pipeline.parts[0], before)
    else:
        each = [_of_node(part, before).as_subshell for part in pipeline.parts]
        exits = PossibleExits(
            all(one.ends_zero for one in each), any(one.ends_nonzero for one in each)
        )
    if not pipeline.negated:
        return exits
    return PossibleExits(
        exits.ends_nonzero, exits.ends_zero, exits.leaves_zero, exits.leaves_nonzero
    )


def _of_node(node: ShellNode, before: PossibleExits) -> PossibleExits:
    match node:
        case CommandGroup(body, subshell):
            exits = _of_lines(body)
            return exits.as_subshell if subshell else exits
        case SimpleCommand(words) if words[0] in {"exit", "return"}:
            return _explicit_exit(words, before)
        case SimpleCommand(words):
            return _of_program(resolve_program(words), words)
        case _:
            return ANY


def _explicit_exit(words: Sequence[str], before: PossibleExits) -> PossibleExits:
    code = words[1] if len(words) > 1 else "$?"
    if code == "$?":
        return PossibleExits(False, False, before.ends_zero, before.ends_nonzero)
    zero, other = (code == "0", code != "0") if code.isdecimal() else (True, True)
    return PossibleExits(
        ends_zero=False, ends_nonzero=False, leaves_zero=zero, leaves_nonzero=other
    )


def _of_program(program: Program, words: Sequence[str] = ()) -> PossibleExits:
    if not program.name:
        # Only assignments; one with a substitution has the exit code of that.
        return ANY if any("$(" in word or "`" in word for word in words) else ZERO
    inner = shell_script(program)
    if inner is not None:
        strict = any(_ERREXIT.fullmatch(word) for word in program.args if word != inner)
        return _of_lines(parse_shell(inner), strict=strict).as_subshell
    if program.name == "false":
        return OTHER
    return ZERO if _ends_well(program) else ANY


def _ends_well(program: Program) -> bool:
    name, args = program.name, program.args
    if name in {"env", "printenv", "wait"}:
        return not args
    if name in _ZERO:
        return not any("$(" in word or "`" in word for word in args) or name in PRINTING_COMMANDS
    if name in _TOOLS and args and (args[-1] in _INFO_OPTIONS) and len(args) <= 3:
        return True
    if any(
        arg.partition("=")[0] in _DRY.get(name, ()) or arg in _DRY.get(name, ()) for arg in args
    ):
        return True
    match name:
        case "cd" | "ls" | "du":
            return all(arg in ALWAYS_PRESENT_PATHS or arg.startswith("-") for arg in args)
        case "find":
            return _idle_find(args)
        case "test" | "[" | "[[":
            return _idle_test([arg for arg in args if arg not in {"]", "]]"}])
        case "git":
            return is_vacuous_git(program)
        case "cat" | "stat" | "touch" | "mkdir":
            return bool(args) and all(
                arg in ALWAYS_PRESENT_PATHS or arg.startswith("-") for arg in args
            )
        case _ if name.startswith("python") and args[:1] == ("-c",):
            # Without a text both are an error of their own.
            return len(args) > 1 and _idle_python(args[1])
        case "node" if args[:1] in {("-e",), ("-p",)}:
            return len(args) > 1 and bool(_IDLE_NODE.fullmatch(args[1]))
        case _:
            return False


def _idle_find(args: Sequence[str]) -> bool:
    """`find` succeeds even if it finds nothing."""
    roots = [arg for arg in args[:1] if not arg.startswith("-")]
    runs = any(arg.startswith(("-exec", "-ok")) for arg in args)
    return all(root in ALWAYS_PRESENT_PATHS for root in roots) and not runs


def _idle_test(args: Sequence[str]) -> bool:
    """A test of constants, or of a path that always exists."""
    match list(args):
        case [("-d" | "-e" | "-r" | "-w" | "-x" | "-s"), place]:
            return place in ALWAYS_PRESENT_PATHS
        case ["-n", text]:
            return bool(text) and "$" not in text and "`" not in text
        case ["-z", text]:
            return not text
        case [text]:
            return bool(text) and "$" not in text and "`" not in text
        case [left, ("=" | "==" | "-eq"), right]:
            return left == right and "$(" not in left and "`" not in left
        case _:
            return False


def is_vacuous_git(program: Program) -> bool:
    args = [arg for arg in program.args if arg not in {"--no-pager", "-C", "."}]
    plain = all(arg.startswith("-") or arg in {"HEAD", "."} for arg in args[1:])
    return bool(args) and args[0] in _GIT and plain


def _idle_python(code: str) -> bool:
    return all(_IDLE_PYTHON.fullmatch(line.strip()) for line in re.split(r"[;\n]", code))
