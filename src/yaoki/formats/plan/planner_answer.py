"""A planner's answer: one JSON object, held against the run it belongs to, every defect at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from yaoki.core.agent_json import json_objects, last_agent_message
from yaoki.core.graph import find_cycle
from yaoki.core.model import REPLANS_MAX, PlanningBrief, RetryPolicy, Run, TaskKind, TaskSpec
from yaoki.core.text import did_you_mean, format_count
from yaoki.formats.plan.rules import NAME
from yaoki.ports import PlannerAnswer

TEXT_CHARS_READ = 512 * 1024
KEYS = ("tasks", "reason", "done", "impossible")
TASK_KEYS = (
    *("id", "goal", "kind", "needs", "checks", "scope", "agent", "required"),
    *("priority", "replaces"),
)
DEFECTS_MAX = 100


@dataclass(frozen=True, slots=True)
class ExistingTask:
    """A task of the run as an answer may name it."""

    id: str
    n: int
    name: str
    is_replaceable: bool
    replans: int = 0
    spec: TaskSpec | None = None
    last_failure: str = ""


@dataclass(frozen=True, slots=True)
class AnswerContext:
    """What an answer is held against."""

    run: Run
    planning_brief: PlanningBrief
    tasks: Sequence[ExistingTask]
    text_bytes_max: int
    defaults: TaskSpec
    needs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    defects: list[str] = field(default_factory=list)

    def find(self, word: str) -> ExistingTask | None:
        """By id, by number or by name; nothing else is a task of this run."""
        named = (t for t in self.tasks if word in {t.id, t.name, str(t.n)})
        return next(named, None)


def read_answer(text: str, context: AnswerContext) -> PlannerAnswer:
    """The last JSON object of the output; anything wrong with it goes back to the planner."""
    try:
        found = list(json_objects(last_agent_message(text, TEXT_CHARS_READ, "tasks")))
    except ValueError as defect:
        return PlannerAnswer(defects=(str(defect),))
    if not found:
        return PlannerAnswer(defects=("there is no JSON object in the answer",))
    return check_answer(found[-1], context)


def check_answer(given: Mapping[str, Any], context: AnswerContext) -> PlannerAnswer:
    """Tasks that come during a run, whoever wrote them: every defect at once."""
    defects = context.defects
    defects += [f"unknown key {key!r}{did_you_mean(key, KEYS)}" for key in given if key not in KEYS]
    impossible = given.get("impossible", "")
    if isinstance(impossible, str) and impossible.strip():
        return PlannerAnswer(impossible=impossible.strip()[:2000])
    raw = given.get("tasks")
    if not isinstance(raw, list):
        return PlannerAnswer(defects=(*defects, "tasks must be a list"))
    done = given.get("done") is True
    if not raw and not done:
        defects.append("there are no tasks; say done: true if nothing is left to do")
    specs, replaces = _tasks(raw, context)
    if defects:
        return PlannerAnswer(defects=tuple(dict.fromkeys(defects))[:DEFECTS_MAX])
    return PlannerAnswer(specs, replaces, done=done and not specs)


def _tasks(raw: list[Any], ground: AnswerContext) -> tuple[tuple[TaskSpec, ...], dict[str, str]]:
    most = ground.planning_brief.tasks_max
    if len(raw) > most:
        ground.defects.append(
            f"{format_count(len(raw), 'task is', 'tasks are')} over the limit of {most}"
        )
        return (), {}
    shaped = [one for n, one in enumerate(raw) if _shaped(n, one, ground)]
    names = _names(shaped, ground)
    specs = tuple(_spec(one, names, ground) for one in shaped)
    found = find_cycle(_grown(shaped, specs, ground))
    if found:
        ground.defects.append(f"tasks need each other in a circle: {' needs '.join(found[:20])}")
    return specs, dict(_replaced(shaped, ground))


def _grown(
    shaped: Sequence[Mapping[str, Any]], specs: Sequence[TaskSpec], ground: AnswerContext
) -> dict[str, list[str]]:
    """The run's graph with the answer in it: who waited for a replaced task waits for its heir."""
    heirs = {
        old.name: str(one["id"])
        for one in shaped
        if one.get("replaces") and (old := ground.find(one["replaces"])) is not None
    }
    whole = {**ground.needs, **{spec.name: spec.needs for spec in specs}}
    return {
        name: [heirs.get(need, need) for need in wanted if heirs.get(need, need) in whole]
        for name, wanted in whole.items()
        if name not in heirs
    }


def _shaped(n: int, one: Any, ground: AnswerContext) -> bool:
    where = f"tasks[{n}]"
    if not isinstance(one, dict):
        ground.defects.append(f"{where}: a task is an object, not {one!r:.40}")
        return False
    wrong = [
        f"{where}: unknown key {k!r}{did_you_mean(k, TASK_KEYS)}" for k in one if k not in TASK_KEYS
    ]
    wrong += [
        f"{where}.{key}: a text is needed, not {one[key]!r:.40}"
        for key in ("id", "goal", "kind", "agent", "replaces")
        if key in one and not isinstance(one[key], str)
    ]
    wrong += [f"{where}: {key} is missing" for key in ("id", "goal") if not one.get(key)]
    wrong += [
        f"{where}.{key}: a list of texts is needed, not {one[key]!r:.40}"
        for key in ("needs", "checks", "scope")
        if key in one and not _texts(one[key])
    ]
    if not isinstance(one.get("required", True), bool):
        wrong.append(f"{where}.required: true or false is needed")
    priority = one.get("priority", 0)
    if isinstance(priority, bool) or not isinstance(priority, int) or abs(priority) > 1000:
        wrong.append(f"{where}.priority: a whole number between -1000 and 1000 is needed")
    ground.defects.extend(wrong)
    return not wrong


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def _names(shaped: Sequence[Mapping[str, Any]], ground: AnswerContext) -> set[str]:
    names: set[str] = set()
    taken = {task.name for task in ground.tasks}
    for one in shaped:
        name = one["id"]
        if not NAME.fullmatch(name):
            ground.defects.append(f"{name!r:.60} cannot be the name of a task")
        elif name in names or name in taken:
            ground.defects.append(f"{name!r} is the name of another task; choose a new one")
        names.add(name)
    return names


