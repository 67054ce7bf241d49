"""Lists in pages that are otherwise written by hand: failure patterns, built-in checks."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from pathlib import Path

from yaoki.core.model import BUILT_IN_CHECKS
from yaoki.core.model.patterns import PATTERNS
from yaoki.formats.prompts.values import COMMON_PARAMS

DOCS = Path(__file__).parents[2] / "docs"


def pages() -> dict[Path, str]:
    plan = DOCS / "reference" / "plan.md"
    return {
        DOCS / "guides" / "prompts.md": _filled(
            DOCS / "guides" / "prompts.md", patterns=pattern_table()
        ),
        plan: _filled(plan, patterns=pattern_names(), checks=reserved_names()),
        DOCS / "rules.md": _filled(DOCS / "rules.md", patterns=pattern_names()),
    }


def _filled(file: Path, **parts: str) -> str:
    """The page with each part between the comments of its name."""
    text = file.read_text(encoding="utf-8")
    for name, part in parts.items():
        begin, end = f"<!-- {name}: python -m tests.reference -->", f"<!-- end of {name} -->"
        before, _, rest = text.partition(begin)
        _, found, after = rest.partition(end)
        assert found, f"{file} has no {begin} ... {end}"
        text = f"{before}{begin}\n\n{part}\n\n{end}{after}"
    return text


def pattern_names() -> str:
    listed = ", ".join(PATTERNS)
    return textwrap.fill(f"{listed}.", 120, break_on_hyphens=False)


def reserved_names() -> str:
    """The names that no check of a plan may have."""
    return textwrap.fill(f"{_code(BUILT_IN_CHECKS)}.", 120, break_on_hyphens=False)


def pattern_table() -> str:
    rows = [
        "| pattern | lists of paths | lists of records | other params |",
        "|---|---|---|---|",
        *(
            f"| {one.name} | {_code(one.paths + one.other_paths)} | {_code(one.records)} "
            f"| {_code(one.values)} |"
            for one in PATTERNS.values()
        ),
        f"| any |  | `items` | {_code(name for name in COMMON_PARAMS if name != 'items')} |",
    ]
    return "\n".join(rows)


def _code(params: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in params)
