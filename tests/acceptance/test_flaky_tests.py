"""The life cycle of a flaky test: measured, proposed, quarantined until a date, repaired."""

from __future__ import annotations

import sys
import tomllib
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import yaml

from tests.acceptance.project import (
    GIT_IDENTITY,
    SETTINGS,
    WITHOUT_PLUGINS,
    Completed,
    Project,
    a_plan,
    tap_script,
    wait_until,
    writes,
)
from tests.acceptance.test_agent_failures import event_data
from tests.acceptance.test_report import a_receipt
from yaoki.adapters.system.trust_file import TrustFile

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("18.8")]

TEST = "races"
ENTRY = """
[[quarantine]]
test = "{test}"
owner = "mia"
expires = {expires}
reason = "it races with the clock"
"""


def flaky_suite(project: Project, *results: str, **others: str) -> dict[str, Any]:
    """A check whose test `races` gives the first results while there is one text file, the second
    ones while there are two, and so on: `F` fails.  Otherwise it passes, also on the base.
    """
    places = project.folder / "results"
    places.mkdir()
    for n, letters in enumerate(results, start=1):
        (places / str(n)).write_text(letters)
    next_letter = (
        f"f={places}/$(ls *.txt 2>/dev/null | wc -l); test ! -e $f || {{"
        ' c=$(head -c 1 $f); tail -c +2 $f > $f.rest; mv $f.rest $f; test "$c" != F; }'
    )
    script = tap_script(**{TEST: f"( {next_letter} )", "steady": "true", **others})
    (project.repo / "suite.sh").write_text(script)
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "suite")
    return {"suite": {"run": ["sh", "suite.sh"], "pattern": "test-failed", "reader": "tap"}}


def quarantine(project: Project, expires: str = "", test: str = TEST) -> None:
    soon = (datetime.now(UTC) + timedelta(days=9)).date().isoformat()
    project.settings(SETTINGS + ENTRY.format(test=test, expires=expires or soon))
    project.git(*GIT_IDENTITY, "commit", "-qam", "quarantine")


def run_tasks(project: Project, checks: dict[str, Any], *names: str, **fields: Any) -> Completed:
    """Run tasks that succeed but for the suite, one after the other."""
    script = {name: [writes(f"{name}.txt")] * 3 for name in names}
    tasks = [{"id": name, "checks": ["suite"], **fields} for name in names]
    plan = project.plan(a_plan(script, tasks, checks))
    return project.yaoki("run", plan, "--parallel", "1", "--quiet")


def suite_results(project: Project, task: str) -> list[dict[str, Any]]:
    finished = event_data(project.events(task), "CHECK_FINISHED")
    return [data for data in finished if data["check"] == "suite"]


def test_a_quarantined_test_that_passes_on_the_same_commit_is_excused_and_named_everywhere(
    project: Project,
) -> None:
    checks = flaky_suite(project, "FFP")
    quarantine(project)

    assert run_tasks(project, checks, "a").code == 0

    assert project.task("a")["attempt"] == 1
    (result,) = suite_results(project, "a")
    assert (result["outcome"], len(result["rerun_seconds"])) == ("FLAKY", 2)
    (entry,) = result["quarantined"]
    assert (entry["test"], entry["owner"]) == (TEST, "mia")
    (runs,) = result["test_runs"]
    assert (runs["test"], runs["passed"], runs["failed"]) == (TEST, 1, 2)
    named = f"{TEST} (owner mia, until "
    assert named in project.yaoki("why", "a").out
    assert named in project.yaoki("trace", "a").out
    assert named in project.yaoki("report").out
    assert named in project.yaoki("report", "--format", "html").out
    receipt = project.yaoki("report", "--format", "json").document["receipt"]
    (check,) = [one for one in receipt["landed"][0]["checks"] if one["check"] == "suite"]
    assert check["quarantined"] == [entry]
    verified = project.yaoki("verify", str(a_receipt(project)))
    assert verified.code == 0, verified.out + verified.err
    assert "1 check with failures in quarantine" in verified.out


def test_the_report_names_an_entry_that_matches_no_test_of_the_run_with_its_line(
    project: Project,
) -> None:
    """A mistyped name excused nothing, and nobody was told."""
    checks = flaky_suite(project)
    quarantine(project, test="race")
    run_tasks(project, checks, "a")
    line = (project.repo / "yaoki.toml").read_text().splitlines().index('test = "race"') + 1

    mistyped = project.yaoki("report").out
    quarantine(project)
    run_tasks(project, checks, "b")

    words = f"the quarantine of race (yaoki.toml:{line}) matched no test of this run"
    assert mistyped.count(words) == 1
    assert "matched no test" not in project.yaoki("report").out


