"""go test, by its text and by its JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from yaoki.adapters.checks.readers.command_output import Output, Seen
from yaoki.adapters.checks.readers.entries import TEST, TYPE, Entry, Parsed, parsed, text
from yaoki.adapters.checks.readers.locations import stands

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


def go_text(output: Output) -> Parsed | None:
    builds = [entry for line in output.lines if (entry := _build(line))]
    packages = list(_packages(output.lines))
    return _told(packages, builds, output.seen)


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


def _build(line: str) -> Entry | None:
    hit = _BUILD.match(line)
    if hit is None:
        return None
    column = int(hit[3]) if hit[3] else None
    return Entry(message=hit[4], file=hit[1], line=int(hit[2]), column=column)


def _told(packages: list[_Package], builds: list[Entry], seen: Seen) -> Parsed | None:
    """Where nothing but the build failed, the compiler's words are the finding."""
    tests = [entry for package in packages for entry in _entries(package, builds, seen)]
    if builds and not any("::" in entry.name for entry in tests):
        return parsed(TYPE, builds)
    return parsed(TEST, tests)


def _entries(package: _Package, builds: list[Entry], seen: Seen) -> Iterator[Entry]:
    for test in dict.fromkeys(package.failed):
        if test and any(other.startswith(f"{test}/") for other in package.failed):
            continue  # it failed because a test below it did
        if test:
            yield _of_test(test, package, seen)
        else:
            yield replace(_of_package(package, builds), name=package.name)


def _of_package(package: _Package, builds: list[Entry]) -> Entry:
    said = package.said.get("", [])
    folder = package.name.rpartition("/")[2]
    mine = [entry for entry in builds if entry.file.split("/")[-2:-1] == [folder]]
    if mine:
        return replace(mine[0], message=f"does not build: {mine[0].message}")
    return Entry(message="\n".join(said[:3]) or "failed outside its tests")


def _of_test(test: str, package: _Package, seen: Seen) -> Entry:
    """`file.go:7: message`, or a panic."""
    name, said = "::".join(filter(None, (package.name, test))), package.said.get(test, [])
    for at, line in enumerate(said):
        if hit := _PLACE.match(line):
            message = "\n".join((hit[3], *said[at + 1 : at + 3]))
            return Entry(name, message, _file(package.name, hit[1], seen), int(hit[2]))
    trace = "\n".join(said)
    panic = next((line for line in said if line.startswith("panic: ")), "")
    return Entry(name, panic or "\n".join(said[:3]), trace=trace)


def _file(package: str, file: str, seen: Seen) -> str:
    """go names the file without its folder; the package's path ends in that folder."""
    parts = package.split("/")
    for start in range(max(0, len(parts) - 20), len(parts)):
        path = "/".join((*parts[start:], file))
        if stands(path, seen):
            return path
    return file


def go_json(output: Output) -> Parsed | None:
    events = [row for row in output.records if isinstance(row.get("Action"), str)]
    if not events:
        return None
    packages: dict[str, _Package] = {}
    builds: list[Entry] = []
    for event in events:
        words = text(event.get("Output")).rstrip("\n")
        if event["Action"] == "build-output" and (entry := _build(words)):
            builds.append(entry)
        name, test = text(event.get("Package")), text(event.get("Test"))
        package = packages.setdefault(name, _Package(name))
        if event["Action"] == "output":
            package.say(test, words)
        elif event["Action"] == "fail" and name and (test or not package.failed):
            package.failed.append(test)
    return _told(list(packages.values()), builds, output.seen)
