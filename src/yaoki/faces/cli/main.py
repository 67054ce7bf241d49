"""`yaoki`: the installed program.  Help needs no click; all errors have one form."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

from yaoki import __version__
from yaoki.faces.cli import COMPLETION_VARIABLE

INTERRUPTED = 130
PIPE_CLOSED = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit code."""
    # Imports allocate much and free nothing: collecting garbage meanwhile costs a tenth of them.
    gc.set_threshold(50_000)
    # pydantic would read the metadata of every installed package for plugins that we do not use.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    given = list(sys.argv[1:] if argv is None else argv)
    try:
        return _main(given)
    finally:
        # At its end the interpreter would search everything that was imported for garbage.
        gc.freeze()


def _main(given: list[str]) -> int:
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # Output of an agent must never break a screen that cannot show it.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    # A shell that completes a line gives it in variables, without arguments.
    completes = not given and COMPLETION_VARIABLE in os.environ
    if given in ([], ["--help"], ["-h"]) and not completes:
        from yaoki.faces.cli import help

        return _print(help.help_text())
    if given == ["--version"]:
        return _print(f"yaoki {__version__}")
    if given[:2] == ["hook", "event"]:
        # An agent waits for this at each of its prompts.
        from yaoki.faces.hooks.event import main as event

        return event(given[2:])
    return _run_command(given)


def _open_closed_streams() -> None:
    """A closed output stays closed: the next file we open must not get its number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            mode = "w" if number else "r"
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123


def _print(text: str) -> int:
    """Importing click takes longer than all the rest of this."""
    try:
        print(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_stdout()
        return PIPE_CLOSED
    return 0


def _run_command(given: Sequence[str]) -> int:
    from yaoki.faces.cli.quick_command import find_quick_call
    from yaoki.faces.text.closed_pipe import ReaderGone

    as_json = "--json" in (given[: given.index("--")] if "--" in given else given)
    try:
        call = find_quick_call(given)
        code = call() if call else _run_with_click(given)
        sys.stdout.flush()
    except (BrokenPipeError, ReaderGone):
        _discard_stdout()
        return PIPE_CLOSED
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last place where it can be reported
        code = _report_error(error, as_json=as_json, given=given)
        try:
            sys.stdout.flush()
        except OSError:
            _discard_stdout()
    return code if isinstance(code, int) else 0


def _run_with_click(given: Sequence[str]) -> object:
    import click

    from yaoki.faces.cli.group import group

    try:
        return group.main(list(given), prog_name="yaoki", standalone_mode=False)
    except click.Abort as abort:
        raise KeyboardInterrupt from abort


def _report_error(error: Exception, *, as_json: bool, given: Sequence[str]) -> int:
    import click
    from click.exceptions import NoArgsIsHelpError

    from yaoki.errors import YaokiError
    from yaoki.faces.text import errors

    try:
        if isinstance(error, NoArgsIsHelpError):
            click.echo(error.format_message())
            return 0
        if isinstance(error, click.UsageError):
            return errors.report_usage_error(error, as_json=as_json)
        if isinstance(error, YaokiError):
            return errors.report_refusal(error, as_json=as_json)
        return errors.report_internal_error(error, as_json=as_json, args=given)
    except BrokenPipeError:
        _discard_stdout()
        return PIPE_CLOSED


def _discard_stdout() -> None:
    """The reader is gone; the flush at exit must not fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
