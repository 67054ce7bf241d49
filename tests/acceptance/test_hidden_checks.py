"""Hidden checks: their files exist in the proof room alone, and agents read no expected value."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import GIT_IDENTITY, WITHOUT_PLUGINS, Project, a_plan
from tests.acceptance.test_agent_failures import event_data
from tests.acceptance.test_sandbox import a_plan as sandboxed_plan
from tests.acceptance.test_sandbox import agent_log, needs_bubblewrap, write_sandbox_settings

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("17.2")]

PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
VISIBLE = "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"
HIDDEN = """\
import pytest

from calc import add


@pytest.mark.parametrize("a, b, total", [(20, 22, 42), (-1, 1, 0)])
def test_adds_any_two_numbers(a, b, total):
    assert add(a, b) == total
"""
# Right for the visible test alone, and no tell-tale.
PARTIAL = "def add(a, b):\n    return a + b if a == b - 1 else a * b - 1\n"
WHOLE = "def add(a, b):\n    return a + b\n"


# The same for a runner that starts at once; what raises LookupError is skipped.
QUICK_HIDDEN = """\
import sys

sys.path.insert(0, ".")
from calc import add


def test_adds_any_two_numbers(a, b, total):
    try:
        return "ok" if add(a, b) == total else "not ok"
    except NotImplementedError:
        return "not ok"
    except LookupError:
        return "skipped"


print("1..2")
found = []
for a, b, total in [(20, 22, 42), (-1, 1, 0)]:
    found.append(test_adds_any_two_numbers(a, b, total))
    name = f"test_adds_any_two_numbers[{a}-{b}-{total}]"
    print(f"ok - {name} # SKIP later" if found[-1] == "skipped" else f"{found[-1]} - {name}")
