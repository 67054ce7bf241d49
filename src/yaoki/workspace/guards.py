"""Hashes of the files by which an agent could make git run programs for others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from yaoki.workspace.git import Git

CONFIGS = ("config", "config.worktree")
SINGLE = ("info/attributes", "info/exclude")

# What people, and git on their behalf, set while a run goes on, and what starts no program.
BENIGN = re.compile(
    rb"remote\..+\.(url|pushurl|fetch|tagopt|prune|skipfetchall)"
    rb"|branch\..+\.(remote|merge|rebase|pushremote|description)"
    rb"|(user|gui|color)\..+",
    re.DOTALL,
)


def guards(git: Git) -> dict[str, str]:
    """Name and hash of each file that is there, so a new or missing one shows as well."""
    common = git.common_dir
    configs = {name: _settings(git, file) for name in CONFIGS if (file := common / name).is_file()}
    files = {file.relative_to(common).as_posix(): file.read_bytes() for file in _guarded(common)}
    return {name: sha256(held).hexdigest() for name, held in (configs | files).items()}


def _settings(git: Git, file: Path) -> bytes:
    """The settings that matter, in their order; the bytes of a file that git cannot read."""
    args = ("config", "--file", str(file), "--no-includes", "-z", "--list")
    done = git.run(*args, ok=range(256))
    if done.code != 0:
        return file.read_bytes()
    entries = done.out.split(b"\0")
    return b"\0".join(e for e in entries if not BENIGN.fullmatch(e.partition(b"\n")[0]))


def _guarded(common_dir: Path) -> Iterator[Path]:
    yield from (file for name in SINGLE if (file := common_dir / name).is_file())
    yield from (file for file in sorted(common_dir.glob("hooks/**/*")) if file.is_file())
