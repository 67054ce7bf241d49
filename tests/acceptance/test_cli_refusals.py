"""Invalid plans, settings and folders: one sentence, the right exit code, nothing left behind."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.prepared import Prepared
from tests.acceptance.project import SETTINGS, Project, a_plan, file_contains, writes
from tests.adapters.store.store_actions import run_sql
from tests.documents import ONLY_READING

pytestmark = pytest.mark.acceptance
TEN = Path(__file__).parents[1] / "fixtures" / "plans" / "ten-defects.yaml"


def run_good_plan(project: Project) -> None:
    assert project.yaoki("run", project.plan(good_plan())).code == 0


def good_plan() -> dict[str, object]:
    return a_plan(
        {"one": [writes("a.txt")]}, [{"id": "one", "checks": ["a"]}], {"a": file_contains("a.txt")}
    )


@pytest.mark.spec("0.6", "12.1")
def test_a_deleted_current_folder_is_reported(project: Project, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    shell = ("sh", "-c", 'rmdir "$PWD" && exec "$0" -m yaoki status', sys.executable)

    done = subprocess.run(shell, cwd=gone, env=project.env, capture_output=True, text=True)

    assert done.returncode == 2, done.stderr
    assert "the current folder does not exist any more" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.spec("12.1", "0.6")
def test_a_run_is_named_by_at_least_four_characters_of_its_id(prepared: Prepared) -> None:
    """A slip that begins the id of a run must not cancel it."""
    project, _ = prepared.after(run_good_plan)
    run_id = json.loads(project.yaoki("status", "--json").out)["run"]

    slip = project.yaoki("cancel", run_id[:3])
    named = project.yaoki("status", run_id[:4])

    assert slip.code == 6, slip.err
    assert f"there is no task '{run_id[:3]}' in this run" in slip.err
    refused = project.yaoki("why", "one", "--run", run_id[:3])
    assert f"'{run_id[:3]}' is too short for the beginning of a run id" in refused.err
    assert (named.code, run_id in named.out) == (0, True), named.err


@pytest.mark.full
@pytest.mark.spec("12.1")
def test_a_task_of_an_older_run_is_found_by_the_hint(prepared: Prepared) -> None:
    project, _ = prepared.after(run_good_plan)
    older = project.status()["run"]
    plan = a_plan(
        {"two": [writes("b.txt")]}, [{"id": "two", "checks": ["b"]}], {"b": file_contains("b.txt")}
    )
    assert project.yaoki("run", project.plan(plan)).code == 0

    refused = project.yaoki("answer", "one", "retry")

    assert "there is no task 'one' in this run" in refused.err
    assert f"run {older} has one: add --run {older}" in refused.err


UNKNOWN_WORDS = [
    (("statsu",), "there is no command 'statsu'; did you mean 'stats' or 'status'?"),
    (("log",), "there is no command 'log'; did you mean 'logs'?"),
    (("recheck",), "there is no command 'recheck'; did you mean 'yaoki plan recheck'?"),
    (
        ("plan", "rechek", "RUN"),
        "there is no command 'plan rechek' and no file 'rechek'; "
        "did you mean 'yaoki plan recheck'?",
    ),
    (("validate", "yaoki.tml"), "no such file or directory; did you mean 'yaoki.toml'?"),
    (("waive", "one"), "there is no command 'waive'; did you mean 'yaoki answer TASK waive'?"),
    (("go",), "there is no command 'go'; did you mean 'yaoki answer RUN go'?"),
    (
        ("stop",),
        "there is no command 'stop'; Ctrl-C stops a run in its terminal, 'yaoki down' the "
        "background worker; 'yaoki cancel' ends a run",
    ),
    (
        ("answer", "one", "yes"),
        "'yes' is not an answer: a task is answered with retry, done, waive or abort, "
        "a paused run with go or abort",
    ),
    (("answer", "one", "retyr"), "'retyr' is not an answer; did you mean 'retry'?"),
]


@pytest.mark.spec("12.1")
def test_an_unknown_command_or_answer_names_what_exists(project: Project) -> None:
    for words, said in UNKNOWN_WORDS:
        refused = project.yaoki(*words)

        assert refused.code == 2, words
        assert said in " ".join(refused.err.split()), words


@pytest.mark.full
@pytest.mark.spec("15", "12.1")
def test_commands_that_only_read_work_with_a_typo_in_the_settings(prepared: Prepared) -> None:
    project, _ = prepared.after(run_good_plan)
    project.settings(SETTINGS.replace("parallel", "paralel"))
    reading = [
        *(("status",), ("status", "--all"), ("status", "--workers"), ("report",), ("trace",)),
        *(("why", "one"), ("diff", "one"), ("logs", "one", "--prompt")),
    ]
    assert {words[0] for words in reading} == ONLY_READING

    read = {words: project.query(*words) for words in reading}
    document = project.query("status", "--json")
    changing = {
        words: project.yaoki(*words)
        for words in (("cancel",), ("resume",), ("run", project.plan(good_plan())), ("undo", "one"))
    }

    for words, done in read.items():
        [warning] = done.err.splitlines()
        assert (done.code, bool(done.out)) == (0, True), words
        assert "yaoki.toml:" in warning, words
        assert "limits.paralel: unknown key; did you mean 'parallel'?" in warning, words
    assert document.document["tasks"]
    assert {words: done.code for words, done in changing.items()} == dict.fromkeys(changing, 2)


UNSOUND_STORES = [
    "[store]\nbackup = 3\n",
    "store = 'other.db'\n",
    "[stroe]\nurl = 'other.db'\n",
    "[database]\nname = 'other.db'\n",
    "[limits]\nstore.url = 'other.db'\n",
    "[workspace]\nremote = 3\n",
    "[limits\n",
]


@pytest.mark.spec("15", "0.6")
def test_the_location_of_the_store_is_never_guessed(project: Project) -> None:
    for text in UNSOUND_STORES:
        (project.repo / "yaoki.toml").write_text(text)

        done = project.query("status")

        assert done.code == 2, text
        assert "yaoki.toml: 1 problem found, nothing was started" in done.err, text


@pytest.mark.spec("2.2", "0.6", "12.1")
def test_every_defect_of_a_plan_is_reported_at_once_and_nothing_is_stored(project: Project) -> None:
    validated = project.yaoki("validate", str(TEN))
    as_json = project.yaoki("validate", str(TEN), "--json")
    started = project.yaoki("run", str(TEN))

    assert (validated.code, started.code, as_json.code) == (2, 2, 2)
    lines = [line for line in validated.err.splitlines() if line.startswith(f"{TEN}:")]
    assert len(lines) >= 10
    assert any("needs" in line and "did you mean" in line for line in lines)
    assert any("two needs three needs two" in line or "circle" in line for line in lines)
    assert validated.err.splitlines()[-2].startswith("yaoki: ")
    error = as_json.document["error"]
    assert as_json.document["schema"] == 1
    assert (error["exit_code"], len(error["defects"])) == (2, len(lines))
    assert project.git("status", "--porcelain") == ""
    assert not (project.repo / ".yaoki").exists()
    assert not (project.home / "worktrees").exists()
    assert project.git("for-each-ref", "refs/heads/yaoki", "refs/yaoki") == ""


@pytest.mark.spec("2.5", "0.6")
def test_a_checklist_given_as_a_plan_is_refused_with_the_command_that_imports_it(
    project: Project,
) -> None:
    (project.repo / "todo.md").write_text("# Todo\n\n- [ ] Write a.txt\n")

    done = [project.yaoki(command, "todo.md") for command in ("run", "validate")]

    for each in done:
        assert each.code == 2, each.out
        assert each.err.splitlines() == [
            "yaoki: todo.md is a checklist, not a plan",
            "       make a plan of it: yaoki plan import todo.md",
        ]


@pytest.mark.spec("0.6", "12.1", "15")
def test_unknown_settings_are_refused_by_name(project: Project) -> None:
    (project.repo / "yaoki.toml").write_text("[limits]\nparalel = 3\n")

    started = project.yaoki("run", project.plan(good_plan()))
    shown = project.yaoki("config", "show", "--json")
    doctor = project.yaoki("doctor")

    assert (started.code, shown.code, doctor.code) == (2, 2, 1)
    assert "paralel" in started.err
    assert "did you mean 'parallel'?" in started.err
    assert shown.document["error"]["defects"]
    assert "BAD  settings" in doctor.out
    assert not (project.repo / ".yaoki").exists()


@pytest.mark.spec("0.6", "12.1")
@pytest.mark.parametrize("place_kind", ["nothing", "bare", "empty", "missing"])
def test_a_folder_without_a_usable_repository_is_refused(project: Project, place_kind: str) -> None:
    where = project.folder / "where"
    where.mkdir()
    match place_kind:
        case "bare":
            project.git("init", "-q", "--bare", str(where))
        case "empty":
            project.git("init", "-q", str(where))
        case "missing":
            where.rmdir()
        case _:
            pass
    before = sorted(where.iterdir()) if where.exists() else []

    done = project.yaoki("run", project.plan(good_plan()), "--repo", str(where))
    as_json = project.yaoki("--repo", str(where), "run", project.plan(good_plan()), "--json")

    assert done.code == as_json.code == 2
    sentence, hint = done.err.splitlines()
    assert sentence.startswith("yaoki: ")
    assert hint.startswith(" " * 7)
    assert hint.strip()
    assert as_json.document["error"]["sentence"] == sentence.removeprefix("yaoki: ")
    assert (sorted(where.iterdir()) if where.exists() else []) == before


@pytest.mark.spec("0.6", "12.1", "13.2")
def test_a_newer_store_is_refused_and_not_changed(prepared: Prepared) -> None:
    project, _ = prepared.after(run_good_plan)
    run_sql(project.database, "INSERT INTO schema_version (version) VALUES (99)")

    done = [project.yaoki(*words) for words in (["status"], ["run", project.plan(good_plan())])]

    for one in done:
        assert one.code == 6
        assert "the store has version 99" in one.err
        assert "update yaoki" in one.err


@pytest.mark.spec("0.6", "12.1")
def test_a_missing_git_or_store_is_reported_with_the_next_step(project: Project) -> None:
    (project.folder / "bin").mkdir()
    no_git = project.yaoki("status", env={"PATH": str(project.folder / "bin")})
    no_store = project.yaoki("status", "--json")
    doctor = project.yaoki("doctor", env={"PATH": str(project.folder / "bin")})

    assert (no_git.code, "git is not installed" in no_git.err) == (2, True)
    assert no_store.code == 6
    assert no_store.document["error"]["hint"] == "yaoki run PLAN"
    assert (doctor.code, "BAD  git" in doctor.out) == (1, True)
    assert not (project.repo / ".yaoki").exists()


@pytest.mark.spec("0.6", "12.1")
def test_an_old_git_is_refused_before_anything_is_stored(project: Project) -> None:
    real, old = shutil.which("git"), project.folder / "old"
    old.mkdir()
    (old / "git").write_text(
        "#!/bin/sh\nfor last; do :; done\n"
        'if [ "$last" = version ]; then echo git version 2.37.9; else exec ' + f'{real} "$@"; fi\n'
    )
    (old / "git").chmod(0o755)

    done = project.yaoki(
        "run", project.plan(good_plan()), env={"PATH": f"{old}:{project.env['PATH']}"}
    )

    assert done.code == 2, done.err
    assert "git 2.38 or newer is needed; this is git version 2.37.9" in done.err
    assert not project.has_store()


@pytest.mark.spec("0.6", "12.1")
def test_a_folder_that_cannot_hold_a_store_is_reported(project: Project) -> None:
    """A file is in the place of the store's folder."""
    (project.repo / ".yaoki").write_text("in the way\n")

    done = project.yaoki("run", project.plan(good_plan()))

    assert done.code == 1
    assert "cannot be created" in done.err
    assert "Traceback" not in done.err
    assert (project.repo / ".yaoki").read_text() == "in the way\n"


