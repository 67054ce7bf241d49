"""`dataclasses.replace` for the values that the machine changes at every event, ten times as fast.

Those classes have no slots, so a changed copy is two updates of a dictionary.  The type checker
sees the function of the standard library and so checks every name and type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from dataclasses import replace as replace
else:
    Value = TypeVar("Value")

    def replace(value: Value, /, **changes: Any) -> Value:
        copy = object.__new__(type(value))
        copy.__dict__.update(value.__dict__, **changes)
        return copy
