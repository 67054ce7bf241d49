"""A change over its limits is reported to the agent and never lands."""

from __future__ import annotations

import time
from collections.abc import Mapping

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
Acts = tuple[dict[str, list[str]], dict[str, list[str]]]


def acts(*words: str) -> dict[str, list[str]]:
    return {"run": list(words)}


def writes(name: str) -> dict[str, dict[str, str]]:
    return {"write": {f"{name}.txt": "good\n"}}


def attempts(project: Project, tasks: Mapping[str, Acts]) -> dict[str, str]:
    """The first attempt of each task is too large, the second puts it right; the first failures."""
    plan = a_plan(
        {n: [[writes(n), first], [writes(n), then]] for n, (first, then) in tasks.items()},
        [{"id": name, "checks": [name]} for name in tasks],
        {name: file_contains(f"{name}.txt") for name in tasks},
    )
    began = time.monotonic()
    done = project.yaoki("run", project.plan(plan), "--quiet")
    assert time.monotonic() - began < 60
    assert done.code == 0, done.out + done.err
    return {name: first_failure(project, name) for name in tasks}


def first_failure(project: Project, name: str) -> str:
    (fall,) = [e for e in project.events(name) if e["event"] == "RETRY_DECISION"]
    prompt = project.prompt(project.task(name), 2)
    assert "too large" in prompt
    assert len(prompt) < 20_000
    return f"{fall['data']} {prompt}"


def landed(project: Project) -> list[str]:
    branch = f"yaoki/{project.status()['run']}"
    return project.git("ls-tree", "-r", "--name-only", branch).splitlines()


@pytest.mark.full
def test_sparse_files_of_terabytes_and_folders_beyond_the_depth_limit_are_reported_and_removed(
    project: Project,
) -> None:
    (project.repo / ".gitignore").write_text("node_modules\n")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "ignore")
    told = attempts(
        project,
        {
            "sparse": (acts("truncate", "-s", "2T", "big.bin"), acts("rm", "-f", "big.bin")),
            # The second attempt leaves such folders too; they are ignored and have no effect.
            "deep": (
                acts("python3", "-c", DEEP, "d"),
                acts("sh", "-c", 'rm -rf d && python3 -c "$0" node_modules', DEEP),
            ),
        },
    )

    assert "big.bin has 2 TiB; limits.file_bytes allows" in told["sparse"]
    saved = project.git("for-each-ref", "--format=%(refname) %(contents)", "refs/yaoki/work")
    assert "not saved: big.bin has 2 TiB" in saved
    assert "deeper than limits.path_depth = 200" in told["deep"]
    assert "d/" * 100 not in told["deep"]
    assert "RecursionError" not in str(project.events("deep"))
    whole = [".gitignore", "README", "deep.txt", "sparse.txt", "yaoki.toml"]
    assert landed(project) == whole
    assert not [one for one in (project.home / "worktrees").rglob("node_modules") if one.exists()]


EXCESS = "x has 1,000,001 bytes; limits.file_bytes allows 1,000,000 bytes"
COMMIT = "git add -A; git -c user.name=a -c user.email=a@b commit -qm mine"
OVER = {
    "files": ("for i in $(seq 60); do echo $i > m/$i; done", "limits.change_files = 50"),
    "bytes": (
        "for i in 1 2 3 4; do head -c 900000 /dev/zero > m/$i; done",
        "the change has 3.4 MiB; limits.change_bytes allows 2.9 MiB",
    ),
    "file": ("head -c 1000001 /dev/zero > m/x", EXCESS),
    "depth": ("mkdir -p m/$(seq -s/ 25); touch m/$(seq -s/ 25)/f", "limits.path_depth = 20"),
    "committed": (f"head -c 1000001 /dev/zero > m/x; {COMMIT}", EXCESS),
}


@pytest.mark.full
def test_each_exceeded_limit_is_reported_by_name(project: Project) -> None:
    project.settings(SETTINGS + BOUNDS)
    (project.repo / "old.bin").write_bytes(b"x" * 2_000_000)
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "bounds and a large file")
    change = "import pathlib; pathlib.Path('old.bin').write_bytes(b'y' * 2000000)"
    over = {
        name: (acts("sh", "-c", f"mkdir m; {make}"), acts("rm", "-rf", "m"))
        for name, (make, _) in OVER.items()
    }
    old = (acts("python3", "-c", change), acts("git", "checkout", "main", "old.bin"))

    told = attempts(project, {**over, "old": old})

    for name, (_, words) in OVER.items():
        assert words in told[name], name
    assert "old.bin has 1.9 MiB; limits.file_bytes allows 976.6 KiB" in told["old"]
    assert project.show(f"yaoki/{project.status()['run']}", "old.bin").startswith("xxx")
    texts = [f"{name}.txt" for name in (*over, "old")]
    assert landed(project) == sorted(["README", "old.bin", "yaoki.toml", *texts])


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
