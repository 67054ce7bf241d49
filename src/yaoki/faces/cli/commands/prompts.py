"""`yaoki prompts`: show, copy and try the prompts that agents get about a failure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.settings.settings import LANGUAGES
from yaoki.core.text import did_you_mean
from yaoki.errors import TemplateInvalid, Unknown
from yaoki.faces.cli.context import CommandFunction, json_option, repo_option
from yaoki.faces.text.render import (
    align_columns,
    clean_line,
    clean_text,
    print_document,
    print_line,
    print_next_command,
    print_wrapped,
)
from yaoki.views import SCHEMA

if TYPE_CHECKING:
    from yaoki.formats.prompts import PromptLibrary

PARAMS_BYTES_MAX = 1 << 20
BROKEN_EXIT = 2


def lang_option(function: CommandFunction) -> CommandFunction:
    return click.option(
        "--lang",
        type=click.Choice(LANGUAGES),
        help="The language; by default that of the settings.",
    )(function)


@dataclass(frozen=True, slots=True)
class PromptSettings:
    """The templates of a repository, and the patterns that its settings add."""

    library: PromptLibrary
    language: str
    folder: Path
    own_patterns: tuple[str, ...]

    def defects(self, path: str = "") -> list[str]:
        """The defects that `yaoki validate` would refuse: of one file, or of all."""
        from yaoki.formats.prompts import PROJECT_FOLDER, check_templates

        file = f"{self.folder}{path.removeprefix(PROJECT_FOLDER)}:" if path else str(self.folder)
        # Without a plan nobody knows which files of other editions are used.
        defects = check_templates(
            self.folder, LANGUAGES, self.own_patterns, ignore_plan_files=not path
        )
        return [
            one.replace(str(self.folder), PROJECT_FOLDER, 1)
            for one in defects
            if one.startswith(file)
        ]


def _open(repo: Path, lang: str | None) -> PromptSettings:
    from yaoki.app.build import App
    from yaoki.formats.prompts import PromptLibrary

    app = App(repo.absolute())
    language = lang or app.settings.language
    folder = app.yaoki_folder / "prompts"
    return PromptSettings(
        PromptLibrary(folder, language), language, folder, tuple(app.settings.patterns)
    )


def prompt_name(pattern: str) -> str:
    """A kind of the journal has a file of the same name: `TIMEOUT` is `timeout`."""
    from yaoki.formats.prompts import KINDS

    return next((name for name, kind in KINDS.items() if kind.value == pattern), pattern)


def _print_next(name: str, path: str, lang: str | None, other: str) -> None:
    """A file of the project needs no copy: it is shown, or tried."""
    from yaoki.formats.prompts import PROJECT_FOLDER

    command = other if path.startswith(f"{PROJECT_FOLDER}/") else "eject"
    print_next_command(
        f"yaoki prompts {command} {clean_line(name)}" + (f" --lang {lang}" if lang else "")
    )


def _location(label: str) -> str:
    """The path by which a person finds the file."""
    return label or "built-in words"


@click.group()
def prompts() -> None:
    """Show, copy and test the prompts that agents get after a failure."""


@prompts.command("list")
@lang_option
@json_option
@repo_option
def list_(lang: str | None, as_json: bool, repo: Path) -> int:
    """List every prompt.

    The list shows the file that each comes from and the params that it takes.
    """
    settings = _open(repo, lang)
    names = dict.fromkeys((*settings.library.names(), *settings.own_patterns))
    found = [_list_document(settings, name) for name in names]
    faults = {one["fault"] for one in found}
    defects = [defect for defect in settings.defects() if defect not in faults]
    if as_json:
        about = {"schema": SCHEMA, "language": settings.language}
        print_document({**about, "prompts": found, "defects": defects})
    else:
        for text in align_columns([_row(one) for one in found]):
            print_wrapped(text)
        for defect in defects:
            print_wrapped(f"broken: {clean_line(defect)}")
        print_next_command("yaoki prompts show NAME")
    return BROKEN_EXIT if defects or any(faults) else 0


def _list_document(settings: PromptSettings, name: str) -> dict[str, Any]:
    try:
        shown = settings.library.view_template(name, settings.own_patterns)
    except (TemplateInvalid, Unknown) as error:
        path = getattr(error, "file", "")
        return {"name": name, "path": path, "params": [], "fault": error.sentence}
    about = {"name": name, "path": shown.path, "params": list(shown.params)}
    return {**about, "fault": next(iter(settings.defects(shown.path)), "")}


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    words = f"broken: {one['fault']}" if one["fault"] else ", ".join(one["params"])
    return clean_line(one["name"], 40), clean_line(_location(one["path"])), clean_line(words)


@prompts.command()
@click.argument("pattern", metavar="PATTERN")
@lang_option
@json_option
@repo_option
def show(pattern: str, lang: str | None, as_json: bool, repo: Path) -> int:
    """Print the template for PATTERN."""
    settings, pattern = _open(repo, lang), prompt_name(pattern)
    shown = settings.library.view_template(pattern, settings.own_patterns)
    if as_json:
        about = {"name": pattern, "language": settings.language, "path": shown.path}
        more = {"steps": list(shown.steps), "params": list(shown.params), "text": shown.text}
        print_document({"schema": SCHEMA, **about, **more})
        return 0
    print_line(f"{clean_line(_location(shown.path))}:")
    print_line()
    print_line(clean_text(shown.text).rstrip())
    print_line()
    _print_next(pattern, shown.path, lang, "test")
    return 0


@prompts.command()
@click.argument("patterns", metavar="[PATTERN]...", nargs=-1)
@lang_option
@json_option
@repo_option
def eject(patterns: tuple[str, ...], lang: str | None, as_json: bool, repo: Path) -> int:
    """Copy shipped templates to edit them.

    They are copied into .yaoki/prompts, by default all of them.  An existing file is never
    overwritten.  With --lang the copies apply to that language only.
    """
    settings, patterns = _open(repo, lang), tuple(map(prompt_name, patterns))
    target = settings.folder / settings.language if lang else settings.folder
    written = [
        str(file) for file in settings.library.copy_shipped(target, patterns, settings.own_patterns)
    ]
    if as_json:
        print_document({"schema": SCHEMA, "language": settings.language, "written": written})
        return 0
    for file in written:
        print_line(f"written: {clean_line(file)}")
    if not written:
        print_line("nothing written: every file exists already")
    which = clean_line(patterns[0]) if patterns else "test-failed"
    print_next_command(f"yaoki prompts test {which}" + (f" --lang {lang}" if lang else ""))
    return 0


@prompts.command("test")
@click.argument("pattern", metavar="PATTERN")
@click.option(
    "--params",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Use the values in this JSON file instead of samples.",
)
@lang_option
@json_option
@repo_option
def test(pattern: str, file: Path | None, lang: str | None, as_json: bool, repo: Path) -> int:
    """Show the prompt that an agent would get."""
    from yaoki.formats.prompts import sample_failure

    settings, pattern = _open(repo, lang), prompt_name(pattern)
    name = "" if pattern == "failed" else pattern
    failure = sample_failure(name, _read_params(file, name) if file else None)
    text = settings.library.try_template(pattern, failure, settings.own_patterns)
    # With other values the file is the same, and so are its defects.
    fault = text.fault or next(iter(settings.defects(text.path) if text.path else ()), "")
    if as_json:
        about = {"name": pattern, "language": settings.language, "path": text.path or None}
        more = {"steps": list(text.steps), "fault": fault, "text": text.text}
        print_document({"schema": SCHEMA, **about, **more})
        return BROKEN_EXIT if fault else 0
    for step in text.steps:
        print_line(clean_line(_location(step)))
    if fault:
        print_line(f"broken: {clean_line(fault)}")
    print_line()
    print_line(clean_text(text.text))
    print_line()
    _print_next(pattern, text.path, lang, "show")
    return BROKEN_EXIT if fault else 0


def _read_params(file: Path, name: str) -> dict[str, Any]:
    """Values by name; a value that the pattern never has is refused."""
    from yaoki.core.model import CONTENT_KINDS
    from yaoki.formats.prompts import PARAMS

    params = _json(file)
    for param in params if name in PARAMS else ():
        if param not in PARAMS[name]:
            near = did_you_mean(param, PARAMS[name])
            raise click.UsageError(f"{name or 'a failure'} has no param {param!r}{near}")
    if params.get("kind") and params["kind"] not in CONTENT_KINDS:
        kinds = ", ".join(sorted(CONTENT_KINDS))
        raise click.UsageError(
            f"kind {params['kind']!r} adds nothing to the prompt; these kinds do: {kinds}"
        )
    return params


def _json(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as stream:
            raw = stream.read(PARAMS_BYTES_MAX + 1)
        content = json.loads(raw) if len(raw) <= PARAMS_BYTES_MAX else None
    except OSError as error:
        raise click.UsageError(f"{file} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"{file} is not valid JSON: {error}") from error
    if not isinstance(content, dict):
        raise click.UsageError(
            f"{file} must contain one JSON object of at most {PARAMS_BYTES_MAX} bytes"
        )
    return content
