"""The program under test: files that a check runs or reads, and that the task may still change."""

from __future__ import annotations

import re
from collections.abc import Iterator

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.scope import is_in_scope
from yaoki.formats.quality.definition import scripts
from yaoki.formats.quality.definition.file_index import FileIndex
from yaoki.formats.quality.definition.reached_files import FileRole, ReachedFiles
from yaoki.formats.quality.definition.references import python_imports
from yaoki.formats.quality.definition.roles import (
    is_data,
    is_expected,
    is_in_test_folder,
    names_a_verdict,
    names_expected_result,
    script_language,
)
from yaoki.formats.quality.definition.shell import parse_calls
from yaoki.formats.quality.definition.tools import READERS, program_of
from yaoki.formats.quality.suites import is_test_path

FILES_MAX = 2_000
CODE = lazy_compile(r"\.(?:py|[cm]?[jt]sx?|rb|go|rs|java|kt|php|sh|c|cc|cpp|cs|swift)$")
_STARTS = lazy_compile(
    r"subprocess|os\.system|os\.exec|Popen|runpy|importlib|\bexec\(|pexpect|sh\."
)
_WORDS = lazy_compile(r"[^\W_]+(?:[.,:/-][^\W_]+)*")
_UPDATES = lazy_compile(
    r"\b(?:updat|regenerat|refresh|adapt|adjust)\w*\b[^.]{0,60}\b(?:golden|snapshot|expected|fixture|approved)"
    r"|\b(?:golden|snapshot|expected|fixture|approved)\w*\b[^.]{0,60}\b(?:updat|regenerat|chang|adapt)\w*",
    re.IGNORECASE,
)
_REMOVES = lazy_compile(
    r"\b(?:remov|drop|delet|omit|without|no longer|not print|leave out|strip)\w*", re.IGNORECASE
)
_DELETES = lazy_compile(r"\b(?:remov|drop|delet)\w*|\bget rid of\b", re.IGNORECASE)
_NEGATION = lazy_compile(r"\b(?:not|never|cannot|without)\b|n['’]t\b", re.IGNORECASE)
# "Remove f from old.py": a part of the file.
_PART = lazy_compile(r"\b(?:from|in|inside|within|of|out)\b", re.IGNORECASE)
# "Remove the module loader" names no module, but "remove the module old and its tests" does.
_NAME_END = r"(?![\w./-]*\w)(?!\s+(?!(?:and|with|together|including|along|plus)\b)\w)"
# A test that starts a program or reads a file may be about more than what it imports.
REACHES_OUT = lazy_compile(r"\b(?:subprocess|runpy|importlib|os|sys|pathlib|shutil|open|Path)\b")
_BUILT_IN = frozenset(
    {"", "set", "exit", "true", "false", "cd", "return", ":", "for", "shift", "local"}
)


