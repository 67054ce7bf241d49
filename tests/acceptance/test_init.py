"""`yaoki init` on several kinds of repository, then `yaoki doctor`."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.acceptance.project import GIT_IDENTITY, WITHOUT_PLUGINS, Project
from tests.acceptance.separate_environment import create_clone, create_python_with_pytest
from tests.repositories import user_state

pytestmark = pytest.mark.acceptance

PYTHON = {
    "pyproject.toml": '[project]\nname = "x"\nversion = "1"\n[tool.pytest.ini_options]\n',
    "tests/test_sum.py": "def test_sum():\n    assert 1 + 1 == 2\n\ndef test_more():\n    pass\n",
}
# What needs nothing but Python itself, which starts at once.
PLAIN = {
    "setup.py": "",
    "tests/test_sum.py": "import unittest\n\n\nclass Sum(unittest.TestCase):\n"
    "    def test_sum(self):\n        self.assertEqual(1 + 1, 2)\n",
}
NODE = {
    "package.json": json.dumps({"scripts": {"test": "node --test", "lint": "eslint ."}}),
    "tsconfig.json": "{}",
    "package-lock.json": "{}",
}
GO = {"go.mod": "module example.org/x\n\ngo 1.22\n", "x_test.go": "package x\n"}
RUST = {
    "Cargo.toml": '[package]\nname = "x"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/lib.rs": "pub fn one() -> u8 {\n    1\n}\n",
}
MIXED = {
    **{f"api/{path}": text for path, text in PYTHON.items()},
    **{f"web/{path}": text for path, text in NODE.items()},
    "core/Cargo.toml": RUST["Cargo.toml"],
    "core/src/lib.rs": RUST["src/lib.rs"],
    **{f"srv/{path}": text for path, text in GO.items()},
}
KINDS: dict[str, tuple[Mapping[str, str], dict[str, list[str]]]] = {
    "python": (PYTHON, {"tests": ["python", "-m", "pytest", "-q", "--junit-xml", "{report}"]}),
    "mixed": (
        MIXED,
        {
            "tests-api": ["python", "-m", "pytest", "-q", "--junit-xml", "{report}"],
            "cargo-tests-core": ["cargo", "test"],
            "clippy-core": ["cargo", "clippy", "--all-targets", "--", "-D", "warnings"],
            "npm-test-web": ["npm", "run", "--silent", "test"],
            "npm-lint-web": ["npm", "run", "--silent", "lint"],
            "npm-types-web": ["npx", "--no-install", "tsc", "--noEmit"],
            "go-tests-srv": ["go", "test", "./..."],
            "go-vet-srv": ["go", "vet", "./..."],
        },
    ),
}


def commit_files(project: Project, files: Mapping[str, str]) -> None:
    """Commit these files to a repository without yaoki settings."""
    for path, text in files.items():
        file = project.repo / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (project.repo / "yaoki.toml").unlink()
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "a project")


def programs(project: Project, *more: str, pytest: bool = True) -> dict[str, str]:
    """A PATH on which only these, git, a shell and the Python of the tests are found.

    Its pytest loads no plugin: those of our environment take longer than the tests of a project.
    Without pytest, `init` finds unittest, which starts at once.
    """
    folder = project.folder / "bin"
    folder.mkdir()
    for name in ("git", "sh", "bash", "sleep", *more):
        found = shutil.which(name)
        assert found, name
        (folder / name).symlink_to(found)
    variables = " ".join(f"{name}={value}" for name, value in WITHOUT_PLUGINS.items())
    lacks = 'if [ "$2" = pytest ]; then echo "$0: No module named pytest" >&2; exit 1; fi\n'
    start = f'{variables} exec "{sys.executable}" "$@"'
    a_program(folder / "python", start if pytest else lacks + start)
    return {"PATH": str(folder)}


def a_program(file: Path, body: str) -> None:
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)


def base(document: Mapping[str, Any]) -> dict[str, str]:
    return {one["check"]: one["state"] for one in document["baseline"]}


@pytest.mark.spec("12.3")
@pytest.mark.parametrize("kind", KINDS)
def test_init_finds_the_right_commands_and_is_idempotent(project: Project, kind: str) -> None:
    files, wanted = KINDS[kind]
    commit_files(project, files)

    first = project.yaoki("init", "--no-run", "--json")
    text = (project.repo / "yaoki.toml").read_text()
    second = project.yaoki("init")

    assert first.code == 0, first.err
    checks = tomllib.loads(text)["checks"]
    assert {name: check["run"] for name, check in checks.items()} == wanted
    assert {check.get("cwd", ".") for check in checks.values()} == (
        {"api", "web", "core", "srv"} if kind == "mixed" else {"."}
    )
    assert set(base(first.document).values()) == {"not-run"}
    assert (second.code, "exists already; unchanged" in second.out) == (0, True)
    assert (project.repo / "yaoki.toml").read_text() == text
    assert project.git("status", "--porcelain") == "?? yaoki.toml"


@pytest.mark.spec("12.3")
def test_init_reports_a_passing_base_and_leaves_the_checkout_unchanged(project: Project) -> None:
    commit_files(project, PYTHON)
    before = user_state(project.repo)

    done = project.yaoki("init", env=programs(project))

    assert done.code == 0, done.err
    assert "green" in done.out
    assert "2 tests" in done.out
    after = user_state(project.repo)
    assert after.pop("yaoki.toml")
    assert after == before
    assert project.git("worktree", "list").count("\n") == 0
    assert not (project.repo / ".yaoki").exists()


@pytest.mark.spec("12.3")
def test_init_reports_a_failing_base_and_writes_its_checks_as_known_failures(
    project: Project,
) -> None:
    """Its skipped tests are named as well: they are many."""
    more = "    def test_more(self):\n        self.fail('still red')\n"
    more += "    def test_green(self):\n        pass\n"
    more += "    @unittest.skip('no server')\n    def test_late(self):\n        pass\n"
    red = PLAIN["tests/test_sum.py"].replace(", 2)", ", 3)") + more
    commit_files(project, {**PLAIN, "tests/test_sum.py": red})

    done = project.yaoki("init", env=programs(project))

    document = tomllib.loads((project.repo / "yaoki.toml").read_text())
    assert done.code == 0, done.err
    assert "2 failures" in done.out
    words = " ".join(done.out.split())
    assert "passed: 1 test, 1 skipped" in words
    assert (
        "many tests of check tests are skipped: a skipped test proves nothing; "
        "usually an optional package or a service is missing"
    ) in words
    assert document["checks"]["tests"]["baseline"] == "known"


@pytest.mark.spec("12.3")
def test_a_missing_tool_is_reported_with_the_command_that_installs_it(project: Project) -> None:
    commit_files(project, {**GO, **{f"app/{path}": text for path, text in PLAIN.items()}})

    done = project.yaoki("init", env=programs(project))

    text = (project.repo / "yaoki.toml").read_text()
    assert done.code == 0, done.err
    assert "go is not installed" in done.out
    assert "apt install golang-go" in done.out
    assert list(tomllib.loads(text)["checks"]) == ["tests-app"]
    assert "# cannot run here: go is not installed" in text
    assert "# [checks.go-tests]" in text


@pytest.mark.spec("12.3", "12.1")
def test_the_remedy_of_tests_that_cannot_run_comes_before_the_doctor(project: Project) -> None:
    """A linter that runs does not prove the work."""
    commit_files(project, {**GO, "tools/pyproject.toml": "[tool.ruff]\n", "tools/tool.py": ""})
    env = programs(project)
    a_program(project.folder / "bin" / "ruff", "exit 0")

    first = project.yaoki("init", "--json", env=env).document
    again = project.yaoki("init", "--again", env=env)

    tried = {"lint-tools": "green", "go-tests": "missing", "go-vet": "missing"}
    assert base(first) == tried
    assert again.out.splitlines()[-1] == "next: apt install golang-go"


@pytest.mark.full
@pytest.mark.spec("12.3")
def test_a_check_that_hangs_is_ended_without_leftovers(project: Project) -> None:
    """The process is recognised by a unique sleep time; on a slow machine it may not start."""
    seconds = f"60.{os.getpid()}"
    commit_files(project, {"Makefile": f"test:\n\t@exec sleep {seconds}\n"})

    done = project.yaoki("init", "--seconds", "1", env=programs(project, "make"))

    assert done.code == 0, done.err
    assert "did not end within 1 s and was stopped" in done.out
    assert not [words for words in commands() if seconds in words]
    assert list(tomllib.loads((project.repo / "yaoki.toml").read_text())["checks"]) == ["make-test"]


@pytest.mark.spec("12.3", "15")
def test_a_setup_that_is_cut_off_gets_more_time_by_the_remedy(project: Project) -> None:
    """The tools are there: only the time of `init` was too short for the package manager."""
    package = {"scripts": {"test": "node --test"}, "dependencies": {"x": "1"}}
    commit_files(project, {"package.json": json.dumps(package)})
    env, ready = programs(project), project.folder / "ready"
    slow = 'if [ "$1" = run ]; then echo "# tests 1"; echo "# pass 1"; exit 0; fi\n'
    a_program(project.folder / "bin" / "npm", f"{slow}test -f {ready} || exec sleep 60")
    file = project.repo / "yaoki.toml"

    first = project.yaoki("init", "--seconds", "1", env=env)
    text = file.read_text()
    ready.touch()
    again = project.yaoki("init", "--again", "--seconds", "100", env=env)

    assert (first.code, again.code) == (0, 0), (first, again)
    assert "did not end within 1 s" in first.out
    assert "installing the tools" not in first.out
    assert first.out.count("yaoki init --again --seconds 100") == 3, first.out
    assert '# [setup]\n# commands = [["npm", "install", "--no-package-lock", ' in text
    assert "setup" not in tomllib.loads(text)
    document = tomllib.loads(file.read_text())
    assert document["setup"]["commands"][0][:2] == ["npm", "install"]
    assert list(document["checks"]) == ["npm-test"]
    assert "# [setup]" not in file.read_text()


def commands() -> list[list[str]]:
    """The command lines of all processes."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):  # it ended while we looked
            found.append(process.cmdline())
    return found


