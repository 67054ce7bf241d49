"""Playbooks run unchanged through the installed program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import GIT_IDENTITY, SETTINGS, Completed, Project, writes
from tests.acceptance.test_agent_failures import event_data
from tests.formats.playbook.test_playbook import HEAD, PLAYBOOK, box, phase

pytestmark = pytest.mark.acceptance

# The seed's playbook has two dozen tasks, one after the other.
LONG_S = 240

SMALL = HEAD.replace("it is small", "command: grep -q good a.txt")

GUARD = "# last-fail-reason iteration-count AskUserQuestion\n"
FILES = {
    ".claude/session-state/README.md": "What the files here are for.\n",
    "critic-guard.sh": GUARD,
    "executor-guard.sh": "# last-fail-reason systemMessage\n",
    "playbook-format.md": "max_iterations: retries by itself\n",
    "ARCHITECTURE.md": "Auto-Retry\n",
}
# A judge that looks for itself, by the name of what it is asked about.
JUDGE = """\
case "$YAOKI_CHECK" in
  p1.1.technical) test -d .claude/session-state ;;
  p1.1.completeness) test -s .claude/session-state/README.md ;;
  p1.2.technical) sh -n critic-guard.sh ;;
  p2.1.technical) sh -n executor-guard.sh ;;
  p_final.1.*) true ;;
  done_when.1) grep -q last-fail-reason critic-guard.sh ;;
  done_when.2) grep -q systemMessage executor-guard.sh ;;
  done_when.3) grep -q iteration-count critic-guard.sh ;;
  done_when.4) grep -q AskUserQuestion critic-guard.sh ;;
  done_when.5) grep -q retries playbook-format.md ;;
  done_when.6) grep -q Auto-Retry ARCHITECTURE.md ;;
  a.1.technical) grep -q good a.txt ;;
esac
if [ $? = 0 ]; then
  echo '{"pass": true, "reason": "it holds", "missing": [], "next": "continue"}'
else
  printf '{"pass": false, "reason": "%s does not hold", "missing": ["it"], ' "$YAOKI_CHECK"
  echo '"next": "continue"}'
