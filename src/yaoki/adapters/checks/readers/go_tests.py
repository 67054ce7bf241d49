"""go test, by its text and by its JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import field, replace

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
from yaoki.core.lazy_dataclass import dataclass

_END = re.compile(r" *--- (FAIL|PASS|SKIP): (\S{1,400}) \(")
_RUN = re.compile(r"=== (?:RUN|CONT|NAME)\s{1,4}(\S{1,400})")
_PACKAGE = re.compile(r"(?:FAIL|ok  )\t(\S{1,400})(?:\t| )(.{0,200})$")
_PLACE = re.compile(r"\s*([\w.-]{1,200}\.go):(\d{1,7}): (.*)$")
_BUILD = re.compile(r"(?:vet: )?([\w./@+-]{1,300}\.go):(\d{1,7}):(?:(\d{1,7}):)? (.{1,1000})$")
_NOISE = ("=== ", "--- ", "FAIL", "exit status ", "goroutine ", "ok  \t")


@dataclass(slots=True)
class _Package:
    """The tests of one package as they went by."""

    name: str = ""
    failed: list[str] = field(default_factory=list)
    said: dict[str, list[str]] = field(default_factory=dict)

    def say(self, test: str, line: str) -> None:
        said = self.said.setdefault(test, [])
        if len(said) < 50 and line.strip() and not line.strip().startswith(_NOISE):
            said.append(line)


def go_text(output: OutputLines) -> ParsedOutput | None:
    builds = [entry for line in output.lines if (entry := _build(line))]
    packages = list(_packages(output.lines))
    return _told(packages, builds, output.source)


def _packages(lines: Iterable[str]) -> Iterator[_Package]:
    package, current = _Package(), ""
    for line in lines:
        if hit := _PACKAGE.match(line):
            package.name = hit[1]
            if "[build failed]" in line or "[setup failed]" in line:
                package.failed, package.said = [""], {"": []}
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
            package.say(current, line)
    if package.failed:
        yield package


def _build(line: str) -> OutputEntry | None:
    hit = _BUILD.match(line)
    if hit is None:
        return None
    column = int(hit[3]) if hit[3] else None
    return OutputEntry(message=hit[4], file=hit[1], line=int(hit[2]), column=column)


def _told(
    packages: list[_Package], builds: list[OutputEntry], seen: CommandOutput
) -> ParsedOutput | None:
    """Where nothing but the build failed, the compiler's words are the finding."""
    tests = [entry for package in packages for entry in _entries(package, builds, seen)]
    if builds and not any("::" in entry.name for entry in tests):
        return collect_entries(TYPE_ERROR, builds)
    return collect_entries(TEST_FAILED, tests)


def _entries(
    package: _Package, builds: list[OutputEntry], seen: CommandOutput
) -> Iterator[OutputEntry]:
    for test in dict.fromkeys(package.failed):
        if test and any(other.startswith(f"{test}/") for other in package.failed):
            continue  # it failed because a test below it did
        if test:
            yield _of_test(test, package, seen)
        else:
            yield replace(_of_package(package, builds), name=package.name)


def _of_package(package: _Package, builds: list[OutputEntry]) -> OutputEntry:
    said = package.said.get("", [])
    folder = package.name.rpartition("/")[2]
    mine = [entry for entry in builds if entry.file.split("/")[-2:-1] == [folder]]
    if mine:
        return replace(mine[0], message=f"does not build: {mine[0].message}")
    return OutputEntry(message="\n".join(said[:3]) or "failed outside its tests")


def _of_test(test: str, package: _Package, seen: CommandOutput) -> OutputEntry:
    """`file.go:7: message`, or a panic."""
    name, said = "::".join(filter(None, (package.name, test))), package.said.get(test, [])
    for at, line in enumerate(said):
        if hit := _PLACE.match(line):
            message = "\n".join((hit[3], *said[at + 1 : at + 3]))
            return OutputEntry(name, message, _file(package.name, hit[1], seen), int(hit[2]))
    trace = "\n".join(said)
    panic = next((line for line in said if line.startswith("panic: ")), "")
    return OutputEntry(name, panic or "\n".join(said[:3]), trace=trace)


def _file(package: str, file: str, seen: CommandOutput) -> str:
    """go names the file without its folder; the package's path ends in that folder."""
    parts = package.split("/")
    for start in range(max(0, len(parts) - 20), len(parts)):
        path = "/".join((*parts[start:], file))
        if is_worktree_file(path, seen):
            return path
    return file


def go_json(output: OutputLines) -> ParsedOutput | None:
    events = [row for row in output.json_records if isinstance(row.get("Action"), str)]
    if not events:
        return None
    packages: dict[str, _Package] = {}
    builds: list[OutputEntry] = []
    for event in events:
        words = text_or_empty(event.get("Output")).rstrip("\n")
        if event["Action"] == "build-output" and (entry := _build(words)):
            builds.append(entry)
        name, test = text_or_empty(event.get("Package")), text_or_empty(event.get("Test"))
        package = packages.setdefault(name, _Package(name))
        if event["Action"] == "output":
            package.say(test, words)
        elif event["Action"] == "fail" and name and (test or not package.failed):
            package.failed.append(test)
    return _told(list(packages.values()), builds, output.source)