@pytest.mark.spec("12.3")
def test_checks_of_uncommitted_files_are_reported_and_not_run(project: Project) -> None:
    commit_files(project, {})
    (project.repo / "go.mod").write_text("module x\n")

    done = project.yaoki("init", "--json")

    assert base(done.document) == {"go-tests": "uncommitted", "go-vet": "uncommitted"}
    assert done.document["baseline"][0]["next"] == "git add go.mod"


@pytest.mark.spec("12.3")
def test_a_dry_run_shows_the_text_and_writes_nothing(project: Project) -> None:
    commit_files(project, GO)

    shown = project.yaoki("init", "--dry-run", "--no-run")
    told = project.yaoki("init", "--dry-run", "--no-run", "--json")

    assert "[checks.go-tests]" in shown.out
    assert told.document["made"] is False
    assert tomllib.loads(told.document["text"])["checks"]["go-vet"]
    assert not (project.repo / "yaoki.toml").exists()


@pytest.mark.spec("12.3", "12.1", "12.8")
def test_an_agent_that_answers_is_the_default_and_doctor_tries_it(project: Project) -> None:
    commit_files(project, PLAIN)
    env = programs(project)
    a_program(project.folder / "bin" / "claude", "echo '9.9.9 (Claude Code)'")
    a_program(project.folder / "bin" / "codex", "echo broken >&2; exit 1")

    made = project.yaoki("init", "--no-run", "--json", env=env)
    healthy = project.yaoki("doctor", "--checks", env=env)
    (project.folder / "bin" / "claude").unlink()
    ill = project.yaoki("doctor", "--json", env=env)

    assert {one["preset"]: one["answers"] for one in made.document["agents"]} == {
        "claude": True,
        "codex": False,
    }
    assert tomllib.loads((project.repo / "yaoki.toml").read_text())["agent"] == "claude"
    assert healthy.code == 0, healthy.out
    assert "9.9.9" in healthy.out
    assert "green at the base" in healthy.out
    lines = {one["name"]: one for one in ill.document["lines"]}
    assert (ill.code, lines["agent claude"]["ok"]) == (1, False)
    assert "npm install -g" in lines["agent claude"]["next"]


