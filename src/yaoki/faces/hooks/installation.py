"""Adds the hook to an agent's settings file and removes it; nothing else in the file changes."""

from __future__ import annotations

import base64
import json
import os
import shlex
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from yaoki.adapters.system.files import write_atomically
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.errors import NotNow, YaokiError
from yaoki.faces.hooks import json_text
from yaoki.faces.hooks.supported_agents import HookedAgent

BYTES_MAX = 4 << 20
OUR_COMMAND = lazy_compile(r"(?:yaoki|-m yaoki)['\"]? hook event ")


@dataclass(frozen=True, slots=True)
class HookTarget:
    """One settings file of one agent, and the backup of its original content."""

    agent: HookedAgent
    file: Path
    backup_file: Path


def hook_command(agent: HookedAgent, limit_s: int, *, only_if_configured: bool) -> str:
    """The program by name if the PATH has it, so that a shared settings file works for all."""
    here = f"{shlex.quote(sys.executable)} -m yaoki"
    program = "yaoki" if shutil.which("yaoki") else here
    return (
        f"{program} hook event {agent.name} --limit "
        f"{limit_s}{' --if-configured' * only_if_configured}"
    )


def install(target: HookTarget, limit_s: int, *, only_if_configured: bool = False) -> bool:
    """True when the file changed; False when it has this entry already."""
    before = _text(target.file)
    wanted = hook_command(target.agent, limit_s, only_if_configured=only_if_configured)
    if sorted(installed_entries(target)) == sorted((name, wanted) for name in target.agent.events):
        return False
    begun = json_text.ensure_object(before or "")
    bare = text = _remove_entries(begun, target)
    for event in target.agent.events:
        text = _add_entry(text, event, _entry(target.agent, wanted, limit_s))
    _save_original(target, before if before is None or bare == begun else bare, text)
    _write(target.file, text)
    return True


def uninstall(target: HookTarget) -> bool:
    """True when the file changed.  A file unchanged since the installation gets its old content."""
    text = _text(target.file)
    if text is None or not installed_entries(target):
        return False
    memory = _memory(target)
    if memory.get("after") == _pack(text):
        before = memory.get("before")
        rest = None if before is None else base64.b64decode(before).decode()
    else:
        rest = _remove_entries(text, target)
    if rest is None:
        target.file.unlink()
        if memory.get("folder_made"):
            with suppress(OSError):  # the folder may contain other files
                target.file.parent.rmdir()
    else:
        _write(target.file, rest)
    target.backup_file.unlink(missing_ok=True)
    return True


def installed_entries(target: HookTarget) -> list[tuple[str, str]]:
    """Every hook of yaoki in the file: its event and its command."""
    text = _text(target.file)
    return (
        [] if text is None else [(event, words) for event, _, _, words in _own_hooks(text, target)]
    )


# ------------------------------------------------------------------ the text


def _entry(agent: HookedAgent, words: str, limit_s: int) -> dict[str, Any]:
    hook = {"type": "command", "command": words, "timeout": limit_s * agent.timeout_units_per_s}
    return {**({"matcher": "*"} if agent.matcher else {}), "hooks": [hook]}


def _add_entry(text: str, event: str, entry: dict[str, Any]) -> str:
    """Add the entry to the innermost container that exists."""
    top = json_text.find_value(text)
    hooks = json_text.find_value(text, "hooks")
    events = json_text.find_value(text, "hooks", event)
    assert top is not None, "sound JSON has a top"
    if events is not None:
        return json_text.add_part(text, events, json_text.format_value(entry, text))
    if hooks is not None:
        return json_text.add_part(
            text, hooks, f'"{event}": {json_text.format_value([entry], text)}'
        )
    return json_text.add_part(
        text, top, f'"hooks": {json_text.format_value({event: [entry]}, text)}'
    )


