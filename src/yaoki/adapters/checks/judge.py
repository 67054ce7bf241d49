"""Another agent as a check.  It can fail what passed, never pass what failed.

Only one strict answer counts.  A broken one is asked for again, twice; then a person decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from yaoki.adapters.checks.findings import MESSAGE_CHARS_MAX, bounded, broken, failed, passed
from yaoki.adapters.checks.judge_answer import Answer, read_answer
from yaoki.adapters.checks.judge_prompt import judge_prompt
from yaoki.adapters.checks.output import OUT, shown
from yaoki.adapters.checks.runner import Ran, Runner
from yaoki.core.display import one_line, plain
from yaoki.core.model import (
    JUDGE_TRIES_MAX,
    AgentExit,
    AgentSpec,
    CheckSpec,
    Finding,
    Item,
    OnFailure,
    TaskId,
)
from yaoki.core.redact import mask, mask_values
from yaoki.ports import Agent, Order

FindAgent = Callable[[str], Agent]

OUTPUT_BYTES_MAX = 16 << 20
REASON_CHARS_MAX = 4_000
MISSING_CHARS_MAX = 300
# A folder per try: the first answer, and what was asked again.
TRIES = ("", *(f"-asked-{n}" for n in range(2, JUDGE_TRIES_MAX + 1)))
UNDECIDED = "judge-undecided"
# No later try of the same judge mends these.
_HOPELESS = frozenset({"auth", "money", "request", "notfound", "forbidden"})
_PASSING = frozenset({"rate", "overloaded", "session"})


@dataclass(frozen=True, slots=True)
class Case:
    """One judge at work on one commit."""

    spec: CheckSpec
    called: AgentSpec
    agent: Agent
    worktree: Path
    runner: Runner
    facts: Mapping[str, Any]

    @property
    def secrets(self) -> tuple[str, ...]:
        return self.runner.secrets(self.called.env)


def check_judge(
    spec: CheckSpec,
    worktree: Path,
    runner: Runner,
    facts: Mapping[str, Any],
    find_agent: FindAgent | None,
) -> Finding:
    if spec.agent is None or find_agent is None:
        return broken(spec, "the judge has no agent")
    agent = find_agent(spec.agent.preset)
    agent.preflight(spec.agent)
    return _decided(Case(spec, spec.agent, agent, worktree, runner, facts))


def _decided(case: Case) -> Finding:
    """Ask until one answer can be used, at most as often as there are tries."""
    defects: list[str] = []
    # All at once: a judge that a killed worker left running must not work beside the next one.
    for number, folder in enumerate([case.runner.fresh(suffix) for suffix in TRIES], start=1):
        ran = _asked(case, folder, number, defects[-1] if defects else "")
        exit_ = case.agent.read(folder, ran.look)
        finding = _not_run(case, ran, exit_)
        if finding is not None:
            return finding
        try:
            return _judged(case, ran, _answer(ran, exit_), defects)
        except ValueError as defect:
            defects.append(one_line(mask(plain(str(defect)), case.secrets)))
        if exit_.limit in _PASSING | _HOPELESS:
            return _limited(case, ran, exit_)
    return _undecided(case, ran, defects)


def _asked(case: Case, folder: Path, number: int, defect: str) -> Ran:
    facts, prompt = case.facts, judge_prompt(case.spec.ask, case.facts, defect)
    own = {
        **facts.get("environment", {}),
        "YAOKI_TASK_NAME": str(facts.get("task_name", "")),
        "YAOKI_RUN": str(facts.get("run", "")),
        "YAOKI_ROLE": "judge",
        "YAOKI_CHECK": case.spec.name,
        "YAOKI_TRY": str(number),
    }
    order = Order(
        task_id=TaskId(str(facts.get("task", ""))),
        attempt=int(facts.get("attempt", 1)),
        epoch=int(facts.get("epoch", 0)),
        agent=case.called,
        prompt=mask_values(prompt, case.secrets),
        worktree=case.worktree,
        folder=folder,
        timeout=case.spec.timeout,
        hang=timedelta(0),
        lease=case.runner.lease,
        output_bytes_max=OUTPUT_BYTES_MAX,
        environment=own,
    )
    launch = case.agent.launch(order)
    told = case.runner.told(case.called.env)
    return case.runner.run(folder, replace(launch, secrets=(*launch.secrets, *told)))


# ------------------------------------------------------------------ what came of it


def _seen(ran: Ran) -> dict[str, Any]:
    return {
        "exit_code": ran.look.code,
        "log": str(ran.folder / OUT),
        "seconds": ran.look.seconds,
    }


def _not_run(case: Case, ran: Ran, exit_: AgentExit) -> Finding | None:
    """The judge could not do its work: that is nobody's bad work."""
    look, cut = ran.look, ran.cut_off(case.spec.timeout)
    if cut is not None:
        why, later = cut
        return _broken(case, ran, why, transient=later)
    if look.ended_by == "" and (look.signal or look.code or exit_.failed):
        return _limited(case, ran, exit_)
    return None


