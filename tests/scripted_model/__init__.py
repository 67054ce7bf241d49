"""A scripted model server: real agent programs talk to it instead of a model, on loopback only."""

from __future__ import annotations

from tests.scripted_model.server import ModelServer, Request
from tests.scripted_model.turns import (
    Call,
    Cut,
    Fault,
    Hang,
    Malformed,
    Step,
    Turn,
    say,
    shell,
    use,
    write,
)

__all__ = [
    "Call",
    "Cut",
    "Fault",
    "Hang",
    "Malformed",
    "ModelServer",
    "Request",
    "Step",
    "Turn",
    "say",
    "shell",
    "use",
    "write",
]
