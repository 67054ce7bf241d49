"""Secrets in a change that is about to land: found in every encoding, named, never shown."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import Finding, FindingItem, Outcome
from yaoki.core.redact import written_forms
from yaoki.core.text import list_some

SECRETS_CHECK, SECRET_ADDED_PATTERN = "secrets", "secret-added"
LEAKS_MAX, SHOWN = 50, 5
# White space that tools put into long lines of base64 and hex.
_BLANKS = b" \t\r\n"


@dataclass(frozen=True, slots=True)
class NewContent:
    """A part of a change: the content of a file, its name, or a commit message.

    `before` is the content on the base; a value it already has is not new.  `line` is the line of
    the first byte; 0 where there are no lines.
    """

    where: str
    content: bytes
    before: bytes = b""
    line: int = 1


@dataclass(frozen=True, slots=True)
class Leak:
    """The place where the value of a variable was found."""

    variable: str
    where: str
    line: int

    @property
    def location(self) -> str:
        return f"{self.where}:{self.line}" if self.line else self.where


class LeakSearch:
    """Searches for the values of these variables, one pass for each encoding of each value."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._forms = {
            name: [form.encode("utf-8", "surrogatepass") for form in written_forms((value,))]
            for name, value in variables.items()
        }

    def __bool__(self) -> bool:
        return any(self._forms.values())

    def find(self, parts: Iterable[NewContent]) -> tuple[Leak, ...]:
        """The leaks in order, each once per place, up to a limit."""
        leaks: dict[Leak, None] = {}
        for part in parts:
            leaks.update(dict.fromkeys(self._in(part)))
            if len(leaks) >= LEAKS_MAX:
                break
        return tuple(leaks)[:LEAKS_MAX]

    def _in(self, part: NewContent) -> Iterator[Leak]:
        squeezed, before = (each.translate(None, _BLANKS) for each in (part.content, part.before))
        for name, forms in self._forms.items():
            at = _first_new(part.content, part.before, forms)
            if at < 0:
                at = _original_position(part.content, _first_new(squeezed, before, forms))
            if at >= 0:
                lines = part.line + part.content.count(b"\n", 0, at) if part.line else 0
                yield Leak(name, part.where, lines)


def _first_new(content: bytes, before: bytes, forms: Iterable[bytes]) -> int:
    """The position of the first form that occurs more often than in the text before; -1 if none."""
    for form in forms:
        at = content.find(form)
        if at >= 0 and (not before or content.count(form) > before.count(form)):
            return at
    return -1


def _original_position(content: bytes, at: int) -> int:
    """The position in the original text; the start of the line is precise enough."""
    begin, length = 0, 0
    while at >= 0 and begin < len(content):
        end = content.find(b"\n", begin) + 1 or len(content)
        length += len(content[begin:end].translate(None, _BLANKS))
        if length > at:
            return begin
        begin = end
    return -1


def leak_finding(leaks: Collection[Leak], saved: str) -> Finding:
    """`saved` is the ref of the saved work, which contains the value."""
    places = [f"the value of {leak.variable} in {leak.location}" for leak in leaks]
    return Finding(
        SECRETS_CHECK,
        Outcome.FAILED,
        pattern=SECRET_ADDED_PATTERN,
        message=f"{list_some(places, SHOWN)}; the saved work still contains it: {saved}",
        items=tuple(FindingItem(leak.location, f"the value of {leak.variable}") for leak in leaks),
        params={
            "secrets": [
                {"name": leak.location, "message": f"the value of {leak.variable}"}
                for leak in leaks
            ]
        },
    )
