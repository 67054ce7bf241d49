"""The settings: every key with its default, its bounds and its meaning, once."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum, unique
from types import MappingProxyType
from typing import Any

from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.core.model import (
    RetryPolicy,
)
from yaoki.core.model.flaky_test import QuarantineEntry
from yaoki.core.settings.budget import BudgetSettings
from yaoki.core.settings.keys import BYTES_MAX, seconds_setting, setting
from yaoki.core.settings.resources import PortRanges, parse_port_ranges
from yaoki.core.settings.retry import RetrySettings

LANGUAGES = ("en", "ja")


@unique
class NoticeKind(StrEnum):
    """A kind of notice that `notify.events` may name."""

    ESCALATED = "escalated"
    FINISHED = "finished"
    PAUSED = "paused"
    WARNING = "warning"


@unique
class AdoptionMode(StrEnum):
    """A worker's treatment of an agent that outlived its own worker: wait for it, or end it."""

    ADOPT = "adopt"
    KILL = "kill"


@unique
class SandboxMode(StrEnum):
    """AUTO: a sandbox where one is available and the agent is known to work in it."""

    AUTO = "auto"
    OFF = "off"
    ON = "on"


@dataclass(frozen=True, slots=True)
class RecoverySettings:
    """Data that is saved so that a failure can be undone."""

    enable_snapshots: bool = setting(True, "keep a snapshot of the worktree before each attempt")
    snapshot_retention_hours: float = setting(24.0, "hours a snapshot is kept", high=87_600)
    partial_commit_enabled: bool = setting(
        False, "land the subtasks that succeeded of a group in which others failed"
    )


@dataclass(frozen=True, slots=True)
class EscalationSettings:
    """The notification of a person about an escalation."""

    notify_immediately: bool = setting(True, "notify at once; false waits until the end of the run")
    include_trace_link: bool = setting(True, "name the command that shows the journal")
    max_message_length: int = setting(500, "characters of a message", low=80, high=500)


@dataclass(frozen=True, slots=True)
class NotificationSettings:
    """Channels for notices.  Nothing is sent unless a channel is configured."""

    desktop: bool = setting(
        False, "show notices on the desktop: notify-send, or osascript on macOS"
    )
    command: tuple[str, ...] = setting(
        (), "command that gets each notice as JSON on its input", high=100
    )
    pass_env: tuple[str, ...] = setting(
        (), "variables, by name or glob, that the command may see", high=100
    )
    webhook: str = setting("", "address that gets each notice as a signed POST", secret=True)
    webhook_secret_env: str = setting(
        "YAOKI_WEBHOOK_SECRET", "variable with the secret of the signature"
    )
    webhook_http: bool = setting(False, "allow http to other machines")
    apprise: tuple[str, ...] = setting(
        (), "addresses of services, for yaoki[apprise]", high=100, secret=True
    )
    apprise_env: str = setting("", "variable with more such addresses, separated by spaces")
    timeout_s: float = setting(10.0, "longest time one channel may take", low=0.001, high=300)
    events: tuple[NoticeKind, ...] = setting(
        tuple(NoticeKind),
        "the events for which notices are sent",
        low=1,
        high=100,
        words=NoticeKind,
    )

    @property
    def channels(self) -> tuple[str, ...]:
        """The names of the configured channels, as stored in the outbox."""
        configured = {
            "command": self.command,
            "webhook": self.webhook,
            "desktop": self.desktop,
            "apprise": self.apprise or self.apprise_env,
        }
        return tuple(name for name, value in configured.items() if value)


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """Limits on everything.  The times form one ordered table: see `ORDERED_TIMES`."""

    parallel: int = setting(2, "tasks at the same time", low=1, high=1_000)
    quiet_hours: str = setting("", "local time in which no agent is started, such as 09:00-18:00")
    heartbeat_s: float = seconds_setting(10.0, "how often a worker renews its leases")
    lease_s: float = seconds_setting(60.0, "time after which a lease expires without renewal")
    hang_warning_s: float = seconds_setting(
        300.0, "an agent without activity for this long is shown with a warning"
    )
    hang_s: float = seconds_setting(
        600.0,
        "an agent that uses no CPU, prints nothing and changes no file for this time is hung",
    )
    deadline_s: float = seconds_setting(
        3_600.0, "longest time of one agent run; a task's default timeout"
    )
    max_in_progress_s: float = seconds_setting(
        1_800.0, "how long an inactive agent keeps its task after its lease expired"
    )
    agent_wait_s: float = seconds_setting(
        120.0,
        "longest time that an agent may wait for its service; for a longer wait it is ended, and "
        "yaoki retries later",
    )
    delivery_max: int = setting(
        5, "claims of one task by workers that died, before the task is a dead letter", low=1
    )
    pending_runs: int = setting(20, "maximum number of unfinished runs", low=1)
    pending_tasks: int = setting(10_000, "maximum number of tasks of one run", low=1)
    saved_bytes: int = setting(
        64 << 20,
        "bytes of ignored files that are saved when a worktree is removed",
        low=0,
        high=1 << 40,
    )
    file_bytes: int = setting(
        512 << 20, "bytes of one file that a task adds or changes", low=1, high=BYTES_MAX
    )
    change_bytes: int = setting(
        1 << 30, "bytes of all files that a task adds or changes", low=1, high=BYTES_MAX
    )
    change_files: int = setting(100_000, "files that a task adds", low=1, high=10_000_000)
    path_depth: int = setting(200, "folders above a file that a task adds", low=1, high=400)
    task_text_bytes: int = setting(65_536, "bytes of a task's goal", low=1, high=1 << 20)
    output_bytes: int = setting(
        1 << 30, "bytes that one agent run may write", low=1, high=BYTES_MAX
    )
    disk_free_bytes: int = setting(
        1 << 28, "no task starts with less free disk space than this", high=BYTES_MAX
    )
    memory_free_bytes: int = setting(
        1 << 27, "no task starts with less free memory than this", high=BYTES_MAX
    )
    prompt_bytes: int = setting(
        120_000,
        "bytes of a prompt; the system allows 131072 for an argument",
        low=1_000,
        high=1 << 24,
    )
    adopt: AdoptionMode = setting(
        AdoptionMode.ADOPT,
        "what to do with an agent whose worker died: `adopt` waits for it, `kill` ends it",
        words=AdoptionMode,
    )
    landings_max: int = setting(
        10, "maximum number of verifications of one attempt while the run branch moves", low=1
    )
    ageing_s: float = seconds_setting(
        600.0, "after each wait of this length, the priority of a task is increased by one"
    )