@pytest.mark.spec("0.6", "12.1")
def test_unreadable_plans_and_unknown_commands_or_options_are_usage_errors(
    project: Project,
) -> None:
    missing = project.yaoki("run", "no-such-plan.yaml")
    binary = project.folder / "binary.yaml"
    binary.write_bytes(b"goal: \xff\xfe\n")
    unreadable = project.yaoki("validate", str(binary))
    no_command = project.yaoki("statuz")
    no_option = project.yaoki("status", "--jsn")
    choice = project.yaoki("answer", "1", "maybe", "--json")

    assert (missing.code, "cannot be read" in missing.err) == (2, True)
    assert (unreadable.code, "not UTF-8" in unreadable.err) == (2, True)
    assert (no_command.code, "did you mean 'status'?" in no_command.err) == (2, True)
    assert (no_option.code, "yaoki status --help" in no_option.err) == (2, True)
    assert (choice.code, choice.document["error"]["exit_code"]) == (2, 2)
    assert "Traceback" not in missing.err + unreadable.err + no_command.err + no_option.err


@pytest.mark.sqlite(why="the address of a server needs trust, which is stored in the home")
@pytest.mark.spec("12.1", "0.6")
def test_an_unwritable_home_is_reported_before_anything_starts(project: Project) -> None:
    """Each task would ask about it otherwise."""
    plan = a_plan({"a": [writes("a.txt")]}, [{"id": "a"}], {"ok": {"shell": "test -s README"}})
    (project.folder / "full").write_text("no folder\n")
    env = {"YAOKI_HOME": str(project.folder / "full" / "home")}

    refused = project.yaoki("run", project.plan(plan), env=env)
    doctor = project.yaoki("doctor", env=env)

    assert (refused.code, "no worktree can be created in " in refused.err) == (2, True), refused.err
    assert "BAD  worktrees" in doctor.out
    assert "there is no run here yet" in project.yaoki("status").err


