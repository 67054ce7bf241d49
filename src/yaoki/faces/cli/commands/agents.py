"""`yaoki agents`: the known agents, how each is called, and whether it works."""

from __future__ import annotations

import os
import shutil
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from yaoki.errors import Unknown
from yaoki.faces.cli.context import json_option
from yaoki.faces.text.render import (
    align_columns,
    clean_line,
    paint,
    print_document,
    print_line,
    print_next_command,
    print_wrapped,
)
from yaoki.views import SCHEMA

if TYPE_CHECKING:
    from yaoki.adapters.agents.preset import AgentPreset, PermissionFlags
    from yaoki.adapters.agents.rehearsal import RehearsalStep

PROBE = timedelta(seconds=20)
GIT = timedelta(seconds=30)


@click.group()
def agents() -> None:
    """Show the known agents, how they are called, and try one."""


@agents.command("list")
@json_option
def list_(as_json: bool) -> int:
    """List the known agents.

    The list shows whether each program is installed.
    """
    from yaoki.adapters.agents.preset import load_preset, shipped_preset_names

    known = [load_preset(name) for name in shipped_preset_names()]
    if as_json:
        print_document({"schema": SCHEMA, "agents": [_summary(preset) for preset in known]})
        return 0
    heads: tuple[str, ...] = ("preset", "agent", "resumes", "reports", "program")
    for text in align_columns([heads, *(_row(preset) for preset in known)]):
        print_wrapped(text)
    here = next((preset.name for preset in known if shutil.which(preset.program)), known[0].name)
    print_next_command(f"yaoki agents show {here}")
    return 0


def _row(preset: AgentPreset) -> tuple[str, ...]:
    found = shutil.which(preset.program)
    return (
        preset.name,
        preset.title,
        "yes" if preset.can_resume else "no",
        _reported_facts(preset),
        clean_line(found) if found else f"not on the PATH; {preset.install}",
    )


def _reported_facts(preset: AgentPreset) -> str:
    named = {
        "cost": preset.usage.cost or "<cost>" in preset.usage.pattern,
        "tokens": preset.usage.tokens or "<in>" in preset.usage.pattern,
        "turns": preset.usage.turns or "<turns>" in preset.usage.pattern,
    }
    return ", ".join(name for name, is_reported in named.items() if is_reported) or "nothing"


def _summary(preset: AgentPreset) -> dict[str, Any]:
    return {
        "preset": preset.name,
        "title": preset.title,
        "program": preset.program,
        "found": shutil.which(preset.program),
        "tested": preset.tested,
        "resumes": preset.can_resume,
        "protocol": preset.protocol or None,
        "tells": [word for word in _reported_facts(preset).split(", ") if word != "nothing"],
        "install": preset.install,
        "sandbox": preset.sandbox,
    }


# ------------------------------------------------------------------ one of them


@agents.command("show")
@click.argument("name")
@json_option
def show(name: str, as_json: bool) -> int:
    """Show how one agent is started.

    This lists its command lines, its variables and its peculiarities.
    """
    preset = _describe(name)
    if as_json:
        print_document({"schema": SCHEMA, **_summary(preset), **_details(preset)})
        return 0
    rows = [
        ("agent", preset.title),
        ("program", shutil.which(preset.program) or f"{preset.program}: not on the PATH"),
        ("version", _version(preset)),
        ("tried with", preset.tested),
        ("install", preset.install),
        ("start", " ".join((preset.program, *preset.start))),
        ("resume", " ".join((preset.program, *preset.resume)) if preset.can_resume else "no"),
        *((f"may: {word}", words) for word, words in _permissions(preset).items()),
        ("asks you", "through yaoki's MCP server" if preset.takes_tool_server else "no"),
        ("model", " ".join(preset.model) or "set in the agent's own configuration"),
        ("base_url", _endpoint(preset) or "no"),
        ("prompt in", preset.prompt),
        ("sets env", ", ".join(f"{k}={v}" for k, v in preset.env.items()) or "nothing"),
        ("passes env", ", ".join(preset.pass_env)),
        ("reports", _reported_facts(preset)),
        ("sandbox", "works in it" if preset.sandbox else "not tried in it"),
        *(("note", note) for note in preset.notes),
    ]
    for text in align_columns([(head, clean_line(words, 1000)) for head, words in rows]):
        print_wrapped(text)
    print_next_command(f"yaoki agents test {name}")
    return 0


def _describe(name: str) -> AgentPreset:
    from yaoki.adapters.agents.preset import load_preset, shipped_preset_names
    from yaoki.core.text import did_you_mean

    if name not in shipped_preset_names():
        near = did_you_mean(name, shipped_preset_names())
        raise Unknown(f"no known agent {name!r}{near}", hint="yaoki agents list")
    return load_preset(name)


def _details(preset: AgentPreset) -> dict[str, Any]:
    return {
        "start": [preset.program, *preset.start],
        "resume": [preset.program, *preset.resume] if preset.can_resume else None,
        "prompt": preset.prompt,
        "allow": list(preset.allow),
        "permissions": _permissions(preset),
        "tool_server": preset.takes_tool_server,
        "env": dict(preset.env),
        "pass_env": list(preset.pass_env),
        "notes": list(preset.notes),
        "version": _version(preset),
    }


