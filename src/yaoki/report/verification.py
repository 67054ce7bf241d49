"""Verifies a receipt with git alone; each condition is one line, green or red."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.text import format_count
from yaoki.ports import BranchStep
from yaoki.report import canonical
from yaoki.report.receipt import FORM, ON_BRANCH, SCHEMA, GitFacts
from yaoki.report.receipt_shape import shape_defects
from yaoki.views.outcomes import mutant_numbers

PLACES_SHOWN = 20
PASSING_OUTCOMES = frozenset({"PASSED", "FLAKY", "WAIVED"})
MeasureOutput = Callable[[str], Mapping[str, Any] | None]
Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class VerificationResult:
    """One verified condition.  `ok` is None when it could not be verified, which is no failure."""

    name: str
    ok: bool | None
    words: str
    places: tuple[str, ...] = ()


def verify_receipt(
    data: bytes, git: GitFacts, *, ref: str = "", measure: MeasureOutput
) -> list[VerificationResult]:
    """Verify every condition; conditions that cannot hold after a failed one are left out."""
    receipt = canonical.parse_receipt(data)
    if isinstance(receipt, canonical.UnreadableReceipt):
        return [VerificationResult("form", False, "this is not a receipt", (receipt.reason,))]
    inside = receipt.get("receipt") if "form" not in receipt else None
    if isinstance(inside, dict):
        # In a whole report, only the receipt is verified.
        receipt, data = inside, b""
    wrong = shape_defects(receipt, FORM, SCHEMA)
    if wrong:
        return [
            VerificationResult("form", False, "this is not a receipt of this version", tuple(wrong))
        ]
    lines = [*_digests(data, receipt), *_verify_with_git(git, receipt, ref), _proofs(receipt)]
    return [*lines, _outputs(receipt, measure)]


def verification_result(
    name: str, good: str, bad: str, places: Sequence[str]
) -> VerificationResult:
    """A passed result without defects, else a failed one with the first of them."""
    if not places:
        return VerificationResult(name, True, good)
    shown = tuple(places[:PLACES_SHOWN])
    left = len(places) - len(shown)
    return VerificationResult(name, False, bad, (*shown, f"and {left} more") if left else shown)


# ------------------------------------------------------------------ the file itself


def _digests(data: bytes, receipt: Data) -> Iterator[VerificationResult]:
    misprint = canonical.find_misprint(data, receipt) if data else ""
    words = "written in the canonical form" if data else "a report; only its receipt is verified"
    yield verification_result(
        "form", words, "not in the canonical form", [misprint] if misprint else []
    )
    body = {key: value for key, value in receipt.items() if key != canonical.DIGEST}
    places = [
        _entry_name(name, n, part)
        for name in canonical.LISTS
        for n, part in enumerate(receipt[name], start=1)
        if part[canonical.PART_DIGEST] != canonical.entry_digest(part)
    ]
    whole = canonical.receipt_digest(body)
    if receipt[canonical.DIGEST] != whole and not places:
        places = [f"outside {' and '.join(canonical.LISTS)}: the digest is {whole}"]
    good = f"sha256 {whole}"
    yield verification_result("digest", good, "the receipt was changed after it was made", places)


def _entry_name(name: str, n: int, part: Data) -> str:
    return f"{name} {n}: {part.get('name') or part.get('task') or part['commit'][:12]}"


# ------------------------------------------------------------------ git


def _verify_with_git(git: GitFacts, receipt: Data, ref: str) -> Iterator[VerificationResult]:
    base, head = receipt["base"]["commit"], receipt["head"]["commit"]
    parts = [receipt["base"], receipt["head"], *receipt["line"], *receipt["landed"]]
    tree_of = git.trees(list({part["commit"] for part in parts}))
    missing = [part for part in parts if part["commit"] not in tree_of]
    good = f"all {len(tree_of)} are in this repository"
    lost = sorted({f"{part['commit']} is not here" for part in missing})
    yield verification_result("commits", good, "some are missing", lost)
    yield _all_trees(parts, tree_of, len(missing))
    if base not in tree_of or head not in tree_of:
        yield VerificationResult("line", None, "not verified: base or head is missing here")
        return
    steps = git.first_parents(base, head)
    good = f"{format_count(len(steps), 'step')} from base to head, the same in the same order"
    yield verification_result(
        "line", good, "the steps of the run branch differ", list(_order(receipt, steps))
    )
    inside = git.reachable(base, head) | {base}
    good = f"{format_count(len(receipt['landed']), 'task')}, each at its recorded step"
    yield verification_result(
        "landed", good, "a task did not land at its recorded step", list(_landed(receipt, inside))
    )
    yield _reference(git, receipt["run_branch"], head, ref)


def _all_trees(
    parts: Sequence[Data], tree_of: Mapping[str, str], missing: int
) -> VerificationResult:
    """The trees of the commits that exist here; a missing commit proves nothing."""
    result = verification_result(
        "trees", "each commit has the tree that was proven", *_trees(parts, tree_of)
    )
    if result.ok and missing:
        here = len({part["commit"] for part in parts} & tree_of.keys())
        return VerificationResult(
            "trees",
            None,
            f"correct for the {here} commits that exist here; the others could not be verified",
        )
    return result


def _trees(parts: Sequence[Data], tree_of: Mapping[str, str]) -> tuple[str, list[str]]:
    wrong = [
        f"{part['commit']} has the tree {tree_of[part['commit']]}, not {part['tree']}"
        for part in parts
        if part["commit"] in tree_of and part["tree"] != tree_of[part["commit"]]
    ]
    return "a commit has another tree", sorted(set(wrong))


def _order(receipt: Data, steps: Sequence[BranchStep]) -> Iterator[str]:
    """Defects in the first-parent order: every step, and no other."""
    before, recorded = receipt["base"]["commit"], receipt["line"]
    if len(steps) != len(recorded):
        yield f"git has {len(steps)} steps, the receipt {len(recorded)}"
    for n, (step, part) in enumerate(zip(steps, recorded, strict=False), start=1):
        if step.commit != part["commit"]:
            yield f"line {n}: git has {step.commit}, the receipt {part['commit']}"
            return
        if step.parent != before:
            yield f"line {n}: {step.commit} does not follow {before}"
        if (step.task or None, list(step.undoes)) != (part["task"], _undone_by(part)):
            yield f"line {n}: the message of {step.commit} names {step.task or 'no task'}"
        if list(step.companions) != _companions(part):
            yield f"line {n}: {step.commit} landed with other tasks than the receipt says"
        if part["what"] == "LANDED" and step.run != receipt["run"]:
            yield f"line {n}: the message of {step.commit} names run {step.run or 'none'}"
        before = step.commit
    if before != receipt["head"]["commit"]:
        yield f"the line ends at {before}, not at the head"


def _landed(receipt: Data, inside: frozenset[str]) -> Iterator[str]:
    """Every landing that was not undone has its task, and every task its landing."""
    undone = {commit for part in receipt["line"] for commit in _undone_by(part)}
    places = {
        commit: (n, task)
        for n, part in enumerate(receipt["line"], start=1)
        for task, commit in _landings_of(part)
    }
    landings = {commit: task for commit, (_, task) in places.items() if commit not in undone}
    for n, part in enumerate(receipt["landed"], start=1):
        name, on_branch = _entry_name("landed", n, part), part["how"] in ON_BRANCH
        if part["commit"] not in inside:
            yield f"{name}: {part['commit']} is not between base and head"
        elif on_branch and landings.pop(part["commit"], "") != part["task"]:
            yield f"{name}: {part['commit']} is not the commit that landed it"
        elif part["step"] != (places[part["commit"]][0] if on_branch else None):
            yield f"{name}: {part['commit']} is not step {part['step']}"
    yield from (
        f"{task} landed as {commit}, which the receipt does not list"
        for commit, task in landings.items()
    )


def _landings_of(step: Data) -> list[tuple[str, str]]:
    """The tasks that a step landed, with their commits."""
    own = [(step["task"], step["commit"])] if step["what"] == "LANDED" else []
    return [*own, *_companions(step)]


def _undone_by(step: Data) -> list[str]:
    """The landings that a step reverts; older receipts have one for each step."""
    return [step["undoes"], *step.get("also_undoes", ())] if step["undoes"] else []


def _companions(step: Data) -> list[tuple[str, str]]:
    return [(part["task"], part["commit"]) for part in step.get("with", ())]


def _reference(git: GitFacts, branch: str, head: str, ref: str) -> VerificationResult:
    """The named ref, else the run branch; if that is deleted, any ref that contains the head."""
    wanted_ref = ref or f"refs/heads/{branch}"
    names = git.refs_containing(head, wanted_ref)
    if not names and not ref and not git.trees([wanted_ref]):
        names, wanted_ref = git.refs_containing(head, ""), "any branch or tag"
    if not names:
        return VerificationResult(
            "ref", False, "no ref contains the head", (f"{wanted_ref} does not contain {head}",)
        )
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return VerificationResult("ref", True, f"{names[0]}{more} contains the head {head[:12]}")


# ------------------------------------------------------------------ what it says of the checks


def _proofs(receipt: Data) -> VerificationResult:
    """Tasks in the receipt whose checks do not prove them."""
    bad = []
    for n, part in enumerate(receipt["landed"], start=1):
        red = [c["check"] for c in part["checks"] if c["required"] and not _landings(c)]
        if red or not any(check["outcome"] in PASSING_OUTCOMES for check in part["checks"]):
            why = f"{', '.join(red)} did not pass" if red else "no check passed"
            bad.append(f"{_entry_name('landed', n, part)}: {why}")
    waived = sum(c["outcome"] == "WAIVED" for part in receipt["landed"] for c in part["checks"])
    words = "every landed task has passing checks"
    if waived:
        words = f"every required check of a landed task passed, or a person waived it ({waived})"
    words += _mutant_words(receipt) + _quarantine_words(receipt)
    return verification_result("checks", words, "a task is not proven", bad)


def _mutant_words(receipt: Data) -> str:
    """The mutants of all landed tasks together."""
    checks = (check for part in receipt["landed"] for check in part["checks"])
    numbers = [check["mutants"] for check in checks if "mutants" in check]
    both = {name: sum(one[name] for one in numbers) for name in ("killed", "survived")}
    return mutant_numbers(both) if numbers else ""


def _quarantine_words(receipt: Data) -> str:
    """The number of checks that passed only because a quarantine excused a flaky test."""
    checks = (check for part in receipt["landed"] for check in part["checks"])
    excused = sum("quarantined" in check for check in checks)
    return f", {format_count(excused, 'check')} with failures in quarantine" if excused else ""


def _landings(check: Data) -> bool:
    return check["outcome"] in PASSING_OUTCOMES or check["outcome"] == "SKIPPED"


def _outputs(receipt: Data, measure: MeasureOutput) -> VerificationResult:
    """The stored outputs of checks, where they exist; a receipt does not need them."""
    recorded = [
        o for part in receipt["landed"] for check in part["checks"] for o in check["outputs"]
    ]
    outputs = [(output, measure(output["file"])) for output in recorded]
    here = [(output, measured) for output, measured in outputs if measured is not None]
    wrong = [
        f"{output['file']} is not what the check wrote"
        for output, measured in here
        if (measured["bytes"], measured["sha256"]) != (output["bytes"], output["sha256"])
    ]
    if not here:
        return VerificationResult(
            "outputs", None, f"none of the {len(recorded)} outputs is stored here"
        )
    good = f"{len(here)} of {len(recorded)} outputs of checks are stored here and unchanged"
    return verification_result("outputs", good, "an output was changed", wrong)
