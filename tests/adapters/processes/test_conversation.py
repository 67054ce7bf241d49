"""A program that answers many requests, and whose death is harmless."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest

from tests.repositories import a_repository, commit, git
from yaoki.adapters.git.command import Git
from yaoki.adapters.processes.conversation import Conversation, ProcessReply
from yaoki.errors import Fault

ECHO = """
import os, sys
for line in sys.stdin:
    if line == "die\\n":
        sys.exit()
    if line == "half\\n":
        sys.stdout.write("ha")
    else:
        print(os.getpid(), line, end="")
    sys.stdout.flush()
"""


def start_conversation(timeout_s: float = 30) -> Conversation:
    argv = [sys.executable, "-c", ECHO]
    return Conversation(
        argv, cwd=Path.cwd(), env=dict(os.environ), timeout=timedelta(seconds=timeout_s)
    )


def ask(conversation: Conversation, line: str) -> tuple[int, str]:
    pid, _, rest = conversation.ask(line.encode(), ProcessReply.read_line).decode().partition(" ")
    return int(pid), rest


def ask_until_answered(conversation: Conversation, line: str) -> str:
    """On a slow machine the program may start too late."""
    for _ in range(40):
        with suppress(Fault):
            return ask(conversation, line)[1]
    raise AssertionError("it never answered")


@pytest.mark.spec("13.1")
def test_one_process_answers_every_request() -> None:
    conversation = start_conversation()

    first, second = ask(conversation, "one"), ask(conversation, "two")

    assert (first[1], second[1]) == ("one", "two")
    assert first[0] == second[0]


@pytest.mark.spec("13.1")
def test_a_killed_program_is_started_again() -> None:
    conversation = start_conversation()
    pid, _ = ask(conversation, "one")
    os.kill(pid, signal.SIGKILL)

    again, answer = ask(conversation, "two")

    assert answer == "two"
    assert again != pid


@pytest.mark.spec("13.1")
def test_a_program_that_always_dies_is_reported() -> None:
    with pytest.raises(Fault, match="gave no answer"):
        start_conversation().ask(b"die", ProcessReply.read_line)


@pytest.mark.spec("13.1")
def test_a_partial_answer_is_never_read_by_the_next_request() -> None:
    conversation = start_conversation(0.5)
    with pytest.raises(Fault, match="gave no answer"):
        conversation.ask(b"half", ProcessReply.read_line)

    assert ask_until_answered(conversation, "whole") == "whole"


@pytest.mark.spec("13.1")
def test_git_finds_objects_that_were_added_later(tmp_path: Path) -> None:
    top = a_repository(tmp_path)
    objects = Git(top / ".git")
    assert objects.read_object("HEAD:later.txt") is None

    (top / "later.txt").write_text("x" * 200_000)
    commit(top)

    found = objects.read_object("HEAD:later.txt")
    large = objects.read_object("HEAD:later.txt", bytes_max=1000)
    assert found is not None
    assert (found.kind, len(found.content)) == ("blob", 200_000)
    assert large is not None
    assert (large.size, large.content) == (200_000, b"")


@pytest.mark.full
@pytest.mark.spec("0.6")
def test_a_program_that_stops_reading_does_not_block_the_caller() -> None:
    """The program is stopped and its pipe is full."""
    argv, limit = ["sleep", "60"], timedelta(seconds=0.2)
    conversation = Conversation(argv, cwd=Path.cwd(), env=dict(os.environ), timeout=limit)

    with pytest.raises(Fault, match="sleep gave no answer"):
        conversation.ask(b"x" * 1_000_000, ProcessReply.read_line)


@pytest.mark.spec("0.6", "13.1")
def test_a_stopped_program_is_replaced_long_before_the_timeout() -> None:
    """It cost 30 s without a word."""
    conversation, began = start_conversation(300), time.monotonic()
    pid, _ = ask(conversation, "one")
    os.kill(pid, signal.SIGSTOP)

    again, answer = ask(conversation, "two")

    assert (answer, again != pid) == ("two", True)
    assert time.monotonic() - began < 60
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.spec("0.6", "3.4")
def test_a_stopped_git_leaves_no_lock_on_the_ref_that_it_was_to_move(tmp_path: Path) -> None:
    """It is stopped between `prepare`, which locks the ref, and `commit`."""
    top = a_repository(tmp_path)
    lock = top / ".git" / "refs" / "heads" / "new.lock"
    update = Conversation(
        ["sh", "-c", f"echo $$ > {tmp_path}/pid; exec git update-ref --stdin"],
        cwd=top,
        env=dict(os.environ),
        timeout=timedelta(seconds=300),
    )
    head = git(top, "rev-parse", "HEAD")
    prepare = f"start\ncreate refs/heads/new {head}\nprepare"
    update.ask(prepare.encode(), lambda reply: (reply.read_line(), reply.read_line()))
    assert lock.exists()
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGSTOP)

    with suppress(Fault):  # a newer git refuses to commit nothing
        update.ask(b"commit", ProcessReply.read_line)

    assert not lock.exists()
    git(top, "rev-parse", "--verify", "-q", "refs/heads/new", code=1)
