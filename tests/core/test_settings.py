"""Settings as values: what a task's own numbers change, and which are refused."""

from __future__ import annotations

from dataclasses import MISSING, fields, replace
from datetime import timedelta
from typing import Any

import pytest

from yaoki.core.model import CONTENT_KINDS, Backoff, BackoffType, FailureKind
from yaoki.core.settings.budget import BudgetSettings
from yaoki.core.settings.keys import SECONDS_MAX, seconds_setting, setting
from yaoki.core.settings.override import (
    backoff_defect,
    merge_backoff,
    retries_defect,
    with_cause,
    with_iterations,
    with_max_retries,
    within_iterations,
)
from yaoki.core.settings.retry import KindRetrySettings, RetrySettings, with_always_retryable
from yaoki.core.settings.settings import (
    LimitSettings,
    NotificationSettings,
    ResourceSettings,
    Settings,
    StoreSettings,
)
from yaoki.core.settings.tags import has_all_tags, is_tag, join_tags

SECOND = timedelta(seconds=1)
QUALITY, TIMEOUT, LOST = FailureKind.QUALITY_FAILURE, FailureKind.TIMEOUT, FailureKind.LOST
RATE_LIMIT, TRANSIENT = FailureKind.RATE_LIMIT, FailureKind.TRANSIENT_ERROR


def retries(retry: RetrySettings, *kinds: FailureKind) -> list[int]:
    return [retry.rule_for(kind).retries_max for kind in kinds]


# ------------------------------------------------------------------ retries


@pytest.mark.spec("4.1", "5.3")
def test_each_kind_has_its_own_number_of_retries_and_its_own_wait() -> None:
    retry = RetrySettings()

    assert retries(retry, QUALITY, TIMEOUT, RATE_LIMIT, FailureKind.CONFLICT, LOST) == [
        3,
        2,
        5,
        2,
        6,
    ]
    assert retry.rule_for(TIMEOUT).backoff == Backoff(
        BackoffType.FIXED, 5 * SECOND, 2.0, 5 * SECOND, 0
    )
    assert retry.rule_for(QUALITY).backoff == retry.default_backoff


@pytest.mark.spec("5.6")
def test_a_configured_retry_setting_replaces_its_default() -> None:
    slow = Backoff(initial=9 * SECOND, maximum=9 * SECOND)
    retry = RetrySettings(
        default_max_retries=4,
        default_backoff=slow,
        cause_specific={
            TIMEOUT: KindRetrySettings(0, None, "be quick"),
            RATE_LIMIT: KindRetrySettings(None, slow),
        },
    )

    assert retries(retry, QUALITY, TIMEOUT, RATE_LIMIT, LOST) == [4, 0, 5, 6]
    assert retry.settings_for(TIMEOUT).modification_hint == "be quick"
    assert retry.rule_for(TIMEOUT).backoff.initial == 5 * SECOND
    assert retry.rule_for(RATE_LIMIT).backoff == retry.rule_for(LOST).backoff == slow


@pytest.mark.spec("5.2")
@pytest.mark.parametrize(
    ("default", "causes", "most"),
    [
        (3, {}, 3),
        (3, {QUALITY: KindRetrySettings(7)}, 7),
        (3, {QUALITY: KindRetrySettings(1)}, 3),
        (3, {QUALITY: KindRetrySettings(None)}, 3),
        (3, {RATE_LIMIT: KindRetrySettings(9)}, 3),
        (0, {}, 0),
    ],
)
def test_one_limit_applies_to_all_content_failures(
    default: int, causes: dict[FailureKind, KindRetrySettings], most: int
) -> None:
    retry = RetrySettings(default_max_retries=default, cause_specific=causes)

    assert retry.content_retries_max == most


@pytest.mark.spec("5.6")
def test_a_number_of_retries_applies_to_failures_of_the_work() -> None:
    made = with_max_retries(RetrySettings(), 1)

    assert all(made.rule_for(kind).retries_max == 1 for kind in CONTENT_KINDS)
    assert retries(made, RATE_LIMIT, LOST) == [5, 6]
    assert made.content_retries_max == 1
    assert made.rerun_from_branch


