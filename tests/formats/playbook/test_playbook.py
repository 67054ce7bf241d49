"""Playbooks: their tasks, and all defects with their positions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies

from tests.quick_selection import example_count
from yaoki.core.machine.codec import from_data, to_data
from yaoki.core.model import FailureKind, TaskKind, TaskSpec
from yaoki.core.settings.settings import Settings
from yaoki.errors import PlanInvalid
from yaoki.formats.plan import Plan
from yaoki.formats.plan_file import load_plan, parse_plan

PLAYBOOK = Path(__file__).parents[2] / "fixtures" / "playbook" / "playbook-auto-retry.md"
ORIGINAL = PLAYBOOK.read_text()
GIVEN = Settings(agents={"claudecode": {"command": ["my-agent"]}, "other": {"command": ["o"]}})
JUDGED = Settings(agents={**GIVEN.agents, "judge": {"command": ["my-judge"]}})

HEAD = """\
# playbook-small.md

## meta

```yaml
project: small
```

## goal

```yaml
summary: Make it small
done_when:
  - it is small
```

## phases
"""
BOX = """
- [ ] **{id}**: {id} holds
  - executor: claudecode
  - validations:
    - technical: "{id} works"
    - consistency: "{id} fits"
    - completeness: "{id} is whole"
"""


def box(name: str, *more: str, done: bool = False) -> str:
    made = BOX.format(id=name).replace("[ ]", "[x]") if done else BOX.format(id=name)
    return made + "".join(f"  - {line}\n" for line in more)


def phase(name: str, *boxes: str, **keys: object) -> str:
    lines = "".join(f"\n**{key}**: {value}\n" for key, value in keys.items())
    return f"\n### {name}: title of {name}\n{lines}\n#### subtasks\n{''.join(boxes)}"


def read(text: str, given: Settings = GIVEN) -> Plan:
    return parse_plan(text, "playbook-small.md", given)


def small(*phases: str, final: str = "", given: Settings = GIVEN) -> dict[str, TaskSpec]:
    """The tasks of a playbook by name."""
    tail = f"\n## final_tasks\n\n{final}" if final else ""
    return {spec.name: spec for spec in read(HEAD + "".join(phases) + tail, given).specs}


def defects(text: str, given: Settings = GIVEN) -> list[str]:
    with pytest.raises(PlanInvalid) as refused:
        parse_plan(text, "p.md", given)
    return list(refused.value.defects)


def changed(old: str, new: str) -> str:
    """The seed's playbook with one mistake in it."""
    assert old in ORIGINAL
    return ORIGINAL.replace(old, new, 1)


# ------------------------------------------------------------------ what it becomes


@pytest.mark.spec("2.5")
def test_the_original_playbook_becomes_tasks_in_the_order_of_its_phases() -> None:
    plan = load_plan(PLAYBOOK, GIVEN)
    specs = {spec.name: spec for spec in plan.specs}

    assert plan.goal.startswith("critic FAIL 時に自動リトライする機構を実装する")
    assert plan.base == ""
    work = ["p1.1", "p1.2", "p2.1", "p2.2", "p3.1", "p3.2", "p4.1", "p4.2"]
    proofs = [*(f"p_final.{n}" for n in range(1, 6))]
    proofs += [f"p_final.done_when.{n}" for n in range(1, 7)]
    assert list(specs) == [*work, *proofs, "ft1", "ft2", "ft3"]
    assert [specs[name].needs for name in work] == [(), *((name,) for name in work[:-1])]
    assert {specs[name].needs for name in proofs} == {("p4.2",)}
    assert specs["ft1"].needs == tuple(proofs)
    assert specs["ft3"].needs == ("ft2",)
    assert [specs[name].phase for name in ("p1.2", "p4.1", "p_final.1")] == ["p1", "p4", "p_final"]


@pytest.mark.spec("2.5", "6.7")
def test_each_validation_is_a_separate_check_with_its_sentence() -> None:
    first = load_plan(PLAYBOOK, GIVEN).specs[0]

    assert [(check.name, check.type) for check in first.checks] == [
        ("p1.1.technical", "judge"),
        ("p1.1.consistency", "judge"),
        ("p1.1.completeness", "judge"),
    ]
    assert first.checks[0].ask == "technical: test -d .claude/session-state で確認"
    assert all(check.required for check in first.checks)


