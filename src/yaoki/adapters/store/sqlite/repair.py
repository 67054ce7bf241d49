"""A damaged store made again: set aside, restored from its newest good backup, caught up.

The new database is made whole beside the old one and moved last, so a kill at any instant leaves
something that the next opening notices and repairs.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from yaoki.adapters.store.journal_file.journal_file import Witness
from yaoki.adapters.store.migrations import migrate
from yaoki.adapters.store.paths import Places
from yaoki.adapters.store.sqlite.database import SqliteDatabase, sync, told
from yaoki.adapters.store.sqlite.examination import copies, damage, good
from yaoki.adapters.store.tables.replay import Line, Replayed, Replays
from yaoki.adapters.store.tables.store_marks import forget_marks
from yaoki.core.counting import count
from yaoki.errors import StoreBroken
from yaoki.ports import Clock

SKIPPED_TOLD = 5


@dataclass(frozen=True, slots=True)
class Repair:
    """What is known of one repair before it begins."""

    places: Places
    wrong: str
    aside: Path
    clock: Clock
    limits: Mapping[str, Any]


def mend(
    places: Places, clock: Clock, limits: Mapping[str, Any], warn: Callable[[str], None]
) -> None:
    """Look at the store in our turn, and repair it when it is damaged.

    Whoever comes at the same time waits, and finds it repaired.
    """
    with told(places.path), places.locked():
        witness = Witness(places.journal)
        wrong = damage(places, witness)
        if wrong:
            aside = _free(places.quarantine, clock.now())
            warn(_repaired(Repair(places, wrong, aside, clock, limits), witness))
        # What a kill after the exchange left is of no more use.
        shutil.rmtree(places.rebuild, ignore_errors=True)
        places.suspect.unlink(missing_ok=True)


def _repaired(asked: Repair, witness: Witness) -> str:
    places = asked.places
    skipped = [copy for copy in copies(places) if good(copy) < 0]
    base = next((copy for copy in copies(places) if copy not in skipped), None)
    if base is None and witness.last() == 0:
        raise _hopeless(asked, "there is neither a good backup nor a journal file")
    shutil.rmtree(places.rebuild, ignore_errors=True)
    places.rebuild.mkdir(parents=True)
    made = places.rebuild / places.path.name
    try:
        words = _rebuilt(asked, made, base, skipped, witness)
        _exchange(asked, made)
    finally:
        shutil.rmtree(places.rebuild, ignore_errors=True)
    return words


def _rebuilt(
    asked: Repair, made: Path, base: Path | None, skipped: list[Path], witness: Witness
) -> str:
    """The new database, closed and on the disk; returns what to say of it."""
    if base is not None:
        shutil.copyfile(base, made)
    database = SqliteDatabase(made, durable=False)
    with closing(Replays(database, asked.clock, **asked.limits)) as store:
        migrate(database, asked.places.rebuild / "backups")
        database.write(forget_marks)
        damaged: list[str] = []
        done = store.replay(_whole(witness, damaged))
        if missing := store.incomplete():
            lost = count(done.missing, "line")
            words = f"the journal file lacks {lost}"
            raise _hopeless(asked, f"run {missing[0]} cannot be made again whole: {words}")
        report = _report(asked, base, skipped, done, damaged)
        for run in store.runs():
            if run.summed_at is None:
                store.note(run.id, "RECONCILED", report)
    sync(made)
    return _words(asked, report)


def _whole(witness: Witness, damaged: list[str]) -> Iterator[Line]:
    for place, line in witness.lines():
        if line is None:
            damaged.append(place)
        else:
            yield line


def _report(
    asked: Repair, base: Path | None, skipped: list[Path], done: Replayed, damaged: list[str]
) -> dict[str, Any]:
    return {
        "mismatch": "corrupt store",
        "damage": asked.wrong,
        "quarantine": str(asked.aside),
        "restored_from": str(base) if base else "the journal file alone",
        "damaged_backups": [copy.name for copy in skipped],
        "replayed": done.lines,
        "lost": done.missing + len(done.unapplied),
        "skipped": (done.unapplied + damaged)[:SKIPPED_TOLD],
        "repair": "set aside and made again",
    }


def _words(asked: Repair, report: Mapping[str, Any]) -> str:
    lost = f"; {count(report['lost'], 'line is', 'lines are')} lost" if report["lost"] else ""
    return (
        f"the store {asked.places.path} was damaged: {asked.wrong}; it was set aside in "
        f"{asked.aside} and restored from {report['restored_from']}, "
        f"{count(report['replayed'], 'line')} of the journal replayed{lost}"
    )


def _exchange(asked: Repair, made: Path) -> None:
    """The database goes first: from then on the loss is seen until the new one stands."""
    asked.aside.mkdir(parents=True)
    for file in asked.places.files:
        if file.exists():
            file.rename(asked.aside / file.name)
    sync(asked.aside)
    made.replace(asked.places.path)
    sync(asked.places.path.parent)


def _free(quarantine: Path, now: datetime) -> Path:
    name = f"{now:%Y%m%dT%H%M%S}"
    names = (name, *(f"{name}-{n}" for n in range(2, 10_000)))
    return next(quarantine / each for each in names if not (quarantine / each).exists())


def _hopeless(asked: Repair, why: str) -> StoreBroken:
    path = asked.places.path
    return StoreBroken(
        f"{path} is damaged or not a yaoki store ({asked.wrong}), and {why}",
        hint=f"put a good copy of it there, or move {path.parent} away to begin anew; landed work "
        "is safe on the branches yaoki/*, backups would be in " + str(asked.places.backups),
    )
