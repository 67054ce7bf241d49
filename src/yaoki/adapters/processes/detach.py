"""Detaches a program from the terminal: a bare script, `detach.py CWD LOG PROGRAM ARGUMENT...`.

The caller starts it as the leader of a new session; it forks once more, so that the child leads no
session and can never get a terminal again, and then executes the program.
"""

import os
import sys


def main(cwd: str, log: str, *argv: str) -> None:
    if os.fork():
        os._exit(0)
    os.chdir(cwd)
    null_fd = os.open(os.devnull, os.O_RDONLY)
    log_fd = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for source, target in ((null_fd, 0), (log_fd, 1), (log_fd, 2)):
        os.dup2(source, target)
    os.closerange(3, 256)
    try:
        os.execv(argv[0], argv)
    except OSError as error:
        os.write(2, f"cannot start {argv[0]}: {error}\n".encode())
        os._exit(127)


if __name__ == "__main__":
    main(*sys.argv[1:])
