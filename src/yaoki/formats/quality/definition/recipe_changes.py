"""Compares recipes before and after a change: does each goal of the checks still run the same?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import FindingItem
from yaoki.formats.quality.definition.file_index import FileIndex
from yaoki.formats.quality.definition.reached_files import ReachedFiles
from yaoki.formats.quality.definition.recipes import is_opaque
from yaoki.formats.quality.definition.scripts import only_adds

CHANGED = "what the check runs was changed"
_RUNS = ("recipe", "needs", "script")
_REACHES_ALL = ("variable", "switch")
Meaning = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class RecipeChange:
    """`item` is None when the recipe only grew, so that a second run of the check decides."""

    where: str
    item: FindingItem | None = None


def find_recipe_changes(
    before: ReachedFiles, after: ReachedFiles, changed: set[str], candidate: FileIndex
) -> Iterator[RecipeChange]:
    for key, old in before.meanings.items():
        # A recipe that the base does not have belongs to the task.
        if not any(lines for name, lines in old.items() if name.startswith(_RUNS)):
            continue
        files = (*after.participants.get(key, ()), *before.participants[key])
        where = next((path for path in files if path in changed), "")
        new = after.meanings.get(key)
        if where and new is None:
            yield RecipeChange(where, FindingItem(key, "the recipe of the check is gone", where))
        elif where and new is not None:
            yield from _parts(old, new, where)
            # Without the new files the old ones must be as they were, or an include is missing.
            added = set(after.participants.get(key, ())) - set(before.participants[key])
            if any(is_opaque(candidate.text(path)) for path in added):
                yield from (RecipeChange(path) for path in dict.fromkeys(files) if path in changed)


def _parts(old: Meaning, new: Meaning, where: str) -> Iterator[RecipeChange]:
    for name in {**old, **new}:
        was, now = old.get(name, ()), new.get(name, ())
        if was == now or not (any(was) or any(now)):
            continue
        # A script before or after the old one may do anything; an extra line may be an extra check.
        unsure = not name.startswith(_REACHES_ALL) and only_adds(was, now) if was else True
        unsure = unsure and not name.startswith(_REACHES_ALL)
        yield RecipeChange(where, None if unsure else FindingItem(name, CHANGED, where))
