"""Parameters of requests with their types and limits, read once and strictly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.text import replace_lone_surrogates
from yaoki.faces.web.access_tokens import Permission
from yaoki.faces.web.errors import bad_request

TEXT_MAX = 8_000
LIST_MAX = 100


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of the query, or field of the body.

    `json_type` is string, integer or boolean; `is_list`: several values separated by commas.
    """

    name: str
    help: str
    json_type: str = "string"
    default: Any = ""
    minimum: int = 0
    maximum: int = 0
    allowed: tuple[str, ...] = ()
    is_list: bool = False

    @property
    def schema(self) -> dict[str, Any]:
        if self.is_list:
            items = {"type": "string", **({"enum": list(self.allowed)} if self.allowed else {})}
            return {"type": "array", "items": items, "maxItems": self.maximum or LIST_MAX}
        schema: dict[str, Any] = {"type": self.json_type}
        if self.json_type == "integer":
            schema |= {"minimum": self.minimum, "maximum": self.maximum}
        elif self.json_type == "string":
            schema |= {"maxLength": self.maximum or TEXT_MAX}
        if self.allowed:
            schema |= {"enum": list(self.allowed)}
        # A default below the minimum stands for "not given".
        if self.default not in ("", None) and not (
            self.json_type == "integer" and self.default < self.minimum
        ):
            schema |= {"default": self.default}
        return schema

    def from_text(self, text: str) -> Any:
        """The value of a query text."""
        if self.json_type == "integer":
            # Only plain digits: int() also accepts underscores, blanks and other scripts.
            if not (text.isascii() and text.isdigit() and len(text) <= 18):
                raise bad_request(f"{self.name}: {text[:40]!r} is not a number")
            return self.validate(int(text))
        if self.json_type == "boolean":
            if text not in {"0", "1", "true", "false"}:
                raise bad_request(f"{self.name}: {text[:40]!r} is neither 1 nor 0")
            return text in {"1", "true"}
        return (
            self.validate(tuple(filter(None, text.split(","))))
            if self.is_list
            else self.validate(text)
        )

    def validate(self, value: Any) -> Any:
        """Check type and limits; an error names the parameter."""
        if self.is_list:
            return self._several(value)
        wanted: type[Any] = {"integer": int, "boolean": bool, "string": str}[self.json_type]
        if type(value) is not wanted:
            raise bad_request(f"{self.name} must be of type {self.json_type}")
        if self.json_type == "integer" and not self.minimum <= value <= self.maximum:
            raise bad_request(
                f"{self.name}: {value} is not between {self.minimum} and {self.maximum}"
            )
        if self.json_type == "string" and len(value) > (self.maximum or TEXT_MAX):
            raise bad_request(f"{self.name} is longer than {self.maximum or TEXT_MAX} characters")
        if self.allowed and value not in self.allowed:
            known = ", ".join(self.allowed)
            raise bad_request(f"{self.name}: {value[:40]!r} is not one of {known}")
        return replace_lone_surrogates(value) if self.json_type == "string" else value

    def _several(self, values: tuple[str, ...]) -> tuple[str, ...]:
        if len(values) > (self.maximum or LIST_MAX):
            raise bad_request(
                f"{self.name}: {len(values)} values, the maximum is {self.maximum or LIST_MAX}"
            )
        strange = [value for value in values if self.allowed and value not in self.allowed]
        if strange:
            raise bad_request(
                f"{self.name}: {strange[0][:40]!r} is not one of {', '.join(self.allowed)}"
            )
        return tuple(replace_lone_surrogates(value) for value in values)


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A parsed request: the parts of its path, and every parameter by name."""

    path: Mapping[str, str]
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)
    permission: Permission = Permission.LOOK
    # The channel and token for the journal, and whether the token is fresh.
    channel: str = ""
    is_fresh: bool = False

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
            raise bad_request(f"{text[:40]!r} is not the number of an attempt")
        return int(text)

    def cursor_number(self, name: str) -> int:
        """The value of a numeric cursor."""
        text = self.query[name]
        if text and not (text.isascii() and text.isdigit() and len(text) <= 18):
            raise bad_request(f"{name}: {text[:40]!r} is not a cursor of this list")
        return int(text or 0)


def read_query(params: Iterable[Parameter], given: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Each parameter at most once, and no unknown one."""
    known = {param.name: param for param in params}
    found = {name: param.default for name, param in known.items()}
    seen = set[str]()
    for name, text in given:
        if name not in known:
            raise bad_request(f"unknown parameter {name[:40]!r}; {_list(known)}")
        if name in seen:
            raise bad_request(f"{name} is given twice")
        seen.add(name)
        found[name] = known[name].from_text(text)
    return found


def read_body(fields: Iterable[Parameter], given: Any) -> dict[str, Any]:
    known = {param.name: param for param in fields}
    if not isinstance(given, dict):
        raise bad_request("the body must be a JSON object")
    for name in given:
        if name not in known:
            raise bad_request(f"unknown field {name[:40]!r}; {_list(known)}")
    missing = [name for name, param in known.items() if param.default is None and name not in given]
    if missing:
        raise bad_request(f"{missing[0]} is missing")
    defaults = {name: param.default for name, param in known.items()}
    return {**defaults, **{name: known[name].validate(value) for name, value in given.items()}}


def _list(known: Mapping[str, Parameter]) -> str:
    return f"known names: {', '.join(known)}" if known else "none is accepted here"
