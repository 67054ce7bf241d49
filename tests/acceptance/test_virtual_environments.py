"""A virtual environment in the repository: found by `yaoki init`, active in every check."""

from __future__ import annotations

import sys
import sysconfig
import tomllib
import venv
from pathlib import Path

import pytest

from tests.acceptance.project import WITHOUT_PLUGINS, Project
from tests.acceptance.test_init import PYTHON, commit_files, programs

pytestmark = pytest.mark.acceptance

# The second test starts Python in another folder, where only PYTHONPATH leads to the worktree.
FILES = {
    "pyproject.toml": '[project]\nname = "calc"\nversion = "1"\n[tool.pytest.ini_options]\n',
    "calc/__init__.py": "def double(n):\n    return n + n\n",
    "tests/test_calc.py": """\
import subprocess
import sys

import only_in_the_environment
from calc import double


def test_double():
    assert double(2) == 4


def test_elsewhere(tmp_path):
    words = (sys.executable, "-c", "from calc import double; print(double(2))")
    assert subprocess.check_output(words, cwd=tmp_path) == b"4\\n"
""",
}
RIGHT = "printf '\\ndef triple(n):\\n    return 3 * n\\n' >> calc/__init__.py"
WRONG = "printf 'def double(n):\\n    return n * n + 1\\n' > calc/__init__.py"
PLAN = f"""\
goal: Extend calc
checks: {{own: {{run: [python, -c, import only_in_the_environment]}}}}
agents: {{right: {{command: [sh, -c, {RIGHT!r}]}}, wrong: {{command: [sh, -c, {WRONG!r}]}}}}
tasks:
  - {{id: right, goal: Add triple., agent: right, checks: [tests, own]}}
  - {{id: wrong, goal: Refactor double., agent: wrong, checks: [tests], retry: {{max_retries: 0}}}}
"""


def create_environment(project: Project, *, pytest: bool = True) -> Path:
    """`.venv` as `python -m venv` and an editable install leave it."""
    home = project.repo / ".venv"
    venv.create(home, symlinks=True, with_pip=False)
    (home / ".gitignore").write_text("*\n")
    site = Path(sysconfig.get_path("purelib", vars={"base": str(home)}))
    (site / "only_in_the_environment.py").touch()
    paths = [str(project.repo), *([sysconfig.get_path("purelib")] if pytest else [])]
    (site / "editable.pth").write_text("\n".join(paths) + "\n")
    (site / "plugins.pth").write_text(f"import os; os.environ.update({WITHOUT_PLUGINS})\n")
    return home


@pytest.mark.spec("12.3", "16.1", "16.5")
def test_the_environment_of_the_checkout_tests_the_code_of_the_worktree(project: Project) -> None:
    """An editable install leads to the user's checkout, where the wrong change is not."""
    commit_files(project, FILES)
    create_environment(project)
    env = programs(project)

    made = project.yaoki("init", env=env)
    written = tomllib.loads((project.repo / "yaoki.toml").read_text())["checks"]["tests"]
    (project.repo / "plan.yaml").write_text(PLAN)
    # A check of the plan itself runs in the same environment.
    ran = project.yaoki("run", "plan.yaml", env=env)
    seen = project.yaoki("doctor", "--checks", env=env)

    assert "green" in made.out, made
    assert " 2 tests" in made.out
    assert written["env"] == {"VIRTUAL_ENV": ".venv", "PYTHONPATH": "."}
    assert project.task("right")["state"] == "DONE", ran.out + ran.err
    assert project.task("wrong")["landed"] is None
    assert "green at the base, 2 tests" in seen.out, seen.out


