"""What is behind `npm test` and `make test`: a script that only prints runs no tests."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from yaoki.core.commands.program import Program, find_programs
from yaoki.core.commands.vacuous_checks import why_vacuous_script
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import CheckSpec

TEXT_BYTES_MAX = 1 << 20
_MANAGERS = frozenset({"npm", "pnpm", "yarn", "bun"})
# Scripts that a manager runs without `run` before their names.
_SHORT = frozenset({"test", "start", "t", "tst"})
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_PHONY = re.compile(r"^\.PHONY *:([^#\n]*)", re.MULTILINE)
_RULE = re.compile(r"^([\w./ -]{1,200}?) *::?(?!=)([^#\n]*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Recipe:
    """The commands behind a name, and why they cannot fail; both empty where nobody can tell."""

    text: str = ""
    idle_reason: str = ""


NO_RECIPE = Recipe()


def find_recipe(spec: CheckSpec, worktree: Path) -> Recipe:
    """Of a check that is one call of a script by its name."""
    if spec.type != "command" or worktree == Path():
        return Recipe()
    found = find_programs(spec.argv, spec.shell)
    if len(found) != 1 or spec.success != "exitCode:0":
        return Recipe()
    folder = worktree / spec.cwd
    if found[0].name in _MANAGERS:
        return _npm(found[0], folder)
    return _make(found[0], folder) if found[0].name in {"make", "gmake"} else Recipe()


def _npm(program: Program, folder: Path) -> Recipe:
    name = _script(program)
    scripts = _scripts(folder)
    text = scripts.get(name, "")
    if not name or not text:
        return Recipe()
    every = "\n".join(scripts.get(key, "") for key in (f"pre{name}", name, f"post{name}"))
    why = why_vacuous_script(f"set -e\n{every}")
    return Recipe(text, f"the script {name!r} of package.json runs nothing: {why}" if why else "")


def _script(program: Program) -> str:
    words = [word for word in program.args if not word.startswith("-")]
    if program.args[:1] and program.args[0].startswith("-"):
        return ""
    if words[:1] in (["run"], ["run-script"]):
        return words[1] if len(words) > 1 else ""
    if program.name == "bun":
        return ""
    short = words[0] if words else ""
    known = short in _SHORT or program.name in {"yarn", "pnpm"}
    return {"t": "test", "tst": "test"}.get(short, short) if known else ""


def _scripts(folder: Path) -> Mapping[str, str]:
    try:
        document = json.loads(_text(folder / "package.json") or "{}")
    except (ValueError, RecursionError):
        return {}
    held = document.get("scripts") if isinstance(document, dict) else None
    if not isinstance(held, dict):
        return {}
    return {key: text for key, text in held.items() if isinstance(text, str)}


def _make(program: Program, folder: Path) -> Recipe:
    """One plain target without prerequisites, whose lines stand in the makefile itself."""
    targets = [word for word in program.args if not word.startswith("-") and "=" not in word]
    if len(targets) != 1 or len(targets) != len(program.args):
        return Recipe()
    text = next((held for name in _MAKEFILES if (held := _text(folder / name))), "")
    rules = [hit for hit in _RULE.finditer(text) if targets[0] in hit[1].split()]
    if len(rules) != 1 or rules[0][2].strip():
        return Recipe()
    lines = _lines(text[rules[0].end() :])
    if not lines:
        idle = f"the target {targets[0]!r} of the makefile has no command"
        return Recipe(idle_reason=idle) if targets[0] in _phony(text) else Recipe()
    why = [_idle_line(line) for line in lines]
    idle = why[0] if all(why) else ""
    words = f"the target {targets[0]!r} of the makefile runs nothing: {idle}" if idle else ""
    return Recipe("\n".join(line.lstrip("@-+") for line in lines), words)


def _phony(text: str) -> set[str]:
    """Targets that are no files: without a command of their own nothing is done for them."""
    return {name for hit in _PHONY.finditer(text) for name in hit[1].split()}


def _lines(text: str) -> list[str]:
    lines: list[str] = []
    for line in text.replace("\\\n", " ").split("\n")[1:]:
        if line.startswith("\t"):
            lines.append(line.strip())
        elif line.strip() and not line.startswith("#"):
            break
    return [line for line in lines if line]


def _idle_line(line: str) -> str:
    """make goes on behind a line that begins with a dash, whatever it did."""
    marks = line[: len(line) - len(line.lstrip("@-+ "))]
    return (
        f"`{line}` is ignored when it fails"
        if "-" in marks
        else why_vacuous_script(line.lstrip("@-+ "))
    )


def _text(file: Path) -> str:
    if file.is_symlink() or not file.is_file() or file.stat().st_size > TEXT_BYTES_MAX:
        return ""
    return file.read_text(encoding="utf-8", errors="replace")
