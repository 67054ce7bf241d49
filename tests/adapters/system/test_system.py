"""Our own commands, files and names against the real machine."""

import os
import re
import subprocess
import sys
import time
from datetime import UTC, timedelta
from pathlib import Path

import pytest

from tests.time_limits import has_line, run_until_started
from yaoki.adapters.processes.command import run_command
from yaoki.adapters.system.clock import SystemClock
from yaoki.adapters.system.files import (
    free_disk_bytes,
    free_memory_bytes,
    read_plain_bytes,
    write_atomically,
)
from yaoki.adapters.system.machine import (
    boot_id,
    current_holder,
    is_holder_dead,
    is_process_alive,
    load_or_create_machine_id,
    machine_id,
    process_start_time,
)
from yaoki.core.text import format_duration
from yaoki.errors import Fault

ENV = {"PATH": os.environ["PATH"]}
LONG = timedelta(seconds=30)


def until_dead(pid: int) -> None:
    give_up = time.monotonic() + 40
    while process_start_time(pid):
        assert time.monotonic() < give_up, f"{pid} lives"
        time.sleep(0.02)


# ------------------------------------------------------------------ commands


@pytest.mark.spec("6.3")
def test_a_command_returns_its_code_and_both_outputs(tmp_path: Path) -> None:
    done = run_command(
        ["sh", "-c", "pwd; echo bad >&2; exit 3"], cwd=tmp_path, env=ENV, timeout=LONG
    )

    assert (done.code, done.out, done.err) == (3, f"{tmp_path}\n".encode(), b"bad\n")


@pytest.mark.parametrize(("given", "read"), [(None, b""), (b"", b""), (b"a\0b", b"a\0b")])
def test_a_command_reads_only_its_input(tmp_path: Path, given: bytes | None, read: bytes) -> None:
    assert run_command(["cat"], cwd=tmp_path, env=ENV, timeout=LONG, input=given).out == read


@pytest.mark.spec("6.3")
def test_a_command_gets_no_other_environment(tmp_path: Path) -> None:
    done = run_command(["/usr/bin/env"], cwd=tmp_path, env={"ONLY": "this"}, timeout=LONG)

    assert done.out == b"ONLY=this\n"


@pytest.mark.spec("6.3")
def test_a_command_is_ended_with_its_children_at_its_timeout(tmp_path: Path) -> None:
    code, child = "trap '' TERM; sleep 60 & echo $! > child; wait", tmp_path / "child"

    def ended(limit_s: float) -> Fault:
        with pytest.raises(Fault) as caught:
            run_command(
                ["sh", "-c", code], cwd=tmp_path, env=ENV, timeout=timedelta(seconds=limit_s)
            )
        return caught.value

    fault, limit_s = run_until_started(ended, lambda _: has_line(child))

    assert re.fullmatch(rf"sh -c .* did not end within {format_duration(limit_s)}", fault.sentence)
    assert fault.transient
    until_dead(int(child.read_text()))


@pytest.mark.spec("6.3")
@pytest.mark.parametrize("argv", [["yes"], ["head", "-c", "2000", "/dev/zero"]], ids=" ".join)
def test_a_command_with_too_much_output_is_refused(tmp_path: Path, argv: list[str]) -> None:
    with pytest.raises(Fault, match="1,000 bytes are allowed") as caught:
        run_command(argv, cwd=tmp_path, env=ENV, timeout=LONG, output_bytes_max=1000)

    assert not caught.value.transient


