"""`yaoki prune`: finished runs leave the store for an archive, and why the others stay."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from yaoki.faces.cli.context import json_option, opened, repo_option
from yaoki.faces.cli.person_only import refuse_agents
from yaoki.faces.cli.text.render import columns, document, line, next_command, prose
from yaoki.views import SCHEMA

if TYPE_CHECKING:
    from yaoki.app.prune import Archived, Pruned, Pruning
    from yaoki.core.retention import Fate

FAILED = 1
SHOWN = 60


@click.command()
@click.option("--dry-run", is_flag=True, help="Show what would be archived; change nothing.")
@json_option
@repo_option
def prune(dry_run: bool, as_json: bool, repo: Path) -> int:
    """Archive finished runs that are old or many; settings: [archive]."""
    from yaoki.app.prune import Pruned, Pruning

    with opened(repo) as app:
        refuse_agents(app)
        pruning = Pruning(app)
        pruned = Pruned((), {}) if dry_run else pruning.prune()
        fates = pruning.fates()
        if as_json:
            document(_document(pruning, pruned, fates, dry_run=dry_run))
        else:
            _show(pruning, pruned, fates)
        return FAILED if pruned.failed else 0


def _document(
    pruning: Pruning, pruned: Pruned, fates: list[Fate], *, dry_run: bool
) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "dry_run": dry_run,
        "folder": str(pruning.folder),
        "archived": [_archived(each) for each in pruned.archived],
        "due": [_fate(pruning, fate) for fate in fates if fate.due],
        "stays": [_fate(pruning, fate) for fate in fates if not fate.due],
        "failed": [{"run": run, "why": why} for run, why in pruned.failed.items()],
    }


def _archived(each: Archived) -> dict[str, Any]:
    told = {"run": each.run, "why": each.why, "file": str(each.file), "bytes": each.bytes}
    return {**told, "refs_kept": list(each.refs_kept)}


def _fate(pruning: Pruning, fate: Fate) -> dict[str, Any]:
    life = fate.life
    return {
        "run": life.run_id,
        "goal": life.goal,
        "finished_at": life.finished_at.isoformat() if life.finished_at else None,
        "why": fate.why,
        "bytes": pruning.weight(life.run_id),
    }


def _show(pruning: Pruning, pruned: Pruned, fates: list[Fate]) -> None:
    due = [fate for fate in fates if fate.due and fate.life.run_id not in pruned.failed]
    stays = [fate for fate in fates if not fate.due]
    rows = [("archived", a.run, _size(a.bytes), f"{a.why}{_left(a)}") for a in pruned.archived]
    rows += [("failed", run, "", line(why)) for run, why in pruned.failed.items()]
    rows += [("due", f.life.run_id, _weight(pruning, f), line(f.why)) for f in due]
    rows += [("stays", f.life.run_id, _weight(pruning, f), line(f.why)) for f in stays[-SHOWN:]]
    for text in columns(rows) or ["there is no run here"]:
        prose(text)
    if len(stays) > SHOWN:
        prose(f"… {len(stays) - SHOWN} more that stay: yaoki prune --dry-run --json")
    if pruned.archived:
        prose(f"in {line(str(pruning.folder))}")
    next_command("yaoki prune" if due else "yaoki status --all")


def _left(each: Archived) -> str:
    """The run branch stays where nobody else holds its commits."""
    heads = [ref.removeprefix("refs/heads/") for ref in each.refs_kept]
    return f"; the branch {', '.join(heads)} stays" if heads else ""


def _weight(pruning: Pruning, fate: Fate) -> str:
    return _size(pruning.weight(fate.life.run_id))


def _size(count: int) -> str:
    return f"{count / (1 << 20):.1f} MiB" if count >= 1 << 20 else f"{count / 1024:.1f} KiB"
