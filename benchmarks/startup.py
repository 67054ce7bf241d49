"""(f) The CPU time to start: help, hook, status, why and validate beside a bare interpreter."""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
from collections.abc import Mapping, Sequence

from benchmarks.place import Place, python
from benchmarks.repositories import Repository
from benchmarks.results import Line, Part, at_most

GOAL_MS = 60.0
# Commands that read settings and git, and the store or a plan.
READING_GOAL_MS = 120.0


def measured(place: Place) -> Part:
    times = 5 if place.quick else 21
    with place.fresh() as folder:
        repository = Repository(folder)
        repository.yaoki("run", repository.plan(1), "--quiet")
        hook = repository.command("hook", "event", "claude")
        commands: Mapping[str, tuple[Sequence[str], str]] = {
            "bare": ((python(), "-c", "pass"), ""),
            "--help": (repository.command("--help"), ""),
            # What an agent calls at each of its prompts, and an event that needs no answer.
            "hook, at a prompt": (hook, _event("UserPromptSubmit", repository)),
            "hook, nothing to say": (hook, _event("SessionEnd", repository)),
            "hook, at a stop": (hook, _event("Stop", repository)),
            "status": (repository.command("status"), ""),
            "why": (repository.command("why", "t0"), ""),
            "validate": (repository.command("validate", repository.plan(8)), ""),
        }
        found = _turns(repository, commands, times)
    bare = found["bare"]
    lines = [Line("f", "bare interpreter", bare, "ms")]
    for name in ("--help", "hook, at a prompt", "hook, nothing to say"):
        what = f"yaoki {name}: more than bare"
        ratio = found[name] / bare
        lines.append(
            at_most("f", what, found[name] - bare, "ms", GOAL_MS, beside="bare", ratio=ratio)
        )
    for name in ("status", "why", "validate"):
        what, more, ratio = f"yaoki {name}: more than bare", found[name] - bare, found[name] / bare
        lines.append(at_most("f", what, more, "ms", READING_GOAL_MS, beside="bare", ratio=ratio))
    # At a stop the checks are looked at: that is work, not start-up, so no goal is set on it.
    name = "hook, at a stop"
    what, more = f"yaoki {name}: more than bare", found[name] - bare
    lines.append(Line("f", what, more, "ms", "bare", found[name] / bare))
    return Part(tuple(lines), {"median_ms": found})


def _event(name: str, repository: Repository) -> str:
    facts = {"session_id": "bench", "cwd": str(repository.top), "prompt": "Go on."}
    return json.dumps({"hook_event_name": name, **facts})


def _turns(
    repository: Repository, commands: Mapping[str, tuple[Sequence[str], str]], times: int
) -> dict[str, float]:
    """CPU time of each command with its git processes, in turns: other load hardly changes it.

    The first turn compiles the modules and is not counted.
    """
    took: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(times + 1):
        for name, (words, given) in commands.items():
            before = _children_s()
            subprocess.run(
                words,
                cwd=repository.top,
                env=repository.env,
                input=given.encode(),
                stdout=subprocess.DEVNULL,
                check=True,
            )
            if turn:
                took[name].append((_children_s() - before) * 1e3)
    return {name: statistics.median(each) for name, each in took.items()}


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
