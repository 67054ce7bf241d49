"""Real process trees under a real shim: what ends them, and what is recorded."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from errno import EACCES, EINVAL, ENOENT
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.builders import in_outbox
from tests.time_limits import has_line, run_until_started
from yaoki.adapters.processes.process_trees import ShimProcesses
from yaoki.adapters.processes.sweep import MARK_VARIABLE
from yaoki.adapters.system.machine import process_start_time
from yaoki.core.model import EndCause
from yaoki.errors import Fault
from yaoki.ports import Launch, ProcessPhase, ProcessState

PATH = os.environ["PATH"]
PROCESSES = ShimProcesses()

# Four processes: itself, a child without environment, a child in its own session, and a
# daemon nobody waits for.
FAMILY = """
import os, signal, sys, time
def note():
    with open("pids", "a") as file: print(os.getpid(), file=file)
def sleeper(env=os.environ):
    note()
    os.execvpe("sleep", ["sleep", "60"], env)
if "stubborn" in sys.argv: signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0: sleeper({})
if os.fork() == 0: os.setsid(); sleeper()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: sleeper()
    os._exit(0)
note()
if "leave" in sys.argv:
    while len(open("pids").readlines()) < 4: time.sleep(0.01)
    sys.exit(3)
time.sleep(60)
"""

# A worker: starts an agent when told to go, and then does nothing more.
WORKER = """
import pathlib, sys, time
from yaoki.ports import Launch
from yaoki.adapters.processes.process_trees import ShimProcesses
folder, place, code = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
print("ready", flush=True)
while not (place / "go").exists(): time.sleep(0.001)
ShimProcesses().start(folder, Launch(("sh", "-c", code), str(place), {}))
print("started", flush=True)
time.sleep(60)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    worktree = tmp_path / "attempt"
    yield worktree
    PROCESSES.end(worktree, EndCause.STOP)


@pytest.fixture
def worktree(tmp_path: Path) -> Path:
    """Where the agent works."""
    worktree = tmp_path / "worktree"
    worktree.mkdir()
    return worktree


def until(true: Callable[[], object], seconds: float = 40.0) -> None:
    give_up = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < give_up, "waited in vain"
        time.sleep(0.02)


def shell(worktree: Path, code: str, **limits: Any) -> Launch:
    return Launch(("sh", "-c", code), str(worktree), {"PATH": PATH}, **limits)


def python(worktree: Path, code: str, *words: str, **limits: Any) -> Launch:
    argv = (sys.executable, "-I", "-S", "-c", code, *words)
    return Launch(argv, str(worktree), {"PATH": PATH}, **limits)


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def exited(folder: Path) -> ProcessState:
    until(lambda: PROCESSES.inspect(folder).phase != ProcessPhase.RUNNING)
    return PROCESSES.inspect(folder)


def run_process(folder: Path, launch: Launch) -> ProcessState:
    """Starts the process and waits for its end."""
    PROCESSES.start(folder, launch)
    return exited(folder)


def wait_for_pids(worktree: Path, meanwhile: Callable[[], None] = lambda: None) -> list[int]:
    """The process ids of all four, once all are running."""
    file = worktree / "pids"

    def complete() -> bool:
        meanwhile()
        return file.exists() and file.read_text().count("\n") == 4

    until(complete)
    return [int(pid) for pid in file.read_text().split()]


def survivors(pids: list[int]) -> list[int]:
    return [pid for pid in pids if process_start_time(pid)]


def shim_of(folder: Path) -> int:
    return int(json.loads((folder / "started.json").read_text())["pid"])


def worker(folder: Path, worktree: Path, code: str) -> "subprocess.Popen[bytes]":
    argv = [sys.executable, "-c", WORKER, str(folder), str(worktree), code]
    return subprocess.Popen(argv, stdout=subprocess.PIPE)


def read_word(process: "subprocess.Popen[bytes]") -> str:
    assert process.stdout
    return process.stdout.readline().decode().strip()


