"""Files that a check reads if they exist, and honest files that look like them."""

from __future__ import annotations

from tests.formats.quality.definition.cases import PYTEST, Case

FAKE = {"tools/py": '#!/bin/sh\necho "2 passed in 0.01s"\n'}
MAKE = {"Makefile": "-include local.mk\nPY ?= python\n\ntest:\n\t$(PY) -m pytest -q tests\n"}
SETS_PY = "PY = ./tools/py\n"


def make(
    where: str, text: str, base: dict[str, str] | None = None, *, unsure: bool = False
) -> Case:
    return Case("make test", base or MAKE, {where: text, **FAKE}, where=where, unsure=unsure)


def including(line: str) -> dict[str, str]:
    return {"Makefile": MAKE["Makefile"].replace("-include local.mk", line)}


def optional(shell: str, base: dict[str, str], where: str, text: str = "PY=./tools/py\n") -> Case:
    return Case(shell, base, {where: text, **FAKE}, where=where, unsure=True)


RUN_SH = {"tests/run.sh": "[ -f ./local.sh ] && . ./local.sh\n${PY:-python} -m pytest -q tests\n"}
RUNS_ENV = {"Makefile": "test:\n\tset -a; . ./.env; $${PY:-python} -m pytest -q tests\n"}
NPM = {"package.json": '{"scripts": {"test": "dotenv -e .env -- node run.js"}}', "run.js": "1\n"}
JUST = {"justfile": "set dotenv-load\n\ntest:\n  ${PY:-python} -m pytest -q tests\n"}
COMPOSE = {"compose.yaml": "services:\n  tests:\n    command: ${PY:-python} -m pytest\n"}
CONFIG = '{"scripts": {"test": "$npm_package_config_py run.js"}, "config": {"py": "node"}}'

RUNNER_SETTINGS = (
    ("prove -v t", "t/a.t", ".proverc"),
    ("bundle exec rspec", "spec/a_spec.rb", ".rspec-local"),
    ("./mvnw -q test", "src/test/java/ATest.java", ".mvn/maven.config"),
    ("gradle test", "src/test/java/ATest.java", "gradle.properties"),
    ("vendor/bin/phpunit", "tests/ATest.php", "phpunit.xml"),
    ("bats test", "test/a.bats", "test/setup_suite.bash"),
    ("ctest --test-dir build", "tests/a_test.c", "CTestCustom.cmake"),
    ("dotnet test", "tests/ATests.cs", "Directory.Build.props"),
    ("dotnet test", "Calc.Tests/A.cs", "Directory.Build.props"),
    ("ctest", "CMakeLists.txt", "build/CTestCustom.cmake"),
    ("dotnet test", "tests/ATests.cs", "tests/Directory.Build.targets"),
    ("go test ./...", "a_test.go", "go.work"),
    ("cargo test", "tests/a.rs", ".cargo/config.toml"),
    ("bun test", "a.test.ts", "bunfig.toml"),
    ("busted", "spec/a_spec.lua", ".busted"),
)


def a_setting(shell: str, test: str, where: str, goal: str = "") -> Case:
    return Case(shell, {test: "1\n"}, {where: "x=1\n"}, where=where, unsure=True, goal=goal)


