"""Known agents as data: one file each in `presets/`, read strictly, loaded when asked for."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.resources import files
from typing import Any

from yaoki.core.model import AgentLimit
from yaoki.errors import Unknown

PRESETS = files("yaoki.adapters.agents") / "presets"
COUNTS = ("last", "sum")
PROTOCOLS = ("", "acp")


@dataclass(frozen=True, slots=True)
class UsageRule:
    """Where an agent tells what it used: fields of an event, or a pattern over a text it left.

    `count`: the last such event stands for the whole run, or all of them are added up.  `turns`
    is a field, or `events`: one turn for each event.  `whole_thread` names what, after a resume,
    holds the earlier runs of the conversation as well; `thread` is the field that names it.
    """

    event: str = ""
    count: str = "last"
    cost: str = ""
    tokens: tuple[str, ...] = ()
    turns: str = ""
    whole_thread: tuple[str, ...] = ()
    thread: str = ""
    file: str = ""
    pattern: str = ""


@dataclass(frozen=True, slots=True)
class EndpointOverride:
    """How the agent is pointed at another service: its arguments and variables."""

    arguments: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AgentPreset:
    """How one known agent is called and read.

    `start` and `resume` are whole command lines after the program; `{more}` is where the model,
    the endpoint and the arguments of the plan go.  `events` names the reader of its output.
    `protocol` is empty for a plain command line, or `acp`: then our own client runs the program and
    speaks with it, `events` is `acp` too, `model` is one word that is told over the protocol, and
    `allow` are the kinds of tools that need no person; a plan may name others.
    `exit_codes` and `lines` are its own signals of a limit.  `scratch` are
    folders that it leaves in its worktree and that are nobody's work; `state` are those below its
    home, or named by a variable (`$CODEX_HOME`), where it keeps its conversations.  In the sandbox
    each task has a copy of them, without what `history` names there; `sandbox` says that the agent
    was seen to work so.
    """

    name: str
    title: str
    program: str
    install: str
    tested: str
    start: tuple[str, ...]
    prompt: str
    resume: tuple[str, ...] = ()
    version: tuple[str, ...] = ("--version",)
    events: str = ""
    protocol: str = ""
    allow: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    pass_env: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    base_url: EndpointOverride = field(default_factory=EndpointOverride)
    usage: UsageRule = field(default_factory=UsageRule)
    exit_codes: Mapping[int, AgentLimit] = field(default_factory=dict)
    lines: Mapping[str, AgentLimit] = field(default_factory=dict)
    scratch: tuple[str, ...] = ()
    state: tuple[str, ...] = ()
    history: tuple[str, ...] = ()
    sandbox: bool = False
    notes: tuple[str, ...] = ()

    @property
    def can_resume(self) -> bool:
        return bool(self.resume)


@cache
def shipped_preset_names() -> tuple[str, ...]:
    """The names of all shipped descriptions."""
    held = (file.name for file in PRESETS.iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in held if name.endswith(".toml")))


@cache
def load_preset(name: str) -> AgentPreset:
    if name not in shipped_preset_names():
        raise Unknown(f"no description of an agent {name!r}", hint="yaoki agents list")
    text = (PRESETS / f"{name}.toml").read_text(encoding="utf-8")
    return parse_preset(name, text)


def parse_preset(name: str, text: str) -> AgentPreset:
    """A description from its file; an unknown key is a mistake, not a wish."""
    table = tomllib.loads(text)
    made: dict[str, Any] = _plain(table, AgentPreset, f"{name}.toml")
    made["base_url"] = EndpointOverride(
        **_plain(table.get("base_url", {}), EndpointOverride, "base_url")
    )
    made["usage"] = UsageRule(**_plain(table.get("usage", {}), UsageRule, "usage"))
    limits = {limit.value: limit for limit in AgentLimit}
    made["exit_codes"] = {int(code): limits[w] for code, w in table.get("exit_codes", {}).items()}
    made["lines"] = {pattern: limits[w] for pattern, w in table.get("lines", {}).items()}
    found = AgentPreset(name=name, **made)
    _check(found)
    return found


def _plain(table: Mapping[str, Any], kind: type, where: str) -> dict[str, Any]:
    known = {held.name for held in fields(kind)} - {"name"}
    strange = sorted(set(table) - known)
    if strange:
        raise ValueError(f"{where}: unknown keys {strange}")
    return {key: tuple(v) if isinstance(v, list) else v for key, v in table.items()}


def _check(found: AgentPreset) -> None:
    """Our own files: a defect is ours, and is found by the tests before anybody meets it."""
    assert found.prompt in {"stdin", "argument", "file"}, found.name
    assert found.usage.count in COUNTS, found.name
    assert {"cost", "tokens"}.issuperset(found.usage.whole_thread), found.name
    assert bool(found.usage.whole_thread) is bool(found.usage.thread), found.name
    named = "{session}" in " ".join(found.resume)
    # Over the protocol it is not the command line that names the conversation.
    assert found.protocol in PROTOCOLS, found.name
    assert named is (found.can_resume and not found.protocol), found.name
    assert (found.protocol or "") == ("acp" if found.events == "acp" else ""), found.name
    assert found.protocol or not found.allow, found.name
    assert not found.protocol or len(found.model) == 1, found.name
    for pattern in (found.usage.pattern, *found.lines):
        re.compile(pattern)


def insert_optional_arguments(line: Sequence[str], more: Sequence[str]) -> tuple[str, ...]:
    """A command line with the optional arguments in their place."""
    return tuple(word for part in line for word in (more if part == "{more}" else (part,)))
