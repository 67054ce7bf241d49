"""One call by an agent: who calls, how much time there is, and what it said."""

# pathlib would take a third of the time that a quick answer has.
# ruff: noqa: PTH100, PTH110, PTH112, PTH117, PTH118, PTH120

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence

from yaoki.core.text import replace_lone_surrogates

LIMIT_S = 600.0
INPUT_BYTES_MAX = 16 << 20
# An agent that does not close its words must not keep us from an answer in time.
INPUT_S_MAX, INPUT_SHARE = 10.0, 0.2


class HookCall:
    """`defect` says what could not be read; `shy`: no business where nobody configured yaoki."""

    __slots__ = ("agent", "data", "defect", "limit_s", "only_if_configured")

    def __init__(self, argv: Sequence[str]) -> None:
        words = list(argv)
        self.only_if_configured = "--if-configured" in words
        self.limit_s = _limit(words)
        self.agent = next((word for word in words if not word.startswith("-")), "")
        self.data: dict[str, object] = {}
        self.defect = ""

    def read(self) -> None:
        """What cannot be read is a call without a name: it is checked like any other."""
        try:
            patience_s = min(INPUT_S_MAX, self.limit_s * INPUT_SHARE)
            raw = json.loads(_input(patience_s).decode("utf-8", "replace"))
            self.data = raw if isinstance(raw, dict) else {}
        except (ValueError, RecursionError):
            self.defect = "the agent's words to its hook could not be read"

    def text(self, name: str) -> str:
        value = self.data.get(name)
        return replace_lone_surrogates(value) if isinstance(value, str) else ""

    @property
    def session_id(self) -> str:
        return self.text("session_id")[:200] or "unknown"

    @property
    def session_key(self) -> str:
        """The session as the name of a file."""
        plain = self.session_id.replace("-", "").replace("_", "")
        if len(self.session_id) <= 64 and plain.isascii() and plain.isalnum():
            return self.session_id
        from hashlib import sha256

        return sha256(self.session_id.encode("utf-8", "replace")).hexdigest()[:32]

    @property
    def folder(self) -> str:
        """The folder that the session is about; an agent may have changed its own."""
        project = os.environ.get("CLAUDE_PROJECT_DIR", "") if self.agent == "claude-code" else ""
        named = (project, self.text("cwd"))
        return next((path for path in named if os.path.isabs(path) and os.path.isdir(path)), ".")


def pending_reason_file(home: str, key: str) -> str:
    """Stands wherever something may be left to say at the next prompt; the store knows what."""
    return os.path.join(home, "hooks", f"{key}.due")


def has_pending_reason(call: HookCall) -> bool:
    """Is something left to say in this session?  Found without git: its folder is ours."""
    here = os.path.abspath(call.folder)
    while True:
        if os.path.isdir(home := os.path.join(here, ".yaoki")):
            return os.path.exists(pending_reason_file(home, call.session_key))
        if here == (here := os.path.dirname(here)):
            return False


def _limit(words: list[str]) -> float:
    try:
        found = float(words.pop(words.index("--limit") + 1))
        words.remove("--limit")
    except (ValueError, IndexError):
        return LIMIT_S
    return found if 1 <= found <= 86_400 else LIMIT_S


def _input(patience_s: float) -> bytes:
    """All of the input within bounds of size and time; what is over the bound is no JSON."""
    from select import select

    kept, size, source = list[bytes](), 0, sys.stdin.fileno()
    while select([source], [], [], patience_s)[0]:
        part = os.read(source, 1 << 16)
        if not part:
            return b"".join(kept)
        size += len(part)
        if size <= INPUT_BYTES_MAX:
            kept.append(part)
        elif size > 4 * INPUT_BYTES_MAX:
            break
        else:
            kept = []
    return b""
