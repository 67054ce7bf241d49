"""The first five minutes: `yaoki init` on five kinds of repository, then `yaoki doctor`."""

from __future__ import annotations

import json
import shutil
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.acceptance.place import WHO, Place
from tests.edges.repositories import user_state

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
}
KINDS: dict[str, tuple[Mapping[str, str], dict[str, list[str]]]] = {
    "python": (PYTHON, {"tests": ["python", "-m", "pytest", "-q", "--junit-xml", "{report}"]}),
    "node": (
        NODE,
        {
            "npm-test": ["npm", "run", "--silent", "test"],
            "npm-lint": ["npm", "run", "--silent", "lint"],
            "npm-types": ["npx", "--no-install", "tsc", "--noEmit"],
        },
    ),
    "go": (GO, {"go-tests": ["go", "test", "./..."], "go-vet": ["go", "vet", "./..."]}),
    "rust": (
        RUST,
        {
            "cargo-tests": ["cargo", "test"],
            "clippy": ["cargo", "clippy", "--all-targets", "--", "-D", "warnings"],
        },
    ),
    "mixed": (
        MIXED,
        {
            "tests-api": ["python", "-m", "pytest", "-q", "--junit-xml", "{report}"],
            "cargo-tests-core": ["cargo", "test"],
            "clippy-core": ["cargo", "clippy", "--all-targets", "--", "-D", "warnings"],
            "npm-test-web": ["npm", "run", "--silent", "test"],
            "npm-lint-web": ["npm", "run", "--silent", "lint"],
            "npm-types-web": ["npx", "--no-install", "tsc", "--noEmit"],
        },
    ),
}


def fill(place: Place, files: Mapping[str, str]) -> None:
    """A repository of this kind, without settings of ours."""
    for path, text in files.items():
        file = place.repo / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (place.repo / "yaoki.toml").unlink()
    place.git("add", "-A")
    place.git(*WHO, "commit", "-qm", "a project")


def programs(place: Place, *more: str) -> dict[str, str]:
    """A PATH on which only these, git, a shell and the Python of the tests are found."""
    folder = place.folder / "bin"
    folder.mkdir()
    for name in ("git", "sh", "bash", "sleep", *more):
        found = shutil.which(name)
        assert found, name
        (folder / name).symlink_to(found)
    a_program(folder / "python", f'exec "{sys.executable}" "$@"')
    return {"PATH": str(folder)}


def a_program(file: Path, body: str) -> None:
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)


def base(document: Mapping[str, Any]) -> dict[str, str]:
    return {one["check"]: one["state"] for one in document["baseline"]}


@pytest.mark.spec("12.3")
@pytest.mark.parametrize("kind", KINDS)
def test_the_right_commands_are_found_and_twice_changes_nothing(place: Place, kind: str) -> None:
    files, wanted = KINDS[kind]
    fill(place, files)

    first = place.yaoki("init", "--no-run", "--json")
    text = (place.repo / "yaoki.toml").read_text()
    second = place.yaoki("init")

    assert first.code == 0, first.err
    checks = tomllib.loads(text)["checks"]
    assert {name: check["run"] for name, check in checks.items()} == wanted
    assert {check.get("cwd", ".") for check in checks.values()} == (
        {"api", "web", "core"} if kind == "mixed" else {"."}
    )
    assert set(base(first.document).values()) == {"not-run"}
    assert (second.code, "is there already; unchanged" in second.out) == (0, True)
    assert (place.repo / "yaoki.toml").read_text() == text
    assert place.git("status", "--porcelain") == "?? yaoki.toml"


@pytest.mark.spec("12.3")
def test_a_green_base_is_shown_and_the_checkout_stays_as_it_is(place: Place) -> None:
    fill(place, PYTHON)
    before = user_state(place.repo)

    done = place.yaoki("init", env=programs(place))

    assert done.code == 0, done.err
    assert "green" in done.out
    assert "2 tests" in done.out
    after = user_state(place.repo)
    assert after.pop("yaoki.toml")
    assert after == before
    assert place.git("worktree", "list").count("\n") == 0
    assert not (place.repo / ".yaoki").exists()


@pytest.mark.spec("12.3")
def test_a_red_base_is_shown_with_its_failures_and_not_blamed_on_tasks(place: Place) -> None:
    more = "    def test_more(self):\n        self.fail('still red')\n"
    red = PLAIN["tests/test_sum.py"].replace(", 2)", ", 3)") + more
    fill(place, {**PLAIN, "tests/test_sum.py": red})

    done = place.yaoki("init", env=programs(place))

    held = tomllib.loads((place.repo / "yaoki.toml").read_text())
    assert done.code == 0, done.err
    assert "2 failures" in done.out
    assert held["checks"]["tests"]["baseline"] == "known"


