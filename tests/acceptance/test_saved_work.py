"""Work that an outside user saw lost, and what was accepted without being asked about."""

from __future__ import annotations

import pytest

from tests.acceptance.project import SETTINGS, WHO, Place, a_plan, holds, writes
from tests.acceptance.test_submodules import ALLOW

pytestmark = pytest.mark.acceptance
ONCE = {"retry": {"max_retries": 0}}


def asked(place: Place, line: str, check: str = "test -s never.txt") -> None:
    """One attempt with this line of shell, whose check then fails."""
    script = {"a": [[{"run": ["sh", "-c", line]}]]}
    tasks = [{"id": "a", "checks": ["ok"], **ONCE}]
    plan = place.plan(a_plan(script, tasks, {"ok": {"shell": check}}))
    assert place.yaoki("run", plan, "--quiet").code == 4


def saved(place: Place) -> str:
    """Every file of every ref that yaoki keeps."""
    refs = place.git("for-each-ref", "--format=%(refname)", "refs/yaoki").splitlines()
    return "\n".join(place.git("ls-tree", "-r", "--name-only", ref) for ref in refs)


@pytest.mark.full
@pytest.mark.spec("16.2", "0.2")
def test_files_in_a_submodule_that_is_not_checked_out_are_saved(place: Place) -> None:
    library = place.folder / "library"
    place.git("clone", "-q", str(place.repo), str(library))
    place.git(*ALLOW, "add", str(library), "mod")
    place.git(*WHO, "commit", "-qm", "with a submodule")

    asked(place, "echo two > mod/lib.py")
    assert place.yaoki("answer", "a", "abort").code == 0
    place.yaoki("resume", "--quiet")

    assert "mod/lib.py" in saved(place)


@pytest.mark.spec("16.2", "0.2")
def test_a_commit_that_the_agent_reset_away_is_saved(place: Place) -> None:
    commit = f"echo x > precious.py; git add -A; git {' '.join(WHO)} commit -qm precious"
    asked(place, f"{commit}; git reset -q --hard HEAD~1; echo y > other.txt")

    assert place.yaoki("answer", "a", "abort").code == 0
    place.yaoki("resume", "--quiet")

    assert "precious.py" in saved(place)


@pytest.mark.full
@pytest.mark.spec("14.4", "16.10")
def test_a_retry_does_not_accept_a_changed_git_configuration(place: Place) -> None:
    line = "git config filter.x.smudge cat; echo good > a.txt"
    script = {"a": [[{"run": ["sh", "-c", line]}], writes("a.txt")]}
    tasks = [{"id": "a", "checks": ["ok"], "retry": {"max_retries": 3}}]
    plan = place.plan(a_plan(script, tasks, {"ok": holds("a.txt")}))
    assert place.yaoki("run", plan, "--quiet").code == 4

    assert place.yaoki("answer", "a", "retry").code == 0
    again = place.yaoki("resume", "--quiet")

    assert again.code == 4, again.out
    assert "git's own configuration changed" in place.task("a")["question"]
    place.git("config", "--unset", "filter.x.smudge")
    assert place.yaoki("answer", "a", "retry").code == 0
    assert place.yaoki("resume", "--quiet").code == 0


@pytest.mark.full
@pytest.mark.spec("10.4", "16.4")
def test_a_waived_check_is_not_shown_as_verified(place: Place) -> None:
    asked(place, "echo good > a.txt")
    assert place.yaoki("answer", "a", "waive", "--check", "ok").code == 0

    done = place.yaoki("resume")

    assert done.code == 0, done.out
    assert "proven on" not in done.out
    assert "accepted without a proof on" in done.out
    verified = place.yaoki("verify", place.status()["run"])
    assert "has passing checks" not in verified.out


@pytest.mark.full
@pytest.mark.spec("16.2", "0.2")
def test_an_ignored_file_too_large_to_save_is_reported_as_not_saved(place: Place) -> None:
    """It goes with the worktree, so the person who aborts is told while it is still there."""
    (place.repo / ".gitignore").write_text("*.bin\n")
    place.git("add", "-A")
    place.git(*WHO, "commit", "-qm", "ignore")
    place.settings(f"{SETTINGS}saved_bytes = 1000\n")
    asked(place, "head -c 2000 /dev/zero > big.bin; echo small > small.bin; echo y > y.txt")

    told = place.yaoki("answer", "a", "abort")
    place.yaoki("resume", "--quiet")

    assert told.code == 0, told.err
    assert "not saved: big.bin" in told.out
    assert "small.bin" not in told.out
    assert f"copy it from {place.home}" in told.out
    assert "ignored files; 1 is too large to save" in place.yaoki("recover").out