@pytest.mark.spec("2.5")
def test_the_prompt_contains_the_sentence_the_phase_the_goal_and_the_context() -> None:
    first = load_plan(PLAYBOOK, GIVEN).specs[0]

    assert first.goal.splitlines()[0] == ".claude/session-state/ ディレクトリ構造が定義されている"
    for words in (
        "p1 (FAIL 情報保存機構): critic FAIL 時にエラー情報を保存する機構を実装",
        "critic FAIL 時に自動リトライする機構を実装する",
        "  - iteration_count 保存先: .claude/session-state/iteration-count",
    ):
        assert words in first.goal


@pytest.mark.spec("2.5")
def test_the_prompt_is_in_the_language_of_the_settings() -> None:
    japanese = Settings(agents=GIVEN.agents, language="ja")

    assert "背景:" in load_plan(PLAYBOOK, japanese).specs[0].goal
    assert "Context:" in load_plan(PLAYBOOK, GIVEN).specs[0].goal


@pytest.mark.spec("2.5", "2.6")
def test_the_plan_of_a_playbook_survives_the_journal() -> None:
    for spec in load_plan(PLAYBOOK, JUDGED).specs:
        assert from_data(TaskSpec, json.loads(json.dumps(to_data(spec)))) == spec


@pytest.mark.spec("2.5", "0.4")
def test_max_iterations_counts_every_attempt_of_each_subtask_of_its_phase() -> None:
    usual = phase("p1", box("p1.1"))
    bounded = phase("p2", box("p2.1"), box("p2.2"), max_iterations=5)
    specs = small(usual, bounded)

    retries = [specs[name].policy.content_retries_max for name in ("p1.1", "p2.1", "p2.2")]
    assert retries == [GIVEN.retry.content_retries_max, 4, 4]
    assert specs["p2.1"].policy.rules[FailureKind.RATE_LIMIT].retries_max == 5


@pytest.mark.spec("2.5", "9.1")
def test_phases_wait_only_for_their_dependencies() -> None:
    specs = small(
        phase("late", box("late.1"), depends_on="[a, b]"),
        phase("a", box("a.1"), box("a.2")),
        phase("b", box("b.1")),
        phase("alone", box("alone.1"), depends_on="[]"),
    )

    assert specs["late.1"].needs == ("a.2", "b.1")
    assert specs["a.1"].needs == specs["b.1"].needs == specs["alone.1"].needs == ()
    assert specs["a.2"].needs == ("a.1",)
    assert set(specs["p_final.done_when.1"].needs) == {"late.1", "alone.1"}


@pytest.mark.spec("2.5")
def test_a_subtask_may_wait_for_a_subtask_or_a_phase_by_name() -> None:
    specs = small(
        phase("a", box("a.1"), box("a.2")),
        phase("b", box("b.1", "depends_on: [a.1]  # the first is enough")),
        phase("c", box("c.1", "depends_on: [b]")),
    )

    assert specs["b.1"].needs == ("a.1",)
    assert specs["c.1"].needs == ("b.1",)


@pytest.mark.spec("2.5")
def test_a_ticked_checkbox_is_not_repeated_and_blocks_no_task() -> None:
    specs = small(
        phase("a", box("a.1", "whatever: it was", done=True), box("a.2", done=True)),
        phase("b", box("b.1", done=True), box("b.2"), depends_on="[a]"),
        phase("c", box("c.1"), depends_on="[a]"),
        final="- [x] **ft1**: gone\n  - command: `true`\n- [ ] **ft2**: now\n  - command: `true`\n",
    )

    assert list(specs) == ["b.2", "c.1", "p_final.done_when.1", "ft2"]
    assert specs["b.2"].needs == specs["c.1"].needs == ()
    assert "- a.2: a.2 holds" in specs["b.2"].goal
    assert "- ft1: gone" in specs["b.2"].goal


