"""The scenarios that are killed at every access: whole runs, from submission to the last notice."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from tests.simulation.worker_lives import RUN, Scenario, WorkerLife
from tests.simulation.world import ANYBODY
from yaoki.core.model import (
    AgentSpec,
    Backoff,
    BackoffType,
    Catalogue,
    CheckSpec,
    Choice,
    ContinuousMode,
    FailureKind,
    PlanningBrief,
    PlanningRole,
    RaceEnd,
    RaceRules,
    RaceStart,
    RetryPolicy,
    RetryRule,
    State,
    TaskKind,
    TaskSpec,
)
from yaoki.ports import TaskRow

AGENT = AgentSpec("agent")
POLICY = RetryPolicy(
    rules={
        kind: RetryRule(n, Backoff())
        for kind, n in (
            (FailureKind.INCOMPLETE, 3),
            (FailureKind.QUALITY_FAILURE, 3),
            (FailureKind.TRANSIENT_ERROR, 3),
            (FailureKind.CONFLICT, 2),
        )
    }
    # No delay: after a dead machine the run continues at once.
    | {FailureKind.LOST: RetryRule(6, Backoff(BackoffType.FIXED, timedelta(0)))}
)
# The first failure ends the retries, so that the scenario continues soon.
ONCE = replace(POLICY, content_retries_max=0)


def check(name: str, *argv: str) -> CheckSpec:
    return CheckSpec(name, argv=argv or ("good", name))


def task(name: str, *needs: str, policy: RetryPolicy = POLICY, **more: Any) -> TaskSpec:
    """One that makes its own file good, unless its check says something else."""
    checks = more.pop("checks", (check(name),))
    agents = () if more.get("kind") is TaskKind.GROUP else (AGENT,)
    return TaskSpec(
        name, f"make {name} good", needs=needs, checks=checks, agents=agents, policy=policy, **more
    )


def story(
    seed: int,
    tasks: Iterable[TaskSpec],
    acts: Mapping[str, list[str]] | None = None,
    *,
    checks: Iterable[CheckSpec] = (),
    **more: Any,
) -> Scenario:
    """A task without acts succeeds; other arguments are fields of the submission."""
    made = tuple(tasks)
    known = {spec.name: spec for one in made for spec in one.checks}
    known.update({spec.name: spec for spec in checks})
    catalogue = Catalogue(known, {"agent": AGENT}, {"default": POLICY, "once": ONCE})
    own = {name: more.pop(name) for name in ("person", "listens", "fails") if name in more}
    return Scenario(seed, made, {ANYBODY: ["good"], **(acts or {})}, catalogue, more, **own)


def says(*tasks: Mapping[str, Any], **more: Any) -> str:
    """A planner's answer."""
    return json.dumps({"tasks": list(tasks), "reason": "x", **more})


def new(name: str, *needs: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "goal": f"make {name} good", "checks": [name], "needs": list(needs), **more}


# ------------------------------------------------------------------ what a person does


def row(life: WorkerLife, name: str) -> TaskRow | None:
    return next((one for one in life.real.rows(RUN) if one.name == name), None)


def event_count(life: WorkerLife, event: str, name: str = "") -> int:
    found = row(life, name) if name else None
    entries = life.real.journal(task_id=found.id) if found else life.real.journal(run_id=RUN)
    return sum(entry.event == event for entry in entries)


def answers(name: str) -> Callable[[WorkerLife], bool]:
    """Lets it try again, once."""

    def person(life: WorkerLife) -> bool:
        found = row(life, name)
        if found is None or found.state is not State.ESCALATED:
            return False
        if event_count(life, "ESCALATION_ANSWERED", name):
            return False
        life.control.answer(found.id, Choice.RETRY, "try again")
        return True

    return person


def replaces(name: str) -> Callable[[WorkerLife], bool]:
    """Puts another task in the place of the failed one."""

    def person(life: WorkerLife) -> bool:
        found = row(life, name)
        if found is None or found.state is not State.ESCALATED:
            return False
        life.growth.add_retry(life.real.task(found.id), "")
        return True

    return person


def answers_go(life: WorkerLife) -> bool:
    """Answers any pause with `go`."""
    if not life.run().pause_reason:
        return False
    life.control.go(life.run())
    return True


def undoes(name: str) -> Callable[[WorkerLife], bool]:
    """Undoes the task with its dependents, then retries it."""
    again = answers(name)

    def person(life: WorkerLife) -> bool:
        found = row(life, name)
        if found is not None and not event_count(life, "UNDO_REQUESTED", name):
            life.control.undo(found.id, cascade=True)
            return True
        return again(life)

    return person


