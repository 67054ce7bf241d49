"""Files, modules and names of the code that a page prints exist: a rename reaches the docs."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.documents import PAGES, ROOT, blocks, name

SOURCE = ROOT / "src" / "yaoki"
# From where a page may name a file: from the top, or from the room it is about.
PARENTS = (ROOT, SOURCE, SOURCE / "adapters", SOURCE / "faces")
# `checks/…` and `git/…` may be files of a reader.
ROOMS = {"src", "tests", "benchmarks", "workspace", *(room.name for room in SOURCE.iterdir())}
FILE = re.compile(r"`([\w-]+/[\w./-]+)`")
MODULE = re.compile(r"`(?:python -m )?(yaoki(?:\.[A-Za-z_]\w*)+)`")
# Groups of entry points, and settings, look like modules.
NO_MODULES = {"yaoki.agents", "yaoki.checks", "yaoki.extractors", "yaoki.toml"}


def missing_files(text: str) -> Iterator[str]:
    made = {block.mark("file") for block in blocks(text)}
    for path in FILE.findall(text):
        known = path in made or any((parent / path).exists() for parent in PARENTS)
        if path.split("/")[0] in ROOMS and not known:
            yield path


def missing_names(text: str) -> Iterator[str]:
    for found in MODULE.findall(text):
        if found not in NO_MODULES and not exists(found):
            yield found
    for block in blocks(text):
        yield from (n for n in imported(block.text) if block.language == "python" and not exists(n))


def imported(code: str) -> Iterator[str]:
    """What a piece of Python imports from yaoki; a sketch that does not parse imports nothing."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "yaoki":
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def exists(dotted: str) -> bool:
    """A module, or what a module or a class has."""
    first, *rest = dotted.split(".")
    held, path = importlib.import_module(first), first
    for part in rest:
        path = f"{path}.{part}"
        if not hasattr(held, part):
            try:
                importlib.import_module(path)
            except ImportError:
                return False
        held = getattr(held, part)
    return True


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_file_and_name_of_the_code_in_a_page_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")

    assert list(missing_files(text)) == []
    assert list(missing_names(text)) == []


def test_missing_files_and_names_are_found() -> None:
    text = """
`core/model` and `core/nothing.py`, `yaoki.ports.agents.AgentDriver` and `yaoki.ports.Nothing`.

```python
from yaoki.errors import YaokiError, Nothing
```
"""

    assert list(missing_files(text)) == ["core/nothing.py"]
    assert list(missing_names(text)) == ["yaoki.ports.Nothing", "yaoki.errors.Nothing"]
