"""All attacks by agents, by what they reach for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.security.attack import Attack, NotTried, Stopped
from tests.security.catalogue import control, files, machine, own_repository, proof, user_git

# So many attacks are tried in one run.
TOGETHER = 14


@dataclass(frozen=True)
class Catalogue:
    """Attacks on one thing; `furnish` puts into the repository what they are about."""

    name: str
    about: str
    attacks: Sequence[Attack]
    furnish: Callable[[Any], None] = lambda _: None

    @property
    def without(self) -> list[Attack]:
        """Those that are tried without the sandbox as well."""
        return [attack for attack in self.attacks if not isinstance(attack.off, NotTried)]

    def batches(self) -> Iterator[tuple[str, Sequence[Attack]]]:
        yield from _batches(self.name, self.attacks)

    def batches_without(self) -> Iterator[tuple[str, Sequence[Attack]]]:
        """What harms nobody without the sandbox either needs no run of its own."""
        yield from _batches(self.name, [a for a in self.without if not _needs_own_run(a)])
        own: dict[str, list[Attack]] = {}
        for attack in filter(_needs_own_run, self.without):
            own.setdefault(attack.beside or attack.name, []).append(attack)
        yield from own.items()


def _needs_own_run(attack: Attack) -> bool:
    return attack.apart or not isinstance(attack.off, Stopped)


def _batches(name: str, attacks: Sequence[Attack]) -> Iterator[tuple[str, Sequence[Attack]]]:
    for n in range(0, len(attacks), TOGETHER):
        yield f"{name}-{n // TOGETHER + 1}", attacks[n : n + TOGETHER]


CATALOGUES: Mapping[str, Catalogue] = {
    held.name: held
    for held in (
        Catalogue("user-git", "The person's repository", user_git.ATTACKS),
        Catalogue("own-repository", "The agent's own repository", own_repository.ATTACKS),
        Catalogue("files", "Files in the worktree", files.ATTACKS),
        Catalogue("machine", "Processes, sockets, the machine", machine.ATTACKS),
        Catalogue("control", "Keys, caches, result files, commands for people", control.ATTACKS),
        Catalogue("proof", "The checks", proof.ATTACKS, proof.furnish),
    )
}