@pytest.mark.spec("12.3", "16.5")
def test_init_again_gives_a_check_the_environment_that_was_made_since(project: Project) -> None:
    """Otherwise its result would be about another command than that of the file."""
    found = "from importlib.util import find_spec\n\n\ndef test_more():\n"
    optional = f"{found}    assert find_spec('only_in_the_environment')\n"
    basic = "def test_basic():\n    assert True\n"
    tests = {"tests/test_calc.py": basic, "tests/test_more.py": optional}
    commit_files(project, {**FILES, **tests})
    env, file = programs(project), project.repo / "yaoki.toml"
    first = project.yaoki("init", env=env)
    create_environment(project)

    again = project.yaoki("init", "--again", env=env)
    written = tomllib.loads(file.read_text())["checks"]["tests"]
    seen = project.yaoki("doctor", "--checks", env=env)
    file.write_text(file.read_text().replace('"python", "-m"', '"python", "-B", "-m"'))
    edited = project.yaoki("init", "--again", env=env)

    assert "red " in first.out, first
    assert "updated to the environment that was tried: tests" in again.out
    assert written["env"] == {"VIRTUAL_ENV": ".venv", "PYTHONPATH": "."}
    assert "green at the base, 2 tests" in seen.out, seen
    words = "tests has another command or environment in yaoki.toml, which was not tried"
    assert words in " ".join(edited.out.split())
    assert "green at the base" not in file.read_text()


@pytest.mark.full
@pytest.mark.spec("12.3", "16.5")
def test_a_missing_module_is_installed_into_the_environment(project: Project) -> None:
    commit_files(project, {**PYTHON, "tests/test_more.py": "import lib_a, lib_b\n"})
    create_environment(project)

    done = project.yaoki("init", "--json", env=programs(project))

    (tests,) = done.document["baseline"]
    assert tests["state"] == "broken"
    assert "No module named 'lib_a', 'lib_b'" in tests["words"]
    pip = ".venv/bin/python -m ensurepip && .venv/bin/python -m pip"
    assert tests["next"] == f"{pip} install lib_a lib_b", "it has no pip, and the PATH no uv"


@pytest.mark.full
@pytest.mark.spec("12.3", "16.5")
def test_a_pip_that_cannot_install_groups_is_upgraded_first(project: Project) -> None:
    """A fresh environment of Python 3.11 has pip 23, which answers `no such option: --group`."""
    groups = "[dependency-groups]\ntests = ['lib_a', 'lib_b']\n"
    manifest = f"{FILES['pyproject.toml']}{groups}"
    tests = {"tests/test_more.py": "import lib_a, lib_b\n"}
    commit_files(project, {**FILES, **tests, "pyproject.toml": manifest})
    home = create_environment(project)
    (home / "bin" / "pip").touch()
    site = Path(sysconfig.get_path("purelib", vars={"base": str(home)}))
    (site / "pip-23.2.1.dist-info").mkdir()
    (site / "pip-23.2.1.dist-info" / "METADATA").write_text("Name: pip\nVersion: 23.2.1\n")

    done = project.yaoki("init", "--json", env=programs(project))

    (tried,) = done.document["baseline"]
    python = ".venv/bin/python -m pip install"
    assert tried["next"] == f"{python} -U pip && {python} -e . --group tests"


@pytest.mark.spec("12.3")
def test_a_package_manager_of_yaokis_own_environment_is_not_the_users(project: Project) -> None:
    """It gets onto the PATH with `yaoki` itself; the repository has an environment that works."""
    lock = 'version = 1\nrequires-python = ">=3.11"\n'
    commit_files(project, {**FILES, "uv.lock": lock})
    create_environment(project)
    env = programs(project)
    own = Path(sys.prefix) / "bin"
    assert (own / "uv").exists()

    done = project.yaoki("init", "--no-run", "--json", env={**env, "PATH": f"{own}:{env['PATH']}"})

    assert done.document["managers"] == ["venv"]
    assert "uv run" not in (project.repo / "yaoki.toml").read_text()


@pytest.mark.spec("12.3")
def test_another_active_environment_is_used_instead(project: Project, tmp_path: Path) -> None:
    commit_files(project, PYTHON)
    create_environment(project)
    env = {**programs(project), "VIRTUAL_ENV": str(tmp_path / "active")}

    done = project.yaoki("init", "--no-run", "--json", env=env)

    assert done.document["managers"] == ["pip"]
    assert "VIRTUAL_ENV" not in (project.repo / "yaoki.toml").read_text()


