"""yaoki runs coding agents until their work is proven."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from yaoki.faces.api import Event, Question, Repository, Run, Task

__all__ = ["Event", "Question", "Repository", "Run", "Task", "__version__"]


def __getattr__(name: str) -> Any:
    """The API is imported when it is used: the command line starts without it."""
    if name not in __all__:
        raise AttributeError(f"module 'yaoki' has no attribute {name!r}")
    from yaoki.faces import api

    return getattr(api, name)
