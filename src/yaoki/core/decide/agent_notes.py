"""Records of an agent's end: its result, and warnings about what changed around its work."""

from __future__ import annotations

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.machine.events import AgentFinished, AgentRunLost, Event
from yaoki.core.machine.journal_notes import JournalNote
from yaoki.core.model import Task
from yaoki.core.model.stage_report import AgentLost, StageReport, WorkCommitted
from yaoki.core.text import format_count, list_some

# A key of the repository's settings that needs no quotes in a shell.
_REPOSITORY_KEY = lazy_compile(r"config ([\w.-]+)")
# A hook whose name needs no quotes either.
_HOOK = lazy_compile(r"hooks/[\w.-]+")
# The commands that show a changed setting of the repository.
_LOOK_AT = {"remotes": "git remote -v", "identity": "git config user.name"}


def note_agent_end(task: Task, report: StageReport) -> tuple[Event, ...]:
    """Record that an agent ran, with its cost and result, before what follows."""
    if isinstance(report, AgentLost) and task.work.prompt_sent:
        return (AgentRunLost(report.seconds, report.head, report.tree),)
    if not isinstance(report, WorkCommitted):
        return ()
    changed = len(report.changed)
    finished = AgentFinished(
        report.exit,
        report.head,
        report.tree,
        changed,
        report.diff_digest,
        report.left_out_files,
        report.queue_choice,
        by_person=task.taken_over,
        person_file_count=report.person_file_count,
    )
    notes = (
        [_checkout_note(report.changed_checkout)]
        if report.changed_checkout and not task.taken_over
        else []
    )
    if report.checkout_additions and not task.taken_over:
        notes.append(_additions_note(task, report.checkout_additions))
    if report.left_out_files:
        notes.append(
            JournalNote("WARNING", {"message": _left_out_warning(task, report.left_out_files)})
        )
    if report.changed_git_config:
        notes.append(JournalNote("WARNING", {"message": git_config_warning(report)}))
    return (finished, *notes)


def _left_out_warning(task: Task, names: tuple[str, ...]) -> str:
    files = format_count(len(names), "new file")
    return (
        f"{files} outside the task's scope left out of its work: {list_some(names, 5)}; "
        f"saved, see: yaoki recover {task.id}"
    )


def git_config_warning(report: WorkCommitted) -> str:
    """A warning about changed git configuration: without a sandbox its author is unknown, so a
    person is asked.

    The file is not restored, so a later attempt may find a change of an earlier one.  The command
    only shows what is there: the earlier value may have been the person's own.
    """
    names = report.changed_git_config
    keys = [hit[1] for hit in map(_REPOSITORY_KEY.fullmatch, names) if hit]
    commands = [f"git config --get-all {key}" for key in keys]
    commands += [f'cat "$(git rev-parse --git-path {name})"' for name in names if _is_hook(name)]
    look = f"; if that was not you: {commands[0]}" if commands else ""
    return (
        f"git's own configuration changed after the task began: {', '.join(names)}; it is left as "
        f"it is, and a retry asks again until that is undone{look}"
    )


def _is_hook(name: str) -> bool:
    return _HOOK.fullmatch(name) is not None


def _checkout_note(names: tuple[str, ...]) -> JournalNote:
    """The author is unknown: people work in their checkout while a run is active."""
    changed_names = ", ".join(name.partition("/")[2] for name in names)
    refs = "your refs, " if any(name.startswith("checkout/refs/") for name in names) else ""
    places = f"{refs}your checkout or your own settings"
    words = f"{places} changed while the agent was at work: {changed_names}"
    look = [command for name, command in _LOOK_AT.items() if f"checkout/{name}" in names]
    look += [] if len(look) == len(names) else ["git reflog", "git status"]
    data = {"what": list(names), "message": f"{words}; if that was not you: {', '.join(look)}"}
    return JournalNote("CHECKOUT_CHANGED", data)


def _additions_note(task: Task, names: tuple[str, ...]) -> JournalNote:
    """Mostly notes of the user: no warning, because no file and no ref was changed."""
    what = f"{list_some(names, 5)} appeared in your checkout while attempt {task.attempt} ran"
    data = {"what": list(names), "message": f"{what}; if that was not you: git status"}
    return JournalNote("CHECKOUT_FILES_ADDED", data)
