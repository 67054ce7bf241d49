"""bubblewrap around a command: it writes where it works and nowhere else.

All of the machine can be read, but what stands in the folders that everybody shares: sockets and
other people's temporary files are out of sight, and so are the processes outside.  Nobody inside
has a capability, root neither: with one the walls could be mounted away.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from functools import lru_cache
from pathlib import Path

import yaoki
from yaoki.adapters.processes.command import CommandResult, run_command
from yaoki.adapters.processes.keyrings import calls_file
from yaoki.adapters.processes.package_caches import build_cache_variables
from yaoki.core.model import EndCause
from yaoki.errors import Fault
from yaoki.ports import SANDBOX_FOLDERS_NAME, Launch, Processes, ProcessState, outbox

PROGRAM = "bwrap"
UNAVAILABLE = "SANDBOX_UNAVAILABLE"
LINKED = "FOLDER_LINKED"
PROBE_TIMEOUT = timedelta(seconds=20)
ISOLATED_OUTPUT_BYTES_MAX = 1 << 30
# Empty inside, but for what is named: a socket found here would lead out of the sandbox.
SHARED_FOLDERS = (Path("/tmp"), Path("/var/tmp"), Path("/run"))
# How names of hosts are resolved, and where some systems keep their programs.
VISIBLE_RUN_FOLDERS = tuple(
    Path("/run") / name
    for name in ("systemd/resolve", "resolvconf", "NetworkManager", "current-system", "wrappers")
)
# The interpreter with its packages, and this program: both may have been put into a shared folder.
OWN = (Path(sys.prefix), Path(sys.base_prefix), Path(yaoki.__file__).parent)
TEMPORARY = "/tmp"
IN_MEMORY = Path(TEMPORARY) / "caches"
# The files that a command may read of its own folder, which is hidden with all others.
READABLE_FILES = ("prompt.md", "request.json", "scenario.json")
# What these variables name is loaded by every program, bubblewrap too, which starts outside and in
# the worktree: they are set for those inside alone.
LOADER = "LD_"
# bubblewrap reads from a descriptor what no call may do.
CLOSING = 'calls=$1; shift; exec "$0" --seccomp 9 "$@" 9< "$calls"'
ISOLATION_OPTIONS = (
    *("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
    *("--cap-drop", "ALL"),
)
# The firmest first; a bubblewrap that is old or setuid, or a container, may refuse some.
STRICTER_OPTIONS = (("--unshare-user", "--disable-userns"), ("--unshare-user",), ())
# The machine's own switches below /proc: root writes them without any capability.
KERNEL_SWITCHES = (Path("/proc/sys"), Path("/proc/sysrq-trigger"))
# Every socket with a path, of this network.
SOCKETS, SOCKETS_MAX = Path("/proc/net/unix"), 500
SWITCH_OPENED = b"SWITCH-OPENED"
# Opened and not written: they belong to the whole machine.
PROBE_SCRIPT = f"""\
cat /proc/self/status
for each in /proc/sys/kernel/core_pattern /proc/sysrq-trigger; do
    if [ -e "$each" ] && (: >> "$each") 2> /dev/null; then echo {SWITCH_OPENED.decode()}; fi