@pytest.mark.spec("12.1", "0.6")
def test_doctor_names_a_stale_lock_of_a_killed_git(project: Project) -> None:
    lock = project.repo / ".git" / "packed-refs.lock"
    lock.touch()
    fresh = project.yaoki("doctor", "--json").document["lines"]
    os.utime(lock, (1_000_000_000, 1_000_000_000))

    old = project.yaoki("doctor")

    assert "git lock" not in {line["name"] for line in fresh}, "somebody may be at it"
    assert (old.code, f"rm {lock}" in old.out) == (1, True), old.out


@pytest.mark.full
@pytest.mark.spec("13.1", "10.2", "0.6")
def test_doctor_finds_a_row_that_disagrees_with_the_journal(prepared: Prepared) -> None:
    project, _ = prepared.after(run_good_plan)
    healthy = project.yaoki("doctor", "--json")
    run_sql(project.database, "UPDATE tasks SET attempt = 7")

    bent = project.yaoki("doctor")

    assert healthy.code == 0, healthy.out
    assert {"git", "sqlite", "store", "journal", "disk"} <= {
        line["name"] for line in healthy.document["lines"]
    }
    assert (bent.code, "does not fold to its row" in bent.out) == (1, True)
    command = bent.out.splitlines()[-1].removeprefix("next: ")
    assert command.startswith(("cp -a ", "pg_dump "))
    if command.startswith("cp "):
        subprocess.run(command, shell=True, check=True)
        assert (Path(command.split()[-1]) / "state.db").exists(), "a copy that can be typed"


