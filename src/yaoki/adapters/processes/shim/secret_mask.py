"""Overwrites secrets in the output of the agent with asterisks."""

from __future__ import annotations

import errno
import os
import stat
import time

from yaoki.adapters.processes.shim.files import log_line

# The output of an agent or a check that others will read; short files first.
OUTPUT_FILES = (
    *("outbox/result.json", "outbox/answer.json", "err.log", "out.log", "report.xml"),
    *("outbox/trajectory.json", "outbox/aider.input", "outbox/aider.chat.md"),
    "outbox/vibe/export.json",
)
PIECE_BYTES = 1 << 20
MASK_S_MAX = 20.0


def mask_output_files(secrets: list[str]) -> None:
    """Only the shim still knows the values of the secrets.

    A failure is logged in shim.log; the exit must be recorded in any case.
    """
    deadline = time.monotonic() + MASK_S_MAX
    for name in OUTPUT_FILES if secrets else ():
        try:
            mask_file(name, [os.fsencode(secret) for secret in secrets], deadline)
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:  # ValueError: a lone surrogate
            log_line(f"{name} may hold secrets: {error}")


def mask_file(name: str, secrets: list[bytes], deadline: float) -> None:
    """Only a plain file below this folder: through a link we would write elsewhere."""
    file = open_below(name)
    try:
        facts = os.fstat(file)
        if not stat.S_ISREG(facts.st_mode) or facts.st_nlink != 1:
            return log_line(f"{name} may hold secrets: it is not a plain file")
        if mask_descriptor(file, secrets, deadline):
            # Readers use the time to see which channel was written last.
            os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))
            os.fsync(file)
    finally:
        os.close(file)


def open_below(name: str) -> int:
    """Opens each folder on the way separately, so that none can be a link."""
    *folders, last = name.split("/")
    at = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        for folder in folders:
            inner = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = inner
        return os.open(last, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=at)
    finally:
        os.close(at)


def mask_descriptor(file: int, secrets: list[bytes], deadline: float) -> bool:
    """Overwrites every secret in place; the end of a piece is searched again with the next.

    `original` stays unchanged, for a secret may begin inside another; `masked` is written.
    """
    overlap = max(map(len, secrets)) - 1
    begin, original, masked, changed = 0, b"", bytearray(), False
    while piece := os.pread(file, PIECE_BYTES, begin + len(original)):
        if time.monotonic() > deadline:
            raise TimeoutError(errno.ETIMEDOUT, f"not masked beyond byte {begin}")
        original, masked = original + piece, masked + piece
        if mask_words(original, masked, secrets):
            changed = True
            os.pwrite(file, masked, begin)
        begin += max(len(original) - overlap, 0)
        original, masked = original[-overlap:], masked[-overlap:]
    return changed


def mask_words(original: bytes, masked: bytearray, secrets: list[bytes]) -> bool:
    is_changed = False
    for secret in secrets:
        at = original.find(secret)
        while at >= 0:
            is_changed = True
            masked[at : at + len(secret)] = b"*" * len(secret)
            at = original.find(secret, at + 1)
    return is_changed