def test_a_flaky_test_without_a_quarantine_lands_if_every_rerun_passes_and_is_not_missed(
    project: Project,
) -> None:
    """Formerly it was missed among the tests that passed, as if the change had removed it."""
    checks = flaky_suite(project, "FPP")

    done = run_tasks(project, checks, "a")
    status, merged = project.yaoki("status"), project.yaoki("merge")

    assert done.code == 0, done.out
    landed = project.task("a")
    assert landed["attempt"] == 1
    (result,) = suite_results(project, "a")
    assert (result["outcome"], result["quarantined"], result["tests"]) == ("FLAKY", [], 2)
    assert "note: a landed with flaky check suite" in done.out
    assert f"{landed['landed'][:10]}  flaky: suite" in status.out
    assert "landed with flaky checks: a (suite)" in merged.out


def test_a_deterministic_failure_is_red_although_the_test_is_in_quarantine(
    project: Project,
) -> None:
    checks = flaky_suite(project, "F" * 6 + "P")
    quarantine(project)

    assert run_tasks(project, checks, "a").code == 0, "the second attempt passes"

    broken, passed = suite_results(project, "a")
    assert (broken["outcome"], passed["outcome"]) == ("FAILED", "PASSED")
    assert "it failed 6 of 6 times on this commit: races" in broken["message"]
    assert broken["quarantined"] == []
    assert "6 of 6 times" in project.prompt(project.task("a"), 2)


@pytest.mark.full
def test_another_failure_beside_a_quarantined_one_is_red(project: Project) -> None:
    checks = flaky_suite(project, "FP", other="test -e b.txt")
    quarantine(project)
    script = {"a": [writes("a.txt"), writes("b.txt")]}
    plan = project.plan(a_plan(script, [{"id": "a", "checks": ["suite"]}], checks))

    assert project.yaoki("run", plan, "--quiet").code == 0

    first, second = suite_results(project, "a")
    assert (first["outcome"], second["outcome"]) == ("FAILED", "PASSED")
    assert {item["name"] for item in first["items"]} == {TEST, "other"}


def test_an_expired_quarantine_is_red_even_if_every_rerun_passes(project: Project) -> None:
    checks = flaky_suite(project, "FPPP")
    yesterday = (datetime.now(UTC) - timedelta(days=2)).date().isoformat()
    quarantine(project, yesterday)

    done = run_tasks(project, checks, "a")

    assert done.code == 0, "the second attempt passes"
    assert "the quarantine of races (owner mia, until" in done.err
    assert "expired quarantine: races (owner mia" in project.yaoki("doctor").out
    red, _ = suite_results(project, "a")
    assert red["outcome"] == "FAILED"
    assert [entry["test"] for entry in red["quarantine_expired"]] == [TEST]
    assert "the quarantine of races expired on" in red["message"]
    assert "the quarantine of races expired on" in project.prompt(project.task("a"), 2)
    assert "quarantine by mia expired on" in project.yaoki("stats", "flaky").out


@pytest.mark.full
@pytest.mark.spec("17.2")
def test_a_replay_excuses_what_the_quarantine_excuses_in_a_run(project: Project) -> None:
    """A second failure was red, and a re-run that passes hid an entry that had expired."""
    checks = flaky_suite(project, "P")
    quarantine(project)
    assert run_tasks(project, checks, "a").code == 0

    def replay(letters: str) -> Completed:
        (project.folder / "results" / "1").write_text(letters)
        return project.yaoki("verify", "--replay", project.status()["run"])

    excused, broken = replay("FFP"), replay("F" * 6)
    quarantine(project, (datetime.now(UTC) - timedelta(days=2)).date().isoformat())
    expired = replay("FP")

    assert excused.code == 0, excused.out
    assert "flaky, excused by the quarantine: races (owner mia, until " in excused.out
    assert (broken.code, expired.code) == (1, 1)
    assert "it failed 6 of 6 times on this commit: races" in broken.out
    assert "the quarantine of races expired on" in expired.out