def advances_time(name: str) -> Callable[[WorkerLife], bool]:
    """Leaves the question about it unanswered until its time is over."""

    def person(life: WorkerLife) -> bool:
        found = row(life, name)
        if found is None or found.state is not State.ESCALATED:
            return False
        life.world.time += timedelta(hours=5)
        return True

    return person


# ------------------------------------------------------------------ tasks alone

PLAIN = story(
    1,
    (task("a"), task("b"), task("c", "a"), task("d", "a", "b")),
    {"b": ["lie", "good"], "d": ["nothing", "good"]},
)
# The accesses of PLAIN, by fewer tasks.
SHORT = story(1, (task("a"), task("b", "a")), {"b": ["lie", "good"]})
HARD = story(
    2,
    (task("a"), task("b"), task("c"), task("d", "c")),
    {"a": ["clash", "resolve"], "c": ["lie"]},
)
# `first` always starts before `other` lands, despite kills; so there is a head for the rerun.
RERUN = story(
    3,
    (task("first", policy=ONCE, priority=1), task("other"), task("after", "first")),
    {"first": ["lie", "good"]},
)
ANSWERED = story(
    4,
    (task("first", policy=ONCE, priority=1), task("other"), task("after", "first")),
    {"first": ["lie", "lie", "good"]},
    person=answers("first"),
    listens=True,
    fails=1,
)
# The run is done without it, and summed up, before a person lets it try again.
OPTIONAL = story(
    24,
    (task("one"), task("extra", "one", policy=ONCE, required=False)),
    {"extra": ["lie", "good"]},
    done_when=("one",),
    person=answers("extra"),
)
# Four levels and a diamond wait for `root`, and exactly they are revived.
CASCADE = (
    task("root", policy=ONCE, priority=1),
    task("left", "root"),
    task("right", "root"),
    task("join", "left", "right"),
    task("last", "join"),
    task("other"),
)
REPLACED = story(
    5,
    (CASCADE[0], CASCADE[1], CASCADE[-1]),
    {"root": ["lie"], "root-r2": ["as:root"]},
    person=replaces("root"),
    listens=True,
)

# ------------------------------------------------------------------ groups


def trio(*more_needs: str, policy: RetryPolicy = ONCE, **group: Any) -> tuple[TaskSpec, ...]:
    whole = task(
        "trio", "a", "b", "c", kind=TaskKind.GROUP, checks=(check("whole", "there", "a"),), **group
    )
    parts = (
        task("a", policy=policy, group="trio"),
        task("b", policy=policy, group="trio"),
        task("c", *more_needs, policy=policy, group="trio"),
    )
    return (whole, *parts, task("after", "trio"))


GROUPS = {
    "retry": story(6, trio(), {"b": ["lie", "good"]}),
    "rollback": story(7, trio("a", atomic=True), {"b": ["lie", "good"]}),
    "partial": story(8, trio("b", partial=True), {"b": ["lie"]}),
    "escalate": story(9, trio("a"), {"b": ["lie", "lie", "good"]}, person=answers("b")),
    "blame": story(
        10,
        (
            replace(trio("a")[0], checks=(check("whole", "quiet", "a", "README"),)),
            task("a", group="trio", checks=(check("there", "there", "a"),)),
            task("b", "a", group="trio"),
            task("c", "a", group="trio"),
        ),
        {"a": ["loud", "good"]},
    ),
}

# ------------------------------------------------------------------ planners

FILL = PlanningBrief(role=PlanningRole.PHASE, phase="building", deadline=timedelta(hours=4))


def phased(seed: int, answers: list[str], **more: Any) -> Scenario:
    """look, then build (filled by a planner), then last."""
    few = replace(POLICY, content_retries_max=2, reruns_max=0)
    fill = task("fill", "look", policy=few, kind=TaskKind.PLAN, checks=(), planning_brief=FILL)
    tasks = (task("look"), fill, task("last", "fill"))
    built = [check("build"), check("paint")]
    return story(seed, tasks, {"fill": answers}, checks=built, **more)


