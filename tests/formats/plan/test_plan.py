"""Plan files: their tasks, and all defects at once with their positions."""

from __future__ import annotations

import json
import re
import textwrap
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies

from tests.quick_selection import example_count
from yaoki.core.machine.codec import from_data, to_data
from yaoki.core.model import CheckSpec, FailureKind, OnFailure, TaskKind
from yaoki.core.settings.settings import LimitSettings, Settings
from yaoki.errors import PlanInvalid, SettingsInvalid
from yaoki.formats.plan import Plan, check_settings, plan_schema
from yaoki.formats.plan_file import load_plan, parse_plan

PLANS = Path(__file__).parents[2] / "fixtures" / "plans"
REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "plan.md"

HEAD = """\
goal: Make it safe
agents: {mine: {command: my-agent}}
agent: mine
checks: {tests: {run: [pytest]}}
"""
BODY = HEAD.partition("\n")[2]
BARE = HEAD.replace("agent: mine\n", "")
TASK = "tasks: [{id: one, goal: Do it.}]\n"


def plan(text: str, given: Settings | None = None) -> Plan:
    return parse_plan(textwrap.dedent(text), "plan.yaml", given or Settings())


def defects(text: str, given: Settings | None = None) -> list[str]:
    with pytest.raises(PlanInvalid) as refused:
        plan(text, given)
    return list(refused.value.defects)


def tasks(*lines: str) -> str:
    return HEAD + "tasks:\n" + "".join(f"  - {line}\n" for line in lines)


# ------------------------------------------------------------------ what is read


@pytest.mark.spec("2.1")
def test_a_written_plan_becomes_task_specs() -> None:
    made = load_plan(PLANS / "signup.yaml", Settings())

    password, signup = made.specs
    assert (made.goal, made.base, made.done_when) == ("Make sign-up safe", "main", ("tests",))
    assert password.scope == ("src/auth/**", "tests/auth/**")
    assert signup.needs == ("password",)
    assert signup.timeout == timedelta(minutes=20)
    assert [agent.command for agent in signup.agents] == [
        ("small-agent", "run"),
        ("my-agent", "--model", "large"),
    ]
    assert [(check.name, check.required) for check in signup.checks] == [
        ("tests", True),
        ("types", False),
    ]
    assert password.checks[0].argv[-1] == "{report}"


@pytest.mark.spec("2.1")
def test_a_plan_may_be_json() -> None:
    as_json = load_plan(PLANS / "signup.json", Settings())
    as_yaml = load_plan(PLANS / "signup.yaml", Settings())

    assert as_json.specs == as_yaml.specs
    assert as_json.catalogue == as_yaml.catalogue


@pytest.mark.spec("2.1")
def test_json_escapes_of_letters_beyond_the_first_plane_are_read() -> None:
    text = json.dumps({"goal": "smile \U0001f600 \\ud83d", "tasks": []})

    found = defects(text)

    assert found == ["plan.yaml:1:1: there are no tasks"]


@pytest.mark.spec("2.6")
def test_the_plan_keeps_its_text_as_submitted() -> None:
    made = load_plan(PLANS / "signup.yaml", Settings())

    assert made.source == (PLANS / "signup.yaml").read_text(encoding="utf-8")


@pytest.mark.spec("2.1")
def test_specs_share_the_objects_of_the_catalogue() -> None:
    made = load_plan(PLANS / "signup.yaml", Settings())

    signup = made.specs[1]
    assert signup.checks[0] is made.catalogue.checks["tests"]
    assert signup.agents[0] is made.catalogue.agents["small"]
    assert signup.policy is made.catalogue.policies["task:signup"]
    assert made.specs[0].policy is made.catalogue.policies["default"]


@pytest.mark.spec("2.1")
def test_phases_and_final_tasks_order_the_tasks() -> None:
    """The optional task blocks no other; subtasks of a group are reached through its ends."""
    made = load_plan(PLANS / "phases.yaml", Settings())

    assert {spec.name: spec.needs for spec in made.specs} == {
        "core": (),
        "edges": ("core",),
        "polish": (),
        "suite": ("edges",),
        "notes": ("suite",),
        "summary": ("edges", "notes"),
    }
    assert [spec.phase for spec in made.specs] == ["build"] * 3 + ["prove"] * 2 + [""]


@pytest.mark.spec("1.2")
def test_the_kind_decides_which_tasks_have_agents() -> None:
    made = plan(tasks("{id: a, goal: x}", "{id: b, kind: check}", "{id: c, goal: x, kind: report}"))

    assert [spec.kind for spec in made.specs] == [
        TaskKind.CHANGE,
        TaskKind.CHECK,
        TaskKind.REPORT,
    ]
    assert [len(spec.agents) for spec in made.specs] == [1, 0, 1]


