"""The lists of failure patterns in pages that are otherwise written by hand."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from pathlib import Path

from yaoki.core.model.patterns import PATTERNS
from yaoki.formats.prompts.values import COMMON_PARAMS

DOCS = Path(__file__).parents[2] / "docs"
BEGIN, END = "<!-- patterns: python -m tests.reference -->", "<!-- end of patterns -->"


def pages() -> dict[Path, str]:
    return {
        DOCS / "guides" / "prompts.md": _filled(DOCS / "guides" / "prompts.md", table()),
        DOCS / "reference" / "plan.md": _filled(DOCS / "reference" / "plan.md", names()),
        DOCS / "rules.md": _filled(DOCS / "rules.md", names()),
    }


def _filled(file: Path, part: str) -> str:
    before, _, rest = file.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    assert end, f"{file} has no {BEGIN} ... {END}"
    return f"{before}{BEGIN}\n\n{part}\n\n{END}{after}"


def names() -> str:
    listed = ", ".join(PATTERNS)
    return textwrap.fill(f"{listed}.", 120, break_on_hyphens=False)


def table() -> str:
    rows = [
        "| pattern | lists of paths | lists of records | other params |",
        "|---|---|---|---|",
        *(
            f"| {one.name} | {_code(one.paths)} | {_code(one.records)} | {_code(one.values)} |"
            for one in PATTERNS.values()
        ),
        f"| any |  | `items` | {_code(name for name in COMMON_PARAMS if name != 'items')} |",
    ]
    return "\n".join(rows)


def _code(params: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in params)