@pytest.mark.spec("4.7", "4.8")
def test_a_command_that_cannot_start_has_a_fatal_code(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no program\n")
    cases = [
        (["no-such-tool"], tmp_path, "RESOURCE_NOT_FOUND"),
        (["./text"], tmp_path, "PERMISSION_DENIED"),
        (["true"], tmp_path / "nowhere", "RESOURCE_NOT_FOUND"),
    ]

    for argv, cwd, code in cases:
        with pytest.raises(Fault, match=f"cannot run {argv[0]}") as caught:
            run_command(argv, cwd=cwd, env=ENV, timeout=LONG)

        assert (caught.value.code, caught.value.transient) == (code, False)


# ------------------------------------------------------------------ live processes


@pytest.mark.spec("11.3")
def test_the_current_process_is_a_live_holder() -> None:
    name = current_holder()

    assert not is_holder_dead(name)
    assert not is_holder_dead(f"{name}:slot-3")
    assert name.startswith(f"{machine_id()}:{os.getpid()}:")


@pytest.mark.spec("11.3")
def test_only_a_holder_that_is_certainly_gone_is_dead() -> None:
    machine, pid, start, boot = current_holder().split(":")

    assert is_holder_dead(f"{machine}:{pid}:{int(start) - 1}:{boot}"), "another process by now"
    assert is_holder_dead(f"{machine}:{pid}:{start}:00000000"), "the machine started anew"
    assert not is_holder_dead(f"elsewhere:{pid}:{int(start) - 1}:{boot}"), (
        "nothing is known of others"
    )
    for unreadable in ("", "x", machine, f"{machine}:a:b:c", f"{machine}:1"):
        assert not is_holder_dead(unreadable)


def test_a_machine_without_an_id_gets_a_permanent_one(tmp_path: Path) -> None:
    made = load_or_create_machine_id(tmp_path / "state" / "machine-id")

    assert len(made) == 32
    assert load_or_create_machine_id(tmp_path / "state" / "machine-id") == made
    assert [file.name for file in (tmp_path / "state").iterdir()] == ["machine-id"]


def test_a_zombie_is_not_alive() -> None:
    """It is not reaped, so its pid still accepts signals."""
    child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "input()"], stdin=subprocess.PIPE)
    start = process_start_time(child.pid)
    assert is_process_alive(child.pid, start, boot_id())
    assert not is_process_alive(child.pid, start + 1, boot_id())
    assert not is_process_alive(child.pid, start, "another boot")

    assert child.stdin
    child.stdin.write(b"\n")
    child.stdin.close()
    until_dead(child.pid)

    os.kill(child.pid, 0)
    assert not is_process_alive(child.pid, start, boot_id())
    child.wait()


# ------------------------------------------------------------------ files


@pytest.mark.spec("0.2")
def test_a_write_replaces_the_file_and_leaves_no_other(tmp_path: Path) -> None:
    file = tmp_path / "facts.json"
    write_atomically(file, b"old")
    write_atomically(file, b"new")

    assert file.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [file]


def test_a_failed_write_raises_and_leaves_no_file(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    (target / "full").mkdir(parents=True)

    with pytest.raises(Fault, match="cannot write"):
        write_atomically(target, b"data")

    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.spec("14.4")
def test_only_a_plain_file_is_read(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_bytes(b"12345")
    (tmp_path / "link").symlink_to(plain)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    others = ("link", "pipe", "folder", "missing", "plain/in", "x" * 300)

    assert read_plain_bytes(plain, 3) == b"123"
    assert [read_plain_bytes(tmp_path / name, 3) for name in others] == [None] * len(others)


@pytest.mark.spec("11.5")
def test_free_disk_and_memory_are_known(tmp_path: Path) -> None:
    assert free_disk_bytes(tmp_path / "not" / "made" / "yet") > 0
    assert 0 < free_memory_bytes() < 1 << 50


@pytest.mark.parametrize(
    ("env", "home"),
    [
        ({"HOME": "/home/me"}, "/home/me/.local/state/yaoki"),
        ({"HOME": "/home/me", "XDG_STATE_HOME": "/state"}, "/state/yaoki"),
        ({"HOME": "/home/me", "XDG_STATE_HOME": "/state", "YAOKI_HOME": "/own"}, "/own"),
    ],
    ids=["home", "xdg", "own"],
)
def test_the_state_folder_follows_the_environment(
    tmp_path: Path, env: dict[str, str], home: str
) -> None:
    code = "from yaoki.adapters.system.files import state_home; print(state_home())"

    done = run_command([sys.executable, "-c", code], cwd=tmp_path, env=env, timeout=LONG)

    assert done.out.decode() == f"{home}\n", done.err.decode()


def test_the_clock_has_a_zone_and_chance_is_between_zero_and_one() -> None:
    clock = SystemClock()
    before = clock.now()
    clock.sleep(timedelta(milliseconds=5))
    clock.sleep(timedelta(seconds=-1))

    assert before.tzinfo is UTC
    assert clock.now() - before >= timedelta(milliseconds=5)
    assert all(0 <= clock.chance() < 1 for _ in range(100))
    assert clock.chance() != clock.chance()
