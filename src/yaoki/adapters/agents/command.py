"""Any command line as an agent, by template."""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from yaoki.adapters.agents.limits import (
    announces_retry,
    classify_error_lines,
    find_retry_after,
    select_error_lines,
)
from yaoki.adapters.agents.output_files import (
    ERR,
    OUT,
    last_write_s,
    list_written_logs,
    log_size,
    read_tail,
)
from yaoki.adapters.agents.pending_question import find_question
from yaoki.adapters.agents.preset import load_preset
from yaoki.adapters.agents.result_file import RESULT, AgentResult, read_result
from yaoki.adapters.agents.structured import (
    OutputSummary,
    read_announced_wait,
    read_call_record,
    read_summary,
    record_agent_name,
)
from yaoki.adapters.agents.usage import UNKNOWN_USAGE, Usage, read_usage
from yaoki.core.environment import BASIC_VARIABLES, filter_environment
from yaoki.core.model import AgentExit, AgentSpec
from yaoki.core.redact import mask, mask_values, secret_values
from yaoki.core.text import strip_terminal_codes
from yaoki.errors import Fault
from yaoki.ports import AttemptRequest, Launch, ProcessState, outbox

PROMPT = "prompt.md"
CHANNELS = ("argument", "stdin", "file")
# Linux takes 128 KiB in one argument; a longer prompt is handed over as a file.
ARGUMENT_BYTES_MAX = 100_000
ERROR_CHARS_MAX = 4096
LOG_BYTES_READ = 64 * 1024
QUIET_S = 2.0
OUTPUT_EXCERPT_BYTES = 2_000
PERMISSION_ERRNOS = frozenset((errno.EACCES, errno.EPERM))
EXHAUSTION_ERRNOS = frozenset(
    (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOSPC)
)
# An agent that repeats its own calls this often loops; we wait better than it does.
REPEATS_MAX = 25
RETRY_LINE = re.compile(r"\bretry(?:ing)?\b", re.IGNORECASE)

# What a text may add to a structured fact, or to one that says nothing exact.
REFINING_LIMITS = frozenset({"context", "session", "money"})
VAGUE_LIMITS = frozenset({"", "unfinished", "unknown"})

_PLACEHOLDER = re.compile(r"\{(prompt|prompt_file|worktree|folder|task|attempt|model)\}")


def local_now() -> datetime:
    """In the zone of this machine: some agents tell the time of day without one."""
    return datetime.now(UTC).astimezone()


