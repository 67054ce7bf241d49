"""What the engine needs of the outside world, as protocols.

One implementation each lives on the floor above; tests and the simulation bring their own.
"""

from __future__ import annotations

from yaoki.ports.agents import (
    Agent,
    Order,
    Telling,
    Told,
)
from yaoki.ports.checks import (
    Checker,
    Quality,
)
from yaoki.ports.clock import (
    Clock,
)
from yaoki.ports.processes import (
    Launch,
    Look,
    Processes,
)
from yaoki.ports.store import (
    Account,
    Baselines,
    Beat,
    Entry,
    Row,
    Store,
)
from yaoki.ports.workspace import (
    Candidate,
    Kept,
    Merged,
    Place,
    SavedWork,
    Workspace,
)

__all__ = [
    "Account",
    "Agent",
    "Baselines",
    "Beat",
    "Candidate",
    "Checker",
    "Clock",
    "Entry",
    "Kept",
    "Launch",
    "Look",
    "Merged",
    "Order",
    "Place",
    "Processes",
    "Quality",
    "Row",
    "SavedWork",
    "Store",
    "Telling",
    "Told",
    "Workspace",
]