BUILD = says(new("build"), new("paint", "build"))
BAD = says(new("build", "nobody", colour="red"))
PHASES = {
    "good": phased(11, [BUILD]),
    "bad-then-good": phased(12, [BAD, BUILD]),
    "never": phased(13, [BAD], person=advances_time("fill"), listens=True),
}
PLANNER: dict[str, Any] = {"planner": ("agent",)}
UNMET = story(
    14,
    (task("one"),),
    {"replan-1": [BAD, says(new("two", "one"))]},
    checks=(check("two"),),
    done_when=("one", "two"),
    **PLANNER,
)
HOPELESS = story(
    15,
    (task("one"),),
    {
        f"replan-{n}": [says({**new(f"look{n}", kind="check"), "checks": ["one"]})]
        for n in (1, 2, 3)
    },
    checks=(check("two"),),
    done_when=("two",),
    **PLANNER,
)
MENDED = story(
    16,
    CASCADE,
    {
        "root": ["lie"],
        "better": ["as:root"],
        "replan-1": [says({**new("better", replaces="root"), "checks": ["root"]})],
    },
    **PLANNER,
)
GOAL = story(
    17,
    (
        task(
            "plan",
            kind=TaskKind.PLAN,
            checks=(),
            planning_brief=PlanningBrief(role=PlanningRole.GOAL),
        ),
    ),
    {"plan": [says(new("one"), new("two", "one"))]},
    checks=(check("one"), check("two")),
    done_when=("one", "two"),
    person=answers_go,
    listens=True,
    **PLANNER,
)

# ------------------------------------------------------------------ taking back

TOGETHER = check("together", "quiet", "right", "left")
BLAMED = story(
    18,
    (
        task("left"),
        task("right", "left", checks=(check("there", "there", "right"),)),
        task("upon", "right"),
        # It stays, on a commit without `right` that no landing had.
        task("far"),
    ),
    {"right": ["loud", "good"]},
    checks=(TOGETHER,),
    done_when=("together",),
)
# `beside` needs the file of the blamed `right`, which its plan does not say: a person decides.
BLAMED_KEPT = story(
    29,
    (
        task("left"),
        task("right", "left", checks=(check("there", "there", "right"),)),
        task("beside", checks=(check("beside"), check("right there", "there", "right"))),
    ),
    {"right": ["loud", "good"]},
    checks=(TOGETHER,),
    done_when=("together",),
)
UNDONE = story(19, (task("one"), task("two", "one"), task("three", "two")), person=undoes("one"))
# `three` needs the file of `one`, which its plan does not say: nothing of the cascade is reverted.
UNDO_REFUSED = story(
    27,
    (
        task("one"),
        task("two", "one"),
        task("three", checks=(check("three"), check("one there", "there", "one"))),
    ),
    person=undoes("one"),
)
# `two` and `one` are reverted, and the check of `three` is verified without them.
UNDO_PROVEN = story(28, (task("one"), task("two", "one"), task("three")), person=undoes("one"))

# ------------------------------------------------------------------ runs with bounds

COUNT = task("grow", checks=(check("some", "there", "count"),))
ENOUGH = check("enough", "lines", "count", "3")
CONTINUOUS = story(
    20,
    (COUNT,),
    {ANYBODY: ["count"]},
    checks=(ENOUGH,),
    done_when=("enough",),
    continuous=ContinuousMode(),
)
CONTINUOUS_PLANNED = story(
    21,
    (COUNT,),
    {
        ANYBODY: ["count"],
        "iteration-2": [says({**new("second"), "checks": ["some"]})],
        "iteration-3": [says({**new("third"), "checks": ["some"]})],
    },
    checks=(ENOUGH,),
    done_when=("enough",),
    continuous=ContinuousMode(),
    **PLANNER,
)
FAILING = story(
    22,
    (replace(COUNT, policy=ONCE, checks=(check("tidy", "quiet", "noise", "README"),)),),
    {ANYBODY: ["count"], "grow-i2": ["noise", "tidy"]},
    checks=(check("two", "lines", "count", "2"),),
    done_when=("two",),
    continuous=ContinuousMode(),
    person=lambda life: answers("grow-i2")(life) or answers_go(life),
    listens=True,
)
BUDGET = story(
    23,
    # One run more, for one that died with its machine counts as well, crosses no other limit.
    (task("a"), task("b", "a"), task("c", "b"), task("d", "c"), task("e", "d")),
    budget={"attempts": 4},
    person=answers_go,
    listens=True,
    fails=2,
)

OUTAGE = story(
    24,
    (task("a"), task("b"), task("c"), task("d", "c")),
    {"a": ["refused:overloaded", "refused:overloaded", "good"], "b": ["refused:rate", "good"]},
    listens=True,
)
LOCKED = AgentSpec("locked")
KEY_REFUSED = story(
    25,
    tuple(replace(task(name), agents=(LOCKED,)) for name in ("a", "b", "c")),
    {"a": ["refused:auth", "good"]},
    person=answers("a"),
    listens=True,
)


