"""A judge's answer, taken from its standard output: bounded, parsed strictly, never guessed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from yaoki.adapters.checks.output import read_channel
from yaoki.core.agent_json import json_objects, last_agent_message
from yaoki.core.lazy_dataclass import dataclass

# The answer stands at the end.
TEXT_CHARS_READ = 64 * 1024
NEXT = ("continue", "replan", "impossible")
_KEYS = ("pass", "reason", "missing", "next")


@dataclass(frozen=True, slots=True)
class JudgeAnswer:
    """What a judge said.  `next` is continue, replan or impossible."""

    passed: bool
    reason: str
    missing: tuple[str, ...]
    next: str


def read_judge_answer(log: Path) -> JudgeAnswer:
    """The answer in the log; `ValueError` says in one sentence why there is none."""
    return parse_judge_answer(last_agent_message(read_channel(log), TEXT_CHARS_READ, "pass"))


def parse_judge_answer(text: str) -> JudgeAnswer:
    """The last JSON object is the answer, and no other answer may contradict it."""
    found = list(json_objects(text))
    if not found:
        raise ValueError("there is no JSON object in the answer")
    answer = _shaped(found[-1])
    if any("pass" in other and other != found[-1] for other in found):
        raise ValueError("there are several answers, and they contradict each other")
    return answer


# ------------------------------------------------------------------ its shape


def _shaped(given: Mapping[str, Any]) -> JudgeAnswer:
    if lacking := [key for key in _KEYS if key not in given]:
        raise ValueError(f"the last JSON object lacks {', '.join(lacking)}")
    if unknown := [key for key in given if key not in _KEYS]:
        raise ValueError(f"the answer has an unknown key {unknown[0][:40]!r}")
    passed, reason, missing, next_ = (given[key] for key in _KEYS)
    if not isinstance(passed, bool):
        raise ValueError("pass must be true or false")
    if not isinstance(reason, str) or not reason.strip():
        raise ValueError("reason must be a text that says why")
    if not isinstance(missing, list) or not all(isinstance(one, str) for one in missing):
        raise ValueError("missing must be a list of texts")
    if next_ not in NEXT:
        raise ValueError(f"next must be one of {', '.join(NEXT)}")
    if passed and (missing or next_ != "continue"):
        raise ValueError("pass is true, yet missing or next says that it is not done")
    return JudgeAnswer(passed, reason.strip(), tuple(one for one in missing if one.strip()), next_)