@pytest.mark.spec("5.6")
def test_a_task_without_retries_is_retried_only_after_interruptions() -> None:
    made = with_max_retries(RetrySettings(), 0)

    assert retries(made, QUALITY, TIMEOUT, RATE_LIMIT, TRANSIENT, LOST) == [0, 0, 0, 0, 6]
    assert made.content_retries_max == 0
    assert not made.rerun_from_branch


@pytest.mark.spec("2.4", "5.6")
def test_iterations_include_the_first_attempt_and_disable_the_rerun() -> None:
    made = with_iterations(RetrySettings(), 5)

    assert all(made.rule_for(kind).retries_max == 4 for kind in CONTENT_KINDS)
    assert (made.content_retries_max, made.rerun_from_branch) == (4, False)
    assert retries(made, RATE_LIMIT) == [5]


@pytest.mark.spec("2.4", "5.6")
@pytest.mark.parametrize(
    ("iterations", "quality", "incomplete", "together"), [(10, 5, 3, 5), (3, 2, 2, 2), (1, 0, 0, 0)]
)
def test_iterations_are_an_upper_bound_on_the_tasks_own_numbers(
    iterations: int, quality: int, incomplete: int, together: int
) -> None:
    retry = RetrySettings(cause_specific={QUALITY: KindRetrySettings(5, None, "hint")})

    made = within_iterations(retry, iterations)

    assert retries(made, QUALITY, FailureKind.INCOMPLETE) == [quality, incomplete]
    assert (made.default_max_retries, made.rerun_from_branch) == (together, False)
    assert made.settings_for(QUALITY).modification_hint == "hint"
    assert retries(made, RATE_LIMIT, LOST) == [5, 6]


@pytest.mark.spec("5.6")
def test_a_tasks_own_cause_is_merged_and_makes_its_kind_retryable() -> None:
    slow, fast = Backoff(initial=9 * SECOND), Backoff(initial=SECOND)
    retry = RetrySettings(
        retryable_failures=(TIMEOUT,), cause_specific={TIMEOUT: KindRetrySettings(4, slow, "old")}
    )

    kept = with_cause(retry, TIMEOUT, KindRetrySettings())
    changed = with_cause(retry, TIMEOUT, KindRetrySettings(0, fast, "new"))
    other = with_cause(retry, QUALITY, KindRetrySettings(1))

    assert kept == retry
    assert changed.cause_specific == {TIMEOUT: KindRetrySettings(0, fast, "new")}
    assert changed.retryable_failures == (TIMEOUT,)
    assert other.retryable_failures == (TIMEOUT, QUALITY)
    assert other.cause_specific == {**retry.cause_specific, QUALITY: KindRetrySettings(1)}


@pytest.mark.spec("4.1")
def test_interruptions_and_conflicts_are_always_retryable() -> None:
    assert with_always_retryable([QUALITY]) == (QUALITY, FailureKind.CONFLICT, LOST)
    assert with_always_retryable([LOST, QUALITY]) == (LOST, QUALITY, FailureKind.CONFLICT)


@pytest.mark.spec("5.3")
@pytest.mark.parametrize(
    ("given", "merged"),
    [
        ({}, {}),
        ({"type": "linear"}, {"type": BackoffType.LINEAR}),
        ({"initial_delay_ms": 1500}, {"initial": 1.5 * SECOND}),
        ({"max_delay_ms": 2500}, {"maximum": 2.5 * SECOND}),
        ({"multiplier": 3}, {"multiplier": 3.0}),
        ({"jitter": 1}, {"jitter": 1.0}),
        ({"type": "fixed"}, {"type": BackoffType.FIXED, "maximum": 2 * SECOND}),
        (
            {"type": "fixed", "initial_delay_ms": 4000},
            {"type": BackoffType.FIXED, "initial": 4 * SECOND, "maximum": 4 * SECOND},
        ),
        (
            {"type": "fixed", "max_delay_ms": 9000},
            {"type": BackoffType.FIXED, "maximum": 9 * SECOND},
        ),
    ],
)
def test_a_backoff_keeps_values_that_are_not_configured(
    given: dict[str, Any], merged: dict[str, Any]
) -> None:
    base = Backoff(BackoffType.EXPONENTIAL, 2 * SECOND, 1.5, 20 * SECOND, 0.3)

    assert merge_backoff(base, given) == replace(base, **merged)


