"""The runs of other checkouts of this clone: each linked git worktree has a store of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.app.repository import YAOKI_FOLDER, RepositoryContext
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.text import format_count, list_some, quote_path
from yaoki.errors import RunInOtherCheckout, Unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

STORE = "state.db"
RUNS_NAMED = 3
# A shorter text could as well be the name of a task.
ID_CHARS_MIN = 4


@dataclass(frozen=True, slots=True)
class OtherCheckout:
    """A checkout with a store; `run_ids` is None if the store cannot be read."""

    folder: Path
    run_ids: frozenset[str] | None


def list_other_checkouts(context: RepositoryContext) -> Iterator[OtherCheckout]:
    """The other checkouts of the clone that have a store, with their runs and archived runs."""
    from yaoki.adapters.store.known_runs import read_run_ids  # most clones have one checkout

    for folder in context.list_other_checkouts():
        store = folder / YAOKI_FOLDER / STORE
        if os.path.isfile(store):  # noqa: PTH113 - false also where it may not be looked for
            runs = read_run_ids(store)
            archived = list_archived_run_ids(folder / YAOKI_FOLDER)
            yield OtherCheckout(folder, None if runs is None else runs | archived)


def list_archived_run_ids(home: Path) -> frozenset[str]:
    return frozenset(file.name.partition(".")[0] for file in list_archives(home))


def list_archives(home: Path) -> list[Path]:
    return list((home / "archive").glob("*.tar.gz"))


def find_run_elsewhere(context: RepositoryContext, text: str) -> RunInOtherCheckout | None:
    """The error for a run that only another checkout has, or for a task of it.

    `text` is the id of a run, its beginning or branch, or the id of a task.
    """
    run_id = text.removeprefix("yaoki/").partition("-")[0]
    if len(run_id) < ID_CHARS_MIN:
        return None
    for checkout in list_other_checkouts(context):
        path = quote_path(str(checkout.folder))
        for known in sorted(checkout.run_ids or ()):
            if known.startswith(run_id):
                return RunInOtherCheckout(known, str(checkout.folder), path)
    return None


def make_runs_elsewhere_error(context: RepositoryContext) -> Unknown | None:
    """The error for a checkout without runs; None if no other one has any, either."""
    others = [other for other in list_other_checkouts(context) if other.run_ids]
    if not others:
        return None
    stores = (
        f"{_describe_runs(sorted(other.run_ids or ()))} in the store of {other.folder}, "
        "another checkout of this clone"
        for other in others
    )
    hint = "; ".join(_suggest_status(other) for other in others)
    return Unknown(f"there is no run in this checkout; {'; '.join(stores)}", hint=hint)


def _describe_runs(run_ids: Sequence[str]) -> str:
    if len(run_ids) == 1:
        return f"run {run_ids[0]} is"
    return f"{format_count(len(run_ids), 'run')} ({list_some(run_ids, RUNS_NAMED)}) are"


def _suggest_status(other: OtherCheckout) -> str:
    """The command that shows the only run of the checkout, or its newest one."""
    runs = [*(other.run_ids or ())]
    words = ("yaoki status", *runs) if len(runs) == 1 else ("yaoki status",)
    return f"cd {quote_path(str(other.folder))} && {' '.join(words)}"
