"""The setup section: commands that make a fresh worktree usable, as in a plan's `setup`."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from yaoki.core.lazy_dataclass import replace
from yaoki.core.settings.settings import SetupSettings

if TYPE_CHECKING:
    from yaoki.formats.config.defects import SettingsDefects

COMMANDS = "setup.commands"
COMMANDS_MAX = 100
FORM = 'must be a list of commands, such as [["npm", "ci"]]'


def read_setup(raw: Any, notes: SettingsDefects) -> SetupSettings:
    if isinstance(raw, list):
        # A plan has the commands directly under `setup`.
        notes.add("setup", f"must be a table: [setup] with commands = {_toml(raw)}")
        return SetupSettings()
    settings = notes.read_section(SetupSettings, raw, "setup", also=("commands",))
    for glob in settings.inputs:
        if glob.startswith("/") or ".." in glob.split("/"):
            notes.add("setup.inputs", f"{glob[:80]!r} leads out of the repository")
    commands = raw.get("commands") if isinstance(raw, dict) else None
    if commands is None:
        return settings
    if not isinstance(commands, list) or len(commands) > COMMANDS_MAX:
        notes.add(COMMANDS, FORM)
        return settings
    notes.given_keys.add(COMMANDS)
    words = (_read_command(one, number, notes) for number, one in enumerate(commands, start=1))
    return replace(settings, commands=tuple(filter(None, words)))


def _read_command(raw: Any, number: int, notes: SettingsDefects) -> tuple[str, ...]:
    """A list of words, or one line that is split like a shell does, without a shell."""
    words = _split(raw) if isinstance(raw, str) else raw
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        notes.add(COMMANDS, f"number {number} is not a command; {FORM}")
    elif not words or not words[0] or any("\0" in word for word in words):
        notes.add(COMMANDS, f"number {number} names no program; {FORM}")
    else:
        return tuple(words)
    return ()


def _split(line: str) -> list[str] | None:
    try:
        return shlex.split(line)
    except ValueError:
        return None


def _toml(commands: list[Any]) -> str:
    import json

    text = json.dumps(commands, ensure_ascii=False, default=str)
    return text if len(text) <= 200 else "[...]"
