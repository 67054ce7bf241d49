"""One template file: read within bounds, its front matter apart from its body."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import yaml

from yaoki.core.lazy_dataclass import dataclass
from yaoki.errors import TemplateInvalid
from yaoki.formats.prompts.location import TemplateFile

FILE_BYTES_MAX = 32_000
FRONT_MATTER_BAR = "---"
KEYS = ("params", "description")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


@dataclass(frozen=True, slots=True)
class TemplateSource:
    """A file as it stands: `params` maps each declared name to its line."""

    label: str
    text: str
    params: Mapping[str, int]
    body: str
    lines_before: int


def read_template(hit: TemplateFile) -> TemplateSource:
    text = _text(hit)
    head, body, before = _split(hit.label, text)
    return TemplateSource(hit.label, text, dict(_params(hit.label, head)), body, before)


def _text(hit: TemplateFile) -> str:
    """A link must not lead a foreign file into a prompt, nor a pipe hold up a worker."""
    try:
        if not hit.file.resolve().is_relative_to(hit.folder.resolve()) or not hit.file.is_file():
            raise TemplateInvalid(hit.label, 1, "is no plain file of its folder")
        with hit.file.open("rb") as stream:
            raw = stream.read(FILE_BYTES_MAX + 1)
        text = raw.decode("utf-8-sig")
    except OSError as error:
        raise TemplateInvalid(hit.label, 1, f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise TemplateInvalid(hit.label, line, "is not UTF-8 text") from error
    if len(raw) > FILE_BYTES_MAX:
        raise TemplateInvalid(hit.label, 1, f"is over the limit of {FILE_BYTES_MAX} bytes")
    return text.replace("\r\n", "\n")


def _split(label: str, text: str) -> tuple[str, str, int]:
    """Front matter, body, and how many lines stand before the body."""
    lines = text.split("\n")
    if lines[0].rstrip() != FRONT_MATTER_BAR:
        return "", text, 0
    for n, line in enumerate(lines[1:], start=1):
        if line.rstrip() == FRONT_MATTER_BAR:
            return "\n".join(lines[1:n]), "\n".join(lines[n + 1 :]), n + 1
    raise TemplateInvalid(
        label, 1, f"its front matter is not closed by a line of {FRONT_MATTER_BAR}"
    )


def _params(label: str, head: str) -> Iterator[tuple[str, int]]:
    """Only nodes are read and nothing is built from them, so no tag or alias can do harm."""
    for key, node in _entries(label, head):
        line = key.start_mark.line + 2
        if key.value not in KEYS:
            known = " and ".join(KEYS)
            raise TemplateInvalid(label, line, f"unknown key {key.value!r}; known are {known}")
        if key.value == "params":
            yield from _names(label, line, node)


def _entries(label: str, head: str) -> list[tuple[yaml.ScalarNode, yaml.Node]]:
    try:
        node = yaml.compose(head, yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        why = getattr(error, "problem", None) or "is no YAML"
        line = mark.line + 2 if mark else 1
        raise TemplateInvalid(label, line, f"its front matter: {why}") from error
    except RecursionError:
        raise TemplateInvalid(label, 1, "its front matter is nested too deeply") from None
    if node is None:
        return []
    if not isinstance(node, yaml.MappingNode):
        raise TemplateInvalid(label, 2, "its front matter is no mapping such as `params: [...]`")
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise TemplateInvalid(label, key.start_mark.line + 2, "a key must be a word")
    return list(node.value)


def _names(label: str, line: int, node: yaml.Node) -> Iterator[tuple[str, int]]:
    if isinstance(node, yaml.ScalarNode) and not node.value:
        return
    if not isinstance(node, yaml.SequenceNode):
        raise TemplateInvalid(label, line, "params must be a list of names")
    seen = set()
    for item in node.value:
        at = item.start_mark.line + 2
        if not isinstance(item, yaml.ScalarNode) or not NAME.fullmatch(item.value):
            raise TemplateInvalid(label, at, "a param must be a name of letters and digits")
        if item.value in seen:
            raise TemplateInvalid(label, at, f"param {item.value!r} is declared twice")
        seen.add(item.value)
        yield item.value, at
