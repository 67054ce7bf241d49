"""Finished runs move from the store to an archive, which is written and read back first.

Order: the complete archive, the rows in one transaction, then logs and refs, last the line of the
index.  After a crash at any point the next pruning continues there.
"""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yaoki.adapters.store import run_archive
from yaoki.adapters.store.journal_file.checksummed_line import RUN_ARCHIVED
from yaoki.adapters.store.run_archive import (
    ARCHIVE_SUFFIX,
    BUNDLE,
    JOURNAL,
    REPORT,
    ROWS,
    Manifest,
)
from yaoki.adapters.store.sqlite.database import sync_to_disk
from yaoki.adapters.store.tables import retention
from yaoki.adapters.system.folders import remove_tree
from yaoki.app.run_view import view_run
from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import RunId
from yaoki.core.retention import RetentionDecision, RunLifetime, decide_retention
from yaoki.errors import NotNow, YaokiError

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import Run

PAGE = 1000
NAMES_MAX = 1000
RUNS_READ = 50
PART = ".tar.gz.part"
NAME = lazy_compile(r"[a-z0-9]{8}(-\d+)?\.tar\.gz")


@dataclass(frozen=True, slots=True)
class ArchivedRun:
    """An archived run, with its file and the refs that stay in the repository."""

    run_id: str
    reason: str
    file: Path
    size_bytes: int
    refs_kept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PruneResult:
    """The result of one pruning; `failures` are runs that stay because of an error."""

    archived: tuple[ArchivedRun, ...]
    failures: Mapping[str, str]


def list_forgettable_runs(app: App) -> list[Run]:
    """The finished runs whose work is merged, or that landed nothing; newest first."""
    lives = reversed(retention.read_lifetimes(app.store.database))
    over = [life.run_id for life in lives if life.finished_at and not life.open_reason]
    views = [view_run(app, app.store.run(RunId(run_id))) for run_id in over[:RUNS_READ]]
    return [
        view.run
        for view in views
        if (view.run.merged_commit or not view.landable_tasks_landed) and not view.unmerged_reverts
    ]


