"""The journal of a run as its report needs it: the history, and the identity of each check."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from yaoki.core.decide.baseline import command_key
from yaoki.core.machine.codec import from_data
from yaoki.core.model import Catalogue, CheckSpec
from yaoki.ports import JournalEntry
from yaoki.views.history import RunHistory


@dataclass(frozen=True, slots=True)
class CheckIdentity:
    """What a check runs, whatever its name is."""

    type: str
    identity: str
    command: str


@dataclass(slots=True)
class JournalSummary:
    """Everything the report needs of the journal: the run's history, and its plan as frozen."""

    catalogue: Catalogue
    history: RunHistory = field(default_factory=RunHistory)
    task_checks: dict[tuple[str, str], CheckIdentity] = field(default_factory=dict)
    _plan: Any = field(default_factory=hashlib.sha256)
    _shared_checks: dict[str, CheckIdentity] = field(default_factory=dict)

    def add(self, entry: JournalEntry) -> None:
        self.history.add(entry)
        if entry.event == "PLAN_SUBMITTED":
            run = entry.data.get("run", {})
            self._digest({k: run.get(k) for k in ("goal", "done_when", "catalogue")})
        elif entry.event == "TASK_SUBMITTED":
            self._add_spec(entry)

    @property
    def plan_digest(self) -> str:
        """SHA-256 over the frozen plan, then every task's specification in order."""
        return str(self._plan.hexdigest())

    def check_identity(self, task_id: str, name: str) -> CheckIdentity | None:
        """The check as the plan defines it; None for a built-in criterion on every change."""
        if (task_id, name) in self.task_checks:
            return self.task_checks[task_id, name]
        if name not in self._shared_checks and name in self.catalogue.checks:
            self._shared_checks[name] = identify_check(self.catalogue.checks[name])
        return self._shared_checks.get(name)

    def _digest(self, data: Any) -> None:
        line = json.dumps(data, sort_keys=True, separators=(",", ":"))
        self._plan.update(f"{line}\n".encode())

    def _add_spec(self, entry: JournalEntry) -> None:
        spec: Mapping[str, Any] = entry.data["spec"]
        self._digest(spec)
        for data in spec.get("checks", ()):
            if not isinstance(data, str):
                check = from_data(CheckSpec, data)
                self.task_checks[entry.task_id, check.name] = identify_check(check)


def identify_check(spec: CheckSpec) -> CheckIdentity:
    command = spec.shell or " ".join(spec.argv) or spec.ask or spec.git or spec.entry or spec.path
    if spec.type == "file":
        command = " ".join([*(f"{k} {v}" for k, v in spec.file.items()), spec.path]).strip()
    return CheckIdentity(spec.type, command_key(spec), command)


def summarize_journal(catalogue: Catalogue, entries: Iterable[JournalEntry]) -> JournalSummary:
    """`entries` are the journal of one run, oldest first; they are read once."""
    summary = JournalSummary(catalogue)
    for entry in entries:
        summary.add(entry)
    return summary