def test_yaml_1_1_booleans_and_times_are_text() -> None:
    made = plan(
        HEAD.replace("command: my-agent", "command: x, env: {A: no, B: on, C: 12:30}") + TASK
    )

    assert made.catalogue.agents["mine"].env == {"A": "no", "B": "on", "C": "12:30"}


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("90s", 90), ("20m", 1200), ("1h30m", 5400), ("1d", 86400), ("1.5s", 1.5), ("45", 45)],
)
def test_a_duration_may_be_written_with_its_unit(written: str, seconds: float) -> None:
    made = plan(tasks(f"{{id: one, goal: x, timeout: {written}}}"))

    assert made.specs[0].timeout == timedelta(seconds=seconds)


@pytest.mark.spec("6.8")
def test_on_failure_has_two_spellings() -> None:
    made = plan(
        """\
        goal: x
        checks:
          a: {run: [x], on_failure: abort}
          b: {run: [x], onFailure: skip}
          c: {file: {path: a.txt, contains: done}}
          d: {git: clean}
        tasks: [{id: one, kind: check}]
        """
    )

    a, b, c, d = made.catalogue.checks.values()
    assert (a.on_failure, b.on_failure) == (OnFailure.ABORT, OnFailure.SKIP)
    assert (c.type, c.path, dict(c.file)) == ("file", "a.txt", {"contains": "done"})
    assert (d.type, d.git) == ("git", "clean")


@pytest.mark.spec("16.7")
def test_a_check_names_further_files_that_define_it() -> None:
    made = plan(
        """\
        goal: x
        checks: {a: {run: [x], definition: ["cases/**", rules.txt]}}
        tasks: [{id: one, kind: check}]
        """
    )

    (check,) = made.catalogue.checks.values()
    assert check.definition == ("cases/**", "rules.txt")
    assert from_data(CheckSpec, to_data(check)) == check


def test_setup_of_the_plan_comes_before_setup_of_the_task() -> None:
    made = plan(HEAD + "setup: [make deps]\ntasks: [{id: a, goal: x, setup: [[echo, hi]]}]\n")

    assert made.specs[0].setup == (("make", "deps"), ("echo", "hi"))


# ------------------------------------------------------------------ settings below the plan


def test_a_plan_may_use_agents_and_checks_of_the_settings() -> None:
    below = Settings(
        agents={"mine": {"command": "agent"}, "other": {"command": "unused"}},
        agent=("mine",),
        checks={"tests": {"run": ["pytest"]}},
    )

    made = plan("goal: x\n" + TASK, below)

    assert made.specs[0].agents[0].command == ("agent",)
    assert [check.name for check in made.specs[0].checks] == ["tests"]
    assert set(made.catalogue.agents) == {"mine"}


@pytest.mark.spec("15")
def test_an_invalid_check_of_the_settings_is_reported_with_its_file() -> None:
    below = Settings(checks={"tests": {"shel": "x"}}, source="yaoki.toml")

    assert "yaoki.toml: checks.tests.shel: unknown key; did you mean 'shell'?" in defects(
        HEAD + TASK, below
    )
    with pytest.raises(SettingsInvalid) as refused:
        check_settings(below)
    assert len(refused.value.defects) == 1


# ------------------------------------------------------------------ retry overrides


@pytest.mark.spec("5.6")
def test_max_retries_zero_disables_all_retries_except_after_interruptions() -> None:
    policy = plan(tasks("{id: one, goal: x, retry: {max_retries: 0}}")).specs[0].policy

    assert {kind for kind, rule in policy.rules.items() if rule.retries_max} == {FailureKind.LOST}
    assert policy.content_retries_max == 0


@pytest.mark.spec("5.6")
def test_max_retries_applies_to_content_failures_only() -> None:
    policy = plan(tasks("{id: one, goal: x, retry: {max_retries: 1}}")).specs[0].policy

    most = {kind: rule.retries_max for kind, rule in policy.rules.items()}
    assert {
        most[kind]
        for kind in (FailureKind.INCOMPLETE, FailureKind.QUALITY_FAILURE, FailureKind.TIMEOUT)
    } == {1}
    assert (
        most[FailureKind.TRANSIENT_ERROR],
        most[FailureKind.RATE_LIMIT],
        most[FailureKind.LOST],
    ) == (3, 5, 6)
    assert policy.content_retries_max == 1


