"""The files of a repository as data: their paths, and the texts of manifests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from functools import cache
from pathlib import PurePosixPath

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.scope import matches_name
from yaoki.formats.discovery.manifests import MANIFESTS, UnreadableManifest, read_facts
from yaoki.formats.discovery.table import Language, load_languages

TEXT_BYTES_MAX = 1 << 20
# Nested projects: deeper or more than this is probably a collection of samples.
FOLDER_DEPTH_MAX = 3
FOLDERS_MAX = 60
LOOKED_DEPTH_MAX = 3
# Folders with dependencies, generated files or samples.
SKIPPED_FOLDERS = frozenset(
    (
        *("node_modules", "vendor", "third_party", "target", "dist", "build", "out", "deps"),
        *("examples", "example", "samples", "fixtures", "testdata", "templates", "template"),
        *("tests", "test", "__tests__", "spec", "docs", "doc", "site-packages"),
    )
)


@dataclass(frozen=True, slots=True)
class RepositoryFiles:
    """Paths relative to the repository, and the texts that `is_text_needed` selects.

    `environments` are virtual environments of the checkout, which git ignores;
    `absent_programs` are programs of package managers that are not on the PATH.
    """

    paths: frozenset[str]
    texts: Mapping[str, str] = field(default_factory=dict)
    environments: tuple[str, ...] = ()
    absent_programs: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ProjectFolder:
    """A folder that may be a project.

    `names` are the files and folders below it, to a limited depth; `facts` maps each fact to the
    manifest that states it.
    """

    path: str
    names: frozenset[str]
    texts: Mapping[str, str]
    facts: Mapping[str, str]
    # Manifests that cannot be read, and why.
    unreadable: Mapping[str, str] = field(default_factory=dict)

    @property
    def depth(self) -> int:
        return 0 if self.path == "." else self.path.count("/") + 1

    def is_inside(self, other: str) -> bool:
        return other == "." or self.path == other or self.path.startswith(f"{other}/")


@cache
def _wanted_names() -> tuple[str, ...]:
    """The names of files whose text is needed: manifests, and files in `has:` conditions."""
    condition_files = {
        condition.removeprefix("has:").partition("~")[0]
        for language in load_languages()
        for conditions in _conditions(language)
        for condition in conditions
        if condition.startswith("has:")
    }
    return tuple(sorted({*MANIFESTS, *(PurePosixPath(name).name for name in condition_files)}))


def _conditions(language: Language) -> Iterator[tuple[str, ...]]:
    yield language.covers
    for manager in language.manager:
        yield from (manager.any, manager.also, manager.setup_any)
    for tool in language.tool:
        yield from (tool.any, tool.also, tool.unless, tool.env_any, tool.look_any)


def is_text_needed(path: str) -> bool:
    name = path.rpartition("/")[2]
    near = path.count("/") <= FOLDER_DEPTH_MAX + 1
    return near and any(matches_name(name, pattern) for pattern in _wanted_names())


def find_project_folders(tree: RepositoryFiles) -> tuple[list[ProjectFolder], int]:
    """The folders with a mark of some language, outer ones first; and how many over the limit."""
    every = {mark for language in load_languages() for mark in language.marks}
    marks = {mark for mark in every if not mark.startswith("./")}
    plain = frozenset(mark for mark in marks if "*" not in mark)
    globs = tuple(marks - plain)
    marked_folders = {"."}
    for path in tree.paths:
        folder, _, name = path.rpartition("/")
        marked = name in plain or any(matches_name(name, glob) for glob in globs)
        if marked and folder and _may_hold(folder):
            marked_folders.add(folder)
    ordered = sorted(marked_folders, key=lambda path: (path != ".", path.count("/"), path))
    listed = ordered[:FOLDERS_MAX]
    return [_folder(tree, path) for path in listed], len(ordered) - len(listed)


def _may_hold(folder: str) -> bool:
    parts = folder.split("/")
    strange = any(part in SKIPPED_FOLDERS or part.startswith(".") for part in parts)
    return len(parts) <= FOLDER_DEPTH_MAX and not strange


def _folder(tree: RepositoryFiles, path: str) -> ProjectFolder:
    head = "" if path == "." else f"{path}/"
    below = [tree_path.removeprefix(head) for tree_path in tree.paths if tree_path.startswith(head)]
    texts = {
        name.removeprefix(head): text
        for name, text in tree.texts.items()
        if name.startswith(head) and name.removeprefix(head).count("/") <= 1
    }
    facts = {f"absent:{program}": program for program in tree.absent_programs}
    # The folder's own environment, or the one at the top.
    if environment := _environment(tree, head) or _environment(tree, ""):
        facts[f"venv:{environment}"] = environment
    unread: dict[str, str] = {}
    for name in sorted(texts):
        try:
            for fact in read_facts(name, texts[name]):
                facts.setdefault(fact, name)
        except UnreadableManifest as fault:
            unread[f"{head}{name}"] = str(fault)
    return ProjectFolder(path, frozenset(_near(below)), texts, facts, unread)


def _environment(tree: RepositoryFiles, head: str) -> str:
    below = (one for one in tree.environments if one.startswith(head))
    return next((one for one in below if "/" not in one.removeprefix(head)), "")


def _near(paths: Iterable[str]) -> Iterator[str]:
    """Each path and its parent folders, to the depth that conditions use."""
    for path in paths:
        parts = path.split("/")
        for length in range(1, min(len(parts), LOOKED_DEPTH_MAX) + 1):
            yield "/".join(parts[:length])
