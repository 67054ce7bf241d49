"""An agent that is any command line."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from yaoki.adapters.agents.command_line import (
    build_agent_environment,
    build_base_environment,
    fill_command_line,
    find_binary,
    require_variables,
    write_prompt,
)
from yaoki.adapters.agents.limits import (
    announces_retry,
    classify_error_lines,
    find_retry_after,
    select_error_lines,
    select_limit_lines,
)
from yaoki.adapters.agents.output_files import (
    ERR,
    OUT,
    last_write_s,
    list_newest_logs,
    list_written_logs,
    log_size,
    read_tail,
)
from yaoki.adapters.agents.pending_question import find_question
from yaoki.adapters.agents.preset import load_preset
from yaoki.adapters.agents.remedies import describe_run_remedy
from yaoki.adapters.agents.result_file import AgentResult, ResultStatus, read_result
from yaoki.adapters.agents.structured_output import (
    OutputSummary,
    find_output_preset,
    read_announced_wait,
    read_call_record,
    read_summary,
    record_agent_name,
)
from yaoki.adapters.agents.usage import UNKNOWN_USAGE, read_usage
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import AgentExit, AgentLimit, AgentSpec, PromptChannel, Usage
from yaoki.core.redact import mask, secret_values
from yaoki.core.text import strip_terminal_codes
from yaoki.errors import FatalCode, Fault
from yaoki.ports import AttemptRequest, Launch, ProcessPhase, ProcessState

ERROR_CHARS_MAX = 4096
LOG_BYTES_READ = 64 * 1024
QUIET_S = 2.0
TEMPORARY_FOLDER = "/tmp"
OUTPUT_EXCERPT_BYTES = 2_000
PERMISSION_ERRNOS = frozenset((errno.EACCES, errno.EPERM))
EXHAUSTION_ERRNOS = frozenset(
    (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOSPC)
)
# An agent that retries this often is stuck; yaoki waits for the service instead.
REPEATS_MAX = 25
RETRY_LINE = lazy_compile(r"\bretry(?:ing)?\b", re.IGNORECASE)

# Limits from a text that refine a structured limit, and structured limits that a text replaces.
REFINING_LIMITS = frozenset({AgentLimit.CONTEXT, AgentLimit.SESSION, AgentLimit.MONEY})
VAGUE_LIMITS = frozenset({AgentLimit.NONE, AgentLimit.UNFINISHED, AgentLimit.UNKNOWN})


def local_now() -> datetime:
    """The time in the zone of this machine: some agents print a time of day without a zone."""
    return datetime.now(UTC).astimezone()


class CommandAgent:
    """Builds a command line with a reduced environment, and reads the output of the agent."""

    def __init__(
        self,
        environ: Mapping[str, str] = os.environ,
        now: Callable[[], datetime] = local_now,
    ) -> None:
        self._environ = dict(environ)
        self._now = now

    def preflight(self, spec: AgentSpec) -> None:
        if not spec.command:
            raise _make_fault(spec, "it has no command", hint="give it one: command: [my-agent, …]")
        find_binary(spec, self._environ, self._installer(spec))
        require_variables(spec, self._environ)

    def _installer(self, spec: AgentSpec) -> str:
        """The command line that installs the program; empty for one that yaoki does not know."""
        return ""

    def describe_start(self, spec: AgentSpec) -> tuple[str, Mapping[str, str]]:
        """The agent's program, empty if it has none of its own, and the environment to find it."""
        return (*spec.command, "")[0], build_base_environment(spec, self._environ)

    def build_launch(self, request: AttemptRequest) -> Launch:
        return self._launch(request, request.agent.passed_variables)

    def _launch(self, request: AttemptRequest, passed_names: tuple[str, ...]) -> Launch:
        """`passed_names` are variables that the plan names; those of a preset are not secret."""
        prompt = write_prompt(request, self._environ, passed_names)
        self._write_call_record(request)
        env = build_agent_environment(request, self._environ)
        return Launch(
            argv=fill_command_line(request, prompt),
            cwd=str(request.worktree),
            env=env,
            stdin=prompt if request.agent.prompt is PromptChannel.STDIN else None,
            deadline=request.timeout,
            hang=request.hang,
            lease=request.lease,
            output_bytes_max=request.output_bytes_max,
            secrets=secret_values(env, passed_names),
            # Some agents leave megabytes there in each attempt; a folder that the plan names stays.
            temporary="" if "TMPDIR" in request.agent.env else env.get("TMPDIR", TEMPORARY_FOLDER),
        )

    def can_resume(self, spec: AgentSpec) -> bool:
        """False: a plain command line gives no way to resume."""
        return False

    def _write_call_record(self, request: AttemptRequest) -> None:
        record_agent_name(request.folder, request.agent.command)

    def read(self, folder: Path, state: ProcessState) -> AgentExit:
        secrets = secret_values(self._environ)
        result = read_result(folder)
        errors = strip_terminal_codes(read_tail(folder / ERR, LOG_BYTES_READ))
        lines = select_error_lines(errors)
        summary = read_summary(folder, state.code, self._now())
        usage = _read_usage(folder, summary)
        limit = _find_limit(summary, lines)
        stdout_lines = () if limit else _stdout_limit_lines(folder, summary, state)
        limit = limit or classify_error_lines(stdout_lines)
        return AgentExit(
            code=state.code,
            signal=state.signal,
            ended_by=state.ended_by,
            seconds=state.seconds,
            output_bytes=state.output_bytes,
            stderr_tail=_error_text(errors, summary, result, secrets),
            question=mask(result.question or _find_question(folder, state), secrets),
            retry_after=result.retry_after or self._retry_after(summary, lines or stdout_lines),
            limit=limit,
            limit_is_unsure=bool(stdout_lines),
            retry_safe=result.retry_safe,
            # A conversation that no longer exists cannot be resumed.
            session="" if limit == AgentLimit.SESSION else self._resumable_session(folder, summary),
            start_error=state.start_error,
            start_fault=_is_machine_fault(state),
            start_denied=state.start_errno in PERMISSION_ERRNOS,
            unreadable=result.defect if result.unreadable else "",
            reports_failure=result.failed or summary.limit == AgentLimit.UNKNOWN,
            failure_claim=mask(_failure_claim(result, summary), secrets),
            contradiction=mask(result.summary, secrets)
            if result.status is ResultStatus.CONFLICT
            else "",
            report_bytes=log_size(folder / OUT),
            output_tail=mask(
                strip_terminal_codes(read_tail(folder / OUT, OUTPUT_EXCERPT_BYTES)), secrets
            ),
            cost=usage.cost,
            tokens=usage.tokens,
            turns=usage.turns,
            model_responded=summary.model_responded if summary.preset_name else None,
            service_message=mask(
                _service_message(limit, summary, lines or stdout_lines, state.code), secrets
            ),
            remedy=_remedy(limit, summary),
        )

    def _resumable_session(self, folder: Path, summary: OutputSummary) -> str:
        return summary.session

    def _retry_after(self, summary: OutputSummary, lines: tuple[str, ...]) -> timedelta | None:
        if summary.claims_success:
            return None
        return summary.retry_after or find_retry_after(lines, self._now())

    def pending_question(self, folder: Path) -> str:
        question = read_result(folder).question
        if not question and datetime.now(UTC).timestamp() - last_write_s(folder) >= QUIET_S:
            question = _find_question_in(list_newest_logs(folder), input_only=False)
        return mask(question, secret_values(self._environ))

    def announced_wait(self, folder: Path) -> timedelta:
        """The wait for its service that the agent announces; zero while it works.

        Retry lines count only while they are the last lines.
        """
        if read_result(folder).question:
            return timedelta(0)
        return max(
            (
                self._wait_in_error_log(folder)
                if log.name == ERR
                else read_announced_wait(folder, self._now())
                for log in list_newest_logs(folder)
            ),
            default=timedelta(0),
        )

    def _wait_in_error_log(self, folder: Path) -> timedelta:
        lines = [
            line
            for line in strip_terminal_codes(read_tail(folder / ERR, LOG_BYTES_READ)).splitlines()
            if line
        ]
        errors = select_error_lines("\n".join(lines[-2:]))
        if not errors or not classify_error_lines(select_error_lines("\n".join(lines))):
            return timedelta(0)
        announced = find_retry_after(errors, self._now()) or timedelta(0)
        if not announced and announces_retry(lines[-1]):
            # Without a time, the age of the line counts: an agent that continues prints more.
            age_s = self._now().timestamp() - last_write_s(folder)
            announced = timedelta(seconds=max(age_s, 0.0))
        repeats = sum(RETRY_LINE.search(line) is not None for line in lines)
        return max(announced, timedelta.max if repeats >= REPEATS_MAX else timedelta(0))

    def usage_so_far(self, folder: Path) -> Usage:
        """The usage in the events so far; unknown if the agent reports it only at its end."""
        preset = find_output_preset(folder)
        if preset is None:
            return UNKNOWN_USAGE
        rule = preset.live_usage if preset.live_usage.event else preset.usage
        return read_usage(folder, rule, _earlier_usage(folder))


