"""A whole run folded from its journal, one page after the other."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field
from datetime import datetime
from typing import Any

from yaoki.core.decide.baseline import command_key
from yaoki.core.decide.rules import PERSON_AGENT
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.machine.codec import from_data
from yaoki.core.model import Catalogue, CheckSpec
from yaoki.ports import JournalEntry
from yaoki.report.attempts import TaskRecord
from yaoki.views.warnings import RunWarnings

ANSWERS_KEPT = 200
COUNTED_EVENTS = ("LEASE_EXPIRED", "LAND_REFUSED", "RESULT_REFUSED", "TASK_UNLANDED", "TASK_UNDONE")


@dataclass(frozen=True, slots=True)
class CheckIdentity:
    """What a check is, whatever it is called."""

    type: str
    identity: str
    command: str


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """What a person decided."""

    at: datetime
    task_id: str
    choice: str
    check: str
    words: str
    channel: str = ""


@dataclass(slots=True)
class JournalSummary:
    """Everything the report needs of the journal; the journal itself is not kept."""

    catalogue: Catalogue
    tasks: dict[str, TaskRecord] = field(default_factory=dict)
    task_checks: dict[tuple[str, str], CheckIdentity] = field(default_factory=dict)
    agent_runs: int = 0
    agent_s: float = 0.0
    cost: float = 0.0
    cost_unknown_runs: int = 0
    tokens: int = 0
    tokens_unknown_runs: int = 0
    event_counts: Counter[str] = field(default_factory=Counter)
    answers: list[RecordedAnswer] = field(default_factory=list)
    answers_left_out: int = 0
    warnings: RunWarnings = field(default_factory=RunWarnings)
    merged_into: str = ""
    last_at: datetime | None = None
    _plan: Any = field(default_factory=hashlib.sha256)
    _shared: dict[str, CheckIdentity] = field(default_factory=dict)
    # Tasks that a person works on: what ends there next is no agent.
    _persons: set[str] = field(default_factory=set)
    # Tasks whose agent was started and counted; what it took is told when it ends, if ever.
    _begun: set[str] = field(default_factory=set)

    def add(self, entry: JournalEntry) -> None:
        self.last_at = entry.at
        match entry.event:
            case "PLAN_SUBMITTED":
                run = entry.data.get("run", {})
                self._digest({k: run.get(k) for k in ("goal", "done_when", "catalogue")})
            case "TASK_SUBMITTED":
                self._submitted(entry)
            case "ATTEMPT_STARTED" if entry.data.get("agent") == PERSON_AGENT:
                self._persons.add(entry.task_id)
            case "PROMPT_SENT":
                self._begin(entry.task_id)
            case "AGENT_FINISHED" if entry.task_id in self._persons:
                self._persons.discard(entry.task_id)
            case "AGENT_FINISHED":
                self._spent(entry.task_id, entry.data["exit"])
            case "ESCALATION_ANSWERED":
                self._answered(entry)
            case "RUN_MERGED":
                self.merged_into = str(entry.data.get("branch", ""))
            case _:
                pass  # of one task, or of no interest here
        self.warnings.add(entry)
        if entry.event in COUNTED_EVENTS:
            self.event_counts[entry.event] += 1
        if entry.task_id:
            self.tasks.setdefault(entry.task_id, TaskRecord()).add(entry)

    @property
    def plan_digest(self) -> str:
        """Over the plan as it was frozen, then every task's specification, in order."""
        return str(self._plan.hexdigest())

    def check_identity(self, task_id: str, name: str) -> CheckIdentity | None:
        """What the plan says of a check; None for what must hold of any change."""
        if (task_id, name) in self.task_checks:
            return self.task_checks[task_id, name]
        if name not in self._shared and name in self.catalogue.checks:
            self._shared[name] = _known(self.catalogue.checks[name])
        return self._shared.get(name)

    def _digest(self, data: Any) -> None:
        line = json.dumps(data, sort_keys=True, separators=(",", ":"))
        self._plan.update(f"{line}\n".encode())

    def _submitted(self, entry: JournalEntry) -> None:
        spec: Mapping[str, Any] = entry.data["spec"]
        self._digest(spec)
        for held in spec.get("checks", ()):
            if not isinstance(held, str):
                one = from_data(CheckSpec, held)
                self.task_checks[entry.task_id, one.name] = _known(one)

    def _begin(self, task_id: str) -> None:
        """A run counts from its start, for nobody may ever hear how it ended."""
        self._begun.add(task_id)
        self.agent_runs += 1
        self.cost_unknown_runs += 1
        self.tokens_unknown_runs += 1

    def _spent(self, task_id: str, exit_: Mapping[str, Any]) -> None:
        """What was not told is counted, never taken for zero."""
        cost, tokens = exit_.get("cost"), exit_.get("tokens")
        if task_id not in self._begun:
            self._begin(task_id)
        self._begun.discard(task_id)
        self.agent_s += exit_.get("seconds", 0.0)
        self.cost += cost or 0.0
        self.cost_unknown_runs -= cost is not None
        self.tokens += tokens or 0
        self.tokens_unknown_runs -= tokens is not None

    def _answered(self, entry: JournalEntry) -> None:
        if len(self.answers) >= ANSWERS_KEPT:
            self.answers_left_out += 1
            return
        words, check = entry.data.get("words", ""), entry.data.get("check", "")
        how = entry.data.get("how", "")
        choice = entry.data["choice"]
        self.answers.append(RecordedAnswer(entry.at, entry.task_id, choice, check, words, how))


def _known(spec: CheckSpec) -> CheckIdentity:
    command = spec.shell or " ".join(spec.argv) or spec.ask or spec.git or spec.entry or spec.path
    if spec.type == "file":
        command = " ".join([*(f"{k} {v}" for k, v in spec.file.items()), spec.path]).strip()
    return CheckIdentity(spec.type, command_key(spec), command)


def summarize_journal(catalogue: Catalogue, entries: Iterable[JournalEntry]) -> JournalSummary:
    """`entries` oldest first; they are looked at once."""
    made = JournalSummary(catalogue)
    for entry in entries:
        made.add(entry)
    return made
