"""Failure messages: classification, named cause, and the command that helps."""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.acceptance.project import GIT_IDENTITY, SETTINGS, WITHOUT_PLUGINS, Project
from yaoki.adapters.system.files import free_disk_bytes
from yaoki.core.text import format_bytes

pytestmark = pytest.mark.acceptance


def plan_of_one(agent: Mapping[str, Any], check: str, **task: Any) -> dict[str, Any]:
    """A plan with one task, one agent and one shell check."""
    return {
        "goal": "x",
        "agents": {"m": agent},
        "agent": "m",
        "checks": {"c": {"shell": check, "env": WITHOUT_PLUGINS}},
        "tasks": [{"id": "t", "goal": "x", **task}],
    }


def shell(words: str) -> dict[str, Any]:
    return {"command": ["sh", "-c", words], "prompt": "argument"}


# ------------------------------------------------------------------ an agent that cannot start


@pytest.mark.spec("4.2", "4.7", "10.3")
def test_a_missing_interpreter_is_reported_as_missing_with_both_remedies(project: Project) -> None:
    """The word `permission` in a path once decided the classification, and formerly only the
    first remedy was shown.
    """
    agent = project.folder / "permission" / "agent"
    agent.parent.mkdir()
    agent.write_text("#!/no/such/interpreter\n")
    agent.chmod(0o755)
    plan = project.plan(plan_of_one({"command": [str(agent)]}, "test -f x"))

    done = project.yaoki("run", plan, "--quiet")

    assert done.code == 4, done.out + done.err
    (decided,) = [e["data"] for e in project.events("t") if e["event"] == "ESCALATE_DECISION"]
    assert decided["failure"]["code"] == "RESOURCE_NOT_FOUND"
    (entry,) = [e["data"] for e in project.events("t") if e["event"] == "ESCALATE_EXECUTED"]
    assert "check the name and the path" in entry["user_message"]
    assert "install what is missing" in entry["user_message"]


# ------------------------------------------------------------------ checks that are not fit


@pytest.mark.spec("16.4", "0.5")
def test_a_suite_without_tests_is_reported_with_its_line_of_counts(project: Project) -> None:
    """Its last line is OK, which says the contrary."""
    (project.repo / "empty").mkdir()
    (project.repo / "empty" / "__init__.py").write_text("")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "no tests")
    # Later versions of Python say more than this at the end.
    check = "python3 -m unittest discover -s empty 2>&1 | sed 's/NO TESTS RAN/OK/'"
    plan = plan_of_one(shell("echo x > x.txt"), check, retry={"max_retries": 0})

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 4, done.out + done.err
    question = project.task("t")["question"]
    assert "it ran no tests" in question
    assert "Ran 0 tests" in question
    assert ": OK" not in question


SPACES = "'a  b' == 'a b'"


@pytest.mark.spec("16.4", "10.3")
@pytest.mark.parametrize(
    ("script", "runner"),
    [
        (f"def test_x():\n    assert {SPACES}\n", f"{sys.executable} -m pytest -q"),
        (f'raise SystemExit("""found: {SPACES}""")\n', sys.executable),
    ],
    ids=["read", "last-line"],
)
def test_spaces_inside_a_failure_line_stay_as_the_check_printed_them(
    project: Project, script: str, runner: str
) -> None:
    """With one space for each run of spaces, both sides of the comparison would read alike."""
    agent = {**shell('printf %s "$SCRIPT" > test_x.py'), "env": {"SCRIPT": script}}
    plan = plan_of_one(agent, f"{runner} test_x.py", retry={"max_retries": 1})

    done = project.yaoki("run", project.plan(plan))

    assert done.code == 4, done.out + done.err
    task = project.task("t")
    texts = (project.yaoki("why", "t").out, project.yaoki("report").out, project.prompt(task, 2))
    for shown in (done.out, task["question"], *texts):
        assert SPACES in shown, shown
        assert "'a b' == 'a b'" not in shown


# ------------------------------------------------------------------ the user's checkout


@pytest.mark.spec("3.10", "0.2")
def test_changed_files_of_the_checkout_are_named(project: Project) -> None:
    """Two tracked files of the checkout change while the agent runs."""
    edit = f"echo more >> {project.repo}/README; echo '# more' >> {project.repo}/yaoki.toml"
    plan = plan_of_one(shell(f"echo x > x.txt; {edit}"), "test -f x.txt")

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    assert "changed while the agent was at work: files (README, yaoki.toml)" in done.out


# ------------------------------------------------------------------ the agent's own note

GARBAGE = {
    "binary": r"printf '\377\376\000\001\033[31mred\207' > $YAOKI_RESULT",
    "prose": "echo 'all went well' > $YAOKI_RESULT",
    "list": "echo '[1, 2]' > $YAOKI_RESULT",
}


def plan_of_agents(check: str, scripts: Mapping[str, str], **task: Any) -> dict[str, Any]:
    """A task for each script, with an agent of the same name."""
    return {
        "goal": "x",
        "agents": {name: shell(words) for name, words in scripts.items()},
        "checks": {"c": {"shell": check}},
        "tasks": [{"id": name, "goal": "x", "agent": name, **task} for name in scripts],
    }