@pytest.mark.spec("12.3", "6.1")
def test_a_deleted_environment_is_reported_with_the_command_that_creates_it(
    project: Project,
) -> None:
    line = 'run = "python -m unittest"\nenv = { VIRTUAL_ENV = ".venv" }\n'
    project.settings(f"[checks.tests]\n{line}")

    seen = project.yaoki("doctor", "--checks", env=programs(project))

    home = project.repo / ".venv"
    words = " ".join(seen.out.split())
    assert seen.code == 1
    assert f"the folder .venv of VIRTUAL_ENV does not exist in {project.repo}" in words, seen.out
    assert f"python -m venv {home}" in words, seen.out


# ------------------------------------------------------------------ test files without a project


BARE_TESTS = """\
import unittest
class A(unittest.TestCase):
    def test_a(self):
        pass
    @unittest.expectedFailure
    def test_later(self):
        self.fail()
def test_function():
    pass
"""


@pytest.mark.full
@pytest.mark.spec("12.3", "16.4")
@pytest.mark.parametrize("has_pytest", [True, False])
def test_bare_tests_run_with_pytest_if_it_is_installed(project: Project, has_pytest: bool) -> None:
    """unittest passes over test functions, so that half of these would never run.

    An expected failure is not called skipped: no package and no service is missing.
    """
    commit_files(project, {"test_calc.py": BARE_TESTS})
    create_environment(project, pytest=has_pytest)

    done = project.yaoki("init", env=programs(project))

    check = tomllib.loads((project.repo / "yaoki.toml").read_text())["checks"]["tests"]
    assert check["run"][2] == ("pytest" if has_pytest else "unittest"), done.out
    assert (" 2 tests, 1 xfailed" if has_pytest else " 1 test") in done.out
    assert "skipped" not in done.out


@pytest.mark.full
@pytest.mark.spec("12.3")
def test_the_progress_of_init_names_the_command_that_is_being_tried(project: Project) -> None:
    """unittest is tried first and ends at once; pytest takes longer than a line of progress."""
    slow = (
        "import sys, time, unittest\nclass A(unittest.TestCase):\n    def test_a(self):\n"
        "        time.sleep(5.5 * ('pytest' in sys.modules))\n"
    )
    commit_files(project, {"test_calc.py": slow})
    create_environment(project)

    done = project.yaoki("init", env=programs(project))

    lines = [line for line in done.err.splitlines() if line.startswith("check tests")]
    assert [line.partition(" ... ")[2] for line in lines] == ["5 s"], done.err
    assert lines[0].startswith("check tests: python -m pytest -q "), lines


# ------------------------------------------------------------------ checks that fix


@pytest.mark.spec("12.3", "16.4")
def test_a_script_that_fixes_is_written_with_the_option_that_only_looks(project: Project) -> None:
    commit_files(project, {"package.json": '{"scripts": {"lint": "lint-everything"}}'})
    env = programs(project)
    fixing = 'case "$*" in *--no-fix) ;; *) echo >> README;; esac\n'
    npm = project.folder / "bin" / "npm"
    npm.write_text(f"#!/bin/sh\n{fixing}")
    npm.chmod(0o755)

    done = project.yaoki("init", "--json", env=env)

    (lint,) = done.document["baseline"]
    assert (lint["state"], lint["command"]) == ("green", "npm run --silent lint -- --no-fix")