def is_valid_command(command: str) -> bool:
    """A shell can parse the command, and its first word is a program."""
    read = subprocess.run(("bash", "-n", "-c", command), capture_output=True)
    program = command.split(" ")[0]
    known = {"apt", "brew", "npm", "export", "yaoki", "${EDITOR:-vi}"}
    return read.returncode == 0 and (program in known or shutil.which(program) is not None)


@pytest.mark.spec("12.1", "15")
@pytest.mark.parametrize(
    ("make", "command"),
    [
        (("git", "init", "-q", "empty"), 'git commit --allow-empty -m "Begin"'),
        (("git", "init", "-q", "--bare", "bare"), "git clone {0} {0}.clone"),
        (("mkdir", "plain"), "git init"),
        (("true", "gone"), "git init {0}"),
    ],
    ids=lambda given: given[-1] if isinstance(given, tuple) else "",
)
def test_doctor_names_the_command_for_a_folder_without_a_repository(
    project: Project, make: tuple[str, ...], command: str
) -> None:
    folder = project.folder / make[-1]
    subprocess.run(make, cwd=project.folder, check=True)

    done = project.yaoki("doctor", "--json", "--repo", str(folder))

    (bad,) = (one for one in done.document["lines"] if not one["ok"])
    assert (bad["name"], bad["next"]) == ("repository", command.format(folder))


