"""Results of checks on commits that tasks build on.  Each public method is one transaction."""

from __future__ import annotations

import json

from yaoki.adapters.store.database import Database, retries_reads
from yaoki.adapters.store.rows import dump_json
from yaoki.adapters.store.tables import statements as sql
from yaoki.core.machine.value_codec import from_data, to_data
from yaoki.core.model import Finding


class BaselineFindings:
    """Findings by commit and command."""

    def __init__(self, database: Database) -> None:
        self._db = database

    @retries_reads
    def baseline(self, commit: str, command: str) -> Finding | None:
        with self._db.read() as tx:
            row = tx.row(sql.BASELINE, {"commit_id": commit, "command": command})
            return from_data(Finding, json.loads(row["finding"])) if row else None

    def save_baseline(self, commit: str, command: str, finding: Finding) -> None:
        params = {"commit_id": commit, "command": command, "finding": dump_json(to_data(finding))}
        self._db.write(lambda tx: tx.run(sql.INSERT_BASELINE, params))
