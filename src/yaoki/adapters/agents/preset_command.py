"""The command line and the variables of a known agent, filled in for one attempt."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from yaoki.adapters.agents.preset import (
    AgentPreset,
    EndpointOverride,
    PermissionFlags,
    ToolServerFlags,
    insert_arguments,
)
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import AgentSpec, Permissions

TOOL_SERVER_NAME = "yaoki"
_PLACEHOLDER = lazy_compile(
    r"\{(model|base_url|session|repo|home|outbox|check"
    r"|tool_config|tool_line|tool_command|tool_arguments)\}"
)


@dataclass(frozen=True, slots=True)
class PresetOptions:
    """Options of a plan for a known agent besides its model and variables."""

    program: str = ""
    arguments: tuple[str, ...] = ()
    base_url: str = ""
    allow: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AttemptValues:
    """The values of one attempt in the command line.

    `home` is a folder of the task for files of the agent itself.  `tool_server` is the command of
    yaoki's MCP server; empty if the agent gets none.
    """

    session: str = ""
    repo: str = ""
    home: str = ""
    outbox: str = ""
    check_commands: tuple[str, ...] = ()
    tool_server: tuple[str, ...] = ()


class PresetCommand:
    """Fills in the command line and the variables of a preset."""

    def __init__(
        self, preset: AgentPreset, spec: AgentSpec, options: PresetOptions, values: AttemptValues
    ) -> None:
        self._preset, self._spec, self._options, self._attempt = preset, spec, options, values
        self._endpoint = preset.base_url if options.base_url else EndpointOverride()
        self._tools = preset.tool_server if values.tool_server else ToolServerFlags()
        rights = spec.permissions or preset.default_permissions
        self.permissions = Permissions(rights)
        self._flags = preset.permissions.get(rights, PermissionFlags())
        self._values = _placeholder_values(spec, options, values)

    @property
    def words(self) -> tuple[str, ...]:
        """The program and its arguments."""
        preset, options = self._preset, self._options
        model = self.model_words if self._spec.model and not preset.protocol else ()
        line = preset.resume if self._attempt.session else preset.start
        words = insert_arguments(
            [self.fill(word) for word in line],
            {
                "{permissions}": tuple(self._permission_words()),
                "{more}": (
                    *(self.fill(w) for w in (*self._tools.arguments, *model)),
                    *(self.fill(w) for w in self._endpoint.arguments),
                    *options.arguments,
                ),
            },
        )
        return (options.program or preset.program, *words)

    @property
    def model_words(self) -> tuple[str, ...]:
        return self._endpoint.model or self._preset.model

    @property
    def env(self) -> dict[str, str]:
        """The variables of the preset, then those of the plan; JSON objects are merged."""
        env: dict[str, str] = {}
        for name, value in (*self._own_variables(), *self._spec.env.items()):
            is_object = name in self._preset.json_env and name in env
            env[name] = merge_json(env[name], value) if is_object else value
        return env

    @property
    def files(self) -> dict[str, str]:
        """The agent's own files by their name below `home`."""
        return {name: self.fill(text) for name, text in self._endpoint.files.items()}

    def fill(self, word: str, **more: str) -> str:
        values = {**self._values, **more}
        return _PLACEHOLDER.sub(lambda hit: values.get(hit[1], hit[0]), word)

    def _permission_words(self) -> Iterator[str]:
        yield from (self.fill(word) for word in self._flags.arguments)
        for command in self._attempt.check_commands:
            yield from (self.fill(word, check=command) for word in self._flags.check)

    def _own_variables(self) -> Iterator[tuple[str, str]]:
        for group in (self._preset.env, self._flags.env, self._endpoint.env, self._tools.env):
            yield from ((name, self.fill(value)) for name, value in group.items())
        for command in self._attempt.check_commands:
            for name, value in self._flags.check_env.items():
                yield name, self.fill(value, check=_in_quotes(command))


def merge_json(first: str, second: str) -> str:
    """Both JSON objects as one, in which the second wins; `ValueError` if one is no object."""
    return json.dumps(_merge(_read_object(first), _read_object(second)))


def _read_object(text: str) -> dict[str, Any]:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise TypeError(f"{text[:80]!r} is not a JSON object")
    return value


def _merge(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(first)
    for key, value in second.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merge(merged[key], value) if both else value
    return merged


def _placeholder_values(
    spec: AgentSpec, options: PresetOptions, attempt: AttemptValues
) -> dict[str, str]:
    """Paths are inserted into JSON and TOML strings, so they are escaped."""
    return {
        "model": spec.model,
        "base_url": options.base_url,
        "session": attempt.session,
        "repo": _in_quotes(attempt.repo),
        "home": attempt.home,
        "outbox": _in_quotes(attempt.outbox),
        **_tool_server_values(attempt.tool_server),
    }


def _tool_server_values(command: tuple[str, ...]) -> dict[str, str]:
    if not command:
        return {}
    server = {"command": command[0], "args": list(command[1:])}
    return {
        "tool_config": json.dumps({"mcpServers": {TOOL_SERVER_NAME: server}}),
        "tool_line": json.dumps(command),
        "tool_command": json.dumps(command[0]),
        "tool_arguments": json.dumps(command[1:]),
    }


def _in_quotes(text: str) -> str:
    """The text as it is written between the quotes of a JSON or TOML string."""
    return json.dumps(text)[1:-1]


def allowed_tools(allow: Iterable[str], more: Iterable[str], permissions: Permissions) -> str:
    """The option of the ACP client that lists the tools an agent may use."""
    return "*" if permissions is Permissions.ALL else ",".join((*allow, *more))