@pytest.mark.spec("12.1", "15")
def test_doctor_names_the_command_for_each_thing_that_is_missing(project: Project) -> None:
    project.settings(
        '[agents.mine]\ncommand = ["no-such-agent-program"]\n'
        '[checks.tests]\nrun = ["go", "test", "./..."]\n'
        '[checks.own]\nrun = ["./no-such-script"]\n[sandbox]\nmode = "on"\n'
    )

    done = project.yaoki("doctor", "--json", env=programs(project))

    lines = {one["name"]: one for one in done.document["lines"]}
    bad = {name for name, one in lines.items() if not one["ok"]}
    assert done.code == 1
    assert {"agent mine", "check tests", "check own", "sandbox"} <= bad
    assert all(is_valid_command(lines[name]["next"]) for name in bad)
    assert lines["check tests"]["next"] == "apt install golang-go", "one that can be typed"


@pytest.mark.spec("12.1", "15")
def test_doctor_refuses_checks_that_no_plan_could_use(project: Project) -> None:
    project.settings('[checks.tests]\nrunn = ["true"]\n')

    done = project.yaoki("doctor")

    assert done.code == 1
    assert "BAD  settings" in done.out
    assert "did you mean 'run'?" in done.out
    assert f"next: ${{EDITOR:-vi}} {project.repo / 'yaoki.toml'}" in done.out


# ------------------------------------------------------------------ checks that verify nothing

CARGO = "test result: ok. {} passed; 0 failed; 0 ignored; 0 measured; 0 filtered out"
MODULE = "def f():\n    return 1\n"
BREAKS = """\
goal: x
agents: {a: {command: [sh, -c, "echo 'def f(): return 2' > m.py"]}}
agent: a
tasks: [{id: brk, goal: Refactor f., retry: {max_retries: 0}}]
"""


def commit_unrunnable_tests(project: Project, options: str, first: str) -> None:
    """The test that notices the breakage is not run because of the first file."""
    files = {
        "pyproject.toml": f'[project]\nname="m"\nversion="1"\n[tool.pytest.ini_options]\n{options}',
        "m.py": MODULE,
        "tests/test_a.py": first,
        "tests/test_b.py": "from m import f\ndef test_f():\n    assert f() == 1\n",
    }
    commit_files(project, files)


def run_with_known_failures(project: Project, env: Mapping[str, str]) -> int:
    (project.repo / "plan.yaml").write_text(BREAKS)
    guard = '[checks.tests]\nrun = ["python", "-m", "pytest", "-q"]\nbaseline = "known"\n'
    (project.repo / "yaoki.toml").write_text(f"[limits]\nparallel = 1\n{guard}")
    return project.yaoki("run", "plan.yaml", env=env).code


