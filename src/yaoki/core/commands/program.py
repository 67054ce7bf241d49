"""The program that a command starts: `env CI=1 uv run python -m pytest -q` is pytest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from yaoki.core.commands.shell import parse_shell, simple_commands
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile

STEPS_MAX = 12
_ASSIGNMENT = lazy_compile(r"[A-Za-z_]\w*=")
_PYTHON = lazy_compile(r"(?:python|pypy)[\d.]*")
# Options of the interpreter, and of `coverage run` before it.
_VALUED = frozenset({"-X", "-W", "--source", "--rcfile", "--omit", "--include"})
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
# Programs that start another command; the options named here take a value.
_PREFIXES: Mapping[str, frozenset[str]] = {
    "env": frozenset({"-u", "--unset", "-C", "--chdir", "-S"}),
    "command": frozenset(),
    "exec": frozenset(),
    "nohup": frozenset(),
    "time": frozenset({"-f", "-o"}),
    "nice": frozenset({"-n"}),
    "ionice": frozenset({"-c", "-n"}),
    "stdbuf": frozenset({"-i", "-o", "-e"}),
    "xvfb-run": frozenset({"-s", "-n", "--server-args"}),
    "sudo": frozenset({"-u"}),
    "npx": frozenset({"-p", "--package"}),
    "bunx": frozenset(),
    "nyc": frozenset({"--reporter", "-r"}),
    "c8": frozenset({"--reporter", "-r"}),
    "cross-env": frozenset(),
    "dotenv": frozenset({"-f"}),
}
# Programs that start another one when a second word says so.
_STARTERS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "uv": (
        frozenset({"run"}),
        frozenset(
            {"--with", "--extra", "--group", "--python", "-p", "--package", "--project"}
            | {
                "--directory",
                "--env-file",
                "--with-requirements",
                "--with-editable",
                "--only-group",
            }
        ),
    ),
    **dict.fromkeys(("poetry", "pipenv", "rye"), (frozenset({"run"}), frozenset[str]())),
    "pdm": (frozenset({"run"}), frozenset({"-p", "--project"})),
    "hatch": (frozenset({"run"}), frozenset({"-e"})),
    "pnpm": (frozenset({"exec", "dlx"}), frozenset({"--filter", "-C"})),
    "yarn": (frozenset({"exec", "dlx"}), frozenset[str]()),
    "bundle": (frozenset({"exec"}), frozenset[str]()),
    "coverage": (frozenset({"run"}), frozenset({"--source", "--rcfile", "--omit", "--include"})),
}


@dataclass(frozen=True, slots=True)
class Program:
    """The bare name of a program or, after `python -m`, of a module; and its arguments."""

    name: str
    args: tuple[str, ...] = ()
    module: bool = False


def find_programs(argv: Sequence[str], shell: str) -> tuple[Program, ...]:
    """Every program that the command of a check starts, as far as it can be parsed."""
    lines = [tuple(argv)] if argv else list(simple_commands(parse_shell(shell)))
    programs: list[Program] = []
    for words in lines:
        program = resolve_program(words)
        inner = shell_script(program)
        programs += find_programs((), inner) if inner is not None else (program,)
    return tuple(programs)


def shell_script(program: Program) -> str | None:
    """The script that a shell gets with `-c`; None if there is none."""
    if program.name not in _SHELLS:
        return None
    for at, word in enumerate(program.args):
        if word.startswith("-") and not word.startswith("--") and word.endswith("c"):
            return program.args[at + 1] if len(program.args) > at + 1 else ""
        if not word.startswith("-") and program.args[at - 1] != "-o":
            return None
    return None


def resolve_program(words: Sequence[str]) -> Program:
    """Skip variables, prefixes and starters, to the program that does the work."""
    rest = list(words)
    for _ in range(STEPS_MAX):
        while rest and _ASSIGNMENT.match(rest[0]):
            rest = rest[1:]
        after = started_command(rest)
        if after is None:
            break
        rest = after
    if not rest:
        return Program("")
    name = bare_name(rest[0])
    return _python(name, rest[1:]) if _PYTHON.fullmatch(name) else Program(name, tuple(rest[1:]))


def bare_name(word: str) -> str:
    """The name without folder and suffix: `/venv/bin/pytest`, `prettier.cmd`."""
    name = word.replace("\\", "/").rpartition("/")[2]
    return name.removesuffix(".exe").removesuffix(".cmd")


def started_command(words: Sequence[str]) -> list[str] | None:
    """The command that the first word starts; None when it starts none."""
    name = bare_name(words[0]) if words else ""
    if name in _PREFIXES:
        return _past_options(words[1:], _PREFIXES[name])
    if name == "timeout":
        return _past_options(words[1:], frozenset({"-s", "-k", "--signal", "--kill-after"}))[1:]
    if name not in _STARTERS:
        return None
    seconds, valued = _STARTERS[name]
    rest = _past_options(words[1:], valued)
    if not rest or rest[0] not in seconds:
        return None
    rest = rest[1:]
    if name == "coverage":
        return ["python", *rest]
    return _past_options(rest, valued)


def _past_options(words: Sequence[str], valued: frozenset[str]) -> list[str]:
    at = 0
    while at < len(words) and (words[at].startswith("-") or _ASSIGNMENT.match(words[at])):
        if words[at] == "--":
            return list(words[at + 1 :])
        at += 2 if words[at] in valued else 1
    return list(words[at:])


def _python(name: str, args: Sequence[str]) -> Program:
    """`-m module` ends the interpreter's own options; a script or `-c` does as well."""
    at = 0
    while at < len(args) and args[at].startswith("-") and args[at] not in {"-c", "-m", "-"}:
        at += 2 if args[at] in _VALUED else 1
    if len(args) > at + 1 and args[at] == "-m":
        module, rest = args[at + 1], tuple(args[at + 2 :])
        if module == "coverage" and rest[:1] == ("run",):
            return _python(name, rest[1:])
        return Program(module, rest, module=True)
    return Program(name, tuple(args[at:]))