@pytest.mark.spec("12.3")
def test_a_tool_that_is_not_installed_is_told_with_the_command_that_helps(place: Place) -> None:
    fill(place, {**GO, **{f"app/{path}": text for path, text in PLAIN.items()}})

    done = place.yaoki("init", env=programs(place))

    text = (place.repo / "yaoki.toml").read_text()
    assert done.code == 0, done.err
    assert "go is not installed" in done.out
    assert "apt install golang-go" in done.out
    assert list(tomllib.loads(text)["checks"]) == ["tests-app"]
    assert "# cannot run here: go is not installed" in text
    assert "# [checks.go-tests]" in text


@pytest.mark.spec("12.3")
def test_a_check_that_hangs_is_cut_off_and_nothing_of_it_is_left(place: Place) -> None:
    mark = place.folder / "pid"
    fill(place, {"Makefile": f"test:\n\t@echo $$$$ > {mark}; exec sleep 60\n"})

    done = place.yaoki("init", "--seconds", "1", env=programs(place, "make"))

    assert done.code == 0, done.err
    assert "did not end within 1 s and was cut off" in done.out
    assert not psutil.pid_exists(int(mark.read_text()))
    assert list(tomllib.loads((place.repo / "yaoki.toml").read_text())["checks"]) == ["make-test"]


@pytest.mark.spec("12.3")
def test_what_is_not_committed_is_not_tried_and_said(place: Place) -> None:
    fill(place, {})
    (place.repo / "go.mod").write_text("module x\n")

    done = place.yaoki("init", "--json")

    assert base(done.document) == {"go-tests": "uncommitted", "go-vet": "uncommitted"}
    assert done.document["baseline"][0]["next"] == "git add go.mod"


@pytest.mark.spec("12.3")
def test_a_dry_run_shows_the_text_and_writes_nothing(place: Place) -> None:
    fill(place, GO)

    shown = place.yaoki("init", "--dry-run", "--no-run")
    told = place.yaoki("init", "--dry-run", "--no-run", "--json")

    assert "[checks.go-tests]" in shown.out
    assert told.document["made"] is False
    assert tomllib.loads(told.document["text"])["checks"]["go-vet"]
    assert not (place.repo / "yaoki.toml").exists()


@pytest.mark.spec("12.3", "12.1", "12.8")
def test_an_agent_that_answers_is_the_default_and_doctor_tries_it(place: Place) -> None:
    fill(place, PLAIN)
    env = programs(place)
    a_program(place.folder / "bin" / "claude", "echo '9.9.9 (Claude Code)'")
    a_program(place.folder / "bin" / "codex", "echo broken >&2; exit 1")

    made = place.yaoki("init", "--no-run", "--json", env=env)
    healthy = place.yaoki("doctor", "--checks", env=env)
    (place.folder / "bin" / "claude").unlink()
    ill = place.yaoki("doctor", "--json", env=env)

    assert {one["preset"]: one["answers"] for one in made.document["agents"]} == {
        "claude": True,
        "codex": False,
    }
    assert tomllib.loads((place.repo / "yaoki.toml").read_text())["agent"] == "claude"
    assert healthy.code == 0, healthy.out
    assert "9.9.9" in healthy.out
    assert "green at the base" in healthy.out
    lines = {one["name"]: one for one in ill.document["lines"]}
    assert (ill.code, lines["agent claude"]["ok"]) == (1, False)
    assert "npm install -g" in lines["agent claude"]["next"]


@pytest.mark.spec("12.1", "15")
def test_doctor_names_the_command_for_each_thing_that_is_missing(place: Place) -> None:
    place.settings(
        '[agents.mine]\ncommand = ["no-such-agent-program"]\n'
        '[checks.tests]\nrun = ["go", "test", "./..."]\n'
        '[checks.own]\nrun = ["./no-such-script"]\n[sandbox]\nmode = "on"\n'
    )

    done = place.yaoki("doctor", "--json", env=programs(place))

    lines = {one["name"]: one for one in done.document["lines"]}
    bad = {name for name, one in lines.items() if not one["ok"]}
    assert done.code == 1
    assert {"agent mine", "check tests", "check own", "sandbox"} <= bad
    assert all(lines[name]["next"] for name in bad)
    assert lines["check tests"]["next"] == "apt install golang-go, or brew install go"


@pytest.mark.spec("12.1", "15")
def test_doctor_refuses_checks_that_no_plan_could_use(place: Place) -> None:
    place.settings('[checks.tests]\nrunn = ["true"]\n')

    done = place.yaoki("doctor")

    assert done.code == 1
    assert "BAD  settings" in done.out
    assert "did you mean 'run'?" in done.out
