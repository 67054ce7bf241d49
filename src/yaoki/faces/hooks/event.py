"""`yaoki hook event AGENT`, which the agent calls: JSON in, JSON out, exit code 0, in time.

Agents call it at each prompt, so start-up time matters: only what every answer needs is imported.
An error is answered as well: a stop that cannot be checked is refused once, then the person is
informed.  An agent stops after a hook that crashed or was late, so this hook must do neither.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Sequence

from yaoki.core.text import format_count, format_duration
from yaoki.faces.hooks.call import HookCall, HookReply, has_pending_reason
from yaoki.faces.hooks.responses import HookResponse, allow, refuse_stop

STOP_EVENTS = ("Stop", "AfterAgent")
PROMPT_EVENT = "UserPromptSubmit"
# Set in a session that yaoki itself started; yaoki checks its work anyway.
TASK_VARIABLE = "YAOKI_TASK"
OFF_VARIABLE = "YAOKI_HOOK"
WORDS_MAX = 4000
CHOICES = {
    "go on": "go-on",
    "go-on": "go-on",
    "abort": "abort",
    "take over": "take-over",
    "take-over": "take-over",
}


def main(argv: Sequence[str]) -> int:
    """Always answers with exit code 0, unless the process is killed."""
    if os.environ.get(OFF_VARIABLE, "").lower() in {"off", "0", "no"} or os.environ.get(
        TASK_VARIABLE
    ):
        return _write_answer({})
    call = HookCall(argv)
    _answer_in_time(call)
    try:
        call.read()
        answer, done = _answer(call)
    except Exception as error:  # noqa: BLE001 - an agent stops after a hook that crashed
        answer, done = _fault(call, error), _no_work
    signal.setitimer(signal.ITIMER_REAL, 0)
    code = _write_answer(answer)
    if code == 0:
        done()
    return code


def _answer(call: HookCall) -> HookReply:
    event = call.text("hook_event_name")
    if event == PROMPT_EVENT:
        return _prompt(call)
    if event and event not in STOP_EVENTS:
        return {}, _no_work
    if running := call.data.get("background_tasks"):
        number = len(running) if isinstance(running, list) else 1
        run = format_count(number, "background task still runs", "background tasks still run")
        return allow(f"not checked yet: {run}"), _no_work
    from yaoki.faces.hooks.stop import respond_to_stop

    return respond_to_stop(call)


def _prompt(call: HookCall) -> HookReply:
    """Most prompts do not concern yaoki: only the existence of one file is checked."""
    choice, words = parse_answer(call.text("prompt"))
    if not choice and not has_pending_reason(call):
        return {}, _no_work
    from yaoki.faces.hooks.prompt import respond_to_prompt

    return respond_to_prompt(call, choice, words)


def parse_answer(text: str) -> tuple[str, str]:
    """`yaoki: go on, but leave the API alone` is an answer to yaoki, with words for the agent."""
    answer = text[:WORDS_MAX].strip()
    if not answer.lower().startswith("yaoki:"):
        return "", ""
    rest = answer[len("yaoki:") :].strip()
    for name, choice in CHOICES.items():
        if rest.lower().startswith(name) and not rest[len(name) :][:1].isalnum():
            return choice, rest[len(name) :].strip(" \t\n,.;:")
    return "", ""


# ------------------------------------------------------------------ output, time


def _write_answer(answer: HookResponse) -> int:
    """Write the answer at once and nothing else: an agent stops after anything but JSON."""
    try:
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    except OSError:
        # The agent is gone; the flush at exit must not fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    return 0


def _answer_in_time(call: HookCall) -> None:
    """Answer shortly before the agent's time limit, even if a check is still running.

    The shim ends a running check once its lease is no longer renewed.
    """

    def late(*_: object) -> None:
        words = f"the answer was not ready within {format_duration(call.limit_s)}"
        _write_answer(_fault(call, TimeoutError(words)))
        os._exit(0)

    def leave(number: int, _: object) -> None:
        sys.exit(128 + number)

    signal.signal(signal.SIGALRM, late)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, leave)
    signal.setitimer(signal.ITIMER_REAL, call.limit_s - min(5.0, call.limit_s * 0.1))


# ------------------------------------------------------------------ faults


def _fault(call: HookCall, error: Exception) -> HookResponse:
    """A stop that cannot be checked is refused once per session; then it passes with a notice."""
    words = f"this stop was not checked: {_sentence(error)}"
    if call.text("hook_event_name") == PROMPT_EVENT:
        return allow(_sentence(error))
    if not _is_first_fault(call):
        return allow(f"{words}. Nothing is proven; yaoki doctor")
    return refuse_stop(
        f"yaoki: {words}\nIf your own changes caused this, fix it. If not, tell the person about "
        "it in one sentence and stop again: the next stop is allowed without a check."
    )


def _sentence(error: Exception) -> str:
    sentence, hint = getattr(error, "sentence", ""), getattr(error, "hint", "")
    if sentence:
        return f"{sentence} ({hint})" if hint else str(sentence)
    if isinstance(error, TimeoutError):
        return str(error)
    from traceback import print_exception

    print_exception(error)  # agents show standard error when their hooks are debugged
    return f"internal error: {error!r}"[:500]


def _is_first_fault(call: HookCall) -> bool:
    """Is this the first fault of the session?  Stored beside the store, which may be broken.

    An agent that reports an earlier refusal is not refused again for a fault of yaoki.
    """
    if call.data.get("stop_hook_active") is True:
        return False
    try:
        from yaoki.adapters.system.files import state_home

        folder = state_home() / "hook-faults"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / call.session_key).touch(exist_ok=False)
    except Exception:  # noqa: BLE001 - where nothing can be kept, nothing may be refused forever
        return False
    return True


def _no_work() -> None:
    """No work remains after the answer."""
