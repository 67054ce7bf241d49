"""The proof of each landed task, and how to verify it with git."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yaoki.core.text import format_count
from yaoki.report.markup import Html, tag
from yaoki.report.page_parts import task_title
from yaoki.report.wording import format_duration, one_line_text
from yaoki.views.outcomes import outcome_numbers

PROOFS_MAX, CHECKS_MAX = 200, 30
Data = Mapping[str, Any]
OUTCOMES = {"PASSED": "good", "FLAKY": "wait", "WAIVED": "wait", "SKIPPED": "calm"}


def proofs_section(report: Data) -> Html:
    proven = [task for task in report["tasks"] if task["proof"]]
    left = len(proven) - PROOFS_MAX
    more = f"… {left:,} more, all listed in the receipt" if left > 0 else None
    return tag(
        "section",
        tag("h2", "Proof", tag("small", "what each landed commit was checked with")),
        [_proof(task) for task in proven[:PROOFS_MAX]],
        tag("p", more, class_="more") if more else None,
        _receipt(report),
    )


def _proof(task: Data) -> Html:
    proof = task["proof"]
    checks = proof["checks"]
    good = sum(check["outcome"] in {"PASSED", "FLAKY"} for check in checks)
    words = f"{good} of {format_count(len(checks), 'check')} passed"
    waived = sum(check["outcome"] == "WAIVED" for check in checks)
    flaky = sum(check["outcome"] == "FLAKY" for check in checks)
    words += f", {flaky} only the second time" if flaky else ""
    words += f", {waived} waived by a person" if waived else ""
    more = len(checks) - CHECKS_MAX
    how = {"IN_GROUP": "landed with its group", "UNCHANGED": "nothing to change"}.get(proof["how"])
    return tag(
        "details",
        tag(
            "summary",
            tag("b", task_title(task)),
            tag("code", proof["commit"][:12]),
            tag("span", words),
            tag("span", how) if how else None,
        ),
        _pairs(
            ("commit", proof["commit"]),
            ("verified tree", proof["tree"]) if proof["tree"] else None,
            ("on top of", proof["onto"]),
        ),
        [_check(check) for check in checks[:CHECKS_MAX]],
        tag("p", f"… {format_count(more, 'more check')}") if more > 0 else None,
    )


def _check(check: Data) -> Html:
    said = check["outcome"] + outcome_numbers(check["tests"], check["known_failures"])
    outcome = tag("span", said, class_=f"state {OUTCOMES.get(check['outcome'], 'bad')}")
    versions = ", ".join(f"{name} {told}" for name, told in check["versions"].items())
    code = check["exit_code"]
    outputs = [
        (
            f"{output['file'].rpartition('/')[2]}, {format_count(output['bytes'], 'byte')}",
            output["sha256"],
        )
        for output in check["outputs"]
    ]
    return tag(
        "div",
        tag(
            "p",
            tag("b", one_line_text(check["check"], 80)),
            outcome,
            None if check["required"] else "optional",
        ),
        _pairs(
            ("it ran", one_line_text(check["command"], 300)) if check["command"] else None,
            ("exit code", str(code)) if code is not None else None,
            ("took", format_duration(check["seconds"])) if check["seconds"] else None,
            ("versions", versions) if versions else None,
            ("it said", one_line_text(check["message"], 300)) if check["message"] else None,
            ("identity", check["identity"]) if check["identity"] else None,
            *outputs,
        ),
        class_="check",
    )


def _pairs(*pairs: tuple[str, str] | None) -> Html:
    held = [pair for pair in pairs if pair is not None]
    cells = [(tag("dt", name), tag("dd", tag("code", value))) for name, value in held]
    return tag("dl", cells, class_="pairs")


def _receipt(report: Data) -> Html:
    run, receipt = report["run"], report.get("receipt")
    held = [
        ("base", run["base"]),
        ("head", run["head"]),
        ("plan", f"sha256 {report['plan']['sha256']}"),
    ]
    if receipt:
        held.append(("receipt", f"sha256 {receipt['digest']}"))
    pairs = _pairs(*((name, value) for name, value in held if value))
    if not receipt:
        return tag("div", tag("h3", "The whole run"), pairs, class_="ask")
    file = f"{run['run']}.receipt.json"
    commands = f"yaoki report {run['run']} --receipt {file}\nyaoki verify {file}"
    return tag(
        "div",
        tag("p", "You need not trust this page: the receipt can be verified with git alone."),
        tag("pre", tag("code", commands)),
        pairs,
        class_="whole",
    )
