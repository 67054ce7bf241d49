"""Detection of changed paths outside the scope of a task.

Globs are relative to the root of the repository.  `*` and `?` match within one name, `**` spans
folders, a plain path covers everything below it, `!` excludes paths again.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from itertools import pairwise

_WILD = frozenset("*?[")
# Settings define what the next run checks: only a task whose scope names them may change them.
SETTINGS = "yaoki.toml"
# A merge of this folder would overwrite the user's store, so no task may add it.
STATE = ".yaoki"

# Files that an editor, an agent or git executes in the next session of the user.
SESSION_FOLDERS = frozenset(
    {
        *(".claude", ".codex", ".gemini", ".qwen", ".opencode", ".pi", ".vibe", ".continue"),
        *(".cline", ".clinerules", ".openhands", ".copilot", ".cursor", ".windsurf", ".kiro"),
        *(".amp", ".augment", ".crush", ".factory", ".kilocode", ".roo"),
        *(".husky", ".githooks", ".devcontainer"),
    }
)
# Folders where agents keep notes that are never executed.
SESSION_NOTES = frozenset({"session-state", "logs", "plans", "todos"})
SESSION_FILES = frozenset(
    {
        *(".mcp.json", ".envrc", "opencode.json", "opencode.jsonc", ".aider.conf.yml"),
        *("gptme.toml", "crush.json", ".crush.json"),
    }
)
SESSION_PATHS = (".vscode/tasks.json", ".vscode/mcp.json", ".zed/tasks.json", ".zed/settings.json")
# Everything below these.
SESSION_SUBFOLDERS = (".github/hooks",)


def paths_outside_scope(changed: Iterable[str], scope: Iterable[str]) -> tuple[str, ...]:
    """The changed paths that no glob covers, in order.  Without a scope nothing is outside."""
    globs = tuple(scope)
    if not globs:
        return ()
    return tuple(sorted(path for path in changed if not is_in_scope(path, globs)))


def yaoki_paths(changed: Iterable[str], scope: Iterable[str]) -> tuple[str, ...]:
    """The changed paths that belong to yaoki, except settings that the scope names."""
    globs = tuple(scope)
    allowed = bool(globs) and is_in_scope(SETTINGS, globs)
    own = (path for path in changed if path.partition("/")[0].casefold() in {SETTINGS, STATE})
    return tuple(sorted(path for path in own if path != SETTINGS or not allowed))


def session_paths(changed: Iterable[str], scope: Iterable[str]) -> tuple[str, ...]:
    """The changed paths that would start a program in the user's next session.

    Only a glob that names the file or its folder allows one: `**` means the work, not these.
    """
    globs = tuple(scope)
    return tuple(
        sorted(
            path
            for path in changed
            if (name := _session_name(path)) and not _names(globs, path, name)
        )
    )


def _session_name(path: str) -> str:
    """The part of a path that makes it such a path; empty when it is none."""
    *folders, last = path.split("/")
    pairs = pairwise([*folders, last])
    candidates = (one for one, inside in pairs if inside.casefold() not in SESSION_NOTES)
    folder = next((one for one in candidates if one.casefold() in SESSION_FOLDERS), "")
    if folder or last.casefold() in SESSION_FILES:
        return folder or last
    folded_path = f"/{path.casefold()}"
    if any(folded_path.endswith(f"/{one}") for one in SESSION_PATHS):
        return last
    return "hooks" if any(f"/{one}/" in folded_path for one in SESSION_SUBFOLDERS) else ""


def _names(scope: tuple[str, ...], path: str, name: str) -> bool:
    named = (glob for glob in scope if name in glob.split("/"))
    return is_in_scope(path, scope) and any(matches_glob(path, glob) for glob in named)


def is_in_scope(path: str, globs: Iterable[str]) -> bool:
    """Is the path in the scope?  The last matching glob decides."""
    inside = False
    for glob in globs:
        taken_out = glob.startswith("!")
        if matches_glob(path, glob.removeprefix("!")):
            inside = not taken_out
    return inside


def matches_glob(path: str, glob: str) -> bool:
    """Match name by name; the set of reachable positions keeps many `**` cheap."""
    names = [name for name in path.split("/") if name]
    parts = [part for part in glob.removeprefix("./").split("/") if part]
    beneath = bool(parts) and (glob.endswith("/") or not _WILD & set(parts[-1]))
    if parts and parts[-1] == "**":
        parts[-1], beneath = "*", True
    places = _walk(names, parts) if parts else set()
    return bool(places) if beneath else len(names) in places


def _walk(names: list[str], parts: list[str]) -> set[int]:
    """The positions in the path that the whole glob can reach."""
    places = {0}
    for part in parts:
        if part == "**":
            places = set(range(min(places, default=len(names) + 1), len(names) + 1))
        else:
            places = {at + 1 for at in places if at < len(names) and matches_name(names[at], part)}
    return places


def matches_name(name: str, pattern: str) -> bool:
    """Like `fnmatchcase`, which compiles a pattern even where it is a plain name."""
    return fnmatchcase(name, pattern) if _WILD & set(pattern) else name == pattern
