"""Where a template stands: `{c1}/{c2}/{c3}/f_{edition}_{adaptation}.md`, the project's first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SHIPPED = Path(__file__).parent / "shipped"
STEM = ("steps", "retry", "issue")
EDITION = "failed"
SUFFIX = ".md"
# No part may climb out of its folder or hide: the first character is a letter or a digit.
PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True)
class Hit:
    """A template file; `label` names it without naming the machine."""

    label: str
    file: Path
    home: Path


def relative(adaptation: str = "", stem: Sequence[str] = STEM, edition: str = EDITION) -> str:
    """The path below a folder of templates; an empty adaptation means the edition's own file."""
    parts = (*stem, edition, *([adaptation] if adaptation else []))
    bad = next((part for part in parts if not PART.fullmatch(part)), None)
    assert bad is None, f"{bad!r} cannot be part of a path"
    return "/".join((*stem, f"f_{'_'.join(parts[len(stem) :])}{SUFFIX}"))


def adaptation_of(name: str, edition: str = EDITION) -> str | None:
    """What a file is for: empty for the edition's own file, None when the name is none of ours."""
    stem = name.removesuffix(SUFFIX)
    if stem == name or not stem.startswith(f"f_{edition}"):
        return None
    rest = stem.removeprefix(f"f_{edition}")
    if not rest:
        return ""
    return rest[1:] if rest[0] == "_" and PART.fullmatch(rest[1:]) else None


class Search:
    """Looks for one template after the other and remembers each look."""

    def __init__(self, project: Path | None, language: str, stem: Sequence[str] = STEM) -> None:
        self._project, self._language, self._stem = project, language, stem
        self.steps: list[str] = []

    def find(self, adaptations: Iterable[str]) -> Hit | None:
        for adaptation in adaptations:
            if adaptation and not PART.fullmatch(adaptation):
                self.steps.append(f"{adaptation[:80]!r} cannot be part of a path")
                continue
            for hit in self.candidates(adaptation):
                there = hit.file.exists() or hit.file.is_symlink()
                self.steps.append(f"{hit.label}: {'used' if there else 'absent'}")
                if there:
                    return hit
        self.steps.append("built-in words: used")
        return None

    def candidates(self, adaptation: str) -> Iterator[Hit]:
        path = relative(adaptation, self._stem)
        if self._project is not None:
            own = f"{self._language}/{path}"
            yield Hit(f"project/{own}", self._project / own, self._project)
            yield Hit(f"project/{path}", self._project / path, self._project)
        yield self.shipped(path)

    def shipped(self, path: str) -> Hit:
        home = SHIPPED / self._language
        return Hit(f"shipped/{self._language}/{path}", home / path, home)
