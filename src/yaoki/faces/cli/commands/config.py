"""`yaoki config show`: every setting, its value and where it comes from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from yaoki.core.machine.codec import to_data
from yaoki.faces.cli.context import json_option, repo_option
from yaoki.faces.text.render import (
    align_columns,
    clean_line,
    print_document,
    print_line,
    print_next_command,
)
from yaoki.views import SCHEMA


@click.group()
def config() -> None:
    """Show the settings of runs."""


@config.command("show")
@click.option("--origin", is_flag=True, help="Say where each value comes from.")
@json_option
@repo_option
def show(origin: bool, as_json: bool, repo: Path) -> int:
    """List every setting by its key."""
    from yaoki.app.build import App

    loaded = App(repo.absolute()).context.loaded_settings
    if as_json:
        values = {
            key: {"value": to_data(value), "origin": loaded.origin[key]}
            for key, value in loaded.values.items()
        }
        print_document(
            {"schema": SCHEMA, "file": str(loaded.file or "") or None, "settings": values}
        )
        return 0
    rows = [
        (key, *_origin(loaded.origin[key], origin), _text(value))
        for key, value in loaded.values.items()
    ]
    for text in align_columns(rows):
        print_line(text)
    print_next_command("edit yaoki.toml" if loaded.file else "yaoki init")
    return 0


def _origin(origin: str, wanted: bool) -> tuple[str, ...]:
    return (clean_line(origin),) if wanted else ()


def _text(value: Any) -> str:
    return clean_line(json.dumps(to_data(value)))
