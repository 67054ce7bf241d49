"""Names that the program defines before and after a change: functions, classes, values, modules."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model.change import Change
from yaoki.formats.quality.definition.asked_names import (
    REMOVES,
    RENAMES,
    asks_to_remove_name,
    asks_to_rename,
)
from yaoki.formats.quality.definition.file_index import FileIndex
from yaoki.formats.quality.definition.roles import is_in_test_folder
from yaoki.formats.quality.languages import language_of
from yaoki.formats.quality.lexer import scan_source
from yaoki.formats.quality.python import parse_python
from yaoki.formats.quality.suites import is_test_path

FILES_MAX = 2_000
_JAVASCRIPT = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")
_JS_DEFINITION = lazy_compile(
    r"(?<![\w$.])(?:function\b\s*\*?|const|let|var|class)\s+([A-Za-z_$][\w$]*)"
    r"|\bexports\.([A-Za-z_$][\w$]*)\s*=(?!=)"
    r"|^[ \t]*(?:(?:static|async|get|set|public|private)\s+)*([A-Za-z_$][\w$]*)\s*\([^()]*\)\s*\{",
    re.MULTILINE,
)
_STATEMENTS = frozenset({"if", "for", "while", "switch", "catch", "function", "return", "with"})


@dataclass(frozen=True, slots=True)
class ProgramName:
    """`qualified`: with its class.  `path`: the file of the program that defines it."""

    path: str
    qualified: str
    is_module: bool = False

    @property
    def bare(self) -> str:
        return self.qualified.rpartition(".")[2]

    @property
    def owner(self) -> str:
        return self.qualified.rpartition(".")[0]

    def ways(self) -> frozenset[str]:
        """All ways to write it: `total`, `Cart.total`, `cart.Cart.total`."""
        stem = self.path.rpartition(".")[0].removesuffix("/__init__")
        if self.is_module:
            parts, file = stem.split("/"), {self.path, self.path.rpartition("/")[2]}
        else:
            parts, file = [*stem.split("/"), *self.qualified.split(".")], set()
        return frozenset(file | {".".join(parts[at:]) for at in range(len(parts))})

    def places(self) -> frozenset[str]:
        """All ways to write its file and its class."""
        stem = self.path.rpartition(".")[0].removesuffix("/__init__")
        parts, files = stem.split("/"), self.path.split("/")
        modules = {".".join(parts[at:]) for at in range(len(parts))}
        paths = {"/".join(files[at:]) for at in range(len(files))}
        return frozenset({*modules, *paths, self.owner.rpartition(".")[2]})


@dataclass(frozen=True, slots=True)
class AskedRename:
    """The goal asks for it, and the program did it."""

    old: ProgramName
    new: ProgramName

    def is_for(self, path: str) -> bool:
        """Can a file of this path use the name?"""
        return is_javascript(path) == is_javascript(self.old.path)


@dataclass(slots=True)
class ProgramNames:
    """`gone`, `added`: the names that changed files of the program do not, or newly, define."""

    goal: str
    candidate: FileIndex
    gone: list[ProgramName] = field(default_factory=list)
    added: list[ProgramName] = field(default_factory=list)

    def read(self, changes: Sequence[Change]) -> None:
        """Only a goal that asks to rename or to remove something makes this work necessary."""
        if not (RENAMES.search(self.goal) or REMOVES.search(self.goal)):
            return
        for change in changes:
            if _is_program(change.path):
                old, new = (
                    _definitions(change.path, text) for text in (change.before, change.after)
                )
                if old is not None and new is not None:
                    self.gone += (old[name] for name in sorted(old.keys() - new.keys()))
                    self.added += (new[name] for name in sorted(new.keys() - old.keys()))

    def find_renames(self) -> tuple[AskedRename, ...]:
        """Only a name of the same class in the same file takes the place of another."""
        if not RENAMES.search(self.goal):
            return ()
        gone, added = (
            [one for one in names if one.bare in self.goal] for names in (self.gone, self.added)
        )
        return tuple(
            AskedRename(old, new)
            for old in gone
            for new in added
            if _is_same_place(old, new) and asks_to_rename(self.goal, old.ways(), new.ways())
        )

    def find_removed(self) -> tuple[ProgramName, ...]:
        """The names that the goal asks to remove and that no file of the program defines now."""
        if not REMOVES.search(self.goal):
            return ()
        return tuple(
            one
            for one in self.gone
            if not one.is_module
            and one.bare in self.goal
            and asks_to_remove_name(self.goal, one.bare, one.ways(), one.places())
            and not self._is_defined(one)
        )

    def _is_defined(self, name: ProgramName) -> bool:
        ours = is_javascript(name.path)
        paths = [
            path
            for path in sorted(self.candidate.paths)
            if _is_program(path) and is_javascript(path) == ours
        ]
        word = re.compile(rf"(?<![\w$]){re.escape(name.bare)}(?![\w$])")
        if len(paths) > FILES_MAX:
            return True
        texts = ((path, self.candidate.text(path)) for path in paths)
        return any(word.search(text) and _may_define(path, text, word) for path, text in texts)


def is_javascript(path: str) -> bool:
    return path.endswith(_JAVASCRIPT)


def code_of(path: str, text: str) -> str:
    """The text with blanks for comments and strings, of the same length."""
    grammar = language_of(path)
    return scan_source(text, grammar).code if grammar else text


def _is_program(path: str) -> bool:
    is_code = path.endswith(".py") or is_javascript(path)
    return is_code and not is_test_path(path) and not is_in_test_folder(path)


def _may_define(path: str, text: str, name: re.Pattern[str]) -> bool:
    if is_javascript(path):
        return name.search(code_of(path, text)) is not None
    known = _definitions(path, text)
    return known is None or any(name.fullmatch(one.bare) for one in known.values())


def _is_same_place(old: ProgramName, new: ProgramName) -> bool:
    if old.is_module or new.is_module:
        folders = (one.path.rpartition("/")[0] for one in (old, new))
        return old.is_module and new.is_module and len(set(folders)) == 1
    return (old.path, old.owner) == (new.path, new.owner)


def _definitions(path: str, text: str | None) -> Mapping[str, ProgramName] | None:
    """None if the file cannot be read."""
    if text is None:
        return {}
    if is_javascript(path):
        names = _javascript_names(code_of(path, text))
        return {name: ProgramName(path, name) for name in names}
    tree = parse_python(text)
    if tree is None:
        return None
    known = {name: ProgramName(path, name) for name in _python_names(tree.body, "")}
    stem = path.rpartition("/")[2].removesuffix(".py")
    # Not a name that a program may define.
    return {**known, f"module {stem}": ProgramName(path, stem, is_module=True)}


def _javascript_names(code: str) -> Iterator[str]:
    for hit in _JS_DEFINITION.finditer(code):
        name = next(group for group in hit.groups() if group)
        if name not in _STATEMENTS:
            yield name


def _python_names(body: Sequence[ast.stmt], owner: str) -> Iterator[str]:
    """The names that a module and its classes bind, with those of imports."""
    for node in body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield f"{owner}{name}"
            case ast.ClassDef(name=name, body=inner):
                yield f"{owner}{name}"
                yield from _python_names(inner, f"{owner}{name}.")
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from (f"{owner}{one.asname or one.name}" for one in names)
            case ast.Assign(targets=targets):
                inner_nodes = (n for target in targets for n in ast.walk(target))
                yield from (f"{owner}{n.id}" for n in inner_nodes if isinstance(n, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield f"{owner}{name}"
            case ast.If(body=one, orelse=other) | ast.Try(body=one, orelse=other):
                yield from _python_names([*one, *other], owner)
                for handler in getattr(node, "handlers", ()):
                    yield from _python_names(handler.body, owner)
            case _:
                continue
