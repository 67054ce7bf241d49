"""Trust on first use: a stranger's clone runs nothing before a person said yes, once."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import BOUND_S, Project, wait_until
from tests.acceptance.test_init import programs
from tests.documents import ONLY_READING
from tests.faces.cli.terminal import run_on_terminal
from tests.security.untrusted_clone import STOP, UntrustedClone

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("16.12")]

REFUSED = 6
# Each would run something of the repository.
STARTING: dict[str, tuple[str, ...]] = {
    "init": ("init", "--again"),
    "init, dry": ("init", "--dry-run"),
    "baseline": ("plan", "plan.json", "--baseline"),
    "submit": ("plan", "submit", "plan.json"),
    "run": ("run", "plan.json"),
    "run, detached": ("run", "plan.json", "--detach"),
    "run, a goal": ("run", "do something"),
    "resume": ("resume",),
    "up": ("up",),
    "worker": ("worker",),
    "doctor": ("doctor", "--checks"),
    "notify": ("notify", "test"),
    "replay": ("verify", "--replay"),
}
# The first ones alone, as `--quick` has them; a refused command leaves the clone as it was.
ALONE_OR_TOGETHER = [("init",), ("init, dry",), tuple(STARTING)[2:]]
# The last one ends the run.
LOOKING: dict[str, tuple[str, ...]] = {
    "init": ("init",),
    "validate": ("validate", "plan.json"),
    "validate, a registry": ("validate", "steps_registry.json"),
    "validate, a playbook": ("validate", "playbook-auto-retry.md"),
    "plan": ("plan", "plan.json"),
    "run, dry": ("run", "plan.json", "--dry-run"),
    "status": ("status",),
    "status of workers": ("status", "--workers"),
    "report": ("report",),
    "trace": ("trace",),
    "why": ("why", "a"),
    "logs": ("logs", "a"),
    "diff": ("diff", "a"),
    "watch": ("watch", "--once"),
    "config": ("config", "show"),
    "doctor": ("doctor",),
    "verify": ("verify",),
    "hook status": ("hook", "status"),
    "metrics": ("metrics",),
    "prompts": ("prompts", "list"),
    "trust, shown": ("trust", "--show"),
    "trust, dry": ("trust", "--dry-run"),
    "cancel": ("cancel",),
}


@pytest.fixture
def bare(tmp_path: Path, pycache: Path) -> UntrustedClone:
    return UntrustedClone(tmp_path, pycache)


@pytest.fixture
def clone(bare: UntrustedClone) -> UntrustedClone:
    """Settings, a plan, tests, a hook, and a store with an open run for exactly this place."""
    bare.create()
    return bare


@pytest.fixture
def plain(bare: UntrustedClone) -> UntrustedClone:
    """The same without a store."""
    bare.create(store=False)
    return bare


def stop(clone: UntrustedClone, **more: Any) -> dict[str, Any]:
    """The answer of the stop hook in the clone."""
    done = subprocess.run(
        (sys.executable, "-P", "-m", "yaoki", "hook", "event", "claude-code", "--if-configured"),
        cwd=clone.folder,
        env=clone.env,
        input=json.dumps({**STOP, "cwd": str(clone.repo), **more}),
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


# ------------------------------------------------------------------ before the question


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("names", ALONE_OR_TOGETHER, ids=lambda names: names[0])
def test_no_command_of_an_untrusted_clone_runs(
    clone: UntrustedClone, names: tuple[str, ...]
) -> None:
    for name in names:
        done = clone.yaoki(*STARTING[name])

        assert clone.marks == set(), name
        assert done.code == REFUSED, (name, done)
        assert "not trusted" in done.err, name
        assert "yaoki trust" in done.err or "--trust" in done.err, name
        assert not clone.trusted["places"], name


def test_every_command_that_only_reads_is_tried_in_an_untrusted_clone() -> None:
    assert {words[0] for words in LOOKING.values()} >= ONLY_READING


@pytest.mark.full
def test_a_read_only_command_in_an_untrusted_clone_asks_nothing_and_runs_nothing(
    clone: UntrustedClone,
) -> None:
    for name, words in LOOKING.items():
        done = clone.yaoki(*words)

        assert clone.marks == set(), name
        assert "not trusted, and" not in done.err, (name, done)
        assert "Trust this repository" not in done.out + done.err, name


@pytest.mark.full
def test_the_page_of_an_untrusted_clone_runs_nothing(clone: UntrustedClone) -> None:
    page = clone.start("ui", "--port", "0")
    try:
        assert page.stdout is not None
        assert "the page: http" in page.stdout.readline()
    finally:
        page.terminate()
        page.communicate(timeout=BOUND_S)

    assert clone.marks == set()


@pytest.mark.full
def test_the_user_wide_hook_runs_nothing_in_an_untrusted_clone_and_allows_the_stop(
    clone: UntrustedClone,
) -> None:
    """`hook install --user` calls it at the first stop in any repository."""
    said = stop(clone)
    again = stop(clone, stop_hook_active=True)

    assert clone.marks == set()
    for answer in (said, again):
        assert set(answer) == {"systemMessage"}
        assert f"yaoki trust {clone.repo}" in answer["systemMessage"]


@pytest.mark.full
def test_unsound_and_unreadable_settings_in_an_untrusted_clone_allow_the_stop(
    plain: UntrustedClone,
) -> None:
    for text in ("checks = 3\n", "[checks\n"):
        plain.write("yaoki.toml", text)

        assert set(stop(plain)) == {"systemMessage"}, text


@pytest.mark.full
def test_a_read_only_command_starts_no_program_named_by_a_remote(clone: UntrustedClone) -> None:
    remote = f'[workspace]\nremote = "ext::touch {clone.mark("remote")}"\n'
    clone.write("yaoki.toml", clone.settings_text() + remote)

    for words in (("status",), ("doctor",), ("report",), ("verify",), ("watch", "--once")):
        clone.yaoki(*words)

        assert clone.marks == set(), words


@pytest.mark.full
def test_undo_and_merge_in_an_untrusted_clone_run_no_check(clone: UntrustedClone) -> None:
    for words in (("undo", "a"), ("retry", "a"), ("merge",)):
        done = clone.yaoki(*words)

        assert clone.marks == set(), words
        assert done.code != 0, words


def test_installing_the_hook_does_not_trust_the_repository(clone: UntrustedClone) -> None:
    done = clone.yaoki("hook", "install", "claude-code")

    assert done.code == 0, done
    assert "next: yaoki trust" in done.out
    assert not clone.trusted["places"]


@pytest.mark.full
@pytest.mark.parametrize("lacking", ["settings", "store"], ids=["a store alone", "settings alone"])
def test_a_foreign_store_or_foreign_settings_need_trust(bare: UntrustedClone, lacking: str) -> None:
    bare.create(store=lacking != "store", settings=lacking != "settings")

    done = bare.yaoki("up")

    assert (done.code, bare.marks) == (REFUSED, set())


def test_a_foreign_journal_file_is_not_restored_without_trust(clone: UntrustedClone) -> None:
    """Without its database a store is made again from its journal file."""
    clone.git("rm", "-q", "--cached", "-r", ".yaoki")
    (clone.repo / ".yaoki" / "state.db").unlink()
    clone.write("yaoki.toml", "")

    done = clone.yaoki("resume")

    assert (done.code, clone.marks) == (REFUSED, set())


def test_init_in_an_untrusted_repository_runs_no_tests(bare: UntrustedClone) -> None:
    bare.create(store=False, settings=False)

    done = bare.yaoki("init")
    untried = bare.yaoki("init", "--no-run", "--dry-run")

    assert (done.code, untried.code) == (REFUSED, 0), (done, untried)
    assert "yaoki init --trust" in done.err
    assert bare.marks == set()
    assert not (bare.repo / "yaoki.toml").exists()


def test_init_names_every_command_that_it_would_try(bare: UntrustedClone) -> None:
    """Tests for unittest are tried with pytest as well, and a linter with --no-fix."""
    bare.create(store=False, settings=False)
    bare.write("package.json", json.dumps({"scripts": {"lint": "eslint ."}}))
    bare.commit("a script")

    done = bare.yaoki("init")

    assert done.code == REFUSED
    assert "  check tests: python -m unittest discover -s tests\n" in done.err
    with_pytest = "tests, also tried with pytest"
    assert f"  check {with_pytest}: python -m pytest -q --junit-xml {{report}}" in done.err
    assert "  check npm-lint: npm run --silent lint\n" in done.err
    without_fixes = "npm-lint, if it changes files"
    assert f"  check {without_fixes}: npm run --silent lint -- --no-fix\n" in done.err
    assert not re.search(r"\d more", done.err)
    assert "is not trusted, and would run commands; nothing was started" in done.err
    assert done.err.rstrip().endswith("yaoki init --trust, or yaoki init --no-run")


def test_init_again_after_a_change_shows_the_new_command_and_its_hint_works(
    plain: UntrustedClone,
) -> None:
    """The hint repeats the options of the call: `init --trust` alone changes no settings."""
    plain.yaoki("trust")
    aside = "# pytest\n# cannot run here: x is missing\n# remedy: apt install x\n"
    commented = f"\n{aside}# [checks.tests]\n# run = ['x']\n"
    plain.write("yaoki.toml", f"{plain.settings_text(check='another')}{commented}")
    env = programs(plain, "touch")

    refused = plain.yaoki("init", "--again", "--seconds", "60", env=env)
    unchanged = plain.yaoki("init", "--trust", env=env)
    before = plain.marks
    done = plain.yaoki("init", "--again", "--seconds", "60", "--trust", env=env)

    assert (refused.code, before) == (REFUSED, set())
    assert f"+ check own: touch {plain.mark('another')}" in " ".join(refused.err.split())
    assert "yaoki init --again --seconds 60 --trust" in refused.err
    assert "next: yaoki init --again --trust\n" in unchanged.out
    assert (done.code, "tests" in plain.marks) == (0, True), done


def test_a_repository_without_settings_has_nothing_to_trust(bare: UntrustedClone) -> None:
    """Nothing was ever trusted there, so no command may say that anything is."""
    bare.create(store=False, settings=False)

    shown, given = bare.yaoki("trust", "--dry-run"), bare.yaoki("trust")
    document = bare.yaoki("trust", "--dry-run", "--json").document
    doctor = bare.yaoki("doctor")

    for done in (shown, given):
        assert "already trusted" not in done.out
        assert "nothing to trust yet: there is no yaoki.toml" in done.out
        assert done.out.endswith("next: yaoki init\n")
    assert (document["trusted"], document["commands"]) == (False, [])
    assert "is trusted" not in doctor.out
    assert bare.trusted["places"] == {}


# ------------------------------------------------------------------ after a yes


@pytest.mark.full
def test_a_trusted_clone_runs_its_commands_without_asking_again(clone: UntrustedClone) -> None:
    shown = clone.yaoki("trust", "--plan", "plan.json")

    assert shown.code == 0, shown
    for text in ("agent worker: sh -c", "check own: touch", "set-up: touch", "check good:"):
        assert text in shown.out
    assert "a store that was not created here" in shown.out
    assert clone.marks == set()
    for words in (("resume",), ("run", "plan.json"), ("plan", "plan.json", "--baseline")):
        assert clone.yaoki(*words).code == 0, words
    assert {"agent", "setup", "plan-check"} <= clone.marks


@pytest.mark.full
def test_the_background_worker_executes_a_trusted_store(clone: UntrustedClone) -> None:
    assert clone.yaoki("up", "--trust").code == 0
    try:
        wait_until(lambda: "agent" in clone.marks, "the open run goes on")
    finally:
        clone.yaoki("down", "--wait", "0")


@pytest.mark.full
def test_the_hook_runs_the_checks_of_a_trusted_repository(plain: UntrustedClone) -> None:
    assert plain.yaoki("trust").code == 0

    assert stop(plain) == {}
    assert plain.marks == {"check"}


@pytest.mark.full
def test_the_option_trust_trusts_a_repository_on_a_build_server(plain: UntrustedClone) -> None:
    done = plain.yaoki("run", "plan.json", "--trust", "--quiet")

    assert done.code == 0, done
    assert "agent" in plain.marks
    assert plain.yaoki("run", "plan.json", "--quiet").code == 0


def test_validate_says_that_a_run_asks_for_trust_and_uses_the_same_rule(
    plain: UntrustedClone,
) -> None:
    """The plan was changed after it was trusted."""
    accepted = plain.yaoki("trust", "--plan", "plan.json")
    trusted = plain.yaoki("validate", "plan.json")
    changed = plain.a_plan(checks={"good": {"shell": f"touch {plain.mark('new')}; test -f a.txt"}})
    plain.write("plan.json", json.dumps(changed))

    asking = plain.yaoki("validate", "plan.json")
    refused = plain.yaoki("run", "plan.json")
    document = plain.yaoki("validate", "plan.json", "--json").document

    text = " ".join(asking.out.split())
    assert (trusted.code, asking.code, refused.code) == (0, 0, REFUSED), (trusted, asking)
    assert accepted.out.endswith("next: yaoki run plan.json\n")
    assert trusted.out.endswith("next: yaoki run plan.json\n")
    assert "note: a run asks for trust first:" in text
    assert f"+ check good: touch {plain.mark('new')}; test -f a.txt" in text
    assert asking.out.endswith("next: yaoki trust --plan plan.json\n")
    assert refused.err.rstrip().endswith("yaoki trust --plan plan.json")
    assert any("check good" in line for line in document["untrusted"])
    assert plain.marks == set()


def test_validate_knows_that_a_plan_of_ones_own_asks_nothing_until_it_is_committed(
    plain: UntrustedClone,
) -> None:
    plain.yaoki("trust")
    plain.write("mine.json", json.dumps(plain.a_plan()))

    own = plain.yaoki("validate", "mine.json")
    plain.commit("my plan")
    committed = plain.yaoki("validate", "mine.json")

    assert own.out.endswith("next: yaoki run mine.json\n")
    assert committed.out.endswith("next: yaoki trust --plan mine.json\n")


def test_a_changed_goal_of_a_trusted_plan_does_not_ask_again(plain: UntrustedClone) -> None:
    assert plain.yaoki("trust", "--plan", "plan.json").code == 0
    task = {"id": "a", "goal": "Do it in another way."}
    plain.write("plan.json", json.dumps(plain.a_plan(tasks=[task])))

    assert plain.yaoki("run", "plan.json", "--quiet").code == 0


@pytest.mark.full
def test_an_uncommitted_plan_needs_no_trust(bare: UntrustedClone) -> None:
    bare.create(store=False, settings=False)
    agent = {"mine": {"command": ["sh", "-c", "echo good > a.txt"]}}
    held = bare.a_plan(agents=agent, agent="mine")
    bare.write("mine.json", json.dumps(held))

    assert bare.yaoki("run", "mine.json", "--quiet").code == 0
    bare.commit("mine is everybody's now")
    assert bare.yaoki("run", "mine.json", "--quiet").code == REFUSED


@pytest.mark.full
def test_a_forgotten_repository_asks_again(plain: UntrustedClone) -> None:
    plain.yaoki("trust")
    assert plain.yaoki("up").code == 0
    plain.yaoki("down", "--wait", "0")

    gone = plain.yaoki("trust", "--forget")

    assert gone.code == 0, gone
    assert plain.yaoki("up").code == REFUSED
    assert plain.yaoki("trust", "--forget").code == REFUSED


@pytest.mark.full
def test_a_repository_below_a_trusted_folder_is_trusted(clone: UntrustedClone) -> None:
    assert clone.yaoki("trust", "--below", str(clone.folder)).code == 0
    assert clone.yaoki("resume", "--quiet").code == 0
    assert clone.yaoki("trust", "--forget", str(clone.folder)).code == 0
    assert clone.yaoki("run", "plan.json", "--quiet").code == REFUSED


def test_trusted_repositories_can_be_listed(plain: UntrustedClone) -> None:
    plain.yaoki("trust")

    listed = plain.yaoki("trust", "--show")
    document = plain.yaoki("trust", "--show", "--json").document

    assert f"{plain.repo}: 3 commands" in listed.out
    assert "check own: touch" in listed.out
    assert list(document["places"]) == [str(plain.repo)]


# ------------------------------------------------------------------ at a terminal


@pytest.mark.full
def test_the_question_at_a_terminal_shows_the_commands_that_would_run(
    plain: UntrustedClone,
) -> None:
    asked = ("run", "plan.json", "--quiet")
    with run_on_terminal(plain.repo, plain.env, *asked) as terminal:
        terminal.wait_for_text("check own: touch", "set-up: touch", "Trust this repository? [y/N]")
        assert plain.marks == set()
        terminal.press("n\n")
        assert terminal.ended() == REFUSED
    assert plain.marks == set()

    with run_on_terminal(plain.repo, plain.env, *asked) as terminal:
        terminal.wait_for_text("Trust this repository?")
        terminal.press("y\n")
        assert terminal.ended() == 0, terminal.text
    with run_on_terminal(plain.repo, plain.env, *asked) as terminal:
        assert terminal.ended() == 0, terminal.text
        assert "Trust this repository?" not in terminal.text


@pytest.mark.full
def test_a_new_repository_asks_once_from_init_to_run(bare: UntrustedClone) -> None:
    """Settings that yaoki wrote after a confirmation are trusted."""
    bare.create(store=False, settings=False)
    agent = {"mine": {"command": ["sh", "-c", "echo good > a.txt"]}}
    plan = {"goal": "g", "agents": agent, "agent": "mine", "tasks": [{"id": "a", "goal": "Do."}]}
    bare.write("mine.json", json.dumps(plan))

    with run_on_terminal(bare.repo, bare.env, "init") as terminal:
        terminal.wait_for_text("Trust this repository?")
        assert bare.marks == set()
        terminal.press("y\n")
        assert terminal.ended() == 0, terminal.text
    bare.git("add", "yaoki.toml")
    bare.git("-c", "user.name=t", "-c", "user.email=t@l", "commit", "-qm", "settings")
    with run_on_terminal(bare.repo, bare.env, "run", "mine.json", "--quiet") as terminal:
        assert terminal.ended() == 0, terminal.text
        assert "Trust this repository?" not in terminal.text


# ------------------------------------------------------------------ the lapse


@pytest.mark.full
def test_a_changed_command_asks_again_and_shows_the_change(plain: UntrustedClone) -> None:
    plain.yaoki("trust")
    plain.write("yaoki.toml", plain.settings_text(check="another"))

    done = plain.yaoki("up")
    shown = plain.yaoki("trust", "--dry-run")

    assert (done.code, plain.marks) == (REFUSED, set())
    assert "has changed since it was trusted" in done.err
    assert f"- check own: touch {plain.mark('check')}" in shown.out
    assert f"+ check own: touch {plain.mark('another')}" in shown.out
    assert "agent worker" not in shown.out, "what stayed as it was is not shown again"
    assert stop(plain)["systemMessage"]
    assert plain.marks == set()


def test_a_removed_sandbox_setting_asks_again(plain: UntrustedClone) -> None:
    walled = f'{plain.settings_text()}[sandbox]\nmode = "on"\n'
    plain.write("yaoki.toml", walled)
    plain.yaoki("trust")
    plain.write("yaoki.toml", plain.settings_text())

    done = plain.yaoki("up")
    shown = plain.yaoki("trust", "--dry-run")
    doctor = plain.yaoki("doctor")

    assert done.code == REFUSED
    assert '- sandbox.mode = "on"' in shown.out
    assert "BAD trust the settings have changed since it was given" in " ".join(doctor.out.split())
    assert (doctor.code, doctor.out.rstrip().endswith("next: yaoki trust")) == (1, True), doctor.out


def test_changed_numbers_and_comments_do_not_ask_again(plain: UntrustedClone) -> None:
    plain.yaoki("trust")
    plain.write("yaoki.toml", f"# mine\n{plain.settings_text()}[limits]\nparallel = 7\n")

    assert plain.yaoki("doctor", "--checks").code != REFUSED


@pytest.mark.full
def test_a_store_replaced_by_a_pull_is_not_trusted(clone: UntrustedClone) -> None:
    """git writes over files that are ignored; the stranger's store has another past."""
    theirs = (clone.repo / ".yaoki" / "state.db").read_bytes()
    clone.yaoki("trust")
    assert clone.yaoki("resume", "--quiet").code == 0
    before = clone.marks
    (clone.repo / ".yaoki" / "state.db").write_bytes(theirs)

    done = clone.yaoki("up")
    doctor = clone.yaoki("doctor")

    assert done.code == REFUSED
    assert "a store that was not created here" in done.err
    assert "BAD trust the store was not created here" in " ".join(doctor.out.split())
    assert clone.marks == before