done
"""
# What a process inside must say of itself: nothing may be done, and nothing more be gained.
POWERLESS = tuple(
    re.compile(rb"^%b:\s+%b$" % words, re.MULTILINE)
    for words in ((b"CapEff", b"0+"), (b"CapPrm", b"0+"), (b"NoNewPrivs", b"1"))
)


@dataclass(frozen=True, slots=True)
class SandboxedLaunch(Launch):
    """A command that is walled in already; its type says so, for its words could be anybody's."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What a command may do besides working in its worktree.

    `worktrees` holds one folder for each task.  `shown` are read whatever is hidden around them,
    and stay as they are whatever is writable around them: the repository and its git folder.
    `hidden` are empty inside, but for what the command itself works with: the store, keys, proof
    rooms and the worktrees of others.  Sockets that stand in a folder are closed: whoever answers
    there is outside.  Those below `reached` and in writable folders are not.
    """

    worktrees: Path
    read_only: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    network: bool = True
    program: str = ""
    hidden: tuple[Path, ...] = ()
    socket_folders: tuple[Path, ...] = ()

    def check_available(self) -> None:
        """`Fault` unless it can be made and holds; asked before any agent is called."""
        _walls.cache_clear()
        _walls(self._found(), self._net())

    def wrap(
        self,
        launch: Launch,
        folder: Path,
        own: Iterable[Path] = (),
        overlays: Mapping[Path, Path] | None = None,
    ) -> Launch:
        """The same command inside; one that is inside already stays as it is.

        `own` are folders that the command writes besides its worktree.  Where `laid` says so, it
        sees something else, and can only read it; what a folder of its own is laid over, it writes.
        """
        if isinstance(launch, SandboxedLaunch):
            return launch
        refuse_links(folder)
        found = self._found()
        also = map(Path, launch.writable)
        caches = self._caches(launch)
        named = build_cache_variables(caches, launch.env, self.writable)
        held = [self._worktree(Path(launch.cwd)), outbox(folder), *own, *also, *self.writable]
        held += [caches] if caches != IN_MEMORY else []
        walls = _walls(found, self._net())
        told = _present([folder / name for name in READABLE_FILES])
        seen = [*self._seen(launch.env, launch.argv[:1]), *told]
        binds = self._binds(seen, _present(held))
        # With its shim: nobody else would know what to wait for.
        env = {**named, **launch.env, "TMPDIR": TEMPORARY}
        loading = {name: env.pop(name) for name in tuple(env) if name.startswith(LOADER)}
        told_inside = (word for pair in loading.items() for word in ("--setenv", *pair))
        inside = ("--die-with-parent", *told_inside, "--chdir", launch.cwd, "--", *launch.argv)
        argv = (*self._begun(found), *binds, *_laid(overlays or {}, held), *walls, *inside)
        same = {field.name: getattr(launch, field.name) for field in fields(launch)}
        return SandboxedLaunch(**{**same, "argv": argv, "env": env})

    def run_isolated(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        read_only: Sequence[Path],
        timeout: timedelta,
    ) -> CommandResult:
        """Run a short command inside that writes nothing and reaches nobody."""
        found = self._found()
        walls = _walls(found, ("--unshare-net",))
        binds = _binds(_present(read_only), (), _present(self.hidden))
        inside = ("--die-with-parent", "--chdir", "/", "--", *argv)
        whole = (found, *_root(), *binds, *walls, *inside)
        return run_command(
            whole,
            cwd=Path("/"),
            env=env,
            timeout=timeout,
            output_bytes_max=ISOLATED_OUTPUT_BYTES_MAX,
        )

    def words_around(self, files: Path, env: Mapping[str, str]) -> tuple[str, ...]:
        """The words before a command that works on these files, writes none and reaches nobody."""
        found = self._found()
        walls = _walls(found, ("--unshare-net",))
        seen = [*self._seen(env), *_present([files])]
        binds = self._binds(seen, _present(self.writable))
        inside = ("--die-with-parent", "--chdir", str(files), "--")
        return (*self._begun(found), *binds, *walls, *inside)

    def _begun(self, found: str) -> tuple[str, ...]:
        """bubblewrap with the keyrings closed, where the kernel and its version can do that."""
        closing = ("/bin/sh", "-c", CLOSING, found, str(calls_file(self.worktrees)))
        return closing if _holds(closing) else (found,)

    def _binds(self, seen: Sequence[Path], written: Sequence[Path]) -> Iterator[str]:
        hidden = _present(self.hidden)
        closed = [
            s
            for s in _sockets()
            if not _is_below(s, (*written, *self.socket_folders, *VISIBLE_RUN_FOLDERS))
        ]
        # Where nothing is seen there is nothing to be closed.
        closed = [
            s for s in closed if _is_below(s, seen) or not _is_below(s, (*hidden, *SHARED_FOLDERS))
        ]
        yield from _root()
        yield from _binds(seen, written, [*hidden, *closed])

    def _found(self) -> str:
        if found := shutil.which(self.program or PROGRAM):
            return found
        raise _unavailable(f"{self.program or PROGRAM} is not installed")

    def _net(self) -> tuple[str, ...]:
        return () if self.network else ("--unshare-net",)

    def _worktree(self, cwd: Path) -> Path:
        """A check may work in a folder of its worktree; the whole of it is meant."""
        name = self._task(cwd)
        return self.worktrees / name if name else cwd

    def _task(self, cwd: Path) -> str:
        if not cwd.is_relative_to(self.worktrees) or cwd == self.worktrees:
            return ""
        return cwd.relative_to(self.worktrees).parts[0]

    def _caches(self, launch: Launch) -> Path:
        """Of packages: the task's own; what prepares a proof shares its with nobody."""
        name = self._task(Path(launch.cwd))
        if not name:
            return IN_MEMORY
        made = self.worktrees / SANDBOX_FOLDERS_NAME / name / "caches"
        made.mkdir(parents=True, exist_ok=True, mode=0o700)
        return made

    def _seen(self, env: Mapping[str, str], programs: Sequence[str] = ()) -> list[Path]:
        """What must be read: the repository, the home, the programs on the PATH, yaoki itself."""
        programs = [*env.get("PATH", "").split(os.pathsep), *programs]
        below = [Path(name) for name in [env.get("HOME", ""), *programs] if name.startswith("/")]
        around = [top for name in programs if (top := _environment(name)) is not None]
        read = _present([*VISIBLE_RUN_FOLDERS, *OWN, *below, *around])
        return [*_present(self.read_only), *(p for p in read if _is_hidden(p))]


