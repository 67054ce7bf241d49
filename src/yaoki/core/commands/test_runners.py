"""Programs that run tests, recognised by name and arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from yaoki.core.commands.program import Program, find_programs, resolve_program

# The name of the output reader if there is one, else of the tool.
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
# With these no test runs: the command only builds or lists.
_BUILDS = frozenset({"--no-run", "-c", "-list", "--list"})
# Options that stop at the first failures, so later tests are unknown.
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
    """The test runner of this command; empty if it is none."""
    if program.module and program.name in _MODULES:
        return _MODULES[program.name]
    if program.name in {"go", "cargo"} and _BUILDS.intersection(program.args):
        return ""
    first = next((word for word in program.args if not word.startswith(("-", "+"))), "")
    second = "--test" if program.name == "node" and "--test" in program.args else first
    return _TWO.get((program.name, second), "") or _ONE.get(program.name, "")


def find_test_runners(argv: Sequence[str], shell: str) -> tuple[str, ...]:
    """Every test runner that a command starts directly, not through a script."""
    return tuple(name for program in find_programs(argv, shell) if (name := test_runner(program)))


def stop_at_first_failure(argv: Sequence[str]) -> tuple[str, ...]:
    """The command with the option that ends it at the first failure, where that is safe to add."""
    program = resolve_program(argv)
    option = {"pytest": "-x", "unittest": "-f"}.get(test_runner(program) if argv else "", "")
    if not option or "--" in argv or fail_fast_option(argv, ""):
        return tuple(argv)
    return (*argv, option)


def fail_fast_option(argv: Sequence[str], shell: str) -> str:
    """The option that makes a runner stop at a failure; empty if there is none."""
    for program in find_programs(argv, shell):
        stop_options = _STOPS.get(test_runner(program), ())
        for word in program.args:
            if word.partition("=")[0] in stop_options:
                return word
    return ""
