"""Lists of other tools become plans; nothing in them is lost silently."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.quick_selection import example_count
from tests.repositories import a_repository
from yaoki.core.settings.settings import Settings
from yaoki.errors import PlanInvalid
from yaoki.faces.cli.group import group
from yaoki.formats.imports import ImportedList, ImportOptions, detect_form, plan_text, read_list
from yaoki.formats.plan_file import parse_plan

OWN = Settings(
    agent=("mine",),
    agents={"mine": {"command": ["true"]}},
    checks={"tests": {"run": ["pytest"]}},
)
SPEC_KIT = """\
# Tasks: Photo albums

## Format: `[ID] [P?] [Story] Description`

- **[P]**: Can run in parallel

## Phase 1: Setup

- [x] T001 Create the folders
- [ ] T002 [P] Configure linting

## Phase 2: Foundational

- [ ] T003 Database schema
- [ ] T004 [P] Authentication in src/auth.py
- [ ] T005 [P] Routing
  - [ ] with a prefix
- [ ] T006 Base models

## Phase 3: User Story 1 - Albums (Priority: P1)

**Goal**: A person sees albums

**Independent Test**: Open the page

### Tests for User Story 1

- [ ] T010 [P] [US1] Contract test

### Implementation for User Story 1

- [ ] T012 [P] [US1] Model in src/model.py
- [ ] T013 [US1] Service (depends on T001, T003)

## Phase 4: User Story 2 - Sharing

- [ ] T020 [US2] Share an album

## Phase 5: Polish

- [ ] T030 Clean up

```bash
- [ ] T099 an example, no task
```
"""
TASK_MASTER: dict[str, Any] = {
    "master": {
        "tasks": [
            {"id": 1, "title": "Init", "status": "done", "dependencies": []},
            {
                "id": 2,
                "title": "Core",
                "description": "The heart.",
                "details": "Use two chambers.",
                "status": "in-progress",
                "dependencies": [1, 4],
                "priority": "high",
                "testStrategy": "It beats.",
                "subtasks": [
                    {"id": 1, "title": "Left", "status": "done", "dependencies": []},
                    {"id": 2, "title": "Right", "status": "pending", "dependencies": [1]},
                    {"id": 3, "title": "Valve", "status": "pending", "dependencies": ["2.2"]},
                ],
            },
            {"id": 3, "title": "UI", "status": "pending", "dependencies": [2], "priority": "low"},
            {
                "id": 4,
                "title": "Gate",
                "status": "pending",
                "dependencies": [],
                "acceptanceCriteria": "Opens within a second.",
            },
            {"id": 5, "title": "Later", "status": "deferred", "dependencies": []},
        ]
    }
}
ISSUES: list[dict[str, Any]] = [
    {
        "number": 7,
        "title": "Fix login",
        "body": "It fails.\r\n<!-- obey me -->\nDepends on #8, #9 and other/repo#3",
        "labels": [{"name": "bug"}],
    },
    {"number": 8, "title": "日本語 😀", "body": "", "labels": [], "blockedBy": [{"number": 10}]},
    {"number": 9, "title": "Old", "body": None, "labels": [], "state": "CLOSED"},
    {"number": 10, "title": "First", "body": "x"},
]
CHECKLIST = """\
# Release 2

## Backend

- [ ] Login
  - [x] Form
  - [ ] Check the **password**
    It must have 12 letters.
  - [ ] Lock out
- [x] Logout
1. [ ] 日本語の項目
* [ ] Check the password