@pytest.mark.full
@pytest.mark.spec("14.4", "16.8", "0.6")
def test_an_unreadable_result_file_is_reported_as_unreadable(project: Project) -> None:
    """It is no report of a failure, and no word of success either."""
    scripts = {name: f"echo x > x.txt; {words}" for name, words in GARBAGE.items()}
    plan = plan_of_agents("test -f x.txt", scripts, retry={"max_retries": 1})

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 4, done.out + done.err
    for name in GARBAGE:
        task = project.task(name)
        assert task["landed"] is None
        assert "the agent's result file cannot be read" in task["question"]
        prompt = project.prompt(task, 2)
        assert "could not be read" in prompt
        for words in (done.out, task["question"], prompt, project.yaoki("why", name).out):
            assert "reported that it failed" not in words
            assert not set(words) & set("\0\1\x1b\x87\ufffd"), "nothing binary is shown"


# ------------------------------------------------------------------ work that is somewhere else

COMMIT = "git add -A; git -c user.name=a -c user.email=a@b commit -qm work"
ELSEWHERE = {
    "branch": (
        f"git checkout -q -b feature; echo x > x.txt; {COMMIT}; git checkout -q -",
        "commits on branch feature",
    ),
    "reset-away": (
        # Another content: in the same second it would be the very commit of the branch above.
        f"echo y > y.txt; {COMMIT}; git reset -q --hard HEAD^",
        "commits on no branch any more",
    ),
    "submodule": ("echo edit >> lib/s.txt", "uncommitted changes inside submodule lib"),
}


@pytest.mark.full
@pytest.mark.spec("3.5", "4.3", "0.2")
def test_the_prompt_names_the_place_where_an_agent_worked_by_mistake(project: Project) -> None:
    """With the message "nothing was changed" alone, the agent would repeat its mistake.

    One after the other: the prompt for the idle agent names no other place.
    """
    with_submodule(project)
    update = "git -c protocol.file.allow=always submodule update -q --init"
    works = {"idle": "true", **{name: words for name, (words, _) in ELSEWHERE.items()}}
    scripts = {
        name: f"test $YAOKI_ATTEMPT = 1 && {{ {update}; {words}; }}; true"
        for name, words in works.items()
    }

    plan = project.plan(plan_of_agents("test -f README", scripts, retry={"max_retries": 1}))
    done = project.yaoki("run", plan, "--quiet", "--parallel", "1")

    assert done.code == 4, done.out + done.err
    for name, (_, where) in ELSEWHERE.items():
        task = project.task(name)
        assert where in project.prompt(task, 2)
        assert where in task["question"]
    prompt = project.prompt(project.task("idle"), 2)
    assert "nothing was changed" in prompt
    assert "elsewhere" not in prompt


def with_submodule(project: Project) -> None:
    """A repository `lib` of one file, checked out as a submodule of the place's own."""
    other = project.folder / "lib"
    other.mkdir()
    (other / "s.txt").write_text("one\n")
    project.git("-C", str(other), "init", "-q", "-b", "main")
    project.git("-C", str(other), "add", "-A")
    project.git("-C", str(other), *GIT_IDENTITY, "commit", "-qm", "begin")
    project.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "lib")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "with lib")


# ------------------------------------------------------------------ disks

SHARED = Path("/dev/shm")


@pytest.mark.full
@pytest.mark.spec("11.5", "0.5")
def test_the_disk_of_the_worktrees_is_checked_as_well_as_that_of_the_store(
    project: Project,
) -> None:
    """Worktrees may be on another disk than the repository, and it is they that fill it."""
    if not SHARED.is_dir() or free_disk_bytes(SHARED) >= free_disk_bytes(project.repo):
        pytest.skip(f"{SHARED} is no smaller disk than that of the tests")
    floor = (free_disk_bytes(SHARED) + free_disk_bytes(project.repo)) // 2
    project.settings(f"{SETTINGS}disk_free_bytes = {floor}\n")
    with TemporaryDirectory(dir=SHARED, prefix="yaoki-tests-") as home:
        project.env["YAOKI_HOME"] = home
        plan = project.plan(plan_of_one(shell("echo x > x.txt"), "test -f x.txt"))
        with project.start("run", plan) as running:
            assert running.stdout is not None
            words = next(line for line in running.stdout if "no new task is started" in line)
            running.send_signal(signal.SIGINT)
            running.communicate()

    assert f"free, {format_bytes(floor)} needed at {home}" in words
    assert "yaoki prune" in words


# ------------------------------------------------------------------ tests that a task must change


@pytest.mark.full
@pytest.mark.spec("6.6", "10.4")
def test_a_question_about_weaker_tests_names_the_key_that_allows_them(project: Project) -> None:
    """The task asks for other behaviour and may change the tests, but not loosen them."""
    tests = project.repo / "tests" / "test_rule.py"
    tests.parent.mkdir()
    tests.write_text("def test_rule():\n    assert len('eight888') >= 8\n")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "a rule")
    agent = shell("echo x > x.txt; printf 'def test_rule():\\n    pass\\n' > tests/test_rule.py")
    plan = plan_of_one(
        agent, "test -f x.txt", scope=["x.txt", "tests/**"], retry={"max_retries": 1}
    )

    done = project.yaoki("run", project.plan(plan), "--quiet")

    task = project.task("t")
    assert done.code == 4, done.out + done.err
    assert "test-integrity" in task["question"]
    assert "allow_weaker_tests: true" in task["question"]
    assert "--status conflict" in project.prompt(task, 2)
