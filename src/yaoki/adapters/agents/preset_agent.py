"""An agent by its description: the same edge as any command line, filled in from data."""

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
from yaoki.adapters.agents.structured import (
    CallRecord,
    OutputSummary,
    read_call_record,
    validate_session,
    write_call_record,
)
from yaoki.adapters.agents.usage import NO_USAGE, read_earlier_usage
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import AgentSpec
from yaoki.errors import Fault
from yaoki.ports import AttemptRequest, Launch

OPTION_NAMES = ("program", "arguments", "base_url")
# What a plan may say of an agent that asks before it acts.
ACP_OPTION_NAMES = (*OPTION_NAMES, "allow")
LIST_OPTION_NAMES = ("arguments", "allow")
# Our own client; without -P a worktree that holds a folder `yaoki` would be taken for it.
ACP_CLIENT_COMMAND = (sys.executable, "-P", "-m", "yaoki.adapters.agents.acp")
# How a machine reaches the network is nobody's secret, and no agent works without it.
NETWORK_VARIABLES = (
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"),
)
# These values stand inside JSON and TOML of a description, so they may not end a string there.
_MODEL = re.compile(r"[^\s\"'{}\\]{1,200}")
_URL = re.compile(r"https?://[^\s\"'{}\\]{1,500}")
_ALLOW = re.compile(r"\*|[A-Za-z_][\w.:-]{0,80}")
_WORD = re.compile(r"\{(model|base_url|session|repo)\}")


class PresetAgent(CommandAgent):
    """Calls, resumes and reads one agent that has a description."""

    def __init__(
        self,
        description: AgentPreset,
        environ: Mapping[str, str] = os.environ,
        now: Callable[[], datetime] = local_now,
    ) -> None:
        super().__init__(environ, now)
        self.preset = description

    def preflight(self, spec: AgentSpec) -> None:
        super().preflight(replace(self.resolve_spec(spec), command=self._words(spec)))

    def can_resume(self, spec: AgentSpec) -> bool:
        return self.preset.can_resume

    def build_launch(self, order: AttemptRequest) -> Launch:
        for name in self.preset.scratch:
            _set_aside(order.worktree / name)
        full = self.resolve_spec(
            order.agent, order.session, order.environment.get("YAOKI_REPO", "")
        )
        return self._launch(replace(order, agent=full), order.agent.pass_env)

    def _resumable_session(self, folder: Path, told: OutputSummary) -> str:
        """What can be gone on with.  A first turn without an answer begins again, told everything:
        nothing is lost with it, and not every agent keeps it.
        """
        begun = (
            told.model_responded or told.claims_success or bool(read_call_record(folder).session)
        )
        return told.session if begun and self.preset.can_resume else ""

    def _write_call_record(self, order: AttemptRequest) -> None:
        usage, before = self.preset.usage, NO_USAGE
        if order.session and usage.thread:
            before = read_earlier_usage(order.folder, usage, order.session)
        note = CallRecord(self.preset.name, order.session, before.cost, before.tokens)
        write_call_record(order.folder, note)

    def resolve_spec(self, spec: AgentSpec, session: str = "", repo: str = "") -> AgentSpec:
        """The agent of the plan with everything the description knows; the plan's words win."""
        about, options = self.preset, self._options(spec, session)
        values = _values(spec, options, session, repo)
        env = {**about.env, **_end(about, options).env}
        words = self._words(spec, session, repo)
        return replace(
            spec,
            command=(*self._client(spec, session), "--", *words) if about.protocol else words,
            prompt=about.prompt,
            env={**{name: _fill(value, values) for name, value in env.items()}, **spec.env},
            pass_env=(*NETWORK_VARIABLES, *about.pass_env, *spec.pass_env),
        )

    def _words(self, spec: AgentSpec, session: str = "", repo: str = "") -> tuple[str, ...]:
        """The program and its arguments."""
        about, options = self.preset, self._options(spec, session)
        end = _end(about, options)
        model = _model(about, end) if spec.model and not about.protocol else ()
        values = _values(spec, options, session, repo)
        line = about.resume if session else about.start
        words = insert_optional_arguments(line, (*model, *end.arguments, *options.arguments))
        return (options.program or about.program, *(_fill(word, values) for word in words))

    def _client(self, spec: AgentSpec, session: str) -> tuple[str, ...]:
        """Our client and what it is to tell the program over the protocol."""
        about, options = self.preset, self._options(spec, session)
        told = [*ACP_CLIENT_COMMAND, "--allow", ",".join((*about.allow, *options.allow))]
        if session:
            told += ["--session", session]
        if spec.model:
            [word] = _model(about, _end(about, options))
            told += ["--model=" + _fill(word, {"model": spec.model})]
        return tuple(told)

    def _options(self, spec: AgentSpec, session: str) -> PresetOptions:
        """What the plan adds, refused when it could not be used as it is meant."""
        about = self.preset
        if session and not (about.can_resume and validate_session(session)):
            raise _refused(spec, f"{about.title} cannot go on with {session[:80]!r}")
        strange = sorted(
            set(spec.options) - set(ACP_OPTION_NAMES if about.protocol else OPTION_NAMES)
        )
        if strange:
            raise _refused(spec, f"{strange[0]!r} is no option of {about.title}")
        if spec.model and not _MODEL.fullmatch(spec.model):
            raise _refused(spec, f"{spec.model[:80]!r} is no name of a model")
        return self._checked(spec, PresetOptions(**_given(spec)))

    def _checked(self, spec: AgentSpec, options: PresetOptions) -> PresetOptions:
        about = self.preset
        if not (options.program or about.program):
            raise _refused(spec, "options.program must name the program")
        unfit = [word for word in options.allow if not _ALLOW.fullmatch(word)]
        if unfit:
            raise _refused(spec, f"options.allow: {unfit[0][:80]!r} is no kind or name of a tool")
        if options.base_url and not _URL.fullmatch(options.base_url):
            raise _refused(spec, f"{options.base_url[:80]!r} is no address: http:// or https://")
        if options.base_url and about.base_url == EndpointOverride():
            raise _refused(spec, f"{about.title} takes no base_url here: {about.notes[-1]}")
        if options.base_url and "{model}" in str(about.base_url.env) and not spec.model:
            raise _refused(spec, f"{about.title} needs a model beside its base_url")
        return options


