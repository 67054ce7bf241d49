"""Trust on first use: what a person is shown, and what asks again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.builders import a_check, an_agent
from yaoki.core.model import Permissions
from yaoki.core.trust import (
    TEXT_CHARS_MAX,
    WALL_PREFIX,
    CommandDigest,
    FileCommands,
    TrustRecord,
    describe_changes,
    digest_agent,
    digest_check,
    digest_setting,
    digest_setup,
)

pytestmark = pytest.mark.spec("16.12")

ONE, TWO, SAME_TEXT = (
    CommandDigest("check a: one", "d1"),
    CommandDigest("check b: two", "d2"),
    CommandDigest("check a: one", "d3"),
)
WALL = CommandDigest("network = false", f"{WALL_PREFIX}w")


def commands(*digests: CommandDigest) -> FileCommands:
    return FileCommands("settings", digests)


def trusted(*digests: CommandDigest, name: str = "settings") -> dict[str, dict[str, str]]:
    return {name: {each.digest: each.text for each in digests}}


@pytest.mark.parametrize(
    ("now", "before", "asked"),
    [
        (commands(), {}, []),
        (commands(ONE, TWO), {}, ["  check a: one", "  check b: two"]),
        (commands(ONE, TWO), trusted(ONE, name="plan.yaml"), ["  check b: two"]),
        (commands(ONE), trusted(ONE), []),
        (commands(ONE), trusted(ONE, TWO), []),
        (commands(ONE), trusted(ONE, name="plan.yaml"), []),
        (commands(ONE, TWO), trusted(ONE), ["+ check b: two"]),
        (commands(TWO), trusted(ONE), ["- check a: one", "+ check b: two"]),
        (commands(ONE, SAME_TEXT), trusted(ONE), ["+ check a: one"]),
        (commands(SAME_TEXT), trusted(ONE), ["+ check a: one"]),
        (commands(ONE), trusted(ONE, WALL), ["- network = false"]),
        (commands(ONE, WALL), trusted(ONE, WALL), []),
        (commands(ONE, WALL), trusted(ONE), ["+ network = false"]),
        (commands(), trusted(WALL), ["- network = false"]),
    ],
)
def test_new_commands_and_removed_restrictions_are_described(
    now: FileCommands, before: Any, asked: list[str]
) -> None:
    assert describe_changes(now, before) == asked


def test_the_trust_record_separates_files_and_repositories() -> None:
    record = TrustRecord()
    record = record.with_content(
        "/a", [FileCommands("settings", (ONE,)), FileCommands("p", (TWO,))]
    )
    record = record.with_content("/b", [FileCommands("settings", (TWO,))])

    record = record.with_content("/a", [FileCommands("settings", (SAME_TEXT,))])

    assert record.places == {
        "/b": {"settings": {"d2": "check b: two"}},
        "/a": {"p": {"d2": "check b: two"}, "settings": {"d3": "check a: one"}},
    }


@pytest.mark.parametrize(
    ("place", "below"),
    [
        ("/home/me/src", True),
        ("/home/me/src/x", True),
        ("/home/me/srcs", False),
        ("/home/me", False),
        ("/opt/x/y", True),
        ("/opt", False),
    ],
)
def test_repositories_below_a_trusted_folder_are_trusted(place: str, below: bool) -> None:
    record = TrustRecord().with_below("/home/me/src").with_below("/opt/").with_below("/home/me/src")

    assert record.covers(place) is below
    assert record.below == ("/home/me/src", "/opt/")


def test_a_change_of_the_trust_record_keeps_its_other_parts() -> None:
    whole = (
        TrustRecord()
        .with_content("/a", [commands(ONE)])
        .with_store("m1", "/a/.yaoki/state.db")
        .with_below("/x")
    )

    assert whole.with_content("/b", []).stores == {"m1": "/a/.yaoki/state.db"}
    assert whole.with_content("/b", []).below == ("/x",)
    assert whole.with_store("m2", "/c/s").stores == {"m1": "/a/.yaoki/state.db", "m2": "/c/s"}
    assert whole.with_store("m2", "/c/s").places == whole.with_below("/y").places == whole.places
    assert whole.with_store("m2", "/c/s").below == ("/x",)
    assert whole.with_below("/y").stores == whole.stores


def test_a_forgotten_repository_is_removed_with_its_stores() -> None:
    record = TrustRecord(
        {"/a": {}, "/ab": {}},
        {"m1": "/a/.yaoki/state.db", "m2": "/ab/.yaoki/state.db"},
        ("/a", "/c"),
    )

    assert record.without("/a") == TrustRecord({"/ab": {}}, {"m2": "/ab/.yaoki/state.db"}, ("/c",))
    assert record.without("/a/").stores == {"m2": "/ab/.yaoki/state.db"}


# ------------------------------------------------------------------ what is shown


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"argv": ("pytest", "-q")}, "check tests: pytest -q"),
        ({"argv": ("echo", "a b", "ü"), "cwd": "."}, 'check tests: echo "a b" ü'),
        ({"argv": ("x;y", "")}, 'check tests: "x;y" ""'),
        ({"argv": (), "shell": "make | cat", "cwd": ""}, "check tests: make | cat"),
        ({"argv": (), "entry": "plugin:check", "cwd": "sub"}, "check tests: plugin:check (in sub)"),
        ({"argv": (), "agent": an_agent("big")}, "check tests: agent big judges"),
        (
            {"argv": ("a",), "env": {"A": "1", "B": "2"}, "cwd": "x"},
            "check tests: a (in x) with A=1 B=2",
        ),
    ],
)
def test_a_check_is_shown_as_it_would_be_started(given: dict[str, Any], text: str) -> None:
    shown = digest_check(a_check(**given))

    assert shown is not None
    assert shown.text == text


def test_a_check_without_a_command_needs_no_trust() -> None:
    assert digest_check(a_check(argv=())) is None


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"command": ("agent", "--yes")}, "agent small: agent --yes"),
        ({"command": (), "preset": "codex"}, "agent small: codex"),
        ({"options": {"b": 1, "a": "x"}}, 'agent small: agent {"a": "x", "b": 1}'),
        ({"pass_env": ("KEY", "AWS_*")}, "agent small: agent, sees KEY AWS_*"),
        (
            {"env": {"A": "1"}, "pass_env": ("KEY",)},
            "agent small: agent with A=1, sees KEY",
        ),
        ({"permissions": Permissions.EDITS}, "agent small: agent, permissions edits"),
    ],
)
def test_an_agent_is_shown_as_it_would_be_started(given: dict[str, Any], text: str) -> None:
    assert digest_agent(an_agent(**given)).text == text


def test_set_up_commands_and_settings_are_shown() -> None:
    assert digest_setup(["npm", "ci"]).text == "set-up: npm ci"
    assert digest_setup(["npm", "ci"], "").text == "set-up: npm ci"
    assert digest_setup(iter(["npm", "ci"]), "web").text == "set-up: npm ci (in web)"
    assert digest_setting("store.url", "a", "b").text == 'store.url = "b"'
    assert digest_setting("sandbox.hidden", ("x",), ("x",)).text == 'sandbox.hidden = ["x"]'


def test_a_text_is_shown_without_secrets_control_characters_and_beyond_a_length() -> None:
    assert "ghp_" not in digest_setup(["x", "ghp_" + "a" * 36]).text
    assert "\x1b" not in digest_setup(["x\x1b[2J"]).text
    long = digest_setup(["a" * 600]).text
    assert long.endswith("… (608 characters)")
    assert len(long) <= TEXT_CHARS_MAX + len("… (608 characters)")
    exact = digest_setup(["a" * (TEXT_CHARS_MAX - len("set-up: "))]).text
    assert len(exact) == TEXT_CHARS_MAX
    assert "characters" not in exact


# ------------------------------------------------------------------ what asks again


@pytest.mark.parametrize(
    "change",
    [
        {"argv": ("other",)},
        {"argv": ("true", "")},
        {"shell": "x"},
        {"cwd": "sub"},
        {"env": {"A": "1"}},
        {"entry": "x"},
        {"options": {"a": 1}},
        {"reader": "junit"},
        {"agent": an_agent("judge")},
    ],
)
def test_any_change_of_what_a_check_starts_asks_again(change: dict[str, Any]) -> None:
    plain, changed = digest_check(a_check()), digest_check(a_check(**change))

    assert plain is not None
    assert changed is not None
    assert plain.digest != changed.digest
    assert len(plain.digest) == 64


def test_another_judge_asks_again_and_another_timeout_does_not() -> None:
    judged = a_check(argv=(), agent=an_agent("judge"))
    other = replace(judged, agent=an_agent("judge", model="large"))

    assert digest_check(judged) != digest_check(other)
    assert digest_check(judged) == digest_check(replace(judged, pattern="lint-error"))


@pytest.mark.parametrize(
    "change",
    [
        {"preset": "codex"},
        {"command": ("other",)},
        {"env": {"A": "1"}},
        {"pass_env": ("KEY",)},
        {"model": "large"},
        {"options": {"a": 1}},
        {"permissions": Permissions.EDITS},
    ],
)
def test_any_change_of_what_an_agent_starts_asks_again(change: dict[str, Any]) -> None:
    assert digest_agent(an_agent()).digest != digest_agent(an_agent(**change)).digest


def test_the_name_of_an_agent_alone_does_not_ask_again() -> None:
    assert digest_agent(an_agent("a")).digest == digest_agent(an_agent("b")).digest


def test_the_folder_of_a_set_up_and_the_value_of_a_setting_ask_again() -> None:
    assert digest_setup(["a"]).digest != digest_setup(["a"], "web").digest
    assert digest_setup(["a", "b"]).digest != digest_setup(["a b"]).digest
    assert digest_setting("k", "a", "").digest != digest_setting("k", "b", "").digest
    assert digest_setting("k", "a", "").digest != digest_setting("l", "a", "").digest
    assert digest_setting("k", "a", "x").digest == digest_setting("k", "a", "y").digest


def test_a_restriction_has_its_own_digest() -> None:
    plain, wall = digest_setting("k", "v", "v"), digest_setting("k", "v", "v", wall=True)

    assert wall == CommandDigest(plain.text, WALL_PREFIX + plain.digest)


def test_a_command_with_a_lone_surrogate_has_a_digest() -> None:
    assert digest_setup(["a\udc80"]).digest != digest_setup(["a"]).digest


def test_a_digest_never_changes_between_versions() -> None:
    """With other digits every person would be asked again."""
    judged = a_check(argv=(), agent=an_agent("judge"), env={"b": "1", "a": "2"})
    check, agent = digest_check(judged), digest_agent(an_agent(options={"b": 1, "a": 2}))

    assert check is not None
    assert check.digest[:12] == "f37e2cdf0fed"
    assert agent.digest[:12] == "235bfd158cae"
    assert digest_setup(["npm", "ci"], "web").digest[:12] == "54d10a400374"
    assert digest_setup(["a\udc80"]).digest[:12] == "5e7ec92b7a74"
    assert digest_setting("k", ("v",), "").digest[:12] == "828bea0a7dba"
    assert digest_setup(["a ü"]).text == 'set-up: "a ü"'
