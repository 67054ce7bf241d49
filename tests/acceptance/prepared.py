"""Projects after a run that several tests share: run once, and restored for each test."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

from tests.acceptance.project import Project, Stores

T = TypeVar("T")


class SharedRuns:
    """The projects of one test module, each with a copy of its files after its first step."""

    def __init__(self, folder: Path, pycache: Path) -> None:
        self._folder, self._pycache = folder, pycache
        self._made: dict[Callable[[Project], Any], tuple[Project, dict[str, str], Any]] = {}

    def restore(self, step: Callable[[Project], T]) -> tuple[Project, T]:
        """The project as it was after `step`, at the same path, and what `step` returned."""
        if step not in self._made:
            self._make(step)
        project, env, value = self._made[step]
        project.end_started()
        project.env = dict(env)
        shutil.rmtree(project.folder)
        shutil.copytree(self._copy(project), project.folder, symlinks=True)
        return project, value

    def _make(self, step: Callable[[Project], Any]) -> None:
        folder = self._folder / f"project-{len(self._made)}"
        folder.mkdir()
        project = Project(folder, self._pycache)
        value = step(project)
        shutil.copytree(folder, self._copy(project), symlinks=True)
        self._made[step] = (project, dict(project.env), value)

    def _copy(self, project: Project) -> Path:
        return project.folder.with_suffix(".after")

    def end_started(self) -> None:
        for project, _, _ in self._made.values():
            project.end_started()


class Prepared:
    """Gives a test a project after a step; on a server, whose store is not copied, a new one."""

    def __init__(
        self, shared: SharedRuns, stores: Stores, folder: Path, pycache: Path, stack: ExitStack
    ) -> None:
        self._shared, self._stores = shared, stores
        self._folder, self._pycache, self._stack = folder, pycache, stack

    def after(self, step: Callable[[Project], T]) -> tuple[Project, T]:
        if not self._stores.server:
            return self._shared.restore(step)
        project = Project(
            self._folder, self._pycache, self._stack.enter_context(self._stores.new())
        )
        self._stack.callback(project.end_started)
        return project, step(project)
