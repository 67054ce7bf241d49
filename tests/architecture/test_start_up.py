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
# Few runs need them: they send a notice, read a date of a service, compare tests or settings.
NOT_FOR_A_RUN = (
    *("asyncio", "configparser", "doctest", "email", "http", "multiprocessing", "pydantic", "ssl"),
    *("starlette", "unittest", "urllib.request", "yaoki.adapters.notify.webhook", "zoneinfo"),
)
CALL = """
import json, sys
from yaoki.faces.cli.main import main
code = main(sys.argv[2:])
with open(sys.argv[1], "w") as file:
    json.dump([code, sorted(sys.modules)], file)
"""
LAZY_PACKAGES = (
    "yaoki.core.model",
    "yaoki.ports",
    "yaoki.views",
    "yaoki.views.history",
)


def test_quick_commands_import_no_slow_module(tmp_path: Path) -> None:
    """In a repository with one finished run; the plan has eight tasks."""
    repository = Repository(tmp_path)
    repository.yaoki("run", repository.plan(1), "--quiet")
    words = {"status": (), "why": ("t0",), "validate": (repository.plan(8),)}
    words["run"] = (repository.plan(1), "--quiet")

    slow = {name: _slow_modules(repository, name, *given) for name, given in words.items()}

    assert slow == {"status": [], "why": [], "validate": [], "run": []}


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
    refused = NOT_FOR_A_RUN if command == "run" else (*NEVER, *BESIDES[command])
    return [name for name in modules if any(f"{name}.".startswith(f"{one}.") for one in refused)]


def test_no_module_of_yaoki_compiles_a_pattern_when_it_is_imported() -> None:
    """`yaoki run` imports 600 modules; their patterns took a fifth of the time of a short run."""
    # The shim imports nothing of yaoki; a receipt compares its patterns by their type.
    own = [*(SOURCE / "yaoki" / "adapters" / "processes" / "shim").rglob("*.py")]
    own += [SOURCE / "yaoki" / name for name in ("core/lazy_pattern.py", "report/receipt_shape.py")]

    found = [
        f"{path.relative_to(SOURCE)}:{line}"
        for path in sorted((SOURCE / "yaoki").rglob("*.py"))
        if path not in own
        for line in _compiled_at_import(ast.parse(path.read_text()))
    ]

    assert found == []


def _compiled_at_import(tree: ast.AST) -> list[int]:
    lines = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "re.compile":
            lines.append(node.lineno)
        lines += _compiled_at_import(node)
    return lines


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