@pytest.mark.spec("2.5")
def test_a_completely_ticked_phase_passes_its_needs_to_its_dependents() -> None:
    specs = small(
        phase("a", box("a.1")),
        phase("b", box("b.1", done=True), depends_on="[a]"),
        phase("c", box("c.1"), depends_on="[b]"),
    )

    assert specs["c.1"].needs == ("a.1",)


@pytest.mark.spec("2.5", "0.1")
def test_p_final_is_verified_even_if_its_checkboxes_are_ticked() -> None:
    specs = small(
        phase("p_final", box("p_final.1", done=True), max_iterations=3), phase("a", box("a.1"))
    )
    proof = specs["p_final.1"]

    assert (proof.kind, proof.needs, proof.agents) == (TaskKind.CHECK, ("a.1",), ())
    assert len(proof.checks) == 3
    # Asking a judge until it accepts would verify nothing.
    assert proof.policy.content_retries_max == 0


@pytest.mark.spec("2.5", "9.3")
def test_every_done_when_is_checked_by_p_final_and_at_the_end_of_the_run() -> None:
    plan = load_plan(PLAYBOOK, GIVEN)
    third = next(spec for spec in plan.specs if spec.name == "p_final.done_when.3")
    sentence = "iteration_count が .claude/session-state/iteration-count に記録される"

    assert plan.done_when == tuple(f"done_when.{n}" for n in range(1, 7))
    assert (third.kind, third.goal.splitlines()[0]) == (TaskKind.CHECK, sentence)
    assert third.checks == (plan.catalogue.checks["done_when.3"],)
    assert third.checks[0].ask == f"done_when: {sentence}"


# ------------------------------------------------------------------ executor and judge


@pytest.mark.spec("2.5", "6.7")
def test_the_executor_judges_unless_an_agent_is_named_judge() -> None:
    first, judged = (load_plan(PLAYBOOK, one).specs[0] for one in (GIVEN, JUDGED))

    assert [agent.name for agent in first.agents + judged.agents] == ["claudecode"] * 2
    assert {check.agent.name for check in first.checks if check.agent} == {"claudecode"}
    assert {check.agent.name for check in judged.checks if check.agent} == {"judge"}


@pytest.mark.spec("2.5")
def test_roles_assign_other_agents_to_executor_and_judge() -> None:
    text = changed("reviewed: true", "roles: {claudecode: other, judge: claudecode}")
    first = read(text).specs[0]

    assert [agent.name for agent in first.agents] == ["other"]
    assert {check.agent.name for check in first.checks if check.agent} == {"claudecode"}


@pytest.mark.spec("2.5", "0.6")
def test_an_executor_without_an_agent_is_refused_once_with_the_settings_to_add() -> None:
    (line,) = defects(ORIGINAL, Settings(agents={"claude-code": {"command": ["x"]}}))

    assert line == (
        "p.md:65:3: phases.0.subtasks.0.executor: yaoki.toml has no agent 'claudecode'; add to it "
        "[agents.claudecode] and below that preset = \"claude\"; did you mean 'claude-code'?"
    )


@pytest.mark.spec("2.5", "0.6")
def test_an_unknown_executor_is_refused_with_the_settings_to_add() -> None:
    (line,) = defects(changed("executor: claudecode", "executor: our robot"))

    assert line.endswith('[agents."our robot"] and below that command = ["my-agent"]')


# ------------------------------------------------------------------ commands


@pytest.mark.spec("2.5", "6.1")
@pytest.mark.parametrize(
    ("written", "shell"),
    [
        ('"`bash -n a.sh`"', "bash -n a.sh"),
        ("`bash -n a.sh`", "bash -n a.sh"),
        ("it parses\n      - command: `bash -n a.sh`", "bash -n a.sh"),
        ("\n      - command: bash -n a.sh", "bash -n a.sh"),
        ('"`a.sh` is there"', ""),
        ('"bash -n a.sh"', ""),
    ],
)
def test_a_validation_is_a_command_only_if_written_as_one(written: str, shell: str) -> None:
    text = changed('"test -d .claude/session-state で確認"', written)
    check = read(text).specs[0].checks[0]

    assert (check.name, check.shell, check.type == "command") == (
        "p1.1.technical",
        shell,
        bool(shell),
    )


