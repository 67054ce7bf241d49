"""A stranger's repository, archive, settings or plan: nothing of it starts, leads out, or holds us
up; and what it is called moves no terminal.
"""

from __future__ import annotations

import re
import shlex
import time

import pytest

from tests.acceptance.project import Place
from tests.security.attack import SECRET
from tests.security.attack_runner import Arena
from tests.security.catalogue.repositories import BROUGHT, PLAN, Brought

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("14.4", "2.5", "0.6")]
LONG_S = 60.0
# Of what may move a terminal, only colours are ours.
MOVES = re.compile("\x1b(?!\\[[0-9;]*m)|\x07|\u202e|\x00")


@pytest.mark.full
@pytest.mark.parametrize("brought", BROUGHT, ids=str)
def test_an_untrusted_repository_starts_no_program(place: Place, brought: Brought) -> None:
    arena = Arena(place)
    arena.settings("off")
    (place.folder / "plan.yaml").write_text(PLAN)
    made = arena.sh(brought.prepare, NAME=brought.name, MARK=str(arena.marks / brought.name))
    assert made.returncode == 0, made.stderr
    before = arena.home_files()

    for line in brought.commands:
        words = shlex.split(line.replace("$FOLDER", str(place.folder)))
        began = time.monotonic()
        done = place.yaoki(*words)

        assert done.code in brought.codes, (
            f"{line}: {done.code} {done.out[-300:]} {done.err[-900:]}"
        )
        assert "internal error" not in done.err, line
        assert time.monotonic() - began < LONG_S, line
        assert not MOVES.search(done.out + done.err), f"{line}: {(done.out + done.err)[-500:]!r}"
        assert SECRET not in done.out + done.err, line
        assert list(arena.marks.iterdir()) == [], line
    assert arena.home_files() == before
    assert not list(place.repo.glob("mark")) + list(place.folder.glob("mark"))
    assert arena.processes() == []
