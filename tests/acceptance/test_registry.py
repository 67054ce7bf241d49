"""Steps registries run unchanged through the installed program."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import GIT_IDENTITY, SETTINGS, Completed, Project
from tests.acceptance.test_agent_failures import event_data

pytestmark = pytest.mark.acceptance

FIXTURES = Path(__file__).parents[1] / "fixtures" / "registry"
REGISTRY = FIXTURES / "steps_registry.json"
STEP = "complete.issue"
PROMPT = "steps/retry/issue/f_failed_test-failed.md"

SUITE = """\
import unittest

from total import total


class Total(unittest.TestCase):
    def test_two_numbers(self):
        self.assertEqual(total([2, 3]), 5)
"""
BASE = "def total(numbers):\n    raise NotImplementedError\n"
WRONG = "def total(numbers):\n    return numbers[0] - numbers[1]\n"
RIGHT = "def total(numbers):\n    return sum(numbers)\n"


class RegistryProject(Project):
    """A repository with a real test suite, run by `deno task test` as the registry requires."""

    def prepare(self, *attempts: str, settings: str = 'agent = "actor"') -> None:
        acts = ", ".join(f'[{{write = {{"total.py" = {json.dumps(t)}}}}}]' for t in attempts)
        script = f'[agents.actor.options.scenario.tasks]\n"{STEP}" = [{acts}]\n'
        actor = f'[agents.actor]\npreset = "scripted"\n{script}'
        self.settings(f"{settings}\n{SETTINGS}\n{actor}")
        (self.repo / "test_total.py").write_text(SUITE)
        (self.repo / "total.py").write_text(BASE)
        self.git("add", "-A")
        self.git(*GIT_IDENTITY, "commit", "-qm", "a suite that fails")
        self._deno()

    def _deno(self) -> None:
        """The registry's own command line; what it runs here is this repository's real suite."""
        tool = self.folder / "bin" / "deno"
        tool.parent.mkdir()
        suite = f'[ "$*" = "task test" ] && exec {sys.executable} -m unittest\nexit 64\n'
        tool.write_text(f"#!/bin/sh\n{suite}")
        tool.chmod(0o755)
        self.env["PATH"] = f"{tool.parent}{os.pathsep}{self.env['PATH']}"

    def journal(self) -> list[dict[str, Any]]:
        document: list[dict[str, Any]] = self.query("trace", STEP, "--json").document["entries"]
        return document

    def changed(self, **step: Any) -> str:
        """The registry with another onFailure or the like."""
        document = json.loads(REGISTRY.read_text())
        document["steps"][STEP].update(step)
        return self.plan(document, "steps_registry.json")


@pytest.fixture
def project(tmp_path: Path, pycache: Path, store_url: str) -> RegistryProject:
    return RegistryProject(tmp_path, pycache, store_url)


def outcomes(entries: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(one["check"], one["outcome"]) for one in event_data(entries, "CHECK_FINISHED")]


@pytest.mark.spec("2.4", "6.2", "6.8", "6.9", "7.1")
def test_the_original_registry_runs_unchanged(project: RegistryProject) -> None:
    project.prepare(WRONG, RIGHT)

    done = project.yaoki("run", str(REGISTRY))

    assert done.code == 0, done.out + done.err
    task = project.task(STEP)
    assert (task["state"], task["attempt"]) == ("DONE", 2)
    assert project.show(project.status()["run_branch"], "total.py") == RIGHT.strip()
    entries = project.journal()
    assert outcomes(entries) == [
        *(("git-clean", "PASSED"), ("tests-pass", "FAILED")),
        *(("git-clean", "PASSED"), ("tests-pass", "PASSED")),
    ]
    sent = event_data(entries, "PROMPT_SENT")
    assert [one["path"] for one in sent] == ["", f"shipped/en/{PROMPT}"]
    assert sent[1]["steps"][0] == f".yaoki/prompts/en/{PROMPT}: absent"
    prompt = project.prompt(task, 2)
    assert "## Tests fail" in prompt
    assert "test_two_numbers" in prompt
    assert "-1 != 5" in prompt


@pytest.mark.full
@pytest.mark.spec("2.4", "7.1", "7.2")
def test_the_retry_prompt_of_the_original_registry_is_sent_with_the_failed_tests(
    project: RegistryProject,
) -> None:
    project.prepare(WRONG, RIGHT)
    file = project.repo / ".yaoki" / "prompts" / PROMPT
    file.parent.mkdir(parents=True)
    file.write_text((FIXTURES / file.name).read_text())

    done = project.yaoki("run", str(REGISTRY))

    assert done.code == 0, done.out + done.err
    assert event_data(project.journal(), "PROMPT_SENT")[1]["path"] == f".yaoki/prompts/{PROMPT}"
    prompt = project.prompt(project.task(STEP), 2)
    assert "## テストが失敗しています" in prompt
    assert "失敗したテストを修正してください。" in prompt
    named = next(line for line in prompt.splitlines() if line.startswith("- `test_total."))
    assert named.startswith("- `test_total.Total.test_two_numbers`: ")
    assert "AssertionError: -1 != 5" in named
    assert "FAILED (failures=1)" in prompt.partition("### エラー出力")[2]


@pytest.mark.full
@pytest.mark.spec("2.4", "6.2", "6.9")
def test_output_that_no_reader_understands_is_sent_to_the_agent_from_both_channels(
    project: RegistryProject,
) -> None:
    project.prepare(WRONG, RIGHT)
    tool = project.folder / "bin" / "deno"
    tool.write_text("#!/bin/sh\necho 'odd words about foo'\necho oops >&2\nexit 1\n")

    project.yaoki("run", str(REGISTRY))

    prompt = project.prompt(project.task(STEP), 2)
    assert "no reader understood this output" in prompt
    assert "odd words about foo" in prompt
    assert "oops" in prompt


@pytest.mark.full
@pytest.mark.spec("2.4", "6.8")
def test_a_step_with_the_action_abort_is_escalated_after_the_first_failure(
    project: RegistryProject,
) -> None:
    project.prepare(WRONG, RIGHT)

    done = project.yaoki("run", project.changed(onFailure={"action": "abort"}))

    assert done.code == 4, done.out + done.err
    task = project.task(STEP)
    assert (task["state"], task["attempt"]) == ("ESCALATED", 1)
    assert outcomes(project.journal())[-1] == ("tests-pass", "FAILED")


@pytest.mark.full
@pytest.mark.spec("2.4", "6.8", "9.4")
def test_a_skipped_validator_is_recorded_and_does_not_verify_the_step(
    project: RegistryProject,
) -> None:
    project.prepare(WRONG, RIGHT)
    only = [{"validator": "tests-pass"}]
    held = json.loads(Path(project.changed(onFailure={"action": "skip"})).read_text())
    held["steps"][STEP]["completionConditions"] = only
    del held["validators"]["git-clean"], held["completionPatterns"]["git-dirty"]

    done = project.yaoki("run", project.plan(held, "steps_registry.json"))

    assert done.code == 0, done.out + done.err
    task = project.task(STEP)
    assert outcomes(project.journal()) == [("tests-pass", "SKIPPED")]
    assert (task["state"], task["attempt"], task["landed"]) == ("ESCALATED", 1, None)
    assert project.show(project.status()["run_branch"], "total.py") == BASE.strip()


@pytest.mark.spec("2.4", "2.2", "7.2")
def test_a_registry_is_refused_with_every_defect_including_those_of_its_prompts(
    project: RegistryProject,
) -> None:
    project.prepare(RIGHT)
    text = REGISTRY.read_text().replace('"parseUntrackedFiles"', '"parseUntracked"')
    file = project.folder / "steps_registry.json"
    file.write_text(text.replace('"c3": "issue",', '"c3": "issue",\n      "c4": "x",'))
    prompt = project.repo / ".yaoki" / "prompts" / PROMPT
    prompt.parent.mkdir(parents=True)
    prompt.write_text("---\nparams: [failedTest]\n---\n{{ failedTest }}\n")

    done = project.yaoki("validate", str(file))
    started = project.yaoki("run", str(file))

    assert (done.code, started.code) == (2, 2)
    lines = done.err.splitlines()
    assert [line.partition(": ")[2] for line in lines[:2]] == [
        "validators.git-clean.extractParams.untrackedFiles: unknown extractor 'parseUntracked'; "
        "did you mean 'parseUntrackedFiles'?",
        "steps.complete.issue.c4: unknown key",
    ]
    assert lines[0].startswith(f"{file}:28:27: ")
    assert lines[2] == (
        f"{prompt}:2: test-failed has no param 'failedTest'; did you mean 'failedTests'?"
    )
    assert not project.has_store()


@pytest.mark.full
@pytest.mark.spec("2.4", "12.1")
def test_the_agent_of_a_registry_comes_from_the_settings_or_the_command_line(
    project: RegistryProject,
) -> None:
    project.prepare(RIGHT, settings="")

    without = project.yaoki("validate", str(REGISTRY))
    unknown = project.yaoki("validate", str(REGISTRY), "--agent", "acter")
    done: Completed = project.yaoki("run", str(REGISTRY), "--agent", "actor", "--dry-run")

    assert without.code == 2
    assert "no agent: a registry names none; give yaoki.toml a default" in without.err
    assert unknown.code == 2
    assert "did you mean 'actor'?" in unknown.err
    assert done.code == 0, done.out + done.err


PACKAGE = """\
def sums(worktree, facts, options):
    text = (worktree / "total.py").read_text()
    return {"passed": options["word"] in text, "message": "no sum", "params": {"found": text}}
