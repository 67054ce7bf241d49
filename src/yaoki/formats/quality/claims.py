"""Q1, Q5, Q6: compares what was promised or claimed with what exists."""

from __future__ import annotations

import re
from collections.abc import Callable

from yaoki.core.decide.exit_classification import NOTHING_CHANGED
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import TaskKind
from yaoki.formats.quality.claimed_files import PATHS_MAX, find_claimed_paths
from yaoki.formats.quality.model import ChangeContext

SAID_CHARS_MAX = 20_000
_DONE = lazy_compile(
    r"\ball (?:\d+ )?(?:the )?(?:unit |integration )?(?:tests|checks) (?:now )?(?:are )?"
    r"(?:pass|passed|passing|green)\b"
    r"|(?:^|[.!:\n]\s{0,4})(?:done|completed|finished|all done)\b(?=[.!,:\s]|\Z)"
    r"|\b(?:task|work|implementation|everything|changes?|feature|fix) (?:is|are|has been|have been)"
    r" (?:now )?(?:complete|completed|done|finished|implemented)\b"
    r"|\b(?:i have|i've|successfully) (?:successfully )?"
    r"(?:completed|implemented|finished|fixed|added|created|updated)\b"
    r"|(?:完了|実装|修正|対応)(?:し|いたし)ました|(?:完了|成功)です|テスト(?:は|が)?(?:すべて|全て)(?:通|成功|パス)",
    re.IGNORECASE,
)
_UNDONE = lazy_compile(
    r"\b(?:not|never|cannot|unable|failed|nothing|isn't|wasn't|couldn't|can't|without)\b|ません|できな|失敗",
    re.IGNORECASE,
)


def find_missing_files(
    claims: ChangeContext, changed: frozenset[str], exists: Callable[[str], bool]
) -> list[str]:
    """Q1: missing files that the plan expects or that the agent claims to have created."""
    expected = list(dict.fromkeys(path for path in claims.files_expected[:PATHS_MAX] if path))
    lost = [path for path in expected if not exists(path)]
    for path in dict.fromkeys(find_claimed_paths(claims.agent_output[-SAID_CHARS_MAX:])):
        if path not in expected and not exists(path) and not _is_changed_file(path, changed):
            lost.append(path)
    return lost


def _is_changed_file(path: str, changed: frozenset[str]) -> bool:
    """An agent often names a file by its last path parts only."""
    return any(known == path or known.endswith(f"/{path}") for known in changed)


def missing_evidence(claims: ChangeContext) -> str:
    """Q5: why nothing proves the task; empty when something does."""
    match claims.kind:
        case kind if kind.is_change and not claims.changed and claims.checks_passed is not True:
            return f"{NOTHING_CHANGED}, and the checks fail"
        case TaskKind.REPORT if not claims.changed and not claims.report.strip():
            return "there is no report"
        case _:
            return ""


def find_done_claim(claims: ChangeContext) -> str:
    """Q6: the claim of completion although nothing proves it; empty when there is none."""
    by_agent = claims.kind.is_change or claims.kind is TaskKind.REPORT
    if not by_agent or not missing_evidence(claims):
        return ""
    for line in reversed(claims.agent_output[-SAID_CHARS_MAX:].split("\n")):
        shown = line[-500:]
        if _DONE.search(shown) and not _UNDONE.search(shown):
            return shown.strip()
    return ""