@pytest.mark.spec("5.6")
def test_a_failure_kind_may_have_its_own_retries_and_waits() -> None:
    cause = "cause_specific: {RATE_LIMIT: {max_retries: 7, backoff: {initial_delay_ms: 10}}}"
    policy = (
        plan(tasks(f"{{id: one, goal: x, retry: {{max_retries: 2, {cause}}}}}")).specs[0].policy
    )

    rule = policy.rules[FailureKind.RATE_LIMIT]
    assert rule.retries_max == 7
    assert rule.backoff.initial == timedelta(milliseconds=10)
    assert (rule.backoff.maximum, rule.backoff.jitter) == (timedelta(seconds=60), 0.2)


@pytest.mark.spec("5.6")
def test_the_retries_of_one_content_kind_are_reachable() -> None:
    cause = "{cause_specific: {QUALITY_FAILURE: {max_retries: 5}}}"
    policy = plan(tasks(f"{{id: one, goal: x, retry: {cause}}}")).specs[0].policy

    assert policy.rules[FailureKind.QUALITY_FAILURE].retries_max == 5
    assert policy.content_retries_max == 5


@pytest.mark.spec("5.6")
@pytest.mark.parametrize(
    ("written", "content"),
    [
        ("max_iterations: 1", 0),
        ("max_iterations: 6", 5),
        ("max_iterations: 3, retry: {max_retries: 9}", 2),
        ("max_iterations: 9, retry: {max_retries: 1}", 1),
    ],
)
def test_max_iterations_bounds_the_content_attempts(written: str, content: int) -> None:
    policy = plan(tasks(f"{{id: one, goal: x, {written}}}")).specs[0].policy

    assert policy.content_retries_max == content
    assert policy.rules[FailureKind.QUALITY_FAILURE].retries_max == content
    assert policy.rules[FailureKind.RATE_LIMIT].retries_max == 5


def test_a_budget_of_attempts_lowers_the_total() -> None:
    policy = plan(tasks("{id: one, goal: x, budget: {attempts: 4}}")).specs[0].policy

    assert policy.total_attempts_max == 4


# ------------------------------------------------------------------ what is refused


@pytest.mark.spec("2.2")
def test_ten_defects_are_ten_messages_with_their_positions() -> None:
    with pytest.raises(PlanInvalid) as refused:
        load_plan(PLANS / "ten-defects.yaml", Settings())

    fault, name = refused.value, PLANS / "ten-defects.yaml"
    assert fault.sentence == f"{name}: 10 problems found"
    assert fault.hint == f"yaoki validate {name}"
    assert fault.exit_code == 2
    assert [line.removeprefix(f"{name}:") for line in fault.defects] == [
        "3:31: agents.mine.promt: unknown key; did you mean 'prompt'?",
        "4:3: agents.spare: nothing uses agent 'spare'",
        "7:35: checks.tests.success: the pattern '[' does not compile: "
        "unterminated character set at position 0",
        "11:5: tasks.0.need: unknown key; did you mean 'needs'?",
        "12:14: tasks.0.timeout: is not a duration; write 90s, 20m, 1h30m, or a number of seconds",
        "15:13: tasks.1.needs.0: tasks need each other in a circle: two needs three needs two",
        "15:20: tasks.1.needs.1: unknown task 'ones'; did you mean 'one'?",
        "19:26: tasks.2.retry.max_retries: must be at least 0, not -1",
        "20:13: tasks.2.scope.0: '../other/**' must not lead out of the repository with '..'",
        "21:13: done_when.0: unknown check 'test'; did you mean 'tests'?",
    ]


@pytest.mark.parametrize(
    ("text", "lacks"),
    [
        ("goal: x\nchecks: {t: {run: [x]}}\n" + TASK, True),
        ("goal: x\ntasks: [{id: a, kind: check}]", True),
        (BARE + "tasks: [{id: a, goal: x, agnet: mine}]", False),
    ],
    ids=["agent", "check", "neither"],
)
def test_a_refused_plan_says_whether_it_lacks_settings(text: str, lacks: bool) -> None:
    with pytest.raises(PlanInvalid) as refused:
        plan(text)

    assert refused.value.lacks_settings is lacks


@pytest.mark.spec("2.1")
def test_a_preset_of_a_later_version_is_refused_by_name() -> None:
    text = (PLANS / "signup.yaml").read_text(encoding="utf-8")

    [found] = defects(text.replace("command: small-agent run", "preset: codexx"))

    words = "plan.yaml:4:19: agents.small.preset: unknown preset 'codexx'; did you mean 'codex'?"
    assert found.startswith(words)


CHECK = "goal: x\nchecks:\n  tests: {run: [x]}\n"
ONE = "tasks: [{id: one, kind: check, checks: [tests, bad]}]\n"
PROVEN = "done_when: [tests]\n"


