"""One line of `yaoki doctor`, with a command that fixes a bad condition."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.errors import YaokiError

SETTINGS = "yaoki.toml"
# The commands in hints of errors begin with these words; other hints are only text.
PROGRAMS = (
    *("git", "yaoki", "apt", "brew", "sudo", "pip", "npm", "cargo", "rustup"),
    *("chmod", "ls", "mv", "rm", "createdb", "createuser", "psql"),
)
_PARTS = lazy_compile(r", |; |: |\? ")


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition, and the command to type when it is bad or incomplete.

    `is_warning`: yaoki works, but its results prove less than they could.
    """

    name: str
    ok: bool
    words: str
    next_command: str = ""
    is_warning: bool = False


def failed_condition(name: str, error: YaokiError, fallback_command: str) -> Condition:
    """The sentence of an error, with the command in its hint, or else another one."""
    words = "; ".join(getattr(error, "defects", ())) or error.sentence
    command = command_in(error.hint) or fallback_command
    more = "" if error.hint in {command, "yaoki doctor"} else error.hint
    return Condition(name, False, f"{words}; {more}" if more else words, command)


def examine_condition(
    name: str, examine: Callable[[], Condition], fallback_command: str
) -> Condition:
    try:
        return examine()
    except YaokiError as error:
        return failed_condition(name, error, fallback_command)


def command_in(hint: str) -> str:
    """The first command of a hint; empty when it has none, or only names yaoki doctor."""
    parts = (part for part in _PARTS.split(hint) if part.split(" ")[0] in PROGRAMS)
    return next((part for part in parts if part != "yaoki doctor"), "")


def edit_command(top: Path, name: str = SETTINGS) -> str:
    """The command that edits the settings; a folder of that name is moved away first."""
    file = top / name
    if file.is_dir():
        return f"mv {shell_quote(file)} {shell_quote(top / 'yaoki.toml.old')}"
    return f"${{EDITOR:-vi}} {shell_quote(file)}"


def unwritable_condition(name: str, words: str, place: Path, elsewhere: str) -> Condition:
    """A path that cannot be written: permissions help, but not on a read-only file system."""
    if os.statvfs(place).f_flag & os.ST_RDONLY:
        return Condition(name, False, f"{words}: its file system is read-only", elsewhere)
    return Condition(name, False, words, f"chmod u+rwx {shell_quote(place)}")


def shell_quote(path: Path) -> str:
    """Quoted for a shell."""
    return shlex.quote(str(path))
