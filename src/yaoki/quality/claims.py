"""Q1, Q5, Q6: what was promised or said, against what is there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from yaoki.core.model import TaskKind
from yaoki.quality.languages import language_of
from yaoki.quality.model import Claims

SAID_CHARS_MAX = 20_000
PATHS_MAX = 100
_CREATED = re.compile(
    r"\b(?:created|added|wrote|written|new files?|generated|implemented in)\b"
    r"|を?(?:新規)?(?:作成|追加|生成)し",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"\b(?:not|never|no|would|could|should|will|can|cannot|removed|deleted|temporary|temp|todo|next|if"
    r"|instead|example|reverted|previously|already)\b|n't\b|ません|なかった|削除|予定|一時",
    re.IGNORECASE,
)
_PATH = re.compile(
    r"`([^`\s]{1,200})`|(?<![\w/.:@~-])([\w.-]{1,80}(?:/[\w.@+-]{1,80}){1,12})(?![\w/])"
)
_PLAIN = re.compile(r"(?!/|~|\.\.?/\.\.)(?:\./)?[\w@+-][\w.@+/-]{0,180}\.[A-Za-z][A-Za-z0-9]{0,9}")
_HEADING = re.compile(r"[^:：]{0,60}[:：]\**\s{0,4}\Z")
_BULLET = re.compile(r"\s{0,8}(?:[-*•]|\d{1,3}[.)])\s")
_DONE = re.compile(
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
_UNDONE = re.compile(
    r"\b(?:not|never|cannot|unable|failed|nothing|isn't|wasn't|couldn't|can't|without)\b|ません|できな|失敗",
    re.IGNORECASE,
)


def missing_files(
    claims: Claims, changed: frozenset[str], exists: Callable[[str], bool]
) -> list[str]:
    """Q1: files the plan expects, and files the agent says it made, that are not there."""
    expected = list(dict.fromkeys(path for path in claims.files_expected[:PATHS_MAX] if path))
    lost = [path for path in expected if not exists(path)]
    for path in dict.fromkeys(_said_paths(claims.said[-SAID_CHARS_MAX:])):
        if path not in expected and not exists(path) and not _meant(path, changed):
            lost.append(path)
    return lost


def _meant(path: str, changed: frozenset[str]) -> bool:
    """An agent often names a file by its last parts only."""
    return any(known == path or known.endswith(f"/{path}") for known in changed)


def _said_paths(said: str) -> Iterator[str]:
    """One path for every line that claims one: careful rather than complete."""
    count, listing = 0, False
    for line in (long[:500] for long in said.split("\n")):
        verb, bullet = _CREATED.search(line), _BULLET.match(line)
        if line.strip() and not bullet:
            listing = bool(verb and _HEADING.match(line) and not _DENIED.search(line))
        claims = verb is not None or (listing and bullet is not None)
        if claims and count < PATHS_MAX and not _DENIED.search(line):
            # In English the file follows the verb, in Japanese and in lists it comes first.
            after = verb.end() if verb and verb[0].isascii() and not listing else 0
            found = list(_paths_in(line[after:]))[:1]
            count += len(found)
            yield from found


def _paths_in(line: str) -> Iterator[str]:
    for hit in _PATH.finditer(line):
        path = (hit[1] or hit[2].rstrip(".")).removeprefix("./")
        # `os.path` is a name; without a folder only a known ending makes it a file.
        if _PLAIN.fullmatch(path) and ("/" in path or language_of(path) is not None):
            yield path


def evidence_missing(claims: Claims) -> str:
    """Q5: why nothing here proves the task; empty when something does."""
    match claims.kind:
        case TaskKind.CHANGE if not claims.changed and claims.checks_passed is not True:
            return "nothing was changed, and the checks do not pass without a change"
        case TaskKind.REPORT if not claims.changed and not claims.report.strip():
            return "there is no report"
        case _:
            return ""


def claimed_done(claims: Claims) -> str:
    """Q6: the words that claim completion although nothing proves it; empty when there are none."""
    if claims.kind not in {TaskKind.CHANGE, TaskKind.REPORT} or not evidence_missing(claims):
        return ""
    for line in reversed(claims.said[-SAID_CHARS_MAX:].split("\n")):
        shown = line[-500:]
        if _DONE.search(shown) and not _UNDONE.search(shown):
            return shown.strip()
    return ""
