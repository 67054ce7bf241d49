"""The parts of the engine, each wired to the others and built when it is first asked for."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from yaoki.adapters.processes.daemon import Daemon
from yaoki.adapters.system.files import free_disk_bytes, free_memory_bytes, state_home
from yaoki.adapters.system.machine import current_holder, is_holder_dead, machine_id
from yaoki.adapters.system.port_ranges import PortRangeFiles
from yaoki.app.planner_answer import PlanAnswerReader
from yaoki.app.repository import RepositoryContext
from yaoki.core.environment import BASIC_VARIABLES, filter_environment
from yaoki.ports import WorkerSeen

if TYPE_CHECKING:
    from yaoki.engine.commands.extend import ExtendCommand
    from yaoki.engine.completion.completion import RunCompletion
    from yaoki.engine.loop.notifier import Notifier
    from yaoki.engine.loop.worker import Worker
    from yaoki.engine.row_check import RowGuard
    from yaoki.engine.stage_settings import FreeCapacity
    from yaoki.engine.stages.resources import TaskResources
    from yaoki.engine.stages.stages import Stages


class Services(RepositoryContext):
    """What carries runs."""

    @cached_property
    def extend_command(self) -> ExtendCommand:
        from yaoki.engine.commands.extend import ExtendCommand

        return ExtendCommand(self.store)

    @cached_property
    def stages(self) -> Stages:
        from yaoki.adapters.checks import CheckDispatcher
        from yaoki.engine.stage_settings import StageSettings as StageSettings
        from yaoki.engine.stages.stages import Stages
        from yaoki.formats import quality
        from yaoki.formats.prompts import PromptLibrary

        limits = self.settings.limits
        lease = timedelta(seconds=limits.lease_s)
        return Stages(
            self.workspace,
            self.processes,
            self.proof_rooms,
            CheckDispatcher(self.processes, lease, find_agent=self.find_agent),
            self.find_agent,
            self.clock,
            lambda spec: PromptLibrary(self.yaoki_folder / "prompts", spec.language, spec.prompts),
            StageSettings(
                folder=self.runs_folder,
                host=self.workspace.remote.worktree_host(machine_id()),
                lease=lease,
                adopt=limits.adopt == "adopt",
                snapshots=self.settings.recovery.enable_snapshots,
                disk_free_min=limits.disk_free_bytes,
                memory_free_min=limits.memory_free_bytes,
                output_bytes_max=limits.output_bytes,
                prompt_bytes_max=limits.prompt_bytes,
                agent_wait=timedelta(seconds=limits.agent_wait_s),
                hang_warning=timedelta(seconds=limits.hang_warning_s),
                environment=filter_environment(os.environ, BASIC_VARIABLES),
                worker_environment=os.environ,
                agent_environment=self.agent_variables,
            ),
            self.store,
            quality,
            self.measure_free_capacity,
            PlanAnswerReader(self.store, limits.task_text_bytes),
            self.store.task,
            self.resources,
        )

    def measure_free_capacity(self) -> FreeCapacity:
        """What is left on the fuller one of two disks: the store's, and that of the worktrees."""
        from yaoki.engine.stage_settings import FreeCapacity

        place = min((self.yaoki_folder, self.worktrees_root), key=free_disk_bytes)
        return FreeCapacity(free_disk_bytes(place), free_memory_bytes(), str(place))

    @cached_property
    def resources(self) -> TaskResources:
        from yaoki.engine.stages.resources import TaskResources

        wanted = self.settings.resources
        return TaskResources(
            self.store,
            PortRangeFiles(state_home() / "ports"),
            self.store.clock,
            host=machine_id(),
            ports=wanted.port_ranges,
            prefix=wanted.database_prefix,
            worktree=lambda task: str(self.worktrees_root / task.id),
        )

    @cached_property
    def row_guard(self) -> RowGuard:
        from yaoki.engine.row_check import RowGuard

        return RowGuard(self.store, self.store.clock)

    @cached_property
    def completion(self) -> RunCompletion:
        from yaoki.engine.completion.completion import RunCompletion

        limits = self.settings.limits
        return RunCompletion(
            self.store,
            self.workspace,
            self.store.clock,
            lambda *asked: self.stages.verify_commit(*asked),
            timeout=timedelta(seconds=limits.deadline_s),
            hang=timedelta(seconds=limits.hang_s),
        )

    def build_worker(self, slots: int, tags: Sequence[str] = ()) -> Worker:
        from yaoki.engine.branch_guard import BranchGuard
        from yaoki.engine.loop.worker import Worker

        return Worker(
            self.store,
            self.stages,
            BranchGuard(self.store, self.workspace),
            self.store.clock,
            holder=current_holder(),
            host=machine_id(),
            lease=timedelta(seconds=self.settings.limits.lease_s),
            parallel=slots,
            is_alive=_alive_here,
            tags=tags,
            place=self.workspace.remote.worktree_host(machine_id()),
        )

    def worker_tags(self, more: Sequence[str] = ()) -> tuple[str, ...]:
        """What a worker here declares."""
        return tuple(sorted({*self.settings.worker.tags, *more}))

    def list_live_workers(self) -> list[WorkerSeen]:
        """Those that live as far as anybody knows."""
        return [seen for seen in self.store.workers() if not is_holder_dead(seen.worker.holder)]

    @property
    def daemon(self) -> Daemon:
        """The one background worker of this store and repository on this machine."""
        store = self.settings.store.url or str(self.yaoki_folder / "state.db")
        mark = hashlib.sha256(f"{store} {self.repository.common_dir}".encode()).hexdigest()[:12]
        return Daemon(state_home() / "workers" / f"{self.repository.top.name}-{mark}")

    @property
    def notifier(self) -> Notifier:
        from yaoki.adapters.notify import open_channels
        from yaoki.engine.loop.notifier import Notifier

        channels = open_channels(self.settings.notify, self.repository.top, clock=self.clock)
        return Notifier(self.store, channels, self.store.clock)


def _alive_here(holder: str) -> bool:
    """Known to be alive: of this machine and not dead.  Other machines are not known."""
    return holder.startswith(f"{machine_id()}:") and not is_holder_dead(holder)
