"""Caches of package managers inside the sandbox: private folders, named by each one's variable.

The user's own are read-only there, and several managers fail on a cache that they cannot write.
They are not shared either: what an agent puts into a cache, the next installation would take for
what the registry had sent.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

# The variable, the folder below the private one, and the user's own folder that it stands for.
CACHES = (
    ("PIP_CACHE_DIR", "pip", ".cache/pip"),
    ("UV_CACHE_DIR", "uv", ".cache/uv"),
    ("POETRY_CACHE_DIR", "poetry", ".cache/pypoetry"),
    ("PDM_CACHE_DIR", "pdm", ".cache/pdm"),
    ("PRE_COMMIT_HOME", "pre-commit", ".cache/pre-commit"),
    ("npm_config_cache", "npm", ".npm"),
    ("npm_config_store_dir", "pnpm", ".local/share/pnpm"),
    ("YARN_CACHE_FOLDER", "yarn", ".cache/yarn"),
    ("BUN_INSTALL_CACHE_DIR", "bun", ".bun/install/cache"),
    ("DENO_DIR", "deno", ".cache/deno"),
    ("GOCACHE", "go-build", ".cache/go-build"),
    ("GOMODCACHE", "go-mod", "go/pkg/mod"),
    ("CARGO_HOME", "cargo", ".cargo"),
    ("GRADLE_USER_HOME", "gradle", ".gradle"),
    ("COMPOSER_CACHE_DIR", "composer", ".cache/composer"),
    ("NUGET_PACKAGES", "nuget", ".nuget/packages"),
    ("CCACHE_DIR", "ccache", ".cache/ccache"),
)
# What cargo reads beside its cache, and only reads.
CARGO_FILES = ("config.toml", "config", "credentials.toml", "credentials", "env")


def build_cache_variables(
    folder: Path, env: Mapping[str, str], shared: Sequence[Path] = ()
) -> dict[str, str]:
    """Variables for folders below `folder`; none for a cache that the settings let it write."""
    home = env.get("HOME", "")
    if not home.startswith("/"):
        return {}
    named = {
        variable: str(folder / below)
        for variable, below, usual in CACHES
        if variable not in env and not any(Path(home, usual).is_relative_to(s) for s in shared)
    }
    if "CARGO_HOME" in named and folder.is_dir():
        _link_cargo(Path(home, ".cargo"), folder / "cargo")
    return named


def _link_cargo(users: Path, own: Path) -> None:
    """What an earlier attempt left there may be anything: through a link we would write elsewhere,
    and what is no folder can be replaced.
    """
    if own.is_symlink() or (own.exists() and not own.is_dir()):
        own.unlink()
    own.mkdir(exist_ok=True)
    own.chmod(stat.S_IRWXU)
    for name in CARGO_FILES:
        if (users / name).is_file() and not os.path.lexists(own / name):
            (own / name).symlink_to(users / name)
