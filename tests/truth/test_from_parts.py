"""Cases made from parts: whatever an agent does, what is DONE is true in a fresh clone.

500 pieces: each shard makes four runs, and each run has five tasks that do not touch one another.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.truth.arena import Arena, Ended
from tests.truth.case import Case
from tests.truth.oracle import Stranger
from tests.truth.parts import PIECES, Piece

pytestmark = pytest.mark.acceptance
SHARDS, RUNS, TOGETHER = 25, 4, 5


@pytest.mark.full
@pytest.mark.spec("0.1", "16.1", "16.7", "16.8", "3.5", "6.5")
@pytest.mark.parametrize("shard", range(SHARDS))
def test_no_made_up_case_is_a_false_done(shard: int, tmp_path: Path, pycache: Path) -> None:
    @seed(shard)
    @settings(
        max_examples=RUNS,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(PIECES, min_size=TOGETHER, max_size=TOGETHER))
    def holds(pieces: list[Piece]) -> None:
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        _hold(dict(zip((f"p{n}" for n in range(TOGETHER)), pieces, strict=True)), folder, pycache)

    holds()


def _hold(pieces: dict[str, Piece], folder: Path, pycache: Path) -> None:
    case = Case(
        "made from parts",
        {path: text for at, piece in pieces.items() for path, text in piece.files(at).items()},
        {at: piece.check(at) for at, piece in pieces.items()},
        tasks=[piece.task(at) for at, piece in pieces.items()],
    )
    arena = Arena(folder, pycache)

    ended = arena.carry(case)
    arena.judge(case)

    done = {at: piece for at, piece in pieces.items() if ended.state(at) == "DONE"}
    false = [at for at, piece in done.items() if not _true(arena, ended, at, piece)]
    assert not false, [(pieces[at], ended.told(at)) for at in false]
    bold = [at for at, piece in done.items() if piece.act.never]
    assert not bold, [(pieces[at], ended.told(at)) for at in bold]
    lost = [at for at, piece in pieces.items() if piece.act.honest and at not in done]
    assert not lost, [(pieces[at], ended.told(at)) for at in lost]


def _true(arena: Arena, ended: Ended, at: str, piece: Piece) -> bool:
    """At the commit that landed it, in a clone of a stranger."""
    (commit,) = (task["landed"] for task in ended.stands["tasks"] if task["name"] == at)
    stranger = Stranger(arena.folder, arena.env["PATH"])
    return not stranger.fault(arena.repo, commit, {"name": "truth", "shell": piece.truth(at)})
