"""One hook call: the agent, its input, and the time limit."""

# Importing pathlib would take a third of the time of a quick answer.
# ruff: noqa: PTH100, PTH110, PTH112, PTH117, PTH118, PTH120

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence

from yaoki.core.text import replace_lone_surrogates
from yaoki.faces.hooks.responses import HookResponse

LIMIT_S = 600.0
INPUT_BYTES_MAX = 16 << 20
# An agent that never closes its output must not prevent an answer in time.
INPUT_S_MAX, INPUT_SHARE = 10.0, 0.2
AfterResponse = Callable[[], None]
# The answer, and the work that remains after it is sent.
HookReply = tuple[HookResponse, AfterResponse]


class HookCall:
    """One call of the hook; `defect` says why its input could not be read."""

    __slots__ = ("agent", "data", "defect", "limit_s", "only_if_configured")

    def __init__(self, argv: Sequence[str]) -> None:
        words = list(argv)
        self.only_if_configured = "--if-configured" in words
        self.limit_s = _limit(words)
        self.agent = next((word for word in words if not word.startswith("-")), "")
        self.data: dict[str, object] = {}
        self.defect = ""

    def read(self) -> None:
        """Unreadable input is a call without a session; it is checked like any other."""
        try:
            patience_s = min(INPUT_S_MAX, self.limit_s * INPUT_SHARE)
            raw = json.loads(_input(patience_s).decode("utf-8", "replace"))
            self.data = raw if isinstance(raw, dict) else {}
        except (ValueError, RecursionError):
            self.defect = "the agent's input to the hook could not be read"

    def text(self, name: str) -> str:
        value = self.data.get(name)
        return replace_lone_surrogates(value) if isinstance(value, str) else ""

    @property
    def session_id(self) -> str:
        return self.text("session_id")[:200] or "unknown"

    @property
    def session_key(self) -> str:
        """The session id as a file name."""
        plain = self.session_id.replace("-", "").replace("_", "")
        if len(self.session_id) <= 64 and plain.isascii() and plain.isalnum():
            return self.session_id
        from hashlib import sha256

        return sha256(self.session_id.encode("utf-8", "replace")).hexdigest()[:32]

    @property
    def folder(self) -> str:
        """The folder of the session; the agent may have changed its working directory."""
        project = os.environ.get("CLAUDE_PROJECT_DIR", "") if self.agent == "claude-code" else ""
        named = (project, self.text("cwd"))
        return next((path for path in named if os.path.isabs(path) and os.path.isdir(path)), ".")


def pending_reason_file(home: str, key: str) -> str:
    """Exists while a reason may be pending for the next prompt; the store has the reason."""
    return os.path.join(home, "hooks", f"{key}.due")


def has_pending_reason(call: HookCall) -> bool:
    """Is a reason pending in this session?  Answered without starting git."""
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
    """The input, limited in size and time; cut input is not valid JSON."""
    from select import select

    pieces, size, source = list[bytes](), 0, sys.stdin.fileno()
    while select([source], [], [], patience_s)[0]:
        part = os.read(source, 1 << 16)
        if not part:
            return b"".join(pieces)
        size += len(part)
        if size <= INPUT_BYTES_MAX:
            pieces.append(part)
        elif size > 4 * INPUT_BYTES_MAX:
            break
        else:
            pieces = []
    return b""