def kill_and_wait(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.communicate()


# ------------------------------------------------------------------ how it ends


@pytest.mark.spec("3.2")
@pytest.mark.parametrize(
    ("code", "expected"), [("exit 0", (0, None)), ("exit 7", (7, None)), ("kill -9 $$", (None, 9))]
)
def test_the_exit_code_or_signal_is_recorded(
    folder: Path, worktree: Path, code: str, expected: tuple[int | None, int | None]
) -> None:
    look = run_process(folder, shell(worktree, code))

    assert (look.phase, look.code, look.signal) == ("exited", *expected)
    assert (look.ended_by, look.start_error) == ("", "")


@pytest.mark.spec("3.2")
def test_a_pause_ends_with_the_process(folder: Path, worktree: Path) -> None:
    """Otherwise this test takes an hour."""
    PROCESSES.start(folder, shell(worktree, "sleep 0.2"))

    PROCESSES.pause(folder, timedelta(hours=1))

    assert PROCESSES.inspect(folder).phase == ProcessPhase.EXITED


@pytest.mark.spec("3.2")
def test_a_pause_beside_a_process_of_another_worker_ends(folder: Path, worktree: Path) -> None:
    PROCESSES.start(folder, shell(worktree, "sleep 60"))

    ShimProcesses().pause(folder, timedelta(milliseconds=1))

    assert PROCESSES.inspect(folder).phase == ProcessPhase.RUNNING


@pytest.mark.spec("3.2")
def test_the_whole_output_goes_to_files(folder: Path, worktree: Path) -> None:
    look = run_process(folder, shell(worktree, "head -c 20000000 /dev/zero; echo trouble >&2"))

    assert (folder / "out.log").stat().st_size == 20_000_000
    assert (folder / "err.log").read_text() == "trouble\n"
    assert (look.code, look.output_bytes) == (0, 20_000_008)


@pytest.mark.spec("3.2")
def test_too_much_output_ends_the_agent(folder: Path, worktree: Path) -> None:
    look = run_process(folder, shell(worktree, "exec yes", output_bytes_max=100_000))

    assert (look.ended_by, look.signal) == ("output", signal.SIGTERM)
    assert look.output_bytes > 100_000


@pytest.mark.spec("3.2", "3.8")
@pytest.mark.parametrize(
    ("trap", "grace_s", "expected"),
    [("", 40, signal.SIGTERM), ("trap '' TERM; ", 0.3, signal.SIGKILL)],
    ids=["polite", "stubborn"],
)
def test_the_deadline_ends_the_agent(
    folder: Path, worktree: Path, trap: str, grace_s: float, expected: int
) -> None:
    code = f"{trap}touch begun; exec sleep 60"

    def carried_until(limit_s: float) -> ProcessState:
        limits = {"deadline": seconds(limit_s), "grace": seconds(grace_s)}
        return run_process(folder / f"{limit_s}", shell(worktree, code, **limits))

    look, limit_s = run_until_started(carried_until, lambda _: (worktree / "begun").exists())

    assert (look.ended_by, look.signal) == ("deadline", expected)
    assert look.seconds >= limit_s


@pytest.mark.full
@pytest.mark.spec("3.8")
def test_an_inactive_process_tree_counts_as_hung(folder: Path, worktree: Path) -> None:
    look = run_process(folder, shell(worktree, "sleep 60; true", hang=seconds(1)))

    assert look.ended_by == "hang"
    assert look.seconds >= 1


@pytest.mark.full
@pytest.mark.spec("3.8")
@pytest.mark.parametrize(
    "code",
    [
        "end = time.time() + 3\nwhile time.time() < end: pass",
        "for n in range(30): print(n, flush=True); time.sleep(0.1)",
        "for n in range(30): os.makedirs('deep', exist_ok=True); open('deep/file', 'w').close();"
        " time.sleep(0.1)",
        "for n in range(10): os.system('sleep 0.3')",
    ],
    ids=["cpu", "output", "files", "children"],
)
def test_any_activity_prevents_the_hang_limit(folder: Path, worktree: Path, code: str) -> None:
    """A shim that was stopped counts one second: together with the pauses of the work too few."""
    look = run_process(folder, python(worktree, f"import os, time\n{code}", hang=seconds(2.2)))

    assert (look.ended_by, look.code) == ("", 0)
    assert look.seconds > 2.2


@pytest.mark.full
@pytest.mark.spec("3.8")
def test_silence_is_reported_but_not_ended(folder: Path, worktree: Path) -> None:
    PROCESSES.start(folder, shell(worktree, "exec sleep 60"))

    until(lambda: PROCESSES.inspect(folder).quiet_seconds > 0.5)

    assert PROCESSES.inspect(folder).phase == ProcessPhase.RUNNING


# ------------------------------------------------------------------ leases


@pytest.mark.spec("11.3", "8.6")
def test_an_expired_lease_ends_the_whole_tree(folder: Path, worktree: Path) -> None:
    PROCESSES.start(folder, python(worktree, FAMILY, lease=seconds(2.5)))
    pids = wait_for_pids(worktree, meanwhile=lambda: PROCESSES.renew_lease(folder))
    assert len(survivors(pids)) == 4

    assert exited(folder).ended_by == "lease"
    assert survivors(pids) == []


@pytest.mark.full
@pytest.mark.spec("11.3")
def test_a_renewed_lease_keeps_the_agent_running(folder: Path, worktree: Path) -> None:
    """A shim that was stopped counts one second, which is less than the lease."""
    PROCESSES.start(folder, shell(worktree, "exec sleep 60", lease=seconds(2)))

    for _ in range(25):
        PROCESSES.renew_lease(folder)
        time.sleep(0.1)

    assert PROCESSES.inspect(folder).phase == ProcessPhase.RUNNING
    assert exited(folder).ended_by == "lease"


def test_renewing_a_missing_lease_raises_a_fault(folder: Path) -> None:
    with pytest.raises(Fault, match="cannot renew the lease"):
        PROCESSES.renew_lease(folder)


# ------------------------------------------------------------------ nothing survives


@pytest.mark.spec("3.8", "9.5")
@pytest.mark.parametrize("manner", ["polite", "stubborn"])
def test_end_leaves_no_process_of_the_tree(folder: Path, worktree: Path, manner: str) -> None:
    PROCESSES.start(folder, python(worktree, FAMILY, manner, grace=seconds(0.3)))
    pids = wait_for_pids(worktree)

    look = PROCESSES.end(folder, EndCause.CANCEL)

    assert (look.phase, look.ended_by) == ("exited", "cancel")
    assert look.signal in {signal.SIGKILL, signal.SIGTERM if manner == "polite" else None}
    assert survivors(pids) == []


@pytest.mark.spec("3.8")
def test_processes_that_an_agent_leaves_behind_are_ended(folder: Path, worktree: Path) -> None:
    look = run_process(folder, python(worktree, FAMILY, "leave"))

    assert (look.code, look.ended_by) == (3, "")
    assert survivors(wait_for_pids(worktree)) == []


@pytest.mark.spec("3.8", "8.6")
def test_the_tree_of_a_killed_shim_is_ended(folder: Path, worktree: Path) -> None:
    PROCESSES.start(folder, python(worktree, FAMILY))
    pids = wait_for_pids(worktree)

    os.kill(shim_of(folder), signal.SIGKILL)
    until(lambda: PROCESSES.inspect(folder).phase == ProcessPhase.GONE)
    assert len(survivors(pids)) == 4
    begun_s = time.time() - 10
    for name, at_s in {"started.json": 0, "lease": 6, "beat.json": 5}.items():
        os.utime(folder / name, (begun_s + at_s, begun_s + at_s))
    look = PROCESSES.end(folder, EndCause.CANCEL)

    assert look.phase == ProcessPhase.GONE
    assert look.seconds == pytest.approx(6, abs=0.01), "up to its last sign of life"
    assert survivors(pids) == []


@pytest.mark.spec("9.5")
def test_a_stopped_shim_still_ends_its_tree(folder: Path, worktree: Path) -> None:
    PROCESSES.start(folder, shell(worktree, "exec sleep 60"))
    os.kill(shim_of(folder), signal.SIGSTOP)

    assert PROCESSES.end(folder, EndCause.CANCEL).ended_by == "cancel"


@pytest.mark.spec("9.5", "8.6")
def test_a_shim_that_does_not_finish_is_killed(folder: Path, worktree: Path) -> None:
    """The shim cannot record the exit; the tree is gone, and its state is reported as unknown."""
    impatient = ShimProcesses(patience=seconds(0.5))
    PROCESSES.start(folder, python(worktree, FAMILY, grace=seconds(0.2)))
    pids = wait_for_pids(worktree)
    (folder / "exit.json.tmp").mkdir()

    assert impatient.end(folder, EndCause.CANCEL).phase == ProcessPhase.GONE
    assert survivors(pids) == []
    until(lambda: not process_start_time(shim_of(folder)))


def test_a_bare_signal_to_the_shim_means_stop(folder: Path, worktree: Path) -> None:
    PROCESSES.start(folder, shell(worktree, "exec sleep 60"))

    for number in (signal.SIGHUP, signal.SIGINT):
        os.kill(shim_of(folder), number)
    os.kill(shim_of(folder), signal.SIGTERM)

    assert exited(folder).ended_by == "stop"


@pytest.mark.spec("9.5")
def test_ending_an_ended_tree_changes_nothing(folder: Path, worktree: Path) -> None:
    look = run_process(folder, shell(worktree, "exit 7"))

    assert PROCESSES.end(folder, EndCause.CANCEL) == look


@pytest.mark.spec("9.5")
def test_a_process_cancelled_before_its_start_never_runs(folder: Path, worktree: Path) -> None:
    folder.mkdir()
    assert PROCESSES.end(folder, EndCause.CANCEL).phase == ProcessPhase.ABSENT

    look = run_process(folder, shell(worktree, "touch ran"))

    assert (look.phase, look.ended_by, look.code) == ("exited", "cancel", None)
    assert not (worktree / "ran").exists()


# ------------------------------------------------------------------ outliving, and once only


@pytest.mark.spec("0.2", "3.7", "8.6")
def test_an_agent_outlives_its_killed_worker_and_is_found_again(
    folder: Path, worktree: Path
) -> None:
    code = "until [ -e enough ]; do sleep 0.05; done; exit 7"
    boss = worker(folder, worktree, code)
    (worktree / "go").touch()
    until(lambda: PROCESSES.inspect(folder).phase == ProcessPhase.RUNNING)

    kill_and_wait(boss)
    assert PROCESSES.inspect(folder).phase == ProcessPhase.RUNNING
    (worktree / "enough").touch()

    assert exited(folder).code == 7


@pytest.mark.spec("0.3")
def test_concurrent_starts_run_the_process_once(folder: Path, worktree: Path) -> None:
    code = "echo once >> ran; exec sleep 60"
    workers = [worker(folder, worktree, code) for _ in range(3)]
    assert [read_word(boss) for boss in workers] == ["ready"] * 3
    (worktree / "go").touch()
    assert [read_word(boss) for boss in workers] == ["started"] * 3
    PROCESSES.start(folder, shell(worktree, code))

    until(lambda: has_line(worktree / "ran"))
    for boss in workers:
        kill_and_wait(boss)
    PROCESSES.end(folder, EndCause.STOP)
    PROCESSES.start(folder, shell(worktree, code))

    assert (worktree / "ran").read_text() == "once\n"


@pytest.mark.spec("0.3")
def test_a_second_shim_leaves_a_gone_tree_alone(folder: Path, worktree: Path) -> None:
    PROCESSES.start(folder, shell(worktree, "echo once >> ran; exec sleep 60"))
    until(lambda: has_line(worktree / "ran"))
    os.kill(shim_of(folder), signal.SIGKILL)
    until(lambda: PROCESSES.inspect(folder).phase == ProcessPhase.GONE)

    shim = (
        Path(__file__).parents[3]
        / "src"
        / "yaoki"
        / "adapters"
        / "processes"
        / "shim"
        / "__main__.py"
    )
    second = subprocess.run([sys.executable, "-I", "-S", shim, folder], timeout=40, check=False)

    assert second.returncode == 0
    assert (worktree / "ran").read_text() == "once\n"


def test_a_finished_shim_leaves_no_zombie(folder: Path, worktree: Path) -> None:
    run_process(folder, shell(worktree, "exit 0"))

    until(lambda: not Path(f"/proc/{shim_of(folder)}").exists())


@pytest.mark.spec("0.2")
def test_writing_the_exit_is_retried_on_a_full_disk(folder: Path, worktree: Path) -> None:
    """A folder in place of the file simulates a full disk: the write fails for a while."""
    PROCESSES.start(folder, shell(worktree, "until [ -e go ]; do sleep 0.02; done; exit 7"))
    (folder / "exit.json.tmp").mkdir()
    (worktree / "go").touch()
    until(lambda: "trying again" in (folder / "shim.log").read_text())
    assert PROCESSES.inspect(folder).phase == ProcessPhase.RUNNING

    (folder / "exit.json.tmp").rmdir()

    assert exited(folder).code == 7


def test_an_unknown_folder_is_absent(folder: Path) -> None:
    assert (
        PROCESSES.inspect(folder)
        == PROCESSES.end(folder, EndCause.STOP)
        == ProcessState(ProcessPhase.ABSENT)
    )
    assert not folder.exists()


# ------------------------------------------------------------------ what the agent is given


@pytest.mark.spec("3.2", "4.2")
def test_a_failed_start_is_reported_with_its_reason(folder: Path, worktree: Path) -> None:
    (worktree / "text").write_text("no program\n")
    cases = {
        ("no-such-agent",): (ENOENT, "cannot run no-such-agent: No such file or directory"),
        ("./text",): (EACCES, "cannot run ./text: Permission denied"),
        ("sh", "\0"): (EINVAL, "cannot run sh: embedded null byte"),
        (): (EINVAL, "cannot run : list index out of range"),
    }

    for number, (argv, expected) in enumerate(cases.items()):
        look = run_process(folder / str(number), Launch(argv, str(worktree), {"PATH": PATH}))

        assert (look.start_errno, look.start_error) == expected
        assert not look.cwd_not_entered
        assert (look.phase, look.code, look.signal) == ("exited", None, None)


@pytest.mark.spec("3.2")
def test_a_missing_working_folder_is_a_failed_start(folder: Path, worktree: Path) -> None:
    look = run_process(folder, shell(worktree / "nowhere", "exit 0"))

    assert look.start_errno == ENOENT
    assert look.start_error.startswith(f"cannot enter {worktree / 'nowhere'}")
    assert look.cwd_not_entered


@pytest.mark.spec("3.2")
@pytest.mark.parametrize(
    ("text", "read"), [(None, ""), ("", ""), ("zeile\r\n世界", "zeile\r\n世界")]
)
def test_stdin_is_closed_unless_text_is_given(
    folder: Path, worktree: Path, text: str | None, read: str
) -> None:
    look = run_process(folder, shell(worktree, "cat", stdin=text, deadline=seconds(30)))

    assert (look.code, look.ended_by) == (0, "")
    assert (folder / "out.log").read_bytes().decode() == read


@pytest.mark.spec("3.2", "14.2")
def test_the_environment_is_that_of_the_launch_plus_the_mark(folder: Path, worktree: Path) -> None:
    given = {"PATH": PATH, "ODD": "a=b\nü\udcff", "EMPTY": ""}
    run_process(folder, Launch(("env", "-0"), str(worktree), given))

    seen = [os.fsdecode(item) for item in (folder / "out.log").read_bytes().split(b"\0") if item]
    found = dict(item.split("=", 1) for item in seen)
    assert len(found.pop(MARK_VARIABLE)) == 32
    assert found == given


@pytest.mark.spec("3.2")
def test_the_agent_gets_its_own_session_and_no_descriptors_of_ours(
    folder: Path, worktree: Path
) -> None:
    code = """
import os, signal
ignored = [n for n in signal.valid_signals() if signal.getsignal(n) == signal.SIG_IGN]
print(os.getpid() == os.getsid(0) == os.getpgid(0), sorted(os.listdir("/proc/self/fd"))[:3],
      len(os.listdir("/proc/self/fd")), ignored, signal.pthread_sigmask(0, []), os.getcwd())
"""
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGCHLD})
    PROCESSES.start(folder, python(worktree, code))
    signal.pthread_sigmask(signal.SIG_SETMASK, held)
    exited(folder)

    # Python itself ignores these two, and the listing of descriptors is one itself.
    own = [signal.SIGPIPE, signal.SIGXFSZ]
    expected = f"True ['0', '1', '2'] 4 {own} set() {worktree}\n"
    assert (folder / "out.log").read_text() == expected


