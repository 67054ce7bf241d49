"""Old failures and new ones: what stood at the base is told, not blamed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from yaoki.core.counting import count
from yaoki.core.model import CheckSpec, Finding, Item, Outcome
from yaoki.core.wire import to_data

KNOWN = "known"
RAW = ("errorOutput", "stdout", "stderr")
# What the readers of checks make of an output, one entry for each item.
LISTS = ("failedTests", "typeErrors", "lintErrors", "unformattedFiles")
COUNT = "failureCount"


def command_key(spec: CheckSpec, setup: Sequence[Sequence[str]] = ()) -> str:
    """The same command under the same conditions has the same key, whatever the check is called."""
    parts = (
        spec.type,
        spec.argv,
        spec.shell,
        spec.path,
        spec.file,
        spec.git,
        spec.success,
        spec.reader,
    )
    more = (spec.cwd, dict(spec.env), spec.entry, spec.options, setup)
    text = json.dumps(to_data([*parts, *more]), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def weigh(now: Finding, base: Finding, fixes: Sequence[str]) -> Finding:
    """The finding of a guard.  Only what is new, or what the task was to mend, fails it.

    Where the failures have no names nobody can tell old from new, so the finding stands.
    """
    if now.outcome is not Outcome.FAILED or base.outcome is not Outcome.FAILED:
        return now
    if not now.items or not base.items or _cut(now.items) or _cut(base.items):
        words = f"{now.message} (the base fails too, and old and new cannot be told apart)"
        return replace(now, message=words)
    old = {item.name for item in base.items}
    blamed = tuple(i for i in now.items if i.name not in old or _wanted(i, fixes))
    known = tuple(i.name for i in now.items if i not in blamed)
    if not blamed:
        words = f"{count(len(known), 'failure')} stood at the base already: {', '.join(known[:5])}"
        params = {**now.params, KNOWN: list(known)}
        return replace(now, outcome=Outcome.PASSED, message=words, items=(), params=params)
    words = f"{count(len(blamed), 'failure is', 'failures are')} this task's: {_told(blamed[0])}"
    params = {**_only(now, blamed), KNOWN: list(known)}
    if not known:
        return replace(now, message=words, items=blamed, params=params)
    # The raw output speaks of old failures too, so only the named new ones go back to the agent.
    named = {key: held for key, held in params.items() if key not in RAW}
    return replace(now, message=words, items=blamed, params=named, output="")


def unmatched(fixes: Sequence[str], bases: Sequence[Finding]) -> tuple[str, ...]:
    """The names to mend that no failure of the base has; of a list that was cut nobody knows."""
    if any(_cut(base.items) for base in bases):
        return ()
    items = [item for base in bases if base.outcome is Outcome.FAILED for item in base.items]
    return tuple(name for name in fixes if not any(_wanted(item, (name,)) for item in items))


def _only(now: Finding, blamed: Sequence[Item]) -> dict[str, Any]:
    """The params without what is not blamed; readers list the same faults in the same order."""
    kept = [at for at, item in enumerate(now.items) if item in blamed]
    whole = {k: v for k, v in now.params.items() if k in LISTS and len(v) == len(now.items)}
    lists = {name: [value[at] for at in kept] for name, value in whole.items()}
    count = {COUNT: len(kept)} if COUNT in now.params else {}
    return {**now.params, **lists, **count}


def _told(item: Item) -> str:
    return f"{item.name}: {item.message}" if item.message else item.name


def _wanted(item: Item, fixes: Sequence[str]) -> bool:
    return any(item.name == name or fnmatchcase(item.name, name) for name in fixes)


def _cut(items: Sequence[Item]) -> bool:
    """A list that ends in `and 7 more` is not whole."""
    return any(item.name.startswith("and ") and item.name.endswith(" more") for item in items)