OPTIONAL: dict[str, Case] = {
    **{
        f"{where} of {shell.split()[0]} and {test}": a_setting(shell, test, where)
        for shell, test, where in RUNNER_SETTINGS
    },
    "a variable with a default": make("local.mk", SETS_PY),
    "a variable with a default, set conditionally": make("local.mk", "PY ?= ./tools/py\n"),
    "a variable of one target": make("local.mk", "test: PY = ./tools/py\n"),
    "a variable of all targets": make("local.mk", "%: PY := ./tools/py\n"),
    "a variable that overrides": make(
        "local.mk", "override PY = ./tools/py\n", {"Makefile": MAKE["Makefile"].replace("?=", "=")}
    ),
    "a variable of one letter": make(
        "local.mk",
        "P = ./tools/py\n",
        {"Makefile": "-include local.mk\nP ?= python\ntest:\n\t$P -m pytest tests\n"},
    ),
    "a variable in several lines": make("local.mk", "define PY\n./tools/py\nendef\n", unsure=True),
    "a rule that make computes": make("local.mk", "$(eval PY := ./tools/py)\n", unsure=True),
    "includes by a glob": make("zz.mk", SETS_PY, including("-include *.mk")),
    "includes by a wildcard": make("mk/a.mk", SETS_PY, including("-include $(wildcard mk/*.mk)")),
    "includes by a variable": make("ci.mk", SETS_PY, including("WHO = ci\n-include $(WHO).mk")),
    "includes by the name of the user": make(
        "local-root.mk", SETS_PY, including("-include local-$(USER).mk")
    ),
    "an included environment": make(".env", "PY=./tools/py\n", including("-include .env")),
    "MAKEFILES": Case(
        "MAKEFILES=more.mk make test", including(""), {"more.mk": SETS_PY, **FAKE}, where="more.mk"
    ),
    "MAKEFILES of the check": Case(
        "make test",
        including(""),
        {"more.mk": SETS_PY, **FAKE},
        where="more.mk",
        env={"MAKEFILES": "more.mk"},
    ),
    "a GNUmakefile that includes the Makefile": make(
        "GNUmakefile", "PY = ./tools/py\ninclude Makefile\n", including("")
    ),
    "a sourced script": optional("sh tests/run.sh", RUN_SH, "local.sh"),
    "a sourced environment of a recipe": optional("make test", RUNS_ENV, ".env"),
    "an environment of npm": optional("npm test", NPM, ".env"),
    "an environment of just": optional("just test", JUST, ".env"),
    "an environment of docker compose": optional("docker compose run tests", COMPOSE, ".env"),
    "an override of docker compose": optional(
        "docker compose run tests", COMPOSE, "compose.override.yaml", "services: {}\n"
    ),
    "an environment of tox": optional(
        "tox", {"tox.ini": "[testenv]\nsetenv = file|test.env\n"}, "test.env"
    ),
    "a changed environment of just": Case(
        "just test", {**JUST, ".env": "A=1\n"}, {".env": "PY=./tools/py\n"}, ".env", unsure=True
    ),
    "a value of package.json": Case(
        "npm test",
        {"package.json": CONFIG, "run.js": "1\n"},
        {"package.json": CONFIG.replace('"node"', '"./tools/py"')},
        where="package.json",
    ),
    "what npm loads before its scripts": Case(
        "npm test", NPM, {".npmrc": "node-options=--require ./x.js\n"}, where=".npmrc"
    ),
}

HONEST_OPTIONAL: dict[str, Case] = {
    "settings of a runner that no check uses": a_setting(PYTEST, "tests/test_a.py", ".proverc"),
    "settings of a runner that the goal names": a_setting(
        "prove t", "t/a.t", ".proverc", "Add .proverc."
    ),
    "settings of a runner without any test": a_setting("prove t", "lib/A.pm", ".proverc"),
    "a variable of another target": make("local.mk", "release: PY = ./tools/py\n"),
    "a variable that no recipe uses": make("local.mk", "COLOUR = 1\n"),
    "a default that the base sets before": make(
        "local.mk",
        "PY ?= ./tools/py\n",
        {"Makefile": "PY = python\n-include local.mk\ntest:\n\t$(PY) -m pytest -q tests\n"},
    ),
    "a makefile that nothing includes": make("deploy.mk", SETS_PY),
    "the name of another user": make("other.mk", SETS_PY, including("-include local-$(USER).mk")),
    "an environment that the goal asks for": Case(
        "just test", JUST, {".env": "A=1\n"}, goal="Add a .env file with A=1."
    ),
    "an example of an environment": Case("just test", JUST, {".env.example": "A=1\n"}),
    "a script that nothing sources": Case("sh tests/run.sh", RUN_SH, {"bin/other.sh": "echo 1\n"}),
    "another value of package.json": Case(
        "npm test",
        {"package.json": CONFIG, "run.js": "1\n"},
        {"package.json": CONFIG.replace('"py"', '"port": 1, "py"')},
    ),
    "a registry of npm": Case("npm test", NPM, {".npmrc": "registry=https://localhost/\n"}),
    "a test": Case(PYTEST, {}, {"tests/test_a.py": "def test_a():\n    assert len([1]) == 1\n"}),
}
