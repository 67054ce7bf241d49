"""What a newcomer meets after `yaoki init` in a repository that is not ready for checks."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.acceptance.project import GIT_IDENTITY, Project
from tests.acceptance.separate_environment import create_clone
from tests.acceptance.test_init import GO, PLAIN, a_program, commit_files, programs

pytestmark = pytest.mark.acceptance

# A build writes the module; git ignores it.
GENERATED = {
    "setup.py": "",
    ".gitignore": "_version.py\n",
    "src/pkg/__init__.py": "from ._version import version\n",
    "tests/test_version.py": "import unittest\nimport pkg\n\n\n"
    "class Version(unittest.TestCase):\n    def test_version(self):\n"
    "        self.assertEqual(pkg.version, '1')\n",
}
INCLUDE = "echo src/pkg/_version.py >> .worktreeinclude"


def a_generated_module(project: Project) -> dict[str, str]:
    """The module exists in the user's checkout, and a copy of it in a folder of the build."""
    commit_files(project, GENERATED)
    for folder in ("src/pkg", "build/lib/src/pkg"):
        place = project.repo / folder
        place.mkdir(parents=True, exist_ok=True)
        (place / "_version.py").write_text("version = '1'\n")
    return programs(project)


@pytest.mark.full
@pytest.mark.spec("12.3", "15")
def test_init_names_worktreeinclude_for_a_generated_module_and_does_not_join_two_patterns(
    project: Project,
) -> None:
    """An editor may leave the last line without its end."""
    env = a_generated_module(project)
    file = project.repo / ".worktreeinclude"

    first = project.yaoki("init", env=env)
    file.write_text(".env")
    again = project.yaoki("init", "--again", env=env)
    type_command(project, next_command(again.out))
    mended = project.yaoki("init", "--again", env=env)

    assert first.code == 0, first.err
    assert "src/pkg/_version.py is ignored by git, so worktrees lack it" in first.out
    assert next_command(first.out) == INCLUDE
    assert "fix what is named above, then run yaoki init --again" in " ".join(first.out.split())
    assert file.read_text().split() == [".env", "src/pkg/_version.py"]
    assert "added: tests" in mended.out, mended
    assert next_command(mended.out) == "yaoki doctor --checks"


@pytest.mark.spec("12.3", "15")
def test_init_separates_an_ignored_file_from_a_package_that_is_not_installed(
    project: Project,
) -> None:
    env = a_generated_module(project)
    commit_again(project, {"tests/test_frozen.py": "import not_installed_lib\n"})

    first = project.yaoki("init", env=env)

    both = (
        "src/pkg/_version.py is ignored by git, so worktrees lack it; "
        "besides, No module named 'not_installed_lib'"
    )
    assert both in " ".join(first.out.split()), first.out
    assert next_command(first.out) == f"{INCLUDE} && python -m pip install not_installed_lib"


@pytest.mark.spec("12.1", "15")
def test_doctor_names_worktreeinclude_for_a_generated_module_that_git_ignores(
    project: Project,
) -> None:
    env = a_generated_module(project)
    run = '["python", "-m", "unittest", "discover", "-s", "tests"]'
    project.settings(f'[checks.tests]\nrun = {run}\nenv = {{ PYTHONPATH = "src" }}\n')

    bad = project.yaoki("doctor", "--checks", env=env)
    type_command(project, next_command(bad.out))
    good = project.yaoki("doctor", "--checks", env=env)

    assert (bad.code, good.code) == (1, 0), (bad, good)
    assert "src/pkg/_version.py is ignored by git, so worktrees lack it" in bad.out
    assert next_command(bad.out) == INCLUDE