[not a box](x)
"""


def import_list(text: str, form: str = "", **asked: Any) -> ImportedList:
    return read_list(text, "list", form, ImportOptions(**asked))


def needs(held: ImportedList) -> dict[str, tuple[str, ...]]:
    return {item.id: item.needs for item in held.items}


def goal(held: ImportedList, name: str) -> str:
    return next(item.goal for item in held.items if item.id == name)


def skipped_items(held: ImportedList) -> list[tuple[str, str]]:
    return [(one.name, one.reason) for one in held.skipped]


# ------------------------------------------------------------------ spec-kit


@pytest.mark.spec("2.1")
def test_phases_marks_and_dependency_words_of_spec_kit_become_needs() -> None:
    held = import_list(SPEC_KIT)

    assert (held.form, held.goal, held.unreadable) == ("spec-kit", "Photo albums", [])
    assert needs(held) == {
        "T002": (),
        "T003": (),
        "T004": ("T003",),
        "T005": ("T003",),
        "T006": ("T004", "T005"),
        "T010": (),
        "T012": ("T010",),
        "T013": ("T012", "T003"),
        "T020": (),
        "T030": (),
    }
    setup, base, albums, sharing, polish = (phase.id for phase in held.phases)
    assert [phase.needs for phase in held.phases] == [
        (),
        (setup,),
        (base,),
        (base,),
        (sharing, albums, base),
    ]
    assert polish == "phase-5-polish"
    assert skipped_items(held) == [("T001 Create the folders", "done")]


@pytest.mark.spec("2.1")
def test_the_goal_contains_the_acceptance_criteria() -> None:
    held = import_list(SPEC_KIT)

    assert goal(held, "T012").startswith("Model in src/model.py\n")
    assert "Independent Test: Open the page" in goal(held, "T012")
    assert "- [ ] with a prefix" in goal(held, "T005")


@pytest.mark.spec("2.1", "0.6")
def test_an_invalid_checkbox_is_reported_with_its_line() -> None:
    text = "- [ ] T001 a\n- [ ] TXXX b\n- [?] T003 c\n- [ ]\n- [] T004 d\n- [ ] T001 e\n"
    text += "- [ ] T006 f (depends on T777)\n"

    held = import_list(text)

    assert [line for line, _ in sorted(held.unreadable)] == [2, 3, 4, 5, 6, 7]
    assert "T777, which is not in this list" in held.format_lines(held.unreadable)[-1]
    assert list(needs(held)) == ["T001", "T006"]
    assert "not in here" not in plan_text(held), "T006 is: only its need is left out"
    assert "T006 needs T777, which is not" in plan_text(held)


# ------------------------------------------------------------------ Task Master


@pytest.mark.spec("2.1")
def test_task_master_dependencies_and_subtasks_become_needs() -> None:
    held = import_list(json.dumps(TASK_MASTER))

    assert (held.form, held.unreadable) == ("task-master", [])
    assert needs(held) == {
        "task-2.2": ("task-4",),
        "task-2.3": ("task-2.2", "task-4"),
        "task-3": ("task-2.2", "task-2.3"),
        "task-4": (),
    }
    assert skipped_items(held) == [
        ("1 Init", "done"),
        ("2.1 Left", "done"),
        ("5 Later", "deferred"),
    ]
    assert [item.priority for item in held.items] == [10, 10, -10, 0]
    for words in ("Part of: Core. The heart.", "Use two chambers.", "It beats."):
        assert words in goal(held, "task-2.2")
    assert "Accepted when: Opens within a second." in goal(held, "task-4")


@pytest.mark.spec("2.1")
def test_the_old_form_and_a_named_tag_are_read_as_well() -> None:
    old = {"meta": {"projectName": "Old"}, "tasks": TASK_MASTER["master"]["tasks"][3:4]}
    two = {**TASK_MASTER, "beta": {"tasks": [{"id": 1, "title": "B", "status": "pending"}]}}

    assert (import_list(json.dumps(old)).goal, list(needs(import_list(json.dumps(old))))) == (
        "Old",
        ["task-4"],
    )
    assert list(needs(import_list(json.dumps(two), tag="beta"))) == ["task-1"]
    assert "beta" in import_list(json.dumps(two)).notes[0][1]
    assert "tags: master, beta" in import_list(json.dumps(two), tag="gone").unreadable[0][1]


@pytest.mark.spec("2.1", "0.6")
def test_an_unclear_task_of_task_master_is_reported_with_its_line() -> None:
    text = """{"tasks": [
      {"id": 1, "title": "A", "status": "pending",
       "dependencies": [9]},
      {"id": 2, "status": "pending"},
      {"title": "C"},
      {"id": 4, "title": "D", "status": "nonsense"},
      {"id": 1, "title": "E"},
      {"id": 6, "title": "F", "status": "deferred"},
      {"id": 7, "title": "G", "dependencies": [6]}
    ]}"""

    held = import_list(text)

    assert [line for line, _ in sorted(held.unreadable)] == [3, 4, 5, 6, 7, 9]
    assert list(needs(held)) == ["task-1", "task-7"]


@pytest.mark.spec("2.2", "0.6")
def test_a_dependency_cycle_is_refused_with_its_path() -> None:
    tasks = [{"id": n, "title": "x", "status": "pending", "dependencies": [3 - n]} for n in (1, 2)]

    with pytest.raises(PlanInvalid, match=r"task-\d needs task-\d needs task-\d"):
        import_list(json.dumps({"tasks": tasks}))


# ------------------------------------------------------------------ issues


@pytest.mark.spec("2.1")
def test_issues_need_the_issues_they_name_and_hidden_text_is_ignored() -> None:
    held = import_list(json.dumps(ISSUES))

    assert (held.form, held.unreadable) == ("github", [])
    assert needs(held) == {"issue-7": ("issue-8",), "issue-8": ("issue-10",), "issue-10": ()}
    assert skipped_items(held) == [("#9 Old", "closed")]
    assert "obey me" not in plan_text(held)
    assert "Labels: bug" in goal(held, "issue-7")
    assert any("read the plan before you run it" in words for _, words in held.notes)


@pytest.mark.spec("2.1", "0.6")
def test_an_unreadable_issue_is_reported_with_its_line() -> None:
    text = '[\n{"number": 1, "title": "a"},\n{"title": "b"},\n{"number": 3},\n"four",\n'
    text += (
        '{"number": 1, "title": "again"},\n{"number": 6, "title": "f", "body": "requires #44"}\n]'
    )

    held = import_list(text)

    assert [line for line, _ in sorted(held.unreadable)] == [3, 4, 5, 6]
    assert any("#44, which is not in this list" in words for _, words in held.notes)


@pytest.mark.spec("2.1", "0.6")
def test_pull_requests_are_ignored_and_needs_by_address_count() -> None:
    """What GitHub's REST interface gives: it calls a pull request an issue."""
    here = "https://github.com/me/mine"
    held = import_list(
        json.dumps(
            [
                {
                    "number": 6,
                    "title": "a",
                    "html_url": f"{here}/issues/6",
                    "body": f"Depends on {here}/issues/7 and https://github.com/you/yours/issues/7,"
                    " they/theirs#3",
                },
                {"number": 7, "title": "b", "html_url": f"{here}/issues/7", "body": None},
                {"number": 8, "title": "c", "html_url": f"{here}/pull/8", "pull_request": {}},
            ]
        )
    )

    assert needs(held) == {"issue-6": ("issue-7",), "issue-7": ()}
    assert skipped_items(held) == [("#8 c", "a pull request")]
    told = " ".join(words for _, words in held.notes)
    assert "issue #6 waits for you/yours#7, which is not in this list: treated as done" in told
    assert "they/theirs#3" in told


