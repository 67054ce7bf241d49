"""Settings of the agents that a person drives: what stands there, their next session starts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from yaoki.adapters.git.config_files import is_file_or_link, read_bounded, read_link

# The variable that moves the folder, where it is below the home otherwise, the files in it.
PLACES = (
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
    """The bytes of each file that is there, below the home and where a variable leads."""
    there = (file for file in _files(home, environ) if is_file_or_link(file))
    return {file: read_link(file) + read_bounded(file) for file in there}


def _files(home: Path | None, environ: Mapping[str, str]) -> Iterator[Path]:
    for variable, usual, names in PLACES:
        moved = environ.get(variable, "")
        folders = [home / usual] if home else []
        folders += [Path(moved)] if moved.startswith("/") else []
        yield from (folder / name for folder in folders for name in names)
