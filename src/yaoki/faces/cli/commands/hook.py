"""`yaoki hook`: add yaoki to the sessions of an agent that a person drives, and answer it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from yaoki.core.text import format_count
from yaoki.errors import NotNow, Unknown, YaokiError
from yaoki.faces.cli.context import json_option, open_app, repo_option
from yaoki.faces.cli.person_only import refuse_agents
from yaoki.faces.hooks.state import SessionChoice
from yaoki.faces.text.render import (
    align_columns,
    clean_line,
    print_document,
    print_line,
    print_next_command,
)
from yaoki.views import SCHEMA

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.faces.hooks.installation import HookTarget
    from yaoki.faces.hooks.sessions import SessionStatus

TIMEOUT_S, TIMEOUT_S_MAX = 600, 86_400
KEY_CHARS = 12


@click.group()
def hook() -> None:
    """Let the checks decide when the agent of your own session may stop."""


def _target_options(function: Any) -> Any:
    local = click.option("--local", is_flag=True, help="The settings of this checkout only.")
    user = click.option("--user", is_flag=True, help="Your own settings, for all projects.")
    return local(user(function))


@hook.command("install")
@click.argument("agent")
@click.option(
    "--timeout",
    type=click.IntRange(10, TIMEOUT_S_MAX),
    default=TIMEOUT_S,
    help="The timeout of the checks at one stop, in seconds.",
)
@_target_options
@json_option
@repo_option
def install(agent: str, timeout: int, local: bool, user: bool, as_json: bool, repo: Path) -> int:
    """Add the hook to AGENT's settings file.

    A second call changes nothing.
    """
    from yaoki.faces.hooks.installation import install as put
    from yaoki.faces.hooks.sessions import list_sessions

    with open_app(repo, create=True) as app:
        target = _target(app, agent, local=local, user=user)
        list_sessions(app)  # create the store now, so that no stop of an agent has to
        changed = put(target, timeout, only_if_configured=user)
        if as_json:
            document = {"agent": agent, "file": str(target.file), "changed": changed}
            print_document({"schema": SCHEMA, **document})
            return 0
        done = "hook installed" if changed else "the hook is installed already"
        print_line(f"{clean_line(str(target.file))}: {done}")
        for note in target.agent.notes:
            print_line(f"note: {note}")
        if not app.settings.checks:
            print_line("note: no check is configured yet, so no stop can be verified")
            print_next_command("yaoki init")
            return 0
        if (question := app.trust.find_question()) is not None:
            print_line("note: the checks do not run until you trust this repository")
            print_next_command(question.command)
            return 0
        print_next_command(f"yaoki hook status {agent}")
        return 0


@hook.command("uninstall")
@click.argument("agent")
@_target_options
@json_option
@repo_option
def uninstall(agent: str, local: bool, user: bool, as_json: bool, repo: Path) -> int:
    """Remove the hook from AGENT's settings file."""
    from yaoki.app.build import App
    from yaoki.faces.hooks.installation import uninstall as take

    target = _target(App(repo.absolute()), agent, local=local, user=user)
    changed = take(target)
    if as_json:
        document = {"agent": agent, "file": str(target.file), "changed": changed}
        print_document({"schema": SCHEMA, **document})
        return 0
    print_line(
        f"{clean_line(str(target.file))}: {'hook removed' if changed else 'there was no hook'}"
    )
    print_next_command(f"yaoki hook status {agent}")
    return 0


