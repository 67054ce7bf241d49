"""The kernel's keyrings: what a person keeps there, an agent in the sandbox does not find."""

from __future__ import annotations

import ctypes
import platform
import struct
from collections.abc import Iterator

import pytest

from tests.acceptance.project import Project
from tests.acceptance.test_sandbox import needs_bubblewrap
from tests.security.attack import SECRET, Attack
from tests.security.attack_runner import AttackRunner
from yaoki.adapters.processes.keyrings import ALLOWED, CALLS, MISSING, program

pytestmark = pytest.mark.spec("16.10", "16.13", "14.3")
FIRST = {"x86_64": 248, "aarch64": 217}
# The third of the calls; the first one adds.
KEYCTL = 2
SESSION, SEARCH, READ, REVOKE = -3, 10, 11, 3
NAME = "yaoki-walls"
LOOK = f"""\
"$PY" -c 'import ctypes
ask = ctypes.CDLL(None).syscall
held = ctypes.create_string_buffer(99)
key = ask(CALL, {SEARCH}, ctypes.c_long({SESSION}), b"user", b"{NAME}", 0)
ask(CALL, {READ}, key, held, 99)
open("ring.loot", "wb").write(held.value + b"-")'
"""


@pytest.fixture
def keyctl() -> Iterator[int]:
    """The number of the call, with a key of the person's in their session."""
    first, ask = FIRST.get(platform.machine()), ctypes.CDLL(None).syscall
    secret, at = SECRET.encode(), ctypes.c_long(SESSION)
    key = ask(first, b"user", NAME.encode(), secret, len(secret), at) if first else -1
    if not first or key < 0:
        pytest.skip("no keyrings here")
    yield first + KEYCTL
    ask(first + KEYCTL, REVOKE, key)


@pytest.mark.acceptance
def test_a_sandboxed_agent_does_not_find_a_key_of_the_users_session(
    project: Project, keyctl: int
) -> None:
    needs_bubblewrap()
    attack_runner = AttackRunner(project)
    attack_runner.settings("on")
    look = LOOK.replace("CALL", str(keyctl))

    after = attack_runner.run([Attack("ring", "", look, f"grep -q {SECRET} $CLONE/ring.loot")])

    assert after.faults() == []
    assert (after.clone / "ring.loot").read_bytes() == b"-"


@pytest.mark.parametrize("machine", CALLS)
def test_the_three_keyring_calls_are_blocked_on_every_architecture(machine: int) -> None:
    first = CALLS[machine]

    answers = {number: answered(machine, number) for number in range(first - 2, first + 5)}

    missing = [number for number, answer in answers.items() if answer == MISSING]
    assert missing == [first, first + 1, first + 2]
    assert set(answers.values()) == {MISSING, ALLOWED}
    assert answered(0x1234, first) == ALLOWED


def answered(machine: int, number: int) -> int:
    """What the kernel would make of it: the few instructions that are used."""
    rows = list(struct.iter_unpack("=HBBI", program()))
    held = at = 0
    while True:
        code, yes, no, value = rows[at]
        at += 1
        match code:
            case 0x20:
                held = {0: number, 4: machine}[value]
            case 0x54:
                held &= value
            case 0x06:
                return int(value)
            case _:
                holds = {0x15: held == value, 0x35: held >= value, 0x25: held > value}[code]
                at += yes if holds else no
