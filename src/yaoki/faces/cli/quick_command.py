"""Commands that start without click, which takes longer to import than they take to run.

Such a command lists its parameters here.  Ordinary calls are parsed from this list.  Help,
completion, mistakes and all other unusual calls are left to the click command that is made from the
same list.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yaoki.core.lazy_dataclass import dataclass
from yaoki.faces.cli import COMPLETION_VARIABLE

if TYPE_CHECKING:
    import click

QUICK_NAMES = ("status", "why", "validate")


@dataclass(frozen=True, slots=True)
class Argument:
    """A word without a name; required unless it has a default."""

    target: str
    default: str | None = None
    convert: Callable[[str], Any] = str

    def make_click(self) -> click.Parameter:
        import click

        options: dict[str, Any] = {"metavar": self.target.upper()} if self.convert is Path else {}
        kind = click.Path(path_type=Path) if self.convert is Path else None
        if self.default is not None:
            options["default"] = self.default
        return click.Argument([self.target], type=kind, **options)


@dataclass(frozen=True, slots=True)
class Option:
    """`--name`; without a metavar it is a flag, and a repeated one collects its values."""

    name: str
    target: str
    help: str
    metavar: str = ""
    repeated: bool = False

    @property
    def default(self) -> Any:
        return () if self.repeated else "" if self.metavar else False

    def make_click(self) -> click.Parameter:
        import click

        if not self.metavar:
            return click.Option([self.name, self.target], is_flag=True, help=self.help)
        options: dict[str, Any] = {"multiple": True} if self.repeated else {"default": ""}
        return click.Option(
            [self.name, self.target], metavar=self.metavar, help=self.help, **options
        )


class RepoOption(Option):
    """`--repo DIR`, here or before the command."""

    def make_click(self) -> click.Parameter:
        import click

        return click.Option(
            [self.name],
            metavar=self.metavar,
            callback=lambda ctx, _, given: Path(given or ctx.obj or "."),
            help=self.help,
        )


JSON = Option("--json", "as_json", "One JSON document on standard output.")
RUN = Option("--run", "run_name", "The run; by default the newest.", "RUN")
REPO = RepoOption("--repo", "repo", "The repository; by default the current folder.", "DIR")
AGENT = Option(
    "--agent",
    "agents",
    "Use this agent instead of that of the settings; repeat it for a fallback chain.",
    "NAME",
    repeated=True,
)


@dataclass(frozen=True, slots=True)
class QuickCommand:
    """A function with its parameters."""

    function: Callable[..., int]
    parameters: tuple[Argument | Option, ...]

    def parse(self, words: Sequence[str]) -> dict[str, Any] | None:
        """The arguments of the function; None when click must look at the words."""
        options = {each.name: each for each in self.parameters if isinstance(each, Option)}
        values: dict[str, Any] = {each.target: each.default for each in options.values()}
        plain: list[str] = []
        rest = list(words)
        while rest:
            word = rest.pop(0)
            name, equals, value = word.partition("=")
            option = options.get(name)
            if option is None:
                if not word or (word.startswith("-") and word != "-"):
                    return None
                plain.append(word)
            elif not option.metavar:
                if equals:
                    return None
                values[option.target] = True
            else:
                if not equals:
                    value = rest.pop(0) if rest else ""
                if option.repeated or not value or value.startswith("-"):
                    return None
                values[option.target] = value
        return self._with_arguments(values, plain)

    def _with_arguments(self, values: dict[str, Any], plain: list[str]) -> dict[str, Any] | None:
        for each in self.parameters:
            if isinstance(each, Argument):
                word = plain.pop(0) if plain else each.default
                if word is None:
                    return None
                values[each.target] = each.convert(word)
        return None if plain else values

    def make_click(self) -> click.Command:
        import inspect

        import click

        return click.Command(
            self.function.__name__,
            params=[each.make_click() for each in self.parameters],
            callback=self.function,
            help=inspect.cleandoc(self.function.__doc__ or ""),
        )


def quick_command(
    *parameters: Argument | Option,
) -> Callable[[Callable[..., int]], QuickCommand]:
    return lambda function: QuickCommand(function, parameters)


def find_quick_call(
    given: Sequence[str], environ: Mapping[str, str] = os.environ
) -> Callable[[], int] | None:
    """The call of a quick command, ready to be made; None when click must look at the words."""
    if not given or given[0] not in QUICK_NAMES or COMPLETION_VARIABLE in environ:
        return None
    from importlib import import_module

    from yaoki.app.worktree_context import calling_repository, refuse_deleted_folder

    name = given[0]
    command: QuickCommand = getattr(import_module(f"yaoki.faces.cli.commands.{name}"), name)
    values = command.parse(given[1:])
    if values is None:
        return None

    def call() -> int:
        refuse_deleted_folder()
        values["repo"] = Path(values["repo"] or calling_repository(name) or ".")
        return command.function(**values)

    return call
