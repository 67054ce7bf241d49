"""The result file that an agent may write: a claim, never a proof."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum, unique
from pathlib import Path
from typing import Any

from yaoki.adapters.system.files import read_plain_bytes
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.text import replace_lone_surrogates
from yaoki.ports import outbox

RESULT = "result.json"
BYTES_MAX = 64 * 1024
TEXT_MAX = 4000
WAIT_MAX_S = 30 * 24 * 3600.0
EXCERPT_CHARS = 400


@unique
class ResultStatus(StrEnum):
    """The agent's own claim.  CONFLICT: the task and its checks contradict each other."""

    NONE = ""
    FAILED = "failed"
    CONFLICT = "conflict"
    QUESTION = "question"
    DONE = "done"


STATUSES = tuple(status for status in ResultStatus if status)
_STATUS_LIST = f"{', '.join(STATUSES[:-1])} or {STATUSES[-1]}"


@dataclass(frozen=True, slots=True)
class AgentResult:
    """`defect`: why a part of the file was ignored, or all of it if `unreadable`.

    Fail closed: a file that cannot be understood counts as `failed`.
    """

    status: ResultStatus = ResultStatus.NONE
    summary: str = ""
    question: str = ""
    retry_safe: bool = True
    retry_after: timedelta | None = None
    defect: str = ""
    unreadable: bool = False

    @property
    def failed(self) -> bool:
        return self.status is ResultStatus.FAILED or bool(self.defect)

    @property
    def contradiction(self) -> str:
        """The contradiction between the task and its checks, as the agent describes it;
        else empty.
        """
        return self.summary if self.status is ResultStatus.CONFLICT else ""


def read_result(folder: Path) -> AgentResult:
    """The result of the agent; for an unreadable file `defect` says why."""
    raw = read_plain_bytes(outbox(folder) / RESULT, BYTES_MAX + 1)
    if not raw:
        return AgentResult()
    if len(raw) > BYTES_MAX:
        return _make_unreadable(raw, f"{RESULT} is longer than {BYTES_MAX} bytes")
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError):
        return _make_unreadable(raw, f"{RESULT} is not JSON")
    if not isinstance(document, dict):
        return _make_unreadable(raw, f"{RESULT} is not an object")
    return _parse_result(document)


def _parse_result(document: Mapping[str, Any]) -> AgentResult:
    word = _text_field(document, "status")
    is_known = not word or word in STATUSES
    status = ResultStatus(word) if is_known else ResultStatus.NONE
    summary = _text_field(document, "summary")
    question = _text_field(document, "question")
    if status is ResultStatus.QUESTION and not question:
        question = summary or "the agent asked for a person but gave no question"
    safe = document.get("retry_safe", True)
    if status is ResultStatus.CONFLICT and not summary:
        summary = "the agent says that the task contradicts its checks, but gives no reason"
    defect = "" if is_known else f"{RESULT}: unknown status {word[:40]!r}; use {_STATUS_LIST}"
    # Only an explicit true counts as true.
    return AgentResult(status, summary, question, safe is True, _retry_after(document), defect)


def _make_unreadable(raw: bytes, defect: str) -> AgentResult:
    return AgentResult(summary=_excerpt(raw), defect=defect, unreadable=True)


def _excerpt(raw: bytes) -> str:
    """The beginning of an invalid file, which may still explain a failure; empty if not text."""
    # The cut may split a character, which does not mean that the file is binary.
    text = " ".join(raw[:EXCERPT_CHARS].decode(errors="replace").rstrip("\ufffd").split())
    return text if text.isprintable() and "\ufffd" not in text else ""


def _text_field(document: Mapping[str, Any], key: str) -> str:
    value = document.get(key)
    return replace_lone_surrogates(value[:TEXT_MAX]).strip() if isinstance(value, str) else ""


def _retry_after(document: Mapping[str, Any]) -> timedelta | None:
    value = document.get("retry_after_s")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # A huge integer does not fit a float, so it is compared before it is converted.
    if not 0 <= value <= WAIT_MAX_S or not math.isfinite(value):
        return None
    return timedelta(seconds=float(value))
