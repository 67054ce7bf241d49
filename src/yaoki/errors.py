"""Every exception of yaoki, one tree.

YaokiError                   anything we explain to a person; carries a hint
├── PlanInvalid              a plan or a settings file is refused (exit 2)
│   └── NeedsCircle          tasks need each other in a circle
├── SettingsInvalid          yaoki.toml is refused (exit 2)
├── TemplateInvalid          a prompt template is refused (exit 2)
├── Refused                  the request cannot be met now (exit 6)
│   ├── LeaseLost            the caller's claim was superseded
│   ├── OverLimit            a queue, a text or a disk is full
│   ├── Unknown              no such run, task, check, snapshot
│   │   └── RunInOtherCheckout     another checkout of the clone has the run
│   ├── NotNow               the state of the task or run forbids it
│   └── Untrusted            this repository would run commands that no person has trusted
├── StoreError               the database cannot be used
│   ├── RowInvalid           the row of one task is not as yaoki wrote it
│   ├── StoreNewer           the store was written by a newer yaoki
│   ├── StoreCorrupt         the file is not a database of yaoki
│   ├── StoreUnreachable     the server does not answer, or has no free connection
│   └── StoreFull            the disk is full
├── WorkspaceError           git refuses
│   ├── GitMissing           git is missing or older than 2.38
│   ├── RepositoryUnusable   bare, empty, or not a repository
│   └── GitFailed            one git command failed; transient or not
│       ├── BranchMovedExternally  somebody moved, deleted or checked out the run branch
│       ├── RemoteUnreachable      the remote does not answer, or lacks a commit it will get
│       ├── RemoteRejectedPush     the remote answers and rejects the push
│       └── DiskFull               git found no space on the disk
├── NoticeFailed             a notice could not be delivered
└── Fault                    our own infrastructure failed during a stage
    └── SandboxUnavailable   no sandbox works on this machine
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from enum import StrEnum, unique

FREE_DISK_HINT = "free some disk space: df -h, yaoki prune"


class YaokiError(Exception):
    """An error that a person can act on: one sentence, and a hint with the next command."""

    exit_code = 1

    def __init__(self, sentence: str, *, hint: str = "") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.hint = hint

    @property
    def with_remedy(self) -> str:
        """The sentence and the remedy, for a person who is asked."""
        return f"{self.sentence} (remedy: {self.hint})" if self.hint else self.sentence


class PlanInvalid(YaokiError):
    """A plan is refused as a whole; each entry of `defects` is one line to print.

    `lacks_settings`: at least one of them is that the settings name no agent or no check.
    """

    exit_code = 2

    def __init__(
        self,
        sentence: str,
        *,
        hint: str = "",
        defects: Sequence[str] = (),
        lacks_settings: bool = False,
    ) -> None:
        super().__init__(sentence, hint=hint)
        self.defects, self.lacks_settings = tuple(defects), lacks_settings


class NeedsCircle(PlanInvalid):
    """The dependencies of tasks form a cycle."""

    def __init__(self, path: Sequence[str]) -> None:
        super().__init__(
            f"tasks need each other in a circle: {' needs '.join(path)}",
            hint=f"drop {path[1]!r} from the needs of {path[0]!r}, or any other link",
        )
        self.path = tuple(path)


class SettingsInvalid(YaokiError):
    """The settings file is refused; each entry of `defects` is one line to print."""

    exit_code = 2

    def __init__(self, sentence: str, *, hint: str = "", defects: Sequence[str] = ()) -> None:
        super().__init__(sentence, hint=hint)
        self.defects = tuple(defects)


class TemplateInvalid(YaokiError):
    """A prompt template cannot be used; the error names the file, the line and the reason."""

    exit_code = 2

    def __init__(self, file: str, line: int, why: str) -> None:
        super().__init__(f"{file}:{line}: {why}", hint="yaoki prompts test PATTERN")
        self.file, self.line, self.why = file, line, why


class Refused(YaokiError):
    """The request cannot be met now; nothing was changed."""

    exit_code = 6


class LeaseLost(Refused):
    """The caller's claim was superseded by another worker's; the caller has written nothing."""

    def __init__(self, task_id: str, holder: str, epoch: int) -> None:
        super().__init__(
            f"{holder} no longer holds {task_id}: claim {epoch} was superseded",
            hint="stop this work; another worker holds the task now",
        )
        self.task_id, self.holder, self.epoch = task_id, holder, epoch


class OverLimit(Refused):
    """A limit would be exceeded; nothing is stored."""

    def __init__(self, what: str, number: int, limit: int, *, hint: str) -> None:
        super().__init__(f"{what}: {number} is over the limit of {limit}", hint=hint)
        self.number, self.limit = number, limit


class Unknown(Refused):
    """No run, task, check or snapshot has this name."""


class RunInOtherCheckout(Unknown):
    """The store of another checkout of the clone has the run.

    `path` is its folder, quoted for a shell.
    """

    def __init__(self, run_id: str, folder: str, path: str) -> None:
        super().__init__(
            f"run {run_id} is in the store of {folder}, another checkout of this clone",
            hint=f"cd {path} && yaoki status {run_id}",
        )


class NotNow(Refused):
    """The state of the task or run does not allow the request."""


class CheckoutObstructed(NotNow):
    """The branch to move is checked out, and that checkout must not be changed.

    `remedy` is what a person can do in that checkout.  `by_hand` is the git command that moves the
    branch to exactly the head of the run; empty if there is none.
    """

    def __init__(self, message: str, *, remedy: str, by_hand: str) -> None:
        super().__init__(message, hint=f"{remedy}, then: yaoki merge")
        self.remedy, self.by_hand = remedy, by_hand


class Untrusted(Refused):
    """This repository would run commands that no person has trusted; none was run."""


class StoreError(YaokiError):
    """The database cannot be used."""


class RowInvalid(StoreError):
    """The row of one task is not as yaoki wrote it; `task_id` names the task.

    A worker asks a person about that task and continues with the others.
    """

    def __init__(self, task_id: str, why: str) -> None:
        words = f"the row of {task_id} is not as yaoki wrote it: {why}"
        super().__init__(words, hint="yaoki verify")
        self.task_id = task_id


class StoreNewer(StoreError):
    """The store was written by a newer yaoki."""

    exit_code = 6


class StoreCorrupt(StoreError):
    """The file is not a database of yaoki."""


class StoreUnreachable(StoreError):
    """The server does not answer or has no free connection; waiting may help."""


class StoreFull(StoreError):
    """The disk is full; the transaction was not written."""


class WorkspaceError(YaokiError):
    """An operation of git failed or is not possible."""


class GitMissing(WorkspaceError):
    """git is missing or older than 2.38."""

    exit_code = 2


class RepositoryUnusable(WorkspaceError):
    """The repository is bare or without commits, or there is none."""

    exit_code = 2


class GitFailed(WorkspaceError):
    """One git command failed."""

    def __init__(self, sentence: str, *, transient: bool = False, hint: str = "") -> None:
        super().__init__(sentence, hint=hint or "yaoki doctor")
        self.transient = transient


class BranchMovedExternally(GitFailed):
    """Somebody moved, deleted or checked out the run branch.

    `restore_command` puts it back, where one command can; otherwise the hint says what to do.
    """

    def __init__(self, sentence: str, *, restore_command: str = "", hint: str = "") -> None:
        super().__init__(sentence, hint=hint or restore_command)
        self.restore_command = restore_command

    @property
    def remedy(self) -> str:
        return f"put it back: {self.restore_command}" if self.restore_command else self.hint


class RemoteUnreachable(GitFailed):
    """The remote does not answer, or lacks a commit that another machine will push."""

    def __init__(self, sentence: str, *, hint: str = "") -> None:
        super().__init__(sentence, transient=True, hint=hint)


class RemoteRejectedPush(GitFailed):
    """The remote answers but rejects the push, for the same cause in all tasks of a run."""


class DiskFull(GitFailed):
    """The disk is full.  A person can free space, so the task waits instead of failing."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, transient=True, hint=FREE_DISK_HINT)


