"""The group of commands: a command's module is imported only when the command is used."""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module
from typing import Any

import click

from yaoki import __version__
from yaoki.faces.cli import help
from yaoki.faces.cli.quick_command import QuickCommand
from yaoki.faces.cli.table import COMMANDS

# Words that people try, and the commands that do it.
_SUGGESTIONS = {
    **{word: f"did you mean 'yaoki answer TASK {word}'?" for word in ("waive", "done", "abort")},
    "go": "did you mean 'yaoki answer RUN go'?",
    "stop": "Ctrl-C stops a run in its terminal, 'yaoki down' the background worker; "
    "'yaoki cancel' ends a run",
}


class LazyGroup(click.Group):
    """Knows names and one-line helps from a table; the rest is imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        listed = COMMANDS.get(cmd_name)
        if listed is None:
            return None
        module, _, name = listed.target.partition(":")
        command = getattr(import_module(module), name)
        if isinstance(command, QuickCommand):
            command = command.make_click()
        made: click.Command = command
        return made

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not ctx.resilient_parsing:
            plan = self.get_command(ctx, "plan")
            below = plan.commands if isinstance(plan, click.Group) else {}
            raise click.UsageError(_unknown_command(args[0], below), ctx)
        return super().resolve_command(ctx, args)

    def get_help(self, ctx: click.Context) -> str:
        return help.help_text()

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """From the table: completion runs at each TAB and must import nothing more."""
        from click.shell_completion import CompletionItem

        return [
            CompletionItem(name, help=listed.help)
            for name, listed in COMMANDS.items()
            if name.startswith(incomplete)
        ]


def _unknown_command(name: str, plan_commands: Collection[str]) -> str:
    from yaoki.core.text import did_you_mean

    words = f"there is no command {name!r}"
    if name in plan_commands:
        return f"{words}; did you mean 'yaoki plan {name}'?"
    if name in _SUGGESTIONS:
        return f"{words}; {_SUGGESTIONS[name]}"
    return f"{words}{did_you_mean(name, COMMANDS)}"


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="First steps: yaoki demo, then yaoki init.",
)
@click.option("--repo", metavar="DIR", help="The repository; by default the current folder.")
@click.version_option(__version__, message="yaoki %(version)s")
@click.pass_context
def group(ctx: click.Context, repo: str | None) -> None:
    """Run coding agents until their work is proven."""
    from yaoki.app.worktree_context import calling_repository, refuse_deleted_folder

    refuse_deleted_folder()
    ctx.obj = repo or calling_repository(ctx.invoked_subcommand or "")
