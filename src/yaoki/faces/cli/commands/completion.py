"""`yaoki completion`: the script that makes a shell complete yaoki's commands and options."""

from __future__ import annotations

import click

from yaoki.faces.cli import COMPLETION_VARIABLE

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> int:
    """Print the completion script of a shell.

    bash: `yaoki completion bash > ~/.local/share/bash-completion/completions/yaoki`;
    zsh: a file `_yaoki` in a folder of `fpath`; fish: `~/.config/fish/completions/yaoki.fish`.
    """
    from click.shell_completion import get_completion_class

    from yaoki.faces.cli.group import group

    script = get_completion_class(shell)
    assert script is not None, f"click has no completion for {shell}"
    # `source()` would start bash to read its version; the script itself needs no such check.
    complete = script(group, {}, "yaoki", COMPLETION_VARIABLE)
    click.echo(complete.source_template % complete.source_vars())
    return 0
