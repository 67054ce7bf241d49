"""`yaoki metrics`: print the metrics for a scraper once; and the scraper's token."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from yaoki.faces.cli.context import repo_option
from yaoki.faces.text.render import print_line

if TYPE_CHECKING:
    from yaoki.app.build import App


@click.command()
@click.option("--token", is_flag=True, help="Print a token that is valid for /metrics only.")
@repo_option
def metrics(token: bool, repo: Path) -> int:
    """Print the metrics of this repository's store in Prometheus' text format.

    The page's server answers the same at /metrics to callers with a token.
    """
    from yaoki.app.build import App
    from yaoki.app.telemetry import Metrics

    app = App(repo.absolute())
    try:
        print_line(_token(app) if token else Metrics(app).render().rstrip("\n"))
    finally:
        app.close()
    return 0


def _token(app: App) -> str:
    from yaoki.faces.web.access_tokens import LOOK, SCRAPE, access_tokens_of

    return access_tokens_of(app).make(SCRAPE, LOOK, app.clock.now())
