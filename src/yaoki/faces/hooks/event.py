"""`yaoki hook event AGENT`: what the agent calls.  JSON in, JSON out, exit code 0, in time.

Start-up counts here, for agents call it at each prompt: only what every answer needs is imported.
Whatever goes wrong is an answer too: a stop that cannot be checked is refused once, then a person
is told.  An agent takes a hook that crashes or is late for a yes, so this one does neither.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Sequence

from yaoki.core.text import format_count
from yaoki.faces.hooks.call import HookCall, has_pending_reason
from yaoki.faces.hooks.responses import HookResponse, allow, refuse_stop

STOP_EVENTS = ("Stop", "AfterAgent")
PROMPT_EVENT = "UserPromptSubmit"
# A session of an agent that yaoki itself started: there yaoki checks the work anyway.
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

AfterResponse = Callable[[], None]
HookReply = tuple[HookResponse, AfterResponse]


def main(argv: Sequence[str]) -> int:
    """Always an answer and always exit code 0, unless somebody ended us."""
    if os.environ.get(OFF_VARIABLE, "").lower() in {"off", "0", "no"} or os.environ.get(
        TASK_VARIABLE
    ):
        return _say({})
    call = HookCall(argv)
    _mind_the_time(call)
    try:
        call.read()
        answer, done = _answer(call)
    except Exception as error:  # noqa: BLE001 - an agent takes a crash for a yes
        answer, done = _fault(call, error), _nothing_more
    signal.setitimer(signal.ITIMER_REAL, 0)
    code = _say(answer)
    if code == 0:
        done()
    return code


def _answer(call: HookCall) -> HookReply:
    event = call.text("hook_event_name")
    if event == PROMPT_EVENT:
        return _prompt(call)
    if event and event not in STOP_EVENTS:
        return {}, _nothing_more
    if running := call.data.get("background_tasks"):
        number = len(running) if isinstance(running, list) else 1
        run = format_count(number, "background task still runs", "background tasks still run")
        return allow(f"not checked yet: {run}"), _nothing_more
    from yaoki.faces.hooks.stop import respond_to_stop

    return respond_to_stop(call)


def _prompt(call: HookCall) -> HookReply:
    """Most prompts have nothing to do with us, and cost no more than a look for one file."""
    choice, words = parse_answer(call.text("prompt"))
    if not choice and not has_pending_reason(call):
        return {}, _nothing_more
    from yaoki.faces.hooks.prompt import respond_to_prompt

    return respond_to_prompt(call, choice, words)


def parse_answer(text: str) -> tuple[str, str]:
    """`yaoki: go on, but leave the API alone` is an answer to yaoki, with words for the agent."""
    said = text[:WORDS_MAX].strip()
    if not said.lower().startswith("yaoki:"):
        return "", ""
    rest = said[len("yaoki:") :].strip()
    for name, choice in CHOICES.items():
        if rest.lower().startswith(name) and not rest[len(name) :][:1].isalnum():
            return choice, rest[len(name) :].strip(" \t\n,.;:")
    return "", ""


# ------------------------------------------------------------------ output, time


def _say(answer: HookResponse) -> int:
    """In one piece, and nothing else: an agent takes anything but JSON for a yes."""
    try:
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    except OSError:
        # Nobody reads any more; the flush at exit must not complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    return 0


def _mind_the_time(call: HookCall) -> None:
    """Shortly before the agent gives up on us it gets an answer, whatever we are waiting for.

    What still runs is ended by its shim as soon as nobody renews its lease.
    """

    def late(*_: object) -> None:
        words = f"the answer was not ready within {call.limit_s:g} s"
        _say(_fault(call, TimeoutError(words)))
        os._exit(0)

    def leave(number: int, _: object) -> None:
        sys.exit(128 + number)

    signal.signal(signal.SIGALRM, late)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, leave)
    signal.setitimer(signal.ITIMER_REAL, call.limit_s - min(5.0, call.limit_s * 0.1))


# ------------------------------------------------------------------ faults


def _fault(call: HookCall, error: Exception) -> HookResponse:
    """What we cannot do is refused once per session; then the stop is let through, and told."""
    words = f"this stop was not checked: {_sentence(error)}"
    if call.text("hook_event_name") == PROMPT_EVENT:
        return allow(_sentence(error))
    if not _first(call):
        return allow(f"{words}. Nothing is proven; yaoki doctor")
    return refuse_stop(
        f"yaoki: {words}\nIf your own changes caused this, mend it. If not, tell the person about "
        "it in one sentence and stop again: the next stop is let through, unproven."
    )


def _sentence(error: Exception) -> str:
    sentence, hint = getattr(error, "sentence", ""), getattr(error, "hint", "")
    if sentence:
        return f"{sentence} ({hint})" if hint else str(sentence)
    if isinstance(error, TimeoutError):
        return str(error)
    from traceback import print_exception

    print_exception(error)  # agents show it to those who debug their hooks
    return f"internal error: {error!r}"[:500]


def _first(call: HookCall) -> bool:
    """Kept beside the store, for the store may be what is broken.

    An agent that says it was sent back already is not sent back again for nothing of its own.
    """
    if call.data.get("stop_hook_active") is True:
        return False
    try:
        from yaoki.adapters.system.files import state_home

        folder = state_home() / "hook-faults"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / call.session_key).touch(exist_ok=False)
    except Exception:  # noqa: BLE001 - where nothing can be kept, nothing may be refused for ever
        return False
    return True


def _nothing_more() -> None:
    """Nothing is left to do once the agent has its answer."""
