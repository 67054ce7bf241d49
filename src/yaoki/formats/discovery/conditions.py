"""Conditions of the tables: a word, a colon, and what must be there.

`file:GLOB` a path below the folder, `*` within one name.  `has:FILE~REGEX` a text of it.
`needs:NAME` a dependency, `table:PATH` a TOML table, `section:NAME` one of an ini file,
`script:`, `task:`, `target:`, `key:`, `manager:` what manifests name; a `*` may stand at the end.
`tool:NAME` and `kind:KIND` ask for what was found of the same language already.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Set
from fnmatch import fnmatchcase

from yaoki.formats.discovery.tree import ProjectFolder

ONE = "*?["


def first_match(
    conditions: Iterable[str], folder: ProjectFolder, found: Set[str] = frozenset()
) -> str:
    """The file that makes one of them hold, the first of them; empty when none does."""
    held = (matching_file(condition, folder, found) for condition in conditions)
    return next((file for file in held if file), "")


def matching_file(condition: str, folder: ProjectFolder, found: Set[str]) -> str:
    """The file that makes a condition hold, or nothing."""
    sort, _, rest = condition.partition(":")
    match sort:
        case "file":
            return _file(rest, folder)
        case "has":
            name, _, pattern = rest.partition("~")
            text = folder.texts.get(name, "")
            return name if text and re.search(pattern, text, re.MULTILINE) else ""
        case "tool" | "kind":
            return folder.path if condition in found else ""
        case _ if condition.endswith("*"):
            named = sorted(fact for fact in folder.facts if fact.startswith(condition[:-1]))
            return folder.facts[named[0]] if named else ""
        case _:
            return folder.facts.get(condition, "")


def _file(glob: str, folder: ProjectFolder) -> str:
    if not any(sign in glob for sign in ONE):
        return glob if glob in folder.names else ""
    depth, parts = glob.count("/"), glob.split("/")
    for name in sorted(folder.names):
        if name.count("/") == depth:
            pairs = zip(name.split("/"), parts, strict=True)
            if all(fnmatchcase(one, part) for one, part in pairs):
                return name
    return ""
