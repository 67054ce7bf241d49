"""`yaoki init`: a first `yaoki.toml`, with checks guessed from the files of the repository."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click

from yaoki.cli.door import json_option, repo_option
from yaoki.cli.render import document, line, next_command, say
from yaoki.errors import YaokiError
from yaoki.views import SCHEMA

READ_MAX = 1 << 20
HEAD = """\
# What every run in this repository obeys.  All keys and their defaults: yaoki config show
# A plan names checks and agents by their names here, or brings its own.

[limits]
parallel = 2            # tasks at the same time
# hang_s = 600          # no CPU, no output, no changed file for this long: hung
# deadline_s = 3600     # longest time of one agent run

# [agents.mine]
# command = ["my-agent", "--model", "large"]
# prompt = "argument"   # argument, stdin or file
"""


class Guess(NamedTuple):
    """A check this repository seems to have."""

    name: str
    run: tuple[str, ...]
    pattern: str


@click.command()
@json_option
@repo_option
def init(as_json: bool, repo: Path) -> int:
    """Write a short yaoki.toml unless there is one; twice changes nothing."""
    from yaoki.app import App

    app = App(repo.absolute())
    file = app.loaded.file
    made = file is None
    guesses = list(guessed(app.repository.top)) if made else []
    if file is None:
        file = app.repository.top / "yaoki.toml"
        _write(file, HEAD + "".join(_table(guess) for guess in guesses))
    if as_json:
        told = {"file": str(file), "made": made, "checks": [guess.name for guess in guesses]}
        document({"schema": SCHEMA, **told})
        return 0
    names = ", ".join(guess.name for guess in guesses)
    said = f"made, with checks: {names or 'none found'}" if made else "is there already; unchanged"
    say(f"{line(str(file))}: {said}")
    next_command("yaoki doctor")
    return 0


def _write(file: Path, text: str) -> None:
    """Never over a file that came meanwhile."""
    try:
        with file.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise YaokiError(
            f"{file} cannot be written: {(error.strerror or str(error)).lower()}",
            hint=f"make {file.parent} writable",
        ) from error


def _table(guess: Guess) -> str:
    run = ", ".join(json.dumps(part) for part in guess.run)
    return f'\n[checks.{guess.name}]\nrun = [{run}]\npattern = "{guess.pattern}"\n'


def guessed(top: Path) -> Iterator[Guess]:
    """From the files that say which tools a repository uses."""
    yield from _python(top)
    yield from _node(top)
    if (top / "go.mod").is_file():
        yield Guess("go-tests", ("go", "test", "./..."), "test-failed")
        yield Guess("go-vet", ("go", "vet", "./..."), "lint-error")
    if (top / "Cargo.toml").is_file():
        yield Guess("cargo-tests", ("cargo", "test"), "test-failed")


def _python(top: Path) -> Iterator[Guess]:
    project = _text(top / "pyproject.toml")
    known = project + _text(top / "setup.cfg") + _text(top / "tox.ini")
    if not project and not any((top / name).is_file() for name in ("setup.py", "setup.cfg")):
        return
    if "pytest" in known or (top / "tests").is_dir():
        run = ("python", "-m", "pytest", "-q", "--junit-xml", "{report}")
        yield Guess("tests", run, "test-failed")
    if "[tool.ruff" in project or (top / "ruff.toml").is_file():
        yield Guess("lint", ("ruff", "check"), "lint-error")
    if "[tool.mypy" in project or (top / "mypy.ini").is_file():
        yield Guess("types", ("mypy",), "type-error")


def _node(top: Path) -> Iterator[Guess]:
    try:
        package = json.loads(_text(top / "package.json") or "{}")
    except ValueError:
        return
    scripts = package.get("scripts") if isinstance(package, dict) else None
    for script, pattern in (("test", "test-failed"), ("lint", "lint-error")):
        if isinstance(scripts, dict) and script in scripts:
            yield Guess(f"npm-{script}", ("npm", "run", "--silent", script), pattern)
    if (top / "tsconfig.json").is_file():
        yield Guess("npm-types", ("npx", "--no-install", "tsc", "--noEmit"), "type-error")


def _text(file: Path) -> str:
    if not file.is_file():
        return ""
    with file.open("rb") as stream:
        return stream.read(READ_MAX).decode("utf-8", errors="replace")
