"""The note an agent may leave in its result file: a claim, never a proof."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from yaoki.adapters.system.files import read_plain_bytes
from yaoki.core.text import replace_lone_surrogates
from yaoki.ports import outbox

RESULT = "result.json"
BYTES_MAX = 64 * 1024
TEXT_MAX = 4000
WAIT_MAX_S = 30 * 24 * 3600.0
STATUSES = ("failed", "conflict", "question", "done")
EXCERPT_CHARS = 400


_OR = f"{', '.join(STATUSES[:-1])} or {STATUSES[-1]}"


@dataclass(frozen=True, slots=True)
class AgentResult:
    """`defect` says why the note, or a part of it, was not taken; `unreadable`: all of it.

    `failed` is fail closed: a note that cannot be understood is no word of success.
    """

    status: str = ""
    summary: str = ""
    question: str = ""
    retry_safe: bool = True
    retry_after: timedelta | None = None
    defect: str = ""
    unreadable: bool = False

    @property
    def failed(self) -> bool:
        return self.status == "failed" or bool(self.defect)


def read_result(folder: Path) -> AgentResult:
    """What the agent noted; a note that cannot be read says so in `defect`."""
    raw = read_plain_bytes(outbox(folder) / RESULT, BYTES_MAX + 1)
    if not raw:
        return AgentResult()
    if len(raw) > BYTES_MAX:
        return _unread(raw, f"{RESULT} is longer than {BYTES_MAX} bytes")
    try:
        note = json.loads(raw)
    except (ValueError, RecursionError):
        return _unread(raw, f"{RESULT} is not JSON")
    if not isinstance(note, dict):
        return _unread(raw, f"{RESULT} is not an object")
    return _checked(note)


def _checked(note: Mapping[str, Any]) -> AgentResult:
    status = _text(note, "status")
    summary = _text(note, "summary")
    question = _text(note, "question")
    if status == "question" and not question:
        question = summary or "the agent asked for a person and gave no question"
    safe = note.get("retry_safe", True)
    if status == "conflict" and not summary:
        summary = "the agent says that the task contradicts its checks, and gives no reason"
    known = status in ("", *STATUSES)
    defect = "" if known else f"{RESULT}: unknown status {status[:40]!r}; use {_OR}"
    # Anything but a plain true is taken as the careful answer.
    return AgentResult(status, summary, question, safe is True, _wait(note), defect)


def _unread(raw: bytes, defect: str) -> AgentResult:
    return AgentResult(summary=_excerpt(raw), defect=defect, unreadable=True)


def _excerpt(raw: bytes) -> str:
    """The beginning of a note that is not what it should be: its words may still say why.

    Of a note that is no text nothing is shown.
    """
    # The cut may go through a character, which is no sign of a binary file.
    words = " ".join(raw[:EXCERPT_CHARS].decode(errors="replace").rstrip("\ufffd").split())
    return words if words.isprintable() and "\ufffd" not in words else ""


def _text(note: Mapping[str, Any], key: str) -> str:
    value = note.get(key)
    return replace_lone_surrogates(value[:TEXT_MAX]).strip() if isinstance(value, str) else ""


def _wait(note: Mapping[str, Any]) -> timedelta | None:
    value = note.get("retry_after_s")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # A huge integer does not fit a float, so it is compared before it is converted.
    if not 0 <= value <= WAIT_MAX_S or not math.isfinite(value):
        return None
    return timedelta(seconds=float(value))