@pytest.mark.spec("15")
@pytest.mark.parametrize(
    ("initial", "maximum", "defect"),
    [
        (1.0, 2.0, ""),
        (2.0, 2.0, ""),
        (2.5, 2.0, "initial_delay_ms 2500 is over max_delay_ms 2000"),
    ],
)
def test_a_first_wait_over_the_longest_is_refused(
    initial: float, maximum: float, defect: str
) -> None:
    backoff = Backoff(initial=initial * SECOND, maximum=maximum * SECOND)

    assert backoff_defect(backoff) == defect


@pytest.mark.spec("15")
@pytest.mark.parametrize(
    ("most", "total", "defect"),
    [
        (2, 3, ""),
        (3, 3, "3 retries can never be reached: max_total_attempts is 3"),
        (1, 1, "1 retry can never be reached: max_total_attempts is 1"),
    ],
)
def test_unreachable_numbers_of_retries_are_refused(most: int, total: int, defect: str) -> None:
    assert retries_defect(most, total) == defect


@pytest.mark.spec("5.6", "15")
def test_the_policy_of_a_task_holds_every_setting() -> None:
    settings = Settings(
        retry=RetrySettings(
            default_max_retries=4,
            retryable_failures=(QUALITY, TIMEOUT),
            cause_specific={
                TIMEOUT: KindRetrySettings(1),
                QUALITY: KindRetrySettings(modification_hint="look again"),
            },
            rerun_from_branch=False,
            max_total_attempts=9,
            rate_limit_wait_max_s=77.0,
        ),
        limits=LimitSettings(delivery_max=6, landings_max=8),
        escalate=replace(Settings().escalate, max_message_length=90, include_trace_link=False),
    )

    policy = settings.retry_policy

    assert {kind: rule.retries_max for kind, rule in policy.rules.items()} == {
        QUALITY: 4,
        TIMEOUT: 1,
    }
    assert policy.content_retries_max == 4
    assert (policy.total_attempts_max, policy.deliveries_max) == (9, 6)
    assert (policy.landing_refusals_max, policy.reruns_max) == (8, 0)
    assert policy.rate_limit_wait_max == 77 * SECOND
    assert policy.hints == {QUALITY: "look again"}
    assert (policy.message_max, policy.trace_link) == (90, False)
    assert Settings().retry_policy.reruns_max == 1


# ------------------------------------------------------------------ other settings


@pytest.mark.spec("15")
def test_a_setting_carries_its_meaning_and_its_bounds() -> None:
    made = setting(3, "what it is", low=1, high=9, words=iter("ab"), secret=True)
    plain, wait = setting("x", "a text"), seconds_setting(2.5, "a wait")

    assert made.default == 3
    assert dict(made.metadata) == {
        "doc": "what it is", "low": 1, "high": 9, "words": ("a", "b"), "secret": True
    }  # fmt: skip
    assert dict(plain.metadata) == {
        "doc": "a text", "low": 0, "high": 1_000_000, "words": (), "secret": False
    }  # fmt: skip
    assert (wait.default, wait.metadata["low"], wait.metadata["high"]) == (2.5, 0.001, SECONDS_MAX)
    assert wait.metadata["doc"] == "a wait"
    assert all(field.default is not MISSING for field in fields(LimitSettings))


@pytest.mark.spec("10.6")
def test_only_limits_above_zero_count_as_budgets() -> None:
    budget = BudgetSettings(
        task_money=1.5, task_tokens=7, run_attempts=3, run_wall_s=60.0, day_seconds=5.0
    )

    assert budget.task == {"money": 1.5, "tokens": 7.0}
    assert budget.run == {"attempts": 3.0, "wall_s": 60.0}
    assert budget.day == {"seconds": 5.0}
    assert isinstance(budget.task["tokens"], float)
    assert BudgetSettings().task == BudgetSettings().run == BudgetSettings().day == {}


@pytest.mark.spec("10.5")
@pytest.mark.parametrize(
    ("given", "channels"),
    [
        ({}, ()),
        ({"command": ("tell",)}, ("command",)),
        ({"webhook": "https://a/b"}, ("webhook",)),
        ({"desktop": True}, ("desktop",)),
        ({"apprise": ("slack://x",)}, ("apprise",)),
        ({"apprise_env": "SERVICES"}, ("apprise",)),
        ({"desktop": True, "command": ("tell",)}, ("command", "desktop")),
    ],
)
def test_only_configured_channels_are_listed(
    given: dict[str, Any], channels: tuple[str, ...]
) -> None:
    assert NotificationSettings(**given).channels == channels


