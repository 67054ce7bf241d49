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
    SqlStore,
    StorePaths,
    is_server_url,
    is_store_known,
    make_home,
    open_store,
    read_trust_marks,
)
from yaoki.adapters.system.clock import SystemClock
from yaoki.adapters.system.files import proof_rooms_home, state_home
from yaoki.adapters.workspace import (
    GitProofRooms,
    GitRepository,
    GitWorkspace,
    SizeBounds,
    open_repository,
)
from yaoki.core.redact import mask, secret_values
from yaoki.core.settings.settings import Settings
from yaoki.ports import AgentDriver, Processes

# Below the home: what opens the store, and what pushes, signs and publishes in the user's name.
KEY_PATHS = (
    *(".pgpass", ".pg_service.conf"),
    *(".ssh", ".gnupg", ".git-credentials", ".config/git/credentials", ".cache/git", ".netrc"),
    *(".config/gh", ".config/glab-cli", ".config/hub", ".pypirc", ".docker", ".kube"),
)

if TYPE_CHECKING:
    from yaoki.adapters.store.tables.outbox import NoticeSelection
    from yaoki.app.sandbox_choice import SandboxChoice
    from yaoki.app.trust import Trust
    from yaoki.core.model import RunId
    from yaoki.formats.config import LoadedSettings

FOR_EVER = timedelta(days=10_000)