class RunArchiver:
    """For one repository; one process at a time."""

    def __init__(self, app: App) -> None:
        self._app, self._store, self._database = app, app.store, app.store.database
        self.folder = app.yaoki_folder / "archive"
        self._making = self.folder / ".making"
        self._git = app.workspace.recovery.ref_archive()

    # -------------------------------------------------------------- looking

    def decide_retention(self) -> list[RetentionDecision]:
        """Every run of the store, oldest first, with the decision whether to archive it."""
        left = self._runs_with_worktree()
        lives = [_with_worktree(life, left) for life in retention.read_lifetimes(self._database)]
        return decide_retention(lives, self._app.settings.archive, self._app.clock.now())

    def _runs_with_worktree(self) -> frozenset[str]:
        """The runs that have a worktree on this machine."""
        return frozenset(
            name.partition("-")[0] for name in self._app.workspace.worktrees.tasks_with_worktree()
        )

    def measure_run_bytes(self, run_id: str) -> int:
        """Bytes that a run takes now, without its git objects."""
        logs = sum(run_archive.files_below(self._logs(run_id)).values())
        return logs + retention.journal_bytes(self._database, run_id)

    def _logs(self, run_id: str) -> Path:
        return self._app.runs_folder / run_id

    # -------------------------------------------------------------- doing

    def prune(self, *, limit: int = 0, except_runs: Collection[str] = ()) -> PruneResult:
        """Finish interrupted archives, then archive at most `limit` runs; 0 means all due."""
        done: list[ArchivedRun] = []
        failed: dict[str, str] = {}
        unused = timedelta(days=self._app.settings.archive.after_days)
        self._app.context.proof_rooms.remove_unused(self._app.clock.now() - unused)
        with self._lock():
            for path in self._interrupted_archives():
                with _record_errors(_run_of(path), failed):
                    done.append(self._delete_logs_and_refs(path, run_archive.read_manifest(path)))
            due = [
                fate
                for fate in self._sweep_worktrees()
                if fate.is_archived and fate.lifetime.run_id not in except_runs
            ]
            for fate in due[: limit or len(due)]:
                with _record_errors(fate.lifetime.run_id, failed):
                    done.append(self._archive(fate))
        return PruneResult(tuple(done), failed)

    def forget(self, run: Run, *, unmerged: bool = False) -> ArchivedRun:
        """Archive one run now, whatever its age; `unmerged` also deletes a branch that no other
        branch contains.
        """
        with self._lock():
            self._app.control.sweep(run)
            left = self._runs_with_worktree()
            lives = retention.read_lifetimes(self._database)
            life = next(_with_worktree(life, left) for life in lives if life.run_id == run.id)
            if life.finished_at is None or life.open_reason:
                reason = life.open_reason or "it is not finished"
                words = f"run {run.id} cannot be archived: {reason}"
                raise NotNow(words, hint=f"yaoki cancel {run.id}")
            decision = RetentionDecision(life, True, "a person wanted to forget it")
            return self._archive(decision, unmerged=unmerged)

    @contextmanager
    def _lock(self) -> Iterator[None]:
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / ".lock").open("ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as held:
                raise NotNow(
                    "another yaoki prune is running here", hint="try again later: yaoki prune"
                ) from held
            shutil.rmtree(self._making, ignore_errors=True)
            self._making.mkdir()
            try:
                yield
            finally:
                shutil.rmtree(self._making, ignore_errors=True)

    def _sweep_worktrees(self) -> list[RetentionDecision]:
        """Save the work of the worktrees of a run that is due, and remove them."""
        lives, left = retention.read_lifetimes(self._database), self._runs_with_worktree()
        for fate in decide_retention(lives, self._app.settings.archive, self._app.clock.now()):
            if fate.is_archived and fate.lifetime.run_id in left:
                self._app.control.sweep(self._store.run(fate.lifetime.run_id))
        return self.decide_retention()

    def _interrupted_archives(self) -> list[Path]:
        """Archives whose rows are deleted already and that the index lacks."""
        known = run_archive.read_index(self.folder)
        stored = {str(run.id) for run in self._store.runs()}
        archives = sorted(self.folder.glob(f"*{ARCHIVE_SUFFIX}"))
        ours = [path for path in archives if NAME.fullmatch(path.name) and path.name not in known]
        return [path for path in ours if _run_of(path) not in stored]

    def _archive(self, fate: RetentionDecision, *, unmerged: bool = False) -> ArchivedRun:
        run_id = fate.lifetime.run_id
        refs = self._git.list_refs(run_id)
        path = self._earlier_archive(run_id, refs)
        fresh = path is None
        path = path or self._make(fate, refs)
        manifest = run_archive.read_manifest(path)
        entry = {**_index_entry(manifest, path), "why": fate.reason}
        now = self._app.clock.now()
        if not retention.delete_archived_run(
            self._database, run_id, now, last_seq=manifest.last, data=entry
        ):
            if fresh:
                path.unlink()
            raise NotNow(f"run {run_id} continued in the meantime", hint="yaoki prune")
        return self._delete_logs_and_refs(path, manifest, unmerged=unmerged)

    def _earlier_archive(self, run_id: str, refs: Mapping[str, str]) -> Path | None:
        """An archive that a crash left before the rows were deleted, if it still holds the whole
        run.
        """
        for path in sorted(self.folder.glob(f"{run_id}*{ARCHIVE_SUFFIX}")):
            with suppress(YaokiError):  # an archive that cannot be read back is left alone
                manifest = run_archive.read_manifest(path)
                whole = all(manifest.refs.get(name) == commit for name, commit in refs.items())
                if manifest.run == run_id and manifest.last == self._last(run_id) and whole:
                    self._read_back(path)
                    return path
        return None

    def _last(self, run_id: str) -> int:
        with self._database.read() as link:
            return retention.last_seq_of_run(link, run_id)

    # -------------------------------------------------------------- making

    def _make(self, fate: RetentionDecision, refs: Mapping[str, str]) -> Path:
        """Written to a temporary file, read back, and only then renamed."""
        run_id = fate.lifetime.run_id
        parts = self._making / run_id
        parts.mkdir()
        manifest = self._gather(fate, refs, parts)
        part = self._making / f"{run_id}{PART}"
        run_archive.write_archive(part, parts, self._logs(run_id), manifest)
        self._read_back(part)
        path = self._free_path(run_id)
        part.rename(path)
        sync_to_disk(self.folder)
        return path

    def _gather(self, fate: RetentionDecision, refs: Mapping[str, str], parts: Path) -> Manifest:
        life, run_id = fate.lifetime, fate.lifetime.run_id
        assert life.finished_at is not None, f"{run_id} is not finished"
        last = self._last(run_id)
        run = self._store.run(run_id)
        base = run.base
        (parts / REPORT).write_text(self._report_text(run), encoding="utf-8")
        rows = (
            {"table": t, "row": row} for t, row in retention.read_run_rows(self._database, run_id)
        )
        lines = {
            JOURNAL: run_archive.write_lines(parts / JOURNAL, self._journal(run_id, last)),
            ROWS: run_archive.write_lines(parts / ROWS, rows),
        }
        self._git.write_bundle(run_id, base, refs, parts / BUNDLE)
        files = {
            **run_archive.files_below(parts),
            **run_archive.files_below(self._logs(run_id), "logs"),
        }
        return Manifest(
            run=run_id,
            goal=life.goal,
            base=base,
            created_at=life.created_at.isoformat(),
            finished_at=life.finished_at.isoformat(),
            archived_at=self._app.clock.now().isoformat(),
            why=fate.reason,
            last=last,
            lines=lines,
            refs=refs,
            files=files,
        )

    def _report_text(self, run: Run) -> str:
        """The report as `yaoki report` prints it; a run whose report cannot be made is archived
        with the reason instead.
        """
        from yaoki.app.report import make_report, render_report

        try:
            return render_report(make_report(self._app, run), "text")
        except YaokiError as error:
            return f"no report of run {run.id} could be made: {error.sentence}\n"

    def _journal(self, run_id: str, last: int) -> Iterator[dict[str, Any]]:
        """The same documents as `yaoki trace --jsonl`."""
        from yaoki.views import SCHEMA, entry_document

        after = 0
        while page := self._store.journal(run_id=run_id, after=after, limit=PAGE):
            for entry in page:
                if entry.seq <= last and entry.event != RUN_ARCHIVED:
                    yield {"schema": SCHEMA, **entry_document(entry)}
            after = page[-1].seq

    def _read_back(self, path: Path) -> None:
        bundle = self._making / f"{path.name}.bundle"
        manifest = run_archive.read_back(path, bundle)
        self._git.verify_bundle(manifest.run, manifest.refs, bundle if bundle.exists() else None)
        bundle.unlink(missing_ok=True)

    def _free_path(self, run_id: str) -> Path:
        """An archive is never overwritten."""
        names = (run_id, *(f"{run_id}-{n}" for n in range(2, NAMES_MAX)))
        paths = (self.folder / f"{name}{ARCHIVE_SUFFIX}" for name in names)
        return next(path for path in paths if not path.exists())

    # -------------------------------------------------------------- clearing

    def _delete_logs_and_refs(
        self, path: Path, manifest: Manifest, *, unmerged: bool = False
    ) -> ArchivedRun:
        """Delete logs and refs, which the archive holds; the index records that this is done."""
        logs = self._logs(manifest.run)
        if logs.is_dir():
            remove_tree(logs)
        kept = tuple(self._git.delete_refs(manifest.run, manifest.refs, unmerged=unmerged))
        self._git.forget_missing_worktrees(manifest.run)
        entry = _index_entry(manifest, path)
        line = {"event": RUN_ARCHIVED, **entry, "refs_kept": list(kept)}
        run_archive.add_to_index(self.folder, line)
        return ArchivedRun(manifest.run, manifest.why, path, path.stat().st_size, kept)


@contextmanager
def _record_errors(run_id: str, failed: dict[str, str]) -> Iterator[None]:
    """An error of one run is recorded and does not stop the others."""
    try:
        yield
    except (YaokiError, OSError) as error:
        failed[run_id] = str(error)


def _with_worktree(life: RunLifetime, worktrees: Collection[str]) -> RunLifetime:
    if life.run_id not in worktrees or life.open_reason:
        return life
    return replace(life, open_reason="it still has a worktree")


def _run_of(path: Path) -> str:
    return path.name.removesuffix(ARCHIVE_SUFFIX).partition("-")[0]


def _index_entry(manifest: Manifest, path: Path) -> dict[str, Any]:
    return {
        "run": manifest.run,
        "goal": manifest.goal,
        "created_at": manifest.created_at,
        "finished_at": manifest.finished_at,
        "archived_at": manifest.archived_at,
        "why": manifest.why,
        "file": path.name,
        "bytes": path.stat().st_size,
        "lines": manifest.lines[JOURNAL],
        "refs": len(manifest.refs),
    }
