"""Repair of a damaged store: quarantine, restore from the newest good backup, replay the journal.

The new database is built next to the old one and moved last, so a kill at any instant leaves
something that the next opening notices and repairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yaoki.adapters.store.journal_file.journal_file import JournalFile
from yaoki.adapters.store.sqlite.database import (
    SqliteDatabase,
    sync_to_disk,
    translate_sqlite_errors,
)
from yaoki.adapters.store.sqlite.examination import find_damage, last_seq_of_backup, list_backups
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import StoreMismatch
from yaoki.core.text import format_count
from yaoki.errors import StoreCorrupt

if TYPE_CHECKING:
    from yaoki.adapters.store.paths import StorePaths
    from yaoki.adapters.store.replay import JournalLine, ReplayTotals
    from yaoki.adapters.store.sql import StoreLimits
    from yaoki.ports import Clock

REPORTED_LINES_MAX = 5


@dataclass(frozen=True, slots=True)
class RepairRequest:
    """The facts of a repair that are known before it begins."""

    paths: StorePaths
    damage: str
    quarantine: Path
    clock: Clock
    limits: StoreLimits


def repair_if_damaged(
    paths: StorePaths, clock: Clock, limits: StoreLimits, warn: Callable[[str], None]
) -> None:
    """Examine the store under the writer lock, and repair it if it is damaged.

    A concurrent command waits for the lock and finds the store repaired.
    """
    with translate_sqlite_errors(paths.path), paths.lock_writers():
        journal_file = JournalFile(paths.journal)
        damage = find_damage(paths, journal_file)
        if damage:
            quarantine = _free_folder(paths.quarantine, clock.now())
            warn(_repair(RepairRequest(paths, damage, quarantine, clock, limits), journal_file))
        # A kill after the exchange may have left this.
        remove_rebuilt(paths)
        paths.damage_marker.unlink(missing_ok=True)


def _repair(request: RepairRequest, journal_file: JournalFile) -> str:
    paths = request.paths
    skipped = [copy for copy in list_backups(paths) if last_seq_of_backup(copy) < 0]
    base = next((copy for copy in list_backups(paths) if copy not in skipped), None)
    if base is None and journal_file.last_seq() == 0:
        raise _unrepairable(request, "there is neither a good backup nor a journal file")
    remove_rebuilt(paths)
    paths.rebuild.mkdir(parents=True)
    rebuilt = paths.rebuild / paths.path.name
    try:
        message = _rebuild(request, rebuilt, base, skipped, journal_file)
        _exchange(request, rebuilt)
    finally:
        remove_rebuilt(paths)
    return message


def remove_rebuilt(paths: StorePaths) -> None:
    if not paths.rebuild.exists():
        return
    import shutil  # slow to import, and most openings repair nothing

    shutil.rmtree(paths.rebuild, ignore_errors=True)


def _rebuild(
    request: RepairRequest,
    rebuilt: Path,
    base: Path | None,
    skipped: list[Path],
    journal_file: JournalFile,
) -> str:
    """Write the new database, closed and synced to the disk; returns the message about it."""
    import shutil

    from yaoki.adapters.store.migrations import migrate
    from yaoki.adapters.store.replay import JournalReplay
    from yaoki.adapters.store.sql import SqlStore
    from yaoki.adapters.store.trust_marks import delete_trust_marks

    if base is not None:
        shutil.copyfile(base, rebuilt)
    database = SqliteDatabase(rebuilt, durable=False)
    with closing(SqlStore(database, request.clock, request.limits)) as store:
        migrate(database, request.paths.rebuild / "backups")
        database.write(delete_trust_marks)
        damaged: list[str] = []
        replay = JournalReplay(database, request.limits)
        totals = replay.replay(_intact_lines(journal_file, damaged), after=store.last_seq())
        if incomplete := replay.find_incomplete_runs():
            lost = format_count(totals.missing, "line")
            reason = f"run {incomplete[0]} cannot be rebuilt: the journal file lacks {lost}"
            raise _unrepairable(request, reason)
        report = _report(request, base, skipped, totals, damaged)
        for run in store.runs():
            if run.finished_at is None:
                store.note(run.id, "RECONCILED", report)
    sync_to_disk(rebuilt)
    return _message(request, report)


def _intact_lines(journal_file: JournalFile, damaged: list[str]) -> Iterator[JournalLine]:
    for position, line in journal_file.read_lines():
        if line is None:
            damaged.append(position)
        else:
            yield line


def _report(
    request: RepairRequest,
    base: Path | None,
    skipped: list[Path],
    totals: ReplayTotals,
    damaged: list[str],
) -> dict[str, Any]:
    return {
        "mismatch": StoreMismatch.CORRUPT_STORE,
        "damage": request.damage,
        "quarantine": str(request.quarantine),
        "restored_from": str(base) if base else "the journal file alone",
        "damaged_backups": [copy.name for copy in skipped],
        "replayed": totals.lines,
        "lost": totals.missing + len(totals.unapplied),
        "skipped": (totals.unapplied + damaged)[:REPORTED_LINES_MAX],
        "repair": "quarantined and rebuilt",
    }


def _message(request: RepairRequest, report: Mapping[str, Any]) -> str:
    lost = (
        f"; {format_count(report['lost'], 'line is', 'lines are')} lost" if report["lost"] else ""
    )
    return (
        f"the store {request.paths.path} was damaged: {request.damage}; the damaged file is in "
        f"{request.quarantine}; restored from {report['restored_from']}, "
        f"{format_count(report['replayed'], 'line')} of the journal replayed{lost}"
    )


def _exchange(request: RepairRequest, rebuilt: Path) -> None:
    """Move the database first: until the new one is in place, the next opening sees the loss."""
    request.quarantine.mkdir(parents=True)
    for file in request.paths.files:
        if file.exists():
            file.rename(request.quarantine / file.name)
    sync_to_disk(request.quarantine)
    rebuilt.replace(request.paths.path)
    sync_to_disk(request.paths.path.parent)


def _free_folder(quarantine: Path, now: datetime) -> Path:
    name = f"{now:%Y%m%dT%H%M%S}"
    names = (name, *(f"{name}-{n}" for n in range(2, 10_000)))
    return next(quarantine / each for each in names if not (quarantine / each).exists())


def _unrepairable(request: RepairRequest, reason: str) -> StoreCorrupt:
    path = request.paths.path
    return StoreCorrupt(
        f"{path} is damaged or not a yaoki store ({request.damage}), and {reason}",
        hint=f"restore a good copy, or move {path.parent} away to start over; landed work is safe "
        f"on the branches yaoki/*, backups would be in {request.paths.backups}",
    )
