"""`dev.py`: documents, Makefile and build server call only existing commands."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dev

TOP = Path(dev.__file__).parent
CALLED = re.compile(r"python3 dev\.py (\w+)")
GENERATED = re.compile(
    r"generated from [\w ]+ by `python -m ([\w.]+)`|<!-- [a-z]+: python -m ([\w.]+) -->"
)
IDENTITY = ("-c", "user.name=t", "-c", "user.email=t@example.org")


def said(*words: str) -> subprocess.CompletedProcess[str]:
    call = (sys.executable, str(TOP / "dev.py"), *words)
    return subprocess.run(call, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize(
    "name", ["README.md", "CONTRIBUTING.md", ".ci/run", "benchmarks/README.md", "pyproject.toml"]
)
def test_every_called_dev_command_exists(name: str) -> None:
    called = set(CALLED.findall((TOP / name).read_text()))

    assert called
    assert called <= set(dev.COMMANDS) | {"X", "COMMAND"}


def test_the_makefile_has_the_same_commands() -> None:
    makefile = (TOP / "Makefile").read_text()
    targets = re.search(r"^(help .*):$", makefile, re.MULTILINE)

    assert targets
    assert set(targets[1].split()) == set(dev.COMMANDS)


def test_help_describes_every_command() -> None:
    lines = said("help").stdout.splitlines()

    assert [line.split()[2] for line in lines] == list(dev.COMMANDS)
    assert all(len(line.split()) > 3 for line in lines)


def test_an_unknown_dev_command_is_refused() -> None:
    done = said("tset")

    assert done.returncode == 1
    assert done.stderr == "yaoki: there is no command 'tset'; python3 dev.py help\n"


def test_an_older_python_can_parse_dev_py() -> None:
    """It must come as far as saying which one is needed."""
    source = (TOP / "dev.py").read_text()

    ast.parse(source, feature_version=(3, 8))


def test_near_tests_are_those_of_the_docs_and_of_what_changed() -> None:
    changed = [
        "CHANGELOG.md",
        "dev.py",
        "src/yaoki/adapters/checks/readers/junit.py",
        "src/yaoki/adapters/store/tables/runs.py",
        "src/yaoki/core/decide/retry.py",
        "src/yaoki/errors.py",
        "src/yaoki/faces/text/render.py",
        "src/yaoki/faces/web/static/css/parts.css",
        "src/yaoki/views/documents.py",
        "tests/acceptance/conftest.py",
        "tests/acceptance/test_notify.py",
    ]

    found = dev.near_tests(TOP, changed)

    docs = sorted(
        f"tests/architecture/{file.name}" for file in Path(__file__).parent.glob("test_docs*")
    )
    assert len(docs) > 1
    assert found == [
        "tests/acceptance/test_cli_output.py",
        "tests/acceptance/test_notify.py",
        "tests/adapters/checks/readers",
        "tests/adapters/store",
        *docs,
        "tests/core",
        "tests/faces/web",
        "tests/views",
    ]


def test_near_knows_the_files_whose_tests_are_elsewhere() -> None:
    assert all((TOP / file).is_file() for pair in dev.ELSEWHERE.items() for file in pair)


def test_changed_files_are_those_that_git_knows_and_those_it_does_not(tmp_path: Path) -> None:
    """A deleted file has no tests to run."""
    for name in ("kept", "changed", "deleted"):
        (tmp_path / name).write_text("old")
    for words in (("init", "-q"), ("add", "."), (*IDENTITY, "commit", "-qm", "all")):
        subprocess.run(("git", *words), cwd=tmp_path, check=True)
    (tmp_path / "changed").write_text("new")
    (tmp_path / "deleted").unlink()
    (tmp_path / "a new file").touch()

    assert dev.changed_files("HEAD", tmp_path) == ["a new file", "changed"]


def test_every_generator_that_a_page_or_a_comment_names_is_called_by_generate() -> None:
    pages = [*(TOP / "docs").rglob("*.md"), TOP / "CONTRIBUTING.md"]
    named = {
        module
        for page in pages
        for found in GENERATED.findall(page.read_text(encoding="utf-8"))
        for module in found
        if module
    }

    assert named == {"tests.reference"}
    assert named <= set(dev.GENERATORS)


def test_tests_use_memory_only_where_it_has_room_and_allows_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dev, "MEMORY_MIN", 1)
    has_room = dev.has_room(tmp_path)
    monkeypatch.setattr(dev, "MEMORY_MIN", 1 << 60)

    assert has_room
    assert not dev.has_room(tmp_path)
    assert not dev.has_room(tmp_path / "missing")
    assert not dev.has_room(Path("/proc"))


def test_the_folder_of_a_test_run_that_ended_is_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = subprocess.Popen((sys.executable, "-c", ""))
    ended.wait()
    left, other = tmp_path / f"dev-py-tests-{ended.pid}", tmp_path / "dev-py-tests-1"
    left.mkdir()
    other.mkdir()
    called = tmp_path / "called"
    monkeypatch.setattr(dev, "MEMORY", tmp_path)
    monkeypatch.setattr(dev, "MEMORY_MIN", 1)
    monkeypatch.setattr(dev, "call", lambda *_, **env: called.write_text(env["TMPDIR"]))

    dev.run_tests()

    assert called.read_text().startswith(f"{tmp_path}/dev-py-tests-")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["called", other.name]