@pytest.mark.full
def test_a_quarantine_expires_in_a_run_that_was_started_before_and_across_a_restart(
    project: Project,
) -> None:
    """`a` lands before the expiry; the worker is killed, and `b` is verified after it."""
    checks = flaky_suite(project, "FFP", "FPP")
    expiry = datetime.now(UTC) + timedelta(seconds=14)
    quarantine(project, expiry.isoformat(timespec="seconds"))
    # None of its seconds may be left, whenever the agent begins.
    wait = f"n=$(({int(expiry.timestamp())} + 1 - $(date +%s))); test $n -le 0 || sleep $n"
    late = [{"run": ["sh", "-c", f"touch {project.home}/b-began; {wait}"]}, *writes("b.txt")]
    script = {"a": [writes("a.txt")], "b": [late, writes("b.txt", "again\n")]}
    tasks = [{"id": "a", "checks": ["suite"]}, {"id": "b", "checks": ["suite"], "needs": ["a"]}]
    plan = project.plan(a_plan(script, tasks, checks))
    worker = project.start("run", plan, "--parallel", "1", "--quiet")
    wait_until(lambda: (project.home / "b-began").exists(), "the agent of b begins")
    worker.kill()
    worker.wait(60)

    done = project.yaoki("resume", "--quiet")

    assert done.code == 0, done.out + done.err
    (excused,), (red, *_) = suite_results(project, "a"), suite_results(project, "b")
    assert (excused["outcome"], red["outcome"]) == ("FLAKY", "FAILED")
    assert [entry["owner"] for entry in red["quarantine_expired"]] == ["mia"]


def test_an_agent_cannot_put_a_test_into_quarantine_by_its_own_change(project: Project) -> None:
    """Its scope allows it to change the settings, but those of the candidate do not count."""
    checks = flaky_suite(project, "FPF")
    soon = (datetime.now(UTC) + timedelta(days=9)).date().isoformat()
    own = (project.repo / "yaoki.toml").read_text() + ENTRY.format(test=TEST, expires=soon)
    script = {"a": [[{"write": {"yaoki.toml": own, "a.txt": "good\n"}}], writes("b.txt")]}
    task = {"id": "a", "checks": ["suite"], "scope": ["yaoki.toml", "*.txt"]}

    done = project.yaoki("run", project.plan(a_plan(script, [task], checks)), "--quiet")

    assert done.code == 0, "the second attempt passes"
    first, _ = suite_results(project, "a")
    assert (first["outcome"], first["quarantined"]) == ("FAILED", [])


def test_a_new_entry_of_the_quarantine_needs_trust_again(project: Project) -> None:
    checks = flaky_suite(project, "")
    TrustFile(project.home).update(lambda record: record.without(str(project.folder.resolve())))
    plan = project.plan(a_plan({"a": [writes("a.txt")]}, [{"id": "a"}], checks))
    assert project.yaoki("run", plan, "--quiet", "--trust").code == 0
    quarantine(project)

    refused = project.yaoki("run", plan, "--quiet")

    assert refused.code == 6, refused.out + refused.err
    assert "quarantine = " in refused.err
    assert TEST in refused.err


@pytest.mark.full
def test_rates_are_counted_across_runs_proposed_with_evidence_and_kept_by_prune(
    project: Project,
) -> None:
    """The proposed entry is accepted as it is."""
    checks = flaky_suite(project, "FPP", "FPP")
    assert run_tasks(project, checks, "a", "b").code == 0
    (early,) = project.yaoki("stats", "flaky", "--json").document["tests"]
    for n in ("1", "2"):
        (project.folder / "results" / n).write_text("FPP")
    assert run_tasks(project, checks, "c", "d").code == 0

    shown = project.yaoki("stats", "flaky")
    (test,) = project.yaoki("stats", "flaky", "--json").document["tests"]

    assert early["proposal"] is None
    missing = "6 runs; at least 10 are needed"
    assert early["missing_evidence"] == missing, "with that of the whole run"
    assert (test["test"], test["check"], test["failed"], test["runs"]) == (TEST, "suite", 3, 13)
    assert test["rate_low"] < 3 / 13 < test["rate_high"]
    assert len({one["commit"] for one in test["commits"]}) == 4
    assert len({one["run"] for one in test["commits"]}) == 2
    assert "23% (8% to 50%)" in shown.out
    assert test["proposal"] in shown.out
    assert "yaoki plan flaky races" in shown.out
    assert test["proposal"] in project.yaoki("report").out
    assert "[[quarantine]]" in project.yaoki("report", "--format", "html").out
    (entry,) = tomllib.loads(test["proposal"])["quarantine"]
    assert entry["test"] == TEST
    with (project.repo / "yaoki.toml").open("a") as settings:
        settings.write(f"\n{test['proposal']}\n")
    assert project.yaoki("config", "show").code == 0

    for run in project.query("status", "--all", "--json").document["runs"]:
        pruned = project.yaoki("forget", run["run"], "--force")
        assert pruned.code == 0, pruned.out + pruned.err
    after = project.yaoki("stats", "flaky", "--json").document["tests"]

    assert [(one["failed"], one["runs"]) for one in after] == [(3, 13)]
    assert after[0]["quarantine"]["owner"] == "NAME"


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ('test = "t"\nexpires = 2026-01-01\nreason = "r"', "number 1 (t): owner is missing"),
        (
            'test = "t"\nowner = "o"\nexpires = 2199-01-01\nreason = "r"',
            "more than 90 days from now",
        ),
        (
            'test = "t"\nowner = "o"\nexpires = 2026-01-01\nreason = "r"\nsince = 1',
            "quarantine.since: unknown key",
        ),
    ],
)
def test_a_defect_of_the_quarantine_is_named_and_nothing_is_started(
    project: Project, entry: str, words: str
) -> None:
    project.settings(f"{SETTINGS}\n[[quarantine]]\n{entry}\n")

    refused = project.yaoki("run", project.plan(a_plan({}, [{"id": "a"}], {})))

    assert refused.code == 2, refused.out + refused.err
    assert words in refused.err


PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
TESTS = """\
from work import is_ready


def test_steady():
    assert 1 + 1 == 2


def test_shaky():
    assert is_ready()
"""
WORK = """\
from pathlib import Path

RESULTS = Path({results!r})


def is_ready():
    letters = RESULTS.read_text()
    RESULTS.write_text(letters[1:])
    return not (Path("a.txt").exists() and letters.startswith("F"))
"""


def shaky_tests(project: Project, results: str) -> dict[str, Any]:
    """`test_shaky` gives these results once the task has written its file."""
    file = project.folder / "results"
    file.write_text(results)
    (project.repo / "work.py").write_text(WORK.format(results=str(file)))
    (project.repo / "test_it.py").write_text(TESTS)
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "tests")
    return {"suite": {"run": [*PYTEST, "test_it.py"], "env": WITHOUT_PLUGINS}}


def test_a_plan_repairs_a_test_that_was_not_seen_by_the_command_that_runs_it(
    project: Project,
) -> None:
    written = project.yaoki("plan", "flaky", TEST, "--", "sh", "suite.sh", "it's one")
    unknown = project.yaoki("plan", "flaky", TEST)

    assert written.code == 0, written.err
    plan = yaml.safe_load(written.out)
    shell = plan["checks"]["repeated-runs"]["shell"]
    assert shell == "for n in $(seq 50); do sh suite.sh 'it'\"'\"'s one' || exit 1; done"
    assert plan["tasks"][0]["checks"] == ["repeated-runs"]
    assert unknown.code == 6
    assert "races was not seen flaky" in unknown.err
    assert "yaoki plan flaky races -- COMMAND" in unknown.err


@pytest.mark.full
def test_a_single_test_of_pytest_runs_again_alone_and_an_agent_repairs_it_with_50_green_runs(
    project: Project,
) -> None:
    name = "test_it.py::test_shaky"
    project.env |= WITHOUT_PLUGINS
    checks = shaky_tests(project, "FF.F.")
    quarantine(project, test=name)
    assert run_tasks(project, checks, "a").code == 0
    (result,) = suite_results(project, "a")
    assert (result["outcome"], len(result["quarantined"])) == ("FLAKY", 1)
    assert project.yaoki("merge").code == 0
    file = project.folder / "repair.yaml"

    written = project.yaoki("plan", "flaky", name, "-o", str(file), "--times", "2")

    assert written.code == 0, written.out + written.err
    assert f"next: yaoki run {file}" in written.out
    plan = yaml.safe_load(file.read_text())
    (task,) = plan["tasks"]
    assert name in task["goal"]
    shell = plan["checks"]["repeated-runs"]["shell"]
    assert shell.startswith("for n in $(seq 2); do ")
    assert name in shell
    shaky = (project.repo / "work.py").read_text() + "READY = True\n"
    fixed = shaky.replace('letters.startswith("F")', "letters is None")
    script = {task["id"]: [[{"write": {"work.py": text}}] for text in (shaky, fixed)]}
    (project.folder / "results").write_text(".F" + "." * 99)
    repair = {**a_plan(script, [], {}), **plan}

    done = project.yaoki("run", project.plan(repair), "--quiet")

    assert done.code == 0, done.out + done.err
    finished = event_data(project.events(task["id"]), "CHECK_FINISHED")
    runs = [one["outcome"] for one in finished if one["check"] == "repeated-runs"]
    assert runs == ["FAILED", "PASSED"], "the quarantine excuses nothing here"