@pytest.mark.spec("14.2")
def test_the_environment_does_not_stay_on_disk(folder: Path, worktree: Path) -> None:
    secret = b"correct horse battery staple"
    given = {"PATH": PATH, "TOKEN": secret.decode()}
    PROCESSES.start(folder, Launch(("sh", "-c", "touch on; sleep 60"), str(worktree), given))
    until((worktree / "on").exists)
    until(lambda: not (folder / "launch.json").exists())
    assert PROCESSES.end(folder, EndCause.STOP).phase == ProcessPhase.EXITED

    assert not [file for file in folder.iterdir() if secret in file.read_bytes()]
    assert folder.stat().st_mode & 0o077 == 0


@pytest.mark.spec("3.8", "0.4")
@pytest.mark.parametrize("name", ["started.json", "beat.json", "exit.json", "end"])
def test_a_pipe_in_place_of_a_file_does_not_block(folder: Path, worktree: Path, name: str) -> None:
    """An agent can write there: anything but a plain file is ignored or ends only the agent."""
    # In one step: without any started.json nobody would have started it.  Again and again, for
    # the shim puts its own in the place.
    script = f"while :; do mkfifo own; mv -f own {name}; sleep 0.1; done"
    PROCESSES.start(folder, shell(worktree, f"cd {folder} && {script}"))
    until((folder / name).is_fifo)

    look = PROCESSES.end(folder, EndCause.STOP)

    assert look.phase in {ProcessPhase.EXITED, ProcessPhase.GONE}