@pytest.mark.spec("2.5", "6.1")
def test_a_test_command_that_prints_pass_or_fail_is_judged_by_its_output() -> None:
    line = "test_command: `test -d a && echo PASS || echo FAIL`"
    silent = "test_command: `grep -q PASS log`"
    tasks = small(phase("a", box("a.1", line), box("a.2", silent)))

    first, second = tasks["a.1"].checks[0], tasks["a.2"].checks[0]
    assert (first.name, first.shell) == ("a.1.test_command", "test -d a && echo PASS || echo FAIL")
    assert first.success.startswith("matches:")
    assert (second.shell, second.success) == ("grep -q PASS log", "exitCode:0")


@pytest.mark.spec("2.5", "6.1")
def test_a_done_when_may_be_a_command() -> None:
    text = HEAD.replace("  - it is small", '  - "`make small`"\n  - command: make smaller')
    plan = read(text + phase("a", box("a.1")))

    shells = [plan.catalogue.checks[name].shell for name in plan.done_when]
    assert shells == ["make small", "make smaller"]


@pytest.mark.spec("2.5")
def test_a_final_task_runs_its_command_without_placeholder_substitution() -> None:
    task = small(
        phase("a", box("a.1")), final="- [ ] **ft1**: count\n  - command: `echo {task} {prompt}`\n"
    )["ft1"]
    (agent,) = task.agents

    assert (task.kind, task.checks, task.quality) == (TaskKind.REPORT, (), ())
    assert agent.env == {"YAOKI_COMMAND": "echo {task} {prompt}"}
    assert not any("{" in word for word in agent.command)
    assert task.policy.content_retries_max == 0


@pytest.mark.spec("2.5")
def test_a_final_task_without_a_command_is_an_ordinary_task() -> None:
    task = small(phase("a", box("a.1")), final=box("ft1"))["ft1"]

    assert (task.kind, [agent.name for agent in task.agents]) == (TaskKind.CHANGE, ["claudecode"])
    assert len(task.checks) == 3


@pytest.mark.spec("2.5", "0.6")
def test_the_prompt_contains_the_prose_of_the_phase_without_quotes_and_comments() -> None:
    notes = "\n> for people\n\n<!-- for\nnobody -->\n\nMind the gap.\n\n```\n- [ ] no box\n```\n"
    boxes = box("a.1", "note: the first") + "  And more of it.\n"
    specs = small(phase("a", boxes).replace("\n#### subtasks", f"{notes}\n#### subtasks"))

    assert list(specs) == ["a.1", "p_final.done_when.1"]
    for words in ("Mind the gap.", "- [ ] no box", "the first"):
        assert words in specs["a.1"].goal
    assert "people" not in specs["a.1"].goal
    assert "nobody" not in specs["a.1"].goal


@pytest.mark.spec("2.5")
def test_line_ends_of_windows_make_no_difference() -> None:
    assert read(ORIGINAL.replace("\n", "\r\n")).specs == read(ORIGINAL).specs


# ------------------------------------------------------------------ what is refused