@pytest.mark.spec("2.2")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        # shapes
        ("[a, b]", "1:1: must be a mapping of keys to values, not a list"),
        ("goal: 3\n" + BODY + TASK, "1:7: goal: must be a string, not 3; put it in quotes"),
        (HEAD + "tasks: {a: b}", "5:8: tasks: must be a list, not a mapping"),
        (HEAD + TASK + "priority: high", "6:11: priority: must be a whole number, not 'high'"),
        (HEAD + TASK + "base: -f", "6:7: base: '-f' is not the name of a branch"),
        (HEAD + TASK + "language: jp", "6:11: language: must be en or ja, not 'jp'"),
        (HEAD + TASK + "base:", "6:6: base: must be a string, not empty"),
        (tasks("just text"), "6:5: tasks.0: must be a mapping of keys to values, not 'just text'"),
        # ids
        (tasks("{goal: x}"), "6:5: tasks.0: id is missing"),
        (tasks("{id: '3', goal: x}"), "6:10: tasks.0.id: id '3' is a number"),
        (tasks("{id: a/b, goal: x}"), "6:10: tasks.0.id: id 'a/b' is not a name"),
        (tasks("{id: a, goal: x}", "{id: a, goal: y}"), "id 'a' is already used in line 6"),
        # goals and kinds
        (tasks("{id: a}"), "6:5: tasks.0: goal is missing"),
        (tasks("{id: a, goal: x, prompt: y}"), "tasks.0.prompt: goal and prompt mean the same"),
        (tasks("{id: a, goal: x, kind: group}"), "a group without tasks"),
        (tasks("{id: a, goal: x, kind: plan, checks: [tests]}"), "verified by the plan it returns"),
        (tasks("{id: a, goal: x, atomic: true}"), "atomic is for a task of kind group"),
        (tasks("{id: a, goal: x, deadline: 5s}"), "deadline is for a task of kind plan"),
        (tasks("{id: a, goal: x, kind: chek}"), "not 'chek'; did you mean 'check'?"),
        (tasks("{id: a, kind: check, agent: mine}"), "a task of kind check has no agent"),
        # needs
        (tasks("{id: a, goal: x, needs: [b]}"), "6:30: tasks.0.needs.0: unknown task 'b'"),
        (tasks("{id: a, goal: x, needs: [a]}"), "in a circle: a needs a"),
        (
            tasks("{id: a, goal: x}", "{id: b, goal: x, needs: [a, a]}"),
            "7:33: tasks.1.needs.1: 'a' is named twice",
        ),
        # agents
        ("goal: x\nchecks: {t: {run: [x]}}\n" + TASK, "3:9: tasks.0: no agent: name one here"),
        (tasks("{id: a, goal: x, agent: mien}"), "unknown agent 'mien'; did you mean 'mine'?"),
        (
            tasks("{id: a, goal: x, agent: claude}"),
            "unknown agent 'claude'; define it under agents: with a command or a preset "
            "(yaoki agents list)",
        ),
        (HEAD.replace("command: my-agent", "prompt: stdin") + TASK, "has no command to call"),
        (HEAD.replace("my-agent", "x, options: {a: b}") + TASK, "preset command has no options"),
        (HEAD.replace("my-agent", "x, preset: scripted") + TASK, "preset scripted has no command"),
        (HEAD.replace("my-agent", "'a \"b'") + TASK, "cannot be split into words: No closing"),
        (HEAD.replace("my-agent", "x, env: {A-B: c}") + TASK, "'A-B' is not the name of an env"),
        (BARE + "tasks: [{id: a, goal: x, agnet: mine}]", "key; did you mean 'agent'?"),
        (
            BARE + "tasks: [{id: a, goal: x, agent: 3}]",
            "agent: must be a name or a list of names",
        ),
        (tasks("{id: a, goal: x}") + "limits: {}", "limits: unknown key; it belongs in yaoki.toml"),
        (tasks("{id: a, gaol: x}"), "6:13: tasks.0.gaol: unknown key; did you mean 'goal'?"),
        # proof
        (HEAD.replace("[pytest]", "[pytest], required: false") + TASK, "nothing would prove this"),
        (tasks("{id: a, goal: x, checks: []}") + "done_when: [tests]", "no required check"),
        ("goal: x\n" + "tasks: [{id: a, kind: check}]", "nothing would prove this check"),
        # a defective check is not also one that cannot fail
        (HEAD.replace("run: [pytest]", "") + TASK + PROVEN, "checks.tests: checks nothing"),
        (HEAD.replace("[pytest]", "['']") + TASK + PROVEN, "checks.tests.run: run is empty"),
        (HEAD.replace("run: [pytest]", "shell: ''") + TASK + PROVEN, "shell is empty"),
        (HEAD.replace("run: [pytest]", "git: dirty") + TASK + PROVEN, "must be clean or scope or"),
        (
            HEAD.replace("[pytest]", "['true'], shell: 'true'") + TASK + PROVEN,
            "checks.tests: has run and shell",
        ),
        # checks
        (CHECK + "  bad: {run: 3}\n" + ONE, "4:14: checks.bad.run: must be a list of words"),
        (CHECK + "  bad: {run: a && b}\n" + ONE, "no shell runs this line, so '&&' would be"),
        (CHECK + "  bad: {run: a | b}\n" + ONE, "'|' would be a plain word"),
        (CHECK + "  bad: {run: a $HOME}\n" + ONE, "'$HOME' would be a plain word"),
        (CHECK + "  bad: {run: A=1 b}\n" + ONE, "'A=1' would be a plain word"),
        (CHECK + "  bad: {}\n" + ONE, "4:8: checks.bad: checks nothing; give it run, shell"),
        (
            CHECK + "  Q1: {shell: x}\n" + ONE.replace("bad", "Q1"),
            "checks.Q1: Q1 is the name",
        ),
        (CHECK + "  bad: {run: [x], shell: x}\n" + ONE, "checks.bad: has run and shell"),
        (CHECK + "  bad: {run: []}\n" + ONE, "checks.bad.run: run is empty"),
        (CHECK + "  bad: {run: [true]}\n" + ONE, "checks.bad.run.0: must be a string, not true"),
        (CHECK + "  bad: {run: [x], success: exit}\n" + ONE, "must be exitCode:N, empty, cont"),
        (CHECK + "  bad: {run: [x], success: 'exitCode:256'}\n" + ONE, "must be exitCode:N"),
        (CHECK + "  bad: {run: [x], pattern: tests-failed}\n" + ONE, "mean 'test-failed'?"),
        (CHECK + "  bad: {run: [x], cwd: /tmp}\n" + ONE, "must be a path relative to the repo"),
        (CHECK + "  bad: {run: [x], definition: [../a]}\n" + ONE, "must not lead out of the repo"),
        (CHECK + "  bad: {git: dirty}\n" + ONE, "must be clean or scope or pushed or merged"),
        (CHECK + "  bad: {git: clean, success: empty}\n" + ONE, "a git check has no success"),
        (CHECK + "  bad: {file: {path: a}}\n" + ONE, "checks.bad.file: has no condition; give it"),
        (CHECK + "  bad: {file: {exists: true}}\n" + ONE, "checks.bad.file: path is missing"),
        (CHECK + "  bad: {file: {path: ../a, exists: true}}\n" + ONE, "lead out of the repo"),
        (CHECK + "  bad: {file: {path: a, exists: false}}\n" + ONE, "use absent: true"),
        (CHECK + "  bad: {file: {path: a, matches: '('}}\n" + ONE, "pattern '(' does not compile"),
        (CHECK + "  bad: {run: [x], timeout: 2h}\n" + ONE, "'bad' may take 2h, longer than the 1h"),
        # what nothing uses
        (CHECK + "  bad: {run: [x]}\n" + ONE.replace(", bad", ""), "4:3: checks.bad: nothing uses"),
        (HEAD + TASK + "patterns: [mine]", "6:12: patterns.0: nothing uses pattern 'mine'"),
        (HEAD + TASK + "patterns: [omission]", "pattern 'omission' is already known"),
        # scope
        (tasks("{id: a, goal: x, scope: [/etc/*]}"), "must be a path relative to the repository"),
        # limits
        (tasks("{id: a, goal: x, timeout: 5m, hang: 5m}"), "hang 5m is not below timeout 5m"),
        (tasks("{id: a, goal: x, hang: 2h}"), "below timeout 1h (limits.deadline_s)"),
        (tasks("{id: a, goal: x, timeout: 0}"), "must be more than zero and at most 30 days"),
        (tasks("{id: a, goal: x, timeout: -3}"), "must be more than zero"),
        (tasks("{id: a, goal: x, max_iterations: 0}"), "must be at least 1, not 0"),
        (tasks("{id: a, goal: x, max_iterations: 14}"), "13 retries can never be reached"),
        (tasks("{id: a, goal: x, retry: {max_retries: 12}}"), "max_total_attempts is 12"),
        (tasks("{id: a, goal: x, retry: {backoff: {jitter: 2}}}"), "must be at most 1, not 2"),
        (
            tasks("{id: a, goal: x, retry: {backoff: {initial_delay_ms: 60000}}}"),
            "initial_delay_ms 60000 is over max_delay_ms 30000",
        ),
        (
            tasks("{id: a, goal: x, retry: {cause_specific: {FATAL_ERROR: {max_retries: 1}}}}"),
            "6:47: tasks.0.retry.cause_specific.FATAL_ERROR: FATAL_ERROR is never retried",
        ),
        (
            tasks("{id: a, goal: x, retry: {cause_specific: {TIMOUT: {max_retries: 1}}}}"),
            "unknown kind of failure 'TIMOUT'; did you mean 'TIMEOUT'?",
        ),
        (tasks("{id: a, goal: x, budget: {tokens: 0}}"), "budget.tokens"),
        # phases
        (
            HEAD + TASK + "phases: [{id: p, goal: x, tasks: [{id: q, goal: x}]}]",
            "goal is for a deferred phase",
        ),
        (HEAD + TASK + "phases: [{id: p}]", "6:10: phases.0: phase 'p' has no tasks"),
        (tasks("{id: a, goal: x, phase: p}"), "6:29: tasks.0.phase: unknown phase 'p'"),
        (HEAD + TASK + "done_when: [tests, tests]", "6:20: done_when.1: 'tests' is named twice"),
        # YAML
        (HEAD + TASK + "goal: again", "6:1: goal: this key appears a second time"),
        (HEAD + TASK + "3: x", "6:1: key '3' is not plain text; put it in quotes"),
        (HEAD + TASK + "[a]: x", "6:1: this key is not plain text"),
        (HEAD + TASK + "base: !!str main", "6:7: base: tag tag:yaml.org,2002:str is not supported"),
        (HEAD + TASK + "base: &x main", "6:7: base: anchor &x is not supported"),
        (HEAD + TASK + "priority: .inf", "6:11: priority: is not a finite number"),
        (HEAD + TASK + "priority: " + "9" * 5000, "6:11: priority: is not a finite number"),
        (HEAD + TASK + 'base: "a\\0b"', "6:7: base: contains a character that is not allowed"),
    ],
)
def test_a_defect_is_one_message_with_position_and_reason(text: str, found: str) -> None:
    [only] = defects(text)

    assert re.match(r"plan\.yaml:\d+:\d+: ", only)
    assert found in only


