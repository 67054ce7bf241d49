"""Findings of hidden checks name the behaviour that fails, never an expected value (rule 17.2)."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from yaoki.core.decide.baseline import KNOWN_FAILURES
from yaoki.core.decide.verdict_reuse import REUSED_FROM, VERDICT_KEY
from yaoki.core.decide.waived_failures import WAIVED_FOR, describe_waiver
from yaoki.core.lazy_dataclass import replace
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import CheckSpec, Finding, FindingItem, Outcome
from yaoki.core.text import format_count, list_some

NAMES_SHOWN = 5
# The param of a finding that identifies the hidden files, or says that there are none.
HIDDEN_DIGEST, WITHOUT_FILES = "hiddenDigest", "no files"
# Digests and names of commits and tasks show nothing of the files.
KEPT_PARAMS = (VERDICT_KEY, REUSED_FROM, WAIVED_FOR)
# A parametrized test has its values in its name: `test_add[2-3-5]`.
_VALUES = lazy_compile(r"[\[({<][\s\S]*")


def conceal_details(finding: Finding, spec: CheckSpec) -> Finding:
    """The finding without output, messages of tests, places and values."""
    if spec.hidden is None:
        return finding
    names = list(dict.fromkeys(filter(None, (name_behaviour(i.name) for i in finding.items))))
    params = {key: value for key, value in finding.params.items() if type(value) in {int, bool}}
    params.update({key: finding.params[key] for key in KEPT_PARAMS if key in finding.params})
    if known := finding.params.get(KNOWN_FAILURES):
        params[KNOWN_FAILURES] = [name_behaviour(name) for name in known]
    return replace(
        finding,
        message=_describe(finding, names),
        items=tuple(FindingItem(name) for name in names),
        params={**params, HIDDEN_DIGEST: spec.hidden.digest or WITHOUT_FILES},
        output="",
        fault="its output was not understood" if finding.fault else "",
        passing_tests=(),
        failing_tests=(),
        unlisted=(),
    )


def name_behaviour(test: str) -> str:
    """The name of a test without its file and its values."""
    named = _VALUES.sub("", test)
    return (named.partition("::")[2] or named).strip()


def keep_declared(test: str, declared: Collection[str]) -> str:
    """The name of a test as far as the hidden files define it, part by part; empty if they do not.

    Subtests of Go follow a slash; those of other runners have the values in their own name.
    """
    parts = [part.partition("/")[0].strip() for part in name_behaviour(test).split("::")]
    return "::".join(parts) if all(part in declared for part in parts) else ""


def _describe(finding: Finding, names: Iterable[str]) -> str:
    shown = list(names)
    tasks = ", ".join(finding.params.get(WAIVED_FOR, ()))
    match finding.outcome:
        case Outcome.FAILED | Outcome.SKIPPED:
            fails = format_count(len(shown), "behaviour", "behaviours")
            which = f": {fails}: {list_some(shown, NAMES_SHOWN)}" if shown else ""
            waived = f"has failed since {tasks} landed, for which a person waived it"
            verb = waived if tasks else "fails"
            return f"the hidden check {verb}{which}; its tests and its output are not shown"
        case Outcome.WAIVED if tasks:
            return describe_waiver(finding)
        case Outcome.BROKEN:
            return f"the hidden check could not run{_why_broken(finding)}"
        case _:
            return ""


def _why_broken(finding: Finding) -> str:
    """A fault before its command started says nothing about its tests."""
    if finding.exit_code is None and not finding.output:
        return f": {finding.message}"
    return " because of a temporary fault" if finding.transient else "; see its log"
