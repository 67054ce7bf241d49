"""The worst case: how often an agent can run for one task, computed from the settings alone."""

from __future__ import annotations

from dataclasses import dataclass

from yaoki.core.model import CONTENT, Kind, Policy, Spec, TaskKind


@dataclass(frozen=True, slots=True)
class Bound:
    """`content` runs answer for the work; `repeats` are runs that failed through no fault of it."""

    content: int
    repeats: int
    interruptions: int

    @property
    def total(self) -> int:
        return self.content + self.repeats + self.interruptions


def worst_case(spec: Spec) -> Bound:
    """Agent runs without a person's answer; each answer grants as many again."""
    if spec.kind is TaskKind.CHECK:
        return Bound(0, 0, 0)
    policy = spec.policy
    content = 1 + min(policy.content_retries_max, sum(_most(policy, kind) for kind in CONTENT))
    others = set(policy.rules) - CONTENT - {Kind.LOST}
    repeats = sum(_most(policy, kind) for kind in others)
    # The total of failed attempts is bounded as well; an interruption is not one.
    total = min(content + repeats, policy.total_attempts_max)
    return Bound(min(content, total), max(0, total - content), _most(policy, Kind.LOST))


def _most(policy: Policy, kind: Kind) -> int:
    rule = policy.rules.get(kind)
    return rule.retries_max if rule else 0