@pytest.mark.spec("1.4")
def test_a_task_id_is_unique_and_never_a_number() -> None:
    """`3` is the short form of the third task, so no task may be called that."""
    found = defects(
        tasks("{id: a, goal: x}", "{id: '3', goal: x}", "{id: a, goal: x}", "{id: ../x, goal: x}")
    )

    assert [line.split(": ")[1] for line in found] == ["tasks.1.id", "tasks.2.id", "tasks.3.id"]


@pytest.mark.spec("2.2")
def test_every_dependency_cycle_is_reported_with_its_path() -> None:
    found = defects(
        tasks(
            "{id: a, goal: x, needs: [c]}",
            "{id: b, goal: x, needs: [a]}",
            "{id: c, goal: x, needs: [b]}",
            "{id: d, goal: x, needs: [e]}",
            "{id: e, goal: x, needs: [d]}",
        )
    )

    assert len(found) == 2
    assert all("tasks need each other in a circle: " in line for line in found)
    assert any("d needs e needs d" in line or "e needs d needs e" in line for line in found)


@pytest.mark.spec("2.2")
def test_a_dependency_cycle_through_phases_is_reported() -> None:
    found = defects(
        HEAD
        + textwrap.dedent(
            """\
            phases:
              - id: first
                tasks: [{id: a, goal: x, needs: [b]}]
              - id: second
                needs: [first]
                tasks: [{id: b, goal: x}]
            """
        )
    )

    assert len(found) == 1
    assert "in a circle: " in found[0]


