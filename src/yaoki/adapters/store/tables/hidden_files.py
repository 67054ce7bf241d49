"""The files of hidden checks, by their digest.  Each public method is one transaction."""

from __future__ import annotations

from pathlib import Path

from yaoki.adapters.store.database import Database, retries_reads
from yaoki.adapters.store.tables import statements as sql


class HiddenFileRows:
    """Frozen at submit, so that no later change of their folder changes a check."""

    def __init__(self, database: Database) -> None:
        self._db = database

    @retries_reads
    def hidden_files(self, digest: str) -> str | None:
        with self._db.read() as tx:
            row = tx.row(sql.HIDDEN_FILES, {"digest": digest})
            return str(row["content"]) if row else None

    @retries_reads
    def hidden_folders(self) -> tuple[Path, ...]:
        with self._db.read() as tx:
            return tuple(Path(str(row["folder"])) for row in tx.rows(sql.HIDDEN_FOLDERS, {}))

    def save_hidden_files(self, digest: str, folder: str, content: str) -> None:
        params = {"digest": digest, "folder": folder, "content": content}
        self._db.write(lambda tx: tx.run(sql.INSERT_HIDDEN_FILES, params))
