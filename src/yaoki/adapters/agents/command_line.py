"""The command line, environment and prompt file with which an agent is started."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from yaoki.adapters.agents.result_file import RESULT
from yaoki.core.environment import BASIC_VARIABLES, filter_environment
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import AgentSpec, PromptChannel
from yaoki.core.redact import mask_values, secret_values
from yaoki.errors import FatalCode, Fault
from yaoki.ports import AttemptRequest, outbox

PROMPT = "prompt.md"
# Linux allows 128 KiB in one argument; a longer prompt is passed as a file.
ARGUMENT_BYTES_MAX = 100_000

_PLACEHOLDER = lazy_compile(r"\{(prompt|prompt_file|worktree|folder|task|attempt|model)\}")


def find_binary(spec: AgentSpec, environ: Mapping[str, str], installer: str = "") -> str:
    """The path of the command on the PATH of the agent; raises `Fault` if it cannot run.

    `installer` is the command line that installs a known agent.
    A relative path is not checked: it names a file of the worktree, which does not exist yet.
    """
    command = spec.command[0]
    if "/" in command and not Path(command).is_absolute():
        return command
    path = build_base_environment(spec, environ).get("PATH", os.defpath)
    if binary := shutil.which(command, path=path):
        return binary
    if shutil.which(command, mode=os.F_OK, path=path):
        raise Fault(
            f"agent {spec.name!r}: {command!r} is not executable",
            transient=False,
            code=FatalCode.PERMISSION_DENIED,
            hint=f"chmod +x {command}, or name another command for {spec.name!r}",
        )
    problem = "does not exist" if "/" in command else "is not on the PATH"
    raise Fault(
        f"agent {spec.name!r}: {command!r} {problem}",
        transient=False,
        code=FatalCode.RESOURCE_NOT_FOUND,
        hint=f"{installer}, or name its program: options.program of {spec.name!r}"
        if installer
        else f"install {command}, or name another command for {spec.name!r}",
    )


def require_variables(spec: AgentSpec, environ: Mapping[str, str]) -> None:
    """Raises `Fault` if a variable of `env_from` is not set or empty: without its key the agent
    might bill another account.
    """
    for source in spec.env_from.values():
        if not environ.get(source):
            raise Fault(
                f"agent {spec.title!r}: its variable {source} is not set",
                transient=False,
                code=FatalCode.AUTHENTICATION_FAILED,
                hint=f"set {source} in yaoki's environment, or change env_from of {spec.name!r}",
            )


def build_base_environment(spec: AgentSpec, environ: Mapping[str, str]) -> dict[str, str]:
    """Allowed variables and those of the plan: the same for every attempt."""
    return {
        **filter_environment(environ, (*BASIC_VARIABLES, *spec.pass_env)),
        "TERM": "dumb",
        **spec.env,
        **{name: environ[source] for name, source in spec.env_from.items() if source in environ},
    }


def build_agent_environment(order: AttemptRequest, environ: Mapping[str, str]) -> Mapping[str, str]:
    """The whole environment: allowed variables, those of the plan, then those of the attempt."""
    return {
        **build_base_environment(order.agent, environ),
        "YAOKI_TASK": order.task_id,
        "YAOKI_ATTEMPT": str(order.attempt),
        "YAOKI_EPOCH": str(order.epoch),
        "YAOKI_WORKTREE": str(order.worktree),
        "YAOKI_RESULT": str(outbox(order.folder) / RESULT),
        "YAOKI_PROMPT_FILE": str(order.folder / PROMPT),
        **order.environment,
    }


def write_prompt(
    order: AttemptRequest, environ: Mapping[str, str], passed_names: tuple[str, ...]
) -> str:
    """Writes the prompt to a file that only its owner can read, and returns it.

    Only known secret values are masked: text that looks like a secret may belong to the task.
    """
    text = order.prompt.replace("\0", "").encode("utf-8", errors="replace").decode("utf-8")
    prompt = mask_values(text, secret_values(environ, passed_names))
    order.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    outbox(order.folder).mkdir(mode=0o700, exist_ok=True)
    file = order.folder / PROMPT
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
        os.fchmod(handle, 0o600)
        stream.write(prompt)
    return prompt


def fill_command_line(order: AttemptRequest, prompt: str) -> tuple[str, ...]:
    """Values are inserted once: a placeholder inside a value is not replaced."""
    spec, file = order.agent, str(order.folder / PROMPT)
    argument = prompt
    if len(prompt.encode("utf-8")) > ARGUMENT_BYTES_MAX:
        argument = f"Read the file {file} and do what it says."
    values = {
        "prompt": argument,
        "prompt_file": file,
        "worktree": str(order.worktree),
        "folder": str(outbox(order.folder)),
        "task": str(order.task_id),
        "attempt": str(order.attempt),
        "model": spec.model,
    }
    filled = tuple(_PLACEHOLDER.sub(lambda hit: values[hit[1]], part) for part in spec.command)
    placeholders = {hit for part in spec.command for hit in _PLACEHOLDER.findall(part)}
    if spec.prompt is PromptChannel.STDIN or placeholders & {"prompt", "prompt_file"}:
        return filled
    return (*filled, file if spec.prompt is PromptChannel.FILE else argument)