@pytest.mark.full
@pytest.mark.spec("16.5", "12.3")
def test_no_breakage_lands_on_a_base_whose_tests_lack_a_module(project: Project) -> None:
    """Formerly every test was "known" to fail without being run, and any change passed."""
    commit_unrunnable_tests(project, "", "import not_installed_lib\ndef test_old(): pass\n")
    env = programs(project)

    made = project.yaoki("init", env=env)
    text = (project.repo / "yaoki.toml").read_text()
    (project.repo / "plan.yaml").write_text(BREAKS)
    refused = project.yaoki("run", "plan.yaml", env=env)
    guarded = run_with_known_failures(project, env)
    doctor = project.yaoki("doctor", "--checks", env=env)

    helps = "python -m pip install not_installed_lib"
    assert "cannot run" in made.out
    assert "checks" not in tomllib.loads(text)
    assert "# [checks.tests]" in text
    assert 'baseline = "known"' not in text
    assert (refused.code, "no required check" in refused.err) == (2, True), refused.err
    assert guarded == 4
    assert project.task("brk")["landed"] is None
    assert doctor.code == 1
    for done in (made, doctor):
        assert "No module named 'not_installed_lib'" in done.out
        assert done.out.count(helps) == 2, "below its line, and as the next command"


@pytest.mark.full
@pytest.mark.spec("16.5", "12.3")
def test_no_breakage_lands_on_a_base_whose_tests_stop_at_the_first_failure(
    project: Project,
) -> None:
    commit_unrunnable_tests(project, 'addopts = "-x"\n', "def test_old():\n    assert 0\n")
    env = programs(project)

    made = project.yaoki("init", env=env)
    text = (project.repo / "yaoki.toml").read_text()
    guarded = run_with_known_failures(project, env)

    assert "did not run to its end" in made.out
    assert "checks" not in tomllib.loads(text)
    assert guarded == 4
    assert project.task("brk")["landed"] is None


@pytest.mark.spec("12.3")
def test_a_check_that_changes_tracked_files_is_commented_out_with_the_right_option(
    project: Project,
) -> None:
    commit_files(project, {"Makefile": "lint:\n\t./ruff check\n", "ruff": ""})
    a_program(project.repo / "ruff", "echo >> README")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "a linter that fixes")

    done = project.yaoki("init", "--json", env=programs(project, "make"))

    (lint,) = done.document["baseline"]
    assert lint["state"] == "broken"
    assert "changes files of the repository (README)" in lint["words"]
    assert "let it only report" in lint["words"]


@pytest.mark.full
@pytest.mark.spec("12.3")
def test_init_says_how_git_ignores_a_tracked_file_that_a_check_generates(project: Project) -> None:
    commit_files(project, {"Makefile": "test:\n\techo 1 >> coverage.xml\n", "coverage.xml": "0"})
    env = programs(project, "make")

    unfit = project.yaoki("init", "--json", env=env).document["baseline"][0]

    assert unfit["state"] == "broken"
    assert "(coverage.xml); it is generated: let git ignore it" in unfit["words"]
    subprocess.run(unfit["next"], shell=True, check=True, cwd=project.repo)
    assert (project.repo / ".gitignore").read_text() == "/coverage.xml\n"
    assert project.git("ls-files", "coverage.xml") == ""
    project.git("add", ".gitignore")
    project.git(*GIT_IDENTITY, "commit", "-qm", "ignore the report")
    again = project.yaoki("init", "--again", "--dry-run", "--json", env=env)
    assert again.document["baseline"][0]["state"] != "broken", again.out


@pytest.mark.full
@pytest.mark.spec("12.3")
def test_a_check_without_tests_is_commented_out_and_one_test_is_enough(project: Project) -> None:
    """A check that runs no test would accept any change."""
    none = {"setup.py": "", "tests/__init__.py": "", "tests/test_sum.py": "import unittest\n"}
    commit_files(project, none)
    env = programs(project)

    done = project.yaoki("init", env=env)

    text = (project.repo / "yaoki.toml").read_text()
    assert "no tests" in done.out
    assert "it ran no tests, so it proves nothing" in done.out
    assert "with no check." in done.out
    assert (
        "1 check is commented out; fix what is named above, then run yaoki init --again"
        in " ".join(done.out.split())
    )
    assert "# [checks.tests]" in text
    assert "checks" not in tomllib.loads(text)


