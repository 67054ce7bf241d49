"""Reuse of verdicts: a check that passed on the same inputs passes again (rule 17.5).

The key of a verdict has four parts: the files that the check may read, its definition, the set-up,
and the tools that it starts.  Only a pass is reused; in doubt the check runs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from yaoki.core.decide.baseline import KNOWN_FAILURES, command_key
from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.model import CheckSpec, CheckType, Finding, Outcome
from yaoki.core.model.check_definition import TreeView
from yaoki.core.scope import is_in_scope

# The params of a finding: the parts of its key, and the proof whose verdict it is.
VERDICT_KEY, REUSED_FROM = "verdictKey", "reusedFrom"
# A change of what a verdict means changes every key.
VERSION = "1"
# Words of a command that name one commit: its result is about that commit alone.
COMMIT_WORDS = ("{commit}", "{base}", "{worktree}")
PART_WORDS: Mapping[str, str] = {
    "inputs": "inputs",
    "definition": "definition",
    "setup": "set-up",
    "tools": "tools",
}
DIGEST_SHOWN = 8


@dataclass(frozen=True, slots=True)
class VerdictKey:
    """What a verdict depends on, each part as a digest."""

    inputs: str
    definition: str
    setup: str
    tools: str

    @property
    def parts(self) -> dict[str, str]:
        return {name: getattr(self, name) for name in PART_WORDS}

    @property
    def digest(self) -> str:
        return _digest(VERSION, *self.parts.values())


@dataclass(frozen=True, slots=True)
class VerdictOrigin:
    """The proof that a reused verdict comes from."""

    run_id: str
    task_id: str
    commit: str


def make_key(spec: CheckSpec, tree: TreeView, setup_key: str, tools: str) -> VerdictKey:
    return VerdictKey(
        identify_inputs(spec, tree), _digest(command_key(spec), spec.name), setup_key, tools
    )


def identify_inputs(spec: CheckSpec, tree: TreeView) -> str:
    """A digest of the files that the check sees, with their modes."""
    rows = sorted(
        f"{path}\0{blob}"
        for path, blob in tree.blob_ids.items()
        if not spec.inputs or is_in_scope(path, spec.inputs)
    )
    return _digest(*rows)


def depends_on_inputs_alone(spec: CheckSpec) -> bool:
    """May a verdict of this check be reused at all?"""
    words = (*spec.argv, spec.shell, *spec.env.values())
    names_commit = any(name in word for word in words for name in COMMIT_WORDS)
    return spec.type is CheckType.COMMAND and not names_commit


def is_reusable(finding: Finding) -> bool:
    """Only a plain pass that could have failed; a flaky one or known failures prove less."""
    return (
        finding.outcome is Outcome.PASSED
        and finding.can_fail
        and KNOWN_FAILURES not in finding.params
    )


def with_key(finding: Finding, key: VerdictKey) -> Finding:
    return replace(finding, params={**finding.params, VERDICT_KEY: key.parts})


def as_reused(finding: Finding, spec: CheckSpec, key: VerdictKey, origin: VerdictOrigin) -> Finding:
    """The stored finding as one of this check, on this commit, from that proof."""
    from_ = {"run": origin.run_id, "task": origin.task_id, "commit": origin.commit}
    return replace(
        finding,
        check=spec.name,
        required=spec.required,
        on_failure=spec.on_failure,
        params={**finding.params, VERDICT_KEY: key.parts, REUSED_FROM: from_},
        seconds=0.0,
        rerun_seconds=(),
        log="",
    )


def describe_key(key: Mapping[str, str]) -> str:
    """The parts of a key as people see them."""
    return ", ".join(f"{words} {key[name][:DIGEST_SHOWN]}" for name, words in PART_WORDS.items())


def describe_difference(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Why a verdict was not reused: the parts of the key that differ; empty if none does."""
    return ", ".join(
        f"{words} {before[name][:DIGEST_SHOWN]} -> {now[name][:DIGEST_SHOWN]}"
        for name, words in PART_WORDS.items()
        if before[name] != now[name]
    )


def _digest(*parts: str) -> str:
    held = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogateescape")
        held.update(f"{len(data)}\n".encode())
        held.update(data)
    return held.hexdigest()
