"""The composition root: `App` builds the parts for one repository, each when it is first used.

Use cases are functions and classes of the modules beside this one; they take an `App`.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.app.repository import RepositoryContext
from yaoki.app.services import Services

if TYPE_CHECKING:
    from yaoki.adapters.git.repository import GitRepository
    from yaoki.adapters.store import SqlStore
    from yaoki.adapters.system.clock import SystemClock
    from yaoki.adapters.workspace import GitWorkspace
    from yaoki.app.plan_preflight import PlanPreflight
    from yaoki.app.reads import RunReads
    from yaoki.app.trust import Trust
    from yaoki.core.settings.settings import Settings
    from yaoki.engine.commands.control import Control
    from yaoki.engine.commands.lookup import RunLookup


class App:
    """The parts for one repository.

    `context` is the repository with its settings and adapters, `services` are the parts of the
    engine, `preflight` refuses plans that could not run here.
    """

    # The run that this process serves or is about to serve: its status needs no other worker.
    carried_run_id = ""

    def __init__(
        self,
        where: Path,
        *,
        create: bool = False,
        store: str = "",
        wait_for_store: bool = False,
        read_only: bool = False,
    ) -> None:
        """`wait_for_store`: wait for an unreachable store without limit, as a worker does.

        `read_only`: start and change nothing, also with settings that a run would refuse.
        """
        self.context = RepositoryContext(
            where, create=create, store=store, wait_for_store=wait_for_store, read_only=read_only
        )
        self.services = Services(self.context)
        self.repository: GitRepository = self.context.repository
        self.clock: SystemClock = self.context.clock
        self.yaoki_folder: Path = self.context.yaoki_folder
        self.runs_folder: Path = self.context.runs_folder

    @cached_property
    def preflight(self) -> PlanPreflight:
        from yaoki.app.plan_preflight import PlanPreflight

        return PlanPreflight(self.context, self.services)

    @property
    def settings(self) -> Settings:
        return self.context.settings

    @property
    def trust(self) -> Trust:
        return self.context.trust

    @property
    def has_store(self) -> bool:
        return self.context.has_store

    @property
    def store(self) -> SqlStore:
        """For use cases; faces read through `reads`."""
        return self.context.store

    @property
    def reads(self) -> RunReads:
        """The runs, tasks and journal of the store, to read only."""
        return self.context.store

    @property
    def workspace(self) -> GitWorkspace:
        return self.context.workspace

    @property
    def control(self) -> Control:
        return self.services.control

    @property
    def lookup(self) -> RunLookup:
        return self.services.lookup

    def close(self) -> None:
        self.context.close()
