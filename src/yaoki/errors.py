"""Every exception of yaoki, one tree.

YaokiError                   anything we explain to a person; carries a hint
├── PlanInvalid              a plan or a settings file is refused (exit 2)
│   └── NeedsCircle          tasks need each other in a circle
├── SettingsInvalid          yaoki.toml is refused (exit 2)
├── TemplateInvalid          a prompt template is refused (exit 2)
├── Refused                  asked for something that cannot be now (exit 6)
│   ├── LeaseLost            the caller's claim was superseded
│   ├── OverLimit            a queue, a text or a disk is full
│   ├── Unknown              no such run, task, check, snapshot
│   ├── NotNow               the state of the task or run forbids it
│   └── Untrusted            nobody has trusted what this repository would run
├── StoreError               the database cannot serve
│   ├── RowIllegal           the row of one task is not as yaoki wrote it
│   ├── StoreNewer           written by a newer yaoki
│   ├── StoreBroken          does not look like our database
│   ├── StoreUnreached       nobody answers there, or not yet
│   └── StoreFull            the disk took no more bytes
├── WorkspaceError           git said no
│   ├── GitMissing           no git, or one older than 2.38
│   ├── RepositoryUnfit      bare, empty, not a repository
│   └── GitFailed            one git command failed; transient or not
│       ├── BranchStrayed    somebody else moved, deleted or checked out the run branch
│       ├── RemoteAway       the remote does not answer, or lacks what is on its way there
│       ├── RemoteRefuses    the remote answers, and takes no push
│       └── DiskFull         git found no room for what it writes
├── NoticeFailed             a notice could not be delivered
└── Fault                    our own infrastructure failed during a stage
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

# What helps where a disk is full.
FREE_DISK_HINT = "make room: df -h, yaoki prune"


class YaokiError(Exception):
    """Something a person can act on: one sentence, and what to do next."""

    exit_code = 1

    def __init__(self, sentence: str, *, hint: str = "") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.hint = hint


class PlanInvalid(YaokiError):
    """A plan is refused as a whole; `defects` are ready to print, one a line."""

    exit_code = 2

    def __init__(self, sentence: str, *, hint: str = "", defects: Sequence[str] = ()) -> None:
        super().__init__(sentence, hint=hint)
        self.defects = tuple(defects)


class NeedsCircle(PlanInvalid):
    """Tasks need each other in a circle."""

    def __init__(self, path: Sequence[str]) -> None:
        super().__init__(
            f"tasks need each other in a circle: {' needs '.join(path)}",
            hint=f"drop {path[1]!r} from the needs of {path[0]!r}, or any other link",
        )
        self.path = tuple(path)


class SettingsInvalid(YaokiError):
    """The settings file is refused; `defects` are ready to print, one a line."""

    exit_code = 2

    def __init__(self, sentence: str, *, hint: str = "", defects: Sequence[str] = ()) -> None:
        super().__init__(sentence, hint=hint)
        self.defects = tuple(defects)


class TemplateInvalid(YaokiError):
    """A prompt template cannot be used: which file, which line, why."""

    exit_code = 2

    def __init__(self, file: str, line: int, why: str) -> None:
        super().__init__(f"{file}:{line}: {why}", hint="yaoki prompts test PATTERN")
        self.file, self.line, self.why = file, line, why


class Refused(YaokiError):
    """Asked for something that cannot be done now; nothing was changed."""

    exit_code = 6


class LeaseLost(Refused):
    """The caller's claim was superseded; it has written nothing."""

    def __init__(self, task_id: str, holder: str, epoch: int) -> None:
        super().__init__(
            f"{holder} no longer holds {task_id}: claim {epoch} was superseded",
            hint="stop the work; whoever holds the task now goes on with it",
        )
        self.task_id, self.holder, self.epoch = task_id, holder, epoch


class OverLimit(Refused):
    """A bound would be passed; the number and the limit are said, nothing is stored."""

    def __init__(self, what: str, number: int, limit: int, *, hint: str) -> None:
        super().__init__(f"{what}: {number} is over the limit of {limit}", hint=hint)
        self.number, self.limit = number, limit


class Unknown(Refused):
    """There is no such thing."""


class NotNow(Refused):
    """The state of the task or run forbids it."""


class Untrusted(Refused):
    """Nobody has trusted yet what this repository would run; none of it was."""


class StoreError(YaokiError):
    """The database cannot serve."""


class RowInvalid(StoreError):
    """The row of one task cannot be what yaoki wrote; `task_id` names it.

    A worker asks a person about that task and goes on with the others.
    """

    def __init__(self, task_id: str, why: str) -> None:
        words = f"the row of {task_id} is not as yaoki wrote it: {why}"
        super().__init__(words, hint="yaoki verify")
        self.task_id = task_id


class StoreNewer(StoreError):
    """The store was written by a newer yaoki."""

    exit_code = 6


class StoreCorrupt(StoreError):
    """The file does not look like our database."""


class StoreUnreachable(StoreError):
    """Nobody answers there, or has no room for us just now: worth a wait."""


class StoreFull(StoreError):
    """The disk took no more bytes; nothing of the transaction was kept."""


class WorkspaceError(YaokiError):
    """git said no."""


class GitMissing(WorkspaceError):
    """No git, or one older than 2.38."""

    exit_code = 2


class RepositoryUnusable(WorkspaceError):
    """Bare, without commits, or no repository at all."""

    exit_code = 2


class GitFailed(WorkspaceError):
    """One git command failed."""

    def __init__(self, sentence: str, *, transient: bool = False, hint: str = "") -> None:
        super().__init__(sentence, hint=hint or "yaoki doctor")
        self.transient = transient


class BranchMovedExternally(GitFailed):
    """The run branch is not where yaoki put it, or checked out.

    `way` is the command that puts it back, where one command does; else the hint says what to do.
    """

    def __init__(self, sentence: str, *, restore_command: str = "", hint: str = "") -> None:
        super().__init__(sentence, hint=hint or restore_command)
        self.restore_command = restore_command


class RemoteUnreachable(GitFailed):
    """The remote does not answer, or another machine still has what is needed: worth a wait."""

    def __init__(self, sentence: str, *, hint: str = "") -> None:
        super().__init__(sentence, transient=True, hint=hint)


class RemoteRejectedPush(GitFailed):
    """The remote answers and takes no push of ours: one cause for all tasks of a run."""


class DiskFull(GitFailed):
    """Room comes back by itself or by a person's hand; until then it is worth a wait."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, transient=True, hint=FREE_DISK_HINT)


class NoticeFailed(YaokiError):
    """A channel did not take a notice.  `permanent`: trying again would not help.

    `retry_after` is the wait that the receiver asked for.
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


class Fault(YaokiError):
    """Our own infrastructure failed during a stage; never the agent's failure.

    `transient` faults are worth another try of the same stage; `code` names an
    entry of the fatal catalogue when it is not.
    """

    def __init__(self, sentence: str, *, transient: bool, code: str = "", hint: str = "") -> None:
        super().__init__(sentence, hint=hint)
        self.transient = transient
        self.code = code