@pytest.mark.spec("14.4")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "1:1: the file is empty"),
        ("# only words\n", "1:1: the file is empty"),
        ("~", "1:1: the plan is empty"),
        ("goal: a\n---\ngoal: b\n", "2:1: a second document begins"),
        ("goal: 'open", "cannot be read: found unexpected end of stream"),
        ("goal: [a\ntasks: b", "cannot be read"),
        ("goal: a\x01", "1:8: character U+0001 is not allowed"),
        ("goal: a\0", "1:8: character U+0000 is not allowed"),
        ("goal: \ud800", "1:7: character U+D800 is not allowed"),
        ("[" * 100_000, "nested deeper than 64 levels"),
        ("- " * 100_000, "nested deeper than 64 levels"),
        ("? " * 100_000, "nested deeper than 64 levels"),
        ("a: " + "x" * (8 << 20), "bytes are over the limit of 8388608"),
    ],
    ids=lambda value: value[:20],
)
def test_a_text_that_is_no_plan_is_refused(text: str, found: str) -> None:
    [only] = defects(text)

    assert found in only


@pytest.mark.spec("14.4")
def test_an_alias_is_refused_so_that_no_plan_can_grow_in_memory() -> None:
    found = defects("a: &a [x]\ngoal: *a\n" + BODY + TASK)

    assert "plan.yaml:2:7: goal: alias *a is not supported; write the value out" in found


