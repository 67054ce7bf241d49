"""`lazy_compile`, as `re.compile`, for patterns that are compiled when they are first used.

Compiling takes a quarter of a millisecond for each pattern, and a command uses few of those in the
modules that it imports.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from re import compile as lazy_compile
else:

    class lazy_compile:  # noqa: N801 - stands for a function
        """The pattern; after the first use its methods are those of the compiled one."""

        def __init__(self, pattern: str | bytes, flags: int = 0) -> None:
            self.pattern, self._flags = pattern, flags

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)  # `copy` and `pickle` ask for methods it does not have
            compiled = re.compile(self.pattern, self._flags)
            for method in ("findall", "finditer", "fullmatch", "match", "search", "split", "sub"):
                setattr(self, method, getattr(compiled, method))
            return getattr(compiled, name)


__all__ = ["lazy_compile"]
