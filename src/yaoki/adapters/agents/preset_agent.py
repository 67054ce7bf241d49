"""A known agent: a command agent whose command line comes from its preset."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from yaoki.adapters.agents.command import CommandAgent, local_now
from yaoki.adapters.agents.preset import AgentPreset, EndpointOverride, insert_optional_arguments
from yaoki.adapters.agents.structured_output import (
    CallRecord,
    OutputSummary,
    read_call_record,
    validate_session,
    write_call_record,
)
from yaoki.adapters.agents.usage import NO_USAGE, read_earlier_usage
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import AgentSpec
from yaoki.errors import FatalCode, Fault
from yaoki.ports import AttemptRequest, Launch

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
_MODEL = re.compile(r"[^\s\"'{}\\]{1,200}")
_URL = re.compile(r"https?://[^\s\"'{}\\]{1,500}")
_ALLOW = re.compile(r"\*|[A-Za-z_][\w.:-]{0,80}")
_WORD = re.compile(r"\{(model|base_url|session|repo)\}")


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
        super().preflight(replace(self.resolve_spec(spec), command=self._command_words(spec)))

    def can_resume(self, spec: AgentSpec) -> bool:
        return self.preset.can_resume

    def build_launch(self, request: AttemptRequest) -> Launch:
        for name in self.preset.scratch:
            _make_git_ignore(request.worktree / name)
        full = self.resolve_spec(
            request.agent, request.session, request.environment.get("YAOKI_REPO", "")
        )
        return self._launch(replace(request, agent=full), request.agent.pass_env)

    def _resumable_session(self, folder: Path, summary: OutputSummary) -> str:
        """Empty after a first turn without an answer, which not every agent saves: the next attempt
        starts again with the whole prompt.
        """
        has_started = (
            summary.model_responded
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

    def resolve_spec(self, spec: AgentSpec, session: str = "", repo: str = "") -> AgentSpec:
        """The agent of the plan completed by the preset; the plan takes precedence."""
        preset, options = self.preset, self._parse_options(spec, session)
        values = _placeholder_values(spec, options, session, repo)
        env = {**preset.env, **_endpoint(preset, options).env}
        words = self._command_words(spec, session, repo)
        return replace(
            spec,
            command=(*self._client_command(spec, session), "--", *words)
            if preset.protocol
            else words,
            prompt=preset.prompt,
            env={
                **{name: _fill_placeholders(value, values) for name, value in env.items()},
                **spec.env,
            },
            pass_env=(*NETWORK_VARIABLES, *preset.pass_env, *spec.pass_env),
        )

    def _command_words(self, spec: AgentSpec, session: str = "", repo: str = "") -> tuple[str, ...]:
        """The program and its arguments."""
        preset, options = self.preset, self._parse_options(spec, session)
        endpoint = _endpoint(preset, options)
        model = _model_arguments(preset, endpoint) if spec.model and not preset.protocol else ()
        values = _placeholder_values(spec, options, session, repo)
        line = preset.resume if session else preset.start
        words = insert_optional_arguments(line, (*model, *endpoint.arguments, *options.arguments))
        return (
            options.program or preset.program,
            *(_fill_placeholders(word, values) for word in words),
        )

    def _client_command(self, spec: AgentSpec, session: str) -> tuple[str, ...]:
        """Our ACP client with its options."""
        preset, options = self.preset, self._parse_options(spec, session)
        command = [*ACP_CLIENT_COMMAND, "--allow", ",".join((*preset.allow, *options.allow))]
        if session:
            command += ["--session", session]
        if spec.model:
            [word] = _model_arguments(preset, _endpoint(preset, options))
            command += ["--model=" + _fill_placeholders(word, {"model": spec.model})]
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
            raise _make_fault(spec, f"{preset.title} takes no base_url here: {preset.notes[-1]}")
        if options.base_url and "{model}" in str(preset.base_url.env) and not spec.model:
            raise _make_fault(spec, f"{preset.title} needs a model together with its base_url")
        return options


@dataclass(frozen=True, slots=True)
class PresetOptions:
    """Options of a plan for a known agent besides its model and variables."""

    program: str = ""
    arguments: tuple[str, ...] = ()
    base_url: str = ""
    allow: tuple[str, ...] = ()


def _placeholder_values(
    spec: AgentSpec, options: PresetOptions, session: str, repo: str
) -> dict[str, str]:
    """The repository path is inserted into a TOML string, so it is escaped."""
    values = {"model": spec.model, "base_url": options.base_url, "session": session}
    return {**values, "repo": json.dumps(repo)[1:-1]}


def _endpoint(preset: AgentPreset, options: PresetOptions) -> EndpointOverride:
    return preset.base_url if options.base_url else EndpointOverride()


def _model_arguments(preset: AgentPreset, endpoint: EndpointOverride) -> tuple[str, ...]:
    return endpoint.model or preset.model


def _read_options(spec: AgentSpec) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for name, value in spec.options.items():
        many = name in LIST_OPTION_NAMES
        words = value if many and isinstance(value, list | tuple) else [value]
        if many is isinstance(value, str) or any(type(w) is not str for w in words):
            form = "a list of words" if many else "text"
            raise _make_fault(spec, f"options.{name} must be {form}")
        options[name] = tuple(words) if many else value
    return options


def _fill_placeholders(word: str, values: Mapping[str, str]) -> str:
    return _WORD.sub(lambda hit: values[hit[1]], word)


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