# What a tool says, and what that is; one package without tests is no reason.
SAID = {
    "go": ("?   \texample.org/x\t[no test files]", "empty"),
    "part": ("ok  \texample.org/x\t0.1s\n?   \texample.org/y\t[no test files]", "green"),
    "cargo": (CARGO.format(0), "empty"),
    "parts": (CARGO.format(0) + "\n" + CARGO.format(2), "green"),
    "node": ("# tests 0\n# pass 0", "empty"),
    "mute": ("fine", "broken"),
}


@pytest.mark.spec("12.3")
def test_no_tests_is_recognised_in_the_output_of_each_tool(project: Project) -> None:
    """A fake tool prints the text that is in its folder."""
    files = {f"{name}/{path}": text for name in SAID for path, text in GO.items()}
    commit_files(project, {**files, **{f"{name}/said": f"{SAID[name][0]}\n" for name in SAID}})
    env = programs(project, "cat")
    a_program(project.folder / "bin" / "go", 'test "$1" = vet || cat said')

    done = project.yaoki("init", "--json", env=env)

    tests = {f"go-tests-{name}": state for name, (_, state) in SAID.items()}
    assert base(done.document) == {**tests, **{f"go-vet-{name}": "green" for name in SAID}}


@pytest.mark.spec("12.3")
def test_a_proxy_program_without_a_toolchain_is_reported_as_missing(project: Project) -> None:
    commit_files(project, RUST)
    env = programs(project)
    said = "rustup could not choose a version of cargo to run, and no default is configured."
    a_program(project.folder / "bin" / "cargo", f"echo 'error: {said}' >&2; exit 1")

    done = project.yaoki("init", "--json", env=env)

    assert base(done.document) == {"cargo-tests": "missing", "clippy": "missing"}
    assert {one["next"] for one in done.document["baseline"]} == {"rustup default stable"}


@pytest.mark.spec("12.3")
def test_an_unreadable_manifest_is_reported(project: Project) -> None:
    broken = {"package.json": '{"scripts": {', "api/pyproject.toml": "[project\n"}
    commit_files(project, {**broken, "go.mod": "x\n"})

    done = project.yaoki("init", "--no-run")
    told = project.yaoki("init", "--dry-run", "--no-run", "--json")

    assert "cannot be read: package.json: " in done.out
    assert "cannot be read: api/pyproject.toml: " in done.out
    assert {one["file"] for one in told.document["unread"]} == set(broken)


@pytest.mark.spec("12.3")
def test_languages_have_their_usual_names(project: Project) -> None:
    commit_files(project, {**GO, "c/CMakeLists.txt": "enable_testing()\n"})

    done = project.yaoki("init", "--no-run")

    assert "(Go, C and C++ with cmake)" in done.out


# ------------------------------------------------------------------ once more


@pytest.mark.full
@pytest.mark.spec("12.3", "12.1")
def test_init_again_adds_checks_that_can_run_after_the_remedy(project: Project) -> None:
    """Text that the user added to the file is unchanged."""
    commit_files(project, {**GO, **{f"app/{path}": text for path, text in PLAIN.items()}})
    env = programs(project, pytest=False)
    file = project.repo / "yaoki.toml"
    project.yaoki("init", env=env)
    file.write_text(file.read_text().replace("parallel = 2 ", "parallel = 3 ") + "# mine\n")

    second = project.yaoki("init", env=env)
    seen = project.yaoki("doctor", env=env)
    still = project.yaoki("init", "--again", env=env)
    before = file.read_text()
    a_program(project.folder / "bin" / "go", "printf 'ok  \\tx\\t0.1s\\n'")
    shown = project.yaoki("init", "--again", "--dry-run", env=env)
    unchanged = file.read_text()
    again = project.yaoki("init", "--again", "--json", env=env)
    after = file.read_text()

    assert re.search(r"go-vet is commented out in line \d+: go is not installed", second.out)
    assert "next: yaoki init --again" in second.out
    assert re.search(
        r"commented-out checks: go-tests \(line \d+, yaoki init --again\), go-vet", seen.out
    )
    assert "nothing new" in still.out
    assert "would be added: go-tests, go-vet" in shown.out
    assert unchanged == before
    assert again.document["added"] == ["go-tests", "go-vet"]
    document = tomllib.loads(after)
    assert list(document["checks"]) == ["go-tests", "go-vet", "tests-app"]
    assert document["limits"]["parallel"] == 3
    assert after.endswith("# mine\n")
    kept = [part for part in before.split("\n\n") if "go" not in part]
    assert [part for part in after.split("\n\n") if "go" not in part] == kept