def _permissions(preset: AgentPreset) -> dict[str, str]:
    """Each value of `permissions` in the agent's own words; the default is marked."""
    from yaoki.core.model import Permissions

    if preset.protocol:
        words = {"all": "allows *", "edits": f"allows {' '.join(preset.allow)}, checks' commands"}
    else:
        flags = preset.permissions
        words = {word: _flag_words(held) or "no flag" for word, held in flags.items()}
        words = {
            "all": "no flag: this agent never asks for permission",
            "edits": "not possible: this agent has no flag for it",
            **words,
        }
    default = preset.default_permissions
    return {
        word: f"{words[word]} (default)" if word == default else words[word]
        for word in (Permissions.ALL.value, Permissions.EDITS.value)
    }


def _flag_words(flags: PermissionFlags) -> str:
    env = (f"{name}={value}" for name, value in (*flags.env.items(), *flags.check_env.items()))
    return " ".join((*flags.arguments, *flags.check, *env))


def _endpoint(preset: AgentPreset) -> str:
    words = [*preset.base_url.arguments, *(f"{k}={v}" for k, v in preset.base_url.env.items())]
    return " ".join(words)


def _version(preset: AgentPreset) -> str:
    """The version that the program reports; a program that does not answer is reported as such."""
    from yaoki.adapters.processes.command import run_command
    from yaoki.core.text import one_line
    from yaoki.errors import Fault

    found = shutil.which(preset.program)
    if not found:
        return "not installed"
    try:
        done = run_command(
            (found, *preset.version), cwd=Path.cwd(), env=dict(os.environ), timeout=PROBE
        )
    except Fault as fault:
        return fault.sentence
    lines = (done.out or done.err).decode("utf-8", errors="replace").strip().splitlines()
    return one_line(lines[0], 100) if lines else f"exit code {done.code} and no output"


# ------------------------------------------------------------------ a rehearsal


@agents.command("test")
@click.argument("name")
@click.option("--model", default="", metavar="MODEL", help="The model to ask for.")
@click.option("--base-url", default="", metavar="URL", help="The URL of the model service to use.")
@click.option("--program", default="", metavar="FILE", help="The path of the program.")
@click.option(
    "--seconds",
    default=60,
    show_default=True,
    type=click.IntRange(1, 3600),
    help="The timeout of each step, in seconds.",
)
@json_option
def test(name: str, model: str, base_url: str, program: str, seconds: int, as_json: bool) -> int:
    """Test one agent: let it write a file.

    The real program runs in a temporary repository, and in the sandbox if a run here would use it.
    The exit code is 1 if a step fails.
    """
    from yaoki.adapters.agents.preset_agent import PresetAgent
    from yaoki.adapters.agents.rehearsal import Rehearsal
    from yaoki.adapters.processes.process_trees import ShimProcesses
    from yaoki.adapters.system.clock import SystemClock
    from yaoki.app.rehearsal_sandbox import choose_rehearsal_sandbox
    from yaoki.core.model import AgentSpec

    given = {"base_url": base_url, "program": program}
    options = {key: value for key, value in given.items() if value}
    spec = AgentSpec(name, preset=name, model=model, options=options)
    agent = PresetAgent(_describe(name))
    place = Path(tempfile.mkdtemp(prefix="yaoki-agent-"))
    sandbox = choose_rehearsal_sandbox(name, Path.cwd(), place)
    rehearsal = Rehearsal(agent, spec, ShimProcesses(), SystemClock(), sandbox)
    seen = []
    for step in rehearsal.run(_repository(place), place / "logs", timedelta(seconds=seconds)):
        seen.append(step)
        if not as_json:
            _print_step(step)
    bad = [step for step in seen if not step.passed]
    begun = len(seen) > 1
    if not (bad and begun):
        shutil.rmtree(place, ignore_errors=True)
    if as_json:
        lines = [
            {
                "name": step.name,
                "ok": step.passed,
                "words": step.message,
                "next": step.remedy or None,
            }
            for step in seen
        ]
        folder = str(place) if begun else None
        print_document({"schema": SCHEMA, "ok": not bad, "lines": lines, "folder": folder})
    elif bad and begun:
        print_next_command(f"ls {place / 'logs'}")
    elif bad:
        install = _describe(name).install
        missing = bad[0].remedy.startswith(install)
        print_next_command(install if missing else f"yaoki agents show {name}")
    else:
        print_next_command(f"add `{name}: {{preset: {name}}}` under agents: in a plan")
    return 1 if bad else 0


def _print_step(step: RehearsalStep) -> None:
    print_wrapped(
        paint(
            f"{'ok ' if step.passed else 'BAD'}  {step.name}: {clean_line(step.message)}",
            _colour(step),
        )
    )
    if step.remedy:
        print_line(f"       {clean_line(step.remedy)}")


def _colour(step: RehearsalStep) -> str | None:
    return None if step.passed else "red"


def _repository(place: Path) -> Path:
    from yaoki.adapters.processes.command import run_command
    from yaoki.core.environment import BASIC_VARIABLES, filter_environment

    top = place / "repository"
    top.mkdir()
    identity = ("-c", "user.name=yaoki", "-c", "user.email=yaoki@localhost")
    for words in (("init", "-q"), (*identity, "commit", "-q", "--allow-empty", "-m", "Nothing")):
        done = run_command(
            ("git", *words),
            cwd=top,
            env=filter_environment(os.environ, BASIC_VARIABLES),
            timeout=GIT,
        )
        assert done.code == 0, done.err.decode(errors="replace")
    return top
