"""Does a check pass only because the work silences the tool that it runs (rule 17.4)?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import GAMED_CHECK, Finding, FindingItem, Outcome
from yaoki.core.model.suppression import Suppression

PATTERN = "gamed"
PLACES_MAX, SHOWN = 20, 3
HIDES = "silences a finding that the base has in this file"
HIDES_ALL = "silences the whole file"
_NAMES = lazy_compile(r"[`\"'][^`\"']*[`\"']|\d+|\s*\(\d+\)$")
_ASKS = lazy_compile(
    r"\b(?:suppress|silenc)\w*|\bnoqa\b|\btype:\s*ignore\b|\beslint-disable|@ts-(?:ignore|nocheck|expect)"
    r"|\bno[ -]cover\b|\b(?:istanbul|c8|v8) ignore\b|\bexclud\w*\b.{0,60}\bfrom (?:the )?coverage\b"
    r"|\b(?:ignore|disable|allow)\s+(?:comments?|attributes?)\b",
    re.IGNORECASE,
)
# The words of the comment itself.
_NO_COVER = lazy_compile(r"\bno[ -](?:cover|branch)\b", re.IGNORECASE)
_NEGATION = lazy_compile(r"\b(?:not?|never|cannot|without|instead of)\b|n['’]t\b", re.IGNORECASE)


def asks_for_suppressions(goal: str) -> bool:
    """Does a sentence of the goal ask for them, and none forbid them?"""
    about = [one for one in re.split(r"(?<=[.;!?])\s+", goal) if _ASKS.search(one)]
    return bool(about) and not any(_NEGATION.search(_NO_COVER.sub("", one)) for one in about)


def find_hiding(
    added: Sequence[Suppression], without: Finding, base: Finding, deleted: Set[str]
) -> tuple[FindingItem, ...]:
    """The suppressions that hide what the base has.  `without` is the result without them.

    The only thing that the base need not have is a new finding about a new import.
    """
    if without.outcome is not Outcome.FAILED:
        return ()
    kinds = {_kind(item) for item in base.items} if base.outcome is Outcome.FAILED else set()
    items = tuple(_hiding(added, without, base, deleted, kinds))
    return tuple(dict.fromkeys(items))


def _hiding(
    added: Sequence[Suppression],
    without: Finding,
    base: Finding,
    deleted: Set[str],
    kinds: Set[str],
) -> Iterator[FindingItem]:
    for one in added:
        hidden = [item for item in without.items if _is_in(item, one.path)]
        if not hidden and _is_complete(without):
            continue
        if one.is_import:
            here = [item for item in hidden if _line(item) == one.line]
            if here and not any(_kind(item) in kinds for item in here):
                continue
        if base.outcome is Outcome.FAILED and _has_finding(one, hidden, base, deleted, kinds):
            yield FindingItem(one.place, f"{one.words}: {HIDES}", one.place)
        elif one.is_whole_file and not one.is_new_file:
            yield FindingItem(one.place, f"{one.words}: {HIDES_ALL}", one.place)


def _has_finding(
    one: Suppression,
    hidden: Sequence[FindingItem],
    base: Finding,
    deleted: Set[str],
    kinds: Set[str],
) -> bool:
    if not _is_complete(base):
        # The tool may have found it beyond the listed findings, or said it in another form.
        return not one.is_new_file
    if any(_is_in(item, one.path) for item in base.items):
        return True
    moved = any(_is_in(item, path) for item in base.items for path in deleted)
    return one.is_new_file and moved and any(_kind(item) in kinds for item in hidden)


def _is_complete(finding: Finding) -> bool:
    """Does the result name the place of every finding?"""
    return bool(finding.items) and all(item.where for item in finding.items)


def _is_in(item: FindingItem, path: str) -> bool:
    file = item.where.partition(":")[0].removeprefix("./")
    return bool(file) and (file == path or path.endswith(f"/{file}") or file.endswith(f"/{path}"))


def _line(item: FindingItem) -> int:
    number = item.where.partition(":")[2].partition(":")[0]
    return int(number) if number.isdecimal() else 0


def _kind(item: FindingItem) -> str:
    """The finding without the place and names that it mentions."""
    words = item.message or item.name.removeprefix(item.where).lstrip(": ")
    return _NAMES.sub("", words)


def hiding_finding(check: str, items: Sequence[FindingItem], seconds: float) -> Finding:
    shown = tuple(items[:PLACES_MAX])
    places = ", ".join(f"{item.name} ({item.message})" for item in shown[:SHOWN])
    return Finding(
        GAMED_CHECK,
        Outcome.FAILED,
        pattern=PATTERN,
        message=f"check {check} passes only because the change silences its tool: {places}",
        items=shown,
        params={"tellTales": [{"name": one.name, "message": one.message} for one in shown]},
        seconds=seconds,
    )
