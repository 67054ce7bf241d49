"""Set-up commands that only fill a folder of the project: `npm ci` fills `node_modules`.

Such a command puts nothing on the PATH, and what it made can be copied to another checkout with
the same lock file.  Nothing is known of any other command: it may create a database.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from yaoki.core.commands.program import Program, bare_name, resolve_program, shell_script
from yaoki.core.commands.shell import is_fully_parsed, parse_shell, simple_commands

NODE_MODULES, VENV = "node_modules", ".venv"
# For each program: the words that make it install, and the folder that it fills.
_INSTALLERS: Mapping[str, tuple[frozenset[str], str]] = {
    "npm": (frozenset({"ci", "install", "i", "clean-install"}), NODE_MODULES),
    "pnpm": (frozenset({"install", "i"}), NODE_MODULES),
    "yarn": (frozenset({"install"}), NODE_MODULES),
    "bun": (frozenset({"install", "i"}), NODE_MODULES),
    "uv": (frozenset({"sync"}), VENV),
    "poetry": (frozenset({"install", "sync"}), VENV),
    "pdm": (frozenset({"install", "sync"}), VENV),
    "pipenv": (frozenset({"install", "sync"}), VENV),
    "composer": (frozenset({"install"}), "vendor"),
    "bundle": (frozenset({"install"}), "vendor"),
    "mix": (frozenset({"deps.get"}), "deps"),
    "dart": (frozenset({"pub"}), ".dart_tool"),
    "flutter": (frozenset({"pub"}), ".dart_tool"),
}
_ELSEWHERE = frozenset({"-g", "--global", "--location=global", "--system", "--prefix", "-C"})


def list_installed_folders(commands: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """The names of the folders that these commands fill; empty if one of them may do more."""
    folders = [_folder_of(words) for command in commands for words in _inner_commands(command)]
    return tuple(dict.fromkeys(folders)) if all(folders) else ()


def _inner_commands(words: Sequence[str]) -> Iterator[Sequence[str]]:
    """As `init` writes it for a folder below the top: sh -c "cd web && exec npm ci"."""
    script = shell_script(Program(bare_name(words[0]), tuple(words[1:]))) if words else None
    if script is None:
        yield words
        return
    tree = parse_shell(script)
    inner = [one for one in simple_commands(tree) if one[:1] != ("cd",)]
    yield from inner if inner and is_fully_parsed(tree) else [()]


def _folder_of(words: Sequence[str]) -> str:
    """A venv is known by `python3 -m venv .venv` and by `.venv/bin/pip install`."""
    if words[:1] and words[0].startswith(f"{VENV}/bin/pip") and "install" in words:
        return VENV
    program = resolve_program(words)
    if program.module and program.name == "venv" and program.args == (VENV,):
        return VENV
    subcommands, folder = _INSTALLERS.get(program.name, (frozenset[str](), ""))
    if program.module or not subcommands.intersection(program.args[:1]):
        return ""
    return "" if _ELSEWHERE.intersection(program.args) else folder
