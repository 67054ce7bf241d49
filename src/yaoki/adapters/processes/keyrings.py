"""The kernel's keyrings, which no namespace holds apart: closed to those in the sandbox.

Tickets, passwords of mounts and tokens are kept there, and whoever a person starts may read them.
So the three calls are answered as by a kernel that has none of them.
"""

from __future__ import annotations

import errno
import struct
from pathlib import Path

from yaoki.adapters.system.files import read_plain_bytes, write_atomically

# How a kernel names a kind of machine, and the first of its three calls, which follow each other.
CALLS = {
    0xC000003E: 248,  # x86-64
    0x40000003: 286,  # i386
    0xC00000B7: 217,  # arm64
    0x40000028: 309,  # arm
    0xC00000F3: 217,  # riscv64
    0xC0000015: 269,  # ppc64le
    0x80000016: 278,  # s390x
}
# Instructions of the kernel's packet filter.
LOAD, AND, EQUAL, AT_LEAST, ABOVE, ANSWER = 0x20, 0x54, 0x15, 0x35, 0x25, 0x06
NUMBER_AT, MACHINE_AT = 0, 4
# The x32 calls of an x86-64 are the same ones with this bit.
PLAIN = 0xFFFF_FFFF ^ 0x4000_0000
ALLOWED, MISSING = 0x7FFF_0000, 0x0005_0000 | errno.ENOSYS


def program() -> bytes:
    """For bubblewrap's `--seccomp`."""
    rows = [row for machine, first in CALLS.items() for row in _on(machine, first)]
    return b"".join(struct.pack("=HBBI", *row) for row in (*rows, (ANSWER, 0, 0, ALLOWED)))


def _on(machine: int, first: int) -> tuple[tuple[int, int, int, int], ...]:
    """Each with how many rows are left out when it holds, and when it does not."""
    return (
        (LOAD, 0, 0, MACHINE_AT),
        (EQUAL, 0, 6, machine),
        (LOAD, 0, 0, NUMBER_AT),
        (AND, 0, 0, PLAIN),
        (AT_LEAST, 0, 2, first),
        (ABOVE, 1, 0, first + 2),
        (ANSWER, 0, 0, MISSING),
        (ANSWER, 0, 0, ALLOWED),
    )


def calls_file(folder: Path) -> Path:
    """The program as a file there, whatever stood in its place."""
    file, wanted = folder / ".calls", program()
    if read_plain_bytes(file, len(wanted) + 1) != wanted:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(file, wanted)
    return file