@pytest.mark.full
@pytest.mark.spec("12.3")
def test_init_again_replaces_the_comments_that_no_longer_hold(project: Project) -> None:
    """The reason of a check that still cannot run, and the result of one that runs."""
    red = PLAIN["tests/test_sum.py"].replace(", 2)", ", 3)")
    more = "    def test_green(self):\n        pass\n"
    commit_files(project, {**GO, "setup.py": "", "tests/test_sum.py": red + more})
    env = programs(project, pytest=False)
    file = project.repo / "yaoki.toml"
    project.yaoki("init", env=env)
    first = file.read_text()
    unable = "test $1 = test && echo '?   x   [no test files]' || exit 127"
    a_program(project.folder / "bin" / "go", unable)
    commit_again(project, {"tests/test_sum.py": PLAIN["tests/test_sum.py"] + more})

    shown = project.yaoki("init", "--again", "--dry-run", env=env)
    untouched = file.read_text()
    again = project.yaoki("init", "--again", env=env)
    second = file.read_text()
    twice = project.yaoki("init", "--again", env=env)

    assert "# cannot run here: go is not installed" in first
    assert "# red at the base: 1 failure" in first
    assert untouched == first
    assert "nothing new; the comments would be updated" in shown.out
    assert again.code == 0, again.err
    assert "go is not installed" not in second
    assert "red at the base" not in second
    assert "# green at the base" in second
    assert tomllib.loads(second)["checks"]["tests"] == tomllib.loads(first)["checks"]["tests"]
    assert "nothing new\n" in twice.out
    assert file.read_text() == second


@pytest.mark.spec("12.3", "15")
def test_init_without_a_check_says_where_to_write_one(project: Project) -> None:
    commit_files(project, {})
    file = project.repo / "yaoki.toml"
    env = programs(project, pytest=False)

    made = project.yaoki("init", env=env)
    doctor = project.yaoki("doctor", env=env)
    line = file.read_text().splitlines().index("# [checks.tests]") + 1
    commit_again(project, PLAIN)
    later = project.yaoki("doctor", env=env)
    project.yaoki("init", "--again", env=env)

    assert f"in line {line} of yaoki.toml" in " ".join(made.out.split())
    assert next_command(made.out) == next_command(doctor.out) == f"${{EDITOR:-vi}} {file}"
    assert next_command(later.out) == "yaoki init --again"
    assert "No check was found" not in file.read_text()


def next_command(output: str) -> str:
    return output.rpartition("next: ")[2].strip()


