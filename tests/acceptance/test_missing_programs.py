"""Programs that are missing: named before an agent starts, and by a check that cannot run."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acceptance.project import GIT_IDENTITY, Project, writes
from tests.acceptance.project import a_plan as plan_of_acts
from tests.acceptance.test_init import a_program

pytestmark = pytest.mark.acceptance


def a_plan(project: Project, check: dict[str, Any], **more: Any) -> dict[str, Any]:
    called = project.folder / "called"
    return {
        "goal": "x",
        "agents": {"a": {"command": ["sh", "-c", f"touch {called}; echo x > x.txt"]}},
        "agent": "a",
        "checks": {"c": check},
        "tasks": [{"id": "t", "goal": "x", "retry": {"max_retries": 0}}],
        **more,
    }


@pytest.mark.spec("3.1", "2.2")
def test_run_and_validate_name_every_missing_program_before_an_agent_starts(
    project: Project,
) -> None:
    """Also one inside a line of shell or behind `env`, and those of set-up."""
    held = a_plan(project, {"run": ["no-such-tool", "-q"]})
    held["checks"] |= {
        "line": {"shell": "cd . && no-such-line | cat"},
        "behind": {"run": ["env", "A=1", "no-such-tool"]},
        "known": {"run": ["flutter", "test"]},
        "inside": {"run": ["sh", "-c", "exec no-such-tool"]},
    }
    installs = a_plan(project, {"run": ["sh", "-c", "exec no-such-tool"]})
    installs["setup"] = [["no-such-installer", "all"]]
    plan, other = project.plan(held), project.plan(installs, "installs.json")

    both = [project.yaoki(command, plan) for command in ("validate", "run")]
    setup = [project.yaoki(command, other) for command in ("validate", "run")]

    for done in both:
        assert done.code == 2, done.out
        for words in (
            "check c: the program 'no-such-tool' is not on the PATH",
            "check line: the program 'no-such-line' is not on the PATH",
            "check behind: the program 'no-such-tool' is not on the PATH",
            "check known: the program 'flutter' is not on the PATH",
            "install it, or change",
            "5 programs are missing",
        ):
            assert words in done.err
    for done in setup:
        assert done.code == 2, done.out
        words = "set-up no-such-installer all: the program 'no-such-installer' is not on the PATH"
        assert words in done.err
    assert not (project.folder / "called").exists()
    assert not project.has_store()


@pytest.mark.spec("2.2", "12.1")
def test_validate_says_that_an_agent_is_missing_on_this_machine(project: Project) -> None:
    """The plan itself is sound: it may be checked where no agent is installed."""
    plan = a_plan(project, {"shell": "test -f x.txt"})
    plan["agents"]["a"]["command"] = ["no-such-agent", "-p"]

    done = project.yaoki("validate", project.plan(plan))
    listed = project.yaoki("validate", project.plan(plan), "--json").document
    ran = project.yaoki("run", project.plan(plan))

    missing = "agent 'a': 'no-such-agent' is not on the PATH"
    assert done.code == 0, done.err
    assert f"note: {missing}, so this plan cannot run on this machine" in done.out
    assert "next: install no-such-agent, or name another command for 'a'" in done.out
    assert (listed["valid"], listed["missing_agents"]) == (True, [missing])
    assert ran.code == 2
    assert missing in ran.err


@pytest.mark.spec("2.2", "12.1")
def test_plan_and_a_dry_run_name_what_is_missing_on_this_machine(project: Project) -> None:
    held = a_plan(project, {"run": ["no-such-tool"]})
    held["agents"]["a"]["command"] = ["no-such-agent"]
    plan = project.plan(held)

    shown, dry = project.yaoki("plan", plan), project.yaoki("run", plan, "--dry-run")
    listed = project.yaoki("plan", plan, "--json").document

    agent = "agent 'a': 'no-such-agent' is not on the PATH"
    check = "check c: the program 'no-such-tool' is not on the PATH"
    for done in (shown, dry):
        assert done.code == 0, done.err
        for words in (agent, check):
            assert f"note: {words}, so this plan cannot run" in " ".join(done.out.split())
        assert "next: install" in done.out
    assert (listed["missing_agents"], listed["missing_programs"]) == ([agent], [check])


@pytest.mark.spec("2.2", "0.6")
def test_run_and_validate_name_a_missing_agent_and_a_missing_check_at_once(
    project: Project,
) -> None:
    held = a_plan(project, {"run": ["no-such-tool"]})
    held["agents"]["a"] = {"preset": "claude"}
    project.env["PATH"] = "/usr/bin:/bin"

    for command in ("validate", "run"):
        done = project.yaoki(command, project.plan(held))

        said = " ".join(done.err.split())
        assert done.code == 2, done.out
        assert "2 programs are missing or cannot run here" in said
        assert "check c: the program 'no-such-tool' is not on the PATH; install it" in said
        assert "agent 'a': 'claude' is not on the PATH; npm install -g @anthropic-ai/claude" in said
    assert not project.has_store()


@pytest.mark.spec("2.2", "0.6")
def test_run_says_how_a_known_agent_is_installed(project: Project) -> None:
    held = a_plan(project, {"shell": "test -f x.txt"})
    held["agents"]["a"] = {"preset": "claude"}
    project.env["PATH"] = "/usr/bin:/bin"

    done = project.yaoki("run", project.plan(held))

    assert done.code == 2
    assert "agent 'a': 'claude' is not on the PATH" in done.err
    assert "npm install -g @anthropic-ai/claude-code, or name its program" in done.err


@pytest.mark.spec("2.2")
def test_a_program_that_may_come_from_elsewhere_is_not_missing(project: Project) -> None:
    """From set-up, the repository, an alternative, a longer PATH or a function."""
    held = a_plan(project, {"run": ["node_modules/.bin/tool"]})
    held["checks"] |= {
        "repository": {"run": ["./tool"]},
        "fallback": {"shell": "no-such-tool || test -f x.txt"},
        "path": {"shell": "export PATH=$PWD:$PATH; no-such-tool"},
        "function": {"shell": "tool() { test -f x.txt; }; tool"},
        "own-path": {"run": ["tool"], "env": {"PATH": "node_modules/.bin:/usr/bin"}},
    }
    brought = a_plan(project, {"run": ["no-such-tool"]}, setup=[["pip", "install", "no-such-tool"]])

    for plan in (held, brought):
        done = project.yaoki("validate", project.plan(plan))

        assert done.code == 0, done.err


@pytest.mark.spec("0.5", "12.2")
def test_exit_code_127_names_the_command_and_logs_show_standard_error(project: Project) -> None:
    a_program(project.repo / "lint", "eslint-of-nobody .")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "a linter")
    plan = a_plan(project, {"run": ["./lint"]})
    plan["agents"]["a"]["command"][2] += "; echo only here >&2"

    ran = project.yaoki("run", project.plan(plan))
    question = project.task("t")["question"]
    shown = project.yaoki("logs", "t", "--check", "c")
    errors = project.yaoki("logs", "t", "--check", "c", "--err")
    agent = project.yaoki("logs", "t")

    assert ran.code == 4, ran.out + ran.err
    for text in (" ".join(ran.out.split()), question):
        assert "the command 'eslint-of-nobody' was not found" in text
        assert "install eslint-of-nobody, or change checks.c" in text
    assert "nothing on standard output; 1 line on standard error" in shown.err
    assert "--check c --attempt 1 --err" in shown.err
    assert "eslint-of-nobody: not found" in shown.err
    assert "eslint-of-nobody: not found" in errors.out
    assert "nothing on standard output; 1 line on standard error" in agent.err
    assert "only here" in agent.err


@pytest.mark.spec("4.2", "4.6", "10.3")
def test_a_check_that_cannot_start_costs_no_further_agent_runs(project: Project) -> None:
    """An idle agent was blamed for a check without its program, and sent back for it."""
    a_program(project.repo / "lint", "eslint-of-nobody .")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "a linter")
    acts = {"lazy": ["nothing"], "busy": [writes("a.txt"), writes("b.txt"), writes("c.txt")]}
    tasks = [{"id": "lazy", "checks": ["lint"]}, {"id": "busy", "checks": ["script"]}]
    checks = {"lint": {"run": ["./lint"]}, "script": {"run": ["sh", "no-such-script.sh"]}}

    ran = project.yaoki("run", project.plan(plan_of_acts(acts, tasks, checks)))

    assert ran.code == 4, ran.out + ran.err
    assert [project.task(name)["attempt"] for name in ("lazy", "busy")] == [1, 2]
    assert "the command 'eslint-of-nobody' was not found" in project.task("lazy")["question"]
    question = project.task("busy")["question"]
    assert "no-such-script.sh" in question
    assert f"yaoki plan recheck {project.status()['run']}" in question


@pytest.mark.full
@pytest.mark.spec("4.6", "10.3")
def test_a_mistyped_path_of_a_check_asks_at_the_second_time(project: Project) -> None:
    """The agent of `lost` can bring its file back, and that of `ignored` can commit its file."""
    (project.repo / "kept.py").touch()
    (project.repo / ".gitignore").write_text("*.gen\n")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "a test")
    runner = 'test -e $1 || { echo "ERROR: file or directory not found: $1"; exit 4; }'
    names = {"mistyped": "tests/tset_a.py", "lost": "kept.py", "ignored": "a.gen"}
    checks = {task: {"run": ["sh", "-c", runner, "sh", path]} for task, path in names.items()}
    steps = {"mistyped": "true", "lost": "rm -f kept.py", "ignored": "touch a.gen"}
    agents = {t: {"command": ["sh", "-c", f"{steps[t]}; echo $$ > {t}.txt"]} for t in names}
    tasks = [
        {"id": t, "goal": "x", "agent": t, "checks": [t], "retry": {"max_retries": 2}}
        for t in names
    ]

    ran = project.yaoki(
        "run", project.plan({"goal": "x", "agents": agents, "checks": checks, "tasks": tasks})
    )

    assert ran.code == 4, ran.out + ran.err
    assert project.task("mistyped")["attempt"] == 2
    question = project.task("mistyped")["question"]
    assert "Check mistyped names tests/tset_a.py, which neither the base nor" in question
    assert f"yaoki plan recheck {project.status()['run']}" in question
    assert all(project.task(name)["attempt"] > 2 for name in ("lost", "ignored"))


@pytest.mark.spec("12.1")
def test_doctor_says_that_the_settings_lack_a_setup(project: Project) -> None:
    """`init` of an earlier version left the set-up to the plans."""
    (project.repo / "package.json").write_text('{"devDependencies": {"eslint": "9"}}')
    (project.repo / "package-lock.json").write_text("{}")
    a_program(project.repo / "lint", "eslint-of-nobody .")
    project.settings('[checks.lint]\nrun = ["./lint"]\n')
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "a project")

    done = project.yaoki("doctor", "--checks")

    text = " ".join(done.out.split())
    assert done.code == 1
    assert "the command 'eslint-of-nobody' was not found" in text
    assert "the settings have no set-up: npm ci" in text
    assert "next: yaoki init --again" in done.out
