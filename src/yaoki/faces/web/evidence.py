"""The evidence of an attempt as a part of its document; lists are cut to what a person reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from yaoki.views.proof_evidence import HiddenCheckEvidence, MutantEvidence, ProofEvidence

if TYPE_CHECKING:
    from yaoki.core.model import FindingItem
    from yaoki.views.documents import Document

LIST_MAX = 20


def evidence_document(evidence: ProofEvidence) -> Document:
    red, tell_tales = evidence.red_first, evidence.tell_tales
    return {
        "commit": evidence.commit or None,
        "red_first": {
            "asked": red.is_asked,
            "required": red.is_required,
            "outcome": red.outcome or None,
            **_cut("tests", red.tests),
            "reason": red.reason or None,
        },
        "hidden_checks": [_hidden_check(one) for one in evidence.hidden_checks],
        "mutants": _mutants(evidence.mutants),
        "tell_tales": {
            "outcome": tell_tales.outcome or None,
            **_cut("places", [_place(item) for item in tell_tales.places]),
        },
        "indistinct": evidence.is_indistinct,
    }


def _hidden_check(one: HiddenCheckEvidence) -> Document:
    return {
        "check": one.check,
        "required": one.is_required,
        "outcome": one.outcome or None,
        "digest": one.digest or None,
    }


def _mutants(mutants: MutantEvidence) -> Document:
    return {
        "asked": mutants.is_asked,
        "required": mutants.is_required,
        "outcome": mutants.outcome or None,
        "counts": asdict(mutants.counts) if mutants.counts else None,
        **_cut("survivors", [_place(item) for item in mutants.survivors]),
        "reason": mutants.reason or None,
    }


def _place(item: FindingItem) -> Document:
    return {"where": item.name, "words": item.message}


def _cut(name: str, values: Sequence[Any]) -> Document:
    return {name: list(values[:LIST_MAX]), f"{name}_left_out": max(0, len(values) - LIST_MAX)}