def _spec(one: Mapping[str, Any], names: set[str], ground: AnswerContext) -> TaskSpec:
    name, usual, catalogue = one["id"], ground.defaults, ground.run.catalogue
    kind = _kind(one, ground)
    old = ground.find(one["replaces"]) if one.get("replaces") else None
    heir = old.spec if old is not None and old.spec is not None else None
    wanted = one.get("checks") or [c.name for c in heir.checks] if heir else one.get("checks")
    checks = wanted if wanted is not None else list(catalogue.checks)
    _known(name, "check", checks, catalogue.checks, ground)
    inherited = (heir.agents if heir else ()) or usual.agents
    agents = [one["agent"]] if one.get("agent") else [a.name for a in inherited]
    _known(name, "agent", agents, catalogue.agents, ground)
    if kind is not TaskKind.CHECK and not agents:
        ground.defects.append(f"{name}: no agent is named, and the run has none to take")
    if len(one["goal"].encode()) > ground.text_bytes_max:
        ground.defects.append(
            f"{name}: its goal is over the limit of {ground.text_bytes_max} bytes"
        )
    return TaskSpec(
        name=name,
        goal=one["goal"].strip(),
        kind=kind,
        needs=tuple(dict.fromkeys(_needs(one, names, ground))),
        checks=tuple(catalogue.checks[c] for c in checks if c in catalogue.checks),
        agents=()
        if kind is TaskKind.CHECK
        else tuple(catalogue.agents[a] for a in agents if a in catalogue.agents),
        scope=tuple(one.get("scope", heir.scope if heir else ())),
        priority=one.get("priority", 0),
        required=one.get("required", heir.required if heir else True),
        timeout=usual.timeout,
        hang=usual.hang,
        policy=catalogue.policies.get("default", RetryPolicy(rules={})),
        setup=(heir or usual).setup,
        setup_inputs=(heir or usual).setup_inputs,
        may_change_nothing=heir.may_change_nothing if heir else False,
        discard=(heir or usual).discard,
        phase=(heir.phase if heir else "") or ground.planning_brief.phase,
        language=usual.language,
        budget=heir.budget if heir else {},
        group=heir.group if heir else "",
        tags=heir.tags if heir else (),
        iteration=(heir.iteration if heir else 0) or ground.planning_brief.iteration,
    )


def _kind(one: Mapping[str, Any], ground: AnswerContext) -> TaskKind:
    word = one.get("kind", "change")
    allowed = [kind.value for kind in ground.planning_brief.kinds]
    if word not in allowed:
        ground.defects.append(f"{one['id']}: kind {word!r:.40} is not one of {', '.join(allowed)}")
        return TaskKind.CHANGE
    return TaskKind(word)


def _known(
    name: str, sort: str, words: Sequence[str], known: Mapping[str, Any], ground: AnswerContext
) -> None:
    ground.defects.extend(
        f"{name}: unknown {sort} {word!r:.60}{did_you_mean(word, known)}"
        for word in words
        if word not in known
    )


def _needs(one: Mapping[str, Any], names: set[str], ground: AnswerContext) -> Iterator[str]:
    for word in one.get("needs", ()):
        found = None if word in names else ground.find(word)
        if word in names:
            yield word
        elif found is not None:
            yield found.name
        else:
            near = did_you_mean(word, (*names, *(task.name for task in ground.tasks)))
            ground.defects.append(f"{one['id']}: needs {word!r:.60}, which is no task here{near}")


def _replaced(
    shaped: Sequence[Mapping[str, Any]], ground: AnswerContext
) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for one in shaped:
        word = one.get("replaces")
        if not word:
            continue
        old = ground.find(word)
        if old is None:
            ground.defects.append(f"{one['id']}: replaces {word!r:.60}, which is no task here")
        elif not old.is_replaceable:
            ground.defects.append(f"{one['id']}: {old.id} has not failed, so nothing replaces it")
        elif old.replans >= REPLANS_MAX:
            ground.defects.append(f"{one['id']}: {old.id} was replaced {old.replans} times already")
        elif old.id in seen:
            ground.defects.append(f"{one['id']}: {old.id} is replaced twice")
        else:
            seen.add(old.id)
            yield one["id"], old.id


def default_spec(like: TaskSpec, run: Run) -> TaskSpec:
    """What tasks of an answer have unless they say otherwise: the run's chain, the same times."""
    chain = tuple(run.catalogue.agents[name] for name in run.default_agents)
    return TaskSpec(
        "",
        "",
        agents=chain,
        timeout=like.timeout,
        hang=like.hang,
        setup=like.setup,
        setup_inputs=like.setup_inputs,
        discard=like.discard,
        language=like.language,
    )
