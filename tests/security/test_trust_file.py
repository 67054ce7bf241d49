"""The file of trust: the user's own, whole or worth nothing, and never a repository's."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.acceptance.project import BOUND_S, a_plan, file_contains, writes
from tests.adapters.store.store_actions import run_sql
from tests.security.untrusted_clone import UntrustedClone
from yaoki.adapters.system.trust_file import TrustFile
from yaoki.core.trust import CommandDigest, FileCommands, TrustRecord, describe_changes

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("16.12")]

REFUSED = 6


@pytest.fixture
def clone(tmp_path: Path, pycache: Path) -> UntrustedClone:
    made = UntrustedClone(tmp_path, pycache)
    made.create(store=False)
    return made


@pytest.fixture
def own(tmp_path: Path, pycache: Path) -> UntrustedClone:
    """A repository whose settings bring nothing: only its store can be asked about."""
    made = UntrustedClone(tmp_path, pycache)
    made.repo.mkdir()
    made.git("init", "-q", "-b", "main")
    made.write("README", "hello\n")
    made.commit("begin")
    return made


def the_file(clone: UntrustedClone) -> Path:
    return clone.home / "trust" / "trusted.json"


def a_run(clone: UntrustedClone) -> tuple[str, ...]:
    plan = a_plan({"a": [writes("a.txt")]}, [{"id": "a"}], {"ok": file_contains("a.txt")})
    return ("run", clone.plan(plan), "--quiet")


# ------------------------------------------------------------------ whose it is


def test_the_trust_file_is_private_to_its_owner(clone: UntrustedClone) -> None:
    assert clone.yaoki("trust").code == 0

    file = the_file(clone)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert not list(clone.repo.rglob("trusted.json"))


def broken(file: Path) -> None:
    file.write_text(file.read_text()[:-20])


def other_form(file: Path) -> None:
    file.write_text(json.dumps({"schema": 1, "places": [], "stores": {}, "below": []}))


def newer(file: Path) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), "schema": 2}))


def endless(file: Path) -> None:
    file.write_text("[" * 200_000)


def link(file: Path) -> None:
    elsewhere = file.parent.parent / "elsewhere.json"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)


def pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def open_to_all(file: Path) -> None:
    file.chmod(0o666)


def open_folder(file: Path) -> None:
    file.parent.chmod(0o777)


def linked_folder(file: Path) -> None:
    elsewhere = file.parent.parent / "elsewhere"
    file.parent.rename(elsewhere)
    file.parent.symlink_to(elsewhere)


def foreign(file: Path) -> None:
    os.chown(file, 12_345, 12_345)


def foreign_folder(file: Path) -> None:
    os.chown(file.parent, 12_345, 12_345)


BENT = (broken, other_form, newer, endless, link, pipe, open_to_all, open_folder, linked_folder)
AS_ROOT = (foreign, foreign_folder)


@pytest.mark.full
def test_a_manipulated_trust_file_trusts_nothing_and_is_reported(clone: UntrustedClone) -> None:
    for bend in (*BENT, *(AS_ROOT if os.geteuid() == 0 else ())):
        manipulate(clone, bend)

        done = clone.yaoki("up")
        listed = clone.yaoki("trust", "--show")

        assert (done.code, clone.marks) == (REFUSED, set()), (bend, done)
        assert "nothing is trusted" in done.err, bend
        assert "nothing is trusted" in listed.out, bend


def manipulate(clone: UntrustedClone, bend: Callable[[Path], None]) -> None:
    """The trust file of a user who has trusted only this clone, manipulated."""
    shutil.rmtree(clone.home, ignore_errors=True)
    assert clone.yaoki("trust").code == 0
    bend(the_file(clone))


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize(
    "bends",
    [(broken,), (link,), (pipe, open_folder, linked_folder)],
    ids=["broken", "link", "others"],
)
def test_the_next_trust_command_replaces_a_manipulated_trust_file(
    clone: UntrustedClone, bends: tuple[Callable[[Path], None], ...]
) -> None:
    for bend in bends:
        manipulate(clone, bend)
        elsewhere = clone.home.glob("elsewhere*")
        before = {file: file.read_bytes() for file in elsewhere if file.is_file()}

        again = clone.yaoki("trust")

        assert again.code == 0, (bend, again)
        assert clone.yaoki("doctor", "--checks").code != REFUSED, bend
        assert not the_file(clone).is_symlink(), bend
        assert {file: file.read_bytes() for file in before} == before, (
            "a link is replaced, not followed"
        )


@pytest.mark.full
def test_concurrent_trust_commands_are_all_recorded(clone: UntrustedClone) -> None:
    others = [clone.folder / f"other-{n}" for n in range(6)]
    for other in others:
        clone.git("clone", "-q", str(clone.folder / "upstream.git"), str(other))
    started = [
        subprocess.Popen(
            (sys.executable, "-P", "-m", "yaoki", "trust"),
            cwd=other,
            env=clone.env,
            stdout=subprocess.DEVNULL,
        )
        for other in others
    ]

    assert [process.wait(BOUND_S) for process in started] == [0] * len(others)
    assert set(clone.trusted["places"]) == {str(other) for other in others}


def test_trust_is_refused_if_the_trust_file_cannot_be_written(clone: UntrustedClone) -> None:
    clone.home.mkdir()
    (clone.home / "trust").write_text("")

    done = clone.yaoki("trust")

    assert done.code == 1, done
    assert clone.yaoki("up").code == REFUSED
    assert clone.marks == set()


# ------------------------------------------------------------------ stores


@pytest.mark.full
def test_a_store_created_here_needs_no_trust(own: UntrustedClone) -> None:
    assert own.yaoki(*a_run(own)).code == 0
    assert own.yaoki("resume", "--quiet").code == 0
    assert own.yaoki(*a_run(own)).code == 0


@pytest.mark.full
def test_concurrent_first_runs_need_no_trust(own: UntrustedClone) -> None:
    """The second run finds a store that the first is creating."""
    plans = [
        own.plan(
            a_plan({n: [writes(f"{n}.txt")]}, [{"id": n}], {"ok": file_contains(f"{n}.txt")}),
            f"{n}.json",
        )
        for n in ("a", "b", "c")
    ]
    started = [own.start("run", plan, "--quiet") for plan in plans]

    output = [process.communicate(timeout=BOUND_S)[0] for process in started]

    assert [process.returncode for process in started] == [0, 0, 0], output


@pytest.mark.full
def test_a_store_created_elsewhere_asks_once(own: UntrustedClone) -> None:
    assert own.yaoki(*a_run(own)).code == 0
    shutil.rmtree(own.home / "trust")

    refused = own.yaoki(*a_run(own))
    yes = own.yaoki("trust")

    assert refused.code == REFUSED, refused
    assert "a store that was not created here" in yes.out
    assert own.yaoki(*a_run(own)).code == 0


@pytest.mark.full
def test_a_store_without_trust_marks_asks_once(own: UntrustedClone) -> None:
    assert own.yaoki(*a_run(own)).code == 0
    database = own.repo / ".yaoki" / "state.db"
    run_sql(database, "DROP TABLE trust_marks")
    # The later migrations are applied again with migration 9.
    for table in ("hidden_files", "verdicts", "treatments", "flaky_tests", "flaky_sightings"):
        run_sql(database, f"DROP TABLE {table}")
    run_sql(database, "ALTER TABLE tasks RENAME COLUMN queued TO refused")
    for column in ("problem", "since_ms", "probes", "promised_ms", "asking", "avoided"):
        run_sql(database, f"ALTER TABLE accounts DROP COLUMN {column}")
    run_sql(database, "ALTER TABLE tasks DROP COLUMN other_accounts")
    run_sql(database, "DROP INDEX tasks_asking")
    run_sql(database, "DELETE FROM schema_version WHERE version >= 9")

    assert own.yaoki("resume").code == REFUSED
    assert own.yaoki("resume", "--trust", "--quiet").code == 0
    assert own.yaoki("resume", "--quiet").code == 0


@pytest.mark.full
def test_a_restored_store_asks_once(own: UntrustedClone) -> None:
    """They lie where a pull can put other ones."""
    assert own.yaoki(*a_run(own)).code == 0
    (own.repo / ".yaoki" / "state.db").write_bytes(b"damage" * 1000)

    assert own.yaoki("status").code == 0
    assert own.yaoki("resume").code == REFUSED
    assert own.yaoki("resume", "--trust", "--quiet").code == 0


@pytest.mark.full
def test_two_users_of_one_store_are_each_asked_once(own: UntrustedClone) -> None:
    assert own.yaoki(*a_run(own)).code == 0
    other = {"YAOKI_HOME": str(own.folder / "other")}

    assert own.yaoki("resume", env=other).code == REFUSED
    assert own.yaoki("trust", env=other).code == 0
    for env in (other, {}):
        assert own.yaoki("resume", "--quiet", env=env).code == 0


# ------------------------------------------------------------------ values


def test_the_trust_record_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    content = FileCommands(
        "settings", (CommandDigest("check a: x", "d1"), CommandDigest("agent b: y", "d2"))
    )
    file = TrustFile(tmp_path)
    file.update(lambda held: held.with_content("/r", (content,)).with_below("/src"))
    file.update(lambda held: held.with_store("m", "/r/.yaoki/state.db"))

    record, defect = file.read()

    assert not defect
    assert record == TrustRecord(
        {"/r": {"settings": {"d1": "check a: x", "d2": "agent b: y"}}},
        {"m": "/r/.yaoki/state.db"},
        ("/src",),
    )
    assert record.covers("/src/mine")
    assert not record.covers("/srcs")
    assert record.without("/r").stores == {}


def test_the_trust_record_is_bounded_and_keeps_the_newest_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("yaoki.adapters.system.trust_file.BYTES_MAX", 2_000)
    file = TrustFile(tmp_path)
    for n in range(50):
        content = FileCommands("settings", (CommandDigest(f"check {n}: {'x' * 50}", f"d{n}"),))
        file.update(partial(TrustRecord.with_content, place=f"/r{n}", contents=(content,)))

    places = list(file.read()[0].places)

    assert places[-1] == "/r49"
    assert "/r0" not in places


def test_a_new_command_that_reads_like_a_trusted_one_is_shown() -> None:
    trusted = {"settings": {"d1": "check a: x"}}

    said = describe_changes(FileCommands("settings", (CommandDigest("check a: x", "d2"),)), trusted)

    assert said == ["+ check a: x"]
    assert (
        describe_changes(FileCommands("settings", (CommandDigest("check a: x", "d1"),)), trusted)
        == []
    )
    assert describe_changes(FileCommands("settings", ()), trusted) == [], (
        "what no longer runs is no question"
    )
