"""What a request asks: parameters with their forms and bounds, read once and strictly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from yaoki.core.display import sound
from yaoki.faces.web.errors import bad

TEXT_MAX = 8_000


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter of the query, or field of the body.

    `kind` is string, integer or boolean; `many` means several with commas between.
    """

    name: str
    help: str
    kind: str = "string"
    default: Any = ""
    low: int = 0
    high: int = 0
    words: tuple[str, ...] = ()
    many: bool = False

    @property
    def schema(self) -> dict[str, Any]:
        held: dict[str, Any] = {"type": self.kind}
        if self.kind == "integer":
            held |= {"minimum": self.low, "maximum": self.high}
        elif self.kind == "string":
            held |= {"maxLength": self.high or TEXT_MAX}
        if self.words and not self.many:
            held |= {"enum": list(self.words)}
        if self.default not in ("", None, ()):
            held |= {"default": self.default}
        return held

    def from_text(self, text: str) -> Any:
        """As it stands in a query."""
        if self.kind == "integer":
            # Only plain digits: int() also takes underscores, blanks and other scripts.
            if not (text.isascii() and text.isdigit() and len(text) <= 18):
                raise bad(f"{self.name}: {text[:40]!r} is no number")
            return self.held(int(text))
        if self.kind == "boolean":
            if text not in {"0", "1", "true", "false"}:
                raise bad(f"{self.name}: {text[:40]!r} is neither 1 nor 0")
            return text in {"1", "true"}
        return self.held(tuple(filter(None, text.split(",")))) if self.many else self.held(text)

    def held(self, value: Any) -> Any:
        """Within its form and bounds, or refused by name."""
        if self.many:
            return self._several(value)
        wanted: type[Any] = {"integer": int, "boolean": bool, "string": str}[self.kind]
        if type(value) is not wanted:
            raise bad(f"{self.name} must be of type {self.kind}")
        if self.kind == "integer" and not self.low <= value <= self.high:
            raise bad(f"{self.name}: {value} is not within {self.low} and {self.high}")
        if self.kind == "string" and len(value) > (self.high or TEXT_MAX):
            raise bad(f"{self.name} is longer than {self.high or TEXT_MAX} characters")
        if self.words and value not in self.words:
            raise bad(f"{self.name}: {value[:40]!r} is none of {', '.join(self.words)}")
        return sound(value) if self.kind == "string" else value

    def _several(self, values: tuple[str, ...]) -> tuple[str, ...]:
        if len(values) > (self.high or 100):
            raise bad(f"{self.name}: {len(values)} are more than {self.high or 100}")
        strange = [value for value in values if self.words and value not in self.words]
        if strange:
            raise bad(f"{self.name}: {strange[0][:40]!r} is none of {', '.join(self.words)}")
        return tuple(sound(value) for value in values)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request after reading: the parts of its path, and every parameter by its name."""

    path: Mapping[str, str]
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)
    may: str = "look"
    # By which face and pass it was asked, for the journal; and whether the pass is a new one.
    how: str = ""
    fresh: bool = False

    @property
    def run(self) -> str:
        return self.path["run"]

    @property
    def task(self) -> str:
        return self.path["task"]

    @property
    def attempt(self) -> int:
        text = self.path["attempt"]
        if not (text.isascii() and text.isdigit() and len(text) <= 9):
            raise bad(f"{text[:40]!r} is no number of an attempt")
        return int(text)

    def number(self, name: str) -> int:
        """A cursor that is a number."""
        text = self.query[name]
        if text and not (text.isascii() and text.isdigit() and len(text) <= 18):
            raise bad(f"{name}: {text[:40]!r} is no cursor of this list")
        return int(text or 0)


def read_query(params: Iterable[Param], given: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Each at most once, and none that nobody knows."""
    known = {param.name: param for param in params}
    found = {name: param.default for name, param in known.items()}
    seen = set[str]()
    for name, text in given:
        if name not in known:
            raise bad(f"there is no parameter {name[:40]!r} here; {_list(known)}")
        if name in seen:
            raise bad(f"{name} stands there twice")
        seen.add(name)
        found[name] = known[name].from_text(text)
    return found


def read_body(fields: Iterable[Param], given: Any) -> dict[str, Any]:
    known = {param.name: param for param in fields}
    if not isinstance(given, dict):
        raise bad("the body must be a JSON object")
    for name in given:
        if name not in known:
            raise bad(f"there is no field {name[:40]!r} here; {_list(known)}")
    missing = [name for name, param in known.items() if param.default is None and name not in given]
    if missing:
        raise bad(f"{missing[0]} is missing")
    defaults = {name: param.default for name, param in known.items()}
    return {**defaults, **{name: known[name].held(value) for name, value in given.items()}}


def _list(known: Mapping[str, Param]) -> str:
    return f"known are: {', '.join(known)}" if known else "it takes none"