@pytest.mark.full
@pytest.mark.spec("16.1", "0.1")
def test_a_check_of_a_plan_imports_the_work_and_not_an_installed_copy(
    project: Project,
) -> None:
    """An active environment with an editable install leads to the user's checkout."""
    folder = "src/calc"
    code = FILES["calc/__init__.py"]
    files = {name: text for name, text in FILES.items() if not name.startswith("calc")}
    commit_files(project, {**files, f"{folder}/__init__.py": code})
    home = create_environment(project)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(home)}))
    (site / "editable.pth").write_text(
        f"{(project.repo / folder).parent}\n{sysconfig.get_path('purelib')}\n"
    )
    env = {**programs(project), "VIRTUAL_ENV": str(home)}
    env["PATH"] = f"{home / 'bin'}:{env['PATH']}"
    act = WRONG.replace("> calc/", f"> {folder}/")
    plan = {
        "goal": "Refactor",
        "agents": {"wrong": {"command": ["sh", "-c", act]}},
        "agent": "wrong",
        "checks": {"suite": {"run": ["python", "-P", "-m", "pytest", "-q"]}},
        "tasks": [{"id": "wrong", "goal": "Refactor double.", "retry": {"max_retries": 0}}],
    }

    ran = project.yaoki("run", project.plan(plan), env=env)

    assert ran.code == 4, ran.out + ran.err
    assert project.task("wrong")["landed"] is None


# ------------------------------------------------------------------ an environment that is missing


def link_checkout(project: Project) -> Path:
    """A second checkout of the clone with a plan; git ignores the environment of the first."""
    line = 'run = ["ruff", "check", "--no-fix"]\nenv = { VIRTUAL_ENV = ".venv" }\n'
    act = '[agents.a]\ncommand = ["sh", "-c", "echo x > x.txt"]\n'
    settings = f'agent = "a"\n{act}[checks.lint]\n{line}'
    plan = "goal: Extend\ntasks:\n  - {id: t, goal: Add x., checks: [lint]}\n"
    folder = project.folder / "linked"
    project.git("worktree", "add", "-q", "-b", "feature", str(folder))
    (folder / "yaoki.toml").write_text(settings)
    (folder / "plan.yaml").write_text(plan)
    return folder


@pytest.mark.spec("12.3", "2.2", "0.6")
def test_a_linked_checkout_without_its_environment_names_that_of_the_other_one(
    project: Project,
) -> None:
    home, linked = create_environment(project), link_checkout(project)
    (home / "bin" / "ruff").symlink_to("/bin/true")
    env = programs(project)
    missing = f"the folder .venv of VIRTUAL_ENV does not exist in {linked}"

    said = {
        words[0]: project.yaoki(*words, env=env, cwd=linked)
        for words in (["validate", "plan.yaml"], ["run", "plan.yaml"], ["doctor"])
    }

    for name, done in said.items():
        words = " ".join((done.err + done.out).split())
        assert done.code == (1 if name == "doctor" else 2), done
        assert f"check lint{' ' if name == 'doctor' else ': '}{missing}" in words, words
        assert f'VIRTUAL_ENV = "{home}"' in words
        assert f"python -m venv {linked}/.venv" in words
        assert "ruff" not in words
    settings = linked / "yaoki.toml"
    settings.write_text(settings.read_text().replace('".venv"', f'"{home}"'))
    assert project.yaoki("validate", "plan.yaml", env=env, cwd=linked).code == 0


@pytest.mark.spec("12.3", "2.2")
def test_a_missing_environment_is_created_and_filled_by_the_commands_of_validate_and_doctor(
    project: Project,
) -> None:
    linked = link_checkout(project)
    env = programs(project)
    lacking = project.yaoki("validate", "plan.yaml", env=env, cwd=linked)
    doctor = project.yaoki("doctor", env=env, cwd=linked)
    command = f"python -m venv {linked}/.venv"
    assert command in lacking.err, lacking.err
    assert command in doctor.out, doctor.out
    venv.create(linked / ".venv", symlinks=True, with_pip=False)

    lacking = project.yaoki("validate", "plan.yaml", env=env, cwd=linked)
    doctor = project.yaoki("doctor", env=env, cwd=linked)

    install = ".venv/bin/python -m ensurepip && .venv/bin/python -m pip install ruff"
    assert "the program 'ruff' is not on the PATH" in lacking.err
    assert f"{install}, or change checks.lint" in " ".join(lacking.err.split())
    assert install in " ".join(doctor.out.split())
