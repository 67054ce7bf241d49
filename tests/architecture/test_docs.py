"""Documents point to what exists; lock files tell no addresses."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    file
    for pattern in ("README.md", "CONTRIBUTING.md", "docs/**/*.md")
    for file in ROOT.glob(pattern)
)
LOCKS = ("requirements.lock", "requirements-dev.lock", "benchmarks/peers.lock")

CODE = re.compile(r"^ *(```+|~~~+).*?^ *\1|`[^`\n]+`", re.MULTILINE | re.DOTALL)
INLINE_LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
NAMED_LINK = re.compile(r"^ {0,3}\[[^\]]+\]:\s+<?([^\s>]+)", re.MULTILINE)
SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:|//|#", re.IGNORECASE)
ADDRESS = re.compile(r"https?:|file:|git\+|--(extra-)?index|--find-links|-f ", re.IGNORECASE)


def name(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def relative_links(text: str) -> Iterator[str]:
    """Targets inside the repository; what stands in code is an example, not a link."""
    prose = CODE.sub("", text)
    for pattern in (INLINE_LINK, NAMED_LINK):
        for target in pattern.findall(prose):
            if not SCHEME.match(target):
                yield unquote(target.partition("#")[0])


def test_links_are_found_and_examples_are_not() -> None:
    text = """
See [a](a.md), [b](docs/b%20c.md#part "title"), ![c](<d.png>).
Not these: [out](https://example.org), [here](#x).

[named]: e.md

```
[no](no.md)
```
And `[no](no.md)`.
"""

    assert list(relative_links(text)) == ["a.md", "docs/b c.md", "d.png", "e.md"]


@pytest.mark.parametrize("file", DOCUMENTS, ids=name)
def test_every_relative_link_points_to_a_file(file: Path) -> None:
    targets = relative_links(file.read_text(encoding="utf-8"))

    broken = [target for target in targets if not (file.parent / target).exists()]

    assert not broken, f"{name(file)} links to what is not there: {broken}"


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_file_holds_no_address(lock: str) -> None:
    lines = (ROOT / lock).read_text(encoding="utf-8").splitlines()

    told = [f"{lock}:{n}: {line}" for n, line in enumerate(lines, 1) if ADDRESS.search(line)]

    assert not told
