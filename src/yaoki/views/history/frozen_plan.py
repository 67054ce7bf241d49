"""The plan of a run as the journal has it: a digest over it, and the identity of each check."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from yaoki.core.decide.baseline import command_key
from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.core.machine.codec import from_data
from yaoki.core.model import Catalogue, CheckSpec, CheckType
from yaoki.ports import JournalEntry


@dataclass(frozen=True, slots=True)
class CheckIdentity:
    """The command of a check, whatever the check is called."""

    type: str
    identity: str
    command: str


@dataclass(slots=True)
class FrozenPlan:
    """The plan of a run as the journal has it: its digest, and what each check runs.

    `task_checks` has the checks that are not in the catalogue, each with the number of the journal
    entry from which on it is the one that runs.
    """

    catalogue: Catalogue
    task_checks: dict[tuple[str, str], list[tuple[int, CheckIdentity]]] = field(
        default_factory=dict
    )
    _sum: Any = field(default_factory=hashlib.sha256)
    _shared_checks: dict[str, CheckIdentity] = field(default_factory=dict)

    def add(self, entry: JournalEntry) -> None:
        if entry.event == "PLAN_SUBMITTED":
            run = entry.data.get("run", {})
            self._hash({k: run.get(k) for k in ("goal", "done_when", "catalogue")})
        elif entry.event == "TASK_SUBMITTED":
            self._add_spec(entry, entry.data["spec"])
        elif entry.event == "CHECKS_REVISED":
            self._add_spec(entry, entry.data["revision"])

    @property
    def digest(self) -> str:
        """SHA-256 over the frozen plan, then every task's specification and revision in order."""
        return str(self._sum.hexdigest())

    def check_identity(self, task_id: str, name: str, seq: int) -> CheckIdentity | None:
        """The check as the plan defined it when the journal entry `seq` was written; None for a
        built-in criterion on every change.
        """
        for since, identity in reversed(self.task_checks.get((task_id, name), ())):
            if since <= seq:
                return identity
        if name not in self._shared_checks and name in self.catalogue.checks:
            self._shared_checks[name] = identify_check(self.catalogue.checks[name])
        return self._shared_checks.get(name)

    def _hash(self, data: Any) -> None:
        line = json.dumps(data, sort_keys=True, separators=(",", ":"))
        self._sum.update(f"{line}\n".encode())

    def _add_spec(self, entry: JournalEntry, spec: Mapping[str, Any]) -> None:
        self._hash(spec)
        for data in spec.get("checks", ()):
            if not isinstance(data, str):
                check = from_data(CheckSpec, data)
                known = self.task_checks.setdefault((entry.task_id, check.name), [])
                known.append((entry.seq, identify_check(check)))


def identify_check(spec: CheckSpec) -> CheckIdentity:
    command = spec.shell or " ".join(spec.argv) or spec.ask or spec.git or spec.entry or spec.path
    if spec.type is CheckType.FILE:
        command = " ".join([*(f"{k} {v}" for k, v in spec.file.items()), spec.path]).strip()
    return CheckIdentity(spec.type, command_key(spec), command)