fi
"""


class PlaybookProject(Project):
    """A repository whose claudecode plays a script, and whose judge looks."""

    def prepare(self, script: dict[str, Any], files: dict[str, str] | None = None) -> None:
        (self.folder / "judge.sh").write_text(JUDGE)
        acts = self.plan({"tasks": script}, "scenario.json")
        judge = json.dumps(["sh", str(self.folder / "judge.sh")])
        agents = f'[agents.claudecode]\npreset = "scripted"\noptions = {{scenario = "{acts}"}}\n'
        agents += f'[agents.judge]\ncommand = {judge}\nprompt = "file"\n'
        self.settings(f"{SETTINGS}\n{agents}")
        for path, text in (files or {}).items():
            (self.repo / path).parent.mkdir(parents=True, exist_ok=True)
            (self.repo / path).write_text(text)
        self.git("add", "-A")
        self.git(*GIT_IDENTITY, "commit", "-qm", "a place for a playbook")

    def playbook(self, text: str) -> str:
        file = self.folder / "playbook-small.md"
        file.write_text(text)
        return str(file)

    def run_playbook(self, file: str) -> Completed:
        """As `yaoki run`, with the time that a long playbook takes on a busy machine."""
        started = self.start("run", "--quiet", file)
        out, _ = started.communicate(timeout=LONG_S)
        return Completed(started.returncode, out, "")

    def journal(self, task: str) -> list[dict[str, Any]]:
        document: list[dict[str, Any]] = self.query("trace", task, "--json").document["entries"]
        return document


@pytest.fixture
def project(tmp_path: Path, pycache: Path, store_url: str) -> PlaybookProject:
    return PlaybookProject(tmp_path, pycache, store_url)


def failed_checks(entries: list[dict[str, Any]]) -> list[str]:
    """The checks that failed, in the order in which they did."""
    finished = event_data(entries, "CHECK_FINISHED")
    return [one["check"] for one in finished if one["outcome"] == "FAILED"]


SCRIPT: dict[str, Any] = {
    # The folder is there, and nothing in it says what it is for.
    "p1.1": [
        writes(".claude/session-state/last-fail-reason", "none\n"),
        writes(".claude/session-state/README.md"),
    ],
    "p1.2": [writes("critic-guard.sh", GUARD)],
    "p2.1": [writes("executor-guard.sh", FILES["executor-guard.sh"])],
    "p4.1": [writes("playbook-format.md", FILES["playbook-format.md"])],
    "p4.2": [writes("ARCHITECTURE.md", FILES["ARCHITECTURE.md"])],
    **{name: [writes(f"notes/{name}.md")] for name in ("p2.2", "p3.1", "p3.2")},
    "default": [["nothing"]],
}
HOOK = {".claude/hooks/generate-repository-map.sh": "echo map > repository-map.yaml\n"}


@pytest.mark.full
@pytest.mark.timeout(LONG_S + 60)
@pytest.mark.spec("2.5", "9.1", "6.7", "6.9")
def test_the_original_playbook_runs_unchanged_to_its_end(project: PlaybookProject) -> None:
    project.prepare(SCRIPT, {**HOOK, "tmp/README.md": "kept\n", "tmp/junk": "gone\n"})

    done = project.run_playbook(str(PLAYBOOK))

    assert done.code == 0, done.out
    status = project.status()
    tasks = {task["name"]: task for task in status["tasks"]}
    assert {task["state"] for task in tasks.values()} == {"DONE"}
    assert len(tasks) == 8 + 5 + 6 + 3 + 1
    assert (tasks["p1.1"]["attempt"], tasks["p2.2"]["attempt"]) == (2, 1)
    assert failed_checks(project.journal("p1.1")) == ["p1.1.completeness"]
    again = project.prompt(tasks["p1.1"], 2)
    assert "p1.1.completeness does not hold" in again
    assert "README.md が存在し用途が説明されている" in again
    branch = status["run_branch"]
    assert project.show(branch, "critic-guard.sh") == GUARD.strip()
    assert project.show(branch, "repository-map.yaml") == "map"
    assert project.git("ls-tree", "--name-only", branch, "tmp/") == "tmp/README.md"
    assert project.git("branch", "--list", "feat/auto-retry") == ""


@pytest.mark.full
@pytest.mark.spec("2.5", "0.1", "9.3")
def test_a_done_when_broken_by_hand_fails_p_final_which_names_it(project: PlaybookProject) -> None:
    """All boxes are ticked, so no agent works; what they claim is not true any more."""
    broken = {**FILES, "critic-guard.sh": "# last-fail-reason AskUserQuestion\n"}
    project.prepare({"default": [["nothing"]]}, broken)
    claims = "".join(f"  - claim {n} of the project\n" for n in range(1, 5))
    phases = phase("a", box("a.1", done=True)) + phase("p_final", box("p_final.1", done=True))
    last = "\n## final_tasks\n\n- [ ] **ft1**: the rest\n  - command: `true`\n"
    text = HEAD.replace("  - it is small\n", claims) + phases + last

    done = project.yaoki("run", "--quiet", project.playbook(text))

    assert done.code == 4, done.out + done.err
    tasks = {task["name"]: task for task in project.status()["tasks"]}
    stuck = [name for name, task in tasks.items() if task["state"] == "ESCALATED"]
    assert stuck == ["p_final.done_when.3"]
    task = tasks[stuck[0]]
    assert "check done_when.3: done_when.3 does not hold" in task["question"]
    assert set(failed_checks(project.journal(stuck[0]))) == {"done_when.3"}
    assert tasks["p_final.done_when.4"]["state"] == "DONE"
    assert (tasks["ft1"]["state"], tasks["ft1"]["cause"]) == ("WAITING", task["id"])
    assert "done_when" not in tasks
    assert "p_final.done_when.3" in done.out


@pytest.mark.full
@pytest.mark.spec("2.5", "0.4", "6.9")
def test_max_iterations_limits_the_attempts_and_each_failed_validation_is_named(
    project: PlaybookProject,
) -> None:
    project.prepare({"a.1": [writes("a.txt", f"try {n}\n") for n in range(1, 5)]})
    file = project.playbook(HEAD + phase("a", box("a.1"), max_iterations=2))

    done = project.yaoki("run", "--quiet", file)

    assert done.code == 4, done.out + done.err
    task = project.task("a.1")
    assert (task["state"], task["attempt"], task["reason"]) == ("ESCALATED", 2, "MAX_RETRIES")
    assert failed_checks(project.journal("a.1")) == ["a.1.technical"] * 2
    again = project.prompt(task, 2)
    assert "Failed criterion: `a.1.technical`" in again
    for words in ("technical: a.1 works", "consistency: a.1 fits", "completeness: a.1 is whole"):
        assert words in again


@pytest.mark.full
@pytest.mark.spec("2.5", "0.6", "3.5")
def test_a_failing_final_command_lands_nothing_and_is_escalated(project: PlaybookProject) -> None:
    project.prepare({"a.1": [writes("a.txt")]})
    bad = "- [ ] **ft1**: half of it\n  - command: `echo half > half.txt; exit 3`\n"
    after = "- [ ] **ft2**: the rest\n  - command: `true`\n"
    text = SMALL + phase("a", box("a.1")) + f"\n## final_tasks\n\n{bad}{after}"

    done = project.yaoki("run", "--quiet", project.playbook(text))

    assert done.code == 4, done.out + done.err
    first, second = project.task("ft1"), project.task("ft2")
    assert (first["state"], first["landed"]) == ("ESCALATED", None)
    assert (second["state"], second["cause"]) == ("WAITING", first["id"])
    ended = event_data(project.journal("ft1"), "AGENT_FINISHED")
    assert {one["exit"]["code"] for one in ended} == {3}
    assert "ended with exit code 3" in project.yaoki("logs", "ft1").out
    assert "half.txt" not in project.git("ls-tree", "--name-only", project.status()["run_branch"])


@pytest.mark.spec("2.5", "6.1")
def test_a_final_command_without_output_and_command_validations_pass(
    project: PlaybookProject,
) -> None:
    project.prepare({"a.1": [writes("a.txt")]})
    command = "test_command: `grep -q good a.txt && echo PASS || echo FAIL`"
    boxes = box("a.1", command).replace('"a.1 fits"', '"`test -s a.txt`"')
    last = "\n## final_tasks\n\n- [ ] **ft1**: rest\n  - command: `exit 0`\n"
    file = project.playbook(SMALL + phase("a", boxes) + last)

    done = project.yaoki("run", "--quiet", file)

    assert done.code == 0, done.out + done.err
    finished = event_data(project.journal("a.1"), "CHECK_FINISHED")
    assert [(one["check"], one["outcome"], one["exit_code"]) for one in finished] == [
        ("a.1.test_command", "PASSED", 0),
        ("a.1.consistency", "PASSED", 0),
        # Judges are asked last.
        ("a.1.technical", "PASSED", 0),
        ("a.1.completeness", "PASSED", 0),
    ]
    home = project.repo / ".yaoki" / "runs"
    judged = {file.parent.name for file in home.glob("*/*/*/checks/*/prompt.md")}
    assert judged == {"2-a.1.technical", "4-a.1.completeness"}


@pytest.mark.spec("2.5", "2.2", "12.1")
def test_validate_and_plan_know_playbooks_and_name_a_missing_agent(
    project: PlaybookProject,
) -> None:
    missing = project.yaoki("validate", str(PLAYBOOK))
    project.prepare({"default": [["nothing"]]})
    sound = project.yaoki("validate", str(PLAYBOOK))
    shown = project.yaoki("plan", str(PLAYBOOK), "--json").document
    unused = project.yaoki("validate", str(PLAYBOOK), "--agent", "judge")

    assert missing.code == 2
    assert f"{PLAYBOOK}:65:3: phases.0.subtasks.0.executor: yaoki.toml has no agent" in missing.err
    assert '[agents.claudecode] and below that preset = "claude"' in missing.err
    assert (sound.code, "22 tasks, no problems found" in sound.out) == (0, True)
    first = shown["tasks"][0]
    assert (first["name"], first["checks"][0]) == ("p1.1", "p1.1.technical")
    assert unused.code == 2
    assert "names its own agents" in unused.err
