"""Which programs run tests, by name and by their arguments; pure knowledge of foreign tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from yaoki.core.commands.program import Program, find_programs

# The reader's name where there is one, else the tool's.
_ONE: Mapping[str, str] = {
    "pytest": "pytest",
    "py.test": "pytest",
    "jest": "jest",
    "vitest": "vitest",
    "mocha": "mocha",
    "_mocha": "mocha",
    "ava": "ava",
    "tape": "tap",
    "bats": "tap",
    "prove": "tap",
    "gotestsum": "go",
    "cargo-nextest": "cargo",
    "rspec": "rspec",
    "phpunit": "phpunit",
    "nose2": "unittest",
}
_MODULES: Mapping[str, str] = {"unittest": "unittest", "doctest": "doctest"}
_TWO: Mapping[tuple[str, str], str] = {
    ("go", "test"): "go",
    ("cargo", "test"): "cargo",
    ("cargo", "nextest"): "cargo",
    ("deno", "test"): "deno",
    ("bun", "test"): "bun",
    ("node", "--test"): "node",
    ("mix", "test"): "mix",
    ("dotnet", "test"): "dotnet",
}
# With these no test is meant to run: the command only builds, or tells.
_BUILDS = frozenset({"--no-run", "-c", "-list", "--list"})
# They stop at the first failures, so what comes behind is not known.
_STOPS: Mapping[str, tuple[str, ...]] = {
    "pytest": ("-x", "--exitfirst", "--maxfail"),
    "unittest": ("-f", "--failfast"),
    "jest": ("-b", "--bail"),
    "vitest": ("--bail",),
    "mocha": ("-b", "--bail"),
    "ava": ("--fail-fast",),
    "go": ("-failfast", "--failfast"),
    "rspec": ("--fail-fast",),
    "phpunit": ("--stop-on-failure", "--stop-on-error", "--stop-on-defect"),
    "doctest": ("-f",),
    "bun": ("--bail",),
    "deno": ("--fail-fast",),
}


def test_runner(program: Program) -> str:
    """The runner of tests that this is, or nothing."""
    if program.module and program.name in _MODULES:
        return _MODULES[program.name]
    if program.name in {"go", "cargo"} and _BUILDS.intersection(program.args):
        return ""
    first = next((word for word in program.args if not word.startswith(("-", "+"))), "")
    second = "--test" if program.name == "node" and "--test" in program.args else first
    return _TWO.get((program.name, second), "") or _ONE.get(program.name, "")


def find_test_runners(argv: Sequence[str], shell: str) -> tuple[str, ...]:
    """Every runner that a command starts by itself, not through a script."""
    return tuple(name for program in find_programs(argv, shell) if (name := test_runner(program)))


def fail_fast_option(argv: Sequence[str], shell: str) -> str:
    """The option by which a runner stops at a failure, or nothing."""
    for program in find_programs(argv, shell):
        wanted = _STOPS.get(test_runner(program), ())
        for word in program.args:
            if word.partition("=")[0] in wanted:
                return word
    return ""
