"""Another version of a tool, or of what it uses, is another identity."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from yaoki.adapters.checks.tool_identity import identify_tools
from yaoki.core.model import CheckSpec

pytestmark = pytest.mark.spec("17.5")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    for folder in ("env/bin", "env/lib/python3.11/site-packages", "more"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("python", "tool"):
        program = tmp_path / "env" / "bin" / name
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    return {"PATH": f"{tmp_path}/env/bin:{tmp_path}/more"}


def identity(environ: dict[str, str], *argv: str, shell: str = "") -> str:
    return identify_tools(CheckSpec("a", argv=argv, shell=shell), environ, Path("/nowhere"))


def touch(path: Path) -> None:
    facts = path.stat()
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns + 1_000_000))


@pytest.mark.parametrize(
    "changed",
    ["env/bin/python", "env/bin/tool", "env/lib/python3.11/site-packages"],
)
def test_a_new_version_anywhere_on_the_search_path_is_noticed(
    tmp_path: Path, environ: dict[str, str], changed: str
) -> None:
    before = identity(environ, "python", "-m", "pytest")
    assert identity(environ, "python", "-m", "pytest") == before

    touch(tmp_path / changed)

    assert identity(environ, "python", "-m", "pytest") != before


@pytest.mark.parametrize("argv", [("sh", "src/check.sh"), ("./check.py",), ("make", "test")])
@pytest.mark.parametrize(
    ("folder", "packages", "link"),
    [
        ("env/bin", "env/lib/python3.11/site-packages", ""),
        ("env/bin", "env/local/lib/python3.11/site-packages", ""),
        ("more", "other/lib/python3.11/site-packages", "other/bin/python3"),
        ("more", "other/lib/node_modules", "other/bin/node"),
        ("manager/shims", "manager/versions/3.11.7/lib/python3.11/site-packages", ""),
        ("manager/shims", "manager/installs/python/3.11/lib/python3.11/site-packages", ""),
    ],
)
def test_the_packages_of_an_interpreter_that_a_script_may_start_count(
    tmp_path: Path, argv: tuple[str, ...], folder: str, packages: str, link: str
) -> None:
    """The command names no interpreter; upgraded packages once left a stored verdict valid."""
    for name in (folder, packages):
        (tmp_path / name).mkdir(parents=True)
    if link:
        (tmp_path / link).parent.mkdir(parents=True)
        (tmp_path / link).touch()
        (tmp_path / folder / Path(link).name).symlink_to(tmp_path / link)
    environ = {"PATH": f"{tmp_path}/{folder}"}
    before = identity(environ, *argv)

    touch(tmp_path / packages)

    assert identity(environ, *argv) != before


def test_a_new_program_on_the_search_path_is_noticed(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    before = identity(environ, "python")

    (tmp_path / "more" / "new").touch()

    assert identity(environ, "python") != before


def test_a_program_that_was_overwritten_in_place_is_noticed(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    """It may be started by a script that the command names."""
    before = identity(environ, "python", "run.py")

    (tmp_path / "env" / "bin" / "tool").write_text("#!/bin/sh\nexit 1\n")

    assert identity(environ, "python", "run.py") != before


def test_variables_and_the_sandbox_count(environ: dict[str, str]) -> None:
    spec = CheckSpec("a", argv=("python",))
    before = identify_tools(spec, environ, Path("/nowhere"), "sandbox on")

    assert identify_tools(spec, {**environ, "LANG": "C"}, Path("/nowhere"), "sandbox on") != before
    assert identify_tools(spec, environ, Path("/nowhere"), "sandbox off") != before
    assert identify_tools(spec, {**environ, "SECRET": "x"}, Path("/x"), "sandbox on") == before


def test_an_environment_of_its_own_is_a_doubt(environ: dict[str, str]) -> None:
    own = CheckSpec("a", argv=("python",), env={"VIRTUAL_ENV": ".venv"})

    assert identify_tools(own, environ, Path("/nowhere")) == ""
    assert identity({**environ, "VIRTUAL_ENV": "/x"}, "python") == ""


def test_a_program_that_is_named_by_its_path_counts(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    other = tmp_path / "other"
    other.write_text("#!/bin/sh\n")
    before = identity(environ, shell=f"{other} && tool")

    touch(other)

    assert identity(environ, shell=f"{other} && tool") != before


def test_a_link_to_another_interpreter_is_noticed(tmp_path: Path, environ: dict[str, str]) -> None:
    link = tmp_path / "more" / "node"
    link.symlink_to(tmp_path / "env" / "bin" / "tool")
    before = identity(environ, "node", "--test")
    facts = (tmp_path / "more").stat()
    link.unlink()
    link.symlink_to(tmp_path / "env" / "bin" / "python")
    os.utime(tmp_path / "more", ns=(facts.st_atime_ns, facts.st_mtime_ns))

    assert identity(environ, "node", "--test") != before


@pytest.mark.parametrize("words", [("tool",), ("sh", "-c", "tool --all")])
def test_a_tool_with_another_content_of_the_same_size_and_time_is_noticed(
    tmp_path: Path, environ: dict[str, str], words: tuple[str, ...]
) -> None:
    """As images of whole systems have it, which give all files one time."""
    tool = tmp_path / "env" / "bin" / "tool"
    tool.write_text("exit 0\n")
    facts = tool.stat()
    shell = words[-1] if len(words) > 1 else ""
    before = identity(environ, *(() if shell else words), shell=shell)

    tool.write_text("exit 1\n")
    os.utime(tool, ns=(facts.st_atime_ns, facts.st_mtime_ns))

    assert identity(environ, *(() if shell else words), shell=shell) != before
