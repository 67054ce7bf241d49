"""Names that tell the output of tools from the work of people and agents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

# By-products of reading and running code; a judge may leave them.
CACHES = frozenset({"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"})
# Package managers fill these; new files in them are new dependencies.
DEPENDENCIES = frozenset(
    {"node_modules", "bower_components", ".venv", "venv", "env", "site-packages", "vendor", "Pods"}
)
# Folders of downloads and build output, which nobody expects on a branch.
GENERATED = (
    CACHES
    | DEPENDENCIES
    | {
        *("build", "dist", "out", "target", "bin", "obj"),
        *("coverage", "htmlcov", "tmp", "temp", "logs"),
    }
)
METADATA = (".egg-info", ".dist-info")
SOURCES = frozenset(
    {
        *(".py", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".vue", ".svelte", ".html", ".css"),
        *(".go", ".rs", ".java", ".kt", ".scala", ".swift", ".c", ".h", ".cc", ".cpp", ".cs"),
        *(".rb", ".php", ".pl", ".lua", ".ex", ".exs", ".erl", ".hs", ".ml", ".clj", ".dart"),
        *(".hpp", ".r", ".jl", ".sh", ".sql", ".scss"),
    }
)


def is_generated(names: Sequence[str]) -> bool:
    """Is one of these folders the output of a tool, by its name?"""
    return any(
        name in GENERATED or name.startswith(".") or name.endswith(METADATA) for name in names
    )


def is_source(name: str) -> bool:
    return PurePosixPath(name).suffix in SOURCES