def commit_again(project: Project, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        place = project.repo / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    project.git("add", *files)
    project.git(*GIT_IDENTITY, "commit", "-qm", "more")


def type_command(project: Project, command: str) -> None:
    subprocess.run(("bash", "-c", command), cwd=project.repo, check=True)


@pytest.mark.spec("12.2", "15")
def test_a_plan_that_names_a_commented_check_learns_its_line(project: Project) -> None:
    commit_files(project, GO)
    env = programs(project)
    project.yaoki("init", env=env)
    text = (project.repo / "yaoki.toml").read_text()
    plan = project.plan(
        {
            "goal": "x",
            "agents": {"a": {"command": ["true"]}},
            "agent": "a",
            "checks": {"own": {"run": ["true"]}},
            "tasks": [{"id": "t", "goal": "x", "checks": ["own", "go-tests"]}],
        }
    )

    refused = project.yaoki("validate", plan, env=env)

    line = text.splitlines().index("# [checks.go-tests]") + 1
    words = f"unknown check 'go-tests'; yaoki.toml:{line} has it only as a comment"
    assert words in " ".join(refused.err.split()), refused


@pytest.mark.spec("12.1", "15")
@pytest.mark.parametrize("file", ["yaoki.toml", "pyproject.toml"])
def test_a_defect_in_a_table_of_the_settings_has_its_line(project: Project, file: str) -> None:
    head = "tool.yaoki." if file == "pyproject.toml" else ""
    (project.repo / "yaoki.toml").unlink()
    (project.repo / file).write_text(
        f'[{head}limits]\nparallel = 1\n\n[{head}checks.tests]\nrun = ["true"]\nrequird = true\n\n'
        f'[{head}agents.mine]\npreset = "nothing"\n'
    )

    doctor = project.yaoki("doctor")

    said = " ".join(doctor.out.split())
    assert f"{file}:6: checks.tests.requird: unknown key; did you mean 'required'?" in said
    assert f"{file}:9: agents.mine.preset: unknown preset 'nothing'" in said


MISSING = {
    "tests/conftest.py": "import first_absent\n",
    "tests/test_a.py": "import second_absent.part\nfrom third_absent import x\n\n\n"
    "try:\n    import optional_absent\nexcept ImportError:\n    pass\n\n\ndef test_a(): pass\n",
    "tests/helper.py": "import json\n",
    "tests/test_b.py": "import helper\nimport pkg\nimport pytest\n\n\ndef test_b(): pass\n",
    "pkg.py": "",
}
PROJECT = '[project]\nname = "pkg"\nversion = "1"\n[tool.pytest.ini_options]\n'
EXTRA = '[project.optional-dependencies]\ndocs = ["sphinx"]\ntesting = ["pytest"]\n'
GROUP = '[dependency-groups]\ntest = ["First.Absent", {include-group = "more"}]\n'
MORE = 'more = ["third_absent>=1"]\n'
# The Python of these tests may have a pip without `--group`.
OLD_PIP = tuple(map(int, version("pip").split(".")[:2])) < (25, 1)
UPGRADE = "python -m pip install -U pip && " if OLD_PIP else ""


@pytest.mark.full
@pytest.mark.spec("12.3", "15")
@pytest.mark.parametrize(
    ("metadata", "install"),
    [
        ("", "python -m pip install first_absent second_absent third_absent"),
        (
            EXTRA,
            'python -m pip install -e ".[testing]" first_absent second_absent third_absent',
        ),
        (
            f"{EXTRA}{GROUP}{MORE}",
            f"{UPGRADE}python -m pip install -e . --group test second_absent",
        ),
    ],
    ids=["no extra", "extra", "group that declares them"],
)
@pytest.mark.quick_cases(2)
def test_all_missing_modules_are_named_at_once_with_the_extra_of_the_tests(
    project: Project, metadata: str, install: str
) -> None:
    """pytest itself stops at the conftest, and in each module at the first import."""
    commit_files(project, {**MISSING, "pyproject.toml": f"{PROJECT}{metadata}"})
    env = programs(project)

    done = project.yaoki("init", env=env)

    said = " ".join(done.out.split())
    assert "No module named 'first_absent', 'second_absent', 'third_absent'" in said, done
    assert next_command(done.out) == install


@pytest.mark.full
@pytest.mark.spec("12.3", "15")
def test_a_missing_test_runner_is_installed_by_the_extra_of_the_tests(
    project: Project, tmp_path: Path, pycache: Path
) -> None:
    commit_files(project, {"tests/test_a.py": "", "pyproject.toml": f"{PROJECT}{EXTRA}"})
    env = programs(project)
    python = create_clone(tmp_path, pycache) / ".venv" / "bin" / "python"
    a_program(project.folder / "bin" / "python", f'exec "{python}" "$@"')

    done = project.yaoki("init", env=env)

    assert next_command(done.out) == 'python -m pip install -e ".[testing]"', done


OLD_FAILURES = "import unittest\n\n\nclass Old(unittest.TestCase):\n" + "".join(
    f"    def test_{n}(self):\n        self.fail('old {n}')\n" for n in range(1_001)
)


RUN_ONE_FILE = 'run = ["python", "-m", "unittest", "-v", "tests/test_sum.py"]'


@pytest.mark.spec("12.3", "12.1", "16.5")
def test_tests_that_a_missing_plugin_keeps_in_comments_are_a_warning(project: Project) -> None:
    """`init` named no remedy for an option of the plugin, and `doctor` called everything ok."""
    options = "[pytest]\naddopts = --cov-append --cov=shop\n"
    commit_files(project, {"tests/test_a.py": "def test_a(): ...\n", "pytest.ini": options})
    env = programs(project)
    file = project.repo / "yaoki.toml"

    made = project.yaoki("init", env=env)
    file.write_text(file.read_text() + '\n[checks.style]\nshell = ":"\n')
    shown = project.yaoki("doctor", env=env)
    line = file.read_text().splitlines().index("# [checks.tests]") + 1
    file.write_text(file.read_text() + '\n[checks.unit]\nrun = ["make", "test"]\n')
    quiet = project.yaoki("doctor", "--json", env=env)

    assert next_command(made.out) == "python -m pip install pytest-cov", made.out
    assert "not understood" not in made.out
    assert shown.code == 0, shown.out
    words = f"checks no check runs tests; in yaoki.toml tests is commented out in line {line}: "
    assert f"WARN {words}" in " ".join(shown.out.split()), shown.out
    assert "pip install pytest-cov" in shown.out
    assert next_command(shown.out) == "yaoki init --again"
    assert not any(one["warning"] for one in quiet.document["lines"])


LOST_SERVICE = "import unittest\n\n\nclass Shop(unittest.TestCase):\n" + (
    "    def setUp(self):\n        raise RuntimeError('SHOP_URL is not set')\n"
    + "".join(f"    def test_{n}(self):\n        pass\n" for n in range(25))
)


@pytest.mark.spec("12.3", "16.5")
def test_a_suite_that_fails_for_one_reason_is_not_narrowed(project: Project) -> None:
    """A missing variable was reported as many failures, with the advice to test less."""
    commit_files(project, {"setup.py": "", "tests/test_shop.py": LOST_SERVICE, **PLAIN})
    env = programs(project, pytest=False)
    file = project.repo / "yaoki.toml"

    made = project.yaoki("init", env=env)
    second = project.yaoki("doctor", env=env)

    words = " ".join(made.out.split())
    alike = "the first 20 of 25 failures are alike: RuntimeError: SHOP_URL is not set"
    assert alike in words, made.out
    for done in (made, second):
        assert "probably the environment, not the code" in " ".join(done.out.split()), done.out
        assert "narrow" not in done.out
        assert next_command(done.out) == f"${{EDITOR:-vi}} {file}"
    assert f"# set aside: {alike}\n# remedy: probably the environment" in file.read_text()


@pytest.mark.full
@pytest.mark.spec("12.3", "12.1", "16.5")
def test_a_suite_with_too_many_failures_at_the_base_is_narrowed_by_hand(project: Project) -> None:
    """`doctor` sent to `init --again`, which found nothing new, and back."""
    files = {"setup.py": "", "tests/test_old.py": OLD_FAILURES, **PLAIN}
    commit_files(project, files)
    env = programs(project, pytest=False)
    file = project.repo / "yaoki.toml"

    made = project.yaoki("init", env=env)
    text = file.read_text()
    said = [project.yaoki(*words, env=env) for words in (["doctor"], ["init"], ["init", "--again"])]
    agents = {"agents": {"a": {"command": ["true"]}}, "agent": "a"}
    plan = project.plan({"goal": "x", **agents, "tasks": [{"id": "t", "goal": "x"}]})
    refused = project.yaoki("run", plan, env=env)
    active = text.replace("# [checks.tests]", "[checks.tests]").replace("# run", "run")
    file.write_text(active.replace("# pattern", "pattern") + 'baseline = "known"\n')
    whole = project.yaoki("doctor", "--checks", "--trust", env=env)
    narrowed = re.sub(r"(?m)^run = .*", RUN_ONE_FILE, file.read_text())
    file.write_text(narrowed.replace('baseline = "known"\n', ""))
    mended = project.yaoki("doctor", "--checks", "--trust", env=env)
    again = project.yaoki("init", "--again", env=env)

    line = text.splitlines().index("# [checks.tests]") + 1
    edit = f"${{EDITOR:-vi}} {file}"
    for done in (made, *said):
        words = " ".join(done.out.split())
        assert f"tests is commented out in line {line}" in words, done.out
        assert "narrow its command to files that pass" in words
        assert next_command(done.out) == edit
    reason = f"tests is commented out in line {line} of yaoki.toml; yaoki doctor says why"
    assert reason in " ".join(refused.err.split()), refused
    words = " ".join(whole.out.split())
    assert whole.code == 1, whole.out
    assert "1001 tests failed" in words
    assert f"narrow checks.tests (yaoki.toml:{line}) to files that pass" in words
    assert mended.code == 0, mended.out
    assert "check tests green at the base" in " ".join(mended.out.split())
    assert next_command(again.out) == "yaoki doctor --checks", again.out
    assert "set aside" not in file.read_text()