def _read_usage(folder: Path, summary: OutputSummary) -> Usage:
    if not summary.preset_name:
        return UNKNOWN_USAGE
    return read_usage(folder, load_preset(summary.preset_name).usage, _earlier_usage(folder))


def _earlier_usage(folder: Path) -> Usage:
    """The usage of the conversation before this run."""
    called = read_call_record(folder)
    return Usage(called.cost, None if called.tokens is None else int(called.tokens))


def _find_limit(summary: OutputSummary, lines: tuple[str, ...]) -> AgentLimit:
    """Structured events first, text second; a successful end cancels earlier errors."""
    if summary.claims_success:
        return AgentLimit.NONE
    text_limit = classify_error_lines(lines)
    refines = (
        summary.limit in VAGUE_LIMITS
        or text_limit in REFINING_LIMITS
        # Google answers a wrong key with 400.
        or (summary.limit is AgentLimit.REQUEST and text_limit is AgentLimit.AUTH)
    )
    return text_limit if text_limit and refines else summary.limit


def _stdout_limit_lines(
    folder: Path, summary: OutputSummary, state: ProcessState
) -> tuple[str, ...]:
    """The last lines of the standard output of an unknown agent that failed, if they are those of a
    service at its limit: a script around an agent passes both channels on as one.
    """
    ended_by_itself = state.code not in {0, None} and not state.ended_by
    if not ended_by_itself or summary.preset_name or summary.claims_success:
        return ()
    return select_limit_lines(strip_terminal_codes(read_tail(folder / OUT, LOG_BYTES_READ)))


