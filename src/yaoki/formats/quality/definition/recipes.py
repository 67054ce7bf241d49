"""Reads recipes of make, just and npm: what a goal runs, with includes and prerequisites."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from posixpath import dirname, join

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.definition.file_index import FileIndex

INCLUDES_MAX = 50
LINE_CHARS_MAX = 4_000
# GNU make uses the first of these that exists.
MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
JUSTFILES = ("justfile", ".justfile", "Justfile", "JUSTFILE")
_INCLUDE = lazy_compile(r"^(?:-|s)?include\s+(.+)$|^import\??\s+['\"]?([^'\"\n]+)")
_ASSIGNED = r"((?:(?:export|override|private|unexport)\s+)*)([\w.\-]+)\s*(:{1,3}|[?+!])?=\s*(.*)$"
_VARIABLE = lazy_compile(f"^{_ASSIGNED}")
# `test: PY = python3` is valid for this target and its prerequisites.
_TARGET_VARIABLE = lazy_compile(rf"^([^\s#:=][^:=#]{{0,300}}?)\s*:\s*{_ASSIGNED}")
_RULE = lazy_compile(r"^@?([^\s#:=][^:=#]{0,300}?)\s*(?:&)?::?(?!=)\s*([^#=]*?)(?:;(.*))?$")
_USED = lazy_compile(r"\$[({](\w+)|\{\{\s*(\w+)|(?<!\$)\$([A-Za-z])")
_WILDCARD = lazy_compile(r"\$\(wildcard\s+([^()]*)\)")
_UNKNOWN = lazy_compile(r"\$(?:\([^()]*\)|\{[^{}]*\}|\w)")
# Other text may decide about these lines: make has a language of its own.
_OPAQUE = lazy_compile(
    r"^\s*(?:define|undefine|ifn?eq|ifn?def|vpath|load)\b|\$[({](?:eval|call|guile|shell|foreach)\b",
    re.MULTILINE,
)
# Settings of make itself, which affect every recipe.
_EVERYWHERE = frozenset(
    {
        "SHELL",
        ".SHELLFLAGS",
        "MAKEFLAGS",
        "MAKE",
        "MAKEFILES",
        "GNUMAKEFLAGS",
        "PATH",
        "PYTEST_ADDOPTS",
        "NODE_OPTIONS",
    }
    | {
        "PYTHONPATH",
        "PYTHONSTARTUP",
        "BASH_ENV",
        "ENV",
        "RUBYOPT",
        "PERL5OPT",
        "GOFLAGS",
        "RUSTFLAGS",
    }
)
_SWITCHES = frozenset({".IGNORE", ".ONESHELL", ".POSIX", ".DEFAULT_GOAL"})


@dataclass(slots=True)
class Recipes:
    """The recipes of one folder; of two rules with one name the last recipe counts."""

    files: list[str] = field(default_factory=list)
    needs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    lines: dict[str, tuple[str, ...]] = field(default_factory=dict)
    origin: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    overriding: set[str] = field(default_factory=set)
    target_variables: dict[str, dict[str, str]] = field(default_factory=dict)
    included_names: list[str] = field(default_factory=list)

    def goals(self, wanted_goals: Sequence[str]) -> tuple[str, ...]:
        """Every target that making these would make."""
        plain = (name for name in self.needs if not name.startswith("."))
        todo = list(wanted_goals) or [self.variables.get(".DEFAULT_GOAL", "") or next(plain, "")]
        seen: dict[str, None] = {}
        while todo and len(seen) < 500:
            goal = todo.pop(0)
            if goal not in seen and (goal in self.needs or goal in self.lines):
                seen[goal] = None
                todo += self.needs.get(goal, ())
        return tuple(seen)

    def meaning(self, wanted_goals: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """The definition of these goals, by name: prerequisites, lines, and the
        variables in them.
        """
        goals = self.goals(wanted_goals)
        recipes: dict[str, tuple[str, ...]] = {}
        for goal in goals:
            recipes[f"needs of {goal}"] = self.needs.get(goal, ())
            recipes[f"recipe {goal}"] = self.lines.get(goal, ())
        patterns = {name: lines for name, lines in self.lines.items() if "%" in name}
        recipes |= {f"recipe {name}": lines for name, lines in patterns.items()}
        recipes |= {f"switch {s}": self.needs[s] for s in _SWITCHES if s in self.needs}
        all_lines = (
            line for name, lines in recipes.items() if name[:6] == "recipe" for line in lines
        )
        used = self._used_variables(
            "\n".join((*all_lines, *(" ".join(self.needs.get(g, ())) for g in goals)))
        )
        recipes |= {f"variable {name}": (self.variables[name],) for name in used}
        for goal in (*goals, *(name for name in self.target_variables if "%" in name)):
            for name, value in self.target_variables.get(goal, {}).items():
                recipes[f"variable {name} of {goal}"] = (value,)
        return recipes

    def _used_variables(self, text: str) -> tuple[str, ...]:
        used = {name: None for name in _EVERYWHERE if name in self.variables}
        todo = list(_used_names(text))
        while todo:
            name = todo.pop()
            if name in self.variables and name not in used:
                used[name] = None
                todo += _used_names(self.variables[name])
        return tuple(sorted(used))

    def texts(self, wanted_goals: Sequence[str]) -> Iterator[str]:
        """The shell lines of these goals, with variables expanded."""
        for goal in (*self.goals(wanted_goals), *(name for name in self.lines if "%" in name)):
            yield "\n".join(self._filled(line) for line in self.lines.get(goal, ()))

    def _filled(self, line: str) -> str:
        bare = line.lstrip("@-+ \t")
        for _ in range(3):
            bare = re.sub(
                r"\$[({](\w+)[)}]|\{\{\s*(\w+)\s*\}\}",
                lambda hit: self.variables.get(hit[1] or hit[2], hit[0]),
                bare,
            )[:4_000]
        return bare.replace("$$", "$")


def _used_names(text: str) -> Iterator[str]:
    for names in _USED.findall(text):
        yield "".join(names)


def read_recipes(files: FileIndex, path: str, read_first: Sequence[str] = ()) -> Recipes:
    """A makefile or justfile together with everything it includes; make reads those that the
    variable MAKEFILES names before it.
    """
    recipes = Recipes()
    for one in read_first:
        _gather(files, one, recipes)
    _gather(files, path, recipes)
    return recipes


def is_opaque(text: str) -> bool:
    """May the text of a makefile do more than its rules and variables say?"""
    return _OPAQUE.search(text) is not None


def _gather(files: FileIndex, path: str, recipes: Recipes) -> None:
    if path in recipes.files or len(recipes.files) >= INCLUDES_MAX:
        return
    recipes.files.append(path)
    targets: tuple[str, ...] = ()
    for line in files.text(path).replace("\\\n", " ").splitlines():
        if len(line) > LINE_CHARS_MAX:
            continue
        if line[:1] in "\t " and line.strip() and targets:
            _add_line(recipes, targets, line.strip())
            continue
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        targets = _statement(files, path, recipes, bare)


def _add_line(recipes: Recipes, targets: tuple[str, ...], line: str) -> None:
    for target in targets:
        recipes.lines[target] = (*recipes.lines.get(target, ()), line)


def _statement(files: FileIndex, path: str, recipes: Recipes, line: str) -> tuple[str, ...]:
    """Read a line that is no recipe; returns the targets whose recipe follows."""
    if match := _INCLUDE.match(line):
        for word in _included_words(recipes, match[1] or match[2] or ""):
            recipes.included_names.append(word)
            for one in _included_files(files, path, word):
                _gather(files, one, recipes)
        return ()
    if match := _VARIABLE.match(line):
        if match[2] not in recipes.overriding or "override" in match[1]:
            _assign(recipes.variables, match[2], match[3], match[4])
        recipes.overriding |= {match[2]} if "override" in match[1] else set()
        return ()
    if match := _TARGET_VARIABLE.match(line):
        for target in match[1].split():
            values = recipes.target_variables.setdefault(target, {})
            _assign(values, match[3], match[4], match[5])
        return ()
    if match := _RULE.match(line):
        return _rule(path, recipes, match)
    return ()


def _assign(variables: dict[str, str], name: str, operator: str | None, value: str) -> None:
    """`?=` sets only what is not set yet, `+=` appends."""
    old = variables.get(name)
    if operator == "?" and old is not None:
        return
    variables[name] = f"{old or ''} {value}".strip() if operator == "+" else value.strip()


def _included_words(recipes: Recipes, text: str) -> Sequence[str]:
    """The words of an include with its variables; `*` is what only make knows."""
    for _ in range(3):
        text = _WILDCARD.sub(r"\1", text)
        text = re.sub(r"\$[({](\w+)[)}]", lambda hit: recipes.variables.get(hit[1], hit[0]), text)[
            :LINE_CHARS_MAX
        ]
    return _UNKNOWN.sub("*", text).split()


def _included_files(files: FileIndex, path: str, word: str) -> Iterator[str]:
    """An unknown name is one of the files that makefiles commonly include."""
    found = files.find(word, (dirname(path), ""))
    unknown = word.rsplit("/", 1)[-1].strip("*") == ""
    yield from (one for one in found if not unknown or one.endswith((".mk", ".mak", ".make")))


def _rule(path: str, recipes: Recipes, match: re.Match[str]) -> tuple[str, ...]:
    # A justfile's recipe may have parameters after its name; a makefile several targets.
    names = match[1].split()
    targets = tuple(names[:1] if path.rsplit("/", 1)[-1] in JUSTFILES else names)
    for target in targets:
        needs = recipes.needs.get(target, ())
        recipes.needs[target] = (*needs, *match[2].replace("|", " ").split())
        recipes.origin[target] = path
        # A second recipe replaces the first.
        recipes.lines[target] = (match[3].strip(),) if match[3] else recipes.lines.get(target, ())
        if not match[3]:
            recipes.lines[target] = ()
    return targets


def find_makefile(files: FileIndex, folder: str, names: Sequence[str]) -> str:
    ways = (join(folder, name) for name in names)
    return next((way for way in ways if way in files.paths), "")


def parse_make_words(
    words: Sequence[str], files: FileIndex, places: Sequence[str]
) -> tuple[list[str], str, tuple[str, ...]]:
    """The `-f` files, the folder, and the goals of a make command."""
    named_files: list[str] = []
    goals: list[str] = []
    folder, rest = places[0], list(words)
    while rest:
        word = rest.pop(0)
        if word in ("-f", "--file", "--makefile", "--justfile") and rest:
            named_files.append(rest.pop(0))
        elif word in ("-C", "--directory", "-d", "--working-directory") and rest:
            folder = files.find_folder(rest.pop(0), places) or folder
        elif word.startswith("-f") and len(word) > 2:
            named_files.append(word[2:])
        elif word.startswith("-C") and len(word) > 2:
            folder = files.find_folder(word[2:], places) or folder
        elif word in ("-j", "-l", "-o", "-W", "-I") and rest and rest[0].isdigit():
            rest.pop(0)
        elif not word.startswith("-") and "=" not in word:
            goals.append(word)
    return named_files, folder, tuple(goals)


# ------------------------------------------------------------------ npm

_NPM_RUN = lazy_compile(
    r"\b(?:npm|pnpm|yarn|bun)\s+(?:(?:-s|--silent)\s+)?(?:run(?:-script)?\s+)?([\w:.\-]+)"
    r"|\b(?:run-s|run-p|npm-run-all)\s+([^&|;]+)"
)
_NPM_CONFIG = lazy_compile(r"npm_package_config_(\w+)")
_OWN_SCRIPTS = {"t": "test", "tst": "test", "start": "start", "test": "test"}


def npm_scripts(text: str) -> Mapping[str, str]:
    try:
        package = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    scripts = package.get("scripts") if isinstance(package, dict) else None
    named = scripts if isinstance(scripts, dict) else {}
    return {str(name): value for name, value in named.items() if isinstance(value, str)}


def npm_configuration(text: str, scripts: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """The values that these scripts read as `$npm_package_config_NAME`, by name."""
    names = {name for script in scripts.values() for name in _NPM_CONFIG.findall(script)}
    try:
        config = json.loads(text or "{}").get("config", {})
    except (ValueError, RecursionError, AttributeError):
        return {}
    values = config if isinstance(config, dict) else {}
    return {f"variable {name}": (str(values[name]),) for name in sorted(names & set(values))}


def npm_meaning(scripts: Mapping[str, str], script: str) -> dict[str, str]:
    """The scripts that running one of them runs, including its pre and post scripts."""
    todo, recipes = [_OWN_SCRIPTS.get(script, script)], {}  # type: list[str], dict[str, str]
    while todo and len(recipes) < 200:
        name = todo.pop()
        if name in recipes or name not in scripts:
            continue
        recipes[name] = scripts[name]
        todo += [f"pre{name}", f"post{name}"]
        for one, many in _NPM_RUN.findall(scripts[name]):
            todo += [one, *many.split()]
    return recipes
