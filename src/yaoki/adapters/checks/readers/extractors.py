"""Extractors: functions of the output of a command, which a plan uses by name.

Other packages add extractors by the entry point group `yaoki.extractors`; they get a
`CommandOutput`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from yaoki.adapters.checks.readers import choice
from yaoki.adapters.checks.readers.command_output import CommandOutput, split_output
from yaoki.adapters.checks.readers.diagnostics import arrow_text, concise_text
from yaoki.adapters.checks.readers.entries import (
    FILE_MISSING,
    FORMAT_ERROR,
    GIT_DIRTY,
    LINT_ERROR,
    TEST_FAILED,
    TYPE_ERROR,
    OutputReader,
    ParsedOutput,
    try_reader,
)
from yaoki.adapters.checks.readers.formatters import list_text
from yaoki.adapters.checks.readers.git_status import git_status
from yaoki.adapters.checks.readers.interpretation import (
    LIST_MAX,
    clip_ends,
    describe_unread_output,
    interpret_entries,
)
from yaoki.adapters.checks.readers.report import read_report_or_none
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.errors import Fault

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "yaoki.extractors"
DEPTH_MAX = 6

Extractor = Callable[[CommandOutput], Any]

_NO_FILE = lazy_compile(
    r"(?:cannot access |cannot stat |cannot open )?'?([^':]{1,300})'?: No such file"
)


def _read_params(
    command: CommandOutput, pattern: str, readers: Sequence[OutputReader]
) -> Mapping[str, Any]:
    """The params of this pattern, from the first reader that finds any."""
    output = split_output(command)
    report = read_report_or_none(command)
    results: list[ParsedOutput | None] = [report] if report and report.pattern == pattern else []
    # Errors of readers are recorded by `interpret_output`, which runs all of them.
    looks = (try_reader(reader, output, []) for reader in readers)
    results += [result for result in looks if result and result.pattern == pattern]
    return interpret_entries(
        next((result for result in results if result and result.entries), None), command, pattern
    ).params


def _tests(command: CommandOutput) -> Any:
    return _read_params(command, TEST_FAILED, choice.TEST_READERS)["failedTests"]


def _types(command: CommandOutput) -> Any:
    return _read_params(command, TYPE_ERROR, (*choice.TYPE_READERS, arrow_text))["typeErrors"]


def _lints(command: CommandOutput) -> Any:
    return _read_params(command, LINT_ERROR, (*choice.LINT_READERS, concise_text, arrow_text))[
        "lintErrors"
    ]


def _formats(command: CommandOutput) -> Any:
    return _read_params(command, FORMAT_ERROR, (*choice.FORMAT_READERS, list_text))[
        "unformattedFiles"
    ]


def _git(name: str) -> Extractor:
    return lambda command: _read_params(command, GIT_DIRTY, (git_status,))[name]


def _list_missing_files(command: CommandOutput) -> Any:
    """The paths that a file check did not find, otherwise those that the output calls missing."""
    if command.missing:
        return _read_params(command, FILE_MISSING, ())["missingFiles"]
    hits = (_NO_FILE.search(line) for line in split_output(command).lines)
    paths = dict.fromkeys(hit[1].rpartition(": ")[2].strip(" '") for hit in hits if hit)
    return list(paths)


EXTRACTORS: Mapping[str, Extractor] = {
    "parseTestOutput": _tests,
    "parseTypeErrors": _types,
    "parseLintErrors": _lints,
    "parseFormatOutput": _formats,
    "parseChangedFiles": _git("changedFiles"),
    "parseUntrackedFiles": _git("untrackedFiles"),
    "parseStagedFiles": _git("stagedFiles"),
    "missingPaths": _list_missing_files,
    "stdout": lambda command: clip_ends(command.stdout, command),
    "stderr": lambda command: clip_ends(command.stderr, command),
    "exitCode": lambda command: command.exit_code,
}


# These list failures by name, in the output of a failed command.
_LISTING = ("parseTestOutput", "parseTypeErrors", "parseLintErrors", "parseFormatOutput")


def _installed_extractors() -> Mapping[str, EntryPoint]:
    from importlib.metadata import entry_points  # slow to import

    return {entry.name: entry for entry in entry_points(group=GROUP)}


def extractor_names() -> tuple[str, ...]:
    return tuple(sorted({*EXTRACTORS, *_installed_extractors()}))


def extract(extractors: Mapping[str, str], command: CommandOutput) -> dict[str, Any]:
    """Turns `{param: extractor}` of the plan into `{param: value}`, bounded.

    If names of failures are wanted but none are found, the raw output is added.
    """
    values = {
        param: bound_extracted_value(_call(name, command), command)
        for param, name in extractors.items()
    }
    lists = [values[param] for param, name in extractors.items() if name in _LISTING]
    if not lists or any(lists) or command.exit_code == 0:
        return values
    texts = [param for param, name in extractors.items() if name in ("stdout", "stderr")]
    return {**values, **dict.fromkeys(texts or ("errorOutput",), describe_unread_output(command))}


def _call(name: str, command: CommandOutput) -> Any:
    """Built-in names take precedence.  A failing extractor is not a failure of the agent."""
    if name in EXTRACTORS:
        return EXTRACTORS[name](command)
    entry_point = _installed_extractors().get(name)
    if entry_point is None:
        raise Fault(f"there is no extractor {name!r}", transient=False)
    try:
        return entry_point.load()(command)
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        raise Fault(f"extractor {name!r} failed: {message}", transient=False) from error


def bound_extracted_value(value: Any, command: CommandOutput, depth: int = 0) -> Any:
    """JSON values only, bounded in length and number."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping) and depth < DEPTH_MAX:
        pairs = list(value.items())[:LIST_MAX]
        return {
            str(key)[:100]: bound_extracted_value(part, command, depth + 1) for key, part in pairs
        }
    if isinstance(value, list | tuple) and depth < DEPTH_MAX:
        return [bound_extracted_value(part, command, depth + 1) for part in value[:LIST_MAX]]
    return clip_ends(str(value), command)
