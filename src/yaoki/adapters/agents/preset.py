"""Known agents as data: one file each in `presets/`, read strictly, loaded when asked for."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import field, fields
from enum import StrEnum, unique
from functools import cache
from importlib.resources import files
from typing import Any

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import AgentLimit, Permissions, PromptChannel
from yaoki.errors import Unknown

PRESETS = files("yaoki.adapters.agents") / "presets"


@unique
class UsageCount(StrEnum):
    """LAST: the last event has the total of the run.  SUM: all events are added up."""

    LAST = "last"
    SUM = "sum"


@unique
class AgentProtocol(StrEnum):
    """COMMAND: a plain command line.  ACP: our own client runs the program."""

    COMMAND = ""
    ACP = "acp"


@dataclass(frozen=True, slots=True)
class UsageRule:
    """The source of an agent's usage: fields of an event, or a pattern over a text file, which is
    its standard output or lies in its outbox.

    `turns` is a field, or `events`: one turn for each event.  `call` is the field with the id of a
    model call: of several events about one call the last counts.  `whole_thread` names the values
    that, after a resume, include earlier runs of the conversation; `thread` is the field with its
    id.
    """

    event: str = ""
    count: UsageCount = UsageCount.LAST
    cost: str = ""
    tokens: tuple[str, ...] = ()
    turns: str = ""
    call: str = ""
    whole_thread: tuple[str, ...] = ()
    thread: str = ""
    file: str = ""
    pattern: str = ""


@dataclass(frozen=True, slots=True)
class EndpointOverride:
    """The arguments and variables that select another service endpoint; `files` are written to
    `{home}`, a folder of the task.
    """

    arguments: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PermissionFlags:
    """The arguments and variables that give an agent its permissions.

    Each command of a check adds the words of `check` to the arguments, and `check_env` to the
    variables; `{check}` in them is the command.
    """

    arguments: tuple[str, ...] = ()
    check: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    check_env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolServerFlags:
    """The arguments and variables with which an agent starts yaoki's MCP server."""

    arguments: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AgentPreset:
    """The command line and output format of a known agent.

    `start` and `resume` are whole command lines after the program; `{permissions}` is where the
    arguments of its permissions go, `{more}` is where the model, the endpoint, yaoki's MCP server
    and the arguments of the plan go.  `events` names the reader of its output.
    `json_env` names variables that hold a JSON object: the objects of preset and plan are merged.
    With the protocol ACP `events` is `acp` too, `model` is one word that is sent over the protocol,
    and `allow` are the kinds of tools that need no confirmation; a plan may add others.
    `live_usage` is the source of its usage while it runs, if `usage` is known only at its end.
    `exit_codes` and `lines` are its own signals of a limit.  `scratch` are folders that it creates
    in its worktree besides the work; `state` are those below its home, or named by a variable
    (`$CODEX_HOME`), where it keeps its conversations.  In the sandbox each task has a copy of them,
    without what `history` names there; `sandbox` says that the agent was seen to work so.
    """

    name: str
    title: str
    program: str
    install: str
    tested: str
    start: tuple[str, ...]
    prompt: PromptChannel
    resume: tuple[str, ...] = ()
    version: tuple[str, ...] = ("--version",)
    events: str = ""
    protocol: AgentProtocol = AgentProtocol.COMMAND
    allow: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    pass_env: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    json_env: tuple[str, ...] = ()
    permissions: Mapping[str, PermissionFlags] = field(default_factory=dict)
    tool_server: ToolServerFlags = field(default_factory=ToolServerFlags)
    base_url: EndpointOverride = field(default_factory=EndpointOverride)
    usage: UsageRule = field(default_factory=UsageRule)
    live_usage: UsageRule = field(default_factory=UsageRule)
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

    @property
    def default_permissions(self) -> Permissions:
        """Over ACP the agent asks, so yaoki can decide."""
        return Permissions.EDITS if self.protocol else Permissions.ALL

    @property
    def can_be_limited(self) -> bool:
        """Can the agent be limited to edits?"""
        return bool(self.protocol) or Permissions.EDITS in self.permissions

    @property
    def takes_tool_server(self) -> bool:
        return bool(self.protocol) or self.tool_server != ToolServerFlags()


@cache
def shipped_preset_names() -> tuple[str, ...]:
    """The names of all shipped presets."""
    names = (file.name for file in PRESETS.iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


@cache
def load_preset(name: str) -> AgentPreset:
    if name not in shipped_preset_names():
        raise Unknown(f"there is no agent preset {name!r}", hint="yaoki agents list")
    text = (PRESETS / f"{name}.toml").read_text(encoding="utf-8")
    return parse_preset(name, text)


def parse_preset(name: str, text: str) -> AgentPreset:
    """Parses a preset file; refuses unknown keys."""
    table = tomllib.loads(text)
    values: dict[str, Any] = _read_table(table, AgentPreset, f"{name}.toml")
    values["base_url"] = EndpointOverride(
        **_read_table(table.get("base_url", {}), EndpointOverride, "base_url")
    )
    values["permissions"] = {
        Permissions(word).value: PermissionFlags(
            **_read_table(flags, PermissionFlags, f"permissions.{word}")
        )
        for word, flags in table.get("permissions", {}).items()
    }
    values["tool_server"] = ToolServerFlags(
        **_read_table(table.get("tool_server", {}), ToolServerFlags, "tool_server")
    )
    for key in ("usage", "live_usage"):
        values[key] = _read_usage_rule(table.get(key, {}), key)
    values["prompt"] = PromptChannel(values["prompt"])
    values["protocol"] = AgentProtocol(values.get("protocol", ""))
    limits = {limit.value: limit for limit in AgentLimit}
    values["exit_codes"] = {int(code): limits[w] for code, w in table.get("exit_codes", {}).items()}
    values["lines"] = {pattern: limits[w] for pattern, w in table.get("lines", {}).items()}
    preset = AgentPreset(name=name, **values)
    _validate(preset)
    return preset


def _read_usage_rule(table: Mapping[str, Any], where: str) -> UsageRule:
    values = _read_table(table, UsageRule, where)
    return UsageRule(**{**values, "count": UsageCount(values.get("count", "last"))})


def _read_table(table: Mapping[str, Any], kind: type, where: str) -> dict[str, Any]:
    known = {field_.name for field_ in fields(kind)} - {"name"}
    unknown = sorted(set(table) - known)
    if unknown:
        raise ValueError(f"{where}: unknown keys {unknown}")
    return {key: tuple(v) if isinstance(v, list) else v for key, v in table.items()}


def _validate(preset: AgentPreset) -> None:
    """Assertions, because the files are ours and the tests load all of them."""
    assert {"cost", "tokens"}.issuperset(preset.usage.whole_thread), preset.name
    assert bool(preset.usage.whole_thread) is bool(preset.usage.thread), preset.name
    names_session = "{session}" in " ".join(preset.resume)
    # With a protocol, the session id is not on the command line.
    assert names_session is (preset.can_resume and not preset.protocol), preset.name
    assert (preset.protocol is AgentProtocol.ACP) is (preset.events == "acp"), preset.name
    assert preset.protocol or not preset.allow, preset.name
    assert not preset.protocol or len(preset.model) == 1, preset.name
    assert not preset.protocol or not preset.permissions, preset.name
    for pattern in (preset.usage.pattern, *preset.lines):
        re.compile(pattern)


def insert_arguments(
    line: Sequence[str], arguments_by_place: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    """Replaces `{more}` and `{permissions}` by their arguments."""
    return tuple(word for part in line for word in arguments_by_place.get(part, (part,)))