@dataclass(frozen=True, slots=True)
class PresetOptions:
    """What a plan may say of a known agent besides its model and variables."""

    program: str = ""
    arguments: tuple[str, ...] = ()
    base_url: str = ""
    allow: tuple[str, ...] = ()


def _values(spec: AgentSpec, options: PresetOptions, session: str, repo: str) -> dict[str, str]:
    """The repository stands in a string of TOML, so what would end one there is escaped."""
    told = {"model": spec.model, "base_url": options.base_url, "session": session}
    return {**told, "repo": json.dumps(repo)[1:-1]}


def _end(about: AgentPreset, options: PresetOptions) -> EndpointOverride:
    return about.base_url if options.base_url else EndpointOverride()


def _model(about: AgentPreset, end: EndpointOverride) -> tuple[str, ...]:
    return end.model or about.model


def _given(spec: AgentSpec) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for name, value in spec.options.items():
        many = name in LIST_OPTION_NAMES
        words = value if many and isinstance(value, list | tuple) else [value]
        if many is isinstance(value, str) or any(type(w) is not str for w in words):
            form = "a list of words" if many else "text"
            raise _refused(spec, f"options.{name} must be {form}")
        given[name] = tuple(words) if many else value
    return given


def _fill(word: str, values: Mapping[str, str]) -> str:
    return _WORD.sub(lambda hit: values[hit[1]], word)


def _refused(spec: AgentSpec, why: str) -> Fault:
    return Fault(
        f"agent {spec.name!r}: {why}",
        transient=False,
        code="RESOURCE_NOT_FOUND",
        hint=f"yaoki agents show {spec.preset}; options are {', '.join(OPTION_NAMES)}",
    )


def _set_aside(folder: Path) -> None:
    """What an agent keeps for itself is nobody's work: the folder ignores itself in git."""
    mark = folder / ".gitignore"
    if folder.is_symlink() or mark.exists():
        return
    folder.mkdir(exist_ok=True)
    mark.write_text("*\n", encoding="utf-8")
