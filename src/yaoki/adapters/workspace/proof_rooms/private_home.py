"""The home folder of a check: empty except for package caches and a git identity.

Nothing that an agent, an earlier check or the user left in a home folder can help a check to pass.
Caches and toolchains are linked, because no package manager works offline without them.
"""

from __future__ import annotations

from pathlib import Path

# Folders of package managers and toolchains below a home folder.
CACHES = (
    *(".cargo", ".rustup", ".npm", ".yarn", ".pnpm-store", ".bun", ".deno", ".nvm", ".volta"),
    *(".pyenv", ".rbenv", ".nodenv", ".asdf", ".sdkman", ".m2", ".gradle", ".ivy2", ".sbt"),
    *(".gem", ".bundle", ".nuget", ".dotnet", ".mix", ".hex", ".composer", ".stack", ".cabal"),
    *(".ghcup", ".conda", "go", ".opam", ".pub-cache", ".elan", ".juliaup", ".julia"),
    *(".cache/pip", ".cache/uv", ".cache/pypoetry", ".cache/pdm", ".cache/pipenv", ".cache/hatch"),
    *(".cache/pre-commit", ".cache/go-build", ".cache/yarn", ".cache/pnpm", ".cache/ms-playwright"),
    *(".cache/Cypress", ".cache/puppeteer", ".cache/node", ".cache/deno", ".cache/bazel"),
    *(".cache/composer", ".cache/coursier", ".cache/nix", ".local/share/uv", ".local/share/pnpm"),
    *(
        ".local/share/mise",
        ".local/share/pypoetry",
        ".local/share/hatch",
        ".local/share/virtualenvs",
    ),
)


def fill_home(home: Path, real: Path, identity: tuple[str, str]) -> None:
    """Link the existing caches, and configure an author for commits that tests make."""
    for name in CACHES:
        if (real / name).is_dir():
            link = home / name
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(real / name, target_is_directory=True)
    name, email = (value.replace("\n", " ").replace('"', "'") for value in identity)
    config = f'[user]\n\tname = "{name}"\n\temail = "{email}"\n'
    (home / ".gitconfig").write_text(config, encoding="utf-8")
