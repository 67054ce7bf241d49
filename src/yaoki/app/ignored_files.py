"""Files that a check misses in a clean checkout, and that git ignores in the user's own one.

Examples are modules that a build generates (`_version.py`) and local settings.  A worktree gets
them through `.worktreeinclude`.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from yaoki.adapters.git.checkout import list_ignored_files
from yaoki.adapters.git.repository import GitRepository
from yaoki.adapters.workspace.worktrees.included_files import FILE
from yaoki.app.remedies import REMEDY, find_own_python
from yaoki.core.environment import VIRTUAL_ENV
from yaoki.core.lazy_dataclass import replace
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import CheckSpec, Finding, Outcome
from yaoki.core.text import list_some

# The param of a finding that lists these files.
IGNORED_FILES = "ignoredFiles"
NAMES_MAX, SHOWN_MAX = 20, 3
# Folders of tools: their files are installed or built, and no source of the project.
TOOL_FOLDERS = frozenset(
    (
        *(".venv", "venv", "env", "site-packages", "node_modules", "__pycache__", ".eggs"),
        *(".tox", ".nox", "build", "dist", "target", ".mypy_cache", ".pytest_cache", ".yaoki"),
    )
)
_MODULES = (
    lazy_compile(r"No module named ['\"]?([A-Za-z_][\w.]{0,200})"),
    lazy_compile(r"(?:library stub for module named|Import) \"([A-Za-z_][\w.]{0,200})\""),
)
_MEMBER = lazy_compile(
    r"cannot import name '(\w{1,100})' from (?:partially initialized module )?'([\w.]{1,200})'"
)
_PATHS = tuple(
    lazy_compile(shape)
    for shape in (
        r"No such file or directory: b?['\"]([^'\"\n]{1,300})['\"]",
        r"no such file or directory, \w{1,20} '([^'\n]{1,300})'",
        r"open ([^\s:]{1,300}): no such file or directory",
        r"^\S{1,40}: ([^\s:]{1,300}): No such file or directory$",
    )
)
_RELATIVE_IMPORT = lazy_compile(r"Cannot find module '(\.{1,2}/[^'\n]{1,200})'")
_SCRIPT_SUFFIXES = ("", ".js", ".ts", ".mjs", ".cjs", ".json", ".tsx", ".jsx")


def explain_ignored_files(
    finding: Finding, spec: CheckSpec, repository: GitRepository, room: Path
) -> Finding:
    """The finding with the ignored files that the check misses, and the command that helps."""
    if finding.outcome not in {Outcome.FAILED, Outcome.BROKEN}:
        return finding
    files = _find_missing(finding, spec, repository, room)
    if not files:
        return finding
    remedy = suggest_including(repository.top, files)
    is_, it = ("is", "it") if len(files) == 1 else ("are", "them")
    named = list_some(files, SHOWN_MAX)
    old = finding.message.removesuffix(f": {finding.params.get(REMEDY, '')}")
    cause = old.removeprefix("cannot run: ")
    between = ": "
    if _lacks_packages_too(finding, spec, files):
        # The files are not the cause that the message names.
        between = "; besides, "
        if VIRTUAL_ENV in spec.env or not find_own_python():
            remedy = f"{remedy} && {finding.params[REMEDY]}"
    message = f"{named} {is_} ignored by git, so worktrees lack {it}{between}{cause}"
    params = {**finding.params, IGNORED_FILES: list(files), REMEDY: remedy}
    return replace(finding, message=message, params=params)


def _lacks_packages_too(finding: Finding, spec: CheckSpec, files: Sequence[str]) -> bool:
    """Are modules missing that no ignored file provides, and is it known how to install them?"""
    paths = [f"{file}__init__.py" if file.endswith("/") else file for file in files]
    modules = [str(name) for name in finding.params.get("missingModules", ())]
    provided = any(_choose(_module_globs(name, spec), paths) for name in modules)
    return bool(modules and finding.params.get(REMEDY)) and not provided


def suggest_including(top: Path, files: Iterable[str]) -> str:
    """The command that adds the files to `.worktreeinclude`, which is at the top.

    Where its last line is not ended, the command ends it first: two patterns in a line are one.
    """
    patterns = [shlex.quote(_as_pattern(file)) for file in files]
    write = "echo" if len(patterns) == 1 else r"printf '%s\n'"
    if _lacks_final_newline(top / FILE):
        write = r"printf '\n%s\n'"
    place = shlex.quote(os.path.relpath(top / FILE))
    return f"{write} {' '.join(patterns)} >> {place}"


def _lacks_final_newline(file: Path) -> bool:
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return False
    return bool(content) and not content.endswith(b"\n")


def _as_pattern(file: str) -> str:
    """A pattern of `.gitignore` for this file alone."""
    escaped = re.sub(r"([\\*?\[])", r"\\\1", file)
    has_folder = "/" in file.rstrip("/")
    return escaped if has_folder and escaped[0] not in "#!" else f"/{escaped}"


def _find_missing(
    finding: Finding, spec: CheckSpec, repository: GitRepository, room: Path
) -> tuple[str, ...]:
    """Each missing file once, as a path in the repository."""
    parts = (finding.message, finding.output, *(item.message for item in finding.items))
    wanted = list(dict.fromkeys(_list_globs("\n".join(parts), spec, room)))[:NAMES_MAX]
    globs = [glob for group in wanted for glob in group]
    if not globs:
        return ()
    ignored = [file for file in list_ignored_files(repository, globs) if _is_source(file)]
    found = (_choose(group, ignored) for group in wanted)
    return tuple(dict.fromkeys(file for file in found if file and not (room / file).exists()))


def _is_source(file: str) -> bool:
    parts = file.split("/")
    return not any(part in TOOL_FOLDERS or part.endswith(".egg-info") for part in parts)


def _choose(globs: Sequence[str], ignored: Sequence[str]) -> str:
    """The file nearest to the top that one of the globs matches; a whole package as its folder."""
    for glob in globs:
        shape = re.compile(_glob_regex(glob))
        if fits := sorted((file for file in ignored if shape.fullmatch(file)), key=_depth):
            is_package = glob.endswith("/*.py")
            return f"{fits[0].rpartition('/')[0]}/" if is_package else fits[0]
    return ""


def _depth(file: str) -> tuple[int, str]:
    return file.count("/"), file


def _glob_regex(glob: str) -> str:
    """`**/` is any number of folders, `*` a part of one name."""
    escaped = re.escape(glob).replace(r"\*\*/", "(?:.*/)?")
    return escaped.replace(r"\*", "[^/]*")


def _list_globs(text: str, spec: CheckSpec, room: Path) -> Iterator[tuple[str, ...]]:
    """For each missing module or file the paths at which it may be, the likeliest first."""
    for shape in _MODULES:
        for match in shape.finditer(text):
            yield _module_globs(match[1].strip("."), spec)
    for match in _MEMBER.finditer(text):
        yield _module_globs(f"{match[2]}.{match[1]}", spec)
    for shape in _PATHS:
        for line in text.splitlines():
            for match in shape.finditer(line):
                yield _path_globs(match[1], spec, room)
    for match in _RELATIVE_IMPORT.finditer(text):
        name = re.sub(r"^(?:\.{1,2}/)+", "", match[1])
        yield tuple(f"**/{name}{suffix}" for suffix in _SCRIPT_SUFFIXES if _is_path(name))


def _module_globs(module: str, spec: CheckSpec) -> tuple[str, ...]:
    """A name without a dot must be where Python looks; others share it with many folders."""
    path = module.replace(".", "/")
    roots: tuple[str, ...] = ("**/",)
    if "." not in module:
        entries = ("", spec.cwd, "src", "lib", "tests", *spec.env.get("PYTHONPATH", "").split(":"))
        joined = (os.path.normpath(entry) for entry in entries)
        inside = (root for root in joined if _is_path(root))
        roots = tuple(dict.fromkeys("" if root == "." else f"{root}/" for root in inside))
    ends = (".py", ".so", ".*.so", "/*.py")
    return tuple(f"{root}{path}{end}" for root in roots for end in ends)


def _path_globs(path: str, spec: CheckSpec, room: Path) -> tuple[str, ...]:
    """A path in the room; it is relative to the folder of the check, or to the top."""
    for top in (str(room), os.path.realpath(room)):
        path = path.removeprefix(f"{top}/")
    places = (os.path.normpath(Path(spec.cwd, path)), os.path.normpath(path))
    return tuple(dict.fromkeys(place for place in places if place != "." and _is_path(place)))


def _is_path(path: str) -> bool:
    """Is it inside the repository, and without the characters of a glob?"""
    return not path.startswith(("/", "..")) and not any(sign in path for sign in "*?[")