@pytest.mark.spec("12.3")
def test_an_agent_that_answers_later_is_added_above_the_tables(project: Project) -> None:
    commit_files(project, GO)
    env = programs(project)
    file = project.repo / "yaoki.toml"
    project.yaoki("init", "--no-run", env=env)
    a_program(project.folder / "bin" / "claude", "echo '9.9.9 (Claude Code)'")

    again = project.yaoki("init", "--again", "--no-run", env=env)
    output = file.read_text()
    twice = project.yaoki("init", "--again", "--no-run", env=env)

    document = tomllib.loads(output)
    assert "added: agent claude" in again.out, again
    assert (document["agent"], document["agents"]) == ("claude", {"claude": {"preset": "claude"}})
    assert "nothing new" in twice.out
    assert file.read_text() == output


@pytest.mark.spec("12.3", "15")
def test_a_partly_written_file_is_removed(project: Project) -> None:
    """A full disk, simulated by a limit on the size of files."""
    commit_files(project, GO)

    little = ("sh", "-c", 'ulimit -f 1; exec "$@"', "sh")

    done = subprocess.run(
        (*little, sys.executable, "-m", "yaoki", "init", "--no-run"),
        cwd=project.repo,
        # Python would leave the first bytes of each module in the cache that all tests share.
        env={**project.env, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )

    assert done.returncode == 1, done.stderr
    assert "yaoki.toml cannot be written: file too large" in done.stderr
    assert not (project.repo / "yaoki.toml").exists()


@pytest.mark.spec("12.3", "15")
def test_a_repository_with_missing_objects_is_reported_and_nothing_is_written(
    project: Project,
) -> None:
    commit_files(project, {})
    for folder in (project.repo / ".git" / "objects").iterdir():
        if len(folder.name) == 2:
            shutil.rmtree(folder)

    done = project.yaoki("init")
    seen = project.yaoki("doctor", "--json")

    lines = {one["name"]: one for one in seen.document["lines"]}
    assert done.code != 0
    assert not (project.repo / "yaoki.toml").exists()
    assert (seen.code, lines["base"]["ok"], lines["base"]["next"]) == (1, False, "git fsck")


# ------------------------------------------------------------------ whose Python


@pytest.mark.full
@pytest.mark.spec("12.3", "12.1", "15")
def test_yaokis_own_python_on_the_path_is_reported_with_a_remedy(
    project: Project, tmp_path: Path, pycache: Path
) -> None:
    """Activating its environment hides the packages of the project, and doctor explains it."""
    commit_files(project, PYTHON)
    bin_ = create_clone(tmp_path, pycache) / ".venv" / "bin"
    mine = create_python_with_pytest(tmp_path / "mine")
    active = f'. "{bin_ / "activate"}"'

    def typed(words: str) -> subprocess.CompletedProcess[str]:
        env = {**project.env, **WITHOUT_PLUGINS, "PATH": f"{mine}:/usr/local/bin:/usr/bin:/bin"}
        call = ("bash", "-c", words)
        return subprocess.run(call, cwd=project.repo, env=env, capture_output=True, text=True)

    hidden = typed(f"{active}; yaoki init")
    way = next(line for line in hidden.stdout.splitlines() if line.strip().startswith("deactivate"))
    seen = typed(f"{active}; yaoki doctor --checks --json")
    mended = typed(f"{active}; {way}; yaoki init --again && yaoki doctor --checks")

    assert "belongs to yaoki, so checks see its packages" in hidden.stdout, hidden
    assert "pip install" not in hidden.stdout, "never into the environment of yaoki"
    assert json.loads(seen.stdout)["ok"], "nothing of the settings is bad: it stands in comments"
    assert "added: tests" in mended.stdout, mended
    assert "green at the base" in mended.stdout
    project.settings('[checks.tests]\nrun = ["python", "-m", "pytest", "-q"]\n')
    done = subprocess.run(
        ("yaoki", "doctor", "--checks", "--json"),
        cwd=project.repo,
        env={**project.env, "PATH": f"{bin_}:/usr/local/bin:/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    lines = {one["name"]: one for one in json.loads(done.stdout)["lines"]}
    assert "belongs to yaoki" in lines["PATH"]["words"]
    assert lines["check tests"]["ok"] is False
    assert f"its python must come before {bin_}" in lines["check tests"]["words"]
    assert lines["check tests"]["next"] == f'export PATH="${{PATH#{bin_}:}}:{bin_}"'


@pytest.mark.spec("12.1")
def test_doctor_says_when_a_green_check_ran_no_tests(project: Project) -> None:
    project.settings('[checks.tests]\nshell = "echo Ran 0 tests in 0.000s"\n')

    document = project.yaoki("doctor", "--checks", "--json").document["lines"]

    words = next(one["words"] for one in document if one["name"] == "check tests")
    assert "it ran no tests" in words
    assert "green" not in words


@pytest.mark.spec("12.1", "15")
def test_doctor_names_the_command_for_an_old_git(project: Project) -> None:
    env = programs(project)
    old = project.folder / "bin" / "git"
    old.unlink()
    a_program(old, "echo 'git version 2.30.2'")

    done = project.yaoki("doctor", "--json", env=env)

    lines = {one["name"]: one for one in done.document["lines"]}
    assert (lines["git"]["ok"], lines["git"]["next"]) == (False, "apt install git")


TOX = {
    "tox.ini": "[tox]\nenvlist = py\n[testenv]\ncommands = python -m unittest\n",
    "tests/test_sum.py": PLAIN["tests/test_sum.py"],
}


@pytest.mark.full
@pytest.mark.spec("12.3", "12.1")
def test_init_runs_the_tests_itself_where_tox_is_not_installed(project: Project) -> None:
    commit_files(project, TOX)
    env = programs(project)

    done = project.yaoki("init", env=env)
    looked = project.yaoki("doctor", "--checks", env=env)

    text = " ".join(done.out.split())
    written = tomllib.loads((project.repo / "yaoki.toml").read_text())
    assert done.code == 0, done.out + done.err
    assert "tox is not installed, so check tests runs pytest instead" in text
    assert written["checks"]["tests"]["run"][:3] == ["python", "-m", "pytest"]
    assert done.out.endswith("next: yaoki doctor\n")
    assert looked.code == 0, looked.out


@pytest.mark.spec("12.3")
def test_init_uses_tox_from_the_environment_of_the_repository(project: Project) -> None:
    commit_files(project, {**TOX, ".gitignore": ".venv\n"})
    venv = project.repo / ".venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "pyvenv.cfg").write_text("")
    a_program(venv / "bin/python", f'exec "{sys.executable}" "$@"')
    a_program(venv / "bin/tox", "exec python -m unittest discover -s tests")

    done = project.yaoki("init", env=programs(project))

    written = tomllib.loads((project.repo / "yaoki.toml").read_text())
    assert done.code == 0, done.out + done.err
    assert written["checks"]["tests"]["run"] == ["tox", "run", "-e", "py"]


@pytest.mark.spec("12.3", "12.1")
def test_doctor_names_the_installation_of_a_missing_tox(project: Project) -> None:
    commit_files(project, TOX)
    project.settings('[checks.tests]\nrun = ["tox", "run", "-e", "py"]\n')

    done = project.yaoki("doctor", "--checks", env=programs(project))

    assert done.code == 1
    assert "tox is not" in " ".join(done.out.split())
    assert done.out.endswith("next: python -m pip install tox\n")
