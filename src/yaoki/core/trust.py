"""Trust on first use: which commands a repository would run, and whether a person trusts them.

A command is compared by a digest of everything it does, and shown as a text without secrets.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import AgentSpec, CheckSpec
from yaoki.core.redact import mask
from yaoki.core.text import shorten, strip_terminal_codes

TEXT_CHARS_MAX = 500
# Restrictions are the reverse: a person is asked when one is removed.
WALL_PREFIX = "wall-"
SETTINGS = "settings"
# The fields of a check and of an agent that decide what is started; others are not digested.
CHECK_FIELDS = ("type", "argv", "shell", "cwd", "env", "entry", "options", "reader")
AGENT_FIELDS = ("preset", "command", "env", "pass_env", "model", "options")
NEWER_AGENT_FIELDS = ("env_from", "accounts")


@dataclass(frozen=True, slots=True)
class CommandDigest:
    """A command that would be started, or a setting that limits its access."""

    text: str
    digest: str


@dataclass(frozen=True, slots=True)
class FileCommands:
    """The commands of one file: the settings, or a plan by its name."""

    name: str
    commands: tuple[CommandDigest, ...] = ()


TrustedTexts = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class TrustRecord:
    """Everything that a person has trusted on this machine.

    `places` maps the path of a repository and the name of a file in it to the text of each trusted
    command by its digest, newest last.  `stores` maps the trust marks in stores to their paths.
    Repositories below a folder of `below` are trusted without a question.
    """

    places: Mapping[str, TrustedTexts] = field(default_factory=dict)
    stores: Mapping[str, str] = field(default_factory=dict)
    below: tuple[str, ...] = ()

    def covers(self, place: str) -> bool:
        return any(place == one or place.startswith(f"{one.rstrip('/')}/") for one in self.below)

    def with_content(self, place: str, contents: Iterable[FileCommands]) -> TrustRecord:
        texts_by_name = {one.name: {c.digest: c.text for c in one.commands} for one in contents}
        unchanged = {
            n: texts for n, texts in self.places.get(place, {}).items() if n not in texts_by_name
        }
        parts = {**unchanged, **texts_by_name}
        others = {name: texts for name, texts in self.places.items() if name != place}
        return TrustRecord({**others, place: parts}, self.stores, self.below)

    def with_store(self, mark: str, path: str) -> TrustRecord:
        return TrustRecord(self.places, {**self.stores, mark: path}, self.below)

    def with_below(self, folder: str) -> TrustRecord:
        return TrustRecord(self.places, self.stores, (*dict.fromkeys((*self.below, folder)),))

    def without(self, place: str) -> TrustRecord:
        """The record without this repository or folder and its store."""
        inside = f"{place.rstrip('/')}/"
        stores = {mark: at for mark, at in self.stores.items() if not at.startswith(inside)}
        places = {name: contents for name, contents in self.places.items() if name != place}
        return TrustRecord(places, stores, tuple(one for one in self.below if one != place))


# ------------------------------------------------------------------ what changed


def describe_changes(content: FileCommands, trusted: TrustedTexts) -> list[str]:
    """The lines of the question to a person: everything the first time, later the difference.

    Empty when all of it is trusted.  A command that is gone needs no question; a restriction that
    is gone does.
    """
    known = {digest for part in trusted.values() for digest in part}
    now = {command.digest for command in content.commands}
    before = trusted.get(content.name, {})
    lost_walls = [
        digest for digest in before if digest.startswith(WALL_PREFIX) and digest not in now
    ]
    if now <= known and not lost_walls:
        return []
    texts = [command.text for command in content.commands]
    if not before:
        return [f"  {command.text}" for command in content.commands if command.digest not in known]
    from difflib import unified_diff

    diff = list(unified_diff(list(before.values()), texts))[2:]
    lines = [f"{line[0]} {line[1:]}" for line in diff if line[0] in "+-"]
    # Two commands may have the same text: a new one is always shown.
    shown = {line[2:] for line in lines if line[0] == "+"}
    new = (c.text for c in content.commands if c.digest not in known and c.text not in shown)
    return [*lines, *(f"+ {text}" for text in new)]


# ------------------------------------------------------------------ commands

PLAIN_WORD = lazy_compile(r"[\w@%+=:,./{}-]+")


def digest_check(spec: CheckSpec) -> CommandDigest | None:
    """The digest of the command of a check; None if it starts no program."""
    fields = _pick_fields(spec, CHECK_FIELDS)
    if spec.agent is not None:
        fields["agent"] = _pick_agent_fields(spec.agent)
    if not (spec.argv or spec.shell or spec.entry or spec.agent):
        return None
    judge = f"agent {spec.agent.name} judges" if spec.agent else ""
    action = _quote(spec.argv) or spec.shell or spec.entry or judge
    place = f" (in {spec.cwd})" if spec.cwd not in ("", ".") else ""
    return _digest(f"check {spec.name}: {action}{place}{_env(spec.env)}", fields)


def digest_agent(spec: AgentSpec) -> CommandDigest:
    command = _quote(spec.command) or spec.preset
    options = f" {json.dumps(_to_data(spec.options), sort_keys=True)}" if spec.options else ""
    seen = dict.fromkeys(name for one in spec.list_by_account() for name in one.passed_variables)
    passed_on = f", sees {' '.join(seen)}" if seen else ""
    rights = f", permissions {spec.permissions}" if spec.permissions else ""
    accounts = "".join(f", account {one.name}{_env(one.env)}" for one in spec.accounts)
    text = f"agent {spec.name}: {command}{options}{_env(spec.env)}{passed_on}{accounts}{rights}"
    return _digest(text, _pick_agent_fields(spec))


def digest_setup(argv: Iterable[str], cwd: str = ".") -> CommandDigest:
    words = tuple(argv)
    where = f" (in {cwd})" if cwd not in ("", ".") else ""
    return _digest(f"set-up: {_quote(words)}{where}", {"setup": list(words), "cwd": cwd})


def digest_setting(key: str, value: object, shown: object, *, wall: bool = False) -> CommandDigest:
    text = f"{key} = {json.dumps(_to_data(shown))}"
    digest = _digest(text, {key: _to_data(value)})
    return CommandDigest(digest.text, f"{WALL_PREFIX}{digest.digest}") if wall else digest


def _pick_fields(spec: AgentSpec | CheckSpec, names: Iterable[str]) -> dict[str, Any]:
    return {name: _to_data(getattr(spec, name)) for name in names}


def _pick_agent_fields(spec: AgentSpec) -> dict[str, Any]:
    """Newer fields that were not given are left out: older digests stay valid."""
    fields = _pick_fields(spec, AGENT_FIELDS)
    fields |= _pick_fields(spec, (name for name in NEWER_AGENT_FIELDS if getattr(spec, name)))
    return {**fields, "permissions": spec.permissions.value} if spec.permissions else fields


def _to_data(value: object) -> Any:
    from yaoki.core.machine.codec import to_data  # `validate` seldom needs it

    return to_data(value)


def _quote(argv: Iterable[str]) -> str:
    """The arguments quoted, so that a reader sees where each begins and ends."""
    return " ".join(
        word if PLAIN_WORD.fullmatch(word) else json.dumps(word, ensure_ascii=False)
        for word in argv
    )


def _env(env: Mapping[str, str]) -> str:
    return f" with {' '.join(f'{name}={value}' for name, value in env.items())}" if env else ""


def _digest(text: str, content: Mapping[str, Any]) -> CommandDigest:
    from hashlib import sha256  # loads OpenSSL; below a trusted folder nothing is compared

    digest = sha256(
        json.dumps(content, sort_keys=True).encode("utf-8", "surrogatepass")
    ).hexdigest()
    safe = mask(strip_terminal_codes(text), ())
    long = f"… ({len(safe)} characters)" if len(safe) > TEXT_CHARS_MAX else ""
    # Spaces must not push the rest of a command out of the part that is shown.
    words = " ".join(safe.split())
    return CommandDigest(shorten(words, TEXT_CHARS_MAX) + long, digest)
