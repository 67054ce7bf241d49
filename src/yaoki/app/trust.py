"""Trust on first use: no command that a repository brings is started before a person accepts it.

It may bring commands in its settings, those of a committed plan, and a store that was not created
here.  The acceptance is stored in the user's own state, by content.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from yaoki.adapters.system.trust_file import TrustFile
from yaoki.app.command_inventory import list_commands, list_settings_commands
from yaoki.app.warning_output import print_warning
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.text import format_count
from yaoki.core.trust import (
    FileCommands,
    TrustRecord,
    describe_changes,
)
from yaoki.errors import Fault, NotNow, Untrusted
from yaoki.ports import SANDBOX_VARIABLE

if TYPE_CHECKING:
    from yaoki.adapters.git.repository import GitRepository
    from yaoki.adapters.store import SqlStore
    from yaoki.core.settings.settings import Settings

LINES_MAX = 200
OPEN_RUNS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class TrustQuestion:
    """The question to a person: lines with the commands, or with what changed since the last
    answer.
    """

    repository_folder: str
    clone_path: str
    lines: tuple[str, ...]
    contents: tuple[FileCommands, ...] = ()
    is_repeated: bool = False
    has_foreign_store: bool = False

    @property
    def sentence(self) -> str:
        if self.is_repeated:
            return f"what {self.repository_folder} would run has changed since it was trusted"
        brought = (
            "brings a store that was not created here"
            if self.has_foreign_store
            else "would run commands"
        )
        return f"{self.repository_folder} is not trusted, and {brought}"

    @property
    def command(self) -> str:
        here = Path.cwd().is_relative_to(self.repository_folder)
        return "yaoki trust" if here else f"yaoki trust {shlex.quote(self.repository_folder)}"

    @property
    def shown_lines(self) -> list[str]:
        """Bounded; the rest is counted."""
        more = len(self.lines) - LINES_MAX
        rest = [f"  … and {format_count(more, 'line')} more"] if more > 0 else []
        return [*self.lines[:LINES_MAX], *rest]


class TrustContext(Protocol):
    """The parts of a repository that `Trust` needs."""

    @property
    def repository(self) -> GitRepository: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def store(self) -> SqlStore: ...
    @property
    def store_path(self) -> Path: ...
    @property
    def store_override(self) -> str: ...
    @property
    def is_store_on_server(self) -> bool: ...


class Trust:
    """The trust in one repository, for as long as it is open."""

    def __init__(self, context: TrustContext) -> None:
        self._context = context
        self._file = TrustFile()
        self._clear = False

    @cached_property
    def clone_path(self) -> str:
        """The path of the clone, which all its worktrees share."""
        common = self._context.repository.common_dir
        return str(common.parent if common.name == ".git" else common)

    @property
    def is_known(self) -> bool:
        """Was anything ever trusted here?"""
        record, _ = self._file.read()
        return self.clone_path in record.places or record.covers(self.clone_path)

    @property
    def is_below_trusted_folder(self) -> bool:
        """Is everything here trusted without a question?"""
        return self._file.read()[0].covers(self.clone_path)

    def require_trusted(self) -> None:
        """Raise `Untrusted` unless everything the repository brings is trusted; checked once per
        process.

        A worker continues with what it began, even if the files are edited meanwhile.
        """
        if not self._clear and (question := self.find_question()) is not None:
            raise make_untrusted_error(question)
        self._clear = True

    def find_question(
        self, *more: FileCommands, look_into_store: bool = False
    ) -> TrustQuestion | None:
        """The question to ask before any of it, or of `more`, is started; None when all is trusted.

        `look_into_store` also opens a store that was not created here and lists its commands.
        """
        record, defect = self._file.read()
        if record.covers(self.clone_path):
            return None
        trusted = record.places.get(self.clone_path, {})
        contents = (self._settings_commands, *more)
        lines = list(
            dict.fromkeys(line for one in contents for line in describe_changes(one, trusted))
        )
        store = self._is_foreign_store(record)
        if store:
            lines.append(f"  {self._context.store_path}: a store that was not created here")
            lines += self._store_lines() if look_into_store else ()
        if not lines:
            return None
        if defect:
            print_warning(f"{defect}; nothing is trusted; to trust it again: yaoki trust")
        again = bool(trusted) and not store
        top = str(self._context.repository.top)
        return TrustQuestion(
            top, self.clone_path, tuple(lines), contents, is_repeated=again, has_foreign_store=store
        )

    def accept(self, question: TrustQuestion) -> None:
        """Store the acceptance before anything is started."""
        refuse_attempts()
        place, contents = question.clone_path, question.contents
        self._file.update(lambda record: record.with_content(place, contents))
        if question.has_foreign_store:
            from yaoki.adapters.store import add_trust_mark, make_trust_mark

            mark, path = make_trust_mark(), str(self._context.store_path.resolve())
            self._file.update(lambda record: record.with_store(mark, path))
            add_trust_mark(self._context.store.database, mark)
        self._clear = True

    def accept_settings(self) -> None:
        """Trust settings that yaoki has just written for a person who was asked."""
        record, _ = self._file.read()
        content = self._settings_commands
        if content.commands and not record.covers(self.clone_path) and not is_called_by_attempt():
            self._file.update(lambda stored: stored.with_content(self.clone_path, (content,)))

    # -------------------------------------------------------------- the store

    def register_new_store(self) -> str:
        """Register the mark before the store exists, so that the store is known when it is found.

        Where the mark cannot be stored, the next command asks; a run reports the cause by itself.
        """
        from yaoki.adapters.store import make_trust_mark

        mark, path = make_trust_mark(), str(self._context.store_path.resolve())
        try:
            self._file.update(lambda record: record.with_store(mark, path))
        except Fault:
            return ""
        return mark

    def _is_foreign_store(self, record: TrustRecord) -> bool:
        """The address of a server is in the settings: a repository can only bring files."""
        if self._context.is_store_on_server:
            return False
        from yaoki.adapters.store import read_trust_marks

        marks = read_trust_marks(self._context.store_path)
        return marks is not None and not marks & record.stores.keys()

    def _store_lines(self) -> Iterator[str]:
        """Lines with the commands of the store's open runs."""
        store = self._context.store
        runs = [run for run in store.runs() if run.finished_at is None]
        yield f"    it contains {format_count(len(runs), 'open run')}"
        for run in runs[:OPEN_RUNS_SHOWN]:
            specs = [store.task(row.id).spec for row in store.rows(run.id)]
            commands = list_commands(specs, run.checks, run.catalogue.agents)
            yield from (f"    run {run.id}: {command.text}" for command in commands)

    # -------------------------------------------------------------- the settings

    @property
    def _settings_commands(self) -> FileCommands:
        return list_settings_commands(self._context.settings, self._context.store_override)


def make_untrusted_error(question: TrustQuestion) -> Untrusted:
    """One line: a new command, which a person has to judge, comes before a removed one."""
    first = min(question.lines, key=lambda line: line.startswith("-")).strip()
    more = f" and {len(question.lines) - 1} more" if len(question.lines) > 1 else ""
    return Untrusted(
        f"{question.sentence}: {first}{more}; nothing was started", hint=question.command
    )


def is_called_by_attempt() -> bool:
    """By the environment of its worker; in the sandbox the trust file is hidden as well."""
    return bool(os.environ.get("YAOKI_TASK") or os.environ.get(SANDBOX_VARIABLE))


def refuse_attempts() -> None:
    """An agent cannot trust on a person's behalf."""
    if is_called_by_attempt():
        hint = "ask one: yaoki result --status question --question TEXT"
        raise NotNow("only people may trust a repository, and the caller is an agent", hint=hint)