BROKEN = {
    "a section nobody knows": (
        ("## goal", "## gaol"),
        "41:1: unknown section 'gaol'; did you mean 'goal'?",
    ),
    "final tasks under a wrong name": (
        ("## final_tasks", "## final_task"),
        "212:1: unknown section 'final_task'; did you mean 'final_tasks'?",
    ),
    "boxes in a section for people": (
        ("## final_tasks", "## later"),
        "214:1: box 'ft1' is outside of phases and final_tasks",
    ),
    "an unknown key of meta": (
        ("project:", "projekt:"),
        "10:1: meta.projekt: unknown key; did you mean 'project'?",
    ),
    "a value of the wrong shape": (
        ("reviewed: true", "reviewed: soon"),
        "14:11: meta.reviewed: must be true or false, not 'soon'",
    ),
    "no name of a branch": (
        ("feat/auto-retry", "a..b"),
        "11:9: meta.branch: 'a..b' is not the name of a branch",
    ),
    "broken YAML": (
        ("auto-retry\nbranch", "[a\nbranch"),
        "11:7: meta: cannot be read: did not find expected ',' or ']'",
    ),
    "a tag": (
        ("project: auto-retry", "project: !!python/name:os.system x"),
        "10:10: meta.project: tag tag:yaml.org,2002:python/name:os.system is not supported; "
        "a plan has plain values",
    ),
    "a goal without an end": (
        ("done_when:", "done_wen:"),
        "45:1: goal.done_wen: unknown key; did you mean 'done_when'?",
    ),
    "a sentence that YAML takes for a mapping": (
        ("  - iteration_count が", "  - count: が"),
        "48:5: goal.done_when.2: contains a colon and is read as a mapping; "
        "put the sentence in quotes",
    ),
    "an unknown key of a phase": (
        ("**max_iterations**", "**max_iteration**"),
        "79:1: phases.0.max_iteration: unknown key; did you mean 'max_iterations'?",
    ),
    "tries that are no number": (
        ("**max_iterations**: 5", "**max_iterations**: many"),
        "79:1: phases.0.max_iterations: must be a whole number, not 'many'",
    ),
    "no try at all": (
        ("**max_iterations**: 5", "**max_iterations**: 0"),
        "79:1: phases.0.max_iterations: must be at least 1, not 0",
    ),
    "tries that can never be reached": (
        ("**max_iterations**: 5", "**max_iterations**: 99"),
        "79:1: phases.0.max_iterations: 98 retries can never be reached: max_total_attempts is 12",
    ),
    "a phase that is not there": (
        ("[p1]", "[p9]"),
        "87:1: phases.1.depends_on.0: unknown phase 'p9'",
    ),
    "a circle": (
        ("[p1]", "[p4]"),
        "87:1: phases.1.depends_on: phases need each other in a circle: "
        "p2 needs p4 needs p3 needs p2",
    ),
    "work after p_final": (
        ("[p3]", "[p_final]"),
        "141:1: phases.3.depends_on.0: p_final runs after everything else",
    ),
    "a phase without an id": (
        ("### p4: ドキュメント更新", "### ドキュメント更新"),
        "137:1: phases.3.id: 'ドキュメント更新' is not the id of a phase; write ### p1: title",
    ),
    "an id that stands twice": (
        ("**p1.2**", "**p1.1**"),
        "71:1: phases.0.subtasks.1.id: id 'p1.1' is already used in line 64",
    ),
    "an id that is none": (
        ("**p1.2**", "**一の二**"),
        "71:1: phases.0.subtasks.1.id: '一の二' is not an id; an id has 1 to 48 ASCII letters, "
        "digits, '_', '.' or '-', and begins with a letter",
    ),
    "a half-ticked box": (
        ("- [ ] **p1.2**", "- [-] **p1.2**"),
        "71:1: phases.0: a box is [ ] or [x], not [-]",
    ),
    "a box without an id": (
        ("**p1.2**: ", ""),
        "71:1: phases.0: this box has no id; write - [ ] **p1.1**: what must hold",
    ),
    "a key that stands twice": (
        ("  - executor: claudecode\n", "  - executor: claudecode\n  - executor: other\n"),
        "66:3: phases.0.subtasks.0.executor: this key appears a second time",
    ),
    "an unknown key of a subtask": (
        ("  - executor:", "  - executer:"),
        "65:3: phases.0.subtasks.0.executer: unknown key; did you mean 'executor'?",
    ),
    "nobody to do it": (
        ("  - executor: claudecode\n", ""),
        "64:1: phases.0.subtasks.0: executor is missing: name an agent",
    ),
    "two validations of three": (
        ('    - technical: "test -d .claude/session-state で確認"\n', ""),
        "66:3: phases.0.subtasks.0.validations: technical is missing",
    ),
    "a validation that says nothing": (
        ('"test -d .claude/session-state で確認"', '""'),
        "67:5: phases.0.subtasks.0.validations.technical: is empty",
    ),
    "a fourth validation": (
        ("    - technical:", "    - beauty: x\n    - technical:"),
        "67:5: phases.0.subtasks.0.validations.beauty: unknown key",
    ),
    "a final task that does nothing": (
        ("  - command: `bash .claude/hooks/generate-repository-map.sh`\n", ""),
        "214:1: final_tasks.0: has no command; give it one, or executor and validations",
    ),
    "a command and an executor": (
        ("  - status: pending\n", "  - executor: claudecode\n"),
        "216:3: final_tasks.0.executor: executor has no effect together with command",
    ),
    "code that does not end": (
        ("```yaml\nsummary", "summary"),
        "51:1: the code that begins here with ``` does not end",
    ),
    "a control character": (
        ("auto-retry", "auto\x1bretry"),
        "1:16: character U+001B is not allowed",
    ),
}


