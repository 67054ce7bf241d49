"""A known agent: a command agent whose command line comes from its preset."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from yaoki.adapters.agents.command import CommandAgent, local_now
from yaoki.adapters.agents.preset import AgentPreset, EndpointOverride
from yaoki.adapters.agents.preset_command import (
    AttemptValues,
    PresetCommand,
    PresetOptions,
    allowed_tools,
)
from yaoki.adapters.agents.structured_output import (
    CallRecord,
    OutputSummary,
    read_call_record,
    validate_session,
    write_call_record,
)
from yaoki.adapters.agents.usage import NO_USAGE, read_earlier_usage
from yaoki.core.lazy_dataclass import replace
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import AgentSpec, Permissions
from yaoki.errors import FatalCode, Fault
from yaoki.ports import AttemptRequest, Launch, outbox

OPTION_NAMES = ("program", "arguments", "base_url")
# Options for an agent that asks before it acts.
ACP_OPTION_NAMES = (*OPTION_NAMES, "allow")
LIST_OPTION_NAMES = ("arguments", "allow")
# Our own client; -P, or a folder `yaoki` in the worktree would be imported instead.
ACP_CLIENT_COMMAND = (sys.executable, "-P", "-m", "yaoki.adapters.agents.acp")
# Network settings are no secrets, and no agent works without them.
NETWORK_VARIABLES = (
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"),
)
# These values are inserted into JSON and TOML strings, so they must not contain quotes.
_MODEL = lazy_compile(r"[^\s\"'{}\\]{1,200}")
_URL = lazy_compile(r"https?://[^\s\"'{}\\]{1,500}")
_ALLOW = lazy_compile(r"\*|[A-Za-z_][\w.:-]{0,80}")
NO_VALUES = AttemptValues()


class PresetAgent(CommandAgent):
    """Starts, resumes and reads one agent by its preset."""

    def __init__(
        self,
        description: AgentPreset,
        environ: Mapping[str, str] = os.environ,
        now: Callable[[], datetime] = local_now,
    ) -> None:
        super().__init__(environ, now)
        self.preset = description

    def preflight(self, spec: AgentSpec) -> None:
        super().preflight(self._without_client(spec))

    def _installer(self, spec: AgentSpec) -> str:
        named = bool(spec.options.get("program"))
        return "" if named or not self.preset.program else self.preset.install

    def describe_start(self, spec: AgentSpec) -> tuple[str, Mapping[str, str]]:
        return super().describe_start(self._without_client(spec))

    def _without_client(self, spec: AgentSpec) -> AgentSpec:
        """The agent with its own command, which our client of its protocol starts."""
        words = self._command(spec, NO_VALUES).words
        return replace(self.resolve_spec(spec), command=words)

    def can_resume(self, spec: AgentSpec) -> bool:
        return self.preset.can_resume

    def build_launch(self, request: AttemptRequest) -> Launch:
        for name in self.preset.scratch:
            _make_git_ignore(request.worktree / name)
        values = _attempt_values(request, self.preset)
        files = self._command(request.agent, values).files
        for name, text in files.items():
            _write_own_file(Path(values.home) / name, text)
        full = self.resolve_spec(request.agent, values)
        launch = self._launch(replace(request, agent=full), request.agent.passed_variables)
        return replace(launch, writable=(*launch.writable, values.home)) if files else launch

    def _resumable_session(self, folder: Path, summary: OutputSummary) -> str:
        """Empty after a first turn without an answer, which not every agent saves: the next attempt
        starts again with the whole prompt.
        """
        has_started = (
            summary.model_responded is not False
            or summary.claims_success
            or bool(read_call_record(folder).session)
        )
        return summary.session if has_started and self.preset.can_resume else ""

    def _write_call_record(self, request: AttemptRequest) -> None:
        usage, before = self.preset.usage, NO_USAGE
        if request.session and usage.thread:
            before = read_earlier_usage(request.folder, usage, request.session)
        record = CallRecord(self.preset.name, request.session, before.cost, before.tokens)
        write_call_record(request.folder, record)

    def resolve_spec(self, spec: AgentSpec, values: AttemptValues = NO_VALUES) -> AgentSpec:
        """The agent of the plan completed by the preset; the plan takes precedence."""
        preset, command = self.preset, self._command(spec, values)
        try:
            env = command.env
        except (ValueError, TypeError) as error:
            names = ", ".join(preset.json_env)
            raise _make_fault(spec, f"env: {names} must be a JSON object: {error}") from error
        return replace(
            spec,
            command=(*self._client_command(spec, values), "--", *command.words)
            if preset.protocol
            else command.words,
            prompt=preset.prompt,
            env=env,
            pass_env=(*NETWORK_VARIABLES, *preset.pass_env, *spec.pass_env),
        )

    def _command(self, spec: AgentSpec, values: AttemptValues) -> PresetCommand:
        options = self._parse_options(spec, values.session)
        return PresetCommand(self.preset, spec, options, values)

    def _client_command(self, spec: AgentSpec, values: AttemptValues) -> tuple[str, ...]:
        """Our ACP client with its options."""
        options, filled = self._parse_options(spec, values.session), self._command(spec, values)
        allow = allowed_tools(self.preset.allow, options.allow, filled.permissions)
        command = [*ACP_CLIENT_COMMAND, "--allow", allow]
        if filled.permissions is Permissions.EDITS:
            command += [f"--allow-command={line}" for line in values.check_commands]
        if values.tool_server:
            command += [f"--tool-server={json.dumps(values.tool_server)}"]
        if values.session:
            command += ["--session", values.session]
        if spec.model:
            [word] = filled.model_words
            command += ["--model=" + filled.fill(word)]
        return tuple(command)

    def _parse_options(self, spec: AgentSpec, session: str) -> PresetOptions:
        """The options of the plan; raises `Fault` for an invalid one."""
        preset = self.preset
        if session and not (preset.can_resume and validate_session(session)):
            raise _make_fault(spec, f"{preset.title} cannot continue {session[:80]!r}")
        unknown = sorted(
            set(spec.options) - set(ACP_OPTION_NAMES if preset.protocol else OPTION_NAMES)
        )
        if unknown:
            raise _make_fault(spec, f"{unknown[0]!r} is not an option of {preset.title}")
        if spec.model and not _MODEL.fullmatch(spec.model):
            raise _make_fault(spec, f"{spec.model[:80]!r} is not a valid model name")
        if spec.permissions is Permissions.EDITS and not preset.can_be_limited:
            raise _make_fault(spec, f"{preset.title} has no way to allow only edits")
        return self._validate_options(spec, PresetOptions(**_read_options(spec)))

    def _validate_options(self, spec: AgentSpec, options: PresetOptions) -> PresetOptions:
        preset = self.preset
        if not (options.program or preset.program):
            raise _make_fault(spec, "options.program must name the program")
        invalid = [word for word in options.allow if not _ALLOW.fullmatch(word)]
        if invalid:
            raise _make_fault(
                spec, f"options.allow: {invalid[0][:80]!r} is not a kind or name of a tool"
            )
        if options.base_url and not _URL.fullmatch(options.base_url):
            raise _make_fault(
                spec, f"{options.base_url[:80]!r} is not an address: http:// or https://"
            )
        if options.base_url and preset.base_url == EndpointOverride():
            # The last note of such a preset says where another service is set instead.
            note = preset.notes[-1]
            raise _make_fault(spec, f"{note[0].lower()}{note[1:].rstrip('.')}")
        needs_model = "{model}" in str((preset.base_url.env, preset.base_url.files))
        if options.base_url and needs_model and not spec.model:
            raise _make_fault(spec, f"{preset.title} needs a model together with its base_url")
        return options


def _attempt_values(request: AttemptRequest, preset: AgentPreset) -> AttemptValues:
    return AttemptValues(
        session=request.session,
        repo=request.environment.get("YAOKI_REPO", ""),
        # One for all attempts of a task: a conversation may be stored in it.
        home=str(request.folder.parent / f"{preset.name}-home"),
        outbox=str(outbox(request.folder)),
        check_commands=request.check_commands,
        tool_server=request.tool_server if preset.takes_tool_server else (),
    )


def _read_options(spec: AgentSpec) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for name, value in spec.options.items():
        many = name in LIST_OPTION_NAMES
        words = value if many and isinstance(value, list | tuple) else [value]
        if many is isinstance(value, str) or any(type(w) is not str for w in words):
            form = "a list of words" if many else "a string"
            raise _make_fault(spec, f"options.{name} must be {form}")
        options[name] = tuple(words) if many else value
    return options


def _make_fault(spec: AgentSpec, problem: str) -> Fault:
    return Fault(
        f"agent {spec.name!r}: {problem}",
        transient=False,
        code=FatalCode.RESOURCE_NOT_FOUND,
        hint=f"yaoki agents show {spec.preset}; options are {', '.join(OPTION_NAMES)}",
    )


def _make_git_ignore(folder: Path) -> None:
    """Files of the agent itself are not part of the work: makes git ignore the folder."""
    ignore_file = folder / ".gitignore"
    if folder.is_symlink() or ignore_file.exists():
        return
    folder.mkdir(exist_ok=True)
    ignore_file.write_text("*\n", encoding="utf-8")


def _write_own_file(file: Path, text: str) -> None:
    """A file that the agent may have changed or replaced is written anew."""
    if file.parent.is_symlink():
        file.parent.unlink()
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if file.is_dir() and not file.is_symlink():
        shutil.rmtree(file)
    file.unlink(missing_ok=True)
    file.write_text(text, encoding="utf-8")
