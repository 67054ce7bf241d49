"""Another agent as a check.  It can fail what passed, never pass what failed.

Only one strict answer counts.  A broken one is asked for again, twice; then a person decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from yaoki.adapters.checks.findings import (
    MESSAGE_CHARS_MAX,
    bound_items,
    make_broken,
    make_failed,
    make_passed,
)
from yaoki.adapters.checks.judge_answer import JudgeAnswer, read_judge_answer
from yaoki.adapters.checks.judge_prompt import compose_judge_prompt
from yaoki.adapters.checks.output import OUT, read_excerpt
from yaoki.adapters.checks.runner import CheckProcesses, ProcessResult
from yaoki.core.model import (
    JUDGE_TRIES_MAX,
    AgentExit,
    AgentSpec,
    CheckSpec,
    Finding,
    FindingItem,
    OnFailure,
    TaskId,
)
from yaoki.core.redact import mask, mask_values
from yaoki.core.text import one_line, strip_terminal_codes
from yaoki.ports import AgentDriver, AttemptRequest

FindAgent = Callable[[str], AgentDriver]

OUTPUT_BYTES_MAX = 16 << 20
REASON_CHARS_MAX = 4_000
MISSING_CHARS_MAX = 300
# A folder per try: the first answer, and what was asked again.
TRY_SUFFIXES = ("", *(f"-asked-{n}" for n in range(2, JUDGE_TRIES_MAX + 1)))
UNDECIDED = "judge-undecided"
# No later try of the same judge mends these.
_HOPELESS = frozenset({"auth", "money", "request", "notfound", "forbidden"})
_PASSING = frozenset({"rate", "overloaded", "session"})


@dataclass(frozen=True, slots=True)
class JudgeRun:
    """One judge at work on one commit."""

    spec: CheckSpec
    agent_spec: AgentSpec
    agent: AgentDriver
    worktree: Path
    runner: CheckProcesses
    facts: Mapping[str, Any]

    @property
    def secrets(self) -> tuple[str, ...]:
        return self.runner.secrets(self.agent_spec.env)


def check_judge(
    spec: CheckSpec,
    worktree: Path,
    runner: CheckProcesses,
    facts: Mapping[str, Any],
    find_agent: FindAgent | None,
) -> Finding:
    if spec.agent is None or find_agent is None:
        return make_broken(spec, "the judge has no agent")
    agent = find_agent(spec.agent.preset)
    agent.preflight(spec.agent)
    return _decided(JudgeRun(spec, spec.agent, agent, worktree, runner, facts))


def _decided(case: JudgeRun) -> Finding:
    """Ask until one answer can be used, at most as often as there are tries."""
    defects: list[str] = []
    # All at once: a judge that a killed worker left running must not work beside the next one.
    for number, folder in enumerate(
        [case.runner.next_free_folder(suffix) for suffix in TRY_SUFFIXES], start=1
    ):
        ran = _asked(case, folder, number, defects[-1] if defects else "")
        exit_ = case.agent.read(folder, ran.state)
        finding = _not_run(case, ran, exit_)
        if finding is not None:
            return finding
        try:
            return _judged(case, ran, _answer(ran, exit_), defects)
        except ValueError as defect:
            defects.append(one_line(mask(strip_terminal_codes(str(defect)), case.secrets)))
        if exit_.limit in _PASSING | _HOPELESS:
            return _limited(case, ran, exit_)
    return _undecided(case, ran, defects)


def _asked(case: JudgeRun, folder: Path, number: int, defect: str) -> ProcessResult:
    facts, prompt = case.facts, compose_judge_prompt(case.spec.ask, case.facts, defect)
    own = {
        **facts.get("environment", {}),
        "YAOKI_TASK_NAME": str(facts.get("task_name", "")),
        "YAOKI_RUN": str(facts.get("run", "")),
        "YAOKI_ROLE": "judge",
        "YAOKI_CHECK": case.spec.name,
        "YAOKI_TRY": str(number),
    }
    order = AttemptRequest(
        task_id=TaskId(str(facts.get("task", ""))),
        attempt=int(facts.get("attempt", 1)),
        epoch=int(facts.get("epoch", 0)),
        agent=case.agent_spec,
        prompt=mask_values(prompt, case.secrets),
        worktree=case.worktree,
        folder=folder,
        timeout=case.spec.timeout,
        hang=timedelta(0),
        lease=case.runner.lease,
        output_bytes_max=OUTPUT_BYTES_MAX,
        environment=own,
    )
    launch = case.agent.build_launch(order)
    told = case.runner.visible_secrets(case.agent_spec.env)
    return case.runner.run(folder, replace(launch, secrets=(*launch.secrets, *told)))


# ------------------------------------------------------------------ what came of it


def _seen(ran: ProcessResult) -> dict[str, Any]:
    return {
        "exit_code": ran.state.code,
        "log": str(ran.folder / OUT),
        "seconds": ran.state.seconds,
    }


def _not_run(case: JudgeRun, ran: ProcessResult, exit_: AgentExit) -> Finding | None:
    """The judge could not do its work: that is nobody's bad work."""
    look, cut = ran.state, ran.find_interruption(case.spec.timeout)
    if cut is not None:
        why, later = cut
        return _broken(case, ran, why, transient=later)
    if look.ended_by == "" and (look.signal or look.code or exit_.reports_failure):
        return _limited(case, ran, exit_)
    return None