class CommandAgent:
    """Fills a command line, gives it a reduced environment, and reads what it left."""

    def __init__(
        self,
        environ: Mapping[str, str] = os.environ,
        now: Callable[[], datetime] = local_now,
    ) -> None:
        self._environ = environ
        self._now = now

    def preflight(self, spec: AgentSpec) -> None:
        if not spec.command:
            raise _unfit(spec, "it has no command", hint="give it one: command: [my-agent, …]")
        if spec.prompt not in CHANNELS:
            raise _unfit(spec, f"{spec.prompt!r} is no prompt channel", hint=" | ".join(CHANNELS))
        find_binary(spec, self._environ)

    def build_launch(self, order: AttemptRequest) -> Launch:
        return self._launch(order, order.agent.pass_env)

    def _launch(self, order: AttemptRequest, handed: tuple[str, ...]) -> Launch:
        """`handed` are the names of the plan itself: what a preset adds is no secret by that."""
        prompt = write_prompt(order, self._environ, handed)
        self._write_call_record(order)
        env = build_agent_environment(order, self._environ)
        return Launch(
            argv=fill_command_line(order, prompt),
            cwd=str(order.worktree),
            env=env,
            stdin=prompt if order.agent.prompt == "stdin" else None,
            deadline=order.timeout,
            hang=order.hang,
            lease=order.lease,
            output_bytes_max=order.output_bytes_max,
            secrets=secret_values(env, handed),
        )

    def can_resume(self, spec: AgentSpec) -> bool:
        """Can it go on with a conversation?  Nobody knows that of a bare command line."""
        return False

    def _write_call_record(self, order: AttemptRequest) -> None:
        record_agent_name(order.folder, order.agent.command)

    def read(self, folder: Path, look: ProcessState) -> AgentExit:
        secrets = secret_values(self._environ)
        result = read_result(folder)
        errors = strip_terminal_codes(read_tail(folder / ERR, LOG_BYTES_READ))
        lines = select_error_lines(errors)
        told = read_summary(folder, look.code, self._now())
        used = _used(folder, told)
        limit = _limit(told, lines) or ("rate" if result.retry_after else "")
        return AgentExit(
            code=look.code,
            signal=look.signal,
            ended_by=look.ended_by,
            seconds=look.seconds,
            output_bytes=look.output_bytes,
            stderr_tail=_error(errors, told, result, secrets),
            question=mask(result.question or _asked(folder, look), secrets),
            retry_after=result.retry_after or self._wait(told, lines),
            limit=limit,
            retry_safe=result.retry_safe,
            # A conversation that is gone has no name to come back to.
            session="" if limit == "session" else self._resumable_session(folder, told),
            start_error=look.start_error,
            start_fault=_our_fault(look),
            start_denied=look.start_errno in PERMISSION_ERRNOS,
            unreadable=result.defect if result.unreadable else "",
            reports_failure=result.failed or told.limit == "unknown",
            failure_claim=mask(_claim(result, told), secrets),
            contradiction=mask(result.summary, secrets) if result.status == "conflict" else "",
            report_bytes=log_size(folder / OUT),
            output_tail=mask(
                strip_terminal_codes(read_tail(folder / OUT, OUTPUT_EXCERPT_BYTES)), secrets
            ),
            cost=used.cost,
            tokens=used.tokens,
            turns=used.turns,
        )

    def _resumable_session(self, folder: Path, told: OutputSummary) -> str:
        return told.session

    def _wait(self, told: OutputSummary, lines: tuple[str, ...]) -> timedelta | None:
        if told.claims_success:
            return None
        return told.retry_after or find_retry_after(lines, self._now())

    def pending_question(self, folder: Path) -> str:
        asked = read_result(folder).question
        if not asked and datetime.now(UTC).timestamp() - last_write_s(folder) >= QUIET_S:
            asked = _last_words(list_written_logs(folder)[:1], input_only=False)
        return mask(asked, secret_values(self._environ))

    def announced_wait(self, folder: Path) -> timedelta:
        """How long the agent says it will wait by itself, or has been told to; zero when it works.

        Its retry lines count only while they are its last words.
        """
        if read_result(folder).question:
            return timedelta(0)
        newest = list_written_logs(folder)[:1]
        if not newest:
            return timedelta(0)
        if newest[0].name != ERR:
            return read_announced_wait(folder, self._now())
        lines = [
            line
            for line in strip_terminal_codes(read_tail(newest[0], LOG_BYTES_READ)).splitlines()
            if line
        ]
        told = select_error_lines("\n".join(lines[-2:]))
        if not told or not classify_error_lines(select_error_lines("\n".join(lines))):
            return timedelta(0)
        announced = find_retry_after(told, self._now()) or timedelta(0)
        if not announced and announces_retry(lines[-1]):
            # Its silence tells the time: an agent that goes on says something else.
            aged = self._now().timestamp() - last_write_s(folder)
            announced = timedelta(seconds=max(aged, 0.0))
        repeats = sum(RETRY_LINE.search(line) is not None for line in lines)
        return max(announced, timedelta.max if repeats >= REPEATS_MAX else timedelta(0))


# ------------------------------------------------------------------ before


def find_binary(spec: AgentSpec, environ: Mapping[str, str]) -> str:
    """Where the command stands on the agent's own PATH; `Fault` when it cannot run.

    A relative path names a file of the worktree, which is not there yet.
    """
    command = spec.command[0]
    if "/" in command and not Path(command).is_absolute():
        return command
    path = _base(spec, environ).get("PATH", os.defpath)
    if found := shutil.which(command, path=path):
        return found
    if shutil.which(command, mode=os.F_OK, path=path):
        raise Fault(
            f"agent {spec.name!r}: {command!r} is not executable",
            transient=False,
            code="PERMISSION_DENIED",
            hint=f"chmod +x {command}, or name another command for {spec.name!r}",
        )
    where = "does not exist" if "/" in command else "is not on the PATH"
    raise Fault(
        f"agent {spec.name!r}: {command!r} {where}",
        transient=False,
        code="RESOURCE_NOT_FOUND",
        hint=f"install {command}, or name another command for {spec.name!r}",
    )


def _unfit(spec: AgentSpec, why: str, *, hint: str) -> Fault:
    return Fault(
        f"agent {spec.name!r}: {why}", transient=False, code="RESOURCE_NOT_FOUND", hint=hint
    )


