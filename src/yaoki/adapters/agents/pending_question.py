"""Recognises an agent that waits for a person, by its very last line."""

from __future__ import annotations

import re

from yaoki.core.lazy_pattern import lazy_compile

LINES_SHOWN = 5
QUESTION_CHARS_MAX = 1000

# Prompts that read an answer right here; no finished agent ends with such a line.
_INPUT = lazy_compile(
    r"(?:[\[(](?:y(?:es)?/no?|y/n/\w{1,6})(?:/\[?\w{1,12}\]?)?[\])]\s{0,2}[?:>]?"
    r"|^press (?:any key|enter|return|y)\b.{0,60}"
    # `[sudo] password for me:`, `me@host's password:`, `Enter passphrase for key '...':`
    r"|^(?:\[\w{1,20}\] |\([^()\s]{1,80}\) |\S{1,80}'s |(?:please )?enter (?:(?:the|your|a) )?"
    r"(?:\w{1,20} )?)?(?:password|passphrase|username|otp)(?: for .{1,200})?:"
    r"|\(yes/no(?:/\[fingerprint\])?\)\?)\s{0,4}$",
    re.IGNORECASE,
)
# Requests for permission; some agents print such words and continue by themselves.
_PERMISSION = lazy_compile(
    r"^\W{0,4}(?:do you want (?:me )?to|are you sure|allow|proceed|continue|overwrite|confirm)\b"
    r".{0,200}\?\s{0,4}$",
    re.IGNORECASE,
)

# The offer of a program that crashed: an answer does not help the task.
_CRASH_REPORT = lazy_compile(
    r"\b(?:reporting this (?:bug|issue|error|crash)|open (?:a )?github issue)\b", re.I
)


def find_question(text: str, *, input_only: bool) -> str:
    """The paragraph that ends with a question to a person; empty if the last line is no question.

    `input_only`: the agent ended successfully, so only an input prompt, a line without a line
    break, counts.
    """
    if input_only and text.endswith("\n"):
        return ""
    lines = [line.strip() for line in text.rstrip().splitlines()]
    last = lines[-1][-400:] if lines else ""
    if not _INPUT.search(last) and (input_only or not _PERMISSION.search(last)):
        return ""
    paragraph: list[str] = []
    for line in reversed(lines[-LINES_SHOWN:]):
        if not line:
            break
        paragraph.insert(0, line)
    question = "\n".join(paragraph)
    return "" if _CRASH_REPORT.search(question) else question[-QUESTION_CHARS_MAX:]
