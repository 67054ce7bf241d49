"""Text and JSON output of go test."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field

from yaoki.adapters.checks.readers.command_output import CommandOutput, OutputLines
from yaoki.adapters.checks.readers.entries import (
    TEST_FAILED,
    TYPE_ERROR,
    OutputEntry,
    ParsedOutput,
    collect_entries,
    text_or_empty,
)
from yaoki.adapters.checks.readers.locations import is_worktree_file
from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.lazy_pattern import lazy_compile

_END = lazy_compile(r" *--- (FAIL|PASS|SKIP): (\S{1,400}) \(")
_RUN = lazy_compile(r"=== (?:RUN|CONT|NAME)\s{1,4}(\S{1,400})")
_PACKAGE = lazy_compile(r"(?:FAIL|ok  )\t(\S{1,400})(?:\t| )(.{0,200})$")
_PLACE = lazy_compile(r"\s*([\w.-]{1,200}\.go):(\d{1,7}): (.*)$")
_BUILD = lazy_compile(r"(?:vet: )?([\w./@+-]{1,300}\.go):(\d{1,7}):(?:(\d{1,7}):)? (.{1,1000})$")
_NOISE = ("=== ", "--- ", "FAIL", "exit status ", "goroutine ", "ok  \t")


@dataclass(slots=True)
class _Package:
    """The tests of one package and their output."""

    name: str = ""
    failed: list[str] = field(default_factory=list)
    output: dict[str, list[str]] = field(default_factory=dict)

    def add_output(self, test: str, line: str) -> None:
        lines = self.output.setdefault(test, [])
        if len(lines) < 50 and line.strip() and not line.strip().startswith(_NOISE):
            lines.append(line)


def go_text(output: OutputLines) -> ParsedOutput | None:
    builds = [entry for line in output.lines if (entry := _parse_build_error(line))]
    packages = list(_packages(output.lines))
    return _collect(packages, builds, output.source)


def _packages(lines: Iterable[str]) -> Iterator[_Package]:
    package, current = _Package(), ""
    for line in lines:
        if hit := _PACKAGE.match(line):
            package.name = hit[1]
            if "[build failed]" in line or "[setup failed]" in line:
                package.failed, package.output = [""], {"": []}
            elif line.startswith("FAIL") and not package.failed:
                package.failed = [""]
            yield package
            package, current = _Package(), ""
        elif hit := _END.match(line):
            current = hit[2]
            if hit[1] == "FAIL":
                package.failed.append(current)
        elif hit := _RUN.match(line):
            current = hit[1]
        else:
            package.add_output(current, line)
    if package.failed:
        yield package


def _parse_build_error(line: str) -> OutputEntry | None:
    hit = _BUILD.match(line)
    if hit is None:
        return None
    column = int(hit[3]) if hit[3] else None
    return OutputEntry(message=hit[4], file=hit[1], line=int(hit[2]), column=column)


def _collect(
    packages: list[_Package], builds: list[OutputEntry], command: CommandOutput
) -> ParsedOutput | None:
    """Collect failing tests, or the errors of the compiler if only the build failed."""
    tests = [entry for package in packages for entry in _entries(package, builds, command)]
    if builds and not any("::" in entry.name for entry in tests):
        return collect_entries(TYPE_ERROR, builds)
    return collect_entries(TEST_FAILED, tests)


def _entries(
    package: _Package, builds: list[OutputEntry], command: CommandOutput
) -> Iterator[OutputEntry]:
    for test in dict.fromkeys(package.failed):
        if test and any(other.startswith(f"{test}/") for other in package.failed):
            continue  # it failed because of a subtest
        if test:
            yield _test_entry(test, package, command)
        else:
            yield replace(_package_entry(package, builds), name=package.name)


def _package_entry(package: _Package, builds: list[OutputEntry]) -> OutputEntry:
    lines = package.output.get("", [])
    folder = package.name.rpartition("/")[2]
    own_builds = [entry for entry in builds if entry.file.split("/")[-2:-1] == [folder]]
    if own_builds:
        return replace(own_builds[0], message=f"does not build: {own_builds[0].message}")
    return OutputEntry(message="\n".join(lines[:3]) or "failed outside its tests")


def _test_entry(test: str, package: _Package, command: CommandOutput) -> OutputEntry:
    """`file.go:7: message`, or a panic."""
    name, lines = "::".join(filter(None, (package.name, test))), package.output.get(test, [])
    for at, line in enumerate(lines):
        if hit := _PLACE.match(line):
            message = "\n".join((hit[3], *lines[at + 1 : at + 3]))
            return OutputEntry(
                name, message, _find_file(package.name, hit[1], command), int(hit[2])
            )
    trace = "\n".join(lines)
    panic = next((line for line in lines if line.startswith("panic: ")), "")
    return OutputEntry(name, panic or "\n".join(lines[:3]), trace=trace)


def _find_file(package: str, file: str, command: CommandOutput) -> str:
    """go prints the file without its folder; the path of the package ends with that folder."""
    parts = package.split("/")
    for start in range(max(0, len(parts) - 20), len(parts)):
        path = "/".join((*parts[start:], file))
        if is_worktree_file(path, command):
            return path
    return file


def go_json(output: OutputLines) -> ParsedOutput | None:
    events = [row for row in output.json_records if isinstance(row.get("Action"), str)]
    if not events:
        return None
    packages: dict[str, _Package] = {}
    builds: list[OutputEntry] = []
    for event in events:
        text = text_or_empty(event.get("Output")).rstrip("\n")
        if event["Action"] == "build-output" and (entry := _parse_build_error(text)):
            builds.append(entry)
        name, test = text_or_empty(event.get("Package")), text_or_empty(event.get("Test"))
        package = packages.setdefault(name, _Package(name))
        if event["Action"] == "output":
            package.add_output(test, text)
        elif event["Action"] == "fail" and name and (test or not package.failed):
            package.failed.append(test)
    return _collect(list(packages.values()), builds, output.source)
