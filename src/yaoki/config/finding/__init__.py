"""What a repository brings to prove work with, found in its files: data in, data out.

The knowledge stands in `languages/`, one file a language and one entry a tool.
"""

from __future__ import annotations

from yaoki.config.finding.again import renewed, set_aside, with_agents
from yaoki.config.finding.matching import Discovery, Found, find, install_of
from yaoki.config.finding.table import KINDS
from yaoki.config.finding.tree import Tree, is_wanted
from yaoki.config.finding.writing import Here, State, Tried, settings_text

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