def _base(spec: AgentSpec, environ: Mapping[str, str]) -> dict[str, str]:
    return {
        **filter_environment(environ, (*BASIC_VARIABLES, *spec.pass_env)),
        "TERM": "dumb",
        **spec.env,
    }


def build_agent_environment(order: AttemptRequest, environ: Mapping[str, str]) -> Mapping[str, str]:
    """The whole environment of the agent: allowed names, the plan's, then who it is."""
    return {
        **_base(order.agent, environ),
        "YAOKI_TASK": order.task_id,
        "YAOKI_ATTEMPT": str(order.attempt),
        "YAOKI_EPOCH": str(order.epoch),
        "YAOKI_WORKTREE": str(order.worktree),
        "YAOKI_RESULT": str(outbox(order.folder) / RESULT),
        "YAOKI_PROMPT_FILE": str(order.folder / PROMPT),
        **order.environment,
    }


def write_prompt(order: AttemptRequest, environ: Mapping[str, str], handed: tuple[str, ...]) -> str:
    """Write down exactly what is sent, for the owner's eyes only, and return it.

    Only known values are masked here: a shape may be what the task is about.
    """
    words = order.prompt.replace("\0", "").encode("utf-8", errors="replace").decode("utf-8")
    prompt = mask_values(words, secret_values(environ, handed))
    order.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    outbox(order.folder).mkdir(mode=0o700, exist_ok=True)
    file = order.folder / PROMPT
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
        os.fchmod(handle, 0o600)
        stream.write(prompt)
    return prompt


def fill_command_line(order: AttemptRequest, prompt: str) -> tuple[str, ...]:
    """The command line.  Values are put in once: a placeholder inside one stays as it is."""
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
    named = {hit for part in spec.command for hit in _PLACEHOLDER.findall(part)}
    if spec.prompt == "stdin" or named & {"prompt", "prompt_file"}:
        return filled
    return (*filled, file if spec.prompt == "file" else argument)


# ------------------------------------------------------------------ after


def _used(folder: Path, told: OutputSummary) -> Usage:
    if not told.preset_name:
        return UNKNOWN_USAGE
    called = read_call_record(folder)
    before = Usage(called.cost, None if called.tokens is None else int(called.tokens))
    return read_usage(folder, load_preset(told.preset_name).usage, before)


def _limit(told: OutputSummary, lines: tuple[str, ...]) -> str:
    """Structure first, text second; a good end takes back the complaints before it."""
    if told.claims_success:
        return ""
    spoken = classify_error_lines(lines)
    return (
        spoken
        if spoken and (told.limit in VAGUE_LIMITS or spoken in REFINING_LIMITS)
        else told.limit
    )


def _our_fault(look: ProcessState) -> bool:
    """Not the agent's: no room for another process, or its worktree cannot be entered."""
    return look.start_errno in EXHAUSTION_ERRNOS or look.cwd_not_entered


def _claim(result: AgentResult, told: OutputSummary) -> str:
    """What the agent itself says of its failure: in its note, or with its last event."""
    if result.unreadable:
        return result.summary
    if result.failed:
        return "; ".join(filter(None, (result.defect, result.summary))) or "no reason given"
    return told.message if told.limit == "unknown" else ""


def _error(errors: str, told: OutputSummary, result: AgentResult, secrets: tuple[str, ...]) -> str:
    """The end of the error channel, then what the agent noted, for that is its last word."""
    noted = result.summary if result.status == "failed" else ""
    parts = (
        mask(errors, secrets)[-ERROR_CHARS_MAX:],
        mask(told.message, secrets),
        result.defect,
        mask(noted, secrets),
    )
    return "\n".join(part.strip() for part in parts if part.strip())


def _asked(folder: Path, look: ProcessState) -> str:
    """A clean end is not a wait, unless the very last line reads an answer.

    Both channels count: with its input closed an agent asks on one and complains on the other.
    """
    clean = look.phase == "exited" and look.code == 0 and not look.ended_by
    return _last_words(list_written_logs(folder), input_only=clean)


def _last_words(logs: tuple[Path, ...], *, input_only: bool) -> str:
    words = (
        find_question(strip_terminal_codes(read_tail(log, LOG_BYTES_READ)), input_only=input_only)
        for log in logs
    )
    return next(filter(None, words), "")
