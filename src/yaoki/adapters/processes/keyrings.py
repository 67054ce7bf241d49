"""A seccomp filter that closes the kernel's keyrings, which no namespace separates.

Keyrings hold tickets, mount passwords and tokens that every process of the user can read.  Inside
the sandbox the three system calls fail as on a kernel without keyrings.
"""

from __future__ import annotations

import errno
import struct
from pathlib import Path

from yaoki.adapters.system.files import read_plain_bytes, write_atomically

# The kernel's number of an architecture, and the first of its three consecutive system calls.
CALLS = {
    0xC000003E: 248,  # x86-64
    0x40000003: 286,  # i386
    0xC00000B7: 217,  # arm64
    0x40000028: 309,  # arm
    0xC00000F3: 217,  # riscv64
    0xC0000015: 269,  # ppc64le
    0x80000016: 278,  # s390x
}
# Instructions of the BPF program.
LOAD, AND, EQUAL, AT_LEAST, ABOVE, ANSWER = 0x20, 0x54, 0x15, 0x35, 0x25, 0x06
NUMBER_AT, MACHINE_AT = 0, 4
# The x32 calls of x86-64 have the same numbers with this bit set.
PLAIN = 0xFFFF_FFFF ^ 0x4000_0000
ALLOWED, MISSING = 0x7FFF_0000, 0x0005_0000 | errno.ENOSYS


def program() -> bytes:
    """The BPF program for bubblewrap's `--seccomp`."""
    rows = [row for machine, first in CALLS.items() for row in _rows_for(machine, first)]
    return b"".join(struct.pack("=HBBI", *row) for row in (*rows, (ANSWER, 0, 0, ALLOWED)))


def _rows_for(machine: int, first: int) -> tuple[tuple[int, int, int, int], ...]:
    """Each row: instruction, rows to skip if true, rows to skip if false, operand."""
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
    """Writes the program to a file in the folder, replacing any other content."""
    file, content = folder / ".calls", program()
    if read_plain_bytes(file, len(content) + 1) != content:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(file, content)
    return file