def test_trust_in_one_clone_does_not_extend_to_another(plain: UntrustedClone) -> None:
    plain.yaoki("trust")
    other = plain.folder / "other"
    plain.git("clone", "-q", str(plain.folder / "upstream.git"), str(other))

    assert plain.yaoki("up", cwd=other).code == REFUSED


def test_trust_in_a_clone_extends_to_its_worktrees(plain: UntrustedClone) -> None:
    plain.yaoki("trust")
    beside = plain.folder / "beside"
    plain.git("worktree", "add", "-q", str(beside))

    assert plain.yaoki("doctor", "--checks", cwd=beside).code != REFUSED
    assert "check" in plain.marks


# ------------------------------------------------------------------ who may trust


@pytest.mark.full
def test_trust_commands_are_refused_inside_an_attempt(plain: UntrustedClone) -> None:
    commands = (
        ("trust",),
        ("trust", "--below", "/tmp"),
        ("up", "--trust"),
        ("run", "plan.json", "--trust"),
    )
    for variable, words in product(("YAOKI_TASK", "YAOKI_SANDBOX"), commands):
        done = plain.yaoki(*words, env={variable: "abcdefgh-1"})

        assert (done.code, plain.marks) == (REFUSED, set()), (variable, words)
        assert "only people may trust" in done.err, (variable, words)
        assert not plain.trusted["places"], (variable, words)