@dataclass(frozen=True, slots=True)
class Product:
    """Uses the base's tree: what the candidate says about itself proves nothing."""

    base: FileIndex
    reach: ReachedFiles
    scope: tuple[str, ...]
    goal: str

    def is_product(self, path: str, text: str) -> bool:
        """Is it the work itself, which a check only runs?"""
        if names_a_verdict(path):
            return False
        if self.is_named(path, literally=True) or self._imported(path):
            return True
        if scripts.holds_verdict(path, text):
            return False
        program = self.reach.roles.get(path) is FileRole.PROGRAM
        return program or self.is_named(path) or self._used_by_scripts(path)

    def is_named(self, path: str, *, literally: bool = False) -> bool:
        """Does the scope cover it, or the goal name it?"""
        inside = (
            path in self.scope if literally else bool(self.scope) and is_in_scope(path, self.scope)
        )
        name = re.escape(path.rsplit("/", 1)[-1])
        return inside or re.search(rf"(?<![\w.]){name}(?![\w/])", self.goal) is not None

    def is_tested(self, path: str) -> bool:
        return self.is_named(path) or self._imported(path)

    def _imported(self, path: str) -> bool:
        """Do tests import it?  Then it is the program that they test."""
        stem = re.escape(path.rsplit("/", 1)[-1].partition(".")[0])
        asks = re.compile(
            rf"^\s*(?:from\s+[\w.]*\b{stem}\s+import|import\s+[\w.]*\b{stem}\b)"
            rf"|(?:require\(|from\s)\s*['\"][^'\"\n]*\b{stem}(?:\.\w+)?['\"]",
            re.MULTILINE,
        )
        tests = [one for one in sorted(self.base.paths) if is_test_path(one) and not is_data(one)]
        return any(asks.search(self.base.text(one)) for one in tests[:FILES_MAX])

    def _used_by_scripts(self, path: str) -> bool:
        """Does a script that makes the verdict import it?  Then it is what the script examines."""
        if not path.endswith(".py"):
            return False
        scripts_ = (
            p for p, role in self.reach.roles.items() if role is FileRole.SCRIPT and p != path
        )
        judges = (p for p in scripts_ if p.endswith(".py") and p in self.base.paths)
        return any(path in python_imports(self.base.text(p), p, self.base) for p in judges)

    def asks_for(self, path: str, before: str, after: str) -> bool:
        """Does the plan ask for this change of an expected result?

        Its scope names the file or the folder of such files, or its goal says what is new in it.
        """
        narrow = [glob for glob in self.scope if names_expected_result(glob)]
        if self.is_named(path, literally=True) or (narrow and is_in_scope(path, narrow)):
            return True
        if _UPDATES.search(self.goal):
            return True
        old, new = (frozenset(_WORDS.findall(text.casefold())) for text in (before, after))
        asked = frozenset(_WORDS.findall(self.goal.casefold()))
        added, removed = asked & (new - old), asked & (old - new)
        if not new - old:
            return bool(removed) and _REMOVES.search(self.goal) is not None
        return bool(added) and len(added) >= len(removed)

    def asks_to_remove(self, path: str) -> bool:
        """Does a sentence of the goal ask to remove this file, which is not one of the tests?"""
        if is_expected(path) or is_in_test_folder(path) or is_test_path(path):
            return False
        file = rf"(?<![\w.]){re.escape(path.rsplit('/', 1)[-1])}(?![\w/])"
        name = re.compile("|".join((file, *_module_shapes(path))))
        sentences = re.split(r"(?<=[.;!?])\s+", self.goal)
        return any(_asks_to_delete(one, name) for one in sentences)

    def asks_to_remove_subject(self, path: str, candidate: FileIndex) -> bool:
        """Is a deleted test file about deleted files alone that the goal asks to remove?"""
        text = self.base.text(path)
        if path in candidate.paths or REACHES_OUT.search(text):
            return False
        files = set(python_imports(text, path, self.base)) - {path}
        return bool(files) and all(
            one not in candidate.paths and self.asks_to_remove(one) for one in files
        )

    def is_product_data(self, path: str) -> bool:
        return self.is_named(path) or self._reads(path) or self._is_subject(path)

    def _reads(self, path: str) -> bool:
        """Does the program itself name this data file?"""
        name = path.rsplit("/", 1)[-1]
        return any(name in text for text in self.program_texts())

    def program_texts(self) -> Iterator[str]:
        """The code that is neither a test nor a part of a check."""
        code = [
            one
            for one in sorted(self.base.paths)
            if CODE.search(one) and not is_test_path(one) and one not in self.reach.roles
        ]
        return (self.base.text(one) for one in code[:FILES_MAX])

    def _is_subject(self, path: str) -> bool:
        """Do tests examine only this data file, so that it is their subject?

        A test that also calls the program compares the two, and the file is the expected result.
        """
        name = path.rsplit("/", 1)[-1]
        roles = (FileRole.TEST, FileRole.SCRIPT, FileRole.SUPPORT)
        readers = [
            one
            for one, role in self.reach.roles.items()
            if role in roles and not is_data(one) and name in self.base.text(one)
        ]
        return bool(readers) and not any(self.runs_program(one) for one in readers)

    def runs_program(self, path: str) -> bool:
        """Does a test or script run more than itself?"""
        text = self.base.text(path)
        language = script_language(path, text)
        if language == "py":
            own = (one for one in python_imports(text, path, self.base) if not is_test_path(one))
            return any(own) or _STARTS.search(text) is not None
        if language == "sh":
            programs = {program_of(call.words) for call in parse_calls(text)}
            return bool(programs - READERS - _BUILT_IN)
        return True


def _module_shapes(path: str) -> Iterator[str]:
    """Patterns of "module shop.old" and "`old` module", for the file or a package that it is in.

    Without quotes, "the old module" may be any module that is old.
    """
    if not path.endswith(".py"):
        return
    parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
    for end in range(len(parts), 0, -1):
        kind = "(?:module|package)" if end == len(parts) else "package"
        names = "|".join(re.escape(".".join(parts[start:end])) for start in range(end))
        yield rf"\b{kind}\s+(?:[`'\"](?:{names})[`'\"]|(?:{names}){_NAME_END})"
        yield rf"[`'\"](?:{names})[`'\"]\s+{kind}{_NAME_END}"


def _asks_to_delete(sentence: str, name: re.Pattern[str]) -> bool:
    """Is the file what the sentence wants removed: "remove NAME", "NAME must be removed"?"""
    for verb in _DELETES.finditer(sentence):
        for file in name.finditer(sentence):
            if _NEGATION.search(sentence[: max(verb.start(), file.start())]):
                continue
            if not _PART.search(sentence[verb.end() : file.start()]):
                return True
    return False
