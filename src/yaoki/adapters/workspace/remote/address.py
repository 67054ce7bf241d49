"""Which repository the remote is, pinned when the program starts.

An agent can write the repository's config, and with it where a push goes and which program carries
it.  So the address is read once, and whatever else decides about the way must stay as it was.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from uuid import uuid4

from yaoki.adapters.git.command import Git
from yaoki.adapters.git.repository import GitRepository
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.redact import MARK
from yaoki.errors import GitFailed, RepositoryUnusable

# The user's own ways of reaching other machines; every other GIT_ variable is dropped.
WAYS = ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_ASKPASS", "GIT_PROXY_COMMAND")
DECIDES = (
    r"^(core\.(sshcommand|gitproxy|askpass|alternaterefscommand)|(credential|url|http|ssh|protocol"
    r"|pack|transfer|uploadpack|receive)\..*|remote\..*\.(vcs|proxy|uploadpack|receivepack))$"
)
REMOTE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9._-]+)*")
SCP = re.compile(r"[^/:]+:(?!//).+")
PASSWORD = re.compile(r"(?<=://)(?!git@)[^/@\s]+(?=@)")


@dataclass(frozen=True, slots=True)
class RemoteAddress:
    """`name` is the remote's own, empty for one that the settings spell out.

    `alias` is what git calls it: told through its environment, so that a password in the address
    stands in no list of processes, and by chance, so that nobody can add an address to it.
    """

    name: str
    fetch: str
    push: str
    settings_digest: bytes
    alias: str = field(default_factory=lambda: f"yaoki-{uuid4().hex}")

    @property
    def display_name(self) -> str:
        return self.name or self.mask(self.fetch)

    def mask(self, text: str) -> str:
        return PASSWORD.sub(MARK, text)

    @property
    def environment(self) -> Mapping[str, str]:
        """What a command needs besides its arguments."""
        ways = {key: value for key in WAYS if (value := os.environ.get(key))}
        keys = (("url", self.fetch), ("pushurl", self.push))
        pairs = {
            f"GIT_CONFIG_KEY_{n}": f"remote.{self.alias}.{key}" for n, (key, _) in enumerate(keys)
        }
        values = {f"GIT_CONFIG_VALUE_{n}": value for n, (_, value) in enumerate(keys)}
        return {**ways, **pairs, **values, "GIT_CONFIG_COUNT": str(len(keys))}

    def refuse_changed_settings(self, git: Git) -> None:
        """Nothing is sent, and no program started, by settings that came after the start."""
        if _seal(git) != self.settings_digest:
            raise GitFailed(
                f"git's settings for reaching {self.display_name} changed while yaoki runs",
                hint="look at git config --list --show-origin, then stop and start yaoki",
            )


def open_remote_address(git: Git, repository: GitRepository, said: str) -> RemoteAddress:
    """The address of a remote by its name, a URL or a path; refused when it cannot serve."""
    if (repository.common_dir / "shallow").exists():
        raise RepositoryUnusable(
            f"{repository.top} is a shallow clone, and work cannot be merged without its past",
            hint="git fetch --unshallow; a partial clone will do: git clone --filter=blob:none",
        )
    fetch, push = (_url(git, said, *form) for form in ((), ("--push",)))
    path = _absolute(said, repository.top)
    if fetch and push:
        urls = (_absolute(fetch, repository.top), _absolute(push, repository.top))
        return RemoteAddress(said, *urls, settings_digest=_seal(git))
    if REMOTE_NAME.fullmatch(said) and not Path(path).exists():
        raise RepositoryUnusable(f"there is no remote {said!r}", hint="git remote -v")
    return RemoteAddress("", path, path, _seal(git))


def _url(git: Git, name: str, *form: str) -> str:
    if not REMOTE_NAME.fullmatch(name):
        return ""
    done = git.run("remote", "get-url", *form, name, ok=range(256))
    return done.out.decode("utf-8").strip() if done.code == 0 else ""


def _absolute(url: str, top: Path) -> str:
    """A path in a remote's address counts from the checkout."""
    if "://" in url or "::" in url or (SCP.fullmatch(url) and not (top / url).exists()):
        return url
    return str((top / Path(url).expanduser()).resolve())


def _seal(git: Git) -> bytes:
    return git.run("config", "-z", "--get-regexp", DECIDES, ok=(0, 1)).out