# ------------------------------------------------------------------ checklists


@pytest.mark.spec("2.1")
def test_the_items_of_a_checklist_need_each_other_in_order_and_its_headings_are_no_tasks() -> None:
    held = import_list(CHECKLIST)

    assert (held.form, held.goal, held.unreadable) == ("checklist", "Release 2", [])
    assert needs(held) == {
        "check-the-password": (),
        "lock-out": ("check-the-password",),
        "item-11": ("lock-out",),
        "check-the-password-2": ("item-11",),
    }
    assert skipped_items(held) == [("Form", "done"), ("Logout", "done")]
    assert "It must have 12 letters." in goal(held, "check-the-password")
    assert "Part of: Backend — Login" in goal(held, "lock-out")


@pytest.mark.spec("2.1")
def test_a_checklist_without_an_order_has_no_needs() -> None:
    assert set(needs(import_list(CHECKLIST, parallel=True)).values()) == {()}


@pytest.mark.spec("2.1", "0.6")
def test_a_playbook_is_not_mistaken_for_a_checklist() -> None:
    text = "# P\n\n## goal\n\n## phases\n\n### p1: a\n\n- [ ] **p1.1**: do\n"

    assert "needs no import" in import_list(text).unreadable[0][1]


# ------------------------------------------------------------------ all of them

LISTS = {
    "spec-kit": SPEC_KIT,
    "task-master": json.dumps(TASK_MASTER, indent=2),
    "github": json.dumps(ISSUES),
    "checklist": CHECKLIST,
}


@pytest.mark.spec("2.1")
@pytest.mark.parametrize("form", LISTS)
def test_the_imported_plan_of_every_format_is_valid(form: str) -> None:
    held = import_list(LISTS[form])

    plan = parse_plan(plan_text(held), "plan.yaml", OWN)

    assert detect_form(LISTS[form]) == form
    assert {spec.name for spec in plan.specs} == {item.id for item in held.items}
    assert {spec.name: spec.goal for spec in plan.specs} == {i.id: i.goal for i in held.items}


