"""The conditions in the language tables: a word, a colon, and what must exist.

`file:GLOB` is a path below the folder, `*` within one name.  `has:FILE~REGEX` matches its text.
`needs:NAME` is a dependency, `table:PATH` a TOML table, `section:NAME` a section of an ini file,
`script:`, `task:`, `target:`, `key:`, `manager:` are names in manifests; a `*` may be at the end.
`venv:*` is a virtual environment of the checkout.
`tool:NAME` and `kind:KIND` mean that it was already found for the same language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Set

from yaoki.core.scope import matches_name
from yaoki.formats.discovery.tree import ProjectFolder

ONE = "*?["


def first_match(
    conditions: Iterable[str], folder: ProjectFolder, earlier: Set[str] = frozenset()
) -> str:
    """The file that satisfies the first condition that holds; empty when none does."""
    files = (matching_file(condition, folder, earlier) for condition in conditions)
    return next((file for file in files if file), "")


def matching_file(condition: str, folder: ProjectFolder, earlier: Set[str]) -> str:
    """The file that satisfies a condition; empty when there is none."""
    sort, _, rest = condition.partition(":")
    match sort:
        case "file":
            return _file(rest, folder)
        case "has":
            name, _, pattern = rest.partition("~")
            text = folder.texts.get(name, "")
            return name if text and re.search(pattern, text, re.MULTILINE) else ""
        case "tool" | "kind":
            return folder.path if condition in earlier else ""
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
            if all(matches_name(one, part) for one, part in pairs):
                return name
    return ""