@pytest.mark.spec("0.1", "3.8", "4.1")
@pytest.mark.parametrize("text", ['{"x": 1}', "[]", "{", '{"code": "0"}'])
def test_an_invalid_exit_file_is_ignored(folder: Path, worktree: Path, text: str) -> None:
    """An agent can write there: its process counts as running until it has really ended."""
    script = f"printf '%s' '{text}' > {folder}/exit.json; touch on; sleep 60"
    PROCESSES.start(folder, shell(worktree, script))
    until((worktree / "on").exists)

    claimed = PROCESSES.inspect(folder).phase
    ended = PROCESSES.end(folder, EndCause.STOP)

    assert claimed == ProcessPhase.RUNNING
    assert (ended.phase, ended.ended_by) == (ProcessPhase.EXITED, EndCause.STOP)


@pytest.mark.spec("14.2")
@pytest.mark.parametrize("form", [str, lambda value: json.dumps(value)[1:-1], quote])
def test_secrets_in_the_output_are_masked_after_the_end(
    folder: Path, worktree: Path, form: Callable[[str], str]
) -> None:
    secret = 'pass "wörd"/4711'
    said = form(secret)
    code = "import os, sys; os.write(1, os.fsencode(f'a {sys.argv[1]} b\\n' * 2)); " + (
        "os.write(2, os.fsencode(sys.argv[1])); open(sys.argv[2], 'w').write(sys.argv[1])"
    )
    note = in_outbox(folder) / "result.json"

    look = run_process(
        folder, python(worktree, code, said, str(note), secrets=(secret, "a", "b\n"))
    )

    stars = "*" * len(said.encode())
    assert (folder / "out.log").read_text() == f"a {stars} b\n" * 2
    assert (folder / "err.log").read_text() == note.read_text() == stars
    assert look.output_bytes == 3 * len(said.encode()) + 10


