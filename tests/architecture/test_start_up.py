"""Imports of frequently called commands (docs/decisions/start-up.md)."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from benchmarks.repositories import Repository
from yaoki.core.lazy_pattern import lazy_compile

SOURCE = Path(__file__).parents[2] / "src"
# Slow to import, and not needed to show a status or to accept a plan.
NEVER = (
    *("asyncio", "click", "concurrent", "dataclasses", "email", "http", "importlib.metadata"),
    *("inspect", "logging", "multiprocessing", "minijinja", "psutil", "pydantic", "pydantic_core"),
    *("rich", "shutil", "starlette", "tempfile", "typing_extensions", "uuid"),
    *("yaoki.core.decide", "yaoki.core.machine.events", "yaoki.engine.loop", "yaoki.engine.stages"),
    *("yaoki.formats.prompts", "yaoki.formats.quality", "yaoki.report", "yaoki.adapters.workspace"),
    *("yaoki.adapters.agents", "yaoki.adapters.checks", "yaoki.formats.plan.model"),
)
# Only a plan is read as YAML, and it needs no store.
BESIDES = {
    "status": ("yaml", "yaoki.formats.plan", "yaoki.app.forecast", "yaoki.core.forecast"),
    "why": ("yaml", "yaoki.formats.plan"),
    "validate": ("sqlite3", "yaoki.adapters.store"),
}
CALL = """
import json, sys
from yaoki.faces.cli.main import main
code = main(sys.argv[2:])
with open(sys.argv[1], "w") as file:
    json.dump([code, sorted(sys.modules)], file)
"""
LAZY_PACKAGES = (
    "yaoki.ports",
    "yaoki.views",
    "yaoki.views.history",
)


def test_quick_commands_import_no_slow_module(tmp_path: Path) -> None:
    """In a repository with one finished run; the plan has eight tasks."""
    repository = Repository(tmp_path)
    repository.yaoki("run", repository.plan(1), "--quiet")
    words = {"status": (), "why": ("t0",), "validate": (repository.plan(8),)}

    slow = {name: _slow_modules(repository, name, *given) for name, given in words.items()}

    assert slow == {"status": [], "why": [], "validate": []}


def _slow_modules(repository: Repository, command: str, *words: str) -> list[str]:
    seen = repository.folder / f"modules-{command}.json"
    subprocess.run(
        [sys.executable, "-c", CALL, str(seen), command, *words],
        cwd=repository.top,
        env=repository.env,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    code, modules = json.loads(seen.read_text())
    assert code == 0
    refused = (*NEVER, *BESIDES[command])
    return [name for name in modules if any(f"{name}.".startswith(f"{one}.") for one in refused)]


@pytest.mark.parametrize("package", LAZY_PACKAGES)
def test_a_lazy_package_exports_the_names_of_its_stub_imports(package: str) -> None:
    module = import_module(package)
    tree = ast.parse((SOURCE / package.replace(".", "/") / "__init__.py").read_text())
    seen = {
        alias.name: node.module.removeprefix(f"{package}.")
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }

    assert seen == module._MODULES
    assert sorted(seen) == sorted(module.__all__)
    assert all(getattr(module, name) is not None for name in seen)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        module.nothing  # noqa: B018 - reading it is the test


def test_a_lazy_pattern_works_as_a_compiled_one() -> None:
    pattern = lazy_compile(r"(\w)-(\d)")

    assert pattern.sub(r"\2", "a-1 b-2") == "1 2"
    assert [found[1] for found in pattern.finditer("a-1 b-2")] == ["a", "b"]
    assert pattern.pattern == r"(\w)-(\d)"
    assert not hasattr(pattern, "__unknown__")
