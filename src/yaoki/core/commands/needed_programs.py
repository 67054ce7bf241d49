"""The programs without which a command line fails for certain.

A fallback (`a || b`), an ignored failure (`a; b`) or anything that may change the PATH or define a
function ends the certainty.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from yaoki.core.commands.program import Program, bare_name, shell_script, started_command
from yaoki.core.commands.shell import AndOr, CommandGroup, CommandList, SimpleCommand, parse_shell
from yaoki.core.lazy_pattern import lazy_compile

_ASSIGNMENT = lazy_compile(r"([A-Za-z_]\w*)=")
# Words that a shell replaces by others.
_EXPANSION = lazy_compile(r"[$`*?\[\]{}~!]")
_BUILTINS = frozenset(
    (
        *("true", "false", ":", "echo", "printf", "test", "[", "[[", "cd", "pwd", "exit", "return"),
        *("set", "unset", "shift", "read", "trap", "umask", "ulimit", "wait", "kill", "let"),
        *("command", "exec", "time", "type", "getopts", "local", "declare", "break", "continue"),
        *("pushd", "popd", "dirs", "readonly", "typeset", "mapfile", "readarray", "disown", "jobs"),
        *("fg", "bg", "times", "builtin", "caller", "history", "suspend", "logout"),
    )
)
# These may make any later word runnable.
_UNCLEAR = frozenset(
    {".", "source", "eval", "export", "alias", "hash", "function", "shopt", "enable", "coproc"}
)
# Programs that start another one from the PATH.
_LAUNCHERS = frozenset({"nice", "ionice", "nohup", "time", "timeout", "stdbuf", "exec"})


class _Unclear(Exception):
    """Nothing is certain from here on."""


def list_needed_programs(argv: Sequence[str], shell: str) -> tuple[str, ...]:
    """Names and paths of programs, in their order, each once."""
    found: dict[str, None] = {}
    try:
        for word in _in_words(argv, in_shell=False) if argv else _in_list(parse_shell(shell)):
            found[word] = None
    except _Unclear:
        pass
    return tuple(found)


def _in_list(tree: CommandList) -> Iterator[str]:
    """Only the last list decides about the exit code."""
    for at, (item, in_background) in enumerate(tree.items):
        programs = _in_and_or(item)
        if at == len(tree.items) - 1 and not in_background:
            yield from programs
        else:
            list(programs)  # it may still make everything after it unclear


def _in_and_or(item: AndOr) -> Iterator[str]:
    has_fallback = any(operator == "||" for operator, _ in item.rest)
    for part in (item.first, *(pipeline for _, pipeline in item.rest)):
        for node in part.parts:
            match node:
                case SimpleCommand(words):
                    programs = _in_words(words, in_shell=True)
                case CommandGroup(body):
                    programs = _in_list(body)
                case _:
                    raise _Unclear
            if has_fallback or part.negated:
                list(programs)
            else:
                yield from programs


def _in_words(words: Sequence[str], *, in_shell: bool) -> Iterator[str]:
    rest = list(words)
    while in_shell and rest and (hit := _ASSIGNMENT.match(rest[0])):
        if hit[1] == "PATH":
            raise _Unclear
        rest = rest[1:]
    if not rest or (in_shell and _EXPANSION.search(rest[0])):
        return
    name = rest[0]
    if in_shell and name in _UNCLEAR:
        raise _Unclear
    if not (in_shell and name in _BUILTINS):
        yield name
    yield from _started(rest, in_shell=in_shell)


def _started(words: Sequence[str], *, in_shell: bool) -> Iterator[str]:
    """The programs that the first word starts by their names."""
    name = bare_name(words[0])
    if name == "env" and any(word.startswith("PATH=") or word == "-i" for word in words):
        raise _Unclear
    if name in _LAUNCHERS or name == "env":
        yield from _in_words(started_command(words) or (), in_shell=in_shell)
    script = shell_script(Program(name, tuple(words[1:])))
    if script is not None:
        yield from _in_list(parse_shell(script))