class RepositoryContext:
    """Built when it is first asked for."""

    def __init__(
        self, where: Path, *, create: bool = False, store: str = "", wait_for_store: bool = False
    ) -> None:
        """`wait_for_store`: a worker waits for an unreachable store as long as it takes."""
        self.repository: GitRepository = open_repository(where)
        self._wait_for_store = wait_for_store
        self._create = create
        self._store_url = store
        self.clock = SystemClock()
        self.yaoki_folder = self.repository.top / ".yaoki"
        self.runs_folder = self.yaoki_folder / "runs"
        self._backup_warning = self._behind_warning = ""

    @cached_property
    def loaded_settings(self) -> LoadedSettings:
        from yaoki.formats.config import load_settings

        return load_settings(self.repository.top)

    @property
    def settings(self) -> Settings:
        """What the file says; a store that was named when we were opened wins."""
        settings = self.loaded_settings.settings
        if not self._store_url:
            return settings
        return replace(settings, store=replace(settings.store, url=self._store_url))

    @cached_property
    def store(self) -> SqlStore:
        limits = self.settings.limits
        for_ever = self._wait_for_store and self.is_store_on_server
        waits: dict[str, Any] = {"outage": FOR_EVER} if for_ever else {}
        fresh = (
            self._create
            and not self.is_store_on_server
            and read_trust_marks(self.store_path) is None
        )
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
                "notices": self._notice_selection,
                "day_budget": self.settings.budget.day,
            },
            warn=print_warning,
            mark=self.trust.register_new_store() if fresh else "",
            **waits,
        )
        if self.settings.store.url and (self._create or os.access(self.repository.top, os.W_OK)):
            # Logs are of this clone all the same, wherever the store is and whoever made it.
            make_home(self.yaoki_folder)
        return opened

    @property
    def has_store(self) -> bool:
        """Is there a store, or was there one that can be restored?"""
        return is_store_known(self._store_where)

    @property
    def journal_folder(self) -> Path:
        return StorePaths(self.store_path).journal

    def list_quarantined_stores(self) -> list[Path]:
        """Damaged stores that were kept, oldest first."""
        return sorted(StorePaths(self.store_path).quarantine.glob("*"))

    @property
    def _notice_selection(self) -> NoticeSelection:
        """Which notices are written, and for which channels."""
        from yaoki.adapters.store.tables.outbox import NoticeSelection

        wanted, at_once = self.settings.notify, self.settings.escalate.notify_immediately
        return NoticeSelection(wanted.channels, frozenset(wanted.events), at_once)

    @property
    def _store_where(self) -> Path | str:
        url = self.settings.store.url
        return url if is_server_url(url) else self.store_path

    @property
    def is_store_on_server(self) -> bool:
        """Then there is no file of it, nor anything beside one."""
        return is_server_url(self.settings.store.url)

    @property
    def store_path(self) -> Path:
        """The file of the store; on a server it has none."""
        url = self.settings.store.url
        return Path(url.removeprefix("sqlite://")) if url else self.yaoki_folder / "state.db"

    @cached_property
    def workspace(self) -> GitWorkspace:
        settings, limits = self.settings.workspace, self.settings.limits
        return GitWorkspace(
            self.repository.top,
            self.worktrees_root,
            remote=settings.remote,
            ahead_from_files=settings.ahead_from_files,
            saved_bytes=limits.saved_bytes,
            sandbox=lambda: self.sandbox_choice.sandbox,
            bounds=SizeBounds(
                limits.file_bytes, limits.change_bytes, limits.change_files, limits.path_depth
            ),
            warn=print_warning,
        )

    @property
    def worktrees_root(self) -> Path:
        """Outside the repository, one folder per repository."""
        root = self.settings.workspace.root
        home = Path(root).expanduser() if root else state_home() / "worktrees"
        return home / f"{self.repository.top.name}-{self._mark}"

    @cached_property
    def proof_rooms(self) -> GitProofRooms:
        return GitProofRooms(
            self.repository,
            self.proof_rooms_root,
            real_home=Path.home(),
            filters=self.workspace.filters,
        )

    @property
    def proof_rooms_root(self) -> Path:
        """Outside every worktree, in a path that does not say whose it is: code under test must
        not be able to tell that it is being checked.
        """
        root = self.settings.workspace.root
        home = Path(root).expanduser() if root else proof_rooms_home()
        return (home / "rooms" if root else home) / self._mark

    @property
    def _mark(self) -> str:
        return hashlib.sha256(str(self.repository.common_dir).encode()).hexdigest()[:8]

    @cached_property
    def processes(self) -> Processes:
        from yaoki.app.trust import TrustedProcesses

        shims = ShimProcesses()
        walls = self.sandbox_choice
        walled: Processes = shims
        if walls.sandbox:
            walled = SandboxedProcesses(shims, walls.sandbox, walls.applies_to_folder)
        return TrustedProcesses(walled, self.trust)

    @cached_property
    def trust(self) -> Trust:
        from yaoki.app.trust import Trust

        return Trust(self)

    @property
    def store_override(self) -> str:
        """The store that was named when we were opened, and not by the settings."""
        return self._store_url

    @cached_property
    def sandbox_choice(self) -> SandboxChoice:
        """The walls say what of a task runs inside the sandbox."""
        from yaoki.app.sandbox_choice import SandboxChoice

        asked, repository = self.settings.sandbox, self.repository
        sandbox = Sandbox(
            self.worktrees_root.resolve(),
            read_only=(repository.top, repository.common_dir),
            writable=tuple(_at_home(place) for place in asked.writable),
            network=asked.network,
            hidden=self._control_plane,
            socket_folders=tuple(_at_home(place) for place in asked.readable),
        )
        return SandboxChoice(
            asked,
            sandbox,
            self.runs_folder,
            lambda task_id: self.store.task(task_id),
            lambda run_id: self.store.run(run_id),
        )

    @property
    def _control_plane(self) -> tuple[Path, ...]:
        """The places that nobody in the sandbox reads: the store, keys, rooms, other worktrees."""
        own = (
            state_home(),
            self.worktrees_root,
            self.proof_rooms_root,
            self.repository.top / ".yaoki",
        )
        asked, home = self.settings.sandbox, Path.home()
        shown = {_at_home(place) for place in asked.readable}
        keys = (home / name for name in KEY_PATHS)
        more = (_at_home(place) for place in asked.hidden)
        return (*own, *(place for place in (*keys, *more) if place not in shown))

    def find_agent(self, preset: str) -> AgentDriver:
        from yaoki.adapters.agents import find_agent
        from yaoki.adapters.agents.sandboxed import SandboxedAgent

        agent, walls = find_agent(preset), self.sandbox_choice
        if walls.sandbox is None or not walls.applies_to_agent(preset):
            return agent
        return SandboxedAgent(
            agent, walls.sandbox, self.workspace.worktrees.create_agent_repository
        )

    @property
    def agent_variables(self) -> dict[str, str]:
        """How `yaoki`, called by an agent, finds this repository with the same settings and store.

        A password is not handed to agents; where the URL holds one, they find no store.
        """
        file, url = self.loaded_settings.file, self._store_url
        told = {"YAOKI_REPO": str(self.repository.top)}
        if file is not None:
            told["YAOKI_REPO_CONFIG"] = str(file.absolute())
        if url and mask(url, ()) == url:
            told["YAOKI_REPO_STORE"] = url
        return told

    def list_open_run_ids(self) -> Sequence[RunId]:
        return [run_id for run_id, _, _ in self.store.unfinished_runs()]

    def close(self) -> None:
        if "store" in self.__dict__:
            self.store.close()


def print_warning(words: str) -> None:
    """What nobody may miss and what is no failure: a line beside the answer of any command."""
    known = secret_values(os.environ)
    print(f"yaoki: {mask(words, known)}", file=sys.stderr, flush=True)


def _at_home(place: str) -> Path:
    return Path(place).expanduser()
