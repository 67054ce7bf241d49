"""What a repository brings to prove work with, found in its files: data in, data out.

The knowledge stands in `languages/`, one file a language and one entry a tool.
"""

from __future__ import annotations

from yaoki.formats.discovery.detection import Discovery, Found, find, install_of
from yaoki.formats.discovery.second_look import renewed, set_aside, with_agents
from yaoki.formats.discovery.settings_text import Here, State, Tried, settings_text
from yaoki.formats.discovery.table import KINDS
from yaoki.formats.discovery.tree import Tree, is_wanted

__all__ = [
    "KINDS",
    "Discovery",
    "Found",
    "Here",
    "State",
    "Tree",
    "Tried",
    "find",
    "install_of",
    "is_wanted",
    "renewed",
    "set_aside",
    "settings_text",
    "with_agents",
]
