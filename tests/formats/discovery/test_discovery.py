"""What `yaoki init` finds in the files of a repository, and what it writes of it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import psutil
import pytest

from tests.time_limits import has_line, run_until_started
from yaoki.adapters.agents.availability import probe_presets
from yaoki.adapters.agents.preset import load_preset
from yaoki.adapters.checks.readers.choice import recognise_reader
from yaoki.core.settings.settings import Settings
from yaoki.core.text import format_duration
from yaoki.formats.discovery import (
    Discovery,
    FoundAgent,
    FoundCheck,
    RepositoryFiles,
    TrialResult,
    TrialState,
    find_checks,
    install_command,
    is_text_needed,
    settings_text,
)
from yaoki.formats.discovery.table import load_languages
from yaoki.formats.plan.settings_parts import read_settings_parts

PYTEST = "python -m pytest -q --junit-xml {report}"
PACKAGE = {"scripts": {"test": "vitest run", "lint": "eslint ."}, "devDependencies": {"vitest": ""}}


def discover(files: Mapping[str, str]) -> Discovery:
    texts = {path: text for path, text in files.items() if is_text_needed(path)}
    return find_checks(RepositoryFiles(frozenset(files), texts))


def commands(files: Mapping[str, str]) -> dict[str, str]:
    return {one.name: one.command for one in discover(files).checks}


def package(**held: object) -> str:
    return json.dumps(held)


# ------------------------------------------------------------------ one language at a time

CASES: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "pip": (
        {"pyproject.toml": '[dependency-groups]\ndev = ["pytest>=8"]\n[tool.ruff]\n'},
        {"tests": PYTEST, "lint": "ruff check --no-fix"},
    ),
    "uv": (
        {"pyproject.toml": "[tool.pytest.ini_options]\n[tool.mypy]\n", "uv.lock": ""},
        {"tests": f"uv run --frozen {PYTEST}", "types": "uv run --frozen mypy ."},
    ),
    "uv with a group for tests": (
        {"pyproject.toml": '[dependency-groups]\ntests = ["pytest"]\n', "uv.lock": ""},
        {"tests": f"uv run --frozen --group tests {PYTEST}"},
    ),
    "poetry": (
        {"pyproject.toml": '[tool.poetry.group.dev.dependencies]\npytest = "^8"\nmypy = "*"\n'},
        {"tests": f"poetry run {PYTEST}", "types": "poetry run mypy ."},
    ),
    "pdm": (
        {"pyproject.toml": '[tool.mypy]\nfiles = ["src"]\n', "pdm.lock": ""},
        {"types": "pdm run mypy"},
    ),
    "hatch": (
        {"pyproject.toml": "[tool.hatch.envs.default]\n[tool.black]\n[tool.pyright]\n"},
        {"format": "hatch run black --check .", "pyright": "hatch run pyright"},
    ),
    "pipenv": (
        {"Pipfile": '[dev-packages]\npytest = "*"\n', ".flake8": "", "pytest.ini": ""},
        {"tests": f"pipenv run {PYTEST}", "flake8": "pipenv run flake8"},
    ),
    "requirements": (
        {"requirements-dev.txt": "# tools\npytest==8.1\nmypy\n"},
        {"tests": PYTEST, "types": "mypy ."},
    ),
    "unittest": (
        {"setup.py": "", "tests/test_a.py": ""},
        {"tests": "python -m unittest discover -s tests"},
    ),
    "tox": ({"tox.ini": "[tox]\n[flake8]\n"}, {"tests": "tox run -e py", "flake8": "flake8"}),
    "nox": ({"noxfile.py": ""}, {"tests": "nox"}),
    "nox session": ({"noxfile.py": "@nox.session\ndef tests(s):\n"}, {"tests": "nox -s tests"}),
    "hatch test": (
        {"pyproject.toml": "[tool.hatch.envs.hatch-test]\n[tool.pytest.ini_options]\n"},
        {"tests": "hatch test -- -q --junit-xml {report}"},
    ),
    "hatch environment": (
        {"pyproject.toml": "[tool.hatch.envs.test]\n"},
        {"tests": f"hatch run test:{PYTEST}"},
    ),
    "hatch.toml": (
        {"pyproject.toml": "", "hatch.toml": '[envs.default]\ndependencies = ["pytest"]\n'},
        {"tests": f"hatch run {PYTEST}"},
    ),
    "pdm as a build backend": (
        {"pyproject.toml": "[tool.pdm.build]\n[tool.pytest.ini_options]\n"},
        {"tests": PYTEST},
    ),
    "isort": (
        {"pyproject.toml": "[tool.isort]\n[tool.black]\n"},
        {"isort": "isort --check-only .", "format": "black --check ."},
    ),
    "bare tests": (
        {"calc_test.py": ""},
        {"tests": "python -m unittest discover -p *_test.py"},
    ),
    "bare tests of a package": ({"calc/tests/test_a.py": ""}, {"tests": PYTEST}),
    "npm": (
        {"package.json": json.dumps(PACKAGE), "package-lock.json": "{}", "tsconfig.json": ""},
        {
            "npm-test": "npm run --silent test",
            "npm-lint": "npm run --silent lint",
            "npm-types": "npx --no-install tsc --noEmit",
        },
    ),
    "pnpm": (
        {"package.json": package(scripts={"typecheck": "tsc"}), "pnpm-lock.yaml": ""},
        {"pnpm-types": "pnpm --silent run typecheck"},
    ),
    "yarn": (
        {"package.json": package(devDependencies={"jest": "1", "eslint": "9"}), "yarn.lock": ""},
        {"yarn-test": "yarn run jest --ci", "yarn-lint": "yarn run eslint ."},
    ),
    "bun": (
        {"package.json": package(packageManager="bun@1.2.0", scripts={"test": "bun test"})},
        {"bun-test": "bun run test"},
    ),
    "vitest": (
        {"package.json": package(devDependencies={"vitest": "3"}), "biome.json": "{}"},
        {
            "npm-test": "npx --no-install vitest run --reporter=junit --outputFile={report}",
            "npm-lint": "npx --no-install biome check .",
        },
    ),
    "a script that fixes": (
        {"package.json": package(scripts={"lint": "eslint . --fix"}), "yarn.lock": ""},
        {"yarn-lint": "yarn run lint --no-fix"},
    ),
    "a script of two commands": (
        {"package.json": package(scripts={"lint": "eslint . --fix && true"})},
        {"npm-lint": "npm run --silent lint"},
    ),
    "rake": ({"Rakefile": "Rake::TestTask.new\n"}, {"rake-tests": "rake test"}),
    "npm's own placeholder": (
        {"package.json": package(scripts={"test": 'echo "Error: no test specified" && exit 1'})},
        {},
    ),
    "go": (
        {"go.mod": "module x\n", ".golangci.yml": ""},
        {
            "go-tests": "go test ./...",
            "go-vet": "go vet ./...",
            "golangci-lint": "golangci-lint run",
        },
    ),
    "rust": (
        {"Cargo.toml": "[workspace]\n", "a/Cargo.toml": "[package]\n", "rustfmt.toml": ""},
        {
            "cargo-tests": "cargo test",
            "clippy": "cargo clippy --all-targets -- -D warnings",
            "rustfmt": "cargo fmt --check",
        },
    ),
    "maven": (
        {"pom.xml": "<modules><module>core</module></modules>", "core/pom.xml": ""},
        {"mvn-tests": "mvn -B -q test"},
    ),
    "gradle": (
        {"build.gradle.kts": 'plugins { id("ktlint") }', "gradlew": ""},
        {
            "gradle-tests": "./gradlew --console=plain --quiet test",
            "ktlint": "./gradlew --console=plain --quiet ktlintCheck",
        },
    ),
    "ruby": (
        {"Gemfile": 'gem "rspec"\ngem "rubocop"\n'},
        {"rspec": "bundle exec rspec", "rubocop": "bundle exec rubocop"},
    ),
    "php": (
        {"composer.json": package(**{"require-dev": {"phpunit/phpunit": "*"}}), "phpstan.neon": ""},
        {
            "phpunit": "vendor/bin/phpunit --log-junit {report}",
            "phpstan": "vendor/bin/phpstan analyse --no-progress",
        },
    ),
    "dotnet": (
        {"App.sln": "", "src/App.csproj": "", "test/App.Tests.csproj": ""},
        {"dotnet-tests": "dotnet test --nologo"},
    ),
    "elixir": (
        {"mix.exs": "{:credo, :dev}", ".formatter.exs": ""},
        {
            "mix-tests": "mix test",
            "credo": "mix credo",
            "mix-format": "mix format --check-formatted",
        },
    ),
    "swift": (
        {"Package.swift": "", "Tests/AppTests/a.swift": "", ".swiftlint.yml": ""},
        {"swift-tests": "swift test", "swiftlint": "swiftlint lint --strict"},
    ),
    "cmake": (
        {"CMakeLists.txt": "enable_testing()\n", "lib/CMakeLists.txt": ""},
        {
            "ctest": "cmake -S . -B build && cmake --build build && ctest --test-dir build "
            '--output-on-failure --output-junit "$YAOKI_REPORT"'
        },
    ),
    "meson": (
        {"meson.build": ""},
        {"meson-tests": "meson setup build && meson test -C build --print-errorlogs"},
    ),
    "deno": (
        {"deno.jsonc": '{\n  // tasks\n  "tasks": {"test": "deno test -A"}\n}'},
        {"deno-tests": "deno task test", "deno-lint": "deno lint", "deno-check": "deno check ."},
    ),
    "haskell": ({"stack.yaml": "", "x.cabal": ""}, {"stack-tests": "stack test"}),
    "dart": (
        {"pubspec.yaml": "sdk: flutter\n", "test/a_test.dart": ""},
        {"flutter-tests": "flutter test", "flutter-analyze": "flutter analyze"},
    ),
    "scala": ({"build.sbt": ""}, {"sbt-tests": "sbt -no-colors test"}),
    "zig": (
        {"build.zig": 'b.step("test", "run tests")'},
        {"zig-tests": "zig build test", "zig-fmt": "zig fmt --check ."},
    ),
    "make": (
        {"Makefile": "X := 1\n.PHONY: test\ntest: build\n\ttrue\nlint:\n\ttrue\n"},
        {"make-test": "make test", "make-lint": "make lint"},
    ),
}


@pytest.mark.spec("12.3")
@pytest.mark.parametrize("name", CASES)
def test_the_commands_of_an_ecosystem_are_found(name: str) -> None:
    files, wanted = CASES[name]

    assert commands(files) == wanted


@pytest.mark.spec("12.3")
def test_parts_of_a_mixed_repository_are_found_in_their_folders() -> None:
    files = {
        "backend/pyproject.toml": "[tool.pytest.ini_options]\n",
        "frontend/package.json": json.dumps(PACKAGE),
        "services/mail/go.mod": "module mail\n",
        "Makefile": "test:\n\tmake -C backend test\n",
    }

    held = {one.name: one.folder for one in discover(files).checks}

    assert held == {
        "tests-backend": "backend",
        "npm-test-frontend": "frontend",
        "npm-lint-frontend": "frontend",
        "go-tests-services-mail": "services/mail",
        "go-vet-services-mail": "services/mail",
    }


@pytest.mark.spec("12.3")
def test_a_makefile_that_may_check_more_than_another_folder_is_listed() -> None:
    makefile = "test:\n\tmake -C backend test\nlint:\n\ttrue\n"
    apart = {"backend/pyproject.toml": "[tool.pytest.ini_options]\n", "Makefile": makefile}
    together = {"pyproject.toml": "[tool.pytest.ini_options]\n", "Makefile": makefile}

    assert [one.command for one in discover(apart).skipped_checks] == ["make test"]
    assert [one.command for one in discover(together).skipped_checks] == []
    assert "make-lint" in commands(apart)


@pytest.mark.spec("12.3")
def test_a_workspace_covers_its_members_and_defines_their_package_manager() -> None:
    covered = {
        "package.json": package(workspaces=["packages/*"], scripts={"test": "x"}),
        "packages/a/package.json": package(scripts={"test": "y"}),
    }

    assert list(commands(covered)) == ["npm-test"]


@pytest.mark.spec("12.3")
def test_samples_vendored_and_generated_folders_are_skipped() -> None:
    mods = ("node_modules/a", "vendor/b", "examples/c", "tests/fixtures/d", ".hidden/e", "1/2/3/4")

    assert commands({f"{folder}/go.mod": "module x\n" for folder in mods}) == {}


@pytest.mark.spec("12.3")
def test_an_unreadable_manifest_is_skipped() -> None:
    deep = "[" * 200_000
    files = {"pyproject.toml": "[tool.pytest", "package.json": deep, "go.mod": "module x\n"}

    assert list(commands(files)) == ["go-tests", "go-vet"]


@pytest.mark.spec("12.3")
def test_projects_over_the_limit_are_counted() -> None:
    held = discover({f"s{number:03}/go.mod": "module x\n" for number in range(100)})

    assert len(held.checks) == 40
    assert held.left_out > 0


@pytest.mark.spec("12.3")
def test_a_source_layout_is_tested_in_the_worktree() -> None:
    files = {"pyproject.toml": "[tool.pytest.ini_options]\n", "src/app/__init__.py": ""}

    [tests] = discover(files).checks

    assert tests.env == {"PYTHONPATH": "src"}


@pytest.mark.spec("12.3")
@pytest.mark.parametrize(
    ("environments", "absent", "manager", "env"),
    [
        ((".venv",), {"poetry"}, "venv", {"VIRTUAL_ENV": ".venv", "PYTHONPATH": "src"}),
        ((".venv",), set(), "poetry", {"PYTHONPATH": "src"}),
        ((), {"poetry"}, "poetry", {"PYTHONPATH": "src"}),
    ],
    ids=["environment", "manager", "neither"],
)
def test_an_environment_serves_where_the_package_manager_is_missing(
    environments: tuple[str, ...], absent: set[str], manager: str, env: dict[str, str]
) -> None:
    text = "[tool.poetry]\n[tool.pytest.ini_options]\n"
    files = frozenset({"pyproject.toml", "src/app/__init__.py"})

    [tests] = find_checks(
        RepositoryFiles(files, {"pyproject.toml": text}, environments, frozenset(absent))
    ).checks

    assert (tests.manager, tests.env) == (manager, env)


@pytest.mark.spec("12.3")
def test_each_project_folder_has_its_own_environment_or_that_of_the_top() -> None:
    texts = {f"{name}/pyproject.toml": "[tool.pytest.ini_options]\n" for name in ("api", "web")}

    found = find_checks(RepositoryFiles(frozenset(texts), texts, ("api/.venv", ".venv"))).checks

    assert {one.folder: one.env["VIRTUAL_ENV"] for one in found} == {
        "api": "api/.venv",
        "web": ".venv",
    }


@pytest.mark.spec("12.3")
def test_every_tool_has_a_remedy_and_every_check_a_unique_name() -> None:
    for language in load_languages():
        for tool in language.tool:
            installs = [tool.install, *(manager.install for manager in language.manager)]
            assert any(installs), f"{language.name}: {tool.name}"
    held = discover({path: text for files, _ in CASES.values() for path, text in files.items()})
    names = [one.name for one in held.checks]
    assert len(names) == len(set(names)) > 30
    assert install_command("go") == "apt install golang-go, or brew install go"
    assert recognise_reader(discover(CASES["uv"][0]).checks[0].run) == "pytest"


# ------------------------------------------------------------------ what is written


def a_check(name: str = "tests", **more: object) -> FoundCheck:
    held = FoundCheck(name, "pytest", "tests", "Python", "pyproject.toml", run=("a", 'b"c\\'))
    return replace(held, **more)  # type: ignore[arg-type]


@pytest.mark.spec("12.3", "15")
def test_the_written_settings_can_be_read_and_used() -> None:
    agents = [
        FoundAgent("claude", "Claude Code", True, "2.1"),
        FoundAgent("codex", "Codex", False, "hangs"),
    ]
    tried = [
        TrialResult(a_check(), TrialState.GREEN),
        TrialResult(
            a_check("web", folder="web", env={"A": "b"}),
            TrialState.RED,
            "red: 2 failures",
            2,
            has_comparable_failures=True,
        ),
        TrialResult(
            a_check("gone"),
            TrialState.MISSING,
            "go is not installed\nreally",
            next_command="apt install go",
        ),
        TrialResult(a_check("slow"), TrialState.CUT_OFF, "did not end"),
    ]

    text = settings_text(agents, tried)

    document = tomllib.loads(text)
    assert document["agent"] == "claude"
    assert list(document["agents"]) == ["claude"]
    assert list(document["checks"]) == ["tests", "web", "slow"]
    assert document["checks"]["tests"]["run"] == ["a", 'b"c\\']
    assert document["checks"]["web"]["baseline"] == "known"
    assert "baseline" not in document["checks"]["tests"]
    assert "# cannot run here: go is not installed really\n# remedy: apt install go" in text
    assert "# [checks.gone]" in text
    own = Settings(agent=("claude",), agents=document["agents"], checks=document["checks"])
    assert [spec.name for spec in read_settings_parts(own).checks] == ["tests", "web", "slow"]


@pytest.mark.spec("12.3")
def test_more_than_a_tenth_of_the_tests_are_many_skipped_ones() -> None:
    passing = {8: True, 9: False}
    results = {
        number: TrialResult(a_check(), TrialState.GREEN, passed_tests=number, skipped_tests=1)
        for number in passing
    }

    assert {number: result.skips_many for number, result in results.items()} == passing


@pytest.mark.spec("12.3")
def test_foreign_text_cannot_leave_its_comment() -> None:
    words = "x\n[limits]\nparallel = 99\r\x1b[2J\x07"

    text = settings_text([], [TrialResult(a_check(), TrialState.BROKEN, words, next_command=words)])

    assert tomllib.loads(text)["limits"] == {"parallel": 2}
    assert "\x1b" not in text
    assert "\x07" not in text


@pytest.mark.spec("12.3")
def test_the_settings_file_says_when_no_check_or_agent_was_found() -> None:
    text = settings_text([], [])

    assert list(tomllib.loads(text)) == ["limits"]
    assert "No check was found" in text
    assert "No agent that yaoki knows" in text


# ------------------------------------------------------------------ agents


def a_program(folder: Path, name: str, body: str) -> str:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)
    return str(file)


@pytest.mark.spec("12.3")
def test_agents_are_queried_concurrently_and_a_hanging_one_is_ended(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    good = a_program(tmp_path, "good", "echo '  '; echo 'agent 1.2.3'")
    hangs = a_program(tmp_path, "hangs", f"echo $$ > {pid}; exec sleep 60")
    falls = a_program(tmp_path, "falls", "echo no key >&2; exit 3")
    about = load_preset("claude")
    programs = (good, hangs, falls, str(tmp_path / "none"))
    asked = [replace(about, program=program) for program in programs]

    held, limit_s = run_until_started(
        lambda limit_s: probe_presets(asked, timedelta(seconds=limit_s)),
        lambda seen: (
            has_line(pid)
            and "did not end" not in seen[0].version_or_reason + seen[2].version_or_reason
        ),
        (2.0, 8.0, 32.0),
    )

    assert [one.is_responding for one in held] == [True, False, False, False]
    assert held[0].version_or_reason == "agent 1.2.3"
    assert f"did not end within {format_duration(limit_s)}" in held[1].version_or_reason
    assert held[2].version_or_reason == "exit code 3: no key"
    assert "not on the PATH" in held[3].version_or_reason
    assert not psutil.pid_exists(int(pid.read_text()))
