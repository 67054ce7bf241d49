"""Checks that cannot fail and so prove nothing.

Only certain cases count.  A command that may fail in some unforeseen way is accepted as a check.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from yaoki.core.commands.exit_codes import (
    ALWAYS_PRESENT_PATHS,
    PRINTING_COMMANDS,
    is_vacuous_git,
    possible_exits,
)
from yaoki.core.commands.program import Program, resolve_program, shell_script
from yaoki.core.commands.shell import SimpleCommand, parse_shell, simple_commands
from yaoki.core.model import CheckSpec, CheckType, GitCheck

# A checkout of one commit is clean, yaoki itself checks the scope, and a landing is merged.
_GIT_FACTS = frozenset({GitCheck.CLEAN, GitCheck.SCOPE, GitCheck.MERGED})


def why_vacuous(spec: CheckSpec) -> str:
    """The reason why a check cannot fail, as the end of a sentence; empty when it can."""
    match spec.type:
        case CheckType.COMMAND:
            return _idle_command(spec.argv, spec.shell, spec.success)
        case CheckType.GIT:
            return f"git: {spec.git} holds for every change" if spec.git in _GIT_FACTS else ""
        case CheckType.FILE:
            return _idle_file(spec)
        case CheckType.JUDGE | CheckType.PYTHON:
            return ""


def why_vacuous_script(shell: str) -> str:
    """The reason why a script or recipe cannot fail; empty when it can."""
    return _idle_command((), shell, "exitCode:0")


def _idle_file(spec: CheckSpec) -> str:
    """`exists` of the folder itself."""
    conditions = [name for name, value in spec.file.items() if value]
    if spec.path in ALWAYS_PRESENT_PATHS and conditions == ["exists"]:
        return f"{spec.path} always exists"
    return ""


def _idle_command(argv: Sequence[str], shell: str, success: str) -> str:
    exits = possible_exits(argv, shell)
    name, _, expected = success.partition(":")
    if name == "exitCode" and expected.isdecimal() and int(expected) > 0:
        return "" if exits.ends_zero else "its exit code is always the same"
    if exits.ends_nonzero:
        return ""
    output = list(_certain_output(argv, shell))
    if name == "exitCode" or _is_output_known(name, expected, output, argv, shell):
        return _why(argv, shell)
    return ""


def _is_output_known(
    name: str, expected: str, output: Sequence[str], argv: Sequence[str], shell: str
) -> bool:
    """Is the output known beforehand, so that it proves nothing either?"""
    if name == "empty":
        return _is_without_output(argv, shell)
    if name == "contains":
        return any(expected in text for text in output)
    if name == "matches":
        return _matches_nothing(expected) or any(_literal_text(expected) in text for text in output)
    return False


def _is_without_output(argv: Sequence[str], shell: str) -> bool:
    """Only commands without output, or git on committed files."""
    lines = [tuple(argv)] if argv else list(simple_commands(parse_shell(shell)))
    return bool(lines) and all(_is_silent(resolve_program(words)) for words in lines)


def _is_silent(program: Program) -> bool:
    if program.name == "git":
        return (
            bool(program.args) and program.args[0] in {"status", "diff"} and is_vacuous_git(program)
        )
    return program.name in {"", "true", ":", "cd", "set", "export", "test", "[", "sleep"}


def _matches_nothing(pattern: str) -> bool:
    """Does the pattern match an empty output?"""
    try:
        return re.search(pattern, "") is not None
    except (re.error, OverflowError, RecursionError):
        return False


def _literal_text(pattern: str) -> str:
    """The pattern as a literal text if it is one; else a text that nothing contains."""
    plain = pattern.strip("^$").removeprefix(".*").removesuffix(".*")
    return plain if plain and re.escape(plain).replace("\\", "") == plain else "\0"


def _certain_output(argv: Sequence[str], shell: str) -> Iterator[str]:
    """The output that is certain: that of the first command of each list."""
    if argv:
        program = resolve_program(argv)
        inner = shell_script(program)
        if inner is not None:
            yield from _certain_output((), inner)
        elif program.name in PRINTING_COMMANDS:
            yield " ".join(program.args)
        return
    for item, _ in parse_shell(shell).items:
        # Input of a pipe is not certain to come out of it.
        node, *piped = item.first.parts
        if isinstance(node, SimpleCommand) and not piped:
            yield from _certain_output(node.words, "")


def _why(argv: Sequence[str], shell: str) -> str:
    words = " ".join(argv) if argv else " ".join(shell.split())
    return f"`{words if len(words) <= 60 else words[:59] + '…'}` cannot fail"