# Each must be below the next; the last pair may be equal.  One that is not set is lowered to this
# share of the next, though a lease is never made so short that a busy machine loses it.
ORDERED_TIMES: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "heartbeat_s": (1 / 6, 0.0),
        "lease_s": (1 / 2, 6.0),
        "hang_warning_s": (1 / 2, 0.0),
        "hang_s": (1.0, 0.0),
        "deadline_s": (1.0, 0.0),
    }
)
SERVER_URLS = ("postgresql://", "postgres://")


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """The place where runs are stored."""

    url: str = setting(
        "",
        "a file, or postgresql://user@host/database; empty means .yaoki/state.db in the repository",
        secret=True,
    )
    backups: int = setting(5, "number of backups that are kept", high=1_000)

    @property
    def is_on_server(self) -> bool:
        return self.url.startswith(SERVER_URLS)


@dataclass(frozen=True, slots=True)
class ArchiveSettings:
    """The age at which finished runs are archived; `yaoki prune --dry-run` shows them."""

    after_days: float = setting(
        7.0, "finished runs older than this many days are archived", high=36_500
    )
    runs_max: int = setting(50, "at most this many finished runs are kept", low=1)
    runs_kept: int = setting(10, "the newest finished runs that are always kept")


@dataclass(frozen=True, slots=True)
class WorkspaceSettings:
    """The place of worktrees, and the remote that machines share."""

    root: str = setting("", "folder of the worktrees; empty means a place beside the repository")
    remote: str = setting(
        "",
        "git remote that all machines share: a name, URL or path; empty means only this machine",
        secret=True,
    )
    ahead_from_files: int = setting(
        5000,
        "in repositories with at least this many files, worktrees are prepared before a "
        "task needs one; 0 means never",
    )


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """The capabilities that the workers of this machine declare."""

    tags: tuple[str, ...] = setting(
        (), "capabilities of this machine that tasks may need", high=100
    )


