"""Faults while agents work in the sandbox: nothing is lost, nothing happens twice, nothing false
lands; at most a person is asked.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.acceptance.project import Project, wait_until
from tests.acceptance.test_sandbox import needs_bubblewrap
from tests.security.attack import DEEP, Attack
from tests.security.attack_runner import AttackRunner

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("0.2", "0.3", "16.10")]
# Commits half of its work, reports it, and waits for the marker.
WORKS = """\
echo half > $NAME.txt; git add $NAME.txt; git $WHO commit -qm "$NAME half"; touch begun
for i in $(seq 600); do test -e $PERSON/go && break; sleep 0.1; done; rm -f begun
"""
TASKS = tuple(Attack(name, "works", WORKS) for name in ("one", "two", "three"))
OF_SHIMS = (
    "for p in /proc/[0-9]*; do case $(readlink $p/cwd) in $REPO/.yaoki/runs/*) "
    "kill -{how} ${{p#/proc/}};; esac; done"
)
FAULTS = {
    "worktrees-deleted": "rm -rf $STATE/worktrees/*/[a-z0-9]*",
    "lent-repositories-deleted": "rm -rf $STATE/worktrees/*/.lent/*/git",
    "lent-folders-deleted": "rm -rf $STATE/worktrees/*/.lent",
    "refs-deleted": "git -C $REPO for-each-ref --format='delete %(refname)' refs/yaoki | "
    "git -C $REPO update-ref --stdin",
    "garbage-collected": "cd $REPO; git reflog expire --expire=now --all; git worktree prune; "
    "git gc -q --prune=now",
    # Agents write there meanwhile.
    "attempts-deleted": "until rm -rf $REPO/.yaoki/runs; do sleep 0.1; done",
    "shims-and-worker-stopped": f"{OF_SHIMS.format(how='STOP')}; sleep 2; "
    f"{OF_SHIMS.format(how='CONT')}; kill -STOP $WORKER; sleep 3; kill -CONT $WORKER",
    "shims-killed": OF_SHIMS.format(how="KILL"),
    "worker-killed": "kill -KILL $WORKER",
    "journal-deleted-and-locks-left": "rm -rf $REPO/.yaoki/journal*; "
    "touch $REPO/.git/index.lock $REPO/.git/packed-refs.lock",
}


@pytest.fixture(autouse=True)
def delete_deep_folders(tmp_path: Path) -> Iterator[None]:
    """Folders are left so deep that pytest could not delete them later."""
    yield
    subprocess.run(("rm", "-rf", str(tmp_path)), check=False)


@pytest.fixture
def attack_runner(project: Project) -> AttackRunner:
    needs_bubblewrap()
    made = AttackRunner(project)
    made.settings("on")
    return made


def started_files(attack_runner: AttackRunner) -> list[Path]:
    return list((attack_runner.project.home / "worktrees").glob("*/*/begun"))


def without_packed_refs(held: Mapping[str, str]) -> dict[str, str]:
    """But for what packing moves: refs are compared by what they are at."""
    moved = ("repo/.git/refs", "repo/.git/logs", "repo/.git/info/refs")
    return {name: text for name, text in held.items() if not name.startswith(moved)}


def finish_run(attack_runner: AttackRunner, process: subprocess.Popen[str]) -> list[int]:
    """Wait for the end, then resume until only questions are open."""
    process.communicate(timeout=80)
    codes = [process.returncode]
    while codes[-1] not in (0, 4) and len(codes) < 4:
        codes.append(attack_runner.project.yaoki("resume", "--quiet").code)
    return codes


def assert_nothing_is_lost(attack_runner: AttackRunner, codes: list[int]) -> None:
    """From git alone: what landed is good and landed once; all else is on refs that stay."""
    git = attack_runner.project.git
    run = next(
        b
        for b in git("branch", "--list", "--format=%(refname:short)").split()
        if b.startswith("yaoki/") and "-" not in b
    )
    subjects = git("log", "--first-parent", "--format=%s", run).splitlines()
    for task in TASKS:
        landed = [words for words in subjects if words.startswith(f"{task.name}:")]
        assert len(landed) <= 1, f"{task.name} landed twice: {subjects}"
        if landed:
            assert git("show", f"{run}:{task.name}.txt") == "good"
    names = set(git("ls-tree", "--name-only", run).split())
    whole = {f"{task.name}.txt" for task in TASKS} <= names
    assert whole or 4 in codes, f"{codes} {names}"
    assert (
        attack_runner.sh("git -C $REPO fsck --connectivity-only --no-dangling 2>&1").returncode == 0
    )
    # A shim whose folder is gone ends with its lease.
    wait_until(lambda: not attack_runner.processes(), f"all ended: {attack_runner.processes()}", 30)


@pytest.mark.full
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_while_agents_work_loses_nothing(attack_runner: AttackRunner, fault: str) -> None:
    before = without_packed_refs(attack_runner.user_files())
    process = attack_runner.project.start("run", attack_runner.plan(TASKS), "--quiet")
    wait_until(lambda: len(started_files(attack_runner)) == 2, "two agents at work")

    done = attack_runner.sh(FAULTS[fault], WORKER=str(process.pid))
    (attack_runner.home / "go").touch()
    codes = finish_run(attack_runner, process)
    (attack_runner.home / "go").unlink()
    for lock in ("index.lock", "packed-refs.lock"):
        (attack_runner.project.repo / ".git" / lock).unlink(missing_ok=True)

    assert done.returncode == 0, done.stderr
    assert codes[-1] in (0, 4), codes
    assert_nothing_is_lost(attack_runner, codes)
    assert without_packed_refs(attack_runner.user_files()) == before


@pytest.mark.full
@pytest.mark.parametrize("descriptors", [24, 40])
def test_a_lack_of_file_descriptors_loses_nothing(
    attack_runner: AttackRunner, descriptors: int
) -> None:
    (attack_runner.home / "go").touch()
    line = f'ulimit -n {descriptors}; cd $REPO; exec "$PY" -m yaoki run "$1" --quiet'
    plan = attack_runner.plan(TASKS)

    done = attack_runner.sh(line.replace('"$1"', plan))
    codes = [done.returncode]
    while codes[-1] not in (0, 4) and len(codes) < 4:
        codes.append(attack_runner.project.yaoki("resume", "--quiet").code)

    if not (attack_runner.project.repo / ".yaoki" / "state.db").exists() or codes[-1] == 6:
        pytest.skip(f"nothing was begun with {descriptors} descriptors: {done.stderr[-200:]}")
    assert_nothing_is_lost(attack_runner, codes)


@pytest.mark.full
def test_a_kill_while_an_agents_repository_is_imported_loses_nothing(
    attack_runner: AttackRunner,
) -> None:
    """An interrupted import of commits is repeated."""
    (attack_runner.home / "go").touch()
    process = attack_runner.project.start("run", attack_runner.plan(TASKS), "--quiet")
    taken = attack_runner.project.home / "worktrees"

    wait_until(
        lambda: list(taken.glob("*/.lent/*/plain")) or process.poll() is not None, "a take-over"
    )
    os.kill(process.pid, signal.SIGKILL)
    codes = finish_run(attack_runner, process)

    assert codes[-1] == 0, codes
    assert_nothing_is_lost(attack_runner, codes)
    kept = attack_runner.project.git("log", "--all", "--format=%s").splitlines()
    assert {f"{task.name} half" for task in TASKS} <= set(kept)


@pytest.mark.full
@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk is mounted by root alone")
def test_a_full_disk_loses_nothing(attack_runner: AttackRunner) -> None:
    own = attack_runner.project.repo / ".yaoki"
    own.mkdir(mode=0o700)
    small = ("mount", "-t", "tmpfs", "-o", "size=300m,mode=700", "none", str(own))
    if subprocess.run(small, capture_output=True, check=False).returncode:
        pytest.skip("no disk can be mounted here")
    try:
        process = attack_runner.project.start("run", attack_runner.plan(TASKS), "--quiet")
        wait_until(lambda: len(started_files(attack_runner)) == 2, "two agents at work")
        attack_runner.sh("dd if=/dev/zero of=$REPO/.yaoki/filler bs=1M 2>/dev/null")
        (attack_runner.home / "go").touch()
        time.sleep(3)
        (own / "filler").unlink()
        codes = finish_run(attack_runner, process)

        assert codes[-1] in (0, 4), codes
        assert_nothing_is_lost(attack_runner, codes)
    finally:
        subprocess.run(("umount", "-l", str(own)), check=True)


@pytest.mark.full
@pytest.mark.spec("16.10", "16.2")
def test_a_run_whose_agent_left_deep_folders_and_pipes_is_archived(
    attack_runner: AttackRunner,
) -> None:
    file = attack_runner.project.repo / "yaoki.toml"
    file.write_text(f"{file.read_text()}\n[archive]\nafter_days = 0\nruns_kept = 0\n")
    leaves = f'cd "$(dirname "$YAOKI_RESULT")"; mkfifo pipe; ln -s / link; {DEEP}; cd $TREE'
    assert attack_runner.run([Attack("deep", "leaves", leaves)]).done.code == 0

    done = attack_runner.project.yaoki("prune")

    assert done.code == 0, done.out + done.err
    assert not list((attack_runner.project.repo / ".yaoki" / "runs").glob("*"))
