"""Errors of the file system, told as errors of the workspace."""

from __future__ import annotations

import errno
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from yaoki.errors import FREE_DISK_HINT, GitFailed

FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
PASSING = FULL | {errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.EBUSY}

P = ParamSpec("P")
T = TypeVar("T")


def translates_os_errors(method: Callable[P, T]) -> Callable[P, T]:
    """Let the method raise only what the engine can decide on."""

    @wraps(method)
    def telling(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(*args, **kwargs)
        except OSError as error:
            raise GitFailed(
                f"{error.strerror or error}: {error.filename or 'a file of the worktree'}",
                transient=error.errno in PASSING,
                hint=FREE_DISK_HINT if error.errno in FULL else "yaoki doctor",
            ) from error

    return telling
