"""The defects of one file, with their positions, listed in the order of the file."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from yaoki.core.lazy_dataclass import dataclass, field, fields
from yaoki.core.settings.settings import Settings
from yaoki.core.text import nearest

KeyPath = tuple[str | int, ...]
Position = tuple[int, int]

SHOWN_MAX = 1_000
# Searching for a similar name takes time; a file with this many defects has a larger problem.
NEAREST_MAX = 50
# Keys of the settings: in a plan, the defect says where they belong.
# For a name that is near to no other.
_REMEDIES = {
    "agent": "; define it under agents: with a command or a preset (yaoki agents list)",
    "check": "; define it under checks:, or in yaoki.toml",
}
# For the rest of a text, which YAML reads as a key without a value.
_COMMA_HINT = "; a comma inside { } ends the text: put the text in quotes"
SECTIONS = frozenset(section.name for section in fields(Settings))


@dataclass(slots=True)
class Defects:
    """The position of every path of a file, and its defects.

    A path is broken once its shape is wrong.  Rules about its content then add no further
    defects, so that one mistake is one defect.
    """

    name: str
    positions: dict[KeyPath, Position] = field(default_factory=dict)
    keys: dict[KeyPath, Position] = field(default_factory=dict)
    entries: list[tuple[Position, str]] = field(default_factory=list)
    broken_paths: set[KeyPath] = field(default_factory=set)
    # The value of a misspelt key, by the path of the key that was probably meant.
    misspelt_values: dict[KeyPath, object] = field(default_factory=dict)
    # Would an agent or a check in the settings repair one of the defects?
    lacks_settings: bool = False
    # The line of a dotted key where `positions` has none; 0 when it is unknown.
    find_line: Callable[[str], int] = lambda _: 0

    def add(self, path: KeyPath, reason: str, *, at: Position | None = None) -> bool:
        """Add a defect, unless the path or one above it is already broken; returns if it did."""
        if any(path[:length] in self.broken_paths for length in range(len(path) + 1)):
            return False
        self.add_at(path, reason, at or self.position_of(path))
        return True

    def add_misshapen(self, path: KeyPath, reason: str) -> None:
        """Add a defect and mark the path as broken."""
        self.add(path, reason)
        self.broken_paths.add(path)

    def add_unknown_key(self, path: KeyPath, known: Iterable[str], value: object = "") -> None:
        """Add an unknown key.  A similar known key is marked as broken, so it is not missing."""
        closest = self.closest_name(str(path[-1]), known)
        near = f"; did you mean {closest!r}?" if closest else ""
        if not closest and len(path) == 1 and path[0] in SECTIONS:
            near = "; it belongs in yaoki.toml"
        if not near and value is None and self._is_rest_of_text(path):
            near = _COMMA_HINT
        self.add(path, f"unknown key{near}", at=self.keys.get(path))
        self.broken_paths.add(path)
        if closest and (*path[:-1], closest) not in self.positions:
            self.broken_paths.add((*path[:-1], closest))
            self.misspelt_values[(*path[:-1], closest)] = value

    def _is_rest_of_text(self, path: KeyPath) -> bool:
        """Is the key the rest of a text that a comma has split?

        It is in a mapping in braces: in any other, two keys are never in the same line, and a key
        with blanks is rare.
        """
        if len(self.entries) >= NEAREST_MAX:
            return False
        line = self.keys.get(path, (0, 0))[0]
        lines = [at[0] for key, at in self.keys.items() if key[:-1] == path[:-1] and key != path]
        return " " in str(path[-1]) or line in lines

    def add_missing(
        self, path: KeyPath, reason: str, *keys: str, lacks_settings: bool = False
    ) -> None:
        """Add that none of the keys is given, unless one was given and is broken."""
        if any((*path, key) in self.broken_paths for key in keys):
            return
        if self.add(path, reason):
            self.lacks_settings |= lacks_settings

    def add_empty(self, path: KeyPath, reason: str) -> None:
        """Add that the value is empty, unless something inside it is broken."""
        if not any(one[: len(path)] == path for one in self.broken_paths):
            self.add(path, reason)

    def add_unknown(
        self, path: KeyPath, noun: str, word: str, known: Iterable[str], hint: str = ""
    ) -> str:
        """Add a name that does not exist; returns the name that was probably meant."""
        closest = self.closest_name(word, known)
        near = f"; did you mean {closest!r}?" if closest else ""
        near = f"; {hint}" if hint else near
        self.add(path, f"unknown {noun} {word!r}{near or _REMEDIES.get(noun, '')}")
        return closest

    def closest_name(self, word: str, known: Iterable[str]) -> str:
        return nearest(word, known) if len(self.entries) < NEAREST_MAX else ""

    def add_at(self, path: KeyPath, reason: str, at: Position) -> None:
        numbers = (str(number) for number in at if number)
        prefix = f"{':'.join((self.name, *numbers))}: "
        shown = ".".join(str(part) for part in path)
        self.entries.append((at, f"{prefix}{shown}: {reason}" if shown else f"{prefix}{reason}"))

    def position_of(self, path: KeyPath) -> Position:
        """The position of the path, or of the nearest one above it; 0 for what is unknown."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.positions:
                return self.positions[path[:length]]
        return (self.find_line(".".join(str(part) for part in path)), 0)

    def lines(self) -> tuple[str, ...]:
        """Lines of text, a defect each, in the order of the file, up to `SHOWN_MAX`."""
        ordered = [line for _, line in sorted(self.entries, key=lambda entry: entry[0])]
        rest = len(ordered) - SHOWN_MAX
        return (*ordered[:SHOWN_MAX], *([f"{self.name}: {rest} more"] if rest > 0 else ()))
