"""Stars over the secrets in what the agent said."""

from __future__ import annotations

import errno
import os
import stat
import time

from yaoki.adapters.processes.shim.files import log_line

# What an agent or a check says, as others will read it; what is short comes first.
OUTPUT_FILES = (
    *("outbox/result.json", "outbox/answer.json", "err.log", "out.log", "report.xml"),
    *("outbox/trajectory.json", "outbox/aider.input", "outbox/aider.chat.md"),
    "outbox/vibe/export.json",
)
PIECE_BYTES = 1 << 20
MASK_S_MAX = 20.0


def mask_output_files(secrets: list[str]) -> None:
    """Nobody who comes later knows the values, so they go while somebody does.

    What fails here is told in shim.log; the exit must be recorded all the same.
    """
    give_up = time.monotonic() + MASK_S_MAX
    for name in OUTPUT_FILES if secrets else ():
        try:
            mask_file(name, [os.fsencode(secret) for secret in secrets], give_up)
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:  # half a character cannot be said either
            log_line(f"{name} may hold secrets: {error}")


def mask_file(name: str, words: list[bytes], give_up: float) -> None:
    """Only a plain file below here: through a link the agent could have us write anywhere."""
    file = open_below(name)
    try:
        facts = os.fstat(file)
        if not stat.S_ISREG(facts.st_mode) or facts.st_nlink != 1:
            return log_line(f"{name} may hold secrets: it is no plain file")
        if mask_descriptor(file, words, give_up):
            # The time tells which channel spoke last.
            os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))
            os.fsync(file)
    finally:
        os.close(file)


def open_below(name: str) -> int:
    """The file, each folder on the way opened by itself: none may be a link."""
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


def mask_descriptor(file: int, words: list[bytes], give_up: float) -> bool:
    """Write stars over every word, in place; the end of a piece is looked at with the next.

    `held` stays as it was said, for a word may begin inside another; `shown` has the stars.
    """
    overlap = max(map(len, words)) - 1
    begin, held, shown, changed = 0, b"", bytearray(), False
    while piece := os.pread(file, PIECE_BYTES, begin + len(held)):
        if time.monotonic() > give_up:
            raise TimeoutError(errno.ETIMEDOUT, f"not looked at beyond byte {begin}")
        held, shown = held + piece, shown + piece
        if mask_words(held, shown, words):
            changed = True
            os.pwrite(file, shown, begin)
        begin += max(len(held) - overlap, 0)
        held, shown = held[-overlap:], shown[-overlap:]
    return changed


def mask_words(held: bytes, shown: bytearray, words: list[bytes]) -> bool:
    found = False
    for word in words:
        at = held.find(word)
        while at >= 0:
            found = True
            shown[at : at + len(word)] = b"*" * len(word)
            at = held.find(word, at + 1)
    return found
