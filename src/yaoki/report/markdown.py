"""The report as Markdown, for a terminal, a pull request or a mail."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from yaoki.core.text import format_count
from yaoki.report.wording import (
    SO_FAR,
    agent_conversations,
    format_cost,
    format_duration,
    format_instant,
    format_tokens,
    list_some,
    one_line_text,
)
from yaoki.views.outcomes import outcome_numbers
from yaoki.views.tasks import OFF_BRANCH

LANDED_MAX, OTHERS_MAX, SMALL_MAX, CHECKS_MAX = 100, 100, 30, 8
FAILURES_MAX = 60
Data = Mapping[str, Any]

# Characters that could begin a link, an emphasis, a cell or a tag inside a line.
_SPECIAL = re.compile(r"([\\`*\[\]<>|])|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")


def escape_markdown(value: object, limit: int = 200) -> str:
    """Text from elsewhere inside a line, shown literally."""
    return _SPECIAL.sub(lambda hit: f"\\{hit[0]}", one_line_text(value, limit))


def code_span(value: object, limit: int = 300) -> str:
    """Text in a code span; a backtick inside would end it."""
    shown = one_line_text(value, limit).replace("`", "'")
    return f"`{shown}`"


def render_markdown(report: Data) -> str:
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Data) -> Iterator[str]:
    run = report["run"]
    yield f"# Run {run['run']}: {escape_markdown(run['goal'], 160)}"
    yield ""
    yield f"**{escape_markdown(report['verdict'], 600)}**"
    yield ""
    yield from (
        f"> Warning: {escape_markdown(words)}\n" for words in report["warnings"][:SMALL_MAX]
    )
    yield from _asking(report)
    yield from _warnings(report)
    yield from _numbers(report)
    yield from _landed(report)
    yield from _others(report)
    yield from _failures(report)
    yield from _decisions(report)
    yield from _saved_work(report)
    yield from _sessions(report)
    yield from _proof(report)
    part = report["run"]["status"] == "CANCELLED" and " merge " in report["next"]
    takes = " takes what landed, and not all of it is done." if part else ""
    yield f"Next: {code_span(report['next'])}{takes}"


def _asking(report: Data) -> Iterator[str]:
    asking = report["asking"]
    if not asking and not report["run"]["paused"]:
        return
    yield "## Needs you"
    yield ""
    if report["run"]["paused"]:
        run = report["run"]["run"]
        yield f"The run is paused: {escape_markdown(report['run']['paused'], 1000)}"
        yield ""
        yield (
            f"- {code_span(f'yaoki answer {run} go')}: the run continues; "
            "a used-up budget is granted once more"
        )
        yield f"- {code_span(f'yaoki answer {run} abort')}: the run is cancelled; its work is saved"
        yield ""
    for one in asking[:SMALL_MAX]:
        yield f"**{escape_markdown(one['name'], 80)}** ({one['reason']}):"
        yield ""
        yield from (f"> {escape_markdown(each, 2000)}  " for each in one["question"].split("\n"))
        yield ""
        yield from (
            f"- {code_span(a['command'])}: {escape_markdown(a['what'])}" for a in one["answers"]
        )
        yield ""
    number = len(asking) + report["asking_left_out"]
    yield from _left_out(number, SMALL_MAX, f"questions: yaoki status {report['run']['run']}")


def _warnings(report: Data) -> Iterator[str]:
    """Warnings of the run that need no answer."""
    listed = report["noticed"]["listed"]
    if not listed:
        return
    yield "## Noticed"
    yield ""
    for one in listed[:SMALL_MAX]:
        name = f"{escape_markdown(one['name'], 60)}: " if one["name"] else ""
        times = f" ({format_count(one['times'], 'time')})" if one["times"] > 1 else ""
        yield f"- {format_instant(one['at'])}, {name}{escape_markdown(one['words'], 600)}{times}"
    yield ""
    number = len(listed) + report["noticed"]["left_out"]
    yield from _left_out(number, SMALL_MAX, "warnings: yaoki report --format json")


def _numbers(report: Data) -> Iterator[str]:
    numbers, time = report["numbers"], report["time"]
    waiting = time["waiting"]
    yield "## Numbers"
    yield ""
    yield "| what | how much |"
    yield "|---|---|"
    yield f"| tasks done | {numbers['done']:,} of {numbers['tasks']:,} |"
    yield from _known_row("cost", numbers, format_cost)
    yield from _known_row("tokens", numbers, format_tokens)
    whole = "time from start to end" if report["run"]["finished_at"] else f"time {SO_FAR}"
    yield f"| {whole} | {format_duration(time['wall_s'])} |"
    yield f"| agents at work, added up | {format_duration(time['agent_s'])} |"
    yield f"| checks, added up | {format_duration(time['checks_s'])} |"
    yield (
        f"| waiting for other tasks or a free worker, added up | "
        f"{format_duration(waiting['turn_s'])} |"
    )
    yield f"| waiting for a retry, added up | {format_duration(waiting['retry_s'])} |"
    yield f"| waiting for a person, added up | {format_duration(waiting['person_s'])} |"
    runs = format_count(numbers["agent_runs"], "run of an agent", "runs of agents")
    yield f"| attempts | {numbers['attempts']:,}, with {runs} |"
    yield f"| retries | {numbers['retries']:,} |"
    yield ""
    if numbers["agent_runs"] and numbers["cost"] is None:
        yield "No agent reported its cost."
        yield ""


def _known_row(what: str, numbers: Data, words: Callable[[Any, int], str]) -> Iterator[str]:
    """No row for an unknown value; a sentence below the table says so."""
    if numbers[what] is not None:
        told = words(numbers[what], numbers[f"{what}_untold"])
        yield f"| {what} | {told}{_unknown_note(numbers, what)} |"


def _unknown_note(numbers: Data, what: str) -> str:
    untold = numbers[f"{what}_untold"]
    return f" ({format_count(untold, 'agent run')} reported none)" if untold else ""


def _landed(report: Data) -> Iterator[str]:
    landed = [task for task in report["tasks"] if task["landed"]]
    if not landed:
        return
    yield f"## Landed on {code_span(report['run']['run_branch'])}"
    yield ""
    yield "| task | commit | attempt | proven by |"
    yield "|---|---|---|---|"
    for task in landed[:LANDED_MAX]:
        yield (
            f"| {escape_markdown(task['name'], 60)} | {_commit(task)} | {task['attempt']} | "
            f"{_proven(task)} |"
        )
    yield ""
    yield from _left_out(len(landed), LANDED_MAX, "tasks: yaoki report --format json")


def _commit(task: Data) -> str:
    proof = task["proof"]
    if proof is None:
        return "unknown"
    unchanged = " (nothing to change)" if proof["how"] == "UNCHANGED" else ""
    ended = f" (its agent: {task['agent_ended']})" if task["agent_ended"] else ""
    return f"{code_span(proof['commit'][:12])}{unchanged}{ended}"


def _proven(task: Data) -> str:
    checks = task["proof"]["checks"] if task["proof"] else []
    more = f" and {len(checks) - CHECKS_MAX} more" if len(checks) > CHECKS_MAX else ""
    return (", ".join(_check(check) for check in checks[:CHECKS_MAX]) or "unknown") + more


def _check(check: Data) -> str:
    exit_ = f", exit {check['exit_code']}" if check["exit_code"] is not None else ""
    told = "".join(f", {name} {version}" for name, version in check["versions"].items())
    odd = check["outcome"] == "PASSED" and check["exit_code"] not in {None, 0}
    why = f" ({escape_markdown(check['message'], 120)})" if odd and check["message"] else ""
    tests = outcome_numbers(check["tests"], check["known_failures"])
    return (
        f"{escape_markdown(check['check'], 40)} "
        f"{check['outcome']}{tests}{escape_markdown(exit_)}{why}{escape_markdown(told)}"
    )


def _others(report: Data) -> Iterator[str]:
    others = [task for task in report["tasks"] if not task["landed"]]
    if not others:
        return
    yield "## Not landed"
    yield ""
    yield "| task | state | why | next |"
    yield "|---|---|---|---|"
    names = {task["id"]: task["name"] for task in report["tasks"]}
    for task in others[:OTHERS_MAX]:
        cause = (
            f" by {escape_markdown(names.get(task['cause'], task['cause']), 60)}"
            if task["cause"]
            else ""
        )
        next_ = code_span(task["next"]) if task["next"] else ""
        why = _why_not(task, names) or f"{task['reason'] or ''}{cause}"
        yield f"| {escape_markdown(task['name'], 60)} | {task['state']} | {why} | {next_} |"
    yield ""
    yield from _left_out(len(others), OTHERS_MAX, "tasks: yaoki report --format json")


def _why_not(task: Data, names: Mapping[str, str]) -> str:
    """Why a done task has not landed: a subtask lands with its group."""
    if task["on_branch"] is False:
        return OFF_BRANCH
    if task["state"] != "DONE" or not task["group"]:
        return ""
    group = names.get(task["group"], task["group"])
    return f"waits for its group {escape_markdown(group, 60)}, which has not landed"


def _failures(report: Data) -> Iterator[str]:
    numbers = report["numbers"]
    lines = [
        f"- {format_count(one['count'], 'retry', 'retries')} after {one['kind']}{_pattern(one)}"
        for one in report["retries"][:SMALL_MAX]
    ]
    lines += [
        f"- {format_count(one['count'], 'attempt')} ended by {one['kind']}{_pattern(one)}, "
        f"not tried again"
        for one in report["not_retried"][:SMALL_MAX]
    ]
    if n := numbers["workers_lost"]:
        lines.append(f"- {format_count(n, 'claim')} taken back from lost workers; nothing was lost")
    if n := numbers["verified_again"]:
        lines.append(f"- {format_count(n, 'proof')} made again because other work landed first")
    if n := numbers["results_refused"]:
        lines.append(f"- {format_count(n, 'late result')} refused")
    if n := numbers["taken_back"]:
        lines.append(f"- {format_count(n, 'landing')} taken back")
    lines += [
        f"- flaky: {escape_markdown(one['check'], 60)}, {format_count(one['times'], 'time')},"
        f" in {escape_markdown(list_some(one['tasks'], one['tasks_left_out']), 240)}"
        for one in report["flaky"]
    ]
    lines += [
        f"- already failing on the base: {escape_markdown(one['check'], 60)}: "
        f"{escape_markdown(one['failures'])}"
        for one in report["red_before"]
    ]
    if lines:
        yield "## Failures and retries"
        yield ""
        yield from lines[:FAILURES_MAX]
        yield ""
        yield from _left_out(len(lines), FAILURES_MAX, "of them: yaoki report --format json")


def _pattern(one: Data) -> str:
    return f" ({escape_markdown(one['pattern'])})" if one["pattern"] else ""


def _decisions(report: Data) -> Iterator[str]:
    answers = report["decided"]["answers"]
    if not answers:
        return
    yield "## What people decided"
    yield ""
    for one in answers[:SMALL_MAX]:
        check = f" {code_span(one['check'])}" if one["check"] else ""
        words = f": {escape_markdown(one['words'])}" if one["words"] else ""
        how = f" ({escape_markdown(one['how'], 60)})" if one.get("how") else ""
        yield (
            f"- {format_instant(one['at'])}, {escape_markdown(one['name'], 60)}: "
            f"{one['choice']}{check}{how}{words}"
        )
    yield ""
    number = len(answers) + report["decided"]["left_out"]
    yield from _left_out(number, SMALL_MAX, "answers: yaoki trace")


def _saved_work(report: Data) -> Iterator[str]:
    work = report["kept"]["work"]
    if not work:
        return
    yield "## Kept work that did not land"
    yield ""
    for one in work[:SMALL_MAX]:
        where = (
            f"attempt {one['attempt']}, {code_span(one['ref'])} at {code_span(one['commit'][:12])}"
        )
        yield f"- {escape_markdown(one['name'], 60)}, {where}: {code_span(one['command'])}"
    yield ""
    yield from _left_out(
        len(work) + report["kept"]["left_out"], SMALL_MAX, "of them: yaoki recover"
    )


def _sessions(report: Data) -> Iterator[str]:
    """What each agent reported about its session; empty where none reported anything."""
    told = agent_conversations(report)
    if not told:
        return
    yield "## Conversations"
    yield ""
    yield "| task | attempt | agent | session | cost | tokens |"
    yield "|---|---|---|---|---|---|"
    for task, one in told[:LANDED_MAX]:
        session = code_span(one["session"], 80) if one["session"] else "unknown"
        yield (
            f"| {escape_markdown(task['name'], 60)} | {one['attempt']} | "
            f"{escape_markdown(one['agent'] or '', 40)} "
            f"| {session} | {format_cost(one['cost'])} | {format_tokens(one['tokens'])} |"
        )
    yield ""
    yield from _left_out(len(told), LANDED_MAX, "attempts: yaoki report --format json")


def _proof(report: Data) -> Iterator[str]:
    run = report["run"]
    yield "## Proof"
    yield ""
    yield f"- base {code_span(run['base'])} of {code_span(run['base_branch'])}"
    if run["head"]:
        yield f"- head {code_span(run['head'])} of {code_span(run['run_branch'])}"
    yield f"- plan {code_span(report['plan']['sha256'])}, revision {report['plan']['revision']}"
    receipt = report.get("receipt")
    if receipt:
        yield f"- receipt {code_span(receipt['digest'])}, held against git by:"
        yield ""
        file = f"{run['run']}.receipt.json"
        yield f"      yaoki report {run['run']} --receipt {file}"
        yield f"      yaoki verify {file}"
    yield ""


def _left_out(number: int, shown: int, where: str) -> Iterator[str]:
    """The number of entries that a cut list leaves out."""
    if number > shown:
        yield f"… {number - shown:,} more {where}"
        yield ""