"""


@pytest.mark.full
@pytest.mark.spec("2.4", "6.1")
def test_a_custom_validator_is_a_check_of_an_installed_package(project: RegistryProject) -> None:
    """It gives the params of its pattern itself, and gets those of the condition."""
    project.prepare(WRONG, RIGHT)
    package = project.folder / "package"
    (package / "sums-1.0.dist-info").mkdir(parents=True)
    (package / "sums_check.py").write_text(PACKAGE)
    (package / "sums-1.0.dist-info" / "METADATA").write_text("Name: sums\nVersion: 1.0\n")
    entry = "[yaoki.checks]\nsums = sums_check:sums\n"
    (package / "sums-1.0.dist-info" / "entry_points.txt").write_text(entry)
    project.env["PYTHONPATH"] = str(package)
    held = json.loads(REGISTRY.read_text())
    words = {"edition": "failed", "adaptation": "no-sum", "params": ["found"]}
    held["completionPatterns"] = {"no-sum": words}
    held["validators"] = {"sums": {"type": "custom", "failurePattern": "no-sum"}}
    condition = {"validator": "sums", "params": {"word": "sum("}}
    held["steps"][STEP]["completionConditions"] = [condition]
    file = project.repo / ".yaoki" / "prompts" / "steps/retry/issue/f_failed_no-sum.md"
    file.parent.mkdir(parents=True)
    file.write_text("---\nparams: [found]\n---\nThis sums nothing: {{ found }}\n")

    done = project.yaoki("run", project.plan(held, "steps_registry.json"))

    assert done.code == 0, done.out + done.err
    task = project.task(STEP)
    assert (task["state"], task["attempt"]) == ("DONE", 2)
    assert f"This sums nothing: {WRONG}" in project.prompt(task, 2)


@pytest.mark.spec("2.4", "7.1")
def test_checks_of_the_settings_may_accompany_those_of_a_registry(project: RegistryProject) -> None:
    """A planner may use them for its tasks, so every catalogue contains them."""
    words = 'agent = "actor"\nplanner = "actor"\n[checks.own]\nrun = ["true"]'
    project.prepare(RIGHT, settings=words)

    done = project.yaoki("validate", str(REGISTRY))

    assert (done.code, done.err) == (0, ""), done
