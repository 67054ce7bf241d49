"""A stranger's repository, archive, settings or plan: nothing of it starts, leads out, or holds us
up; and what it is called moves no terminal.
"""

from __future__ import annotations

import re
import shlex
import time

import pytest

from tests.acceptance.project import Project
from tests.security.attack import SECRET
from tests.security.attack_runner import AttackRunner
from tests.security.catalogue.repositories import PLAN, REPOSITORY_ATTACKS, RepositoryAttack

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("14.4", "2.5", "0.6")]
LONG_S = 60.0
# Colours are the only terminal codes that yaoki prints.
MOVES = re.compile("\x1b(?!\\[[0-9;]*m)|\x07|\u202e|\x00")


# A plan is a file beside the repository, which it leaves as it was: all of them go together.
PLANS = [brought for brought in REPOSITORY_ATTACKS if brought.name.startswith("plan-")]
REPOSITORIES = [[brought] for brought in REPOSITORY_ATTACKS if brought not in PLANS]


@pytest.mark.full
@pytest.mark.parametrize("batch", [*REPOSITORIES, PLANS], ids=lambda batch: batch[0].name)
def test_an_untrusted_repository_starts_no_program(
    project: Project, batch: list[RepositoryAttack]
) -> None:
    attack_runner = AttackRunner(project)
    attack_runner.settings("off")
    (project.folder / "plan.yaml").write_text(PLAN)
    for brought in batch:
        assert_starts_nothing(attack_runner, brought)


def assert_starts_nothing(attack_runner: AttackRunner, brought: RepositoryAttack) -> None:
    project = attack_runner.project
    made = attack_runner.sh(
        brought.prepare, NAME=brought.name, MARK=str(attack_runner.marks / brought.name)
    )
    assert made.returncode == 0, made.stderr
    before = attack_runner.home_files()

    for line in brought.commands:
        words = shlex.split(line.replace("$FOLDER", str(project.folder)))
        began = time.monotonic()
        done = project.yaoki(*words)

        assert done.code in brought.codes, (
            f"{line}: {done.code} {done.out[-300:]} {done.err[-900:]}"
        )
        assert "internal error" not in done.err, line
        assert time.monotonic() - began < LONG_S, line
        assert not MOVES.search(done.out + done.err), f"{line}: {(done.out + done.err)[-500:]!r}"
        assert SECRET not in done.out + done.err, line
        assert list(attack_runner.marks.iterdir()) == [], line
    assert attack_runner.home_files() == before
    assert not list(project.repo.glob("mark")) + list(project.folder.glob("mark"))
    assert attack_runner.processes() == []
