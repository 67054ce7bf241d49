"""The catalogue of attacks by agents: in the sandbox none does harm; without it each is stopped,
detected, or listed as open.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import Project
from tests.acceptance.test_sandbox import needs_bubblewrap
from tests.security.attack import Attack
from tests.security.attack_runner import AttackResult, AttackRunner
from tests.security.catalogue import CATALOGUES

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("16.10", "0.1", "0.2")]
Batch = tuple[str, Sequence[Attack], Callable[[Any], None]]
WITH: list[Batch] = [(n, a, c.furnish) for c in CATALOGUES.values() for n, a in c.batches()]
WITHOUT: list[Batch] = [
    (n, a, c.furnish) for c in CATALOGUES.values() for n, a in c.batches_without()
]


@pytest.fixture(autouse=True)
def delete_deep_folders(tmp_path: Path) -> Iterator[None]:
    """Folders are left so deep that pytest could not delete them later."""
    yield
    subprocess.run(("rm", "-rf", str(tmp_path)), check=False)


def run_attacks(project: Project, mode: str, batch: Batch) -> AttackResult:
    attack_runner = AttackRunner(project)
    batch[2](attack_runner)
    if any(attack.beside for attack in batch[1]) and mode == "off":
        attack_runner.set_parallel(1)
    attack_runner.settings(mode)
    return attack_runner.run(batch[1])


@pytest.mark.quick_cases(1)
@pytest.mark.spec("14.3", "16.13")
@pytest.mark.parametrize("batch", WITH, ids=lambda batch: batch[0])
def test_no_attack_does_harm_in_the_sandbox(project: Project, batch: Batch) -> None:
    needs_bubblewrap()

    after = run_attacks(project, "on", batch)

    assert after.faults() == []


@pytest.mark.full
@pytest.mark.spec("14.2")
@pytest.mark.parametrize("batch", WITHOUT, ids=lambda batch: batch[0])
def test_each_attack_without_the_sandbox_is_stopped_detected_or_listed_as_open(
    project: Project, batch: Batch
) -> None:
    after = run_attacks(project, "off", batch)

    assert [fault for attack in batch[1] for fault in after.faults_without_sandbox(attack)] == []
    assert after.arena.processes() == []


def test_every_attack_has_a_unique_name() -> None:
    names = [attack.name for held in CATALOGUES.values() for attack in held.attacks]

    assert len(names) == len(set(names))
    assert len(names) >= 80
