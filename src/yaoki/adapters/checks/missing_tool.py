"""Recognises a check that could not run: a tool is not installed, or the disk is full.

Only whole lines that launchers print count, and only if no tests ran: a test may print such lines
as well.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from yaoki.core.lazy_pattern import lazy_compile

# Modules that are run as checks; any other module may be what the task has to create.
_MODULES = frozenset(
    (
        *("pytest", "unittest", "nose2", "tox", "nox", "coverage", "behave", "robot"),
        *("mypy", "pyright", "basedpyright", "ruff", "flake8", "pylint", "pycodestyle"),
        *("pydocstyle", "pyflakes", "bandit", "black", "isort", "yapf", "build", "twine"),
    )
)
_MODULE = lazy_compile(
    r"(?:\S*/)?(?:python|pypy)[\w.]{0,12}(?:\.exe)?: No module named '?([\w.]{1,80})'?$"
)
_SHELL = lazy_compile(
    r"(?:\S*/)?(?:sh|bash|dash|zsh): (?:(?:line )?\d{1,6}: )?([^\s:]{1,100}): "
    r"(?:command )?not found$"
)
# Lines by which shells and launchers name a command that they did not find.
_NOT_FOUND = tuple(
    lazy_compile(shape)
    for shape in (
        r"(?:\S*/)?[\w.-]{1,40}: (?:(?:line )?\d{1,6}: )?([^\s:]{1,100}): (?:command )?not found$",
        r"(?:\S*/)?zsh:(?:\d{1,6}:)? command not found: (\S{1,100})$",
        r"(?:\S*/)?(?:env|xargs|make(?:\[\d{1,3}\])?|nice|timeout|nohup|exec): "
        r"(?:failed to run command )?[‘'`\"]?([^\s:‘’'`\"]{1,100})[’'`\"]?"
        r": No such file or directory$",
    )
)
_LAUNCHERS = tuple(
    lazy_compile(shape)
    for shape in (
        r"g?make(?:\[\d{1,3}\])?: \*\*\* \[[^\]]{0,300}\] Error 12[67]$",
        r"npm (?:ERR!|error) (?:npx )?canceled due to missing packages\b",
        r"npm (?:ERR!|error) could not determine executable to run$",
        r"error Command failed with exit code 127\.$",
        r"\s?ERR_PNPM_RECURSIVE_EXEC_FIRST_FAIL\s{1,4}Command \S{1,100} not found$",
        r"error: Failed to spawn: [`']?[^`'\s]{1,100}[`']?$",
        r"Command not found: \S{1,100}$",
        r"Error: the command \S{1,100} could not be found within PATH",
        r"bundler: command not found: \S{1,100}$",
        r"error: no such (?:sub)?command: [`'][^`']{1,100}[`']",
    )
)
# An error of a system call as programs print it; names of exceptions have capitals.
_NO_SPACE = lazy_compile(
    r"(?:[a-z][\w./+-]{0,100}: (?:[^\n]{0,300}: )?(?:No space left on device|Disk quota exceeded)"
    r"|(?:OSError|IOError): \[Errno (?:28|122)\] (?:No space left on device|Disk quota exceeded)"
    r"|(?:Error: )?ENOSPC: no space left on device\b)",
)
FULL_BYTES = 16 << 20


def find_missing_tool(lines: Iterable[str], words: Sequence[str]) -> str:
    """The line that reports a missing tool; empty if there is none.  `words`: the command."""
    return next((line for line in lines if _reports_missing_tool(line, words)), "")


def find_missing_command(lines: Sequence[str]) -> str:
    """The last command that a shell or a launcher did not find; empty if no line names one."""
    hits = (shape.match(line.strip()) for line in reversed(lines) for shape in _NOT_FOUND)
    return next((hit[1] for hit in hits if hit), "")


def _reports_missing_tool(line: str, words: Sequence[str]) -> bool:
    if hit := _MODULE.match(line):
        return hit[1].partition(".")[0] in _MODULES and hit[1] in words
    if hit := _SHELL.match(line):
        return hit[1] in words
    return any(shape.match(line) for shape in _LAUNCHERS)


def reports_no_space(lines: Iterable[str]) -> bool:
    return any(_NO_SPACE.match(line) for line in lines)


def is_disk_full(path: Path) -> bool:
    """Measured, because a test may print the words of a full disk."""
    try:
        return shutil.disk_usage(path).free < FULL_BYTES
    except OSError:
        return False
