"""Settings of a person's own agents: commands in them run in the person's next session."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from yaoki.adapters.git.config_files import is_file_or_link, read_bounded, read_link

# The variable that names the folder, its default below the home, and its files.
SETTINGS_FILES = (
    ("CLAUDE_CONFIG_DIR", ".claude", ("settings.json", "settings.local.json")),
    ("CODEX_HOME", ".codex", ("hooks.json", "config.toml")),
    ("", ".gemini", ("settings.json",)),
    ("", ".qwen", ("settings.json",)),
    ("PI_CODING_AGENT_DIR", ".pi/agent", ("settings.json", "models.json")),
    ("", ".config/opencode", ("opencode.json", "opencode.jsonc")),
    ("", ".continue", ("config.yaml", "config.json", "config.ts")),
    ("", ".cursor", ("mcp.json", "hooks.json", "cli-config.json")),
)


def read_agent_settings(
    home: Path | None, environ: Mapping[str, str] = os.environ
) -> dict[Path, bytes]:
    """The content of each existing file, below the home and in folders that variables name."""
    existing = (file for file in _files(home, environ) if is_file_or_link(file))
    return {file: read_link(file) + read_bounded(file) for file in existing}


def _files(home: Path | None, environ: Mapping[str, str]) -> Iterator[Path]:
    for variable, default, names in SETTINGS_FILES:
        folder_name = environ.get(variable, "")
        folders = [home / default] if home else []
        folders += [Path(folder_name)] if folder_name.startswith("/") else []
        yield from (folder / name for folder in folders for name in names)
