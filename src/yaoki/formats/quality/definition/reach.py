"""Finds every tracked file that the command of a check names or reaches, with its role."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from posixpath import basename, dirname, join, normpath

from yaoki.core.model import CheckSpec
from yaoki.core.scope import is_in_scope
from yaoki.formats.quality.definition import recipes, references
from yaoki.formats.quality.definition.file_index import FileIndex
from yaoki.formats.quality.definition.lookups import (
    code_kind,
    module_files,
    plugin_files,
    run_parts_scripts,
    scripts_of_find,
    settings_files,
    starts_file,
)
from yaoki.formats.quality.definition.reached_files import FileRole, ReachedFiles
from yaoki.formats.quality.definition.roles import (
    is_data,
    is_expected,
    is_in_test_folder,
    is_product_data,
    is_script,
    is_support,
    script_language,
)
from yaoki.formats.quality.definition.shell import ShellCall, parse_calls
from yaoki.formats.quality.definition.tools import READERS, RUNNERS, program_of
from yaoki.formats.quality.suites import is_test_path

REACHED_MAX = 3_000
LIST_LINES_MAX = 1_000
_SOURCES = frozenset({".", "source"})
_NODE_RUNNERS = frozenset({"npm", "pnpm", "yarn", "bun"})
_NODE_OWN = frozenset(
    {"install", "ci", "exec", "dlx", "add", "i", "x", "create", "init", "audit", "pack", "cache"}
)


def find_reached_files(
    checks: Sequence[CheckSpec], files: FileIndex, *, tests: bool | None = None
) -> ReachedFiles:
    """`tests`: follow the test files, too; by default, when a command runs tests."""
    walk = _Walk(files)
    for check in checks:
        walk.check(check)
    if tests or (tests is None and walk.reached.tools & RUNNERS):
        walk.follow_tests()
    return walk.reached


class _Walk:
    """A walk from the commands to the files; every file is opened once."""

    def __init__(self, files: FileIndex) -> None:
        self._files = files
        self.reached = ReachedFiles()
        self._todo: list[tuple[str, tuple[str, ...]]] = []
        self._recipes: set[tuple[str, tuple[str, ...]]] = set()
        self._read_first: list[str] = []

    def check(self, spec: CheckSpec) -> None:
        folder = "" if spec.cwd == "." else spec.cwd.strip("/")
        is_output_judged = not spec.success.startswith("exitCode:")
        self.reached.commands.append(" ".join(spec.argv) or spec.shell)
        for name, value in spec.env.items():
            self._variable(name, value, folder)
        if spec.argv:
            self._call(ShellCall(spec.argv, folder, is_output_judged), (folder,), 0)
        for call in parse_calls(spec.shell, folder) if spec.shell else ():
            one = ShellCall(
                call.words,
                call.folder,
                call.is_observed or is_output_judged,
                call.input_files,
                call.variables,
            )
            self._call(one, (call.folder, folder), 0)
        if spec.definition:
            for path in self._files.paths:
                if is_in_scope(path, spec.definition):
                    self._add(path, FileRole.DECLARED)
        self._drain()

    def follow_tests(self) -> None:
        """Tests lead to their support files, to data and to plugins."""
        for path in self._files.paths:
            if is_test_path(path):
                self._add(path, FileRole.TEST)
        self._drain()

    # -------------------------------------------------------------- files

    def _add(self, path: str, role: FileRole, places: Sequence[str] = ("",)) -> None:
        old = self.reached.roles.get(path)
        if old is None and len(self.reached.roles) < REACHED_MAX:
            self.reached.roles[path] = (
                FileRole.TEST if is_test_path(path) and not is_data(path) else role
            )
            self._todo.append((path, tuple(dict.fromkeys((*places, dirname(path), "")))))
        elif old is FileRole.PROGRAM and role is FileRole.SCRIPT:
            self.reached.roles[path] = role

    def _drain(self) -> None:
        while self._todo:
            path, places = self._todo.pop()
            self._open(path, places)

    def _open(self, path: str, places: tuple[str, ...]) -> None:
        text = self._files.text(path)
        role = self.reached.roles[path]
        if not text or role is FileRole.PROGRAM:
            return
        language = script_language(path, text)
        if language == "sh" or (role is FileRole.SCRIPT and not language):
            for call in parse_calls(text):
                at = tuple(join(place, call.folder) if call.folder else place for place in places)
                self._call(call, at, 1)
        elif role in (
            FileRole.SCRIPT,
            FileRole.TEST,
            FileRole.SUPPORT,
            FileRole.DECLARED,
            FileRole.SETTINGS,
        ):
            self._imports(path, text, language)
            self._literals(path, text, language, places)
        elif role is FileRole.DATA and language in (
            "txt",
            "list",
            "lst",
            "conf",
            "cfg",
            "yml",
            "yaml",
            "",
        ):
            self._add_listed_files(text, places)

    def _imports(self, path: str, text: str, language: str) -> None:
        find = {"py": references.python_imports, "rb": references.ruby_imports}.get(language)
        find = references.js_imports if language in ("js", "ts", "json") else find
        for one in find(text, path, self._files) if find else ():
            is_neighbour = (
                dirname(one) == dirname(path) and is_support(path) and not is_test_path(path)
            )
            if is_support(one) or (is_neighbour and not is_in_test_folder(path)):
                self._add(one, FileRole.SUPPORT)

    def _literals(self, path: str, text: str, language: str, places: tuple[str, ...]) -> None:
        """Strings that name a tracked file: expectations, lists, started scripts."""
        runs = self.reached.roles[path] is FileRole.SCRIPT and language != "py"
        for word in references.string_literals(text):
            plain = "." in word or "/" in word
            one = self._files.find_plain(word, (dirname(path), *places)) if plain else ""
            # A test may prepend the folder in another way.
            if one := one or (self._files.find_unique(word) if plain and is_data(word) else ""):
                self._add_named_file(one, places)
            if is_expected(f"{word}/"):
                self._in_folder(word, path)
            if runs and " " in word:
                for call in parse_calls(word):
                    self._call(call, places, 2)

    def _in_folder(self, word: str, path: str) -> None:
        """A folder of expectations that a test names."""
        folder = self._files.find_folder(word.rstrip("/"), (dirname(path), ""))
        if folder and is_expected(f"{folder}/"):
            for one in self._files.files_below(folder):
                self._add(one, FileRole.DATA)

    def _add_named_file(self, path: str, places: Sequence[str]) -> None:
        """A file that a script or test names without saying what for."""
        if is_data(path):
            if is_expected(path) or is_in_test_folder(path) or not is_product_data(path):
                self._add(path, FileRole.DATA, places)
        elif is_script(path, self._files.text(path)) and is_support(path):
            self._add(path, FileRole.SCRIPT, places)

    def _add_listed_files(self, text: str, places: tuple[str, ...]) -> None:
        """The files that a list names, one per line."""
        for line in text.splitlines()[:LIST_LINES_MAX]:
            if one := self._files.find_plain(line.strip().strip("\"',"), places):
                ran = is_script(one, self._files.text(one))
                self._add(one, FileRole.SCRIPT if ran else FileRole.DATA, places)

    # -------------------------------------------------------------- commands

    def _call(self, call: ShellCall, places: tuple[str, ...], depth: int) -> None:
        if depth > 6:
            return
        for name, value in call.variables:
            self._variable(name, value, places[0])
        for one in call.input_files:
            for path in self._files.find(one, places):
                self._add(path, FileRole.DATA, places)
        words = call.words
        program = program_of(words)
        self.reached.started_in.add(normpath(places[0]) if places[0] else "")
        if program in READERS:
            self._add_compared_files(program, words, places)
            return
        for at, word in enumerate(words):
            self._tool(basename(word), words[at:], places, depth)
            self._code(words, at, places, depth)
        self._words(call, places)

    def _variable(self, name: str, value: str, folder: str) -> None:
        if name in ("PYTHONPATH", "NODE_PATH", "RUBYLIB", "PERL5LIB"):
            for part in re.split(r"[:;]", value):
                at = self._files.find_folder(part or ".", (folder, ""))
                if at is not None:
                    self.reached.searched_folders.add(at)
        if name == "MAKEFILES":
            self._read_first += [
                path for word in value.split() for path in self._files.find(word, (folder, ""))
            ]
        for word in value.split():
            for path in self._files.find(word, (folder, "")):
                self._add_named_file(path, (folder,))

    def _add_compared_files(
        self, program: str, words: Sequence[str], places: tuple[str, ...]
    ) -> None:
        """Add expected files among the inputs of a command that only reads: they are part of the
        check.
        """
        for word in words[1:]:
            for path in self._files.find(word, places):
                compared = is_expected(path) and program not in ("test", "[", "[[", "ls", "stat")
                lists = program in ("cat", "sort", "head") and self._is_list(path, places)
                if compared or lists:
                    self._add(path, FileRole.DATA, places)
        self._settings(program, places)

    def _is_list(self, path: str, places: tuple[str, ...]) -> bool:
        lines = [line.strip() for line in self._files.text(path).splitlines()[:200]]
        return any(self._files.find(line, places) for line in lines if line)

    def _code(self, words: Sequence[str], at: int, places: tuple[str, ...], depth: int) -> None:
        kind = code_kind(words, at)
        if kind == "python":
            for word in references.string_literals(words[at]):
                if path := self._files.find_plain(word, places):
                    self._add_named_file(path, places)
        elif kind == "shell":
            for call in parse_calls(words[at], places[0]):
                self._call(call, (call.folder, *places), depth + 1)

    def _words(self, call: ShellCall, places: tuple[str, ...]) -> None:
        """Each word that names a tracked file, whatever comes before it."""
        role = FileRole.PROGRAM if call.is_observed else FileRole.SCRIPT
        for at, word in enumerate(call.words):
            for path in self._files.find(word, places):
                if is_data(path) or ".coveragerc" in path:
                    self._add(path, FileRole.DATA, places)
                elif (
                    at == 0
                    or is_script(path, self._files.text(path))
                    or starts_file(call.words[:at])
                ):
                    self._add(path, role, places)
                    self.reached.started_files |= {path} if at == 0 else set()

    def _tool(self, name: str, words: Sequence[str], places: tuple[str, ...], depth: int) -> None:
        """A program that is known to run or read other files."""
        name = re.sub(r"^python[\d.]+$", "python", name)
        self._settings(name, places)
        if name in ("make", "gmake"):
            self._make(words[1:], places, recipes.MAKEFILES, depth)
        elif name == "just":
            self._make(words[1:], places, recipes.JUSTFILES, depth)
        elif name in _NODE_RUNNERS:
            self._npm(words[1:], places, depth)
        elif name in _SOURCES and len(words) > 1:
            sourced = list(self._files.find(words[1], places))
            self.reached.sourced_files.update(sourced)
            self._all(sourced, FileRole.SCRIPT, places)
        elif name == "run-parts":
            self._all(
                run_parts_scripts(words[1:], self._files, places),
                FileRole.SCRIPT,
                places,
                started=True,
            )
        elif name == "find":
            started = bool({"-executable", "-perm"} & set(words))
            scripts = scripts_of_find(words[1:], self._files, places)
            self._all(scripts, FileRole.SCRIPT, places, started=started)
        elif name == "python" and "-m" in words[:-1]:
            module = words[words.index("-m") + 1]
            self._all(module_files(module, self._files, places), FileRole.SCRIPT, places)
        self._all(plugin_files(words, self._files, places), FileRole.SUPPORT, places)

    def _settings(self, name: str, places: tuple[str, ...]) -> None:
        self.reached.tools.add(name)
        self._all(settings_files(name, self._files, places), FileRole.SETTINGS, places)

    def _all(
        self, paths: Iterable[str], role: FileRole, places: Sequence[str], *, started: bool = False
    ) -> None:
        for path in paths:
            self._add(path, role, places)
            self.reached.started_files |= {path} if started else set()

    # -------------------------------------------------------------- recipes

    def _make(
        self, words: Sequence[str], places: tuple[str, ...], names: Sequence[str], depth: int
    ) -> None:
        named_files, folder, goals = recipes.parse_make_words(words, self._files, places)
        path = recipes.find_makefile(self._files, folder, names)
        for word in named_files:
            path = next(iter(self._files.find(word, (folder, *places))), "")
        if not path or (path, goals) in self._recipes:
            return
        self._recipes.add((path, goals))
        recipe_file = recipes.read_recipes(self._files, path, self._read_first)
        key = " ".join((folder or ".", *goals))
        self.reached.participants[key] = tuple(recipe_file.files)
        for one in recipe_file.files:
            self._add(one, FileRole.RECIPE, (folder,))
        self.reached.meanings[key] = recipe_file.meaning(goals)
        built = set(recipe_file.goals(goals)) - set(recipe_file.needs.get(".PHONY", ()))
        self.reached.targets |= {join(folder, goal) for goal in built}
        for text in recipe_file.texts(goals):
            for call in parse_calls(
                text.replace("$(MAKE)", "make").replace("${MAKE}", "make"), folder
            ):
                self._call(call, (call.folder, folder), depth + 1)

    def _npm(self, words: Sequence[str], places: tuple[str, ...], depth: int) -> None:
        rest = [word for word in words if not word.startswith("-")]
        if rest[:1] in (["run"], ["run-script"]):
            rest = rest[1:]
        if not rest or rest[0] in _NODE_OWN:
            return
        path = next(iter(self._files.find("package.json", places)), "")
        package = self._files.text(path)
        scripts = recipes.npm_meaning(recipes.npm_scripts(package), rest[0])
        key = (path, (rest[0],))
        if not path or not scripts or key in self._recipes:
            return
        self._recipes.add(key)
        self._add(path, FileRole.RECIPE, places)
        self.reached.participants[" ".join(key[:1] + key[1])] = (path,)
        self.reached.meanings[" ".join(key[:1] + key[1])] = {
            f"script {name}": (text,) for name, text in scripts.items()
        } | recipes.npm_configuration(package, scripts)
        for text in scripts.values():
            for call in parse_calls(text, dirname(path)):
                self._call(call, (call.folder, dirname(path)), depth + 1)
