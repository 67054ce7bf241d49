"""Reachability of commits: the only place that asks `git rev-list`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from yaoki.adapters.git.command import Git


def has_commits_beyond(git: Git, commits: Sequence[str], base: str) -> bool:
    """True when these commits hold anything that the base does not; an empty base holds nothing."""
    if base and all(commit == base for commit in commits):
        return False
    args = ("rev-list", "-n1", "--stdin")
    return bool(git.run(*args, stdin=_revisions(commits, base)).out.strip())


def commits_not_reachable(git: Git, commits: Sequence[str], head: str) -> tuple[str, ...]:
    """The given commits that cannot be reached from the head; missing objects count as such.

    git walks only what the head lacks, never the whole history behind it.
    """
    answers = git.look_up(*(f"{commit}^{{commit}}" for commit in commits))
    present = [answer.name for answer in answers if answer]
    if not present:
        return tuple(commits)
    reachable = set(present)
    if reachable != {head}:
        text = git.read_text("rev-list", "--stdin", stdin=_revisions(present, head))
        reachable -= set(text.split())
    return tuple(commit for commit in commits if commit not in reachable)


def _revisions(commits: Sequence[str], base: str) -> bytes:
    lines = (*commits, f"^{base}" if base else "")
    return "".join(f"{line}\n" for line in lines if line).encode()
