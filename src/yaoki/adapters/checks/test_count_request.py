"""A runner is asked to name its tests although nobody wrote so, so that they are counted.

Without it an exit code is all there is: `--collect-only` in a settings file, or a module that ends
the process with zero, would pass for tests that ran.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from yaoki.core.commands.program import Program, resolve_program
from yaoki.core.commands.shell import SimpleCommand, parse_shell
from yaoki.core.commands.test_runners import test_runner
from yaoki.core.model import CheckSpec

REPORT_OPTION = ("--junit-xml", "{report}")
SHELL_REPORT_OPTION = ' --junit-xml "$YAOKI_REPORT"'
# Whoever asks for one of these wants no tests to run, or has a report already.
_OTHERWISE = (
    *("--junit", "--collect", "--help", "-h", "--version", "-V", "--fixtures", "--markers"),
    *("--setup-plan", "--setup-only", "--cache-show", "no:junitxml", "-pno:junitxml"),
)
# Of these `-v` names every test, and changes nothing else.
_VERBOSE = {"unittest": ("-v", "--verbose", "-q", "--quiet"), "doctest": ("-v", "-q")}
_OWN = ("-v", "-json", "-test.v", "--json", "-c", "-exec")


def request_test_count(spec: CheckSpec) -> CheckSpec:
    """The same check, with a report or with names if nothing in it speaks against."""
    words = spec.argv or _one_command(spec.shell)
    if spec.success != "exitCode:0" or "--" in words or not words:
        return spec
    program = resolve_program(words)
    match test_runner(program):
        case "pytest" if not _otherwise(program.args):
            if spec.shell:
                return replace(spec, shell=spec.shell.rstrip() + SHELL_REPORT_OPTION)
            return replace(spec, argv=(*spec.argv, *REPORT_OPTION))
        case "unittest" | "doctest" if program.module and spec.argv:
            return _verbose(spec, program)
        case "go" if spec.argv and program.name == "go" and not set(_OWN) & set(program.args):
            at = spec.argv.index("test") + 1
            return replace(spec, argv=(*spec.argv[:at], "-v", *spec.argv[at:]))
        case _:
            return spec


def _otherwise(args: Sequence[str]) -> bool:
    return "--co" in args or any(word.startswith(_OTHERWISE) for word in args)


def _verbose(spec: CheckSpec, program: Program) -> CheckSpec:
    """doctest takes every word behind the first file for another one."""
    if set(_VERBOSE[program.name]) & set(program.args) or "-h" in program.args:
        return spec
    if program.name == "unittest":
        return replace(spec, argv=(*spec.argv, "-v"))
    at = spec.argv.index("doctest") + 1
    return replace(spec, argv=(*spec.argv[:at], "-v", *spec.argv[at:]))


def _one_command(shell: str) -> tuple[str, ...]:
    """The words of a text that is one plain command, to which an option can be added."""
    items = parse_shell(shell).items
    plain = not any(mark in shell for mark in "#\\\n<>|&;")
    if not plain or len(items) != 1 or items[0][0].rest or items[0][1]:
        return ()
    (node, *more) = items[0][0].first.parts
    return node.words if isinstance(node, SimpleCommand) and not more else ()
