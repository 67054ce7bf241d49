"""Caches of package managers inside the sandbox: private folders, set by variables.

The user's caches are read-only there, and several managers fail on a cache that they cannot write.
Caches are not shared either: the next installation would trust what an agent put into them.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

# The variable, the private folder, and the folder of the user that it replaces.
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
# Files beside its cache that cargo only reads.
CARGO_FILES = ("config.toml", "config", "credentials.toml", "credentials", "env")


def build_cache_variables(
    folder: Path, env: Mapping[str, str], shared: Sequence[Path] = ()
) -> dict[str, str]:
    """Variables for folders below `folder`, except for caches that the settings share."""
    home = env.get("HOME", "")
    if not home.startswith("/"):
        return {}
    variables = {
        variable: str(folder / subfolder)
        for variable, subfolder, user_folder in CACHES
        if variable not in env
        and not any(Path(home, user_folder).is_relative_to(s) for s in shared)
    }
    if "CARGO_HOME" in variables and folder.is_dir():
        _link_cargo(Path(home, ".cargo"), folder / "cargo")
    return variables


def _link_cargo(user_cargo: Path, private_cargo: Path) -> None:
    """An earlier attempt may have left anything here: a link would make us write elsewhere, so
    everything but a folder is replaced.
    """
    if private_cargo.is_symlink() or (private_cargo.exists() and not private_cargo.is_dir()):
        private_cargo.unlink()
    private_cargo.mkdir(exist_ok=True)
    private_cargo.chmod(stat.S_IRWXU)
    for name in CARGO_FILES:
        if (user_cargo / name).is_file() and not os.path.lexists(private_cargo / name):
            (private_cargo / name).symlink_to(user_cargo / name)
