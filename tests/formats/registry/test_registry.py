"""Steps registries: their tasks, and all defects with their positions."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies

from tests.builders import a_failure
from tests.quick_selection import example_count
from yaoki.adapters.checks import CheckDispatcher
from yaoki.adapters.checks.readers import extractor_names
from yaoki.adapters.processes.process_trees import ShimProcesses
from yaoki.core.machine.codec import from_data, to_data
from yaoki.core.model import (
    CheckSpec,
    FailureKind,
    Finding,
    OnFailure,
    Outcome,
    PromptFiles,
    TaskSpec,
)
from yaoki.core.settings.settings import Settings
from yaoki.errors import PlanInvalid
from yaoki.formats.plan import Plan, PlanEnvironment
from yaoki.formats.plan_file import load_plan, parse_plan
from yaoki.formats.prompts import PromptLibrary, check_templates
from yaoki.ports import commit_facts

REGISTRY = Path(__file__).parents[2] / "fixtures" / "registry" / "steps_registry.json"
KNOWN = PlanEnvironment(extractor_names)
GIVEN = Settings(agents={"mine": {"command": ["my-agent"]}}, agent=("mine",))

JsonObject = dict[str, Any]


def original_registry() -> JsonObject:
    document: JsonObject = json.loads(REGISTRY.read_text())
    return document


def read(registry: JsonObject, known: PlanEnvironment = KNOWN, given: Settings = GIVEN) -> Plan:
    return parse_plan(json.dumps(registry, indent=1), "r.json", given, known)


def defects(
    registry: JsonObject, known: PlanEnvironment = KNOWN, given: Settings = GIVEN
) -> list[str]:
    """Without their positions, which `test_a_defect_has_its_position` checks."""
    with pytest.raises(PlanInvalid) as refused:
        read(registry, known, given)
    return [line.partition(": ")[2] for line in refused.value.defects]


def with_file(*paths: str, success: str = "", **more: Any) -> JsonObject:
    """A third condition: files that must be there."""
    made = original_registry()
    gone = {"edition": "failed", "adaptation": "gone", "params": ["missing"]}
    there = {"type": "file", "failurePattern": "gone", "extractParams": {"missing": "missingPaths"}}
    made["completionPatterns"]["gone"] = gone
    made["validators"]["there"] = there | ({"successWhen": success} if success else {}) | more
    condition = {"validator": "there", **({"params": {"paths": list(paths)}} if paths else {})}
    made["steps"]["complete.issue"]["completionConditions"].append(condition)
    return made


# ------------------------------------------------------------------ what it becomes


@pytest.mark.spec("2.4")
def test_the_original_registry_becomes_a_task_and_its_checks() -> None:
    plan = load_plan(REGISTRY, GIVEN, KNOWN)

    (step,) = plan.specs
    assert (plan.goal, step.name) == ("iterator 3.0.0: Issue Complete Step", "complete.issue")
    assert step.goal == "Issue Complete Step"
    assert [agent.name for agent in step.agents] == ["mine"]
    clean, tests = step.checks
    assert (clean.name, clean.shell, clean.success) == (
        *("git-clean", "git status --porcelain", "empty"),
    )
    assert (tests.pattern, tests.on_failure) == ("test-failed", OnFailure.RETRY)
    assert tests.extract == {"failedTests": "parseTestOutput", "errorOutput": "stderr"}
    assert step.prompts.stem == ("steps", "retry", "issue")
    assert step.prompts.names["git-dirty"] == ("failed", "git-dirty")
    assert plan.catalogue.checks["tests-pass"] is tests


@pytest.mark.spec("2.4", "2.6")
def test_the_additions_of_a_registry_survive_the_journal() -> None:
    (step,) = read(original_registry()).specs

    assert from_data(TaskSpec, json.loads(json.dumps(to_data(step)))) == step


@pytest.mark.spec("2.4", "6.8", "0.4")
@pytest.mark.parametrize(("attempts", "retries"), [(1, 0), (3, 2), (None, 3)])
def test_max_attempts_is_the_number_of_attempts(attempts: int | None, retries: int) -> None:
    registry = original_registry()
    failure = {"action": "retry", **({"maxAttempts": attempts} if attempts else {})}
    registry["steps"]["complete.issue"]["onFailure"] = failure

    (step,) = read(registry).specs

    assert step.policy.content_retries_max == retries
    assert step.policy.rules[FailureKind.QUALITY_FAILURE].retries_max == retries
    assert step.policy.rules[FailureKind.RATE_LIMIT].retries_max == 5


@pytest.mark.spec("2.4", "6.8", "9.4")
def test_steps_share_validators_with_different_actions_on_failure() -> None:
    registry = original_registry()
    second = {**registry["steps"]["complete.issue"], "stepId": "polish", "name": "Polish"}
    second |= {"description": "Make it shine.", "onFailure": {"action": "skip"}, "c3": "project"}
    registry["steps"]["polish"] = second

    first, polish = read(registry).specs

    assert (first.required, polish.required) == (True, False)
    assert [check.name for check in polish.checks] == ["git-clean.2", "tests-pass.2"]
    assert {check.on_failure for check in polish.checks} == {OnFailure.SKIP}
    assert polish.policy.rules[FailureKind.QUALITY_FAILURE].retries_max == 0
    assert polish.goal == "Polish\n\nMake it shine."
    assert polish.prompts.stem == ("steps", "retry", "project")
    assert polish.needs == ()


@pytest.mark.spec("2.4", "6.1")
def test_a_file_validator_checks_its_path_and_those_of_the_condition() -> None:
    check = read(with_file("b.md", path="a.md")).specs[0].checks[-1]
    text = read(with_file(path="a.md", success="contains:Title")).specs[0].checks[-1]

    assert (check.type, check.file) == ("file", {"exists": ["a.md", "b.md"]})
    assert (text.path, text.file) == ("a.md", {"contains": "Title"})


@pytest.mark.spec("2.4")
@pytest.mark.parametrize(
    ("raw", "what"),
    [
        ({"steps": {}}, "agentId is missing"),
        ({"validators": {}, "goal": "x", "tasks": []}, "unknown key"),
        ({"goal": "x"}, "there are no tasks"),
    ],
)
def test_a_registry_is_recognised_by_its_keys(raw: JsonObject, what: str) -> None:
    assert any(what in line for line in defects(raw))


# ------------------------------------------------------------------ what is refused


def step(registry: JsonObject) -> JsonObject:
    found: JsonObject = registry["steps"]["complete.issue"]
    return found


def validator(registry: JsonObject) -> JsonObject:
    found: JsonObject = registry["validators"]["tests-pass"]
    return found


def pattern(registry: JsonObject) -> JsonObject:
    found: JsonObject = registry["completionPatterns"]["test-failed"]
    return found


AT_STEP, AT_TESTS = "steps.complete.issue", "validators.tests-pass"
AT_PATTERN = "completionPatterns.test-failed"
CHANGES: list[tuple[Callable[[JsonObject], object], str]] = [
    (lambda r: r.update(version="4.0.0"), "version: version '4.0.0' is not known; 3.x is"),
    (lambda r: r.pop("agentId"), "agentId is missing"),
    (lambda r: r.update(step={}), "step: unknown key; did you mean 'steps'?"),
    (
        lambda r: step(r).update(stepId="other"),
        f"{AT_STEP}.stepId: stepId 'other' differs from its key",
    ),
    (lambda r: step(r).pop("name"), f"{AT_STEP}: name is missing"),
    (lambda r: step(r).update(c2="../.."), f"{AT_STEP}.c2: '../..' cannot be part of the path"),
    (lambda r: step(r).pop("c3"), f"{AT_STEP}: c3 is missing"),
    (
        lambda r: step(r)["completionConditions"].append({"validator": "test-pass"}),
        f"{AT_STEP}.completionConditions.2.validator: unknown validator 'test-pass'; did you mean",
    ),
    (
        lambda r: step(r)["completionConditions"].append({"validator": "git-clean"}),
        f"{AT_STEP}.completionConditions.2: 'git-clean' is named twice",
    ),
    (
        lambda r: step(r)["completionConditions"][0].update(params={"x": 1}),
        f"{AT_STEP}.completionConditions.0.params: a command validator takes no params",
    ),
    (
        lambda r: step(r)["onFailure"].update(action="abort"),
        f"{AT_STEP}.onFailure.maxAttempts: action abort does not retry",
    ),
    (
        lambda r: step(r)["onFailure"].update(action="stop"),
        f"{AT_STEP}.onFailure.action: must be retry or abort or skip, not 'stop'",
    ),
    (
        lambda r: step(r)["onFailure"].update(maxAttempts=50),
        f"{AT_STEP}.onFailure.maxAttempts: 49 retries can never be reached",
    ),
    (lambda r: validator(r).pop("command"), f"{AT_TESTS}: has no command to run"),
    (lambda r: validator(r).pop("type"), f"{AT_TESTS}: type is missing"),
    (lambda r: validator(r).pop("successWhen"), f"{AT_TESTS}: successWhen is missing"),
    (lambda r: validator(r).update(successWhen="exit:0"), f"{AT_TESTS}.successWhen: must be exit"),
    (lambda r: validator(r).update(path="a"), f"{AT_TESTS}.path: a command validator has no path"),
    (
        lambda r: validator(r).update(failurePattern="tests-failed"),
        f"{AT_TESTS}.failurePattern: unknown pattern 'tests-failed'; did you mean 'test-failed'?",
    ),
    (
        lambda r: validator(r)["extractParams"].update(failedTests="parseTests"),
        f"{AT_TESTS}.extractParams.failedTests: unknown extractor 'parseTests'; did you mean",
    ),
    (
        lambda r: validator(r)["extractParams"].update(exit="exitCode"),
        f"{AT_TESTS}.extractParams.exit: pattern 'test-failed' declares no param 'exit'",
    ),
    (
        lambda r: pattern(r)["params"].append("seed"),
        f"{AT_TESTS}.extractParams: no extractor gives 'seed', which pattern 'test-failed'",
    ),
    (lambda r: pattern(r).pop("edition"), f"{AT_PATTERN}: edition is missing"),
    (
        lambda r: pattern(r)["params"].append("failedTests"),
        f"{AT_PATTERN}.params.2: 'failedTests' is declared twice",
    ),
    (
        lambda r: r["completionPatterns"].update(
            spare={"edition": "failed", "adaptation": "spare", "params": []}
        ),
        "completionPatterns.spare: nothing uses pattern 'spare'",
    ),
    (
        lambda r: step(r)["completionConditions"].pop(0),
        "validators.git-clean: nothing uses validator 'git-clean'",
    ),
    (
        lambda r: validator(r).update(type="custom", command="", successWhen="", extractParams={}),
        "validators.tests-pass: unknown entry point of yaoki.checks 'tests-pass'",
    ),
]


@pytest.mark.spec("2.4", "2.2")
@pytest.mark.parametrize(("change", "said"), CHANGES, ids=[said for _, said in CHANGES])
def test_a_mistake_in_a_registry_is_one_defect(
    change: Callable[[JsonObject], object], said: str
) -> None:
    registry = original_registry()
    change(registry)

    found = defects(registry)

    assert len(found) == 1, found
    assert found[0].startswith(said)


@pytest.mark.spec("2.4", "2.2")
@pytest.mark.parametrize(
    ("registry", "said"),
    [
        (with_file(), "completionConditions.2.params: 'there' has no path"),
        (with_file("../x"), "paths.0: '../x' must not lead out of the repository"),
        (with_file("a", "b", success="contains:x"), "'contains:x' looks at one path, not 2"),
        (with_file("a", success="exitCode:0"), "of a file must be exists, absent, contains:TEXT"),
        (with_file("a", command="ls"), "a file validator has no command"),
    ],
)
def test_a_file_validator_without_a_path_is_refused(registry: JsonObject, said: str) -> None:
    (found,) = defects(registry)

    assert said in found


@pytest.mark.spec("2.4", "2.2")
def test_a_defect_has_its_position() -> None:
    text = REGISTRY.read_text().replace('"git-clean" }', '"git-clan" }')

    with pytest.raises(PlanInvalid) as refused:
        parse_plan(text, "r.json", GIVEN, KNOWN)

    line = next(n for n, row in enumerate(text.splitlines(), 1) if "git-clan" in row)
    column = text.splitlines()[line - 1].index('"git-clan"') + 1
    assert refused.value.defects[0].startswith(f"r.json:{line}:{column}: steps.complete.issue.")


@pytest.mark.spec("2.4", "0.6")
def test_a_registry_without_an_agent_names_the_remedy() -> None:
    (found,) = defects(original_registry(), given=Settings())

    assert "give yaoki.toml a default with agent =, or use --agent" in found


LEAVES = strategies.none() | strategies.booleans() | strategies.integers() | strategies.text()


@pytest.mark.spec("2.4", "14.4")
@given(strategies.data())
@settings(max_examples=example_count(150), deadline=None)
def test_any_registry_is_read_or_refused(data: strategies.DataObject) -> None:
    """One value somewhere is replaced by anything; nothing but a refusal may come of it."""
    registry: Any = original_registry()
    made: Sequence[object]
    at, key = registry, data.draw(strategies.sampled_from(sorted(registry)))
    while isinstance(at[key], dict | list) and at[key] and data.draw(strategies.booleans()):
        at = at[key]
        key = data.draw(strategies.sampled_from([*at] if isinstance(at, dict) else range(len(at))))
    at[key] = data.draw(
        strategies.recursive(
            LEAVES,
            lambda inner: (
                strategies.lists(inner, max_size=3)
                | strategies.dictionaries(strategies.text(max_size=8), inner, max_size=3)
            ),
            max_leaves=6,
        )
    )

    try:
        made = read(registry).specs
    except PlanInvalid as refused:
        made = refused.defects

    assert made


# ------------------------------------------------------------------ params


def run_check(spec: CheckSpec, tmp_path: Path) -> Finding:
    checks = CheckDispatcher(ShimProcesses(), timedelta(seconds=30))
    worktree = tmp_path / "tree"
    worktree.mkdir(exist_ok=True)
    return checks.check(
        spec, worktree, tmp_path / "log", facts=commit_facts(""), stop=lambda: False
    )


@pytest.mark.spec("6.2", "2.4")
@pytest.mark.parametrize("success", ["exitCode:0", "empty", "contains:fine", "matches:fi+ne"])
def test_a_failing_command_supplies_exactly_the_requested_params(
    success: str, tmp_path: Path
) -> None:
    code = 3 if success == "exitCode:0" else 0
    spec = CheckSpec(
        "c",
        shell=f"echo seen; echo told >&2; exit {code}",
        success=success,
        extract={"output": "stdout", "trouble": "stderr", "code": "exitCode"},
    )

    finding = run_check(spec, tmp_path)

    assert finding.outcome is Outcome.FAILED
    asked = {name: finding.params[name] for name in spec.extract}
    assert asked == {"output": "seen\n", "trouble": "told\n", "code": code}


@pytest.mark.spec("6.2", "2.4")
def test_a_file_check_lists_the_missing_paths(tmp_path: Path) -> None:
    check = read(with_file("README", "b.md", path="a.md")).specs[0].checks[-1]
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "README").write_text("here")

    finding = run_check(check, tmp_path)

    assert (finding.outcome, finding.pattern) == (Outcome.FAILED, "gone")
    assert finding.params["missing"] == ["a.md", "b.md"]


# ------------------------------------------------------------------ prompts

FILES = PromptFiles(("steps", "again", "work"), {"test-failed": ("broken", "tests")})


def write_file(folder: Path, path: str, text: str = "Own words.\n") -> None:
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.mark.spec("7.1", "2.4")
@pytest.mark.parametrize(
    "path",
    [
        "steps/again/work/f_broken_tests.md",
        "steps/again/work/f_broken.md",
        "ja/steps/again/work/f_failed_test-failed.md",
    ],
)
def test_pattern_and_step_determine_the_prompt_file(path: str, tmp_path: Path) -> None:
    write_file(tmp_path, path)
    write_file(tmp_path, "steps/again/work/f_failed.md", "Any words.\n")

    told = PromptLibrary(tmp_path, "ja", FILES).write(a_failure(pattern="test-failed"), {})

    assert (told.path, told.text) == (f".yaoki/prompts/{path}", "Own words.")


@pytest.mark.spec("7.1", "2.4")
def test_a_step_without_a_prompt_file_uses_the_shipped_template(tmp_path: Path) -> None:
    told = PromptLibrary(tmp_path, "en", FILES).write(a_failure(pattern="test-failed"), {})

    assert told.path == "shipped/en/steps/retry/issue/f_failed_test-failed.md"
    assert told.steps[0] == ".yaoki/prompts/en/steps/again/work/f_broken_tests.md: absent"


@pytest.mark.spec("7.2", "2.4")
def test_the_prompt_files_of_a_registry_are_checked_against_its_params(tmp_path: Path) -> None:
    own = "---\nparams: [seed]\n---\n{{ seed }}\n"
    write_file(tmp_path, "steps/again/work/f_broken_tests.md", own)
    write_file(tmp_path, "steps/again/work/f_broken.md", own)
    write_file(tmp_path, "steps/again/work/f_brokn_tests.md")
    write_file(tmp_path, "steps/another/registry/f_failed_tests.md", own)

    found = check_templates(tmp_path, files=[FILES], params={"test-failed": ["seed"]})
    without_plan = check_templates(
        tmp_path, files=[FILES], params={"test-failed": ["seed"]}, ignore_plan_files=True
    )
    without = check_templates(tmp_path, files=[FILES])

    at = f"{tmp_path}/steps/again/work"
    assert [line.partition(":")[0] for line in found] == [
        f"{at}/f_broken.md",
        f"{at}/f_brokn_tests.md",
    ]
    assert found[0].endswith(":2: any failure of edition 'broken' has no param 'seed'")
    assert "is never used" in found[1]
    assert without_plan == found[:1]
    assert f"{at}/f_broken_tests.md:2: test-failed has no param 'seed'" in without