class GuardedProcesses:
    """Process trees that are started under a condition; everything else is handed on."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes

    def start(self, folder: Path, launch: Launch) -> None:
        self._processes.start(folder, launch)

    def inspect(self, folder: Path) -> ProcessState:
        return self._processes.inspect(folder)

    def renew_lease(self, folder: Path) -> None:
        self._processes.renew_lease(folder)

    def end(self, folder: Path, why: EndCause) -> ProcessState:
        return self._processes.end(folder, why)


class SandboxedProcesses(GuardedProcesses):
    """The commands of a task inside: set-up, agents and checks, which run what an agent wrote.

    `walled` says of which folders that holds.
    """

    def __init__(
        self, processes: Processes, sandbox: Sandbox, is_sandboxed: Callable[[Path], bool]
    ) -> None:
        super().__init__(processes)
        self._sandbox, self._walled = sandbox, is_sandboxed

    def start(self, folder: Path, launch: Launch) -> None:
        refuse_links(folder)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        inside = self._sandbox.wrap(launch, folder) if self._walled(folder) else launch
        super().start(folder, inside)


def refuse_links(folder: Path) -> None:
    """`Fault` if a link leads to the folder of a command: whoever put it there chose its target.

    An agent writes in the folder of its attempt, and those of the checks stand in one below it.
    """
    for place in (folder, folder.parent):
        if place.is_symlink():
            raise Fault(
                f"{place} is a link, and yaoki made none there",
                transient=False,
                code=LINKED,
                hint=f"see who put it there: ls -l {place}",
            )


def _unavailable(why: str) -> Fault:
    return Fault(
        f"the settings ask for a sandbox, and there is none: {why}",
        transient=False,
        code=UNAVAILABLE,
        hint='install bubblewrap, or set sandbox.mode = "off"',
    )


@lru_cache(maxsize=8)
def _holds(begun: tuple[str, ...]) -> bool:
    done = run_command(
        (*begun, *_root(), "--", "true"), cwd=Path("/"), env=_searched(), timeout=PROBE_TIMEOUT
    )
    return done.code == 0


def _searched() -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", os.defpath)}


@lru_cache(maxsize=8)
def _walls(program: str, net: tuple[str, ...]) -> tuple[str, ...]:
    """The firmest walls to be had here, each tried from inside; `Fault` if none of them holds."""
    weakness = ""
    for more in STRICTER_OPTIONS:
        walls = (*ISOLATION_OPTIONS, *more, *net)
        if not (weakness := _weakness(program, walls)):
            return walls
    raise _unavailable(weakness)


def _weakness(program: str, walls: tuple[str, ...]) -> str:
    argv = (program, *_root(), *walls, "--", "sh", "-c", PROBE_SCRIPT)
    done = run_command(argv, cwd=Path("/"), env=_searched(), timeout=PROBE_TIMEOUT)
    if done.code != 0:
        said = done.err.decode("utf-8", "replace").strip().splitlines() or [f"code {done.code}"]
        return f"{PROGRAM} cannot make one here: {said[-1][:300]}"
    if not all(fact.search(done.out) for fact in POWERLESS):
        return f"{PROGRAM} leaves capabilities to those inside"
    if SWITCH_OPENED in done.out:
        return f"{PROGRAM} lets those inside write the machine's own switches in /proc/sys"
    return ""


def _root() -> Iterator[str]:
    yield from ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    for switch in KERNEL_SWITCHES:
        if switch.exists():
            yield from ("--ro-bind", str(switch), str(switch))
    for place in SHARED_FOLDERS:
        if place.is_dir() and not place.is_symlink():
            yield from ("--tmpfs", str(place))


def _binds(seen: Sequence[Path], written: Sequence[Path], hidden: Sequence[Path]) -> Iterator[str]:
    """The deeper ones last, so that each stands on top of what is around it."""
    options: Mapping[Path, str] = {
        **dict.fromkeys(hidden, "--tmpfs"),
        **dict.fromkeys(seen, "--ro-bind"),
        **dict.fromkeys(written, "--bind"),
    }
    empty = []
    for place in sorted(options, key=lambda held: len(held.parts)):
        if options[place] != "--tmpfs":
            yield from (options[place], str(place), str(place))
        elif place.is_dir():
            yield from ("--tmpfs", str(place))
            empty.append(str(place))
        else:
            yield from ("--ro-bind", os.devnull, str(place))
    # Files written there would vanish, so nobody can write any.
    yield from (word for place in empty for word in ("--remount-ro", place))


def _sockets() -> list[Path]:
    """Where programs listen on this machine.  A folder that can only be read holds nobody off: a
    container's engine or a keeper of keys would do outside what it is asked inside.
    """
    try:
        rows = SOCKETS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []
    named = (row.split(maxsplit=7)[7:] for row in rows)
    found = dict.fromkeys(word for words in named for word in words if word.startswith("/"))
    # To whom it is closed outside, it is closed inside as well.
    return [Path(word).resolve() for word in found if os.access(word, os.W_OK)][:SOCKETS_MAX]


def _laid(laid: Mapping[Path, Path], written: Sequence[Path]) -> Iterator[str]:
    """On top of all binds; who stands below another goes later."""
    for place in sorted(laid, key=lambda held: len(held.parts)):
        option = "--bind" if laid[place] in written else "--ro-bind"
        if place.exists():
            yield from (option, str(laid[place]), str(place))


def _present(places: Iterable[Path]) -> list[Path]:
    """Without links on the way: a mount would otherwise stand beside what is meant.

    What is closed to us is as good as not there: a PATH may name folders of another user.
    """
    return [place.resolve() for place in places if os.access(place, os.F_OK)]


def _environment(program: str) -> Path | None:
    """Of a program, or a folder of them: where `bin` stands beside the `lib` that they need.

    A program there is often a link, and knows by its own path where its packages are.  A shared
    folder is no environment, whatever somebody puts into it.
    """
    place = Path(program)
    folder = place if place.name == "bin" else place.parent
    if folder.name != "bin" or not os.access(folder.parent / "lib", os.X_OK):
        return None
    return None if folder.parent.resolve() in SHARED_FOLDERS else folder.parent


def _is_hidden(place: Path) -> bool:
    return _is_below(place, SHARED_FOLDERS)


def _is_below(place: Path, tops: Iterable[Path]) -> bool:
    return any(place.is_relative_to(top) for top in tops)