def goes_on(seed: int, *first: str) -> Scenario:
    """The first agent of a chain ends like this; the second one continues, for all tasks."""
    tasks = tuple(
        replace(task(name, *needs), agents=(LOCKED, AGENT))
        for name, needs in (("a", ()), ("b", ("a",)), ("c", ("a",)))
    )
    return story(seed, tasks, {"a": [*first, "good"]}, listens=True)


# ------------------------------------------------------------------ races


def race(seed: int, acts: Mapping[str, list[str]], *, until: RaceEnd, **more: Any) -> Scenario:
    """`a` is raced for by three candidates; `b` needs it."""
    rules = RaceRules(3, until=until, **more)
    tasks = (task("a", race=rules, policy=replace(POLICY, content_retries_max=1)), task("b", "a"))
    return story(seed, tasks, acts)


def judged(answer: str) -> Mapping[str, list[str]]:
    """All three are right, and equal until the judge has answered."""
    return {"a~1.1": ["as:a"], "a~1.2": ["as:a"], "a~1.3": ["as:a"], "a~1.judge": [answer]}


CHOICE = '{"best": "C", "reason": "it is simple", "code": "CODE"}'
WON = {"a~1.1": ["lie"], "a~1.2": ["as:a"], "a~1.3": ["as:a"]}
# Nobody is right in the first round.
LOST_FIRST = {ANYBODY: ["as:a"], "a~1.1": ["lie"], "a~1.2": ["nothing"], "a~1.3": ["lie"]}
# A racing subtask, whose candidates are verified on the branch of its group.
RACING_GROUP = story(
    35,
    (
        trio()[0],
        replace(trio()[1], race=RaceRules(2, until=RaceEnd.ALL)),
        *trio()[2:],
    ),
    {"a~1.1": ["lie"], "a~1.2": ["as:a"]},
)
RACES: Mapping[str, Scenario] = {
    "group": RACING_GROUP,
    "first": race(30, WON, until=RaceEnd.FIRST),
    "all": race(31, WON, until=RaceEnd.ALL),
    "second-round": race(32, {**LOST_FIRST, "b": ["good"]}, until=RaceEnd.FIRST),
    "after-failure": race(33, WON, until=RaceEnd.ALL, start=RaceStart.AFTER_FAILURE),
    "judged-group": story(
        39,
        (
            trio()[0],
            replace(trio()[1], race=RaceRules(2, until=RaceEnd.ALL, judge="agent")),
            *trio()[2:],
        ),
        {"a~1.1": ["as:a"], "a~1.2": ["as:a"], "a~1.judge": [CHOICE.replace('"C"', '"B"')]},
    ),
    "judged": race(36, judged(CHOICE), until=RaceEnd.ALL, judge="agent"),
    "judge-silent": race(37, judged("nothing"), until=RaceEnd.ALL, judge="agent"),
    "judge-limited": race(38, judged("refused:rate:3"), until=RaceEnd.ALL, judge="agent"),
    "after": race(34, WON, until=RaceEnd.ALL, start=RaceStart.AFTER, delay=timedelta(minutes=10)),
}

WHOLE_RUNS: Mapping[str, Scenario] = {
    "rerun": RERUN,
    "answered": ANSWERED,
    "optional": OPTIONAL,
    "replaced": REPLACED,
    **{f"group-{name}": one for name, one in GROUPS.items()},
    **{f"phase-{name}": one for name, one in PHASES.items()},
    "unmet": UNMET,
    "hopeless": HOPELESS,
    "mended": MENDED,
    "goal": GOAL,
    "blamed": BLAMED,
    "blamed-kept": BLAMED_KEPT,
    "undone": UNDONE,
    "undone-refused": UNDO_REFUSED,
    "undone-proven": UNDO_PROVEN,
    "continuous": CONTINUOUS,
    "continuous-planned": CONTINUOUS_PLANNED,
    "failing": FAILING,
    "budget": BUDGET,
    "account-outage": OUTAGE,
    "account-refused": KEY_REFUSED,
    "account-fail-over": goes_on(26, "refused:auth"),
    "account-left": goes_on(27, "refused:rate:3"),
    "account-unusable-agent": goes_on(28, "refused:refusal"),
    "account-no-credit": goes_on(36, "refused:money"),
    "account-away": goes_on(37, "refused:overloaded:3"),
    "account-repeated-failure": goes_on(40, "lie", "lie", "lie"),
    **{f"race-{name}": one for name, one in RACES.items()},
}
