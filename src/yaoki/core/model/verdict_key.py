"""The key of a verdict: everything that the result of a check depends on."""

from __future__ import annotations

from collections.abc import Mapping

from yaoki.core.lazy_dataclass import dataclass

# A change of what a verdict means changes every key.
VERSION = "2"
PART_WORDS: Mapping[str, str] = {
    "inputs": "inputs",
    "definition": "definition",
    "setup": "set-up",
    "tools": "tools",
}
DIGEST_SHOWN = 8


@dataclass(frozen=True, slots=True)
class VerdictKey:
    """The parts that a verdict depends on, each as a digest."""

    inputs: str
    definition: str
    setup: str
    tools: str

    @property
    def parts(self) -> dict[str, str]:
        return {name: getattr(self, name) for name in PART_WORDS}

    @property
    def digest(self) -> str:
        return digest_of(VERSION, *self.parts.values())


@dataclass(frozen=True, slots=True)
class VerdictOrigin:
    """The proof that a reused verdict comes from."""

    run_id: str
    task_id: str
    commit: str


def describe_key(key: Mapping[str, str]) -> str:
    """The parts of a key as people see them."""
    return ", ".join(f"{words} {key[name][:DIGEST_SHOWN]}" for name, words in PART_WORDS.items())


def describe_difference(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Why a verdict was not reused: the parts of the key that differ; empty if none does."""
    return ", ".join(
        f"{words} {before[name][:DIGEST_SHOWN]} -> {now[name][:DIGEST_SHOWN]}"
        for name, words in PART_WORDS.items()
        if before[name] != now[name]
    )


def digest_of(*parts: str) -> str:
    import hashlib  # `why` shows keys and makes none

    held = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogateescape")
        held.update(f"{len(data)}\n".encode())
        held.update(data)
    return held.hexdigest()
