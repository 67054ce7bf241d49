"""Which changed paths lie outside the scope a task declared.

Globs stand at the root of the repository.  `*` and `?` stay inside one name, `**`
spans folders, a plain path covers everything beneath it, `!` takes paths out again.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from itertools import pairwise

_WILD = frozenset("*?[")
# Settings decide what the next run proves: only a task whose scope names them may change them.
SETTINGS = "yaoki.toml"
# Merged, this folder would overwrite the store of whoever merges.  No task may bring it.
STATE = ".yaoki"

# What an editor, an agent or git starts by itself in the next session of whoever merges.
SESSION_FOLDERS = frozenset(
    {
        *(
            ".claude",
            ".codex",
            ".gemini",
            ".qwen",
            ".cursor",
            ".continue",
            ".opencode",
            ".windsurf",
        ),
        *(".husky", ".githooks", ".devcontainer"),
    }
)
# Below these, agents keep notes that nobody starts.
SESSION_NOTES = frozenset({"session-state", "logs", "plans", "todos"})
SESSION_FILES = frozenset({".mcp.json", ".envrc", "opencode.json", "opencode.jsonc"})
SESSION_PATHS = (".vscode/tasks.json", ".vscode/mcp.json")


def paths_outside_scope(changed: Iterable[str], scope: Iterable[str]) -> tuple[str, ...]:
    """The changed paths no glob covers, in order.  No scope declared: nothing is outside."""
    globs = tuple(scope)
    if not globs:
        return ()
    return tuple(sorted(path for path in changed if not is_in_scope(path, globs)))


def yaoki_paths(changed: Iterable[str], scope: Iterable[str]) -> tuple[str, ...]:
    """The changed paths that are yaoki's own, but for settings that the scope names."""
    given = tuple(scope)
    allowed = bool(given) and is_in_scope(SETTINGS, given)
    own = (path for path in changed if path.partition("/")[0].casefold() in {SETTINGS, STATE})
    return tuple(sorted(path for path in own if path != SETTINGS or not allowed))


def session_paths(changed: Iterable[str], scope: Iterable[str]) -> tuple[str, ...]:
    """The changed paths by which a program is started in a person's next session.

    Only a glob that names the file or its folder allows one: `**` means the work, not this.
    """
    given = tuple(scope)
    return tuple(
        sorted(
            path
            for path in changed
            if (name := _session_name(path)) and not _names(given, path, name)
        )
    )


def _session_name(path: str) -> str:
    """The part of a path that makes it one; empty when it is none."""
    *folders, last = path.split("/")
    pairs = pairwise([*folders, last])
    held = (one for one, inside in pairs if inside.casefold() not in SESSION_NOTES)
    folder = next((one for one in held if one.casefold() in SESSION_FOLDERS), "")
    if folder or last.casefold() in SESSION_FILES:
        return folder or last
    whole = path.casefold()
    return last if any(whole == one or whole.endswith(f"/{one}") for one in SESSION_PATHS) else ""


def _names(scope: tuple[str, ...], path: str, name: str) -> bool:
    named = (glob for glob in scope if name in glob.split("/"))
    return is_in_scope(path, scope) and any(matches_glob(path, glob) for glob in named)


def is_in_scope(path: str, globs: Iterable[str]) -> bool:
    """Does the scope hold this path?  The last glob that matches has the say."""
    inside = False
    for glob in globs:
        taken_out = glob.startswith("!")
        if matches_glob(path, glob.removeprefix("!")):
            inside = not taken_out
    return inside


def matches_glob(path: str, glob: str) -> bool:
    """Match name by name.  Keeping the set of reachable places makes many `**` cheap."""
    names = [name for name in path.split("/") if name]
    parts = [part for part in glob.removeprefix("./").split("/") if part]
    beneath = bool(parts) and (glob.endswith("/") or not _WILD & set(parts[-1]))
    if parts and parts[-1] == "**":
        parts[-1], beneath = "*", True
    places = _walk(names, parts) if parts else set()
    return bool(places) if beneath else len(names) in places


def _walk(names: list[str], parts: list[str]) -> set[int]:
    """How many names the whole glob may have used up."""
    places = {0}
    for part in parts:
        if part == "**":
            places = set(range(min(places, default=len(names) + 1), len(names) + 1))
        else:
            places = {at + 1 for at in places if at < len(names) and fnmatchcase(names[at], part)}
    return places