@pytest.mark.full
def test_an_agent_of_a_run_cannot_trust_a_repository(tmp_path: Path, pycache: Path) -> None:
    """The worker identifies the agent by environment variables."""
    for name in ("own", "else"):
        (tmp_path / name).mkdir()
    project, plain = Project(tmp_path / "own", pycache), UntrustedClone(tmp_path / "else", pycache)
    plain.create(store=False)
    yaoki = f"{sys.executable} -P -m yaoki"
    tries = f"{yaoki} trust {plain.repo}; {yaoki} --repo {plain.repo} up --trust; echo $? > a.txt"
    agent = {"command": ["sh", "-c", tries], "pass_env": ["YAOKI_HOME", "PYTHON*"]}
    held = {
        "goal": "g",
        "agents": {"sly": agent},
        "agent": "sly",
        "checks": {"six": {"shell": "grep -qx 6 a.txt"}},
        "tasks": [{"id": "a", "goal": "Trust it."}],
    }

    done = project.yaoki("run", project.plan(held), "--quiet")

    assert done.code == 0, done
    record = json.loads((project.home / "trust" / "trusted.json").read_text())
    assert not record["places"]
    assert plain.marks == set()


# ------------------------------------------------------------------ from Python and over MCP


@pytest.mark.full
def test_the_python_api_raises_for_an_untrusted_repository_unless_trust_is_given(
    plain: UntrustedClone,
) -> None:
    program = """
import sys
from yaoki.faces.api import Repository
from yaoki.errors import Untrusted

with Repository(".", trust=sys.argv[1] == "yes") as repository:
    try:
        run = repository.run("plan.json")
    except Untrusted as refused:
        print("untrusted:", refused.sentence)
        sys.exit(0)
    run.wait()
    print(run.status)
"""

    def called(trust: str) -> str:
        done = subprocess.run(
            (sys.executable, "-c", program, trust),
            cwd=plain.repo,
            env=plain.env,
            capture_output=True,
            text=True,
            timeout=BOUND_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "untrusted:" in called("no")
    assert plain.marks == set()
    assert "untrusted:" not in called("yes")
    assert "agent" in plain.marks


@pytest.mark.full
def test_an_mcp_tool_starts_no_program_of_an_untrusted_clone(clone: UntrustedClone) -> None:
    calls = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _greeting()},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        _tool(2, "submit", {"plan": clone.a_plan()}),
        _tool(3, "complete", {}),
    ]
    done = subprocess.run(
        (sys.executable, "-P", "-m", "yaoki", "mcp"),
        cwd=clone.repo,
        env=clone.env,
        input="".join(f"{json.dumps(call)}\n" for call in calls),
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
    )

    output = {held.get("id"): held for held in map(json.loads, done.stdout.splitlines())}
    assert "not trusted" in json.dumps(output[2])
    assert clone.marks == set()


def _greeting() -> dict[str, Any]:
    client = {"name": "t", "version": "1"}
    return {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}


def _tool(number: int, name: str, given: dict[str, Any]) -> dict[str, Any]:
    params = {"name": name, "arguments": given}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def test_the_setup_of_the_settings_is_a_command_of_the_repository(bare: UntrustedClone) -> None:
    bare.create(store=False)
    setup = f'[setup]\ncommands = [["touch", "{bare.mark("settings-setup")}"]]\n'
    bare.write("yaoki.toml", f"{bare.settings_text()}{setup}")

    refused = bare.yaoki("doctor", "--checks")
    shown = bare.yaoki("trust", "--dry-run")
    trusted = bare.yaoki("trust")
    ran = bare.yaoki("doctor", "--checks")

    assert refused.code == REFUSED
    assert f"set-up: touch {bare.mark('settings-setup')}" in shown.out
    assert trusted.code == 0, trusted.err
    assert "settings-setup" in bare.marks, ran.out + ran.err