@pytest.mark.spec("13.1")
@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("postgresql://me@host/db", True),
        ("postgres://host/db", True),
        ("", False),
        ("state.db", False),
        ("/srv/postgresql://x", False),
    ],
)
def test_the_url_decides_whether_a_store_is_on_a_server(url: str, server: bool) -> None:
    assert StoreSettings(url=url).is_on_server is server


# ------------------------------------------------------------------ ports and names


@pytest.mark.spec("11.9")
@pytest.mark.parametrize(
    ("ports", "count", "bases"),
    [
        ("20000-20029", 10, [20000, 20010, 20020]),
        (" 20000 - 20028 ", 10, [20000, 20010]),
        ("20000-20009", 10, [20000]),
        ("1024-1024", 1, [1024]),
        ("65535-65535", 1, [65535]),
    ],
)
def test_ports_are_divided_into_complete_ranges(ports: str, count: int, bases: list[int]) -> None:
    ranges = ResourceSettings(ports=ports, port_count=count).port_ranges

    assert ranges is not None
    assert list(ranges.bases()) == bases


@pytest.mark.spec("11.9")
@pytest.mark.parametrize(
    ("ports", "count", "words"),
    [
        ("20000", 10, "must be two ports with a hyphen between, such as 20000-20999"),
        ("a-b", 10, "must be two ports"),
        ("1023-2000", 10, "must be two ascending ports from 1024 to 65535"),
        ("3000-2000", 10, "must be two ascending ports"),
        ("60000-65536", 10, "must be two ascending ports"),
        ("20000-20008", 10, r"has 9 ports, fewer than port_count \(10\)"),
    ],
)
def test_invalid_port_ranges_are_refused(ports: str, count: int, words: str) -> None:
    with pytest.raises(ValueError, match=f"^{words}"):
        _ = ResourceSettings(ports=ports, port_count=count).port_ranges


@pytest.mark.spec("11.9")
@pytest.mark.parametrize(
    ("taken", "base"),
    [
        ([], 20000),
        ([(20000, 10)], 20010),
        ([(20010, 10)], 20000),
        ([(20009, 1)], 20010),
        ([(20019, 2), (20000, 1)], None),
        ([(19995, 5)], 20000),
        ([(19995, 6)], 20010),
        ([(20000, 10), (20010, 10), (20020, 10)], None),
        ([(20020, 10), (20000, 10)], 20010),
    ],
)
def test_a_worktree_gets_the_lowest_free_port_range(
    taken: list[tuple[int, int]], base: int | None
) -> None:
    ranges = ResourceSettings(ports="20000-20029", port_count=10).port_ranges

    assert ranges is not None
    assert ranges.first_free(taken) == base


@pytest.mark.spec("11.9")
def test_settings_without_ports_have_no_port_ranges() -> None:
    assert ResourceSettings(ports="").port_ranges is None


# ------------------------------------------------------------------ tags


@pytest.mark.spec("11.8")
@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("gpu", True),
        ("a.b_c-9", True),
        ("a" * 64, True),
        ("a" * 65, False),
        ("", False),
        ("-a", False),
        ("a,b", False),
        ("ü", False),
        ("gpu\n", False),
    ],
)
def test_a_tag_has_its_form(text: str, valid: bool) -> None:
    assert is_tag(text) is valid


@pytest.mark.spec("11.8")
@pytest.mark.parametrize(
    ("needed", "declared", "fits"),
    [
        ([], [], True),
        ([], ["gpu"], True),
        (["gpu"], ["gpu", "mac"], True),
        (["mac", "gpu"], ["gpu", "mac"], True),
        (["mac", "gpu"], ["gpu"], False),
        (["gpu"], [], False),
    ],
)
def test_a_worker_must_have_every_tag_of_a_task(
    needed: list[str], declared: list[str], fits: bool
) -> None:
    assert has_all_tags(join_tags(needed), declared) is fits


@pytest.mark.spec("11.8")
def test_the_order_of_tags_does_not_matter() -> None:
    assert join_tags(["b", "a", "b"]) == join_tags(["a", "b"]) == "a,b"