@pytest.mark.spec("11.5")
def test_a_plan_over_a_limit_is_refused_with_number_and_limit() -> None:
    small = Settings(limits=LimitSettings(pending_tasks=2, task_text_bytes=20))
    many = tasks("{id: a, goal: x}", "{id: b, goal: x}", f"{{id: c, goal: {'x' * 21}}}")

    assert defects(many, small) == [
        "plan.yaml:6:3: tasks: 3 tasks are over the limit of 2",
        "plan.yaml:8:19: tasks.2.goal: 21 bytes of text are over the limit of 20",
    ]


@pytest.mark.spec("11.5")
def test_phases_cannot_multiply_needs_without_bound() -> None:
    group = "".join(f"      - {{id: {{0}}{n}, goal: x}}\n" for n in range(800))
    text = (
        f"{HEAD}phases:\n  - id: p\n    tasks:\n{group.replace('{0}', 'a')}"
        f"  - id: q\n    needs: [p]\n    tasks:\n{group.replace('{0}', 'b')}"
    )

    [only] = defects(text)

    assert "make 640000 needs, over the limit of 500000" in only


def test_a_missing_plan_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(PlanInvalid, match="cannot be read: no such file"):
        load_plan(tmp_path / "none.yaml", Settings())
    (tmp_path / "none.md").touch()
    (tmp_path / "plan.yaml").touch()
    for name, near in (("plan.yml", "plan.yaml"), ("none", "none.md"), ("xyz", "")):
        with pytest.raises(PlanInvalid) as refused:
            load_plan(tmp_path / name, Settings())
        suggestion = f"; did you mean '{tmp_path / near}'?" if near else ""
        assert refused.value.sentence.endswith(f"no such file or directory{suggestion}")
    with pytest.raises(PlanInvalid, match="cannot be read: is a directory"):
        load_plan(tmp_path, Settings())


@pytest.mark.parametrize("text", ['goal = "x"\n[[tasks]]\nid = "a"\n', "Write a parser.\n"])
def test_a_file_of_another_format_is_no_list_of_defects(tmp_path: Path, text: str) -> None:
    """One sentence says what a plan is, in place of a mapping of keys that nobody meant."""
    (file := tmp_path / "plan.toml").write_text(text)

    with pytest.raises(PlanInvalid) as refused:
        load_plan(file, Settings())

    (defect,) = refused.value.defects
    assert defect.startswith(f"{file}:1:1: this is no plan: a plan is YAML or JSON with the keys")


def test_an_id_that_two_tasks_have_makes_no_circle() -> None:
    text = tasks("{id: a, goal: x, checks: [tests]}", "{id: a, goal: y, needs: [a]}")

    assert [one for one in defects(text) if "circle" in one] == []
    assert any("id 'a' is already used" in one for one in defects(text))