@pytest.mark.spec("14.2")
def test_a_secret_across_two_pieces_of_a_log_is_masked(folder: Path, worktree: Path) -> None:
    """Two overlapping values at every position around the border of the first piece."""
    inside, piece = "abcdef-ghijkl", 1 << 20
    code = """
import os, sys
blocks = [b"." * (1 << 20) for _ in range(14)]
text = bytearray(b"".join(blocks))
for n in range(1, 14):
    text[n * (1 << 20) - n : n * (1 << 20) - n + 13] = b"abcdef-ghijkl"
while text: del text[: os.write(1, text)]
"""

    run_process(folder, python(worktree, code, secrets=("abcdef-g", "ef-ghijkl")))

    left = (folder / "out.log").read_bytes()
    assert len(left) == 14 * piece
    assert left.count(b"*") == 13 * len(inside)
    assert set(left) == set(b".*")


@pytest.mark.spec("14.2")
def test_secrets_of_an_agent_that_was_ended_are_masked(folder: Path, worktree: Path) -> None:
    code = "echo correct-horse; touch on; sleep 60"
    PROCESSES.start(folder, shell(worktree, code, secrets=("correct-horse",)))
    until((worktree / "on").exists)
    assert (folder / "out.log").read_text() == "correct-horse\n", "stars come at the end"

    assert PROCESSES.end(folder, EndCause.CANCEL).ended_by == "cancel"

    assert (folder / "out.log").read_text() == "*" * 13 + "\n"


