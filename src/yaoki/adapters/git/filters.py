"""git's clean and smudge filters: the user's programs, confined when they read files of agents.

A filter starts in the folder of the files, and its command may refer to them: a script of the
tree, or `python -m`.  So where there is a sandbox, filters run inside it.  A filter that appeared
in the repository's own settings while yaoki runs is not started at all.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile

if TYPE_CHECKING:
    from yaoki.adapters.processes.command import CommandResult
    from yaoki.adapters.processes.sandbox import Sandbox

LIST_FILTERS = ("config", "-z", "--show-scope", "--get-regexp", r"^filter\.")
PAIR = ("KEY", "VALUE")
SYSTEM = "/etc/gitconfig"
# Trusted: not a file of the tree, start nothing that the tree names, and write below `.git`.
CONTENT_STORES = lazy_compile(r"git-(?:annex|crypt|lfs)")
PLAIN_COMMAND = lazy_compile(r"""[\w\s%"./-]+""")
# An agent outside of the sandbox can write these as well as the user.
LOCAL_SCOPES = ("local", "worktree")
COMMAND_KEYS = ("clean", "smudge", "process")
CACHED_MAX = 64
DISABLED = {**dict.fromkeys(COMMAND_KEYS, ""), "required": "false"}

ConfigFacts = tuple[tuple[str, tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True)
class FilterSetting:
    scope: str
    filter: str
    key: str
    value: str


class FilterSettings:
    """The filter settings of one repository, in the output format of `LIST_FILTERS`."""

    def __init__(
        self, common_dir: Path, ask: Callable[[Sequence[str], Mapping[str, str]], CommandResult]
    ) -> None:
        self._common_dir, self._ask = common_dir, ask
        self._cached: dict[ConfigFacts, bytes] = {}

    def read(self, env: Mapping[str, str]) -> bytes:
        """Cached until a config file changes; included files are not watched.

        Only files that exist are compared, so most worktrees share one answer.
        """
        files = ((file, _facts(file)) for file in self._files(env))
        key = tuple((file, facts) for file, facts in files if facts)
        if key not in self._cached:
            result = self._ask(LIST_FILTERS, env)
            if len(self._cached) >= CACHED_MAX:
                self._cached.clear()
            self._cached[key] = result.out if result.code == 0 else b""
        return self._cached[key]

    def _files(self, env: Mapping[str, str]) -> Iterator[str]:
        """As plain text: this is asked before most git commands, and a `Path` costs more."""
        home = env.get("HOME", "")
        for folder in (env["GIT_DIR"], str(self._common_dir)):
            yield from (f"{folder}/config", f"{folder}/config.worktree")
        config_home = env.get("XDG_CONFIG_HOME") or f"{home}/.config"
        yield from (f"{config_home}/git/config", f"{home}/.gitconfig", SYSTEM)


class Filters:
    """Computes settings that override those of filters."""

    def __init__(self, sandbox: Callable[[], Sandbox | None] = lambda: None) -> None:
        self._sandbox = sandbox
        self._initial: frozenset[FilterSetting] | None = None

    def overrides(self, listing: bytes, files: Path, env: Mapping[str, str]) -> dict[str, str]:
        """Keys and values; `listing` is the output of `LIST_FILTERS`."""
        settings = tuple(_parse(listing))
        if self._initial is None:
            self._initial = frozenset(settings)
        new = {s.filter for s in settings if s.scope in LOCAL_SCOPES and s not in self._initial}
        commands = [
            s for s in settings if s.key in COMMAND_KEYS and s.value and not _is_trusted(s.value)
        ]
        sandbox = self._sandbox() if commands else None
        overrides: dict[str, str] = {}
        if sandbox is not None:
            wrapper = shlex.join(sandbox.words_around(files, env))
            overrides = {f"filter.{s.filter}.{s.key}": _wrap(wrapper, s) for s in commands}
        disabled = {f"filter.{name}.{key}": v for name in new for key, v in DISABLED.items()}
        return overrides | disabled


def as_variables(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings for one git call; unlike `-c` options their names may contain any character."""
    rows = enumerate(settings.items())
    pairs = {f"GIT_CONFIG_{w}_{n}": v for n, row in rows for w, v in zip(PAIR, row, strict=True)}
    return {"GIT_CONFIG_COUNT": f"{len(settings)}", **pairs} if settings else {}


def _facts(file: str) -> tuple[int, ...]:
    try:
        facts = os.stat(file)  # noqa: PTH116 - a `Path` costs more than the call
    except OSError:
        return ()
    return facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


def _parse(listing: bytes) -> Iterator[FilterSetting]:
    fields = iter(listing.decode("utf-8", "surrogateescape").split("\0"))
    for scope, entry in zip(fields, fields, strict=False):
        key, _, value = entry.partition("\n")
        name, _, last = key.removeprefix("filter.").rpartition(".")
        yield FilterSetting(scope, name, last, value)


def _is_trusted(command: str) -> bool:
    """True for known programs that store content outside git's own objects."""
    if not PLAIN_COMMAND.fullmatch(command):
        return False
    words = shlex.split(command.replace("%f", "f")) if command.count('"') % 2 == 0 else []
    name = "-".join(words[:2]) if words[:1] == ["git"] else "".join(words[:1])
    return bool(CONTENT_STORES.fullmatch(Path(name).name)) and (
        "/" not in name or name.startswith("/")
    )


def _wrap(wrapper: str, setting: FilterSetting) -> str:
    """The filter's command inside the wrapper; git replaces `%f` by a quoted path."""
    if setting.key == "process":
        return f"{wrapper} sh -c {shlex.quote(setting.value)}"
    replacements = {"%f": '"$1"', "%%": "%"}
    command = re.sub("%[f%]", lambda hit: replacements[hit[0]], setting.value)
    return f"{wrapper} sh -c {shlex.quote(command)}".replace("%", "%%") + " filter %f"
