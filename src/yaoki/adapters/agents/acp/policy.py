"""What an agent may do when it asks: what is not allowed by name is denied."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from yaoki.adapters.agents.structured.summary import text_at, value_at
from yaoki.core.lazy_dataclass import dataclass

KINDS = (
    *("read", "edit", "delete", "move", "search", "execute", "think", "fetch"),
    *("switch_mode", "other"),
)
ALL = "*"
# These must say which files they mean, and every one has to lie in the worktree.
CHANGING = frozenset({"edit", "delete", "move"})
PLACES_MAX = 1000


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """`allow` holds kinds of tools, names of tools, or `*`; `worktree` bounds every change."""

    allow: frozenset[str]
    worktree: Path

    def denial_reason(self, call: Mapping[str, Any], tool: str = "") -> str:
        """Why this tool call is denied; empty when it is allowed."""
        kind = text_at(call, "kind") or "other"
        if not self.allow & {ALL, kind, *filter(None, (tool, *_named(call)))}:
            return f"{kind} is not allowed"
        if kind not in CHANGING:
            return ""
        named = list_named_files(call)
        if not named:
            return "it does not say which files it means"
        return next((why for path in named if (why := self.path_denial_reason(path))), "")

    def write_denial_reason(self, path: str) -> str:
        """Why this file is not written for the agent; empty when it is."""
        if not self.allow & {ALL, "edit"}:
            return "edit is not allowed"
        return self.path_denial_reason(path)

    def path_denial_reason(self, path: str) -> str:
        """Why this path is none of the worktree's own files; links are followed."""
        if "\0" in path or not path:
            return "that is no path"
        top = self.worktree.resolve()
        try:
            real = (top / path).resolve()
        except (OSError, RuntimeError, ValueError):
            return f"{path[:200]!r} is no path of a file here"
        if real == top or not real.is_relative_to(top):
            return f"{path[:200]} is outside the worktree"
        inner = real.relative_to(top).parts
        return f"{path[:200]} belongs to git" if ".git" in inner else ""


def list_named_files(call: Mapping[str, Any]) -> tuple[str, ...]:
    """Every file that a tool call names."""
    held = (*_items(call, "locations"), *_items(call, "content"))
    named = dict.fromkeys(path for item in held if (path := text_at(item, "path")))
    return tuple(named)[:PLACES_MAX]


def _items(call: Mapping[str, Any], key: str) -> Iterable[Any]:
    found = value_at(call, key)
    return found if isinstance(found, list) else ()


def _named(call: Mapping[str, Any]) -> Iterable[str]:
    """The tool's own name, where an adapter tells it: `_meta.claudeCode.toolName`."""
    meta = value_at(call, "_meta")
    held = meta.values() if isinstance(meta, dict) else ()
    return tuple(name for one in held if (name := text_at(one, "toolName")))


def choose_outcome(options: Sequence[Any], *, allowed: bool) -> dict[str, Any]:
    """The outcome in the agent's own options: once, never for good; else the request is void."""
    wanted = ("allow_once",) if allowed else ("reject_once", "reject_always")
    for kind in wanted:
        for option in options:
            if text_at(option, "kind") == kind and (chosen := text_at(option, "optionId")):
                return {"outcome": "selected", "optionId": chosen}
    return {"outcome": "cancelled"}