@pytest.mark.spec("2.5", "2.2", "0.6")
@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_playbook_is_refused_with_position_and_reason(what: str) -> None:
    (old, new), line = BROKEN[what]

    assert defects(changed(old, new)) == [f"p.md:{line}"]


@pytest.mark.spec("2.5", "2.2")
def test_all_defects_are_reported_at_once_in_the_order_of_the_file() -> None:
    text = changed("project:", "projekt:").replace("[p1]", "[p9]", 1)
    text = text.replace("  - executor: claudecode\n", "", 1)

    assert [line.split(":")[1] for line in defects(text)] == ["10", "64", "86"]


@pytest.mark.spec("2.5")
@pytest.mark.parametrize("text", ["", "# Read me\n\nHello.\n"])
def test_markdown_that_is_no_playbook_is_refused(text: str) -> None:
    assert defects(text) == [
        "p.md:1:1: there is no ## goal with summary and done_when",
        "p.md:1:1: there are no phases: ## phases, ### p1: title",
    ]


# ------------------------------------------------------------------ hostile files


@pytest.mark.spec("2.5", "14.4")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x" * (1 << 20) + "x", "bytes are over the limit of 1048576 for a playbook"),
        ("\n" * 20_001, "20002 lines are over the limit of 20000"),
        ("x" * 20_001, "a line of 20001 characters is over the limit of 20000"),
        (HEAD + phase("a", box("a.1")) * 201, "phases are over the limit of 200"),
        (
            HEAD + phase("a", *[f"- [x] **a.{n}**: x\n" for n in range(2_001)]),
            "more boxes than the limit of 2000",
        ),
        (ORIGINAL.replace("背景:", "背景:" + "語" * 6_000), "over the limit of 16384"),
        (ORIGINAL.replace("FAIL 理由、タ", "語" * 2_000), "over the limit of 4000"),
        (ORIGINAL.replace("issue: null", "issue: " + "[" * 100), "nested deeper than 64 levels"),
    ],
    ids=["bytes", "lines", "line", "phases", "boxes", "context", "sentence", "depth"],
)
def test_a_huge_playbook_is_refused_by_a_bound(text: str, reason: str) -> None:
    assert any(reason in line for line in defects(text))


@pytest.mark.spec("2.5", "14.4")
def test_very_long_lists_are_refused() -> None:
    deep = "".join(f"{'  ' * n}- a:\n" for n in range(1, 600))

    assert any(
        "deeper than 4 levels" in line for line in defects(HEAD + phase("a", box("a.1") + deep))
    )


LINES = strategies.lists(
    strategies.one_of(
        strategies.sampled_from(ORIGINAL.splitlines()),
        strategies.text("#*-[]x `:：>|\t<!", max_size=12),
    ),
    max_size=60,
)


def outcome(text: str) -> tuple[str, ...]:
    """The checks of a valid playbook, or its defects; a checklist has one sentence instead."""
    try:
        return parse_plan(text, "p.md", GIVEN).done_when
    except PlanInvalid as refused:
        return tuple(refused.defects) or (refused.sentence,)


@pytest.mark.spec("2.5", "14.4")
@settings(max_examples=example_count(150), deadline=None)
@given(LINES)
def test_any_playbook_is_read_or_refused(lines: list[str]) -> None:
    assert outcome("\n".join(lines))