def _remove_entries(text: str, target: HookTarget) -> str:
    """The text without yaoki's entries and the containers that only held them."""
    while found := next(_own_hooks(text, target), None):
        event, group, place, _ = found
        path: list[str | int] = ["hooks", event, group, "hooks", place]
        while True:
            last = path.pop()
            at = json_text.find_value(text, *path)
            assert at is not None, "it was found a moment ago"
            if len(json_text.list_parts(text, at)) > 1 or not path:
                break
            # A group without hooks is removed, whatever its matcher.
            if path[-1] == "hooks" and len(path) > 1:
                path.pop()
                last = path[-1]
        text = json_text.remove_part(text, at, last)
    return text


def _own_hooks(text: str, target: HookTarget) -> Iterator[tuple[str, int, int, str]]:
    """Event, group, index and command of each hook of yaoki."""
    events = _parse(text, target.file).get("hooks", {})
    for event, groups in events.items():
        for n, group in enumerate(groups if isinstance(groups, list) else ()):
            hooks = group.get("hooks") if isinstance(group, dict) else None
            for place, hook in enumerate(hooks if isinstance(hooks, list) else ()):
                words = hook.get("command") if isinstance(hook, dict) else None
                if isinstance(words, str) and OUR_COMMAND.search(words):
                    yield event, n, place, words


def _parse(text: str, file: Path) -> dict[str, Any]:
    try:
        content = json.loads(json_text.json_body(text), object_pairs_hook=_refuse_duplicates)
    except (ValueError, RecursionError) as error:
        raise _unfit(file, f"is not JSON that can be changed safely: {error}") from error
    if not isinstance(content, dict) or not isinstance(content.get("hooks", {}), dict):
        raise _unfit(file, "does not contain settings that the agent accepts")
    lists = content.get("hooks", {}).values()
    if not all(isinstance(groups, list) for groups in lists):
        raise _unfit(file, "contains hooks in a form that the agent does not accept")
    return content


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a duplicate key: it is unknown which one counts."""
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("a key occurs twice in one object")
    return content


def _unfit(file: Path, words: str) -> NotNow:
    return NotNow(
        f"{file} {words}; it was not changed",
        hint=f"fix it, or move it away: mv {file} {file}.old",
    )


# ------------------------------------------------------------------ the files


def _text(file: Path) -> str | None:
    try:
        with open(file, "rb", opener=_open_nonblocking) as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise _unfit(file, "is not a regular file")
            raw = stream.read(BYTES_MAX + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise YaokiError(f"{file} cannot be read: {error.strerror}", hint="yaoki doctor") from error
    if len(raw) > BYTES_MAX:
        raise _unfit(file, f"has more than {BYTES_MAX} bytes")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _unfit(file, f"is not UTF-8: byte {error.start}") from error
    _parse(text, file)
    return text


def _open_nonblocking(name: str, flags: int) -> int:
    """Open without blocking: a named pipe would block until a writer comes."""
    return os.open(name, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def _write(file: Path, text: str) -> None:
    """Write atomically, through a symbolic link, with the file's permissions."""
    file = file.resolve()
    file.parent.mkdir(parents=True, exist_ok=True)
    mode = file.stat().st_mode & 0o777 if file.exists() else 0o644
    write_atomically(file, text.encode())
    file.chmod(mode)


def _pack(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _save_original(target: HookTarget, before: str | None, after: str) -> None:
    """Store the original content, unless an earlier installation has stored it."""
    known = _memory(target)
    if known.get("after") == _pack(_text(target.file) or ""):
        was, creates_folder = known.get("before"), known.get("folder_made", False)
    else:
        was = None if before is None else _pack(before)
        creates_folder = not target.file.parent.exists()
    target.backup_file.parent.mkdir(parents=True, exist_ok=True)
    about = {"file": str(target.file), "folder_made": creates_folder}
    record = {**about, "before": was, "after": _pack(after)}
    write_atomically(target.backup_file, json.dumps(record).encode())


def _memory(target: HookTarget) -> dict[str, Any]:
    try:
        record = json.loads(target.backup_file.read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    fits = isinstance(record, dict) and record.get("file") == str(target.file)
    return record if fits else {}
