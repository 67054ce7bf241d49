"""Programs that git starts for the content of files: the user's filters, held off from agents.

A filter is started in the folder of the files, and its words may lead there: to a script of the
tree, or by `python -m`.  So where there is a sandbox, it runs inside.  One that came into the
repository's own settings while we are at work is not started at all.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from yaoki.adapters.processes.command import CommandResult
from yaoki.adapters.processes.sandbox import Sandbox
from yaoki.core.lazy_dataclass import dataclass

ASKED = ("config", "-z", "--show-scope", "--get-regexp", r"^filter\.")
PAIR = ("KEY", "VALUE")
SYSTEM = Path("/etc/gitconfig")
# Each is no file of the tree, starts nothing that the tree names, and writes below `.git`.
STORES = re.compile(r"git-(?:annex|crypt|lfs)")
PLAIN = re.compile(r"""[\w\s%"./-]+""")
# Whoever can write these is an agent outside of the sandbox, or the user.
LOCAL = ("local", "worktree")
STARTING = ("clean", "smudge", "process")
NOTHING = {**dict.fromkeys(STARTING, ""), "required": "false"}


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of a filter, as git reads it."""

    scope: str
    filter: str
    key: str
    value: str


class FilterSettings:
    """git's answer to `ASKED` for one repository."""

    def __init__(
        self, common_dir: Path, ask: Callable[[Sequence[str], Mapping[str, str]], CommandResult]
    ) -> None:
        self._common_dir, self._ask = common_dir, ask
        self._listed: tuple[object, bytes] = (None, b"")

    def now(self, env: Mapping[str, str]) -> bytes:
        """Asked again when a file of settings changed, but for those that another one includes."""
        facts = [(file, _facts(file)) for file in self._files(env)]
        if facts != self._listed[0]:
            done = self._ask(ASKED, env)
            self._listed = facts, done.out if done.code == 0 else b""
        return self._listed[1]

    def _files(self, env: Mapping[str, str]) -> Iterator[Path]:
        home = env.get("HOME", "")
        for folder in (Path(env["GIT_DIR"]), self._common_dir):
            yield from (folder / "config", folder / "config.worktree")
        yield Path(env.get("XDG_CONFIG_HOME") or f"{home}/.config", "git", "config")
        yield from (Path(home, ".gitconfig"), SYSTEM)


class Filters:
    """What git is told instead of the settings of filters."""

    def __init__(self, sandbox: Callable[[], Sandbox | None] = lambda: None) -> None:
        self._sandbox = sandbox
        self._known: frozenset[Setting] | None = None

    def told(self, listed: bytes, files: Path, env: Mapping[str, str]) -> dict[str, str]:
        """Keys and values; `listed` is git's answer to `ASKED`."""
        found = tuple(_settings(listed))
        if self._known is None:
            self._known = frozenset(found)
        new = {s.filter for s in found if s.scope in LOCAL and s not in self._known}
        asked = [s for s in found if s.key in STARTING and s.value and not _stores(s.value)]
        sandbox = self._sandbox() if asked else None
        told: dict[str, str] = {}
        if sandbox is not None:
            words = shlex.join(sandbox.words_around(files, env))
            told = {f"filter.{s.filter}.{s.key}": _inside(words, s) for s in asked}
        return told | {f"filter.{name}.{key}": v for name in new for key, v in NOTHING.items()}


def as_variables(told: Mapping[str, str]) -> dict[str, str]:
    """Settings for one call of git; unlike words of the command line their names hold anything."""
    rows = enumerate(told.items())
    named = {f"GIT_CONFIG_{w}_{n}": v for n, row in rows for w, v in zip(PAIR, row, strict=True)}
    return {"GIT_CONFIG_COUNT": f"{len(told)}", **named} if told else {}


def _facts(file: Path) -> tuple[int, ...]:
    try:
        facts = file.stat()
    except OSError:
        return ()
    return facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


def _settings(listed: bytes) -> Iterator[Setting]:
    fields = iter(listed.decode("utf-8", "surrogateescape").split("\0"))
    for scope, entry in zip(fields, fields, strict=False):
        key, _, value = entry.partition("\n")
        name, _, last = key.removeprefix("filter.").rpartition(".")
        yield Setting(scope, name, last, value)


def _stores(command: str) -> bool:
    """Is it one of the programs that keep content beside git's own?"""
    if not PLAIN.fullmatch(command):
        return False
    words = shlex.split(command.replace("%f", "f")) if command.count('"') % 2 == 0 else []
    name = "-".join(words[:2]) if words[:1] == ["git"] else "".join(words[:1])
    return bool(STORES.fullmatch(Path(name).name)) and ("/" not in name or name.startswith("/"))


def _inside(words: str, setting: Setting) -> str:
    """The same command behind these words.  git puts a path where `%f` stands, and quotes it."""
    if setting.key == "process":
        return f"{words} sh -c {shlex.quote(setting.value)}"
    named = {"%f": '"$1"', "%%": "%"}
    command = re.sub("%[f%]", lambda hit: named[hit[0]], setting.value)
    return f"{words} sh -c {shlex.quote(command)}".replace("%", "%%") + " filter %f"
