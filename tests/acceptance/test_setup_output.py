"""Files that set-up makes and git does not ignore: no agent made them, and none of them lands."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acceptance.project import GIT_IDENTITY, Project, a_plan, file_contains, writes
from tests.acceptance.test_saved_work import saved_files

pytestmark = pytest.mark.acceptance

FOLDERS = ("node_modules/x/tests", ".venv/lib", "build/lib", "pkg.egg-info", "made/inner")
INSTALL = f"""\
mkdir -p {" ".join(FOLDERS)}
for folder in {" ".join(FOLDERS)}; do echo 'def test_x(): pass  # TODO' > $folder/test_x.py; done
echo made > generated.py
"""
SETUP = [["sh", "-c", INSTALL]]
COMMIT = f"git add -A -f && git {' '.join(GIT_IDENTITY)} commit -qm all"


def run_agent(project: Project, *attempts: Any, **more: Any) -> int:
    """One task with these acts; its check wants a.txt, and that set-up ran where it runs."""
    check = file_contains("a.txt")
    check["shell"] = f"test -f node_modules/x/tests/test_x.py && {check['shell']}"
    tasks = [{"id": "a", "checks": ["ok"], "retry": {"max_retries": len(attempts) - 1}}]
    plan = a_plan({"a": list(attempts)}, tasks, {"ok": check}, setup=SETUP, **more)
    return project.yaoki("run", project.plan(plan), "--quiet").code


def shell(line: str) -> list[Any]:
    return [{"run": ["sh", "-c", line]}]


def landed_files(project: Project) -> list[str]:
    branch = project.status()["run_branch"]
    return project.git("diff", "--name-only", f"main...{branch}").splitlines()


def warnings(project: Project) -> str:
    notes = [entry["data"] for entry in project.events("a") if entry["event"] == "WARNING"]
    return "\n".join(note["message"] for note in notes)


@pytest.mark.spec("16.1", "3.2")
def test_an_agent_that_commits_all_files_lands_only_its_own(project: Project) -> None:
    code = run_agent(project, shell(f"echo good > a.txt; {COMMIT}"))

    assert (code, landed_files(project)) == (0, ["a.txt"]), project.task("a")["question"]
    assert warnings(project) == ""


@pytest.mark.full
@pytest.mark.spec("16.1", "3.2", "3.7")
def test_what_set_up_makes_is_no_work_and_stays_for_a_retry(project: Project) -> None:
    files = ("generated.py", *(f"{folder}/test_x.py" for folder in FOLDERS))
    see = " && ".join(f"test -f {file}" for file in files)
    code = run_agent(project, writes("a.txt", "bad\n"), shell(f"{see} && echo good > a.txt"))

    assert (code, landed_files(project)) == (0, ["a.txt"]), project.task("a")["question"]
    assert warnings(project) == ""
    assert not any(file in saved_files(project) for file in files)


@pytest.mark.full
@pytest.mark.spec("16.1", "3.2")
def test_what_a_failed_set_up_left_is_not_saved_as_work(project: Project) -> None:
    """It may be gigabytes of dependencies, and set-up makes it again."""
    (project.repo / ".gitignore").write_text("node_modules/\n")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "dependencies are ignored")
    install = "mkdir -p node_modules/x && echo made > node_modules/x/index.js && exit 3"
    plan = a_plan(
        {"a": [writes("a.txt", "good\n")]},
        [{"id": "a", "checks": ["ok"]}],
        {"ok": file_contains("a.txt")},
        setup=[["sh", "-c", install]],
    )
    project.yaoki("run", project.plan(plan), "--quiet")
    assert "ended with 3" in project.task("a")["question"]

    assert project.yaoki("answer", "a", "abort").code == 0
    project.yaoki("resume", "--quiet")

    assert "node_modules" not in saved_files(project)


@pytest.mark.spec("16.1", "16.2", "0.5")
def test_a_change_to_a_file_that_set_up_makes_is_saved_and_reported(project: Project) -> None:
    """The proof runs set-up itself, so the agent's version could not be proven."""
    lines = (
        "echo changed > generated.py; echo changed > node_modules/x/tests/test_x.py",
        "echo new > build/lib/new.py; echo new > node_modules/x/new.js",
        "touch made/inner/test_x.py; echo good > a.txt",
    )
    code = run_agent(project, shell("; ".join(lines)))

    told = warnings(project)
    assert (code, landed_files(project)) == (0, ["a.txt"]), project.task("a")["question"]
    assert "set-up makes these files, so the agent's changes to them will not land" in told
    assert "build/lib/new.py, generated.py, node_modules/x/tests/test_x.py" in told
    assert "made/inner" not in told, "the same content, written again"
    saved = saved_files(project)
    assert all(name in saved for name in ("generated.py", "build/lib/new.py", "node_modules/x/new"))


@pytest.mark.full
@pytest.mark.spec("16.1", "3.5", "0.5")
def test_an_agent_that_only_changed_set_up_files_is_told_so(project: Project) -> None:
    code = run_agent(project, shell("echo changed > generated.py"), writes("a.txt"))

    assert (code, landed_files(project)) == (0, ["a.txt"])
    assert "generated.py, which set-up makes" in project.prompt(project.task("a"), 2)


@pytest.mark.spec("3.2")
def test_a_new_file_in_a_folder_that_set_up_makes_lands(project: Project) -> None:
    """Unless tools own the folder, as they own node_modules or build."""
    code = run_agent(project, shell("echo new > made/inner/new.py; echo good > a.txt"))

    assert (code, landed_files(project)) == (0, ["a.txt", "made/inner/new.py"])
    assert warnings(project) == ""


@pytest.mark.spec("16.1", "0.5")
def test_a_tracked_file_that_set_up_changes_is_as_the_proof_has_it(project: Project) -> None:
    """Package managers rewrite lock files; the change is nobody's work."""
    more = {"setup": [*SETUP, ["sh", "-c", "echo rewritten > README; rm yaoki.toml"]]}
    tasks = [{"id": "a", "checks": ["ok"], "retry": {"max_retries": 0}}]
    script = {"a": [shell("grep -qx hello README && echo good > a.txt")]}
    plan = a_plan(script, tasks, {"ok": file_contains("a.txt")}, **more)

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert (done.code, landed_files(project)) == (0, ["a.txt"]), done.out
    assert "set-up changed tracked files, which were restored: README, yaoki.toml" in warnings(
        project
    )