def _limited(case: JudgeRun, ran: ProcessResult, exit_: AgentExit) -> Finding:
    """It fell by itself.  Only what its service or its command line refuses never mends itself."""
    gone = ran.state.code in {126, 127}
    why = f"it ended with exit code {ran.state.code}"
    if exit_.limit:
        why = f"its service or its bounds stopped it ({exit_.limit})"
    elif ran.state.signal:
        why = f"it died by signal {ran.state.signal}"
    elif exit_.reports_failure:
        why = "it noted that it failed"
    finding = _broken(case, ran, why, transient=not gone and exit_.limit not in _HOPELESS)
    if exit_.limit != "rate":
        return finding
    account = case.agent_spec.account or case.agent_spec.name
    return replace(finding, account=account, retry_after=exit_.retry_after)


def _broken(case: JudgeRun, ran: ProcessResult, why: str, *, transient: bool) -> Finding:
    output = read_excerpt(ran.folder, case.secrets)
    words = f"the judge {case.agent_spec.name!r} did not answer: {why}"
    return make_broken(case.spec, words, transient=transient, output=output, **_seen(ran))


def _answer(ran: ProcessResult, exit_: AgentExit) -> JudgeAnswer:
    if ran.state.ended_by == "output":
        raise ValueError(f"it wrote more than {OUTPUT_BYTES_MAX} bytes and was ended")
    try:
        return read_judge_answer(ran.folder / OUT)
    except ValueError as defect:
        asked = f"; it asked instead: {exit_.question}" if exit_.question else ""
        raise ValueError(f"{defect}{asked}") from None


def _judged(case: JudgeRun, ran: ProcessResult, answer: JudgeAnswer, defects: list[str]) -> Finding:
    spec = case.spec
    reason = mask(strip_terminal_codes(answer.reason), case.secrets)[:REASON_CHARS_MAX]
    missing = [
        one_line(mask(strip_terminal_codes(one), case.secrets), MISSING_CHARS_MAX)
        for one in answer.missing
    ]
    items = bound_items([FindingItem(one) for one in missing], len(missing))
    seen = {
        **_seen(ran),
        "params": {
            "reason": reason,
            "missing": [item.name for item in items],
            "next": answer.next,
            **({"brokenAnswers": defects} if defects else {}),
        },
    }
    if answer.passed:
        again = f" (asked {len(defects) + 1} times: {defects[-1]})" if defects else ""
        return make_passed(spec, f"{one_line(reason)}{again}", **seen)
    whole = reason if len(reason) > MESSAGE_CHARS_MAX else ""
    seen = {**seen, "items": items, "output": whole}
    if answer.next == "impossible":
        words = f"the judge calls it impossible: {reason}"
        return replace(_for_a_person(make_failed(spec, words, **seen)), replan=True)
    if answer.next == "replan":
        words = f"the judge says that the task itself is wrong: {reason}"
        return replace(_for_a_person(make_failed(spec, words, "judge-failed", **seen)), replan=True)
    return make_failed(spec, reason, "judge-failed", **seen)


def _undecided(case: JudgeRun, ran: ProcessResult, defects: list[str]) -> Finding:
    words = (
        f"undecided: no answer of the judge {case.agent_spec.name!r} could be used: {defects[-1]}"
    )
    output, params = read_excerpt(ran.folder, case.secrets), {"brokenAnswers": defects}
    return _for_a_person(
        make_failed(case.spec, words, output=output, params=params, **_seen(ran)), UNDECIDED
    )


def _for_a_person(finding: Finding, pattern: str = "") -> Finding:
    """No further try of the agent can settle it, whatever the plan says of this check's failure."""
    return replace(finding, on_failure=OnFailure.ABORT, pattern=pattern or finding.pattern)