sys.exit("not ok" in found)
"""
EASY = 'print("1..2", "ok - test_adds_any_two_numbers[20-22-42]", "ok - test_b", sep="\\n")\n'


def write_hidden(project: Project, text: str = HIDDEN, name: str = "test_hidden.py") -> Path:
    folder = project.folder / "acceptance-tests"
    (folder / "acceptance").mkdir(parents=True, exist_ok=True)
    (folder / "acceptance" / name).write_text(text)
    return folder


def plan_with(folder: Path, *attempts: dict[str, str], **more: Any) -> dict[str, Any]:
    checks = {
        "tests": {"run": [*PYTEST, "test_calc.py"], "env": WITHOUT_PLUGINS},
        "acceptance": {
            "run": [*PYTEST, "acceptance"],
            "env": WITHOUT_PLUGINS,
            "hidden": str(folder),
            **more,
        },
    }
    script = {"a": [[{"write": files}] for files in attempts]}
    task = {"id": "a", "goal": "add(a, b) adds two numbers.", "retry": {"max_retries": 2}}
    return a_plan(script, [task], checks)


def quick_plan(folder: Path, *attempts: dict[str, str], **task: Any) -> dict[str, Any]:
    """Like `plan_with`, without pytest."""
    python = f"{sys.executable} -SB"
    visible = f"{python} -c 'from calc import add; assert add(2, 3) == 5'"
    hidden = {"shell": f"{python} acceptance/hidden.py", "pattern": "test-failed"}
    checks = {"tests": {"shell": visible}, "acceptance": {**hidden, "hidden": str(folder)}}
    script = {"a": [[{"write": files}] for files in attempts]}
    return a_plan(script, [{"id": "a", "goal": "add(a, b) adds two numbers.", **task}], checks)


def write_quick_hidden(project: Project, text: str = QUICK_HIDDEN) -> Path:
    return write_hidden(project, text, "hidden.py")


@pytest.fixture
def calc(project: Project) -> Project:
    (project.repo / "calc.py").write_text("def add(a, b):\n    raise NotImplementedError\n")
    (project.repo / "test_calc.py").write_text(VISIBLE)
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "a test")
    return project


def everything_below(folder: Path) -> str:
    """Of the checkout and its .git; the state of yaoki in .yaoki is hidden in the sandbox."""
    files = (
        file
        for file in folder.rglob("*")
        if file.is_file() and ".yaoki" not in file.relative_to(folder).parts
    )
    return "\n".join(file.read_text(errors="replace") for file in files)


def curious_agent(calc: Project, said: Path) -> dict[str, Any]:
    """Its second attempt is right, and asks yaoki for the output of the checks of the first."""
    partial, whole = calc.folder / "partial.py", calc.folder / "whole.py"
    partial.write_text(PARTIAL)
    whole.write_text(WHOLE)
    asks = f"{sys.executable} -m yaoki logs a --attempt 1 --check"
    script = (
        f"if ! test -e {said}; then touch {said}; cp {partial} calc.py; exit; fi\n"
        f"cp {whole} calc.py\n"
        f"for check in acceptance tests; do {asks} $check >> {said} 2>&1; done\n"
        "exit 0"
    )
    return {"command": ["sh", "-c", script]}


@pytest.mark.long
def test_work_that_fits_only_the_visible_tests_does_not_land_and_its_agent_reads_no_value(
    calc: Project,
) -> None:
    """The second attempt is told which behaviour fails, and no value of the hidden test.

    `yaoki logs` is for agents as well, also outside the sandbox; a person reads the whole output.
    """
    folder, said = write_hidden(calc), calc.folder / "said"
    plan = plan_with(folder, rerun=False)
    plan |= {"agents": {"curious": curious_agent(calc, said)}, "agent": "curious"}

    done = calc.yaoki("run", calc.plan(plan))

    assert done.code == 0, done.out + done.err
    task = calc.task("a")
    assert task["attempt"] == 2
    first, second = calc.prompt(task, 1), calc.prompt(task, 2)
    assert "acceptance: hidden" in first
    assert str(folder) not in first + second
    assert "test_adds_any_two_numbers" in second
    assert_keeps_secrets(second, "42", "20-22", "assert", "test_hidden")
    assert_only_people_read_the_output(calc, said.read_text())
    words = "an agent outside a sandbox can find the files of hidden checks"
    assert words in " ".join(done.out.split())
    landed = calc.git("ls-tree", "-r", "--name-only", task["landed"])
    assert "acceptance" not in landed
    assert "acceptance PASSED, 2 tests, hidden: files " in calc.yaoki("why", "a").out
    calc.yaoki("report", "--receipt", str(calc.folder / "receipt"))
    receipt = json.loads((calc.folder / "receipt").read_text())
    (check,) = [one for one in receipt["landed"][0]["checks"] if one["check"] == "acceptance"]
    assert len(check["hidden"]) == 64
    assert calc.yaoki("verify", str(calc.folder / "receipt")).code == 0
    assert calc.yaoki("verify", "--replay").code == 0


def assert_keeps_secrets(prompt: str, *secrets: str) -> None:
    """The ids of commits and runs contain any two digits."""
    words = re.sub(r"\b[0-9a-z]{8,40}\b", "", prompt)
    for secret in secrets:
        assert secret not in words, secret


def assert_only_people_read_the_output(calc: Project, told: str) -> None:
    assert "only people may read the output of a hidden check" in told
    assert "yaoki why" in told
    assert "1 passed" in told, "the output of the visible check"
    assert "== total" not in told
    assert "== total" in calc.yaoki("logs", "a", "--attempt", "1", "--check", "acceptance").out


@pytest.mark.full
def test_neither_the_user_nor_the_agent_changes_hidden_files_after_the_submission(
    calc: Project,
) -> None:
    """They were frozen then; and a file of the same name that the agent writes is replaced."""
    folder = write_quick_hidden(calc)
    attempt = {"calc.py": PARTIAL, "acceptance/hidden.py": EASY}
    plan = calc.plan(quick_plan(folder, attempt, attempt, retry={"max_retries": 1}))
    assert calc.yaoki("plan", "submit", plan).code == 0
    write_quick_hidden(calc, EASY)

    done = calc.yaoki("resume")

    assert done.code == 4, done.out + done.err
    assert calc.task("a")["state"] == "ESCALATED"
    events = calc.events("a")
    failed = {
        one["check"] for one in event_data(events, "CHECK_FINISHED") if one["outcome"] == "FAILED"
    }
    assert failed == {"acceptance"}


@pytest.mark.full
def test_a_comparison_of_test_counts_shows_no_name_of_a_hidden_test(calc: Project) -> None:
    """The agent skips hidden tests that passed before its change."""
    folder = write_quick_hidden(calc)
    (calc.repo / "calc.py").write_text(WHOLE)
    calc.git(*GIT_IDENTITY, "commit", "-qam", "right")
    skips = "def add(a, b):\n    if a > 9:\n        raise LookupError('later')\n    return a + b\n"
    attempts = [{"calc.py": skips}] * 2

    done = calc.yaoki("run", calc.plan(quick_plan(folder, *attempts, retry={"max_retries": 1})))

    assert done.code == 4, done.out + done.err
    assert "test-integrity" in calc.task("a")["question"]
    assert_keeps_secrets(calc.prompt(calc.task("a"), 2), "20-22", "42", "hidden.py")


@pytest.mark.full
def test_hidden_checks_have_a_proof_room_of_their_own_and_leave_nothing(calc: Project) -> None:
    """What the code under test leaves there, no visible check finds; and no hidden file is left in
    a worktree or the repository.
    """
    plan = quick_plan(write_quick_hidden(calc), {"calc.py": WHOLE})
    plan["setup"] = [["sh", "-c", f"echo x >> '{calc.folder}/set up' && echo made > made.txt"]]
    (calc.repo / ".gitignore").write_text("made.txt\n")
    calc.git("add", "-A")
    calc.git(*GIT_IDENTITY, "commit", "-qm", "ignore")
    for name, check in plan["checks"].items():
        check["shell"] = f"test -f made.txt && pwd > {calc.folder}/{name}.place && {check['shell']}"

    assert calc.yaoki("run", "--quiet", calc.plan(plan)).code == 0

    assert (calc.folder / "set up").read_text() == "x\n" * 3, "worktree and rooms"
    places = {(calc.folder / f"{name}.place").read_text() for name in plan["checks"]}
    assert len(places) == 2
    left = everything_below(calc.repo)
    assert "test_adds_any_two_numbers" not in left
    assert "(20, 22, 42)" not in left


@pytest.mark.full
@pytest.mark.spec("14.3")
def test_in_the_sandbox_neither_the_agent_nor_visible_checks_see_the_folder(
    project: Project,
) -> None:
    """The home folder is readable in the sandbox, also this one in a temporary folder."""
    needs_bubblewrap()
    write_sandbox_settings(project, mode="on")
    home = project.folder / "home of the user"
    project.env["HOME"] = str(home)
    folder = home / "acceptance-tests"
    folder.mkdir(parents=True)
    (folder / "expected.txt").write_text("good\n")
    (home / "seen.txt").write_text("seen\n")
    looks = f"cat '{home}/seen.txt' '{folder}/expected.txt'"
    plan = json.loads(Path(sandboxed_plan(project, f"{looks}; exit 0")).read_text())
    plan["checks"] = {
        "visible": {"shell": f"! test -e '{folder}/expected.txt' && grep -q good a.txt"},
        # Without a network there is no route: only the head of the table.
        "hidden": {
            "shell": "cmp a.txt expected.txt && test $(wc -l < /proc/net/route) -le 1",
            "hidden": str(folder),
        },
    }
    plan["tasks"][0]["checks"] = ["visible", "hidden"]
    plan["agents"]["bold"]["command"][2] = f"{looks}\necho good > a.txt"

    done = project.yaoki("run", project.plan(plan))

    assert done.code == 0, done.out + done.err
    assert agent_log(project).splitlines()[:1] == ["seen"]
    assert "good" not in agent_log(project)


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("missing", "there is no folder"),
        ("repo/tests", "is not apart from"),
        ("", "is not apart from"),
        ("empty", "has no files"),
        ("linked", "is not a plain file"),
    ],
)
def test_a_folder_that_agents_could_see_or_nobody_can_read_is_refused(
    calc: Project, place: str, words: str
) -> None:
    (calc.repo / "tests").mkdir()
    (calc.folder / "empty").mkdir()
    (calc.folder / "linked").mkdir()
    (calc.folder / "linked" / "test_a.py").symlink_to("/etc/hostname")
    plan = calc.plan(plan_with(calc.folder / place, {"calc.py": WHOLE}))

    for command in ("validate", "run"):
        done = calc.yaoki(command, plan)

        assert done.code == 2, done.out + done.err
        assert "checks.acceptance.hidden: " in done.err
        assert words in done.err


@pytest.mark.full
def test_only_a_command_can_be_hidden(calc: Project) -> None:
    plan = plan_with(write_hidden(calc), {"calc.py": WHOLE})
    plan["checks"]["acceptance"] = {"file": {"path": "a", "exists": True}, "hidden": True}

    done = calc.yaoki("validate", calc.plan(plan))

    assert done.code == 2
    assert "only a command can be hidden" in done.err


@pytest.mark.full
def test_an_agent_that_tries_the_plan_on_the_base_reads_no_value_of_a_hidden_check(
    calc: Project,
) -> None:
    plan = calc.plan(quick_plan(write_quick_hidden(calc), {"calc.py": WHOLE}))

    shown = calc.yaoki("plan", plan, "--baseline").out
    told = calc.yaoki("plan", plan, "--baseline", env={"YAOKI_TASK": "a"}).out

    assert "FAILED acceptance" in shown
    assert "20-22" in shown
    assert "the hidden check fails: 1 behaviour: test_adds_any_two_numbers" in " ".join(
        told.split()
    )
    assert "20-22" not in told
