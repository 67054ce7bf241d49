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

from yaoki.adapters.store.journal_file.journal_file import JournalFile
from yaoki.adapters.store.migrations import migrate
from yaoki.adapters.store.paths import StorePaths
from yaoki.adapters.store.replay import JournalLine, ReplayStore, ReplayTotals
from yaoki.adapters.store.sqlite.database import (
    SqliteDatabase,
    sync_to_disk,
    translate_sqlite_errors,
)
from yaoki.adapters.store.sqlite.examination import find_damage, last_seq_of_backup, list_backups
from yaoki.adapters.store.trust_marks import delete_trust_marks
from yaoki.core.text import format_count
from yaoki.errors import StoreCorrupt
from yaoki.ports import Clock

SKIPPED_TOLD = 5


@dataclass(frozen=True, slots=True)
class RepairRequest:
    """What is known of one repair before it begins."""

    places: StorePaths
    damage: str
    quarantine: Path
    clock: Clock
    limits: Mapping[str, Any]


def repair_if_damaged(
    places: StorePaths, clock: Clock, limits: Mapping[str, Any], warn: Callable[[str], None]
) -> None:
    """Look at the store in our turn, and repair it when it is damaged.

    Whoever comes at the same time waits, and finds it repaired.
    """
    with translate_sqlite_errors(places.path), places.lock_writers():
        witness = JournalFile(places.journal)
        wrong = find_damage(places, witness)
        if wrong:
            aside = _free(places.quarantine, clock.now())
            warn(_repaired(RepairRequest(places, wrong, aside, clock, limits), witness))
        # What a kill after the exchange left is of no more use.
        shutil.rmtree(places.rebuild, ignore_errors=True)
        places.damage_marker.unlink(missing_ok=True)


def _repaired(asked: RepairRequest, witness: JournalFile) -> str:
    places = asked.places
    skipped = [copy for copy in list_backups(places) if last_seq_of_backup(copy) < 0]
    base = next((copy for copy in list_backups(places) if copy not in skipped), None)
    if base is None and witness.last_seq() == 0:
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
    asked: RepairRequest, made: Path, base: Path | None, skipped: list[Path], witness: JournalFile
) -> str:
    """The new database, closed and on the disk; returns what to say of it."""
    if base is not None:
        shutil.copyfile(base, made)
    database = SqliteDatabase(made, durable=False)
    with closing(ReplayStore(database, asked.clock, **asked.limits)) as store:
        migrate(database, asked.places.rebuild / "backups")
        database.write(delete_trust_marks)
        damaged: list[str] = []
        done = store.replay(_whole(witness, damaged))
        if missing := store.find_incomplete_runs():
            lost = format_count(done.missing, "line")
            words = f"the journal file lacks {lost}"
            raise _hopeless(asked, f"run {missing[0]} cannot be made again whole: {words}")
        report = _report(asked, base, skipped, done, damaged)
        for run in store.runs():
            if run.finished_at is None:
                store.note(run.id, "RECONCILED", report)
    sync_to_disk(made)
    return _words(asked, report)


def _whole(witness: JournalFile, damaged: list[str]) -> Iterator[JournalLine]:
    for place, line in witness.read_lines():
        if line is None:
            damaged.append(place)
        else:
            yield line


def _report(
    asked: RepairRequest,
    base: Path | None,
    skipped: list[Path],
    done: ReplayTotals,
    damaged: list[str],
) -> dict[str, Any]:
    return {
        "mismatch": "corrupt store",
        "damage": asked.damage,
        "quarantine": str(asked.quarantine),
        "restored_from": str(base) if base else "the journal file alone",
        "damaged_backups": [copy.name for copy in skipped],
        "replayed": done.lines,
        "lost": done.missing + len(done.unapplied),
        "skipped": (done.unapplied + damaged)[:SKIPPED_TOLD],
        "repair": "set aside and made again",
    }


def _words(asked: RepairRequest, report: Mapping[str, Any]) -> str:
    lost = (
        f"; {format_count(report['lost'], 'line is', 'lines are')} lost" if report["lost"] else ""
    )
    return (
        f"the store {asked.places.path} was damaged: {asked.damage}; it was set aside in "
        f"{asked.quarantine} and restored from {report['restored_from']}, "
        f"{format_count(report['replayed'], 'line')} of the journal replayed{lost}"
    )


def _exchange(asked: RepairRequest, made: Path) -> None:
    """The database goes first: from then on the loss is seen until the new one stands."""
    asked.quarantine.mkdir(parents=True)
    for file in asked.places.files:
        if file.exists():
            file.rename(asked.quarantine / file.name)
    sync_to_disk(asked.quarantine)
    made.replace(asked.places.path)
    sync_to_disk(asked.places.path.parent)


def _free(quarantine: Path, now: datetime) -> Path:
    name = f"{now:%Y%m%dT%H%M%S}"
    names = (name, *(f"{name}-{n}" for n in range(2, 10_000)))
    return next(quarantine / each for each in names if not (quarantine / each).exists())


def _hopeless(asked: RepairRequest, why: str) -> StoreCorrupt:
    path = asked.places.path
    return StoreCorrupt(
        f"{path} is damaged or not a yaoki store ({asked.damage}), and {why}",
        hint=f"put a good copy of it there, or move {path.parent} away to begin anew; landed work "
        "is safe on the branches yaoki/*, backups would be in " + str(asked.places.backups),
    )