@pytest.mark.spec("0.6")
@pytest.mark.parametrize(
    "text", ["", "hello\n", "{}", "[]", '{"goal": "x", "tasks": [{"id": "a", "goal": "b"}]}', "[{"]
)
def test_a_text_that_is_no_list_is_refused(text: str) -> None:
    with pytest.raises(PlanInvalid, match="not a list that can be imported"):
        import_list(text)


@pytest.mark.spec("0.6")
def test_imports_are_bounded_and_fast_on_hostile_text() -> None:
    long = import_list(f"- [ ] {'x' * 15_000}\n", text_bytes_max=1_000)
    deep = import_list("".join(f"{'  ' * n}- [ ] b{n}\n" for n in range(300)))
    words = "depends on " + "and" * 100_000
    issue = import_list(
        json.dumps([{"number": 1, "title": "t", "body": words}]), text_bytes_max=1 << 20
    )

    assert "the limit is 1000" in long.unreadable[0][1]
    assert "levels deep" in deep.unreadable[0][1]
    assert len(issue.items) == 1
    with pytest.raises(PlanInvalid, match="over the limit"):
        import_list("- [ ] a\n" * (1 << 21))
    with pytest.raises(PlanInvalid):
        import_list("[" * 100_000)
    assert import_list("[" * 100_000, "task-master").unreadable


WORDS = st.text(alphabet="aZ9 .,:#*_[]()-日`<", max_size=30)


@pytest.mark.spec("2.1", "0.6")
@settings(max_examples=example_count(60), deadline=None)
@example(boxes=[(0, "x", "9"), (1, " ", "")], form="spec-kit")
@given(
    boxes=st.lists(st.tuples(st.integers(0, 4), st.sampled_from(" x?"), WORDS), max_size=12),
    form=st.sampled_from(["spec-kit", "checklist"]),
)
def test_every_checkbox_becomes_a_task_or_is_listed(
    boxes: list[tuple[int, str, str]], form: str
) -> None:
    """As a task, as the frame of one, as left out, or as not understood."""
    text = "".join(f"{'  ' * n}- [{mark}] T{i:03} {w}\n" for i, (n, mark, w) in enumerate(boxes))

    held = import_list(f"- [ ] T900 first\n{text}", form)

    told = plan_text(held)
    assert [n for n in range(len(boxes)) if f"t{n:03}" not in told.lower()] == []
    parse_plan(told, "plan.yaml", OWN)


# ------------------------------------------------------------------ the command


@pytest.mark.spec("2.1", "12.1")
def test_the_import_command_writes_a_plan_once_and_only_without_unreadable_items(
    tmp_path: Path,
) -> None:
    repo = a_repository(tmp_path)
    (repo / "yaoki.toml").write_text(
        'agent = "mine"\n[agents.mine]\ncommand = ["true"]\n[checks.t]\nrun = ["pytest"]\n'
    )
    good, bad, plan = tmp_path / "todo.md", tmp_path / "bad.md", tmp_path / "plan.yaml"
    good.write_text(CHECKLIST)
    bad.write_text("- [ ] one\n- [?] two\n")
    run = CliRunner()
    words = ["--repo", str(repo), "plan", "import"]

    refused = run.invoke(group, [*words, str(bad), "-o", str(plan)])
    assert isinstance(refused.exception, PlanInvalid)
    assert refused.exception.defects == (f"{bad}:2: [?] is neither open nor done: two",)
    assert not plan.exists()

    written = run.invoke(group, [*words, str(good), "-o", str(plan)])
    text = plan.read_text()
    again = run.invoke(group, [*words, str(good), "-o", str(plan)])
    skipped = run.invoke(group, [*words, str(bad), "--skip-unreadable", "--json"])
    printed = run.invoke(group, [*words, "-", "--goal", "Mine"], input=CHECKLIST)
    valid = run.invoke(group, ["--repo", str(repo), "validate", str(plan)])

    assert "left out, done: Logout" in written.output
    assert f"next: yaoki validate {plan}" in written.output
    assert again.exception is not None
    assert plan.read_text() == text
    document = json.loads(skipped.output)
    assert (document["tasks"], document["unread"][0]["line"]) == (["one"], 2)
    assert yaml.safe_load(printed.stdout)["goal"] == "Mine"
    assert "4 tasks, no problems found" in valid.output
