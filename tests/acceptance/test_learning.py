"""Treatments of failures are counted in all runs, and `learn: choose` draws the next one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import pytest

from tests.acceptance.project import SETTINGS, Project, file_contains
from yaoki.core.decide.cures import judge_treatment
from yaoki.core.decide.next_try import arm_of
from yaoki.core.decide.thompson import draw_arm
from yaoki.core.machine.codec import event_from_data, to_data
from yaoki.core.machine.events import PromptSent
from yaoki.core.model import Catalogue
from yaoki.core.model.treatment import TreatmentOutcome

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("18.5")]

ENDS = ("RETRY_DECISION", "ESCALATE_DECISION", "RERUN_HELD", "TASK_LANDED")
KEEP_ALL = "\n[archive]\nafter_days = 0\nruns_kept = 0\n"


def a_learning_plan(names: Sequence[str], **more: Any) -> dict[str, Any]:
    """Two agents: what the first writes is always wrong, what the second writes is right."""
    return {
        "goal": "Learn",
        "agents": {
            "weak": {"command": ["sh", "-c", "date +%N >> $YAOKI_TASK_NAME.txt"]},
            "strong": {"command": ["sh", "-c", "echo good > $YAOKI_TASK_NAME.txt"]},
        },
        "agent": ["weak", "strong"],
        "checks": {
            f"has-{name}": {**file_contains(f"{name}.txt"), "pattern": "test-failed"}
            for name in names
        },
        "tasks": [{"id": name, "goal": f"Do {name}.", "checks": [f"has-{name}"]} for name in names],
        **more,
    }


def run(project: Project, names: Sequence[str], **more: Any) -> None:
    done = project.yaoki("run", project.plan(a_learning_plan(names, **more)))
    assert done.code == 0, done.out


def cured_by(project: Project) -> dict[str, tuple[int, int]]:
    document = project.query("stats", "--by", "agent", "--json").document
    return {one["agent"]: (one["cured"], one["not_cured"]) for one in document["treatments"]}


def outcomes(entries: Sequence[dict[str, Any]]) -> Iterator[tuple[Any, TreatmentOutcome]]:
    """The decided treatments of a journal, each with its place in the order of decisions."""
    pending: dict[str, Any] = {}
    for entry in entries:
        task, name = entry["task"], entry["event"]
        if name != "PROMPT_SENT" and name not in ENDS:
            continue
        event = event_from_data(name, entry["data"], Catalogue())
        if isinstance(event, PromptSent):
            pending[task] = event.treatment
        elif pending.get(task) is not None:
            treatment = pending.pop(task)
            cured = judge_treatment(treatment, event)
            if cured is not None:
                place = (datetime.fromisoformat(entry["at"]), task, entry["attempt"])
                yield place, TreatmentOutcome(treatment, cured)


def test_the_agent_that_cures_is_drawn_and_the_draw_can_be_repeated(project: Project) -> None:
    """The first run has no counts; the second one begins with those of the first."""
    project.settings(SETTINGS.replace("parallel = 2", "parallel = 4"))
    first, second = [f"a{n}" for n in range(3)], [f"b{n}" for n in range(3)]

    run(project, first, learn="choose")
    entries = project.events()
    run(project, second, learn="choose")
    entries = [*entries, *project.events()]

    counted = cured_by(project)
    assert counted["strong"] == (6, 0)
    assert counted.get("weak", (0, 0))[0] == 0
    drawn = [one for one in entries if one["event"] == "RETRY_DECISION" and one["data"]["draw"]]
    assert len(drawn) >= 6
    _repeat_draws(entries, drawn)
    late = [one for one in drawn if one["run"] == project.status()["run"]]
    knew = [one for one in late if one["data"]["draw"]["arms"][1]["cured"] >= 1]
    assert len(knew) == len(late), "the counts of the first run"
    _check_why(project, second)


def _repeat_draws(entries: Sequence[dict[str, Any]], drawn: Sequence[dict[str, Any]]) -> None:
    """The same journal gives the same choices."""
    known = sorted(outcomes(entries), key=lambda one: one[0], reverse=True)
    repeated = 0
    for entry in drawn:
        draw, task = entry["data"]["draw"], entry["task"]
        at = datetime.fromisoformat(entry["at"])
        if any(place[0] == at and place[1] != task for place, _ in known):
            continue  # only the store knows which of two in the same millisecond was first
        before = [outcome for place, outcome in known if place[0] <= at]
        names = [arm["name"] for arm in draw["arms"]]
        again = draw_arm(names, before, arm_of, draw["pattern"], draw["seed"])
        assert to_data(again) == draw
        repeated += 1
    assert repeated >= len(drawn) / 2


def _check_why(project: Project, names: Sequence[str]) -> None:
    document = project.query("why", names[0], "--json").document
    first = document["decisions"][-1]
    assert first["rule"] == "18.5"
    assert {arm["name"] for arm in first["draw"]["arms"]} == {"weak fresh", "strong fresh"}
    shown = " ".join(project.query("why", names[0]).out.split())
    assert "weighted by past fixes of such failures: weak fresh: fixed 0, not" in shown
    assert "(chosen)" in shown
    assert "learn: choose drew" in shown


def test_observe_counts_and_chooses_nothing_and_prune_keeps_the_counts(project: Project) -> None:
    project.settings(SETTINGS + KEEP_ALL)

    run(project, ["a", "b"])
    before = project.query("stats", "--json").document
    journal = project.events()
    pruned = project.yaoki("prune")

    assert pruned.code == 0, pruned.out + pruned.err
    assert not any(one["data"]["draw"] for one in journal if one["event"] == "RETRY_DECISION")
    assert cured_by(project) == {"weak": (0, 4), "strong": (2, 0)}
    assert project.query("stats", "--json").document == before
    (weak, strong) = before["treatments"]
    assert (weak["conversation"], weak["low"], weak["high"]) == ("fresh", 0.0, 0.4899)
    assert (strong["rate"], strong["low"], strong["high"]) == (1.0, 0.3424, 1.0)
    table = project.query("stats", "--by", "pattern", "--by", "agent").out
    assert "test-failed  weak    4     0      4          0%    0%-49%" in table
    assert table.endswith("next: yaoki stats prompts\n")


@pytest.mark.full
def test_one_of_several_templates_is_drawn(project: Project) -> None:
    """The agent does what its prompt says, so only one of the two templates cures."""
    folder = project.repo / ".yaoki" / "prompts" / "steps" / "retry" / "issue"
    folder.mkdir(parents=True)
    (folder / "f_failed_lint-error.md").write_text("Try again.\n")
    (folder / "f_failed_lint-error+exact.md").write_text("Write good.\n")
    words = "case \"$0\" in *'Write good'*) echo good;; *) date +%N;; esac"
    plan = a_learning_plan(["a0"], learn="choose")
    plan["agents"] = {"obedient": {"command": ["sh", "-c", f"{words} > $YAOKI_TASK_NAME.txt"]}}
    plan["agent"] = "obedient"
    for check in plan["checks"].values():
        check["pattern"] = "lint-error"
    plan["tasks"] = [{**task, "retry": {"max_retries": 8}} for task in plan["tasks"]]

    done = project.yaoki("run", project.plan(plan))

    assert done.code == 0, done.out
    rates = project.query("stats", "prompts", "--json").document["prompts"]
    exact = [one for one in rates if one["prompt"].endswith("lint-error+exact.md")]
    assert [(one["cured"], one["not_cured"]) for one in exact] == [(1, 0)]
    assert sum(one["cured"] for one in rates) == 1
    sent = [one["data"] for one in project.events() if one["event"] == "PROMPT_SENT"]
    drawn = [one for one in sent if one["draw"]]
    assert len(drawn) == len(sent) - 1, "every prompt but the first"
    assert all(one["draw"]["chosen"] == one["path"] for one in drawn)
    assert "its template was drawn at random" in project.query("why", "a0").out
