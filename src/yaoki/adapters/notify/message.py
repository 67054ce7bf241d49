"""A notice as channels send it: bounded, with control characters removed and secrets masked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from yaoki.core.lazy_dataclass import replace
from yaoki.core.redact import mask, secret_values
from yaoki.core.text import (
    clip_head_and_tail,
    one_line,
    replace_lone_surrogates,
    strip_terminal_codes,
)
from yaoki.ports import Notice

SCHEMA = 1
SUBJECT_CHARS_MAX = 200
BODY_CHARS_MAX = 10_000
WORDS_CHARS_MAX = 400


def prepare_notice(notice: Notice, environ: Mapping[str, str]) -> Notice:
    """Makes the text safe for any receiver: part of it comes from agents."""
    secrets = secret_values(environ)
    subject, body = (
        mask(strip_terminal_codes(replace_lone_surrogates(text)), secrets)
        for text in (notice.subject, notice.body)
    )
    return replace(
        notice,
        subject=one_line(subject, SUBJECT_CHARS_MAX) or notice.event,
        body=clip_head_and_tail(body, BODY_CHARS_MAX, 0),
    )


def notice_to_document(notice: Notice) -> dict[str, Any]:
    """The fields of the JSON document, the same for every retry."""
    return {
        "schema": SCHEMA,
        "notice": notice.id,
        "at": notice.at.isoformat(),
        "run": notice.run_id or None,
        "task": notice.task_id or None,
        "event": notice.event,
        "subject": notice.subject,
        "body": notice.body,
    }


def encode_notice(notice: Notice) -> bytes:
    return json.dumps(notice_to_document(notice), ensure_ascii=False).encode("utf-8")


def take_output_tail(output: bytes, secrets: tuple[str, ...]) -> str:
    """The end of the output of a program, on one line."""
    text = mask(strip_terminal_codes(output.decode("utf-8", "replace")), secrets)
    line = " ".join(text.split())
    return line if len(line) <= WORDS_CHARS_MAX else "…" + line[-WORDS_CHARS_MAX:]
