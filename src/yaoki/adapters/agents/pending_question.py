"""Does the agent wait for a person?  Only its very last line can say so."""

from __future__ import annotations

import re

LINES_SHOWN = 5
QUESTION_CHARS_MAX = 1000

# Something reads an answer right here: these lines are never the end of a story.
_INPUT = re.compile(
    r"(?:[\[(](?:y(?:es)?/no?|y/n/\w{1,6})(?:/\[?\w{1,12}\]?)?[\])]\s{0,2}[?:>]?"
    r"|^press (?:any key|enter|return|y)\b.{0,60}"
    # `[sudo] password for me:`, `me@host's password:`, `Enter passphrase for key '...':`
    r"|^(?:\[\w{1,20}\] |\([^()\s]{1,80}\) |\S{1,80}'s |(?:please )?enter (?:(?:the|your|a) )?"
    r"(?:\w{1,20} )?)?(?:password|passphrase|username|otp)(?: for .{1,200})?:"
    r"|\(yes/no(?:/\[fingerprint\])?\)\?)\s{0,4}$",
    re.IGNORECASE,
)
# A request for permission; some agents close with such words and go on by themselves.
_PERMISSION = re.compile(
    r"^\W{0,4}(?:do you want (?:me )?to|are you sure|allow|proceed|continue|overwrite|confirm)\b"
    r".{0,200}\?\s{0,4}$",
    re.IGNORECASE,
)


def find_question(text: str, *, input_only: bool) -> str:
    """The paragraph that ends in a question for a person; empty when the last line is none.

    `input_only`: the agent came to a good end, so only a line that still waits for its answer is
    a question.  Such a line has no end.
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
    return "\n".join(paragraph)[-QUESTION_CHARS_MAX:]
