"""Another agent as a check.  A judge can reject work that passed, never accept work that failed.

Only a strictly valid answer counts.  After an invalid answer the judge is asked again, twice; then
a person decides.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from yaoki.adapters.checks.findings import (
    MESSAGE_CHARS_MAX,
    make_broken,
    make_failed,
    make_passed,
)
from yaoki.adapters.checks.judge_answer import JudgeAnswer, JudgeNext, read_judge_answer
from yaoki.adapters.checks.judge_prompt import compose_judge_prompt
from yaoki.adapters.checks.output import OUT, read_excerpt
from yaoki.adapters.checks.runner import CheckProcesses, ProcessResult
from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.model import (
    JUDGE_TRIES_MAX,
    AgentExit,
    AgentLimit,
    AgentSpec,
    CheckSpec,
    EndCause,
    Finding,
    FindingItem,
    OnFailure,
    TaskId,
)
from yaoki.core.model.outcome import bound_items
from yaoki.core.redact import mask, mask_values
from yaoki.core.text import format_bytes, one_line, strip_terminal_codes
from yaoki.ports import AgentDriver, AttemptRequest, CheckFacts

FindAgent = Callable[[str], AgentDriver]

OUTPUT_BYTES_MAX = 16 << 20
REASON_CHARS_MAX = 4_000
MISSING_CHARS_MAX = 300
# A folder for each question to the judge.
TRY_SUFFIXES = ("", *(f"-asked-{n}" for n in range(2, JUDGE_TRIES_MAX + 1)))
UNDECIDED = "judge-undecided"
# Asking the same judge later does not help.
_PERMANENT_LIMITS = frozenset(
    {
        AgentLimit.AUTH,
        AgentLimit.MONEY,
        AgentLimit.REQUEST,
        AgentLimit.NOT_FOUND,
        AgentLimit.FORBIDDEN,
    }
)
_TEMPORARY_LIMITS = frozenset(
    {AgentLimit.RATE, AgentLimit.OVERLOADED, AgentLimit.BUSY, AgentLimit.SESSION}
)


@dataclass(frozen=True, slots=True)
class JudgeRun:
    """A judge and the commit it judges."""

    spec: CheckSpec
    agent_spec: AgentSpec
    agent: AgentDriver
    worktree: Path
    runner: CheckProcesses
    facts: CheckFacts

    @property
    def secrets(self) -> tuple[str, ...]:
        return self.runner.secrets(self.agent_spec.env)


def check_judge(
    spec: CheckSpec,
    worktree: Path,
    runner: CheckProcesses,
    facts: CheckFacts,
    find_agent: FindAgent | None,
) -> Finding:
    if spec.agent is None or find_agent is None:
        return make_broken(spec, "the judge has no agent")
    agent = find_agent(spec.agent.preset)
    agent.preflight(spec.agent)
    return _ask_until_decided(JudgeRun(spec, spec.agent, agent, worktree, runner, facts))


def _ask_until_decided(run: JudgeRun) -> Finding:
    """Asks until one answer is valid, at most once for each suffix."""
    defects: list[str] = []
    # All folders first: this ends every judge that a killed worker left running.
    for number, folder in enumerate(
        [run.runner.next_free_folder(suffix) for suffix in TRY_SUFFIXES], start=1
    ):
        result = _ask(run, folder, number, defects[-1] if defects else "")
        exit_ = run.agent.read(folder, result.state)
        finding = _find_interruption(run, result, exit_)
        if finding is not None:
            return finding
        try:
            return _make_finding(run, result, _read_answer(result, exit_), defects)
        except ValueError as defect:
            defects.append(one_line(mask(strip_terminal_codes(str(defect)), run.secrets)))
        if exit_.limit in _TEMPORARY_LIMITS | _PERMANENT_LIMITS:
            return _explain_failure(run, result, exit_)
    return _make_undecided(run, result, defects)


def _ask(run: JudgeRun, folder: Path, number: int, defect: str) -> ProcessResult:
    facts, prompt = run.facts, compose_judge_prompt(run.spec.ask, run.facts, defect)
    environment = {
        **facts.environment,
        "YAOKI_TASK_NAME": facts.task_name,
        "YAOKI_RUN": facts.run,
        "YAOKI_ROLE": "judge",
        "YAOKI_CHECK": run.spec.name,
        "YAOKI_TRY": str(number),
    }
    request = AttemptRequest(
        task_id=TaskId(facts.task),
        attempt=facts.attempt,
        epoch=facts.epoch,
        agent=run.agent_spec,
        prompt=mask_values(prompt, run.secrets),
        worktree=run.worktree,
        folder=folder,
        timeout=run.spec.timeout,
        hang=timedelta(0),
        lease=run.runner.lease,
        output_bytes_max=OUTPUT_BYTES_MAX,
        environment=environment,
    )
    launch = run.agent.build_launch(request)
    secrets = run.runner.visible_secrets(run.agent_spec.env)
    return run.runner.run(folder, replace(launch, secrets=(*launch.secrets, *secrets)))


# ------------------------------------------------------------------ what came of it


def _evidence(result: ProcessResult) -> dict[str, Any]:
    return {
        "exit_code": result.state.code,
        "log": str(result.folder / OUT),
        "seconds": result.state.seconds,
    }


def _find_interruption(run: JudgeRun, result: ProcessResult, exit_: AgentExit) -> Finding | None:
    """The judge itself did not run to its end, which says nothing about the work."""
    state, interruption = result.state, result.find_interruption(run.spec.timeout)
    if interruption is not None:
        reason, is_transient = interruption
        return _make_broken(run, result, reason, transient=is_transient)
    if state.ended_by == EndCause.NONE and (state.signal or state.code or exit_.reports_failure):
        return _explain_failure(run, result, exit_)
    return None


def _explain_failure(run: JudgeRun, result: ProcessResult, exit_: AgentExit) -> Finding:
    """The judge failed by itself; permanent only if its service or its command line refuses it."""
    is_missing = result.state.code in {126, 127}
    reason = f"it ended with exit code {result.state.code}"
    if exit_.limit:
        reason = f"its service or its bounds stopped it ({exit_.limit})"
    elif result.state.signal:
        reason = f"it was killed by signal {result.state.signal}"
    elif exit_.reports_failure:
        reason = "it reported that it failed"
    finding = _make_broken(
        run, result, reason, transient=not is_missing and exit_.limit not in _PERMANENT_LIMITS
    )
    if exit_.limit is not AgentLimit.RATE:
        return finding
    account = run.agent_spec.billed_account
    return replace(finding, account=account, retry_after=exit_.retry_after)


def _make_broken(run: JudgeRun, result: ProcessResult, reason: str, *, transient: bool) -> Finding:
    output = read_excerpt(result.folder, run.secrets)
    words = f"the judge {run.agent_spec.name!r} did not answer: {reason}"
    return make_broken(run.spec, words, transient=transient, output=output, **_evidence(result))


def _read_answer(result: ProcessResult, exit_: AgentExit) -> JudgeAnswer:
    if result.state.ended_by == EndCause.OUTPUT:
        raise ValueError(f"it wrote more than {format_bytes(OUTPUT_BYTES_MAX)} and was ended")
    try:
        return read_judge_answer(result.folder / OUT)
    except ValueError as defect:
        question = f"; it asked instead: {exit_.question}" if exit_.question else ""
        raise ValueError(f"{defect}{question}") from None


def _make_finding(
    run: JudgeRun, result: ProcessResult, answer: JudgeAnswer, defects: list[str]
) -> Finding:
    spec = run.spec
    reason = mask(strip_terminal_codes(answer.reason), run.secrets)[:REASON_CHARS_MAX]
    missing = [
        one_line(mask(strip_terminal_codes(one), run.secrets), MISSING_CHARS_MAX)
        for one in answer.missing
    ]
    items = bound_items([FindingItem(one) for one in missing], len(missing))
    fields = {
        **_evidence(result),
        "params": {
            "reason": reason,
            "missing": [item.name for item in items],
            "next": answer.next,
            **({"brokenAnswers": defects} if defects else {}),
        },
    }
    if answer.passed:
        retries = f" (asked {len(defects) + 1} times: {defects[-1]})" if defects else ""
        return make_passed(spec, f"{one_line(reason)}{retries}", **fields)
    full_reason = reason if len(reason) > MESSAGE_CHARS_MAX else ""
    fields = {**fields, "items": items, "output": full_reason}
    if answer.next is JudgeNext.IMPOSSIBLE:
        words = f"the judge says that the task is impossible: {reason}"
        return replace(_require_person(make_failed(spec, words, **fields)), replan=True)
    if answer.next is JudgeNext.REPLAN:
        words = f"the judge says that the task itself is wrong: {reason}"
        return replace(
            _require_person(make_failed(spec, words, "judge-failed", **fields)), replan=True
        )
    return make_failed(spec, reason, "judge-failed", **fields)


def _make_undecided(run: JudgeRun, result: ProcessResult, defects: list[str]) -> Finding:
    words = (
        f"undecided: no answer of the judge {run.agent_spec.name!r} could be used: {defects[-1]}"
    )
    output, params = read_excerpt(result.folder, run.secrets), {"brokenAnswers": defects}
    return _require_person(
        make_failed(run.spec, words, output=output, params=params, **_evidence(result)), UNDECIDED
    )


def _require_person(finding: Finding, pattern: str = "") -> Finding:
    """No further attempt can settle this finding, whatever the plan says about the check."""
    return replace(finding, on_failure=OnFailure.ABORT, pattern=pattern or finding.pattern)
