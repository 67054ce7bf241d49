"""A change over its limits is reported to the agent and never lands."""

from __future__ import annotations

import time

import pytest

from tests.acceptance.project import GIT_IDENTITY, SETTINGS, Project, a_plan, file_contains

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("14.4", "16.2", "0.1")]
# A thousand folders below each other three times: no path names the last of them.
DEEP = """\
import os, sys
os.makedirs(sys.argv[1], exist_ok=True)
here = os.open(sys.argv[1], os.O_RDONLY)
for _ in range(3000):
    os.mkdir("d", dir_fd=here)
    below = os.open("d", os.O_RDONLY, dir_fd=here)
    os.close(here)
    here = below
os.write(os.open("f", os.O_CREAT | os.O_WRONLY, dir_fd=here), b"x")
"""
BOUNDS = "file_bytes = 1000000\nchange_bytes = 3000000\nchange_files = 50\npath_depth = 20\n"
CHECKS = {"ok": file_contains("a.txt")}


def acts(*words: str) -> dict[str, list[str]]:
    return {"run": list(words)}


def attempts(project: Project, first: list[object], second: list[object]) -> str:
    """One task: the first attempt is too large, the second puts it right; its first failure."""
    write = {"write": {"a.txt": "good\n"}}
    plan = a_plan({"a": [[write, *first], [write, *second]]}, [{"id": "a"}], CHECKS)
    began = time.monotonic()
    done = project.yaoki("run", project.plan(plan), "--quiet")
    assert time.monotonic() - began < 60
    assert done.code == 0, done.out + done.err
    (fall,) = [e for e in project.events("a") if e["event"] == "RETRY_DECISION"]
    prompt = project.prompt(project.task("a"), 2)
    assert "too large" in prompt
    assert len(prompt) < 20_000
    return f"{fall['data']} {prompt}"


def landed(project: Project) -> list[str]:
    branch = f"yaoki/{project.status()['run']}"
    return project.git("ls-tree", "-r", "--name-only", branch).splitlines()


@pytest.mark.full
def test_a_sparse_file_of_terabytes_is_not_read(project: Project) -> None:
    told = attempts(
        project, [acts("truncate", "-s", "2T", "big.bin")], [acts("rm", "-f", "big.bin")]
    )

    assert "big.bin has 2 TiB; limits.file_bytes allows" in told
    assert "big.bin" not in landed(project)
    saved = project.git("for-each-ref", "--format=%(refname) %(contents)", "refs/yaoki/work")
    assert "not saved: big.bin has 2 TiB" in saved


@pytest.mark.full
def test_folders_beyond_the_depth_limit_are_reported_and_removed(project: Project) -> None:
    told = attempts(
        project,
        [acts("python3", "-c", DEEP, "d")],
        [acts("rm", "-rf", "d")],
    )

    assert "deeper than limits.path_depth = 200" in told
    assert "d/" * 100 not in told
    assert landed(project) == ["README", "a.txt", "yaoki.toml"]


@pytest.mark.full
def test_ignored_folders_beyond_the_depth_limit_have_no_effect(project: Project) -> None:
    (project.repo / ".gitignore").write_text("node_modules\n")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "ignore")
    write = {"write": {"a.txt": "good\n"}}
    deep = acts("python3", "-c", DEEP, "node_modules")
    plan = a_plan({"a": [[write, deep]]}, [{"id": "a"}], CHECKS)

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    assert "RecursionError" not in str(project.events("a"))
    assert "a.txt" in landed(project)
    assert not [one for one in (project.home / "worktrees").rglob("node_modules") if one.exists()]


EXCESS = "x has 1,000,001 bytes; limits.file_bytes allows 1,000,000 bytes"


@pytest.mark.full
@pytest.mark.parametrize(
    ("make", "words"),
    [
        ("mkdir m; for i in $(seq 60); do echo $i > m/$i; done", "limits.change_files = 50"),
        (
            "mkdir m; for i in 1 2 3 4; do head -c 900000 /dev/zero > m/$i; done",
            "the change has 3.4 MiB; limits.change_bytes allows 2.9 MiB",
        ),
        ("mkdir m; head -c 1000001 /dev/zero > m/x", EXCESS),
        ("mkdir m; mkdir -p m/$(seq -s/ 25); touch m/$(seq -s/ 25)/f", "limits.path_depth = 20"),
        (
            "mkdir m; head -c 1000001 /dev/zero > m/x; git add -A; "
            "git -c user.name=a -c user.email=a@b commit -qm mine",
            EXCESS,
        ),
    ],
    ids=["files", "bytes", "file", "depth", "committed"],
)
def test_each_exceeded_limit_is_reported_by_name(project: Project, make: str, words: str) -> None:
    project.settings(SETTINGS + BOUNDS)
    project.git(*GIT_IDENTITY, "commit", "-aqm", "bounds")

    told = attempts(project, [acts("sh", "-c", make)], [acts("rm", "-rf", "m")])

    assert words in told
    assert landed(project) == ["README", "a.txt", "yaoki.toml"]


def test_files_of_the_base_and_ignored_files_do_not_count_toward_the_limits(
    project: Project,
) -> None:
    project.settings(SETTINGS + BOUNDS)
    (project.repo / "old.bin").write_bytes(b"x" * 2_000_000)
    (project.repo / ".gitignore").write_text("built\n")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "large")
    write = {"write": {"a.txt": "good\n"}}
    make = "mkdir -p new/built && head -c 5000000 /dev/zero > new/built/x && touch old.bin"
    plan = a_plan({"a": [[write, acts("sh", "-c", make)]]}, [{"id": "a"}], CHECKS)

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    assert "old.bin" in landed(project)


@pytest.mark.full
def test_a_changed_large_file_of_the_base_is_reported(project: Project) -> None:
    project.settings(SETTINGS + BOUNDS)
    (project.repo / "old.bin").write_bytes(b"x" * 2_000_000)
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "large")
    change = "import pathlib; pathlib.Path('old.bin').write_bytes(b'y' * 2000000)"

    told = attempts(
        project, [acts("python3", "-c", change)], [acts("git", "checkout", "HEAD~1", "old.bin")]
    )

    assert "old.bin has 1.9 MiB; limits.file_bytes allows 976.6 KiB" in told
    assert project.show(f"yaoki/{project.status()['run']}", "old.bin").startswith("xxx")
