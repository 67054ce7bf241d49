"""Settings files: defaults, values, and all defects at once."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies
from hypothesis import settings as sampled

from tests.quick_selection import example_count
from yaoki.core.model import Backoff, BackoffType, FailureKind
from yaoki.core.settings.override import (
    with_cause,
    with_iterations,
    with_max_retries,
    within_iterations,
)
from yaoki.core.settings.retry import RETRYABLE_KINDS, KindRetrySettings, RetrySettings
from yaoki.core.settings.settings import ORDERED_TIMES, Settings
from yaoki.errors import SettingsInvalid
from yaoki.formats.config import LoadedSettings, load_settings

REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "settings.md"


def load(top: Path, text: str, name: str = "yaoki.toml") -> LoadedSettings:
    (top / name).write_text(textwrap.dedent(text), encoding="utf-8")
    return load_settings(top, {})


def defects(top: Path, text: str, name: str = "yaoki.toml") -> list[str]:
    with pytest.raises(SettingsInvalid) as refused:
        load(top, text, name)
    assert refused.value.exit_code == 2
    return list(refused.value.defects)


# ------------------------------------------------------------------ defaults


@pytest.mark.spec("15", "4.1")
def test_settings_without_a_file_are_the_documented_defaults(tmp_path: Path) -> None:
    loaded = load_settings(tmp_path, {})

    most = {kind: rule.retries_max for kind, rule in loaded.settings.retry_policy.rules.items()}
    assert most == {
        FailureKind.INCOMPLETE: 3,
        FailureKind.QUALITY_FAILURE: 3,
        FailureKind.TIMEOUT: 2,
        FailureKind.TRANSIENT_ERROR: 3,
        FailureKind.RATE_LIMIT: 5,
        FailureKind.CONFLICT: 2,
        FailureKind.LOST: 6,
    }
    assert loaded.settings.retry_policy.total_attempts_max == 12
    assert loaded.settings.retry_policy.content_retries_max == 3
    assert loaded.settings.retry_policy.rate_limit_wait_max == timedelta(hours=6)
    assert set(loaded.origin.values()) == {"default"}
    assert loaded.file is None


@pytest.mark.spec("5.3")
def test_the_default_waits_match_the_specification() -> None:
    rules = Settings().retry_policy.rules

    one, five = timedelta(seconds=1), timedelta(seconds=5)
    assert rules[FailureKind.INCOMPLETE].backoff == Backoff(
        BackoffType.EXPONENTIAL, one, 2.0, timedelta(seconds=30), 0.1
    )
    assert rules[FailureKind.RATE_LIMIT].backoff == Backoff(
        BackoffType.EXPONENTIAL, five, 2.0, timedelta(seconds=60), 0.2
    )
    assert (
        rules[FailureKind.TIMEOUT].backoff.type,
        rules[FailureKind.TIMEOUT].backoff.initial,
    ) == (
        "fixed",
        five,
    )


@pytest.mark.spec("11.5")
def test_every_queue_and_text_has_a_bound() -> None:
    limits = Settings().limits

    assert (limits.pending_runs, limits.pending_tasks, limits.task_text_bytes) == (
        20,
        10_000,
        65_536,
    )
    assert limits.output_bytes
    assert limits.disk_free_bytes
    assert limits.memory_free_bytes


# ------------------------------------------------------------------ what is read


@pytest.mark.spec("15")
def test_the_keys_of_the_source_document_are_read(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        """\
        language = "ja"
        agent = ["small", "large"]
        patterns = ["house-style"]

        [retry]
        default_max_retries = 2
        retryable_failures = ["INCOMPLETE", "QUALITY_FAILURE", "TIMEOUT", "RATE_LIMIT"]
        default_backoff = { type = "linear", initial_delay_ms = 500 }
        [retry.cause_specific.RATE_LIMIT]
        max_retries = 8
        backoff = { initial_delay_ms = 100 }
        modification_hint = "slower"

        [recovery]
        enable_snapshots = false
        snapshot_retention_hours = 48
        partial_commit_enabled = false

        [escalate]
        notify_immediately = false
        include_trace_link = false
        max_message_length = 200

        [agents.small]
        command = "small-agent"
        [agents.large]
        command = "large-agent"
        [checks.tests]
        run = ["pytest"]
        """,
    )

    settings = loaded.settings
    rules = settings.retry_policy.rules
    listed = {
        FailureKind.INCOMPLETE,
        FailureKind.QUALITY_FAILURE,
        FailureKind.TIMEOUT,
        FailureKind.RATE_LIMIT,
    }
    assert set(rules) == {*listed, FailureKind.CONFLICT, FailureKind.LOST}, (
        "no list switches these two off"
    )
    assert rules[FailureKind.INCOMPLETE].retries_max == 2
    assert rules[FailureKind.INCOMPLETE].backoff.type == "linear"
    assert rules[FailureKind.INCOMPLETE].backoff.initial == timedelta(milliseconds=500)
    assert rules[FailureKind.RATE_LIMIT].retries_max == 8
    assert rules[FailureKind.RATE_LIMIT].backoff.initial == timedelta(milliseconds=100)
    assert rules[FailureKind.RATE_LIMIT].backoff.maximum == timedelta(seconds=60)
    assert settings.retry.settings_for(FailureKind.RATE_LIMIT).modification_hint == "slower"
    assert settings.recovery.snapshot_retention_hours == 48
    assert not settings.recovery.enable_snapshots
    assert not settings.recovery.partial_commit_enabled
    assert settings.escalate.max_message_length == 200
    assert not settings.escalate.notify_immediately
    assert (settings.language, settings.agent) == ("ja", ("small", "large"))
    assert settings.checks == {"tests": {"run": ["pytest"]}}
    assert settings.patterns == ("house-style",)


@pytest.mark.spec("15")
def test_every_setting_has_an_origin(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        """\
        [retry]
        default_max_retries = 1
        [limits]
        parallel = 4
        [checks.tests]
        run = ["pytest"]
        """,
    )

    assert loaded.values["limits.parallel"] == 4
    assert loaded.origin["limits.parallel"] == "yaoki.toml"
    assert loaded.origin["limits.pending_runs"] == "default"
    assert loaded.origin["checks.tests"] == "yaoki.toml"
    assert loaded.values["retry.cause_specific.INCOMPLETE.max_retries"] == 1
    assert loaded.origin["retry.cause_specific.INCOMPLETE.max_retries"] == "derived"


@pytest.mark.spec("15")
def test_a_python_project_may_keep_its_settings_in_pyproject(tmp_path: Path) -> None:
    loaded = load(tmp_path, "[tool.yaoki.limits]\nparallel = 7\n", "pyproject.toml")

    assert loaded.settings.limits.parallel == 7
    assert loaded.origin["limits.parallel"] == "pyproject.toml"


@pytest.mark.spec("15")
def test_another_spelling_of_the_pyproject_table_is_recognised(tmp_path: Path) -> None:
    loaded = load(tmp_path, "tool = {yaoki = {limits = {parallel = 7}}}\n", "pyproject.toml")

    assert loaded.settings.limits.parallel == 7


def test_a_pyproject_without_a_yaoki_table_is_not_parsed(tmp_path: Path) -> None:
    loaded = load(tmp_path, "this is [ not toml", "pyproject.toml")

    assert loaded.settings == Settings()


def test_two_settings_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.yaoki]\nlanguage = 'ja'\n", encoding="utf-8")

    [found] = defects(tmp_path, "language = 'en'\n")

    assert found == "yaoki.toml: pyproject.toml has [tool.yaoki] as well; keep one of them"


def test_the_environment_may_name_the_file(tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text("[limits]\nparallel = 9\n", encoding="utf-8")

    loaded = load_settings(tmp_path / "nowhere", {"YAOKI_CONFIG": str(other)})

    assert loaded.settings.limits.parallel == 9
    assert loaded.origin["limits.parallel"] == str(other)
    with pytest.raises(SettingsInvalid) as refused:
        load_settings(tmp_path, {"YAOKI_CONFIG": str(tmp_path / "none.toml")})
    assert "cannot be read: no such file" in refused.value.defects[0]


# ------------------------------------------------------------------ times


@pytest.mark.spec("15")
def test_default_times_are_lowered_to_fit_the_given_ones(tmp_path: Path) -> None:
    limits = load(tmp_path, "[limits]\nhang_s = 3\n").settings.limits

    assert limits.hang_s == 3
    assert limits.hang_warning_s == 1.5
    assert limits.deadline_s == 3600
    # Short enough to notice a dead worker, long enough for a busy machine.
    assert (limits.lease_s, limits.heartbeat_s) == (6.0, 1.0)


@pytest.mark.spec("15")
def test_very_small_times_are_possible(tmp_path: Path) -> None:
    limits = load(
        tmp_path,
        """\
        [limits]
        heartbeat_s = 0.02
        lease_s = 0.1
        hang_warning_s = 0.2
        hang_s = 0.3
        deadline_s = 0.3
        """,
    ).settings.limits

    assert [getattr(limits, name) for name in ORDERED_TIMES] == [0.02, 0.1, 0.2, 0.3, 0.3]


@pytest.mark.spec("15", "2.2")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("heartbeat_s = 9\nlease_s = 9", "lease_s (9) must be above limits.heartbeat_s (9)"),
        (
            "lease_s = 50\nhang_warning_s = 40",
            "hang_warning_s (40) must be above limits.lease_s (50)",
        ),
        (
            "hang_warning_s = 9\nhang_s = 8\nlease_s=6",
            "hang_s (8) must be above limits.hang_warning_s (9)",
        ),
        ("hang_s = 9\ndeadline_s = 8", "deadline_s (8) must not be below limits.hang_s (9)"),
        (
            "hang_s = 7200",
            "deadline_s (3600, not given) must not be below limits.hang_s (7200)",
        ),
    ],
)
def test_times_out_of_order_are_refused_and_both_named(
    tmp_path: Path, text: str, said: str
) -> None:
    [found] = defects(tmp_path, f"[limits]\n{text}\n")

    assert "timeouts are out of order: limits." in found
    assert said in found


@given(
    strategies.dictionaries(
        strategies.sampled_from(list(ORDERED_TIMES)), strategies.floats(0.001, 10_000), max_size=5
    )
)
@sampled(max_examples=example_count(60), deadline=None)
@pytest.mark.spec("15")
def test_accepted_times_are_in_order(
    tmp_path_factory: pytest.TempPathFactory, written: dict[str, float]
) -> None:
    """Only a lease that nobody wrote may be longer than the warning: see the floor of
    `ORDERED_TIMES`.
    """
    top = tmp_path_factory.mktemp("top")
    text = "[limits]\n" + "".join(f"{name} = {value!r}\n" for name, value in written.items())
    try:
        limits = load(top, text).settings.limits
    except SettingsInvalid:
        return

    heartbeat, lease, warning, hang, deadline = (getattr(limits, name) for name in ORDERED_TIMES)
    assert heartbeat < lease
    assert warning < hang <= deadline
    assert lease < warning or "lease_s" not in written


# ------------------------------------------------------------------ what is refused


@pytest.mark.spec("15", "0.6")
def test_all_defects_of_the_settings_are_reported_at_once(tmp_path: Path) -> None:
    found = defects(
        tmp_path,
        """\
        languge = "ja"
        agent = "smal"
        [agents.small]
        command = "x"
        [retry]
        max_retries = 3
        default_max_retries = 20
        [retry.default_backoff]
        jitter = 2
        [retry.cause_specific.FATAL_ERROR]
        max_retries = 3
        [retry.cause_specific.TIMOUT]
        [limits]
        paralel = 3
        deadline_s = "x"
        pending_runs = true
        adopt = "kil"
        [ui]
        port = 3
        [store]
        backups = -1
        """,
    )

    assert sorted(re.sub(r"^yaoki.toml:\d+: ", "", line) for line in found) == sorted(
        line
        for line in (
            "languge: unknown key; did you mean 'language'?",
            "agent: unknown agent 'smal'; did you mean 'small'?",
            "retry.max_retries: renamed; it is now default_max_retries",
            "retry.default_max_retries: 20 retries can never be reached: max_total_attempts is 12",
            "retry.default_backoff.jitter: must be from 0 to 1, not 2",
            "retry.cause_specific.FATAL_ERROR: FATAL_ERROR is never retried",
            "retry.cause_specific.TIMOUT: unknown kind of failure 'TIMOUT'; "
            "did you mean 'TIMEOUT'?",
            "limits.paralel: unknown key; did you mean 'parallel'?",
            "limits.deadline_s: must be a number, not 'x'",
            "limits.pending_runs: must be a whole number, not True",
            "limits.adopt: must be adopt or kill, not 'kil'; did you mean 'kill'?",
            "ui.port: unknown key",
            "store.backups: must be from 0 to 1000, not -1",
        )
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("limits = 3", "limits: must be a table, not 3"),
        ("agents = {mine = 'x'}", "agents.mine: must be a table, not 'x'"),
        ("agent = []", "agent: must be a string or a list of strings, and not empty"),
        ("[retry]\nretryable_failures = ['FATAL_ERROR']", "FATAL_ERROR is never retried"),
        (
            "[retry]\nretryable_failures = ['TIMEOUT']\n[retry.cause_specific.RATE_LIMIT]",
            "cause_specific.RATE_LIMIT: nothing uses it: RATE_LIMIT is not among retryable",
        ),
        ("[escalate]\nmax_message_length = 501", "escalate.max_message_length"),
        (
            "[retry.default_backoff]\ninitial_delay_ms = 60000",
            "initial_delay_ms 60000 is over max_delay_ms 30000",
        ),
        ("[retry.default_backoff]\ntype = 'expo'", "must be fixed or linear or exponential"),
        ("[limits]\ndeadline_s = nan", "limits.deadline_s: must be from 0.001 to"),
        ("[limits]\ndeadline_s = 2020-01-01", "limits.deadline_s: must be a number"),
        ("[limits]\nparallel = 1.5", "limits.parallel: must be a whole number, not 1.5"),
        ("[limits\nparallel = 1", "yaoki.toml:1:8: Expected"),
        ("a = 1\na = 2\n", "yaoki.toml:2:6: Cannot overwrite a value"),
    ],
)
@pytest.mark.spec("15")
def test_an_invalid_value_is_refused_with_its_key(tmp_path: Path, text: str, said: str) -> None:
    [found] = defects(tmp_path, text)

    assert found.startswith("yaoki.toml")
    assert said in found


@pytest.mark.parametrize("name", ["yaoki.toml", "pyproject.toml"])
@pytest.mark.spec("15")
def test_a_defect_names_the_line_of_its_key(tmp_path: Path, name: str) -> None:
    head = "[tool.yaoki." if name == "pyproject.toml" else "["
    text = f"""\
        # paralel = 1
        {head}checks.tests]
        shell = '''
        [limits]
        paralel = 2
        '''
        {head}setup]
        commands = [
            ["make"]
        ]
        inptus = ["x"]
        {head}limits]   # of time
        paralel = 2
        "hang_s" = 'long'
        {head}retry]
        default_backoff = {{jitter = 2}}
        """

    found = defects(tmp_path, text, name)

    assert sorted(found) == sorted(
        [
            f"{name}:11: setup.inptus: unknown key; did you mean 'inputs'?",
            f"{name}:13: limits.paralel: unknown key; did you mean 'parallel'?",
            f"{name}:14: limits.hang_s: must be a number, not 'long'",
            f"{name}:16: retry.default_backoff.jitter: must be from 0 to 1, not 2",
        ]
    )


@pytest.mark.spec("14.4")
def test_bytes_that_are_not_utf_8_are_refused(tmp_path: Path) -> None:
    (tmp_path / "yaoki.toml").write_bytes(b"language = '\xff'")

    with pytest.raises(SettingsInvalid) as refused:
        load_settings(tmp_path, {})

    assert refused.value.defects == ("yaoki.toml: byte 12 is not UTF-8",)


@pytest.mark.spec("14.4")
def test_a_huge_or_deep_file_is_refused(tmp_path: Path) -> None:
    assert "more than the limit" in defects(tmp_path, "#" * (1 << 20) + "\n")[0]
    assert defects(tmp_path, "a = " + "[" * 100_000)


VALUES: Any = strategies.recursive(
    strategies.sampled_from(["1", "-1", "true", "'x'", "1.5", "[]", "2020-01-01", "{}", "inf"]),
    lambda inner: inner.map(lambda value: f"[{value}]"),
    max_leaves=3,
)
KEYS = strategies.sampled_from(
    [
        *(f"retry.cause_specific.{kind}.max_retries" for kind in RETRYABLE_KINDS),
        *("retry", "retry.default_backoff", "retry.default_backoff.type", "retry.cause_specific"),
        *("limits", "limits.parallel", "limits.adopt", "agents", "agents.a", "checks.a.run"),
        *("agent", "patterns", "language", "ui", "store.url", "other", "retry.retryable_failures"),
    ]
)


@given(strategies.dictionaries(KEYS, VALUES, max_size=4))
@sampled(max_examples=example_count(100), deadline=None)
@pytest.mark.spec("14.4")
def test_any_settings_file_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, written: dict[str, str]
) -> None:
    """Nothing but a refusal with its defects may come of it: any other exception fails here."""
    text = "".join(f"{key} = {value}\n" for key, value in written.items())
    found: object = None
    try:
        found = load(tmp_path_factory.mktemp("top"), text).settings
    except SettingsInvalid as fault:
        found = fault.defects

    assert found


# ------------------------------------------------------------------ retry overrides


@pytest.mark.spec("5.6")
def test_overrides_keep_other_values() -> None:
    usual = RetrySettings()

    none, two = with_max_retries(usual, 0), with_max_retries(usual, 2)

    assert [none.rule_for(kind).retries_max for kind in RETRYABLE_KINDS] == [0, 0, 0, 0, 0, 0, 6]
    assert [two.rule_for(kind).retries_max for kind in RETRYABLE_KINDS] == [2, 2, 2, 3, 5, 2, 6]
    assert (none.content_retries_max, two.content_retries_max) == (0, 2)
    assert (
        none.rule_for(FailureKind.RATE_LIMIT).backoff
        == usual.rule_for(FailureKind.RATE_LIMIT).backoff
    )


@pytest.mark.spec("5.6")
def test_naming_a_kind_allows_its_retry() -> None:
    without = replace(RetrySettings(), retryable_failures=(FailureKind.INCOMPLETE,))

    named = with_cause(without, FailureKind.TIMEOUT, KindRetrySettings(max_retries=1))

    assert named.retryable_failures == (FailureKind.INCOMPLETE, FailureKind.TIMEOUT)
    assert named.rule_for(FailureKind.TIMEOUT).retries_max == 1


@pytest.mark.spec("5.6")
def test_iterations_include_the_first_attempt() -> None:
    assert with_iterations(RetrySettings(), 10).content_retries_max == 9
    assert within_iterations(with_max_retries(RetrySettings(), 9), 4).content_retries_max == 3
    assert within_iterations(with_max_retries(RetrySettings(), 1), 4).content_retries_max == 1


@pytest.mark.spec("5.6")
def test_zero_retries_in_the_settings_apply_to_all_content_failures() -> None:
    """The shipped number of a single kind must not let it slip past the common zero."""
    assert RetrySettings(default_max_retries=0).content_retries_max == 0


# ------------------------------------------------------------------ cost and reference


def test_settings_are_read_without_the_model_library(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib, yaoki.formats.config, yaoki.formats.plan;"
        "yaoki.formats.config.load_settings(pathlib.Path(sys.argv[1]), {});"
        "sys.exit(bool({'pydantic', 'yaml'} & set(sys.modules)))"
    )

    ended = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)

    assert ended.returncode == 0


@pytest.mark.spec("15")
def test_the_reference_page_names_every_key_and_its_default(tmp_path: Path) -> None:
    page = REFERENCE.read_text(encoding="utf-8")
    values = load_settings(tmp_path, {}).values

    missing = {
        key
        for key, value in values.items()
        if not key.startswith("retry.cause_specific.")
        and f"| `{key}` | `{written(value)}` |" not in page
    }

    assert missing == set()


def written(value: Any) -> str:
    """As TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "[" + ", ".join(f'"{item}"' for item in value) + "]"
    return f'"{value}"' if isinstance(value, str) else f"{value:.15g}"
