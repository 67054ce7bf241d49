"""Detects the checks of a repository from its files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import field

from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.formats.discovery.conditions import first_match, matching_file
from yaoki.formats.discovery.table import KINDS, KnownTool, Language, PackageManager, load_languages
from yaoki.formats.discovery.tree import ProjectFolder, RepositoryFiles, find_project_folders

CHECKS_MAX = 40
NAME_CHARS_MAX = 64


@dataclass(frozen=True, slots=True)
class FoundCheck:
    """A check that this repository seems to have.

    `reason` is the file that shows it, relative to the repository.  `program` must be installed:
    `install` adds it to the PATH, `remedy` to the project.  `setup` must run first in a fresh
    worktree, in `setup_cwd`.  With the words of `look` it changes no files.  `instead_of` is the
    program that the project names for it and that is not installed.
    """

    name: str
    tool: str
    kind: str
    language: str
    reason: str
    folder: str = "."
    run: tuple[str, ...] = ()
    shell: str = ""
    program: str = ""
    install: str = ""
    remedy: str = ""
    manager: str = ""
    setup: tuple[str, ...] = ()
    setup_cwd: str = "."
    setup_install: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    look: tuple[str, ...] = ()
    instead_of: str = ""

    @property
    def pattern(self) -> str:
        return KINDS[self.kind]

    @property
    def command(self) -> str:
        return self.shell or " ".join(self.run)


@dataclass(frozen=True, slots=True)
class Discovery:
    """The checks found; `left_out` counts the checks and folders over the limit.

    `unreadable` are manifests that cannot be read, and why.  `skipped_checks` are commands of a
    kind that another folder already provides.
    """

    checks: tuple[FoundCheck, ...]
    managers: tuple[str, ...]
    left_out: int = 0
    unreadable: Mapping[str, str] = field(default_factory=dict)
    skipped_checks: tuple[FoundCheck, ...] = ()


def find_checks(tree: RepositoryFiles) -> Discovery:
    """All checks of a repository: outer folders first, in a folder language by language.

    Languages marked `last` only add the kinds of checks that no other language provides.
    """
    folders, more = find_project_folders(tree)
    own = [language for language in load_languages() if not language.last]
    first_checks = [one for folder in folders for one in _in_folder(folder, folders, own)]
    kinds = frozenset(f"kind:{one.kind}" for one in first_checks)
    late = [language for language in load_languages() if language.last]
    late_checks = [one for folder in folders for one in _in_folder(folder, folders, late, kinds)]
    every = [one for folder in folders for one in _in_folder(folder, folders, late)]
    beside = _beside([one for one in every if one not in late_checks], first_checks)
    named = _name_checks([*first_checks, *late_checks])
    managers = dict.fromkeys(one.manager for one in named)
    over = max(0, len(named) - CHECKS_MAX)
    unread = {file: reason for folder in folders for file, reason in folder.unreadable.items()}
    listed = tuple(named[:CHECKS_MAX])
    return Discovery(listed, tuple(managers), more + over, unread, beside)


def _beside(
    late: Iterable[FoundCheck], first_checks: Iterable[FoundCheck]
) -> tuple[FoundCheck, ...]:
    """The late checks, except those whose own folder has one of the same kind: they would only
    repeat it.
    """
    known_kinds = {(one.folder, one.kind) for one in first_checks}
    return tuple(one for one in late if (one.folder, one.kind) not in known_kinds)


def _in_folder(
    folder: ProjectFolder,
    every: Iterable[ProjectFolder],
    languages: Iterable[Language],
    kinds: Set[str] = frozenset(),
) -> Iterator[FoundCheck]:
    outer = [one for one in every if one is not folder and folder.is_inside(one.path)]
    for language in languages:
        if not _is_project(language, folder) or _covered(language, outer):
            continue
        # A tool of another language in the same folder does not replace this one.
        earlier = set(kinds)
        manager, place = _manager(language, folder, outer)
        absent: dict[str, FoundCheck] = {}
        for tool in language.tool:
            because = first_match(tool.any, folder, earlier)
            if because and _fits(tool, folder, earlier):
                check = _make_check(language, tool, manager, folder, place, because)
                if tool.replaceable and _is_absent(check, folder):
                    absent.setdefault(check.kind, check)
                    continue
                earlier |= {f"tool:{tool.name}", f"kind:{tool.kind}"}
                replaced = absent.pop(check.kind, None)
                yield replace(check, instead_of=replaced.program) if replaced else check
        yield from absent.values()


def _is_absent(check: FoundCheck, folder: ProjectFolder) -> bool:
    """A program that a package manager starts is not looked for on the PATH."""
    return check.program == check.tool and f"absent:{check.program}" in folder.facts


def _is_project(language: Language, folder: ProjectFolder) -> bool:
    """A mark that begins with `./` counts only at the top of the repository."""
    top = folder.path == "."
    marks = (mark for mark in language.marks if top or not mark.startswith("./"))
    return bool(first_match((f"file:{mark.removeprefix('./')}" for mark in marks), folder))


def _covered(language: Language, outer: Iterable[ProjectFolder]) -> bool:
    """Do the commands of a folder around this one reach it?"""
    return any(_is_project(language, one) and first_match(language.covers, one) for one in outer)


def _fits(tool: KnownTool, folder: ProjectFolder, earlier: set[str]) -> bool:
    all_hold = all(matching_file(condition, folder, earlier) for condition in tool.also)
    return all_hold and not first_match(tool.unless, folder, earlier)


def _manager(
    language: Language, folder: ProjectFolder, outer: list[ProjectFolder]
) -> tuple[PackageManager, ProjectFolder]:
    """The package manager of the folder, or of the workspace it belongs to."""
    around = [one for one in reversed(outer) if first_match(language.covers, one)]
    for place in (folder, *around):
        for manager in language.manager:
            if _is_used(manager, place):
                return _with_environment(manager, place), place
    return language.manager[-1], folder


def _is_used(manager: PackageManager, place: ProjectFolder) -> bool:
    """A manager that is not installed is passed over where an environment is prepared."""
    shown = bool(manager.any) and bool(first_match(manager.any, place))
    if not shown or not all(matching_file(one, place, frozenset()) for one in manager.also):
        return False
    absent = bool(manager.run) and f"absent:{manager.run[0]}" in place.facts
    return not (absent and first_match(("venv:*",), place))


def _with_environment(manager: PackageManager, place: ProjectFolder) -> PackageManager:
    """The manager with the virtual environment of the place in its words."""
    venv = first_match(("venv:*",), place)
    env = {name: value.replace("{venv}", venv) for name, value in manager.env.items()}
    add, install = (words.replace("{venv}", venv) for words in (manager.add, manager.install))
    return replace(manager, env=env, add=add, install=install)


def _make_check(
    language: Language,
    tool: KnownTool,
    manager: PackageManager,
    folder: ProjectFolder,
    place: ProjectFolder,
    because: str,
) -> FoundCheck:
    run, look = tuple(_filled(tool.run, manager)), tuple(_filled(tool.look, manager))
    if first_match(tool.look_any, folder):
        run, look = (*run, *look), ()
    program = tool.program or run[0]
    setup = bool(manager.setup) and (
        not manager.setup_any or bool(first_match(manager.setup_any, folder))
    )
    suffix = "" if folder.path == "." else f"-{folder.path}"
    env = {
        **manager.env,
        **(manager.test_env if tool.kind == "tests" else {}),
        **(tool.env if first_match(tool.env_any, folder) else {}),
    }
    package = tool.package or tool.name.partition(" ")[0]
    added = f"{manager.add} {package}" if manager.add else manager.install
    # The project's own set-up installs whatever its scripts call.
    script = tool.run[:1] == ("{script}",)
    return FoundCheck(
        name=f"{tool.check.replace('{manager}', manager.name)}{suffix}",
        tool=tool.name,
        kind=tool.kind,
        language=language.title,
        reason=because if folder.path == "." else f"{folder.path}/{because}",
        folder=folder.path,
        run=run,
        shell=tool.shell,
        program=program,
        install=tool.install or (manager.install if _brings(manager, program) else added),
        remedy=tool.install or (" ".join(manager.setup) if script else added),
        manager=manager.name,
        setup=manager.setup if setup else (),
        setup_cwd=place.path,
        setup_install=manager.install,
        env=env,
        look=look,
    )


def _brings(manager: PackageManager, program: str) -> bool:
    """Does the program come with the manager, or with the language itself?"""
    own = {words[0] for words in (manager.run, manager.exec, manager.script) if words}
    return program in {*own, "python"} or not manager.add


def _filled(words: Iterable[str], manager: PackageManager) -> Iterator[str]:
    own = {
        "{run}": manager.run,
        "{exec}": manager.exec,
        "{script}": manager.script,
        "{pass_on}": manager.pass_on,
    }
    for word in words:
        yield from own.get(word, (word,))


def _name_checks(unnamed: Iterable[FoundCheck]) -> list[FoundCheck]:
    """The checks with valid, unique names."""
    taken_names: set[str] = set()
    checks = []
    for one in unnamed:
        stem = re.sub(r"[^A-Za-z0-9_.-]+", "-", one.name).strip("-.")[: NAME_CHARS_MAX - 4]
        name, number = stem, 1
        while name in taken_names:
            number += 1
            name = f"{stem}-{number}"
        taken_names.add(name)
        checks.append(replace(one, name=name))
    return checks


def replaceable_programs() -> frozenset[str]:
    """The programs of tools that another tool of their kind may replace."""
    tools = (tool for language in load_languages() for tool in language.tool)
    return frozenset(tool.name for tool in tools if tool.replaceable)


def manager_programs() -> frozenset[str]:
    """The programs that start the tools of a project."""
    managers = (manager for language in load_languages() for manager in language.manager)
    return frozenset(manager.run[0] for manager in managers if manager.run)


def install_command(program: str) -> str:
    """The command that installs a program; empty when no table has one."""
    for language in load_languages():
        for tool in language.tool:
            if program in {tool.program, *tool.run[:1]} and tool.install:
                return tool.install
        for manager in language.manager:
            words = (manager.run, manager.exec, manager.script, manager.setup, (manager.name,))
            if manager.install and any(program in one[:1] for one in words):
                return manager.install
    return _install_as_package(program)


def _install_as_package(program: str) -> str:
    """The command for a tool that is a package of its language and starts without a manager."""
    for language in load_languages():
        manager = language.manager[-1]
        for tool in () if manager.run or not manager.add else language.tool:
            if tool.run[:2] == ("{run}", program) and program != "python":
                return f"{manager.add} {tool.package or program}"
    return ""