class NoticeFailed(YaokiError):
    """A channel did not accept a notice.  `permanent`: another try would not help.

    `retry_after` is the wait that the receiver asks for.
    """

    def __init__(
        self,
        sentence: str,
        *,
        permanent: bool = False,
        retry_after: timedelta | None = None,
        hint: str = "",
    ) -> None:
        super().__init__(sentence, hint=hint or "yaoki doctor")
        self.permanent, self.retry_after = permanent, retry_after


@unique
class FatalCode(StrEnum):
    """Why another try does not help; stored with the failure.  `FATAL_CATALOGUE` of the core has
    the words and the remedies.
    """

    NONE = ""
    AUTHENTICATION_FAILED = "AUTHENTICATION_FAILED"
    PERMISSION_DENIED = "PERMISSION_DENIED"
    RESOURCE_NOT_FOUND = "RESOURCE_NOT_FOUND"
    # The check cannot prove what the plan uses it for.
    CHECK_UNFIT = "CHECK_UNFIT"
    REQUEST_REFUSED = "REQUEST_REFUSED"
    # The task was claimed too often without a result.
    UNDELIVERED = "UNDELIVERED"
    SANDBOX_UNAVAILABLE = "SANDBOX_UNAVAILABLE"
    FOLDER_LINKED = "FOLDER_LINKED"
    UNKNOWN = "UNKNOWN"

    @classmethod
    def _missing_(cls, value: object) -> FatalCode | None:
        """A code of another version of yaoki is a permanent failure without a known cause."""
        return cls.UNKNOWN if isinstance(value, str) else None


class Fault(YaokiError):
    """The infrastructure of yaoki failed during a stage; this is never the agent's failure.

    After a `transient` fault the same stage is tried again; otherwise `code` names its cause.
    """

    def __init__(
        self,
        sentence: str,
        *,
        transient: bool,
        code: FatalCode = FatalCode.NONE,
        hint: str = "",
    ) -> None:
        super().__init__(sentence, hint=hint)
        self.transient = transient
        self.code = code


class CommandTimedOut(Fault):
    """A short command did not end before its timeout."""


class SandboxUnavailable(Fault):
    """No sandbox works on this machine; `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"sandbox.mode requires a sandbox, but none is available: {reason}",
            transient=False,
            code=FatalCode.SANDBOX_UNAVAILABLE,
            hint='install bubblewrap, or set sandbox.mode = "off"',
        )
        self.reason = reason
