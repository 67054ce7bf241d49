"""The parts of the engine, each wired to the others and built when it is first asked for."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from yaoki.adapters.processes.daemon import Daemon
from yaoki.adapters.system.files import disk_free, memory_free, state_home
from yaoki.adapters.system.machine import holder_dead, holder_name, machine_id
from yaoki.adapters.system.port_ranges import PortFiles
from yaoki.app.planner_answer import PlanReading
from yaoki.app.repository import Ground
from yaoki.core.environment import BASIC, allowed
from yaoki.ports import Seen

if TYPE_CHECKING:
    from yaoki.engine.commands.extend import Growth
    from yaoki.engine.completion.completion import Closing
    from yaoki.engine.loop.notifier import Sending
    from yaoki.engine.loop.worker import Worker
    from yaoki.engine.row_check import RowGuard
    from yaoki.engine.stages.resources import Resources
    from yaoki.engine.stages.stage_settings import Room
    from yaoki.engine.stages.stages import Stages


class Parts(Ground):
    """What carries runs."""

    @cached_property
    def growth(self) -> Growth:
        from yaoki.engine.commands.extend import Growth

        return Growth(self.store)

    @cached_property
    def stages(self) -> Stages:
        from yaoki.adapters.checks import Checks
        from yaoki.engine.stages.stage_settings import Settings as StageSettings
        from yaoki.engine.stages.stages import Stages
        from yaoki.formats import quality
        from yaoki.formats.prompts import PromptTree

        limits = self.settings.limits
        lease = timedelta(seconds=limits.lease_s)
        return Stages(
            self.workspace,
            self.processes,
            self.rooms,
            Checks(self.processes, lease, find_agent=self.find_agent),
            self.find_agent,
            self.clock,
            lambda spec: PromptTree(self.home / "prompts", spec.language, spec.prompts),
            StageSettings(
                folder=self.folder,
                host=self.workspace.host(machine_id()),
                lease=lease,
                adopt=limits.adopt == "adopt",
                snapshots=self.settings.recovery.enable_snapshots,
                disk_free_min=limits.disk_free_bytes,
                memory_free_min=limits.memory_free_bytes,
                output_bytes_max=limits.output_bytes,
                prompt_bytes_max=limits.prompt_bytes,
                agent_wait=timedelta(seconds=limits.agent_wait_s),
                hang_warning=timedelta(seconds=limits.hang_warning_s),
                environment=allowed(os.environ, BASIC),
                environ=os.environ,
                agent_environment=self.whereabouts,
            ),
            self.store,
            quality,
            self.room,
            PlanReading(self.store, limits.task_text_bytes),
            self.store.task,
            self.resources,
        )

    def room(self) -> Room:
        """What is left on the fuller one of two disks: the store's, and that of the worktrees."""
        from yaoki.engine.stages.stage_settings import Room

        place = min((self.home, self.worktrees), key=disk_free)
        return Room(disk_free(place), memory_free(), str(place))

    @cached_property
    def resources(self) -> Resources:
        from yaoki.engine.stages.resources import Resources

        wanted = self.settings.resources
        return Resources(
            self.store,
            PortFiles(state_home() / "ports"),
            self.store.clock,
            host=machine_id(),
            ports=wanted.ranges,
            prefix=wanted.database_prefix,
            worktree=lambda task: str(self.worktrees / task.id),
        )

    @cached_property
    def row_guard(self) -> RowGuard:
        from yaoki.engine.row_check import RowGuard

        return RowGuard(self.store, self.store.clock)

    @cached_property
    def closing(self) -> Closing:
        from yaoki.engine.completion.completion import Closing

        limits = self.settings.limits
        return Closing(
            self.store,
            self.workspace,
            self.store.clock,
            lambda *asked: self.stages.prove(*asked),
            timeout=timedelta(seconds=limits.deadline_s),
            hang=timedelta(seconds=limits.hang_s),
        )

    def worker(self, slots: int, tags: Sequence[str] = ()) -> Worker:
        from yaoki.engine.branch_guard import Guard
        from yaoki.engine.loop.worker import Worker

        return Worker(
            self.store,
            self.stages,
            Guard(self.store, self.workspace),
            self.store.clock,
            holder=holder_name(),
            host=machine_id(),
            lease=timedelta(seconds=self.settings.limits.lease_s),
            parallel=slots,
            alive=_alive_here,
            tags=tags,
            place=self.workspace.host(machine_id()),
        )

    def tags(self, more: Sequence[str] = ()) -> tuple[str, ...]:
        """What a worker here declares."""
        return tuple(sorted({*self.settings.worker.tags, *more}))

    def workers(self) -> list[Seen]:
        """Those that live as far as anybody knows."""
        return [seen for seen in self.store.workers() if not holder_dead(seen.worker.holder)]

    @property
    def daemon(self) -> Daemon:
        """The one background worker of this store and repository on this machine."""
        store = self.settings.store.url or str(self.home / "state.db")
        mark = hashlib.sha256(f"{store} {self.repository.common_dir}".encode()).hexdigest()[:12]
        return Daemon(state_home() / "workers" / f"{self.repository.top.name}-{mark}")

    @property
    def sending(self) -> Sending:
        from yaoki.adapters.notify import open_channels
        from yaoki.engine.loop.notifier import Sending

        channels = open_channels(self.settings.notify, self.repository.top, clock=self.clock)
        return Sending(self.store, channels, self.store.clock)


def _alive_here(holder: str) -> bool:
    """Known to be alive: of this machine and not dead.  Other machines are not known."""
    return holder.startswith(f"{machine_id()}:") and not holder_dead(holder)