@hook.command("status")
@click.argument("agent", required=False)
@json_option
@repo_option
def status(agent: str | None, as_json: bool, repo: Path) -> int:
    """Show the hook and each session.

    This lists where the hook is installed, the phase, and the state of each session.
    """
    from yaoki.app.build import App
    from yaoki.faces.hooks.sessions import list_sessions
    from yaoki.faces.hooks.supported_agents import HOOKED_AGENTS, find_hooked_agent

    app = App(repo.absolute())
    try:
        names = [find_hooked_agent(agent).name] if agent else list(HOOKED_AGENTS)
        places = [place for name in names for place in _targets(app, name)]
        found = [(place, *_describe_installation(place)) for place in places]
        phase, sessions = list_sessions(app) if app.has_store else (None, [])
        files = [
            {"agent": p.agent.name, "file": str(p.file), "installed": there, "defect": why or None}
            for p, there, why in found
        ]
        if as_json:
            phase_document = {"name": phase.name, "subtask": phase.subtask} if phase else None
            listed = [session_status_document(one) for one in sessions]
            print_document(
                {"schema": SCHEMA, "files": files, "phase": phase_document, "sessions": listed}
            )
            return 0
        rows = [
            (p.agent.name, _THERE[there], clean_line(why or str(p.file))) for p, there, why in found
        ]
        for text in align_columns(rows):
            print_line(text)
        if phase and phase.name:
            print_line(f"phase {clean_line(phase.name)} {clean_line(phase.subtask)}".rstrip())
        for one in sessions:
            print_line(
                f"session {clean_line(one.key[:KEY_CHARS])}: {clean_line(_describe_session(one))}"
            )
        asking = any(one.session.person_asked for one in sessions)
        installs = f"yaoki hook install {agent or 'claude-code'}"
        answers = f"yaoki hook answer {'|'.join(SessionChoice)}"
        print_next_command(answers if asking else "" if any(h for _, h, _ in found) else installs)
        return 0
    finally:
        app.close()


_THERE = {True: "installed", False: "-", None: "?"}


def _describe_installation(place: HookTarget) -> tuple[bool | None, str]:
    """Whether the hook is in this file; an unreadable file is reported as unknown."""
    from yaoki.faces.hooks.installation import installed_entries

    try:
        return bool(installed_entries(place)), ""
    except YaokiError as defect:
        return None, defect.sentence


def session_status_document(one: SessionStatus) -> dict[str, Any]:
    failure = one.session.last_failure
    return {
        "session": one.key,
        "phase": failure.phase if failure else None,
        "subtask": failure.subtask if failure else None,
        "count": one.session.refusals,
        "asked": one.session.person_asked,
        "proven": one.session.proven,
        "answer": one.session.person_choice.value if one.session.person_choice else None,
        "reason": failure.summary if failure else None,
        "to_inject": one.session.reason_to_inject is not None,
        "at": one.last_seen_at.isoformat(),
    }


def _describe_session(one: SessionStatus) -> str:
    failure, session = one.session.last_failure, one.session
    if failure is None:
        unproven = session.person_choice.value if session.person_choice else "nothing is proven yet"
        return "proven" if session.proven else unproven
    what = (
        "asks"
        if session.person_asked
        else session.person_choice.value
        if session.person_choice
        else "sent back"
    )
    return f"{what} after {format_count(session.refusals, 'try', 'tries')}: {failure.summary}"


@hook.command("begin")
@click.option("--phase", required=True, metavar="NAME", help="The name of the phase.")
@click.option("--subtask", default="", metavar="NAME", help="The subtask of the phase.")
@click.option(
    "--max-iterations",
    type=click.IntRange(1, 100),
    default=None,
    help="The number of failed stops after which you are asked.",
)
@click.option(
    "--check", "checks", multiple=True, metavar="NAME", help="Only this check; may be repeated."
)
@click.option(
    "--plan", metavar="FILE", default="", help="Use the checks and the limit of this plan's phase."
)
@json_option
@repo_option
def begin(
    phase: str,
    subtask: str,
    max_iterations: int | None,
    checks: tuple[str, ...],
    plan: str,
    as_json: bool,
    repo: Path,
) -> int:
    """Begin a phase.

    Its stops are counted from zero, and its checks are frozen.
    """
    from yaoki.faces.hooks.sessions import begin_phase as begun

    with open_app(repo, create=True) as app:
        if plan:
            from yaoki.faces.cli.plan_arguments import read_plan, require_plan_trust

            require_plan_trust(app, plan, read_plan(app, Path(plan)))
        new_phase = begun(
            app, phase, subtask, max_iterations or 0, checks, Path(plan) if plan else None
        )
        names = [str(check["name"]) for check in new_phase.checks or ()]
        if as_json:
            document = {
                "phase": phase,
                "subtask": subtask,
                "max_iterations": new_phase.iterations_max,
            }
            print_document({"schema": SCHEMA, **document, "checks": names})
            return 0
        told_checks = clean_line(", ".join(names)) or "those of the settings"
        print_line(f"phase {clean_line(phase)} has begun; checks: {told_checks}")
        print_next_command("yaoki hook status")
        return 0


