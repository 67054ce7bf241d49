"""Finds the commands behind `npm test` and `make test`: a script that only prints runs no tests."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from yaoki.core.commands.program import Program, find_programs
from yaoki.core.commands.vacuous_checks import why_vacuous_script
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import CheckSpec, CheckType

TEXT_BYTES_MAX = 1 << 20
_MANAGERS = frozenset({"npm", "pnpm", "yarn", "bun"})
# Scripts that a package manager runs without the word `run`.
_SHORT = frozenset({"test", "start", "t", "tst"})
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_PHONY = lazy_compile(r"^\.PHONY *:([^#\n]*)", re.MULTILINE)
_RULE = lazy_compile(r"^([\w./ -]{1,200}?) *::?(?!=)([^#\n]*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Recipe:
    """The commands behind a name, and why they cannot fail; both empty if unknown."""

    text: str = ""
    idle_reason: str = ""


NO_RECIPE = Recipe()


def find_recipe(spec: CheckSpec, worktree: Path) -> Recipe:
    """Only for a check that is a single call of a script by its name."""
    if spec.type is not CheckType.COMMAND or worktree == Path():
        return Recipe()
    programs = find_programs(spec.argv, spec.shell)
    if len(programs) != 1 or spec.success != "exitCode:0":
        return Recipe()
    folder = worktree / spec.cwd
    if programs[0].name in _MANAGERS:
        return _find_npm_recipe(programs[0], folder)
    return (
        _find_make_recipe(programs[0], folder)
        if programs[0].name in {"make", "gmake"}
        else Recipe()
    )


def _find_npm_recipe(program: Program, folder: Path) -> Recipe:
    name = _script_name(program)
    scripts = _load_scripts(folder)
    text = scripts.get(name, "")
    if not name or not text:
        return Recipe()
    commands = "\n".join(scripts.get(key, "") for key in (f"pre{name}", name, f"post{name}"))
    reason = why_vacuous_script(f"set -e\n{commands}")
    return Recipe(
        text, f"the script {name!r} of package.json runs nothing: {reason}" if reason else ""
    )


def _script_name(program: Program) -> str:
    words = [word for word in program.args if not word.startswith("-")]
    if program.args[:1] and program.args[0].startswith("-"):
        return ""
    if words[:1] in (["run"], ["run-script"]):
        return words[1] if len(words) > 1 else ""
    if program.name == "bun":
        return ""
    short = words[0] if words else ""
    is_script = short in _SHORT or program.name in {"yarn", "pnpm"}
    return {"t": "test", "tst": "test"}.get(short, short) if is_script else ""


def _load_scripts(folder: Path) -> Mapping[str, str]:
    try:
        document = json.loads(_read_text(folder / "package.json") or "{}")
    except (ValueError, RecursionError):
        return {}
    scripts = document.get("scripts") if isinstance(document, dict) else None
    if not isinstance(scripts, dict):
        return {}
    return {key: text for key, text in scripts.items() if isinstance(text, str)}


def _find_make_recipe(program: Program, folder: Path) -> Recipe:
    """Only for one plain target without prerequisites, defined in the makefile itself."""
    targets = [word for word in program.args if not word.startswith("-") and "=" not in word]
    if len(targets) != 1 or len(targets) != len(program.args):
        return Recipe()
    text = next((content for name in _MAKEFILES if (content := _read_text(folder / name))), "")
    rules = [hit for hit in _RULE.finditer(text) if targets[0] in hit[1].split()]
    if len(rules) != 1 or rules[0][2].strip():
        return Recipe()
    lines = _recipe_lines(text[rules[0].end() :])
    if not lines:
        idle = f"the target {targets[0]!r} of the makefile has no command"
        return Recipe(idle_reason=idle) if targets[0] in _phony_targets(text) else Recipe()
    reasons = [_idle_line(line) for line in lines]
    idle = reasons[0] if all(reasons) else ""
    words = f"the target {targets[0]!r} of the makefile runs nothing: {idle}" if idle else ""
    return Recipe("\n".join(line.lstrip("@-+") for line in lines), words)


def _phony_targets(text: str) -> set[str]:
    """Targets that are not files: make does nothing for them unless they have a command."""
    return {name for hit in _PHONY.finditer(text) for name in hit[1].split()}


def _recipe_lines(text: str) -> list[str]:
    lines: list[str] = []
    for line in text.replace("\\\n", " ").split("\n")[1:]:
        if line.startswith("\t"):
            lines.append(line.strip())
        elif line.strip() and not line.startswith("#"):
            break
    return [line for line in lines if line]


def _idle_line(line: str) -> str:
    """make ignores the failure of a line that begins with a dash."""
    marks = line[: len(line) - len(line.lstrip("@-+ "))]
    return (
        f"`{line}` is ignored when it fails"
        if "-" in marks
        else why_vacuous_script(line.lstrip("@-+ "))
    )


def _read_text(file: Path) -> str:
    if file.is_symlink() or not file.is_file() or file.stat().st_size > TEXT_BYTES_MAX:
        return ""
    return file.read_text(encoding="utf-8", errors="replace")
