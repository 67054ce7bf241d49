"""`python -m tests.mutants [PATH…]`: mutate the core, or some of its files, and show the table."""

from __future__ import annotations

import argparse
import ast
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.mutants.explanations import read, unneeded
from tests.mutants.mutations import Mutant, Source
from tests.mutants.runner import KILLED, Runner, run, say

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "src" / "yaoki" / "core"
TESTS = "tests/core"
EXPLAINED = ROOT / TESTS / "mutants-explained.toml"
SHARE_MIN = 85


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = _options(arguments)
    started = time.monotonic()
    sources = {source.module: source for source in map(_read, _files(chosen.path))}
    mutants = _sample([m for source in sources.values() for m in source.mutants()], chosen.sample)
    say(f"{len(mutants)} mutants in {len(sources)} modules")
    runner = Runner(sources, mutants, chosen.children)
    status = run(runner, chosen.tests)
    if runner.failed or len(runner.results) != len(mutants):
        say(f"mutants: {runner.failed or f'pytest ended with {status}'}")
        return 2
    return _tell(mutants, runner, time.monotonic() - started, whole=not chosen.sample)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python3 dev.py mutants", description=__doc__)
    parser.add_argument("path", nargs="*", type=Path, help="files or folders below src/yaoki/core")
    parser.add_argument("--sample", type=int, metavar="N", help="at most N mutants of each module")
    words = "the tests that must notice (%(default)s)"
    parser.add_argument("--tests", default=TESTS, metavar="PATH", help=words)
    cores = os.cpu_count() or 1
    parser.add_argument(
        "--children", type=int, default=cores, help="processes at once (%(default)s)"
    )
    return parser.parse_args(arguments)


def _files(paths: Sequence[Path]) -> list[Path]:
    found: set[Path] = set()
    for path in paths or [CORE]:
        where = path.resolve()
        if not where.exists() or not where.is_relative_to(CORE):
            sys.exit(
                f"mutants: {path} is not in {CORE.relative_to(ROOT)}; name a file or folder there"
            )
        found.update(where.rglob("*.py") if where.is_dir() else [where])
    return sorted(found)


def _read(file: Path) -> Source:
    return Source(str(file.relative_to(CORE)), str(file), ast.parse(file.read_text()))


def _sample(mutants: list[Mutant], most: int | None) -> list[Mutant]:
    """The same ones each time; in order, so that the tests of a function are tried together."""
    if not most:
        return mutants
    kept = set()
    for module in {mutant.module for mutant in mutants}:
        own = [at for at, mutant in enumerate(mutants) if mutant.module == module]
        kept.update(random.Random(module).sample(own, min(most, len(own))))
    return [mutants[at] for at in sorted(kept)]


# ------------------------------------------------------------------ the table


def _tell(mutants: Sequence[Mutant], runner: Runner, seconds: float, whole: bool) -> int:
    explanations = read(EXPLAINED)
    alive = [mutants[at] for at, result in sorted(runner.results.items()) if result != KILLED]
    open_ = [m for m in alive if not any(each.covers(m) for each in explanations)]
    for mutant in open_:
        print(f"src/yaoki/core/{mutant.module}:{mutant.line} {mutant.function}: {mutant.change}")
    modules = sorted({mutant.module for mutant in mutants})
    all_, left = Counter(m.module for m in mutants), Counter(m.module for m in alive)
    unexplained = Counter(m.module for m in open_)
    head = f"{'module':34}{'mutants':>9}{'killed':>9}{'survived':>10}{'explained':>11}{'share':>9}"
    print(f"\n{head}\n{'-' * len(head)}")
    for module in modules:
        print(_row(module, all_[module], left[module], unexplained[module]))
    print(f"{'-' * len(head)}\n{_row('all', len(mutants), len(alive), len(open_))}")
    print(f"\n{seconds / 60:.1f} minutes; {runner.timed_out} of the killed ran out of time")
    print(f"at least {SHARE_MIN} % must be killed")
    stale = unneeded(explanations, alive, modules) if whole else []
    for each in stale:
        print(f"explained but killed or gone: {each.module} {each.function}: {each.change}")
    return 1 if stale or _share(len(mutants) - len(alive), len(open_)) < SHARE_MIN else 0


def _row(name: str, mutants: int, alive: int, unexplained: int) -> str:
    killed, share = mutants - alive, _share(mutants - alive, unexplained)
    return f"{name:34}{mutants:9}{killed:9}{unexplained:10}{alive - unexplained:11}{share:8.1f} %"


def _share(killed: int, survived: int) -> float:
    """Of the mutants that can be killed."""
    return 100 * killed / (killed + survived) if killed + survived else 100.0


if __name__ == "__main__":
    sys.exit(main())
