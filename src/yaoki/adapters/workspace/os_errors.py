"""Translates errors of the file system into errors of the workspace."""

from __future__ import annotations

import errno
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from yaoki.errors import FREE_DISK_HINT, GitFailed

DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
TRANSIENT = DISK_FULL | {errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.EBUSY}

P = ParamSpec("P")
T = TypeVar("T")


def translates_os_errors(method: Callable[P, T]) -> Callable[P, T]:
    """Make the method raise only errors that the engine can decide on."""

    @wraps(method)
    def translated(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(*args, **kwargs)
        except OSError as error:
            raise GitFailed(
                f"{error.strerror or error}: {error.filename or 'a file of the worktree'}",
                transient=error.errno in TRANSIENT,
                hint=FREE_DISK_HINT if error.errno in DISK_FULL else "yaoki doctor",
            ) from error

    return translated
