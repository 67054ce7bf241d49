"""Reads one template file, within limits, and splits its front matter from its body."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import yaml

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.errors import TemplateInvalid
from yaoki.formats.prompts.location import TemplateFile

FILE_BYTES_MAX = 32_000
FRONT_MATTER_BAR = "---"
KEYS = ("params", "description")
NAME = lazy_compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


@dataclass(frozen=True, slots=True)
class TemplateSource:
    """The parts of a template file; `params` maps each declared name to its line."""

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
    """A link must not bring a foreign file into a prompt, and a pipe must not block a worker."""
    try:
        if not hit.file.resolve().is_relative_to(hit.folder.resolve()) or not hit.file.is_file():
            raise TemplateInvalid(hit.label, 1, "is not a regular file in its folder")
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
    """Front matter, body, and the number of lines before the body."""
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
    """Only YAML nodes are read and no objects built, so tags and aliases are harmless."""
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
        reason = getattr(error, "problem", None) or "is not valid YAML"
        line = mark.line + 2 if mark else 1
        raise TemplateInvalid(label, line, f"its front matter: {reason}") from error
    except RecursionError:
        raise TemplateInvalid(label, 1, "its front matter is nested too deeply") from None
    if node is None:
        return []
    if not isinstance(node, yaml.MappingNode):
        raise TemplateInvalid(
            label, 2, "its front matter must be a mapping such as `params: [...]`"
        )
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise TemplateInvalid(label, key.start_mark.line + 2, "a key must be a word")
    return list(node.value)


def _names(label: str, line: int, node: yaml.Node) -> Iterator[tuple[str, int]]:
    if isinstance(node, yaml.ScalarNode) and not node.value:
        return
    if not isinstance(node, yaml.SequenceNode):
        raise TemplateInvalid(label, line, "params must be a list of names")
    names = set()
    for item in node.value:
        at = item.start_mark.line + 2
        if not isinstance(item, yaml.ScalarNode) or not NAME.fullmatch(item.value):
            raise TemplateInvalid(label, at, "a param must be a name of letters and digits")
        if item.value in names:
            raise TemplateInvalid(label, at, f"param {item.value!r} is declared twice")
        names.add(item.value)
        yield item.value, at