@pytest.mark.full
@pytest.mark.sqlite(why="a server's pages are its operator's")
@pytest.mark.spec("13.1", "10.2", "0.6")
def test_doctor_restores_a_damaged_store(prepared: Prepared) -> None:
    project, _ = prepared.after(run_good_plan)
    (project.repo / ".yaoki" / "state.db").write_bytes(b"not a database" * 1000)

    damaged = project.yaoki("doctor", "--json")

    assert damaged.code == 0, damaged.out
    [store] = [line for line in damaged.document["lines"] if line["name"] == "store"]
    assert "1 damaged one is stored" in store["words"]
    assert "restored from" in damaged.err


@pytest.mark.full
@pytest.mark.spec("14.2", "14.4", "12.4")
def test_terminal_codes_and_keys_in_agent_output_are_masked(project: Project) -> None:
    """An agent prints terminal codes and a key; the logs show neither."""
    key = "sk-" + "a1b2c3d4" * 4
    plan = a_plan(
        {"one": [[{"say": f"\x1b[2Jgone \x07 {key}"}, *writes("a.txt")]]},
        [{"id": "one", "checks": ["a"]}],
        {"a": file_contains("a.txt")},
        goal="Ring \u202ethe bell",
    )
    assert project.yaoki("run", project.plan(plan)).code == 0

    logs = project.yaoki("logs", "one")
    status = project.yaoki("status")

    assert logs.out == "gone \\x07 [masked]\n"
    assert "Ring \\u202ethe bell" in status.out


@pytest.mark.spec("12.1")
def test_init_finds_checks_and_is_idempotent(project: Project) -> None:
    (project.repo / "yaoki.toml").unlink()
    (project.repo / "pyproject.toml").write_text("[tool.pytest.ini_options]\n[tool.ruff]\n")
    (project.repo / "package.json").write_text(json.dumps({"scripts": {"test": "jest"}}))
    (project.repo / "go.mod").write_text("module x\n")

    first = project.yaoki("init", "--json")
    text = (project.repo / "yaoki.toml").read_text()
    second = project.yaoki("init")
    used = project.yaoki("validate", project.plan({**good_plan(), "done_when": ["tests"]}))

    assert first.document["checks"] == ["tests", "lint", "npm-test", "go-tests", "go-vet"]
    assert second.code == 0
    assert "unchanged" in second.out
    assert (project.repo / "yaoki.toml").read_text() == text
    assert used.code == 0, used.err