def _limited(case: Case, ran: Ran, exit_: AgentExit) -> Finding:
    """It fell by itself.  Only what its service or its command line refuses never mends itself."""
    gone = ran.look.code in {126, 127}
    why = f"it ended with exit code {ran.look.code}"
    if exit_.limit:
        why = f"its service or its bounds stopped it ({exit_.limit})"
    elif ran.look.signal:
        why = f"it died by signal {ran.look.signal}"
    elif exit_.failed:
        why = "it noted that it failed"
    finding = _broken(case, ran, why, transient=not gone and exit_.limit not in _HOPELESS)
    if exit_.limit != "rate":
        return finding
    account = case.called.account or case.called.name
    return replace(finding, account=account, retry_after=exit_.retry_after)


def _broken(case: Case, ran: Ran, why: str, *, transient: bool) -> Finding:
    output = shown(ran.folder, case.secrets)
    words = f"the judge {case.called.name!r} did not answer: {why}"
    return broken(case.spec, words, transient=transient, output=output, **_seen(ran))


def _answer(ran: Ran, exit_: AgentExit) -> Answer:
    if ran.look.ended_by == "output":
        raise ValueError(f"it wrote more than {OUTPUT_BYTES_MAX} bytes and was ended")
    try:
        return read_answer(ran.folder / OUT)
    except ValueError as defect:
        asked = f"; it asked instead: {exit_.question}" if exit_.question else ""
        raise ValueError(f"{defect}{asked}") from None


def _judged(case: Case, ran: Ran, answer: Answer, defects: list[str]) -> Finding:
    spec = case.spec
    reason = mask(plain(answer.reason), case.secrets)[:REASON_CHARS_MAX]
    missing = [
        one_line(mask(plain(one), case.secrets), MISSING_CHARS_MAX) for one in answer.missing
    ]
    items = bounded([Item(one) for one in missing], len(missing))
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
        return passed(spec, f"{one_line(reason)}{again}", **seen)
    whole = reason if len(reason) > MESSAGE_CHARS_MAX else ""
    seen = {**seen, "items": items, "output": whole}
    if answer.next == "impossible":
        words = f"the judge calls it impossible: {reason}"
        return replace(_for_a_person(failed(spec, words, **seen)), replan=True)
    if answer.next == "replan":
        words = f"the judge says that the task itself is wrong: {reason}"
        return replace(_for_a_person(failed(spec, words, "judge-failed", **seen)), replan=True)
    return failed(spec, reason, "judge-failed", **seen)


def _undecided(case: Case, ran: Ran, defects: list[str]) -> Finding:
    words = f"undecided: no answer of the judge {case.called.name!r} could be used: {defects[-1]}"
    output, params = shown(ran.folder, case.secrets), {"brokenAnswers": defects}
    return _for_a_person(
        failed(case.spec, words, output=output, params=params, **_seen(ran)), UNDECIDED
    )


def _for_a_person(finding: Finding, pattern: str = "") -> Finding:
    """No further try of the agent can settle it, whatever the plan says of this check's failure."""
    return replace(finding, on_failure=OnFailure.ABORT, pattern=pattern or finding.pattern)
