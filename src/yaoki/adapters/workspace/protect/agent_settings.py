"""Settings of a person's own agents: commands in them run in the person's next session.

Watched are the files that start programs, trust folders or hold keys.  Programs rewrite some of
them all the time, so of those only such values count, and renewed tokens of a login never do.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from yaoki.adapters.git.config_files import is_file_or_link, is_folder, read_bounded, read_link
from yaoki.core.lazy_pattern import lazy_compile

# The variable that names the folder, its default below the home, and its files.
SETTINGS_FILES = (
    ("CLAUDE_CONFIG_DIR", ".claude", ("settings.json", "settings.local.json", ".credentials.json")),
    ("CLAUDE_CONFIG_DIR", "", (".claude.json",)),
    ("CODEX_HOME", ".codex", ("hooks.json", "config.toml", "auth.json")),
    ("", ".gemini", ("settings.json", "trustedFolders.json", "oauth_creds.json", ".env")),
    ("", ".qwen", ("settings.json", "trustedFolders.json", "oauth_creds.json", ".env")),
    (
        "PI_CODING_AGENT_DIR",
        ".pi/agent",
        ("settings.json", "models.json", "auth.json", "extensions/*", "hooks/*"),
    ),
    (
        "XDG_CONFIG_HOME",
        ".config",
        (
            *("opencode/opencode.json", "opencode/opencode.jsonc", "opencode/config.json"),
            *("opencode/plugin/*", "opencode/plugins/*", "gptme/config.toml"),
        ),
    ),
    ("XDG_DATA_HOME", ".local/share", ("opencode/auth.json",)),
    ("VIBE_HOME", ".vibe", ("config.toml", "trusted_folders.toml", "hooks.toml", ".env")),
    ("MSWEA_GLOBAL_CONFIG_DIR", ".config/mini-swe-agent", (".env",)),
    ("", "", (".aider.conf.yml", ".aider/oauth-keys.env")),
    (
        "CLINE_DIR",
        ".cline",
        tuple(
            f"data/{name}"
            for name in ("secrets.json", "settings/providers.json", "settings/*mcp_settings.json")
        ),
    ),
    ("", ".continue", ("config.yaml", "config.json", "config.ts", ".env", "permissions.yaml")),
    ("", ".openhands", ("agent_settings.json", "settings.json", "mcp.json", "hooks.json")),
    ("COPILOT_HOME", ".copilot", ("config.json", "mcp-config.json", "settings.json")),
    ("", ".cursor", ("mcp.json", "hooks.json", "cli-config.json")),
)
FILES_OF_PATTERN_MAX = 200
# The values of these files that count, at the top and for each project; the rest changes freely.
SENSITIVE_VALUES: Mapping[str, frozenset[str]] = {
    ".claude.json": frozenset(
        {
            *("mcpServers", "customApiKeyResponses", "primaryApiKey", "hooks", "projects"),
            *("hasTrustDialogAccepted", "allowedTools", "enabledMcpjsonServers"),
        }
    ),
}
# A program renews its own login.  Keys with a dollar sign are about the file itself.
_RENEWED = lazy_compile(
    r"(?:access|refresh|id)?_?tokens?|access|refresh|last_?refresh|expir\w*",
    re.IGNORECASE,
)


def read_agent_settings(home: str, environ: Mapping[str, str] = os.environ) -> dict[str, bytes]:
    """The content of each existing file, below the home and in folders that variables name."""
    existing = (file for file in _files(home, environ) if is_file_or_link(file))
    contents = {
        file: read_link(file) + _sensitive(file.rpartition("/")[2], read_bounded(file))
        for file in existing
    }
    # A new file that sets nothing is no change.
    return {file: content for file, content in contents.items() if content not in (b"", b"{}")}


def _files(home: str, environ: Mapping[str, str]) -> Iterator[str]:
    for variable, default, names in SETTINGS_FILES:
        folder_name = environ.get(variable, "").rstrip("/") if variable else ""
        folders = [f"{home}/{default}".rstrip("/")] if home else []
        folders += [folder_name] if folder_name.startswith("/") else []
        for folder in (folder for folder in folders if is_folder(folder)):
            yield from (file for name in names for file in _matches(folder, name))


def _matches(folder: str, name: str) -> Iterator[str]:
    if "*" not in name:
        yield f"{folder}/{name}"
    elif is_folder(f"{folder}/{name.rpartition('/')[0]}"):
        found = sorted(map(str, Path(folder).glob(name)))
        yield from islice(found, FILES_OF_PATTERN_MAX)


def _sensitive(name: str, content: bytes) -> bytes:
    """The values that count; the whole content if it cannot be read."""
    if not name.endswith(".json"):
        return content
    try:
        values = json.loads(content)
        if isinstance(values, dict) and (kept := SENSITIVE_VALUES.get(name)):
            projects = values.get("projects")
            facts_by_place = {
                place: facts
                for place, held in (projects.items() if isinstance(projects, dict) else ())
                if isinstance(held, dict) and (facts := _keep(held, kept))
            }
            values = _keep({**values, "projects": facts_by_place}, kept)
        return json.dumps(_without_renewed(values), sort_keys=True).encode()
    except (ValueError, RecursionError):
        return content


def _keep(values: Mapping[str, Any], kept: frozenset[str]) -> dict[str, Any]:
    """An empty value allows nothing, so it may come and go."""
    return {key: value for key, value in values.items() if key in kept and value}


def _without_renewed(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: "renewed"
            if _RENEWED.fullmatch(key) and not isinstance(inner, dict | list)
            else _without_renewed(inner)
            for key, inner in value.items()
            if not key.startswith("$")
        }
    return [_without_renewed(item) for item in value] if isinstance(value, list) else value