@hook.command("answer")
@click.argument("choice", type=click.Choice([choice.value for choice in SessionChoice]))
@click.argument("words", nargs=-1)
@click.option(
    "--session", default="", metavar="ID", help="The session; required if there are several."
)
@json_option
@repo_option
def answer(choice: str, words: tuple[str, ...], session: str, as_json: bool, repo: Path) -> int:
    """Answer the question of a session.

    A session asks when its attempts are used up.  You can abort or take over at any time.
    """
    from yaoki.faces.hooks.messages import CHOICE_CONSEQUENCES
    from yaoki.faces.hooks.sessions import answer_session as answered
    from yaoki.faces.hooks.sessions import list_sessions

    with open_app(repo) as app:
        refuse_agents(app)
        found = [
            one.key
            for one in _find_answerable(list_sessions(app)[1], SessionChoice(choice), session)
        ]
        if not found:
            raise NotNow("no session has an open question", hint="yaoki hook status")
        if len(found) > 1:
            also = "" if choice == SessionChoice.GO_ON else " or were refused a stop"
            raise Unknown(
                f"{len(found)} sessions have an open question{also}", hint=f"--session {found[0]}"
            )
        answered(app, found[0], SessionChoice(choice), " ".join(words))
        if as_json:
            print_document({"schema": SCHEMA, "session": found[0], "answer": choice})
            return 0
        print_line(f"session {clean_line(found[0][:KEY_CHARS])}: {CHOICE_CONSEQUENCES[choice]}")
        print_next_command("yaoki hook status")
        return 0


def _find_answerable(
    known: list[SessionStatus], choice: SessionChoice, named: str
) -> list[SessionStatus]:
    """The sessions with a question, or the named one, which may be left at any time."""
    found = [one for one in known if one.key and one.key.startswith(named)]
    if choice is SessionChoice.GO_ON:
        return [one for one in found if one.session.person_asked]
    return found if named else [one for one in found if one.session.is_held_back]


@hook.command("event", context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def event(words: tuple[str, ...]) -> int:
    """For the agent: handle its event.

    The agent calls it with JSON on standard input.
    """
    from yaoki.faces.hooks.event import main

    return main(words)


# ------------------------------------------------------------------ files


def _target(app: App, agent: str, *, local: bool, user: bool) -> HookTarget:
    from yaoki.faces.hooks.supported_agents import find_hooked_agent

    known = find_hooked_agent(agent)
    if local and user:
        raise click.UsageError("--local and --user exclude each other; give one of them")
    if local and not known.local_file:
        raise Unknown(f"{agent} has no file for one checkout alone", hint="leave --local out")
    kind = "local" if local else "user" if user else "project"
    return next(t for t in _targets(app, agent) if t.backup_file.stem == f"{agent}-{kind}")


def _targets(app: App, agent: str) -> list[HookTarget]:
    from yaoki.faces.hooks.installation import HookTarget
    from yaoki.faces.hooks.supported_agents import find_hooked_agent, user_settings_file

    known, top, notes = find_hooked_agent(agent), app.repository.top, app.yaoki_folder / "hooks"
    files = {"project": top / known.project_file, "user": user_settings_file(known, os.environ)}
    if known.local_file:
        files["local"] = top / known.local_file
    return [HookTarget(known, file, notes / f"{agent}-{kind}.json") for kind, file in files.items()]
