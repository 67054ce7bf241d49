"""Wraps a command in bubblewrap: it can write only in its own folders.

It can read the whole machine except the shared folders: sockets, temporary files of others and
processes outside are invisible.  No process inside has a capability, not even root: with one it
could unmount the sandbox.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import yaoki
from yaoki.adapters.processes.command import CommandResult, run_command
from yaoki.adapters.processes.keyrings import calls_file
from yaoki.adapters.processes.package_caches import build_cache_variables
from yaoki.adapters.processes.sandbox_mounts import (
    SHARED_FOLDERS,
    VISIBLE_RUN_FOLDERS,
    bind_options,
    is_below,
    is_in_shared_folder,
    list_open_sockets,
    overlay_options,
    resolve_existing,
    root_options,
)
from yaoki.adapters.processes.sandbox_probe import (
    PROBE_TIMEOUT,
    PROGRAM,
    find_isolation_options,
    starts_successfully,
)
from yaoki.adapters.processes.sandbox_programs import (
    LOOK,
    find_file,
    find_program_prefix,
    list_program_paths,
    list_started,
)
from yaoki.core.lazy_dataclass import dataclass
from yaoki.errors import FatalCode, Fault, SandboxUnavailable
from yaoki.ports import SANDBOX_FOLDERS_NAME, Launch, Processes, ProcessState, outbox

if TYPE_CHECKING:
    from yaoki.core.model import EndCause

ISOLATED_OUTPUT_BYTES_MAX = 1 << 30
# The interpreter with its packages, and yaoki: both may be installed in a shared folder.
OWN = (Path(sys.prefix), Path(sys.base_prefix), Path(yaoki.__file__).parent)
TEMPORARY = "/tmp"
IN_MEMORY = Path(TEMPORARY) / "caches"
# The files of its own hidden folder that a command may read.
READABLE_FILES = ("prompt.md", "request.json", "scenario.json")
# The loader obeys these variables in every program, also in bubblewrap, which starts outside: they
# are set only inside.
LOADER = "LD_"
# bubblewrap reads the seccomp filter from a descriptor.
CLOSING = 'calls=$1; shift; exec "$0" --seccomp 9 "$@" 9< "$calls"'


@dataclass(frozen=True, slots=True)
class SandboxedLaunch(Launch):
    """A command that is already inside a sandbox; a type, because its arguments could be forged."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The access of a command to files outside its worktree.

    `worktrees` holds one folder for each task.  `read_only` (the repository and its git folder) is
    readable inside hidden folders, and read-only inside writable folders.  `hidden` folders (the
    store, keys, proof rooms, other worktrees) are empty inside, except for the command's own files,
    and so are those of `list_hidden` (hidden checks, other checkouts), which change during a run.
    Sockets are closed, because their server is outside, except below `socket_folders` and in
    writable folders.
    """

    worktrees: Path
    read_only: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    network: bool = True
    program: str = ""
    hidden: tuple[Path, ...] = ()
    list_hidden: Callable[[], Sequence[Path]] = tuple
    socket_folders: tuple[Path, ...] = ()

    def check_available(self) -> None:
        """Raises `Fault` unless a sandbox works here; called before any agent starts."""
        find_isolation_options.cache_clear()
        find_isolation_options(self._find_program(), self._network_options())

    def closes_keyrings(self) -> bool:
        """Can bubblewrap and the kernel refuse the system calls of keyrings (seccomp)?"""
        return starts_successfully(self._filtered_command(self._find_program()))

    def find_hidden_program(self, program: str, env: Mapping[str, str]) -> Path | None:
        """The program, or the interpreter of its script, that is invisible inside; None if neither.

        Tried from inside, and only for files in folders that may be hidden.
        """
        search_path = env.get("PATH", os.defpath)
        started = {
            word: file
            for word in list_started(program, search_path)
            if (file := find_file(word, search_path)) is not None
        }
        if not any(self._is_in_hidden_folder(file) for file in started.values()):
            return None
        bubblewrap = self._find_program()
        readable = self._readable_paths(env, (program,))
        mounts = self._mount_options(readable, resolve_existing(self.writable))
        isolation = find_isolation_options(bubblewrap, self._network_options())
        inside = ("--chdir", "/", "--", "/bin/sh", "-c", LOOK, "sh", *started)
        argv = (bubblewrap, *mounts, *isolation, *inside)
        result = run_command(argv, cwd=Path("/"), env=env, timeout=PROBE_TIMEOUT)
        return started.get(os.fsdecode(result.out))

    def wrap(
        self,
        launch: Launch,
        folder: Path,
        own: Iterable[Path] = (),
        overlays: Mapping[Path, Path] | None = None,
        programs: Sequence[str] = (),
    ) -> Launch:
        """Wrap the command into the sandbox; a `SandboxedLaunch` is returned unchanged.

        `own` are folders that the command writes besides its worktree.  `overlays` maps a path to
        the folder that is mounted over it: read-only, unless it is one of the writable folders.
        `programs` are those that the command starts.
        """
        if isinstance(launch, SandboxedLaunch):
            return launch
        refuse_links(folder)
        bubblewrap = self._find_program()
        caches = self._make_cache_folder(launch)
        cache_variables = build_cache_variables(caches, launch.env, self.writable)
        writable = [self._worktree(Path(launch.cwd)), outbox(folder), *own]
        writable += [*map(Path, launch.writable), *self.writable]
        writable += [caches] if caches != IN_MEMORY else []
        network = self._network_options() if launch.network else ("--unshare-net",)
        isolation = find_isolation_options(bubblewrap, network)
        task_files = resolve_existing([folder / name for name in READABLE_FILES])
        readable = [*self._readable_paths(launch.env, (launch.argv[0], *programs)), *task_files]
        mounts = self._mount_options(readable, resolve_existing(writable))
        env = {**cache_variables, **launch.env, "TMPDIR": TEMPORARY}
        loader_variables = {name: env.pop(name) for name in tuple(env) if name.startswith(LOADER)}
        loader_options = (word for pair in loader_variables.items() for word in ("--setenv", *pair))
        # The sandbox must not outlive its shim: no other process would know what to wait for.
        inside = ("--die-with-parent", *loader_options, "--chdir", launch.cwd, "--", *launch.argv)
        argv = (
            *self._bubblewrap_command(bubblewrap),
            *mounts,
            *overlay_options(overlays or {}, writable),
            *isolation,
            *inside,
        )
        fields_ = {field.name: getattr(launch, field.name) for field in fields(launch)}
        # The temporary folder of a sandbox is its own in any case.
        return SandboxedLaunch(**{**fields_, "argv": argv, "env": env, "temporary": ""})

    def run_isolated(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        read_only: Sequence[Path],
        timeout: timedelta,
    ) -> CommandResult:
        """Runs a short command that cannot write and has no network."""
        bubblewrap = self._find_program()
        isolation = find_isolation_options(bubblewrap, ("--unshare-net",))
        mounts = bind_options(resolve_existing(read_only), (), resolve_existing(self._all_hidden()))
        inside = ("--die-with-parent", "--chdir", "/", "--", *argv)
        command = (bubblewrap, *root_options(), *mounts, *isolation, *inside)
        return run_command(
            command,
            cwd=Path("/"),
            env=env,
            timeout=timeout,
            output_bytes_max=ISOLATED_OUTPUT_BYTES_MAX,
        )

    def words_around(self, files: Path, env: Mapping[str, str]) -> tuple[str, ...]:
        """The prefix for a command that reads these files, cannot write them and has no network."""
        bubblewrap = self._find_program()
        isolation = find_isolation_options(bubblewrap, ("--unshare-net",))
        readable = [*self._readable_paths(env), *resolve_existing([files])]
        mounts = self._mount_options(readable, resolve_existing(self.writable))
        inside = ("--die-with-parent", "--chdir", str(files), "--")
        return (*self._bubblewrap_command(bubblewrap), *mounts, *isolation, *inside)

    def _bubblewrap_command(self, bubblewrap: str) -> tuple[str, ...]:
        """bubblewrap with closed keyrings, if kernel and bubblewrap support that."""
        filtered = self._filtered_command(bubblewrap)
        return filtered if starts_successfully(filtered) else (bubblewrap,)

    def _filtered_command(self, bubblewrap: str) -> tuple[str, ...]:
        return ("/bin/sh", "-c", CLOSING, bubblewrap, str(calls_file(self.worktrees)))

    def _mount_options(self, readable: Sequence[Path], writable: Sequence[Path]) -> Iterator[str]:
        hidden = resolve_existing(self._all_hidden())
        sockets = [
            s
            for s in list_open_sockets()
            if not is_below(s, (*writable, *self.socket_folders, *VISIBLE_RUN_FOLDERS))
        ]
        # A socket in a hidden folder is invisible anyway.
        sockets = [
            s
            for s in sockets
            if is_below(s, readable) or not is_below(s, (*hidden, *SHARED_FOLDERS))
        ]
        yield from root_options()
        yield from bind_options(readable, writable, [*hidden, *sockets])

    def _all_hidden(self) -> tuple[Path, ...]:
        return (*self.hidden, *self.list_hidden())

    def _find_program(self) -> str:
        if bubblewrap := shutil.which(self.program or PROGRAM):
            return bubblewrap
        raise SandboxUnavailable(f"{self.program or PROGRAM} is not installed")

    def _network_options(self) -> tuple[str, ...]:
        return () if self.network else ("--unshare-net",)

    def _worktree(self, cwd: Path) -> Path:
        """The whole worktree, also for a check that runs in one of its folders."""
        name = self._task_name(cwd)
        return self.worktrees / name if name else cwd

    def _task_name(self, cwd: Path) -> str:
        if not cwd.is_relative_to(self.worktrees) or cwd == self.worktrees:
            return ""
        return cwd.relative_to(self.worktrees).parts[0]

    def _make_cache_folder(self, launch: Launch) -> Path:
        """The package caches of the task; in memory for the preparation of a proof room."""
        name = self._task_name(Path(launch.cwd))
        if not name:
            return IN_MEMORY
        folder = self.worktrees / SANDBOX_FOLDERS_NAME / name / "caches"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return folder

    def _readable_paths(self, env: Mapping[str, str], programs: Sequence[str] = ()) -> list[Path]:
        """Paths that must be readable: the repository, home, programs on the PATH, yaoki itself."""
        search_path = env.get("PATH", "")
        folders = search_path.split(os.pathsep)
        named = [Path(name) for name in (env.get("HOME", ""), *folders) if name.startswith("/")]
        prefixes = [top for name in folders if (top := find_program_prefix(name)) is not None]
        started = [path for word in programs for path in list_program_paths(word, search_path)]
        existing = resolve_existing([*VISIBLE_RUN_FOLDERS, *OWN, *named, *prefixes, *started])
        return [*resolve_existing(self.read_only), *(p for p in existing if is_in_shared_folder(p))]

    def _is_in_hidden_folder(self, file: Path) -> bool:
        tops = (*SHARED_FOLDERS, *resolve_existing(self._all_hidden()))
        return is_below(file, tops) or is_below(file.resolve(), tops)


class GuardedProcesses:
    """Passes every call on; subclasses add a condition to `start`."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes

    def start(self, folder: Path, launch: Launch) -> None:
        self._processes.start(folder, launch)

    def inspect(self, folder: Path) -> ProcessState:
        return self._processes.inspect(folder)

    def pause(self, folder: Path, duration: timedelta) -> None:
        self._processes.pause(folder, duration)

    def renew_lease(self, folder: Path) -> None:
        self._processes.renew_lease(folder)

    def end(self, folder: Path, why: EndCause) -> ProcessState:
        return self._processes.end(folder, why)


class SandboxedProcesses(GuardedProcesses):
    """Runs the commands of a task in the sandbox: set-up, agents, and checks of an agent's code.

    `is_sandboxed` selects the folders for which this holds.
    """

    def __init__(
        self, processes: Processes, sandbox: Sandbox, is_sandboxed: Callable[[Path], bool]
    ) -> None:
        super().__init__(processes)
        self._sandbox, self._is_sandboxed = sandbox, is_sandboxed

    def start(self, folder: Path, launch: Launch) -> None:
        refuse_links(folder)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        inside = self._sandbox.wrap(launch, folder) if self._is_sandboxed(folder) else launch
        super().start(folder, inside)


def refuse_links(folder: Path) -> None:
    """Raises `Fault` if the folder of a command is a link, whose target an agent may have chosen.

    An agent can write in the folder of its attempt, and the folders of checks are below it.
    """
    for path in (folder, folder.parent):
        if path.is_symlink():
            raise Fault(
                f"{path} is a link that yaoki did not create",
                transient=False,
                code=FatalCode.FOLDER_LINKED,
                hint=f"check who created it: ls -l {path}",
            )
