"""Which rules of the specification have a test: `python -m tests.spec_coverage`.

A test names the rules it proves, `@pytest.mark.spec("4.3")`, on a function, a
class, a parameter or a whole module (`pytestmark`).  Without `--rules` every
rule that docs/rules.md does not list as planned must have one.  The files are
read, not imported, so a test that cannot start still counts; that it passes is
pytest's business.
"""

import argparse
import ast
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
RULES = ROOT / "docs" / "rules.md"
HEADING = re.compile(r"^### (\d+(?:\.\d+)?) (.+)$", re.MULTILINE)
PLANNED = re.compile(r"^\| (\d+\.\d+) \| (.+) \|$", re.MULTILINE)


class SpecInvalid(Exception):
    """A rule is named that does not exist, or not in a form that can be read."""


def read_built(file: Path) -> dict[str, str]:
    """Rules that are built, each with its title, in the order of the page."""
    return dict(HEADING.findall(file.read_text(encoding="utf-8")))


def read_rules(file: Path) -> dict[str, str]:
    """All rules with their titles: the built ones, then the planned ones."""
    return read_built(file) | dict(PLANNED.findall(file.read_text(encoding="utf-8")))


def select(words: Iterable[str], rules: Iterable[str]) -> list[str]:
    """The rules meant by the words: `2.1` is itself, `3` all of section 3."""
    known = list(rules)
    meant: set[str] = set()
    for word in words:
        found = {rule for rule in known if rule == word or rule.startswith(f"{word}.")}
        if not found:
            raise SpecInvalid(f"no rule {word!r} in {RULES.name}")
        meant |= found
    return [rule for rule in known if rule in meant]


def marks(node: ast.AST, file: Path) -> Iterator[str]:
    """Rules named by every `pytest.mark.spec(...)` in a piece of code."""
    for call in ast.walk(node):
        match call:
            case ast.Call(ast.Attribute(ast.Attribute(_, "mark"), "spec"), arguments):
                for argument in arguments:
                    if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
                        raise SpecInvalid(f"{file}:{call.lineno}: name a rule as a plain string")
                    yield argument.value
            case _:
                pass


def module_marks(body: Sequence[ast.stmt], file: Path) -> frozenset[str]:
    """What `pytestmark = ...` says of all tests beside it."""
    found: set[str] = set()
    for statement in body:
        match statement:
            case ast.Assign([ast.Name("pytestmark")], value) | ast.AnnAssign(
                ast.Name("pytestmark"), _, ast.expr() as value
            ):
                found.update(marks(value, file))
            case _:
                pass
    return frozenset(found)


def rules_of_tests(
    body: Sequence[ast.stmt], file: Path, inherited: frozenset[str] = frozenset()
) -> Iterator[frozenset[str]]:
    """For each test, the rules it names itself or by its class or module."""
    around = inherited | module_marks(body, file)
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            own = (rule for decorator in node.decorator_list for rule in marks(decorator, file))
            named = around.union(own)
            if isinstance(node, ast.ClassDef):
                yield from rules_of_tests(node.body, file, named)
            elif node.name.startswith("test_"):
                yield named


def count_tests(files: Iterable[Path], rules: Iterable[str]) -> Counter[str]:
    """How many tests name each rule.  An unknown rule is refused."""
    known = set(rules)
    counts: Counter[str] = Counter()
    for file in files:
        for named in rules_of_tests(ast.parse(file.read_text(encoding="utf-8")).body, file):
            if unknown := named - known:
                raise SpecInvalid(f"{file}: no rule {', '.join(sorted(unknown))} in {RULES.name}")
            counts.update(named)
    return counts


def show(chosen: Sequence[str], rules: dict[str, str], counts: Counter[str]) -> bool:
    """Print the table and the missing rules; return whether none is missing."""
    for rule in chosen:
        print(f"{rule:>6} {counts[rule]:4} tests  {rules[rule]}")
    missing = [rule for rule in chosen if not counts[rule]]
    print(f"\n{len(chosen) - len(missing)} of {len(chosen)} rules have a test")
    if missing:
        print("\nrules without a test:")
        for rule in missing:
            print(f"{rule:>6}  {rules[rule]}")
    return not missing


def show_unbuilt(unbuilt: Sequence[str], rules: dict[str, str], counts: Counter[str]) -> None:
    """Print the rules that are not asked for yet; some may have a test already."""
    if unbuilt:
        print("\nnot built yet:")
    for rule in unbuilt:
        tested = f" ({counts[rule]} tests)" if counts[rule] else ""
        print(f"{rule:>6}  {rules[rule]}{tested}")


def report(words: str | None, tests: Path) -> bool:
    """Hold the tests against the chosen rules; true when each has one."""
    rules = read_rules(RULES)
    chosen = list(read_built(RULES)) if words is None else select(words.split(), rules)
    if not chosen:
        raise SpecInvalid("no rule chosen: nothing checked is nothing proven")
    counts = count_tests(sorted(tests.rglob("test_*.py")), rules)
    complete = show(chosen, rules, counts)
    if words is None:
        show_unbuilt([rule for rule in rules if rule not in set(chosen)], rules, counts)
    return complete


def show_titles(words: Sequence[str]) -> None:
    rules = read_rules(RULES)
    for rule in select(words, rules):
        print(f"{rule:>6}  {rules[rule]}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.spec_coverage", description=__doc__)
    parser.add_argument("--rules", help='limit to these, e.g. "0 1 2.1"; a section means all of it')
    parser.add_argument("--tests", type=Path, default=ROOT / "tests", help="the folder to read")
    parser.add_argument("--titles", nargs="+", metavar="RULE", help="only print these titles")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.titles:
            show_titles(chosen.titles)
            return 0
        return 0 if report(chosen.rules, chosen.tests) else 1
    except SpecInvalid as fault:
        print(f"spec coverage: {fault}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
