"""Named extractors of a steps registry: a name in the plan, a function of what a command left.

Own ones are added by the entry point group `yaoki.extractors`; they are called with
`CommandOutput`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Any

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
from yaoki.errors import Fault

GROUP = "yaoki.extractors"
DEPTH_MAX = 6

Extractor = Callable[[CommandOutput], Any]

_NO_FILE = re.compile(
    r"(?:cannot access |cannot stat |cannot open )?'?([^':]{1,300})'?: No such file"
)


def _lists(seen: CommandOutput, pattern: str, readers: Sequence[OutputReader]) -> Mapping[str, Any]:
    """The params of this pattern, from the first of these readers that finds any."""
    output = split_output(seen)
    report = read_report_or_none(seen)
    found: list[ParsedOutput | None] = [report] if report and report.pattern == pattern else []
    # What makes a reader fall is written down where all of them look.
    looks = (try_reader(reader, output, []) for reader in readers)
    found += [one for one in looks if one and one.pattern == pattern]
    return interpret_entries(
        next((one for one in found if one and one.entries), None), seen, pattern
    ).params


def _tests(seen: CommandOutput) -> Any:
    return _lists(seen, TEST_FAILED, choice.TEST_READERS)["failedTests"]


def _types(seen: CommandOutput) -> Any:
    return _lists(seen, TYPE_ERROR, (*choice.TYPE_READERS, arrow_text))["typeErrors"]


def _lints(seen: CommandOutput) -> Any:
    return _lists(seen, LINT_ERROR, (*choice.LINT_READERS, concise_text, arrow_text))["lintErrors"]


def _formats(seen: CommandOutput) -> Any:
    return _lists(seen, FORMAT_ERROR, (*choice.FORMAT_READERS, list_text))["unformattedFiles"]


def _git(name: str) -> Extractor:
    return lambda seen: _lists(seen, GIT_DIRTY, (git_status,))[name]


def _missing(seen: CommandOutput) -> Any:
    """What a file check did not find, else what the output says is not there."""
    if seen.missing:
        return _lists(seen, FILE_MISSING, ())["missingFiles"]
    hits = (_NO_FILE.search(line) for line in split_output(seen).lines)
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
    "missingPaths": _missing,
    "stdout": lambda seen: clip_ends(seen.stdout, seen),
    "stderr": lambda seen: clip_ends(seen.stderr, seen),
    "exitCode": lambda seen: seen.exit_code,
}


# These look for failures by name, in the output of a command that failed.
_LISTING = ("parseTestOutput", "parseTypeErrors", "parseLintErrors", "parseFormatOutput")


def _own() -> Mapping[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def extractor_names() -> tuple[str, ...]:
    return tuple(sorted({*EXTRACTORS, *_own()}))


def extractor_defect(name: str) -> str:
    """Why a plan may not ask for this extractor, or nothing."""
    return "" if name in EXTRACTORS or name in _own() else f"there is no extractor {name!r}"


def extract(wanted: Mapping[str, str], seen: CommandOutput) -> dict[str, Any]:
    """`{param: extractor}` as the registry has it, made into `{param: value}`, bounded.

    Where names of failures were asked for and none are found, all that was written goes along.
    """
    found = {
        param: bound_extracted_value(_call(name, seen), seen) for param, name in wanted.items()
    }
    lists = [found[param] for param, name in wanted.items() if name in _LISTING]
    if not lists or any(lists) or seen.exit_code == 0:
        return found
    texts = [param for param, name in wanted.items() if name in ("stdout", "stderr")]
    return {**found, **dict.fromkeys(texts or ("errorOutput",), describe_unread_output(seen))}


def _call(name: str, seen: CommandOutput) -> Any:
    """Built-in names win.  A foreign extractor that fails is our fault, not the agent's."""
    if name in EXTRACTORS:
        return EXTRACTORS[name](seen)
    own = _own().get(name)
    if own is None:
        raise Fault(f"there is no extractor {name!r}", transient=False)
    try:
        return own.load()(seen)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        raise Fault(f"extractor {name!r} failed: {said}", transient=False) from error


def bound_extracted_value(value: Any, seen: CommandOutput, depth: int = 0) -> Any:
    """JSON values only, short and few, whatever an extractor returned."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping) and depth < DEPTH_MAX:
        pairs = list(value.items())[:LIST_MAX]
        return {str(key)[:100]: bound_extracted_value(part, seen, depth + 1) for key, part in pairs}
    if isinstance(value, list | tuple) and depth < DEPTH_MAX:
        return [bound_extracted_value(part, seen, depth + 1) for part in value[:LIST_MAX]]
    return clip_ends(str(value), seen)