def _is_machine_fault(state: ProcessState) -> bool:
    """Is the machine at fault: no resources for a process, or the worktree is not accessible?"""
    return state.start_errno in EXHAUSTION_ERRNOS or state.cwd_not_entered


def _failure_claim(result: AgentResult, summary: OutputSummary) -> str:
    """The agent's description of its failure, from its result file or its last event."""
    if result.unreadable:
        return result.summary
    if result.failed:
        return "; ".join(filter(None, (result.defect, result.summary))) or "no reason given"
    return summary.message if summary.limit == AgentLimit.UNKNOWN else ""


def _service_message(
    limit: AgentLimit, summary: OutputSummary, lines: tuple[str, ...], code: int | None
) -> str:
    """The words of the service about the limit: the message of its events, or its error line.

    The events may only say how the agent ended.
    """
    if not limit.needs_explanation:
        return ""
    named = [line for line in lines if classify_error_lines((line,)) is limit]
    own = summary.message if summary.limit is limit else ""
    return own or (named[-1] if named else "") or summary.message or _exit_code_words(code)


def _exit_code_words(code: int | None) -> str:
    return f"exit code {code}" if code else ""


def _remedy(limit: AgentLimit, summary: OutputSummary) -> str:
    if not limit.needs_explanation or not summary.preset_name:
        return ""
    return describe_run_remedy(limit, load_preset(summary.preset_name))


def _error_text(
    errors: str, summary: OutputSummary, result: AgentResult, secrets: tuple[str, ...]
) -> str:
    """The end of the error channel, then the result of the agent, which comes last."""
    claim = result.summary if result.status is ResultStatus.FAILED else ""
    parts = (
        mask(errors, secrets)[-ERROR_CHARS_MAX:],
        mask(summary.message, secrets),
        result.defect,
        mask(claim, secrets),
    )
    return "\n".join(part.strip() for part in parts if part.strip())


def _find_question(folder: Path, state: ProcessState) -> str:
    """After a clean end, only an input prompt in the very last line is a question.

    Both channels count: with closed input an agent asks on one and reports an error on the other.
    """
    is_clean = state.phase == ProcessPhase.EXITED and state.code == 0 and not state.ended_by
    return _find_question_in(list_written_logs(folder), input_only=is_clean)


def _find_question_in(logs: tuple[Path, ...], *, input_only: bool) -> str:
    questions = (
        find_question(strip_terminal_codes(read_tail(log, LOG_BYTES_READ)), input_only=input_only)
        for log in logs
    )
    return next(filter(None, questions), "")


def _make_fault(spec: AgentSpec, problem: str, *, hint: str) -> Fault:
    return Fault(
        f"agent {spec.name!r}: {problem}",
        transient=False,
        code=FatalCode.RESOURCE_NOT_FOUND,
        hint=hint,
    )
