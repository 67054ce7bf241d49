"""Reads a judge's answer from its standard output: bounded and parsed strictly."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from yaoki.adapters.checks.output import read_channel
from yaoki.core.agent_json import json_objects, last_agent_message
from yaoki.core.lazy_dataclass import dataclass

# The answer is at the end.
TEXT_CHARS_READ = 64 * 1024
_KEYS = ("pass", "reason", "missing", "next")


class JudgeNext(StrEnum):
    """The next step of the task according to the judge."""

    CONTINUE = "continue"
    REPLAN = "replan"
    IMPOSSIBLE = "impossible"


@dataclass(frozen=True, slots=True)
class JudgeAnswer:
    passed: bool
    reason: str
    missing: tuple[str, ...]
    next: JudgeNext


def read_judge_answer(log: Path) -> JudgeAnswer:
    """Raises `ValueError` with one sentence when the log holds no valid answer."""
    return parse_judge_answer(last_agent_message(read_channel(log), TEXT_CHARS_READ, "pass"))


def parse_judge_answer(text: str) -> JudgeAnswer:
    """The last JSON object is the answer; another object that contradicts it makes it invalid."""
    objects = list(json_objects(text))
    if not objects:
        raise ValueError("there is no JSON object in the answer")
    answer = _parse_fields(objects[-1])
    if any("pass" in other and other != objects[-1] for other in objects):
        raise ValueError("there are several answers, and they contradict each other")
    return answer


# ------------------------------------------------------------------ its shape


def _parse_fields(fields: Mapping[str, Any]) -> JudgeAnswer:
    if absent := [key for key in _KEYS if key not in fields]:
        raise ValueError(f"the last JSON object lacks {', '.join(absent)}")
    if unknown := [key for key in fields if key not in _KEYS]:
        raise ValueError(f"the answer has an unknown key {unknown[0][:40]!r}")
    passed, reason, missing, next_ = (fields[key] for key in _KEYS)
    if not isinstance(passed, bool):
        raise ValueError("pass must be true or false")
    if not isinstance(reason, str) or not reason.strip():
        raise ValueError("reason must be a string that says why")
    if not isinstance(missing, list) or not all(isinstance(one, str) for one in missing):
        raise ValueError("missing must be a list of strings")
    if next_ not in list(JudgeNext):
        raise ValueError(f"next must be one of {', '.join(JudgeNext)}")
    if passed and (missing or next_ != JudgeNext.CONTINUE):
        raise ValueError("pass is true, but missing or next says that it is not done")
    named = tuple(entry for entry in missing if entry.strip())
    return JudgeAnswer(passed, reason.strip(), named, JudgeNext(next_))
