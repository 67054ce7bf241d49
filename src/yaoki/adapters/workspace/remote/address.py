"""The address of the remote, fixed when the program starts.

An agent can write the repository's config, and with it the target of a push and the transport
program.  So the address is read once, and all other settings of the transport must not change.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from uuid import uuid4

from yaoki.adapters.git.command import Git
from yaoki.adapters.git.repository import GitRepository
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.redact import MARK
from yaoki.errors import GitFailed, RepositoryUnusable

# The user's own transport programs; every other GIT_ variable is dropped.
TRANSPORT_VARIABLES = (
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
    "GIT_ASKPASS",
    "GIT_PROXY_COMMAND",
)
TRANSPORT_SETTINGS = (
    r"^(core\.(sshcommand|gitproxy|askpass|alternaterefscommand)|(credential|url|http|ssh|protocol"
    r"|pack|transfer|uploadpack|receive)\..*|remote\..*\.(vcs|proxy|uploadpack|receivepack))$"
)
REMOTE_NAME = lazy_compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9._-]+)*")
SCP = lazy_compile(r"[^/:]+:(?!//).+")
PASSWORD = lazy_compile(r"(?<=://)(?!git@)[^/@\s]+(?=@)")


@dataclass(frozen=True, slots=True)
class RemoteAddress:
    """`name` is the remote's name in git, empty when yaoki's settings contain the address.

    `alias` is the name used for calls.  Its address is passed through the environment, so that no
    process list shows a password; it is random, so that no config can add an address to it.
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
        """The variables that a command needs besides its arguments."""
        programs = {key: value for key in TRANSPORT_VARIABLES if (value := os.environ.get(key))}
        keys = (("url", self.fetch), ("pushurl", self.push))
        pairs = {
            f"GIT_CONFIG_KEY_{n}": f"remote.{self.alias}.{key}" for n, (key, _) in enumerate(keys)
        }
        values = {f"GIT_CONFIG_VALUE_{n}": value for n, (_, value) in enumerate(keys)}
        return {**programs, **pairs, **values, "GIT_CONFIG_COUNT": str(len(keys))}

    def refuse_changed_settings(self, git: Git) -> None:
        """Refuse to contact the remote when its settings changed after the start."""
        if _read_transport_settings(git) != self.settings_digest:
            raise GitFailed(
                f"git's settings for {self.display_name} changed while yaoki is running",
                hint="check git config --list --show-origin, then restart yaoki",
            )


def open_remote_address(git: Git, repository: GitRepository, setting: str) -> RemoteAddress:
    """The address of a remote by its name, URL or path; refused when it cannot be used."""
    if (repository.common_dir / "shallow").exists():
        raise RepositoryUnusable(
            f"{repository.top} is a shallow clone, and work cannot be merged without its history",
            hint="git fetch --unshallow; a partial clone works too: git clone --filter=blob:none",
        )
    fetch, push = (_read_url(git, setting, *form) for form in ((), ("--push",)))
    path = _make_absolute(setting, repository.top)
    if fetch and push:
        urls = (_make_absolute(fetch, repository.top), _make_absolute(push, repository.top))
        return RemoteAddress(setting, *urls, settings_digest=_read_transport_settings(git))
    if REMOTE_NAME.fullmatch(setting) and not Path(path).exists():
        raise RepositoryUnusable(f"there is no remote {setting!r}", hint="git remote -v")
    return RemoteAddress("", path, path, _read_transport_settings(git))


def _read_url(git: Git, name: str, *form: str) -> str:
    if not REMOTE_NAME.fullmatch(name):
        return ""
    result = git.run("remote", "get-url", *form, name, ok=range(256))
    return result.out.decode("utf-8").strip() if result.code == 0 else ""


def _make_absolute(url: str, top: Path) -> str:
    """A relative path in a remote's address is relative to the checkout."""
    if "://" in url or "::" in url or (SCP.fullmatch(url) and not (top / url).exists()):
        return url
    return str((top / Path(url).expanduser()).resolve())


def _read_transport_settings(git: Git) -> bytes:
    return git.run("config", "-z", "--get-regexp", TRANSPORT_SETTINGS, ok=(0, 1)).out