@dataclass(frozen=True, slots=True)
class ResourceSettings:
    """Resources that each worktree gets for itself, as variables."""

    ports: str = setting(
        "20000-29999", "ports from which worktrees get a range; empty: worktrees get no ports"
    )
    port_count: int = setting(10, "number of ports of one worktree", low=1, high=1_000)
    database_prefix: str = setting("yaoki_", "prefix of the names of a worktree's databases")

    @property
    def port_ranges(self) -> PortRanges | None:
        return parse_port_ranges(self.ports, self.port_count)


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """Access of a task's commands to files and network; see docs/guides/security.md."""

    mode: SandboxMode = setting(
        SandboxMode.AUTO,
        "on: agents, set-up and checks run inside bubblewrap; auto: if it is available "
        "and the agent is known to work there",
        words=SandboxMode,
    )
    network: bool = setting(True, "whether sandboxed commands can reach the network")
    writable: tuple[str, ...] = setting(
        (), "folders that sandboxed commands may write to besides their own", high=100
    )
    hidden: tuple[str, ...] = setting(
        (), "further files and folders that are hidden from sandboxed commands", high=100
    )
    readable: tuple[str, ...] = setting(
        (), "keys of the user that sandboxed commands may read, such as ~/.netrc", high=100
    )


@dataclass(frozen=True, slots=True)
class SetupSettings:
    """The set-up of every plan that has none of its own."""

    inputs: tuple[str, ...] = setting(
        (), "globs of files that the commands read, besides manifests and lock files", high=1_000
    )
    copy: bool = setting(
        True,
        "copy packages that were installed for the same lock file; false: install them again",
    )
    # Lists of words; `formats.config.setup` reads them.
    commands: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class McpSettings:
    """The MCP server for agents; see docs/guides/mcp.md."""

    offer: bool = setting(
        True, "whether known agents get yaoki's MCP server, so that they can ask a person"
    )


@dataclass(frozen=True, slots=True)
class UiSettings:
    """The web page; see docs/guides/page.md."""

    background: bool = setting(True, "whether the background worker serves the page")


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a run besides its plan.

    `agents` and `checks` are unparsed; a plan merges its own over them and validates both.
    """

    retry: RetrySettings = field(default_factory=RetrySettings)
    recovery: RecoverySettings = field(default_factory=RecoverySettings)
    escalate: EscalationSettings = field(default_factory=EscalationSettings)
    notify: NotificationSettings = field(default_factory=NotificationSettings)
    budget: BudgetSettings = field(default_factory=BudgetSettings)
    archive: ArchiveSettings = field(default_factory=ArchiveSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    store: StoreSettings = field(default_factory=StoreSettings)
    workspace: WorkspaceSettings = field(default_factory=WorkspaceSettings)
    worker: WorkerSettings = field(default_factory=WorkerSettings)
    resources: ResourceSettings = field(default_factory=ResourceSettings)
    sandbox: SandboxSettings = field(default_factory=SandboxSettings)
    mcp: McpSettings = field(default_factory=McpSettings)
    ui: UiSettings = field(default_factory=UiSettings)
    setup: SetupSettings = field(default_factory=SetupSettings)
    agent: tuple[str, ...] = ()
    planner: tuple[str, ...] = ()
    agents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    checks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    patterns: tuple[str, ...] = ()
    # Lists of tables; `formats.config.quarantine` reads them.
    quarantine: tuple[QuarantineEntry, ...] = ()
    language: str = setting(
        "en", "language of the words about a failure, in the prompt of a retry", words=LANGUAGES
    )
    source: str = "yaoki.toml"
    # The text of that file, in which a defect of an agent or a check has its line.
    source_text: str = field(default="", compare=False, repr=False)

    @property
    def retry_policy(self) -> RetryPolicy:
        return build_retry_policy(self.retry, self.limits, self.escalate)


def build_retry_policy(
    retry: RetrySettings, limits: LimitSettings, escalate: EscalationSettings
) -> RetryPolicy:
    """The retry policy of one task, in the form that the engine uses."""
    return RetryPolicy(
        rules={kind: retry.rule_for(kind) for kind in retry.retryable_failures},
        content_retries_max=retry.content_retries_max,
        total_attempts_max=retry.max_total_attempts,
        deliveries_max=limits.delivery_max,
        landing_refusals_max=limits.landings_max,
        reruns_max=1 if retry.rerun_from_branch else 0,
        rate_limit_wait_max=timedelta(seconds=retry.rate_limit_wait_max_s),
        account_wait_max=timedelta(seconds=retry.account_wait_max_s),
        account_probe_max=timedelta(seconds=retry.account_probe_max_s),
        fail_over_after=timedelta(seconds=retry.fail_over_after_s),
        conversation=retry.conversation,
        learn=retry.learn,
        hints={
            kind: cause.modification_hint
            for kind, cause in retry.cause_specific.items()
            if cause.modification_hint
        },
        message_max=escalate.max_message_length,
        trace_link=escalate.include_trace_link,
    )
