"""The prompt of an agent: fixed sections, each within its own byte budget.

The same task in the same state gets the same bytes, so a repeat after a rate limit is identical.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence

from yaoki.core import planner_prompt
from yaoki.core.decide.escalation import retry_hint
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import (
    CheckSpec,
    CheckType,
    CriterionLevel,
    Failure,
    FailureKind,
    Task,
    TaskKind,
    TaskSpec,
)
from yaoki.core.model.outcome import LANDED_SINCE_PARAM
from yaoki.core.text import as_sentence, bullet_some, clip_bytes, first_line

BUDGETS: Mapping[str, int] = {
    "rules": 4_000,
    "task": 70_000,
    "failed": 12_000,
    "person": 8_000,
    "checked": 8_000,
    "context": 24_000,
    "answer": 4_000,
    "handover": 4_000,
}
ITEMS_SHOWN = 20
COMMIT_CHARS = 12
PLAIN_COMMAND = lazy_compile(r"[\w@%+=:./-]+(?: [\w@%+=:./-]+)*")
# For agents with yaoki's MCP server: replaces the sentence that no one answers questions.
ASK_RULES: Mapping[str, str] = {
    "en": "You work alone in your own git worktree. If only a person can decide something, do not "
    "guess: call the tool `ask` of the MCP server `yaoki`; your attempt ends, and the next one "
    "gets the answer.",
    "ja": "あなたは専用の作業ツリー (git worktree) で、単独で作業します。"
    "人にしか決められないことは推測せず、MCP サーバー `yaoki` のツール `ask` で質問してください。"
    "質問するとこの試行は終わり、次の試行に回答が渡されます。",
}
# For a task with the red-first criterion.
RED_RULES: Mapping[str, str] = {
    "en": "Write a test first that fails because of the fault, then fix it. Your tests are run on "
    "the code without your fix as well: one must fail there by an assertion, not because "
    "something cannot be imported.",
    "ja": "まず不具合によって失敗するテストを書き、それから不具合を修正してください。"
    "テストは修正前のコードでも実行されます。そのとき少なくとも 1 つのテストが、"
    "インポートの失敗ではなく、アサーションによって失敗する必要があります。",
}
# For a task whose mutants must be killed.
MUTANT_RULES: Mapping[str, str] = {
    "en": "Test what you change: small faults are put into your changed lines, one at a time, and "
    "your tests must fail for nearly all of them.",
    "ja": "変更した部分をテストしてください。変更した行に小さな誤りが 1 つずつ入れられます。"
    "そのほとんどすべてについて、テストが失敗する必要があります。",
}
SEVERAL_CHECKS: Mapping[str, str] = {
    "en": "{count} checks failed, and all of them must pass: {names}",
    "ja": "{count} 個のチェックが失敗しました。すべてに合格する必要があります: {names}",
}
# A worktree with earlier work has no uncommitted changes, where an agent would look for that work.
EARLIER_CHANGES: Mapping[str, str] = {
    "en": "The changes of earlier attempts are committed in this worktree. `git diff {base}` shows "
    "them, and `git checkout {base} -- FILE` restores a file as it was before the task.",
    "ja": "以前の試行による変更は、この作業ツリーにコミットされています。"
    "`git diff {base}` で確認でき、`git checkout {base} -- FILE` で"
    "ファイルをタスク開始前の状態に戻せます。",
}
# The texts about a failure tell how to repair the work, which is not there to be repaired.
NO_EARLIER_CHANGES: Mapping[str, str] = {
    "en": "Nothing that earlier attempts changed is in this directory: what failed is not here to "
    "be repaired or reverted. Do the task from here, and avoid that failure.",
    "ja": "以前の試行による変更は、このディレクトリには含まれていません。"
    "失敗した箇所を修正したり元に戻したりする必要はありません。"
    "同じ失敗を避けて、ここからタスクを行ってください。",
}
# Otherwise an agent looks for a fault in its own changes, which it cannot find there.
PASSED_ALONE: Mapping[str, str] = {
    "en": "The work of the last attempt passed its checks by itself. It fails only together with "
    "the changes that landed meanwhile; `git diff {range}` shows them.",
    "ja": "前回の試行の作業は、単独ではチェックに合格しました。"
    "失敗するのは、その間に取り込まれた変更と合わせたときだけです。"
    "その変更は `git diff {range}` で確認できます。",
}
HAND_OVER: Mapping[str, Mapping[str, str]] = {
    "en": {
        "tried": "You take over from an agent that could not continue:",
        "work": "Its unverified work is in this directory; read it before you go on. It changed:",
        "nothing": "Nothing of its work is in this directory.",
    },
    "ja": {
        "tried": "続行できなくなったエージェントから、このタスクを引き継いでください:",
        "work": "そのエージェントの未検証の作業がこのディレクトリに残っています。"
        "続ける前に読んでください。変更されたファイル:",
        "nothing": "その作業は、このディレクトリには含まれていません。",
    },
}
NEW_CONVERSATION: Mapping[str, Mapping[str, str]] = {
    "en": {
        "tried": "This task was tried before, in a conversation that you do not see:",
        "work": "The unverified work is in this directory; read it before you go on. Changed:",
        "nothing": "Nothing of that work is in this directory.",
        "anew": "Do not repeat what failed: look for the cause yourself.",
    },
    "ja": {
        "tried": "このタスクは、ここには表示されない別の会話で以前に試みられました:",
        "work": "そのときの未検証の作業がこのディレクトリに残っています。"
        "続ける前に読んでください。変更されたファイル:",
        "nothing": "そのときの作業は、このディレクトリには含まれていません。",
        "anew": "失敗した方法を繰り返さず、原因を自分で調べてください。",
    },
}
GENERIC_HINT = "The last attempt was not accepted. Fix what failed, then stop."


@dataclass(frozen=True, slots=True)
class Prompt:
    """The text for one attempt; `fault` says what went wrong while it was written, if anything."""

    text: str
    fault: str = ""


def fence(text: str) -> str:
    """A code fence longer than any run of backticks inside, so that data cannot end it."""
    longest = run = 0
    for letter in text:
        run = run + 1 if letter == "`" else 0
        longest = max(longest, run)
    bar = "`" * max(3, longest + 1)
    return f"{bar}\n{text}\n{bar}"


FailureWriter = Callable[[Failure, Mapping[FailureKind, str]], str]


def compose_prompt(
    task: Task,
    write_failure: FailureWriter | None = None,
    context: str = "",
    *,
    session_resumed: bool = False,
    can_ask: bool = False,
    changed_files: Sequence[str] = (),
) -> Prompt:
    """The whole prompt, with a generic text about the failure if its template cannot be used.

    `context` is what a planner may name.  An agent that continues its conversation
    (`session_resumed`) gets only the failure and the words of a person.  `can_ask`: the agent has
    yaoki's MCP server.  `changed_files`: what earlier attempts left in the worktree.
    """
    failed, fault = "", ""
    if task.feedback is not None:
        try:
            failed = _write_failures(task, task.feedback, write_failure or describe_failure)
        except Exception as error:  # noqa: BLE001 - whatever a template does, the attempt must start
            failed, fault = GENERIC_HINT, f"{type(error).__name__}: {error}"
        failed = "\n\n".join(filter(None, (_landed_since(task), failed)))
    fill = task.spec.planning_brief
    sections: tuple[tuple[str, str, str], ...] = (
        ("Rules", "rules", planner_prompt.PLANNER_RULES if fill else _rules(task, can_ask)),
        ("Task", "task", task.spec.goal),
        ("Context", "context", context),
        ("What other agents left", "handover", hand_over(task, changed_files)),
        ("What was tried before", "handover", describe_earlier_tries(task, changed_files)),
        ("The last failure", "failed", failed),
        ("Earlier changes", "failed", "" if fill else _earlier_changes(task, changed_files)),
        ("What a person said", "person", task.answer_text),
        ("How it will be checked", "checked", "" if fill else describe_checks(task.spec)),
        ("Your answer", "answer", planner_prompt.answer_form(fill) if fill else ""),
    )
    if session_resumed and task.feedback is not None:
        sections = tuple(section for section in sections if section[1] in {"failed", "person"})
    blocks = [
        f"# {title}\n\n{clip_bytes(body.strip(), BUDGETS[key])}"
        for title, key, body in sections
        if body.strip()
    ]
    return Prompt("\n\n".join(blocks) + "\n", fault)


def hand_over(task: Task, changed_files: Sequence[str]) -> str:
    """The section for an agent that takes over: who tried before, what stopped it, what is left."""
    tried = [one for one in task.given_up_agents if one.index != task.agent_index]
    if not tried:
        return ""
    words = HAND_OVER.get(task.spec.language, HAND_OVER["en"])
    lines = [f"- {one.name} ({one.cause.value}): {first_line(one.message, 300)}" for one in tried]
    work = [words["work"], *bullet_some(changed_files, ITEMS_SHOWN)]
    return "\n".join([words["tried"], *lines, "", *(work if changed_files else [words["nothing"]])])


def describe_earlier_tries(task: Task, changed_files: Sequence[str]) -> str:
    """The section for an agent that begins a new conversation: what failed in the old one.

    An agent that takes over from another one gets that one's hand-over instead.
    """
    if task.session or not task.session_failures:
        return ""
    words = NEW_CONVERSATION.get(task.spec.language, NEW_CONVERSATION["en"])
    lines = [f"- {first_line(message, 300)}" for message in task.session_failures]
    work = [words["work"], *bullet_some(changed_files, ITEMS_SHOWN)]
    left = work if changed_files else [words["nothing"]]
    return "\n".join([words["tried"], *lines, "", *left, "", words["anew"]])


def _earlier_changes(task: Task, changed_files: Sequence[str]) -> str:
    """The commit before the task, for an agent that must look at its changes or take some back.

    A fresh worktree has none, and an attempt may have changed nothing.
    """
    if task.feedback is None or not task.work.base or not task.spec.kind.is_change:
        return ""
    texts = EARLIER_CHANGES if changed_files else NO_EARLIER_CHANGES
    words = texts.get(task.spec.language, texts["en"])
    return words.format(base=task.work.base[:COMMIT_CHARS])


def _landed_since(task: Task) -> str:
    """For work that passed before others landed: its own changes alone are not at fault."""
    commits = str(task.feedback.params.get(LANDED_SINCE_PARAM, "")) if task.feedback else ""
    if not commits:
        return ""
    shown = "..".join(commit[:COMMIT_CHARS] for commit in commits.split(".."))
    words = PASSED_ALONE.get(task.spec.language, PASSED_ALONE["en"])
    return words.format(range=shown)


def _write_failures(task: Task, failure: Failure, write: FailureWriter) -> str:
    """The text about each failed check, within its share of the section."""
    hints, single = task.spec.policy.hints, failure.single_failures
    if len(single) == 1:
        return write(failure, hints)
    names = ", ".join(one.check for one in single)
    # The hint of the settings is about the kind of failure, so it is given once.
    texts = [write(one, hints if n == 0 else {}).strip() for n, one in enumerate(single)]
    share = BUDGETS["failed"] // (len(single) + 1)
    template = SEVERAL_CHECKS.get(task.spec.language, SEVERAL_CHECKS["en"])
    intro = template.format(count=len(single), names=names)
    # The text about one check does not say how the agent ended.
    parts = filter(None, (intro, as_sentence(failure.agent_end), *texts))
    return "\n\n".join(clip_bytes(part, share) for part in parts)


def _rules(task: Task, can_ask: bool) -> str:
    alone = "You work alone in your own git worktree; no one answers questions while you work."
    lines = [
        ASK_RULES.get(task.spec.language, ASK_RULES["en"]) if can_ask else alone,
        "Change files in the current directory only. Do not switch branches, push, or touch git "
        "configuration. Do not use git stash: all worktrees share it.",
        "Claims prove nothing: when you stop, the checks below run on what you left.",
    ]
    if task.spec.kind is TaskKind.REPORT:
        lines.append("Write your report to standard output, or to a file if the task names one.")
    if task.spec.red is CriterionLevel.REQUIRED:
        lines.append(RED_RULES.get(task.spec.language, RED_RULES["en"]))
    if task.spec.mutants.count_max and task.spec.mutants.required:
        lines.append(MUTANT_RULES.get(task.spec.language, MUTANT_RULES["en"]))
    if task.spec.scope:
        lines.append(f"Stay within these paths: {', '.join(task.spec.scope)}")
    return "\n".join(f"- {line}" for line in lines)


def describe_failure(failure: Failure, hints: Mapping[FailureKind, str]) -> str:
    """Only the last failure, without the history before it."""
    parts = [retry_hint(failure, hints), f"{failure.kind.value}: {failure.message}"]
    if failure.check:
        parts.append(f"Failing check: {failure.check}")
    parts.extend(_item_lines(failure))
    if failure.output.strip():
        parts.append("Its output (cut):\n" + fence(clip_bytes(failure.output.strip(), 6_000)))
    return "\n\n".join(part for part in parts if part)


def _item_lines(failure: Failure) -> list[str]:
    lines = []
    for item in failure.items:
        where = f" ({item.where})" if item.where else ""
        message = f": {item.message}" if item.message else ""
        lines.append(f"{item.name}{where}{message}")
    # The last item of a shortened list counts those that are left out.
    is_shortened = any(item.unlisted_count for item in failure.items)
    return ["\n".join(bullet_some(lines, ITEMS_SHOWN + is_shortened))] if lines else []


def describe_checks(spec: TaskSpec) -> str:
    """A line for each check; of a hidden one agents see only that it exists."""
    return "\n".join(f"- {check.name}: {_command(check)}" for check in spec.checks)


def plain_check_commands(checks: Iterable[CheckSpec]) -> tuple[str, ...]:
    """The command lines, as the prompt shows them, of checks that an agent can run as they are.

    Agents take such a command as a pattern, so any character with a meaning there is left out.
    """
    lines = (
        _command_line(check)
        for check in checks
        if check.type is CheckType.COMMAND and check.cwd in {"", "."} and check.hidden is None
    )
    return tuple(dict.fromkeys(line for line in lines if PLAIN_COMMAND.fullmatch(line)))


def _command_line(check: CheckSpec) -> str:
    """The command as an agent can run it in a shell: its report goes nowhere, not into a file of
    its work.
    """
    words = (word.replace("{report}", "/dev/null") for word in check.argv)
    return check.shell or shlex.join(word.replace("{worktree}", ".") for word in words)


def _command(check: CheckSpec) -> str:
    if check.hidden is not None:
        return "hidden: it checks the behaviour that the task asks for; you do not see it"
    match check.type:
        case CheckType.COMMAND:
            return f"`{_command_line(check)}`"
        case CheckType.FILE:
            return f"file {check.path} " + ", ".join(f"{k} {v}" for k, v in check.file.items())
        case CheckType.GIT:
            return f"git {check.git}"
        case CheckType.JUDGE:
            return f"another agent judges whether this holds:\n{fence(check.ask.strip())}"
        case CheckType.PYTHON:
            return f"a check of an installed package, {check.entry!r}"