@pytest.mark.spec("14.2")
def test_masking_keeps_the_modification_time_of_a_log(folder: Path, worktree: Path) -> None:
    """The newest channel shows what an agent waits for."""
    code = "echo correct-horse >&2; touch -d @1000000000 {0}/err.log; echo later"

    run_process(folder, shell(worktree, code.format(folder), secrets=("correct-horse",)))

    assert (folder / "err.log").read_text() == "*" * 13 + "\n"
    assert (folder / "err.log").stat().st_mtime == 1_000_000_000


@pytest.mark.spec("14.2", "3.7")
@pytest.mark.parametrize(
    "meanwhile",
    [
        "rm {0}/out.log",
        "rm {0}/out.log; mkdir {0}/out.log",
        "rm {0}/out.log; mkfifo {0}/out.log",
        "rm {0}/out.log; ln -s {1}/mine {0}/out.log",
        "rm {0}/out.log; ln {1}/mine {0}/out.log",
    ],
)
def test_the_exit_is_recorded_even_if_masking_fails(
    folder: Path, worktree: Path, meanwhile: str
) -> None:
    code = f"echo correct-horse > mine; echo correct-horse >&2; {meanwhile}; exit 3"

    look = run_process(
        folder, shell(worktree, code.format(folder, worktree), secrets=("correct-horse",))
    )

    assert (look.phase, look.code) == ("exited", 3)
    assert (worktree / "mine").read_text() == "correct-horse\n", "only what lies in the folder"
    assert (folder / "err.log").read_text() == "*" * 13 + "\n"


def test_a_shim_that_cannot_start_is_a_transient_fault(folder: Path, worktree: Path) -> None:
    broken = ShimProcesses(python="false")

    with pytest.raises(Fault, match="the shim failed") as caught:
        broken.start(folder, shell(worktree, "exit 0"))

    assert caught.value.transient
    assert PROCESSES.inspect(folder).phase == ProcessPhase.ABSENT


@pytest.mark.spec("16.10")
def test_a_worker_with_a_thousand_open_files_can_inspect_its_shims(
    folder: Path, worktree: Path
) -> None:
    """`select` refuses such large descriptors."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2_000 if hard == resource.RLIM_INFINITY else min(2_000, hard)
    if wanted < 1_200:
        pytest.skip(f"this machine allows {hard} open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(1_100)]
    try:
        look = run_process(folder, python(worktree, "print('good')"))
    finally:
        for one in opened:
            os.close(one)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert (look.phase, look.code) == ("exited", 0)
