"""One repository with its settings, store, workspace and sandbox."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yaoki.adapters.git.repository import (
    GitRepository,
    check_version,
    open_repository,
    read_git_version,
)
from yaoki.adapters.system.clock import SystemClock
from yaoki.adapters.system.files import proof_rooms_home, state_home
from yaoki.app.warning_output import print_warning
from yaoki.core.lazy_dataclass import replace
from yaoki.core.redact import mask
from yaoki.core.text import format_count
from yaoki.errors import StoreError

YAOKI_FOLDER = ".yaoki"
# Below the home: files that open the store, and that push, sign and publish as the user.
KEY_PATHS = (
    *(".pgpass", ".pg_service.conf"),
    *(".ssh", ".gnupg", ".git-credentials", ".config/git/credentials", ".cache/git", ".netrc"),
    *(".config/gh", ".config/glab-cli", ".config/hub", ".pypirc", ".docker", ".kube"),
)

if TYPE_CHECKING:
    from yaoki.adapters.git.facts import LocalGitFacts
    from yaoki.adapters.store import SqlStore
    from yaoki.adapters.store.tables.outbox import NoticeSelection
    from yaoki.adapters.workspace import GitProofRooms, GitWorkspace
    from yaoki.app.hidden_checks import HiddenChecks
    from yaoki.app.sandbox_choice import SandboxChoice
    from yaoki.app.trust import Trust
    from yaoki.core.model import RunId
    from yaoki.core.settings.settings import Settings
    from yaoki.formats.config import LoadedSettings
    from yaoki.ports import AgentDriver, Processes

FOR_EVER = timedelta(days=10_000)


class RepositoryContext:
    """Each part is built when it is first used."""

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
        self._read_only = read_only
        self.repository: GitRepository = open_repository(where)
        if not read_only:
            check_version(read_git_version(self.repository.top))
        self._wait_for_store = wait_for_store
        self._create = create
        self._store_url = store
        self.clock = SystemClock()
        self.yaoki_folder = self.repository.top / YAOKI_FOLDER
        self.runs_folder = self.yaoki_folder / "runs"

    @cached_property
    def loaded_settings(self) -> LoadedSettings:
        from yaoki.formats.config import load_settings

        loaded = load_settings(self.repository.top, read_only=self._read_only, now=self.clock.now())
        if loaded.refusal is not None:
            first, *others = loaded.refusal.defects
            more = f" and {format_count(len(others), 'more problem')}" if others else ""
            print_warning(f"{first}{more} (until this is fixed, nothing can be started)")
        return loaded

    @property
    def settings(self) -> Settings:
        """The settings of the file; a store that the caller named wins."""
        settings = self.loaded_settings.settings
        if not self._store_url:
            return settings
        return replace(settings, store=replace(settings.store, url=self._store_url))

    @cached_property
    def store(self) -> SqlStore:
        from yaoki.adapters.store import make_home, open_store, read_trust_marks

        limits = self.settings.limits
        for_ever = self._wait_for_store and self.is_store_on_server
        waits: dict[str, Any] = {"outage": FOR_EVER} if for_ever else {}
        fresh = (
            self._create
            and not self.is_store_on_server
            and read_trust_marks(self.store_path) is None
        )
        opened = open_store(
            self._store_location,
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
            # Logs belong to this clone, wherever the store is.
            make_home(self.yaoki_folder)
        return opened

    @property
    def has_store(self) -> bool:
        """Is there a store, or was there one that can be restored?"""
        from yaoki.adapters.store import is_store_known

        return is_store_known(self._store_location)

    @property
    def journal_folder(self) -> Path:
        from yaoki.adapters.store.paths import StorePaths

        return StorePaths(self.store_path).journal

    def list_quarantined_stores(self) -> list[Path]:
        """Damaged stores that were moved aside, oldest first."""
        from yaoki.adapters.store.paths import StorePaths

        return sorted(StorePaths(self.store_path).quarantine.glob("*"))

    @property
    def _notice_selection(self) -> NoticeSelection:
        """Which notices are written, and for which channels."""
        from yaoki.adapters.store.tables.outbox import NoticeSelection

        wanted, at_once = self.settings.notify, self.settings.escalate.notify_immediately
        return NoticeSelection(wanted.channels, frozenset(wanted.events), at_once)

    @property
    def _store_location(self) -> Path | str:
        return self.settings.store.url if self.is_store_on_server else self.store_path

    @property
    def is_store_on_server(self) -> bool:
        """A store on a server has no file."""
        return self.settings.store.is_on_server

    @property
    def store_path(self) -> Path:
        """The file of the store, unless it is on a server."""
        url = self.settings.store.url
        return Path(url.removeprefix("sqlite://")) if url else self.yaoki_folder / "state.db"

    @cached_property
    def git_facts(self) -> LocalGitFacts:
        """The git facts of this clone; with a remote, `workspace` also knows other machines."""
        from yaoki.adapters.git.facts import LocalGitFacts

        return LocalGitFacts(self.repository.common_dir, self.repository)

    @cached_property
    def workspace(self) -> GitWorkspace:
        from yaoki.adapters.git.size_bounds import SizeBounds
        from yaoki.adapters.workspace.git_workspace import GitWorkspace

        settings, limits = self.settings.workspace, self.settings.limits
        return GitWorkspace(
            self.repository,
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
        return self._worktrees_root_of(self.repository.top)

    def _worktrees_root_of(self, checkout: Path) -> Path:
        """The folder of the worktrees of a checkout of this clone that has the same settings."""
        root = self.settings.workspace.root
        home = Path(root).expanduser() if root else state_home() / "worktrees"
        return home / f"{checkout.name}-{self._repository_digest}"

    @cached_property
    def proof_rooms(self) -> GitProofRooms:
        from yaoki.adapters.workspace.proof_rooms import GitProofRooms

        return GitProofRooms(
            self.repository,
            self.proof_rooms_root,
            real_home=Path.home(),
            filters=self.workspace.filters,
        )

    @property
    def proof_rooms_root(self) -> Path:
        """Outside every worktree, in a path that names no repository: code under test must not be
        able to find out that it is being checked.
        """
        root = self.settings.workspace.root
        home = Path(root).expanduser() if root else proof_rooms_home()
        return (home / "rooms" if root else home) / self._repository_digest

    @property
    def _repository_digest(self) -> str:
        import hashlib

        return hashlib.sha256(str(self.repository.common_dir).encode()).hexdigest()[:8]

    @cached_property
    def processes(self) -> Processes:
        from yaoki.adapters.processes.process_trees import ShimProcesses
        from yaoki.adapters.processes.sandbox import SandboxedProcesses
        from yaoki.app.trusted_processes import TrustedProcesses

        if self.loaded_settings.refusal is not None:
            raise self.loaded_settings.refusal
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
        """The store that the caller named instead of the settings."""
        return self._store_url

    @cached_property
    def sandbox_choice(self) -> SandboxChoice:
        """Which commands of a task run inside the sandbox."""
        from yaoki.adapters.processes.sandbox import Sandbox
        from yaoki.app.sandbox_choice import SandboxChoice

        sandbox_settings, repository = self.settings.sandbox, self.repository
        sandbox = Sandbox(
            self.worktrees_root.resolve(),
            read_only=(repository.top, repository.common_dir),
            writable=tuple(_expand_home(place) for place in sandbox_settings.writable),
            network=sandbox_settings.network,
            hidden=self._hidden_paths,
            list_hidden=self._list_changing_hidden_paths,
            socket_folders=tuple(_expand_home(place) for place in sandbox_settings.readable),
        )
        return SandboxChoice(
            sandbox_settings,
            sandbox,
            self.runs_folder,
            lambda task_id: self.store.task(task_id),
            lambda run_id: self.store.run(run_id),
        )

    @cached_property
    def hidden_checks(self) -> HiddenChecks:
        from yaoki.app.hidden_checks import HiddenChecks

        repository = self.repository
        private = (repository.top, repository.common_dir, self.worktrees_root, state_home())
        return HiddenChecks(
            lambda: self.store, repository.top, [place.resolve() for place in private]
        )

    def _list_changing_hidden_paths(self) -> Sequence[Path]:
        return (*self._list_paths_of_other_checkouts(), *self._hidden_check_folders())

    def _list_paths_of_other_checkouts(self) -> Iterator[Path]:
        """The state and the worktrees of the other checkouts of this clone.

        A checkout whose first run starts while an agent works here is hidden from the next command.
        """
        for folder in self.list_other_checkouts():
            yield from (folder / YAOKI_FOLDER, self._worktrees_root_of(folder))

    def _hidden_check_folders(self) -> Sequence[Path]:
        from yaoki.adapters.store import is_store_known
        from yaoki.adapters.system.hidden_files import list_revealing_paths

        if not self.is_store_on_server and not is_store_known(self.store_path):
            return ()  # and none is created for a plan that may be refused
        try:
            store = self.store
        except StoreError:
            return ()  # no run was submitted yet, or none can be carried on
        # A restored store has the plans of its runs, but not the files of hidden checks.
        open_runs = (store.run(run_id) for run_id, _, _ in store.unfinished_runs())
        checks = (check for run in open_runs for check in run.checks.values())
        named = (Path(check.hidden.folder) for check in checks if check.hidden)
        folders = {folder for folder in (*store.hidden_folders(), *named) if folder != Path()}
        return [path for folder in sorted(folders) for path in list_revealing_paths(folder)]

    @property
    def _hidden_paths(self) -> tuple[Path, ...]:
        """Paths that are hidden in the sandbox: the store, keys, proof rooms, other worktrees."""
        own = (
            state_home(),
            self.worktrees_root,
            self.proof_rooms_root.parent,
            self.yaoki_folder,
        )
        sandbox_settings, home = self.settings.sandbox, Path.home()
        shown = {_expand_home(place) for place in sandbox_settings.readable}
        keys = (home / name for name in KEY_PATHS)
        more = (_expand_home(place) for place in sandbox_settings.hidden)
        return (*own, *(place for place in (*keys, *more) if place not in shown))

    def find_agent(self, preset: str) -> AgentDriver:
        from yaoki.adapters.agents import find_agent
        from yaoki.adapters.agents.sandboxed_agent import SandboxedAgent

        agent, walls = find_agent(preset), self.sandbox_choice
        if walls.sandbox is None or not walls.applies_to_agent(preset):
            return agent
        return SandboxedAgent(
            agent, walls.sandbox, self.workspace.worktrees.create_agent_repository
        )

    @property
    def agent_variables(self) -> dict[str, str]:
        """The variables by which `yaoki`, called by an agent, finds this repository, settings and
        store.

        Agents get no password; where the URL holds one, they find no store.
        """
        file, url = self.loaded_settings.file, self._store_url
        variables = {"YAOKI_REPO": str(self.repository.top)}
        if file is not None:
            variables["YAOKI_REPO_CONFIG"] = str(file.absolute())
        if url and mask(url, ()) == url:
            variables["YAOKI_REPO_STORE"] = url
        return variables

    def list_other_checkouts(self) -> list[Path]:
        """The folders of the other checkouts of this clone, without the worktrees of its tasks."""
        from yaoki.adapters.git.checkout_list import list_checkouts

        own_worktrees, top = self.worktrees_root.resolve(), self.repository.top
        folders = list_checkouts(self.repository.common_dir)
        return [folder for folder in folders if folder != top and folder.parent != own_worktrees]

    def list_open_run_ids(self) -> Sequence[RunId]:
        return [run_id for run_id, _, _ in self.store.unfinished_runs()]

    def close(self) -> None:
        if "store" in self.__dict__:
            self.store.close()


def _expand_home(place: str) -> Path:
    return Path(place).expanduser()
