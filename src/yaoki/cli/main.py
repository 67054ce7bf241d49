"""`yaoki`: a group that imports a command only when it is used, and tells errors in one form."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click
from click.exceptions import NoArgsIsHelpError

from yaoki import __version__
from yaoki.cli.gone import ReaderGone
from yaoki.cli.table import COMMANDS, SECTIONS
from yaoki.errors import YaokiError

INTERRUPTED = 130
PIPE_CLOSED = 141


class LazyGroup(click.Group):
    """Knows names and one-line helps from a table; the rest is imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        listed = COMMANDS.get(cmd_name)
        if listed is None:
            return None
        module, _, name = listed.where.partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not ctx.resilient_parsing:
            raise click.UsageError(_unknown(args[0]), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, section in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, listed.help) for name, listed in section.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """From the table: completion runs at each TAB and must import nothing more."""
        from click.shell_completion import CompletionItem

        return [
            CompletionItem(name, help=listed.help)
            for name, listed in COMMANDS.items()
            if name.startswith(incomplete)
        ]


def _unknown(name: str) -> str:
    from yaoki.core.nearest import did_you_mean

    return f"there is no command {name!r}{did_you_mean(name, COMMANDS)}"


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="First steps: yaoki demo, then yaoki init.",
)
@click.option("--repo", metavar="DIR", help="The repository; where you stand unless named.")
@click.version_option(__version__, message="yaoki %(version)s")
@click.pass_context
def group(ctx: click.Context, repo: str | None) -> None:
    """Carry the work of coding agents to a proven end."""
    ctx.obj = repo


def main(argv: Sequence[str] | None = None) -> int:
    """The installed program; returns its exit code."""
    given = list(sys.argv[1:] if argv is None else argv)
    as_json = "--json" in (given[: given.index("--")] if "--" in given else given)
    for stream in (sys.stdout, sys.stderr):
        # What an agent wrote must never break a screen that cannot show it.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        code = group.main(given, prog_name="yaoki", standalone_mode=False)
        sys.stdout.flush()
    except (BrokenPipeError, ReaderGone):
        _forget_stdout()
        return PIPE_CLOSED
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last place where it can be told
        return _told(error, as_json=as_json, given=given)
    return code if isinstance(code, int) else 0


def _told(error: Exception, *, as_json: bool, given: Sequence[str]) -> int:
    from yaoki.cli import telling

    try:
        if isinstance(error, NoArgsIsHelpError):
            click.echo(error.format_message())
            return 0
        if isinstance(error, click.UsageError):
            return telling.usage(error, as_json=as_json)
        if isinstance(error, YaokiError):
            return telling.refusal(error, as_json=as_json)
        return telling.internal(error, as_json=as_json, given=given)
    except BrokenPipeError:
        _forget_stdout()
        return PIPE_CLOSED


def _forget_stdout() -> None:
    """Nobody reads any more; the flush at exit must not complain."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
