"""What everything stands on: one repository with its settings, store and workspace."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yaoki.adapters.processes.process_trees import ShimProcesses
from yaoki.adapters.processes.sandbox import Sandbox, SandboxedProcesses
from yaoki.adapters.store import (
    Places,
    SqlStore,
    make_home,
    marks_at,
    on_server,
    open_store,
    store_known,
)
from yaoki.adapters.system.clock import SystemClock
from yaoki.adapters.system.files import rooms_home, state_home
from yaoki.adapters.workspace import (
    Bounds,
    GitProofRooms,
    GitWorkspace,
    Repository,
    open_repository,
)
from yaoki.core.redact import mask, secret_values
from yaoki.core.settings.settings import Settings
from yaoki.ports import Agent, Processes

# Below the home: what opens the store, and what pushes, signs and publishes in the user's name.
KEYS = (
    *(".pgpass", ".pg_service.conf"),
    *(".ssh", ".gnupg", ".git-credentials", ".config/git/credentials", ".cache/git", ".netrc"),
    *(".config/gh", ".config/glab-cli", ".config/hub", ".pypirc", ".docker", ".kube"),
)

if TYPE_CHECKING:
    from yaoki.adapters.store.tables.outbox import Posting
    from yaoki.app.sandbox_choice import Walls
    from yaoki.app.trust import Trust
    from yaoki.core.model import RunId
    from yaoki.formats.config import Loaded

FOR_EVER = timedelta(days=10_000)


class Ground:
    """Built when it is first asked for."""

    def __init__(
        self, where: Path, *, create: bool = False, store: str = "", patient: bool = False
    ) -> None:
        """`patient` is who carries runs: it waits for a store that is away as long as it takes."""
        self.repository: Repository = open_repository(where)
        self._patient = patient
        self._create = create
        self._store_url = store
        self.clock = SystemClock()
        self.home = self.repository.top / ".yaoki"
        self.folder = self.home / "runs"
        self._backup_warning = self._behind_warning = ""

    @cached_property
    def loaded(self) -> Loaded:
        from yaoki.formats.config import load_settings

        return load_settings(self.repository.top)

    @property
    def settings(self) -> Settings:
        """What the file says; a store that was named when we were opened wins."""
        settings = self.loaded.settings
        if not self._store_url:
            return settings
        return replace(settings, store=replace(settings.store, url=self._store_url))

    @cached_property
    def store(self) -> SqlStore:
        limits = self.settings.limits
        for_ever = self._patient and self.store_on_server
        waits: dict[str, Any] = {"outage": FOR_EVER} if for_ever else {}
        fresh = self._create and not self.store_on_server and marks_at(self.store_path) is None
        opened = open_store(
            self._store_where,
            self.clock,
            create=self._create,
            limits={
                "pending_runs_max": limits.pending_runs,
                "pending_tasks_max": limits.pending_tasks,
                "max_in_progress": timedelta(seconds=limits.max_in_progress_s),
                "ageing": timedelta(seconds=limits.ageing_s),
                "backups_kept": self.settings.store.backups,
                "posting": self._posting,
                "day_budget": self.settings.budget.day,
            },
            warn=warn,
            mark=self.trust.mark_for_new() if fresh else "",
            **waits,
        )
        if self.settings.store.url and (self._create or os.access(self.repository.top, os.W_OK)):
            # Logs are of this clone all the same, wherever the store is and whoever made it.
            make_home(self.home)
        return opened

    @property
    def has_store(self) -> bool:
        """Is there a store, or was there one that can be restored?"""
        return store_known(self._store_where)

    @property
    def journal_folder(self) -> Path:
        return Places(self.store_path).journal

    def set_aside(self) -> list[Path]:
        """Damaged stores that were kept, oldest first."""
        return sorted(Places(self.store_path).quarantine.glob("*"))

    @property
    def _posting(self) -> Posting:
        """Which notices are written, and for which channels."""
        from yaoki.adapters.store.tables.outbox import Posting

        wanted, at_once = self.settings.notify, self.settings.escalate.notify_immediately
        return Posting(wanted.channels, frozenset(wanted.events), at_once)

    @property
    def _store_where(self) -> Path | str:
        url = self.settings.store.url
        return url if on_server(url) else self.store_path

    @property
    def store_on_server(self) -> bool:
        """Then there is no file of it, nor anything beside one."""
        return on_server(self.settings.store.url)

    @property
    def store_path(self) -> Path:
        """The file of the store; on a server it has none."""
        url = self.settings.store.url
        return Path(url.removeprefix("sqlite://")) if url else self.home / "state.db"

    @cached_property
    def workspace(self) -> GitWorkspace:
        settings, limits = self.settings.workspace, self.settings.limits
        return GitWorkspace(
            self.repository.top,
            self.worktrees,
            remote=settings.remote,
            ahead_from_files=settings.ahead_from_files,
            saved_bytes=limits.saved_bytes,
            sandbox=lambda: self.walls.sandbox,
            bounds=Bounds(
                limits.file_bytes, limits.change_bytes, limits.change_files, limits.path_depth
            ),
            warn=warn,
        )

    @property
    def worktrees(self) -> Path:
        """Outside the repository, one folder per repository."""
        root = self.settings.workspace.root
        home = Path(root).expanduser() if root else state_home() / "worktrees"
        return home / f"{self.repository.top.name}-{self._mark}"

    @cached_property
    def rooms(self) -> GitProofRooms:
        return GitProofRooms(
            self.repository,
            self.rooms_root,
            real_home=Path.home(),
            filters=self.workspace.filters,
        )

    @property
    def rooms_root(self) -> Path:
        """Outside every worktree, in a path that does not say whose it is: code under test must
        not be able to tell that it is being checked.
        """
        root = self.settings.workspace.root
        home = Path(root).expanduser() if root else rooms_home()
        return (home / "rooms" if root else home) / self._mark

    @property
    def _mark(self) -> str:
        return hashlib.sha256(str(self.repository.common_dir).encode()).hexdigest()[:8]

    @cached_property
    def processes(self) -> Processes:
        from yaoki.app.trust import TrustedProcesses

        shims = ShimProcesses()
        walls = self.walls
        walled: Processes = shims
        if walls.sandbox:
            walled = SandboxedProcesses(shims, walls.sandbox, walls.around)
        return TrustedProcesses(walled, self.trust)

    @cached_property
    def trust(self) -> Trust:
        from yaoki.app.trust import Trust

        return Trust(self)

    @property
    def named_store(self) -> str:
        """The store that was named when we were opened, and not by the settings."""
        return self._store_url

    @cached_property
    def walls(self) -> Walls:
        """The walls say what of a task runs inside the sandbox."""
        from yaoki.app.sandbox_choice import Walls

        asked, repository = self.settings.sandbox, self.repository
        sandbox = Sandbox(
            self.worktrees.resolve(),
            shown=(repository.top, repository.common_dir),
            writable=tuple(_at_home(place) for place in asked.writable),
            network=asked.network,
            hidden=self._control_plane,
            reached=tuple(_at_home(place) for place in asked.readable),
        )
        return Walls(
            asked,
            sandbox,
            self.folder,
            lambda task_id: self.store.task(task_id),
            lambda run_id: self.store.run(run_id),
        )

    @property
    def _control_plane(self) -> tuple[Path, ...]:
        """The places that nobody in the sandbox reads: the store, keys, rooms, other worktrees."""
        own = (state_home(), self.worktrees, self.rooms_root, self.repository.top / ".yaoki")
        asked, home = self.settings.sandbox, Path.home()
        shown = {_at_home(place) for place in asked.readable}
        keys = (home / name for name in KEYS)
        more = (_at_home(place) for place in asked.hidden)
        return (*own, *(place for place in (*keys, *more) if place not in shown))

    def find_agent(self, preset: str) -> Agent:
        from yaoki.adapters.agents import find_agent
        from yaoki.adapters.agents.sandboxed import SandboxedAgent

        agent, walls = find_agent(preset), self.walls
        if walls.sandbox is None or not walls.around_agent(preset):
            return agent
        return SandboxedAgent(agent, walls.sandbox, self.workspace.lend)

    @property
    def whereabouts(self) -> dict[str, str]:
        """How `yaoki`, called by an agent, finds this repository with the same settings and store.

        A password is not handed to agents; where the URL holds one, they find no store.
        """
        file, url = self.loaded.file, self._store_url
        told = {"YAOKI_REPO": str(self.repository.top)}
        if file is not None:
            told["YAOKI_REPO_CONFIG"] = str(file.absolute())
        if url and mask(url, ()) == url:
            told["YAOKI_REPO_STORE"] = url
        return told

    def open_runs(self) -> Sequence[RunId]:
        return [run_id for run_id, _, _ in self.store.open_runs()]

    def close(self) -> None:
        if "store" in self.__dict__:
            self.store.close()


def warn(words: str) -> None:
    """What nobody may miss and what is no failure: a line beside the answer of any command."""
    known = secret_values(os.environ)
    print(f"yaoki: {mask(words, known)}", file=sys.stderr, flush=True)


def _at_home(place: str) -> Path:
    return Path(place).expanduser()