@pytest.mark.spec("14.4")
def test_bytes_that_are_not_utf_8_are_refused_with_their_position(tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_bytes(b"goal: a\nbase: \xff\n")

    with pytest.raises(PlanInvalid) as refused:
        load_plan(file, Settings())

    assert refused.value.defects == (f"{file}:2:7: byte 0xff is not UTF-8",)


WORDS = [*HEAD.split(), "tasks:", "- ", "id:", "goal:", "needs:", "[", "]", "{", "}", "&a", "*a"]


@pytest.mark.spec("14.4")
@settings(max_examples=example_count(150), deadline=None)
@given(
    strategies.one_of(
        strategies.text(max_size=200),
        strategies.lists(
            strategies.sampled_from(
                [*WORDS, "\n", "\n  ", " ", ",", "!!x", "---", "'", "|", "0x1"]
            ),
            max_size=60,
        ).map("".join),
        strategies.recursive(
            strategies.none() | strategies.booleans() | strategies.floats() | strategies.text(),
            lambda inner: (
                strategies.lists(inner, max_size=4)
                | strategies.dictionaries(
                    strategies.sampled_from(
                        sorted(json.dumps(plan_schema()["properties"]).split('"'))
                    ),
                    inner,
                    max_size=4,
                )
            ),
            max_leaves=15,
        ).map(json.dumps),
    )
)
@example("*0:")
@example("? *a : b")
@example("&a *a")
def test_any_text_is_parsed_or_refused(text: str) -> None:
    """Nothing but a refusal with its defects may come of it: any other exception fails here."""
    found: tuple[object, ...] = ()
    try:
        found = parse_plan(text, "plan.yaml", Settings()).specs
    except PlanInvalid as fault:
        found = fault.defects

    assert found


# ------------------------------------------------------------------ schema


def parts(schema: Any) -> list[dict[str, Any]]:
    if isinstance(schema, dict):
        return [schema, *(part for value in schema.values() for part in parts(value))]
    if isinstance(schema, list):
        return [part for value in schema for part in parts(value)]
    return []


@pytest.mark.spec("2.1")
def test_the_schema_uses_only_keywords_of_draft_7() -> None:
    schema = plan_schema()

    assert schema["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert not any(
        {"prefixItems", "$defs", "unevaluatedProperties"} & set(p) for p in parts(schema)
    )
    for part in parts(schema):
        target = part.get("$ref")
        if isinstance(target, str):
            assert target.removeprefix("#/definitions/") in schema["definitions"]


@pytest.mark.spec("2.1")
def test_the_schema_names_every_key_of_the_shape() -> None:
    schema = plan_schema()

    wanted = {"goal", "base", "agents", "agent", "checks", "phases", "tasks", "done_when"}
    assert wanted | {"final_tasks"} <= set(schema["properties"])
    task = schema["definitions"]["Task"]
    assert {"id", "goal", "prompt", "kind", "needs", "checks", "scope", "agent"} <= set(
        task["properties"]
    )
    assert {"priority", "retry", "timeout", "budget", "max_iterations"} <= set(task["properties"])
    assert task["additionalProperties"] is False


def test_the_reference_page_explains_every_key() -> None:
    page = REFERENCE.read_text(encoding="utf-8")
    schema = plan_schema()

    keys = {key for part in (schema, *schema["definitions"].values()) for key in part["properties"]}

    assert {key for key in keys if f"`{key}`" not in page} == set()


# ------------------------------------------------------------------ vacuous checks


@pytest.mark.spec("16.4")
@pytest.mark.parametrize(
    ("check", "words"),
    [
        ("{shell: 'pytest || true'}", "`pytest || true` cannot fail"),
        ("{run: ['true']}", "`true` cannot fail"),
        ("{run: [make, -n, test]}", "`make -n test` cannot fail"),
        ("{shell: 'pytest; echo ok', success: 'contains:ok'}", "cannot fail"),
        ("{shell: 'pytest; true', success: 'matches:.*'}", "cannot fail"),
        ("{shell: 'git status --porcelain', success: empty}", "cannot fail"),
        ("{git: clean}", "git: clean holds for every change"),
        ("{git: scope}", "git: scope holds for every change"),
        ("{file: {path: ., exists: true}}", ". always exists"),
    ],
)
@pytest.mark.parametrize("kind", ["change", "check"])
def test_a_task_whose_checks_cannot_fail_is_refused(check: str, words: str, kind: str) -> None:
    agent = "agents: {a: {command: [x]}}\nagent: a\n" if kind == "change" else ""
    text = f"goal: x\n{agent}checks: {{c: {check}}}\ntasks:\n  - {{id: t, goal: g, kind: {kind}}}\n"

    with pytest.raises(PlanInvalid) as refused:
        parse_plan(text, "plan.yaml", Settings())

    (line,) = refused.value.defects
    assert line.startswith(f"plan.yaml:{text.count(chr(10))}:")
    assert words in line
    assert "add a check that can fail" in line


@pytest.mark.spec("16.4")
def test_a_done_when_that_cannot_fail_is_refused() -> None:
    text = "goal: x\ndone_when: [c]\nchecks: {c: {git: clean}, d: {run: [pytest]}}\n"

    with pytest.raises(PlanInvalid) as refused:
        parse_plan(text + "tasks: [{id: t, kind: check, checks: [d]}]\n", "p", Settings())

    assert "done_when: check c: git: clean holds for every change" in refused.value.defects[0]


@pytest.mark.spec("16.4")
def test_a_task_with_one_check_that_can_fail_is_accepted() -> None:
    checks = "checks: {c: {git: clean}, d: {run: [pytest]}}"

    made = parse_plan(f"goal: x\n{checks}\ntasks: [{{id: t, kind: check}}]\n", "p", Settings())

    assert len(made.specs) == 1
