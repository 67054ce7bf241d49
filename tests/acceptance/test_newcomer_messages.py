"""What a newcomer reads first when something is refused leads somewhere."""

from __future__ import annotations

import pytest

from tests.acceptance.project import Place, a_plan, holds, writes

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("15", "12.1")]
PLAN = a_plan({"a": [writes("a.txt")]}, [{"id": "a", "checks": ["a"]}], {"a": holds("a.txt")})


def test_a_refused_plan_does_not_recommend_the_command_that_refused_it(place: Place) -> None:
    plan = place.plan({**PLAN, "tasks": [{"id": "a b", "goal": "x", "checks": ["a"]}]})

    done = place.look("validate", plan)

    assert done.code == 2
    assert f"yaoki validate {plan}" not in done.err
    assert f"fix them in {plan}" in done.err


def test_an_id_with_other_letters_is_refused_with_the_allowed_ones(place: Place) -> None:
    plan = place.plan({**PLAN, "tasks": [{"id": "タスク", "goal": "x", "checks": ["a"]}]})

    done = place.look("validate", plan)

    assert "a name has 1 to 64 ASCII letters, digits" in done.err


def test_a_plan_without_agents_and_checks_names_the_command_that_finds_them(place: Place) -> None:
    (place.repo / "yaoki.toml").unlink()
    (place.repo / "todo.md").write_text("- [ ] one\n- [ ] two\n")

    plan = str(place.repo / "p.yaml")

    made = place.look("plan", "import", str(place.repo / "todo.md"), "-o", plan)
    done = place.look("validate", plan)

    assert "next: yaoki init\n" in made.out
    assert done.code == 2
    assert done.err.rstrip().endswith("yaoki init")


def test_logs_of_an_unknown_attempt_name_the_newest_attempt(place: Place) -> None:
    assert place.yaoki("run", place.plan(PLAN), "--quiet").code == 0

    done = place.look("logs", "a", "--attempt", "9")

    task = place.task("a")["id"]
    assert f"{task} has no attempt 9; its newest is 1" in done.err
    assert f"yaoki logs {task} --attempt 1" in done.err
