"""The rules of a plan: names, references, and what proves each task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import BUILT_IN_CHECKS, CHECK_ENTRY_POINTS, FINAL_CHECK_NAME
from yaoki.core.model.check_types import TYPE_BY_PLAN_KEY
from yaoki.core.model.patterns import PATTERNS
from yaoki.core.settings.tags import TAG_FORM, is_tag
from yaoki.formats.plan import limits, order
from yaoki.formats.plan.draft import RACING_KINDS
from yaoki.formats.plan.field_values import FieldRefused, check_inside
from yaoki.formats.plan.proof import is_empty, judge_done_when, judge_proof

if TYPE_CHECKING:
    from yaoki.formats.plan.defects import Defects, KeyPath
    from yaoki.formats.plan.draft import Draft, PlacedTask
    from yaoki.formats.plan.limit_models import RaceModel
    from yaoki.formats.plan.model import AgentModel, CheckModel

NAME = lazy_compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_FORM = "1 to 64 ASCII letters, digits, '_', '.' or '-', and begins with a letter or digit"
_CHECK_KEYS = tuple(TYPE_BY_PLAN_KEY)
# Keys of command checks only; a python check may also have `env`.
_COMMANDS = ("success", "cwd", "env")


def judge_plan(draft: Draft) -> None:
    """Add every defect of the draft."""
    _plan(draft)
    judge_parts(draft)
    _unused(draft)


def judge_parts(draft: Draft) -> None:
    """The rules for agents, checks and tasks of any format."""
    for name, agent in draft.agents.items():
        _agent(_owner(draft, "agents", name), ("agents", name), agent)
    for name, check in draft.checks.items():
        _check(draft, _owner(draft, "checks", name), ("checks", name), check)
    for placed in draft.tasks:
        _task(draft, placed)
    _repeated_ids(draft)
    limits.judge_limits(draft)
    order.judge_order(draft)


def _owner(draft: Draft, section: str, name: str) -> Defects:
    """The defects of the file that defines this agent or check."""
    return draft.defects if name in getattr(draft.plan, section) else draft.settings_defects


def _plan(draft: Draft) -> None:
    plan, defects = draft.plan, draft.defects
    if not plan.goal.strip():
        defects.add_missing((), "goal is missing: say what the run is for", "goal")
    if not draft.tasks:
        defects.add_missing((), "there are no tasks", "tasks", "phases", "final_tasks")
    if plan.is_given("agent") and not plan.agent:
        defects.add(("agent",), "names no agent; leave it out or name one")
    draft.add_references("agent", ("agent",), plan.agent, draft.agent_names)
    if plan.is_given("planner") and not plan.planner:
        defects.add(("planner",), "names no agent; leave it out or name one")
    draft.add_references("agent", ("planner",), plan.planner, draft.agent_names)
    draft.add_references("agent", ("race", "agents"), plan.race.agents, draft.agent_names)
    _race_judge(draft, ("race",), plan.race)
    draft.add_references("check", ("done_when",), plan.done_when, draft.check_names)
    judge_done_when(draft)
    known = set(PATTERNS)
    for index, pattern in enumerate(plan.patterns):
        judge_name(defects, ("patterns", index), "pattern", pattern)
        if pattern in known:
            defects.add(("patterns", index), f"pattern {pattern!r} is already known")
        known.add(pattern)


def judge_name(defects: Defects, path: KeyPath, noun: str, name: str) -> None:
    if not NAME.fullmatch(name):
        defects.add(path, f"{noun} {name[:80]!r} is not a name; a name has {_FORM}")


def _agent(defects: Defects, path: KeyPath, agent: AgentModel) -> None:
    judge_name(defects, path, "agent", str(path[-1]))
    if agent.preset == "command" and not any(word.strip() for word in agent.command[:1]):
        defects.add_missing(path, "has no command to call", "command", "preset")
    key = "options" if agent.preset == "command" else "command"
    if agent.is_given(key):
        reason = f"an agent of preset {agent.preset} has no {key}; nothing would use it"
        defects.add_missing((*path, key), reason, "preset")


def _check(draft: Draft, defects: Defects, path: KeyPath, check: CheckModel) -> None:
    judge_name(defects, path, "check", str(path[-1]))
    if path[-1] in BUILT_IN_CHECKS:
        defects.add(path, f"{path[-1]} is the name of a built-in check; rename it")
    ways = [way for way in _CHECK_KEYS if check.is_given(way)]
    if not ways:
        reason = f"checks nothing; give it {', '.join(_CHECK_KEYS[:-1])} or {_CHECK_KEYS[-1]}"
        defects.add_missing(path, reason, *_CHECK_KEYS)
    if len(ways) > 1:
        defects.add(path, f"has {' and '.join(ways)}; a check has one of them")
    for way in ways:
        _way(defects, (*path, way), way, check)
    _globs(defects, (*path, "definition"), check.definition)
    _globs(defects, (*path, "inputs"), check.inputs)
    if check.inputs and not (check.is_given("run") or check.is_given("shell")):
        defects.add((*path, "inputs"), "only a command has inputs: give it run or shell")
    if check.hidden and not (check.is_given("run") or check.is_given("shell")):
        defects.add((*path, "hidden"), "only a command can be hidden: give it run or shell")
    if check.is_given("judge"):
        _judge(draft, defects, (*path, "judge"), check)
    if check.is_given("options") and not check.is_given("python"):
        defects.add_missing((*path, "options"), "only a python check has options", "python")
    if check.is_given("pattern"):
        known = {*PATTERNS, *draft.plan.patterns, *draft.settings.patterns}
        if check.pattern not in known:
            near = defects.add_unknown((*path, "pattern"), "pattern", check.pattern, known)
            draft.references.add(("pattern", near))
        draft.references.add(("pattern", check.pattern))


def _way(defects: Defects, path: KeyPath, way: str, check: CheckModel) -> None:
    if is_empty(check, way):
        defects.add_empty(path, f"{way} is empty")
    if way == "file":
        _file(defects, path, check)
    elif way == "python" and check.python.strip():
        judge_entry_point(defects, path, check.python)
    for key in _COMMANDS if way not in ("run", "shell") else ():
        if check.is_given(key) and (way, key) != ("python", "env"):
            defects.add((*path[:-1], key), f"a {way} check has no {key}; only commands do")


def _judge(draft: Draft, defects: Defects, path: KeyPath, check: CheckModel) -> None:
    judge, most = check.judge, draft.settings.limits.task_text_bytes
    if not judge.agent:
        defects.add_missing(path, "agent is missing: name the one that judges", "agent")
    elif judge.agent not in draft.agent_names:
        near = defects.add_unknown((*path, "agent"), "agent", judge.agent, draft.agent_names)
        draft.references.add(("agent", near))
    draft.references.add(("agent", judge.agent))
    if not judge.ask.strip():
        defects.add_missing(path, "ask is missing: say what counts", "ask")
    elif (size := len(judge.ask.encode())) > most:
        defects.add((*path, "ask"), f"{size} bytes of text are over the limit of {most}")
    for key in ("baseline", "rerun"):
        if check.is_given(key):
            defects.add((*path[:-1], key), f"a judge has no {key}")


def judge_entry_point(defects: Defects, path: KeyPath, name: str) -> None:
    """A check that no installed package provides could never run."""
    from importlib.metadata import entry_points

    known = entry_points(group=CHECK_ENTRY_POINTS).names
    if name not in known:
        defects.add_unknown(path, f"entry point of {CHECK_ENTRY_POINTS}", name, known)


def _file(defects: Defects, path: KeyPath, check: CheckModel) -> None:
    file = check.file
    conditions = [key for key in ("exists", "absent", "contains", "matches") if file.is_given(key)]
    if not file.is_given("path"):
        defects.add_missing(path, "path is missing", "path")
    if not conditions:
        keys = ("exists", "absent", "contains", "matches")
        defects.add_missing(
            path, "has no condition; give it exists, absent, contains or matches", *keys
        )
    for key in conditions:
        if not getattr(file, key):
            other = {"exists": "; use absent: true", "absent": "; use exists: true"}.get(key, "")
            defects.add((*path, key), f"{key} has no effect with this value{other}")
    if file.absent and len(conditions) > 1:
        defects.add((*path, "absent"), "an absent file can have no other condition")


def _task(draft: Draft, placed: PlacedTask) -> None:
    task, defects = placed.task, draft.defects
    if not task.is_given("id"):
        defects.add_missing(placed.path, "id is missing", "id")
    elif task.id.startswith(FINAL_CHECK_NAME):
        reason = f"ids that begin with {FINAL_CHECK_NAME!r} are reserved for the run's final checks"
        defects.add(placed.path_of("id"), reason)
    elif task.id.isdecimal():
        defects.add(
            placed.path_of("id"),
            f"id {task.id!r} is a number, which would be read as a task's number",
        )
    else:
        judge_name(defects, placed.path_of("id"), "id", task.id)
    _goal(draft, placed)
    _chain(draft, placed)
    judge_proof(draft, placed)
    _race(draft, placed)
    _of_kind(draft, placed)
    for index, tag in enumerate(task.tags):
        if not is_tag(tag):
            defects.add(
                placed.path_of("tags", index), f"{tag[:80]!r} is not a tag; a tag has {TAG_FORM}"
            )
    _globs(defects, placed.path_of("scope"), task.scope)
    for key in ("setup_inputs", "discard"):
        _globs(defects, placed.path_of(key), getattr(task, key))
    if task.allow_weaker_tests and not task.scope:
        reason = "allow_weaker_tests needs a scope that names the files it may weaken"
        defects.add(placed.path_of("allow_weaker_tests"), reason)


def _globs(defects: Defects, path: KeyPath, globs: Sequence[str]) -> None:
    for index, glob in enumerate(globs):
        try:
            check_inside(glob)
        except FieldRefused as fault:
            defects.add((*path, index), f"{glob!r} {fault}")


# Keys that only one kind of task has.
_ONLY = {"tasks": "group", "atomic": "group", "partial": "group", "constraints": "plan"}


def _of_kind(draft: Draft, placed: PlacedTask) -> None:
    task, defects = placed.task, draft.defects
    for key, kind in (*_ONLY.items(), ("deadline", "plan")):
        if task.is_given(key) and task.kind != kind:
            defects.add(placed.path_of(key), f"{key} is for a task of kind {kind}")
    if task.kind == "group" and placed.group:
        defects.add(placed.path_of("kind"), "a group cannot contain a group")
    elif task.kind == "group" and not task.tasks:
        defects.add_missing(placed.path, "a group without tasks", "tasks", "kind")
    if task.atomic and task.is_given("partial") and task.partial:
        defects.add(placed.path_of("partial"), "atomic and partial contradict each other")
    if task.kind == "plan" and task.checks:
        defects.add(
            placed.path_of("checks"), "a task of kind plan is verified by the plan it returns"
        )


def _goal(draft: Draft, placed: PlacedTask) -> None:
    task, defects = placed.task, draft.defects
    if task.is_given("goal") and task.is_given("prompt"):
        defects.add(placed.path_of("prompt"), "goal and prompt mean the same; give only one")
    elif task.kind not in {"check", "group"} and not (task.goal or task.prompt).strip():
        defects.add_missing(placed.path, "goal is missing", "goal", "prompt")


def _chain(draft: Draft, placed: PlacedTask) -> None:
    task, defects = placed.task, draft.defects
    draft.add_references("agent", placed.path_of("agent"), task.agent, draft.agent_names)
    if task.kind in {"check", "group"}:
        if task.is_given("agent"):
            defects.add(
                placed.path_of("agent"), f"a task of kind {task.kind} has no agent of its own"
            )
    elif task.kind == "plan" and not task.is_given("agent"):
        return
    elif task.is_given("agent") and not task.agent:
        defects.add(placed.path_of("agent"), "names no agent; leave it out or name one")
    elif not draft.chain_of(task) and ("agent",) not in defects.broken_paths:
        defects.add_missing(
            placed.path, draft.no_agent_message, "agent", "kind", lacks_settings=True
        )


def _race(draft: Draft, placed: PlacedTask) -> None:
    task, defects = placed.task, draft.defects
    if not task.is_given("race"):
        return
    agents = task.race.agents
    draft.add_references("agent", placed.path_of("race", "agents"), agents, draft.agent_names)
    _race_judge(draft, placed.path_of("race"), task.race)
    if task.kind not in RACING_KINDS:
        kinds = " or ".join(RACING_KINDS)
        defects.add(placed.path_of("race"), f"race is for a task of kind {kinds}")
    elif task.race.tries == 1 and len(task.race.model_fields_set) > 1:
        defects.add(placed.path_of("race"), "a race needs at least two candidates: tries: 2")
    elif agents and task.is_given("agent"):
        reason = "race.agents and agent both say who works; give only one"
        defects.add(placed.path_of("race", "agents"), reason)


def _race_judge(draft: Draft, path: KeyPath, race: RaceModel) -> None:
    if not race.is_given("judge"):
        return
    place = (*path, "judge")
    draft.add_reference("agent", place, race.judge, draft.agent_names)
    if race.until != "all":
        draft.defects.add(place, "a judge compares all proven candidates; write until: all")
    elif race.start.failure:
        reason = "with start: after-failure only one candidate is proven: a judge compares nothing"
        draft.defects.add(place, reason)


def _repeated_ids(draft: Draft) -> None:
    first: dict[str, KeyPath] = {}
    for placed in draft.tasks:
        name, path = placed.task.id, placed.path_of("id")
        if name and name in first:
            line = draft.defects.position_of(first[name])[0]
            draft.defects.add(path, f"id {name!r} is already used in line {line}")
        first.setdefault(name, path)


def _unused(draft: Draft) -> None:
    """An unused agent, check or pattern is a mistake.

    It is not reported when a broken part might have used it.  The checks below a misspelt key can
    still be read.
    """
    if not draft.tasks or draft.is_open_ended:
        return
    plan, broken = draft.plan, draft.defects.broken_paths
    if not any("agent" in path for path in broken):
        _unused_of(draft, "agent", "agents", list(plan.agents))
    named = [_read_check_names(draft, placed) for placed in draft.tasks]
    if all(names is not None for names in named):
        used = {name for names in named for name in names or ()}
        _unused_of(draft, "check", "checks", [one for one in plan.checks if one not in used])
    if not any(path[:1] == ("checks",) for path in broken):
        for index, pattern in enumerate(plan.patterns):
            if pattern not in PATTERNS and ("pattern", pattern) not in draft.references:
                draft.defects.add(("patterns", index), f"nothing uses pattern {pattern!r}")


def _read_check_names(draft: Draft, placed: PlacedTask) -> Sequence[str] | None:
    """The checks below a misspelt key, or none beside those of the task.

    None for a task that may use every check: without the key, or with one that cannot be read.
    """
    if placed.task.is_given("checks"):
        return ()
    value = draft.defects.misspelt_values.get(placed.path_of("checks"))
    names = [value] if isinstance(value, str) else value
    return [str(name) for name in names] if isinstance(names, list) else None


def _unused_of(draft: Draft, sort: str, section: str, names: list[str]) -> None:
    for name in names:
        if (sort, name) not in draft.references:
            at = draft.defects.keys.get((section, name))
            draft.defects.add((section, name), f"nothing uses {sort} {name!r}", at=at)
