"""Adds an option to a test command so that the runner names its tests and they can be counted.

By the exit code alone, `--collect-only` in a settings file, or a module that ends the process with
zero, would count as passing tests.
"""

from __future__ import annotations

from collections.abc import Sequence

from yaoki.core.commands.program import Program, resolve_program
from yaoki.core.commands.shell import SimpleCommand, parse_shell
from yaoki.core.commands.test_runners import test_runner
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import CheckSpec

REPORT_OPTION = ("--junit-xml", "{report}")
SHELL_REPORT_OPTION = ' --junit-xml "$YAOKI_REPORT"'
# With one of these options no tests should run, or there is a report already.
_EXCLUDING_OPTIONS = (
    *("--junit", "--collect", "--help", "-h", "--version", "-V", "--fixtures", "--markers"),
    *("--setup-plan", "--setup-only", "--cache-show", "no:junitxml", "-pno:junitxml"),
)
# For these runners `-v` names every test and changes nothing else.
_VERBOSE_OPTIONS = {"unittest": ("-v", "--verbose", "-q", "--quiet"), "doctest": ("-v", "-q")}
_GO_OPTIONS = ("-v", "-json", "-test.v", "--json", "-c", "-exec")


def request_test_count(spec: CheckSpec) -> CheckSpec:
    """The check with a report or with test names added, where no option of it forbids that."""
    words = spec.argv or _split_single_command(spec.shell)
    if spec.success != "exitCode:0" or "--" in words or not words:
        return spec
    program = resolve_program(words)
    match test_runner(program):
        case "pytest" if not _excludes_report(program.args):
            if spec.shell:
                return replace(spec, shell=spec.shell.rstrip() + SHELL_REPORT_OPTION)
            return replace(spec, argv=(*spec.argv, *REPORT_OPTION))
        case "unittest" | "doctest" if program.module and spec.argv:
            return _add_verbose(spec, program)
        case "go" if (
            spec.argv and program.name == "go" and not set(_GO_OPTIONS) & set(program.args)
        ):
            at = spec.argv.index("test") + 1
            return replace(spec, argv=(*spec.argv[:at], "-v", *spec.argv[at:]))
        case _:
            return spec


def _excludes_report(args: Sequence[str]) -> bool:
    return "--co" in args or any(word.startswith(_EXCLUDING_OPTIONS) for word in args)


def _add_verbose(spec: CheckSpec, program: Program) -> CheckSpec:
    """`-v` goes first: doctest takes every word after the first file for another file."""
    if set(_VERBOSE_OPTIONS[program.name]) & set(program.args) or "-h" in program.args:
        return spec
    if program.name == "unittest":
        return replace(spec, argv=(*spec.argv, "-v"))
    at = spec.argv.index("doctest") + 1
    return replace(spec, argv=(*spec.argv[:at], "-v", *spec.argv[at:]))


def _split_single_command(shell: str) -> tuple[str, ...]:
    """The words of a shell text that is one plain command; empty for any other text."""
    items = parse_shell(shell).items
    plain = not any(mark in shell for mark in "#\\\n<>|&;")
    if not plain or len(items) != 1 or items[0][0].rest or items[0][1]:
        return ()
    (node, *more) = items[0][0].first.parts
    return node.words if isinstance(node, SimpleCommand) and not more else ()
