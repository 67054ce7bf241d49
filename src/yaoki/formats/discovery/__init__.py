"""Finds the checks of a repository in its files: data in, data out.

The known tools are in `languages/`, one file per language and one entry per tool.
"""

from __future__ import annotations

from yaoki.formats.discovery.detection import (
    Discovery,
    FoundCheck,
    find_checks,
    install_command,
    manager_programs,
    replaceable_programs,
)
from yaoki.formats.discovery.second_look import (
    CommentedCheck,
    add_agents,
    add_setup,
    add_usable_checks,
    commented_out_checks,
    refresh_comments,
    update_environments,
)
from yaoki.formats.discovery.settings_text import (
    OWN_CHECK,
    FoundAgent,
    TrialResult,
    TrialState,
    settings_text,
)
from yaoki.formats.discovery.table import KINDS
from yaoki.formats.discovery.tree import RepositoryFiles, is_text_needed

__all__ = [
    "KINDS",
    "OWN_CHECK",
    "CommentedCheck",
    "Discovery",
    "FoundAgent",
    "FoundCheck",
    "RepositoryFiles",
    "TrialResult",
    "TrialState",
    "add_agents",
    "add_setup",
    "add_usable_checks",
    "commented_out_checks",
    "find_checks",
    "install_command",
    "is_text_needed",
    "manager_programs",
    "refresh_comments",
    "replaceable_programs",
    "settings_text",
    "update_environments",
]
