"""The live view: what a person sees and presses on a real terminal, of any size and ability."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest
from rich.cells import cell_len

from tests.acceptance.project import (
    BOUND_S,
    Project,
    a_plan,
    file_contains,
    wait_until,
    waits_for,
    writes,
)
from tests.acceptance.test_forecast import plan_of
from tests.builders import NOW
from tests.faces.cli.terminal import Terminal, run_on_terminal
from tests.views.test_views import RUN, a_row, chain
from yaoki.core.model import Choice, Question, Spend, State
from yaoki.faces.cli.live.estimate import Pace, estimate_words, remaining_work, time_left
from yaoki.faces.cli.live.keys import split_keys
from yaoki.faces.cli.live.layout import TaskListing, cost_words
from yaoki.faces.cli.live.panels import wrap_cells
from yaoki.faces.text.glyphs import glyphs_for_locale
from yaoki.views import build_run_view

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("12.4")]
UTF8 = {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
MINUTE = timedelta(minutes=1)
COLOUR = re.compile(rb"\x1b\[(?:[0-9;]*;)?(?:3[0-7]|9[0-7]|38)[;m]")


@pytest.fixture(scope="session")
def pycache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.getbasetemp().parent / "pycache"


@pytest.fixture
def project(tmp_path: Path, pycache: Path) -> Iterator[Project]:
    made = Project(tmp_path, pycache)
    yield made
    made.end_started()


def the_plan(project: Project) -> dict[str, Any]:
    """`asks` asks and lands after an answer; `slow` works and is checked until a file exists."""
    work, check = project.folder / "work", project.folder / "check"
    wait = waits_for(check)["run"][-1]
    return a_plan(
        {
            "slow": [[{"say": "chopping wood"}, waits_for(work), *writes("slow.txt")]],
            "asks": [[{"ask": "Owl or daruma?"}], writes("asks.txt")],
            "after": [writes("after.txt")],
            "poster": [writes("poster.txt")],
        },
        [
            {"id": "slow", "checks": ["patient"]},
            {"id": "asks", "checks": ["asks"]},
            {"id": "after", "checks": ["after"], "needs": ["slow"]},
            {"id": "poster", "checks": ["poster"], "needs": ["asks"]},
        ],
        {
            "patient": {
                "shell": f"{wait.replace('exit 0', 'break').replace('; exit 1', '')}; ls slow.txt"
            },
            "asks": file_contains("asks.txt"),
            "after": file_contains("after.txt"),
            "poster": file_contains("poster.txt"),
        },
    )


def test_a_run_is_followed_and_answered_from_the_terminal(project: Project) -> None:
    """Questions first, then active tasks with their stage, then waiting tasks."""
    plan = project.plan(the_plan(project))
    with run_on_terminal(project.repo, {**project.env, **UTF8}, "run", plan) as terminal:
        shown = terminal.wait_for_text(
            "needs you", "running", "waiting", "agent actor, ", "Ctrl-C stop"
        )

        assert "leave" not in shown, "this command executes the run"
        order = [shown.index(word) for word in ("needs you", "running", "waiting", "0/4 landed")]
        assert order[3] < order[0] < order[1] < order[2]
        assert "Owl or daruma?" in terminal.line(" asks")
        assert all(word in terminal.line(" slow") for word in ("WORK", "try 1", "agent actor"))
        assert "needs slow" in terminal.line(" after")
        assert "blocked by asks" in terminal.line(" poster")
        assert "time left unknown" in shown, "nothing has landed yet"
        assert "cost unknown" in shown, "nobody told a cost"

        _look_around(terminal)
        _answer(terminal)

        (project.folder / "work").touch()
        terminal.until(lambda text: "VERIFY" in text and "check patient" in text, "the check")
        terminal.press("?")
        assert "leave" not in terminal.wait_for_text("explain its state", "Ctrl-C")
        (project.folder / "check").touch()
        assert terminal.ended() == 0, f"nothing that is open holds it: {terminal.text}"
        assert terminal.modes() == terminal.before, "the terminal is as it was"
        assert not terminal.grid.second
        assert "next: yaoki merge" in terminal.text, "the report stands on the first screen"
    assert project.task("asks")["attempt"] == 2


@pytest.mark.full
@pytest.mark.spec("18.9")
def test_the_live_table_forecasts_the_end_of_the_run(project: Project) -> None:
    first = project.plan(plan_of([f"old{n}" for n in range(5)]), "first.json")
    assert project.yaoki("run", first, "--quiet").code == 0
    gate = project.folder / "gate"
    plan = project.plan(plan_of(["a", "b"], gate))

    with run_on_terminal(project.repo, {**project.env, **UTF8}, "run", plan) as terminal:
        terminal.wait_for_text("1/2 landed", "done at ", ", 90 %: ", "agent actor, ")
        assert "time left unknown" not in terminal.text
        assert terminal.line("done at ").endswith("cost unknown"), "nobody told its tokens"
        gate.touch()
        assert terminal.ended() == 0, terminal.text


def _look_around(terminal: Terminal) -> None:
    """`asks` is first, `slow` below it."""
    terminal.press("?")
    terminal.wait_for_text("explain its state")
    terminal.press("q")
    terminal.wait_for_text("needs you")
    terminal.press("jj")
    terminal.until(lambda _: "▸" in terminal.line(" slow "), "slow is chosen")
    terminal.press("l")
    terminal.wait_for_text("log of slow", "chopping wood")
    terminal.press("q")
    terminal.press("k")
    terminal.until(lambda t: "needs you" in t and "▸" in terminal.line(" asks"), "asks is chosen")
    terminal.press("w")
    terminal.wait_for_text("why asks", "last decision", "rule", "ESCALATE_REQUIRED")
    terminal.press("\x1b")
    terminal.wait_for_text("needs you")
    terminal.press("d")
    terminal.wait_for_text("diff of asks", "changed nothing")
    terminal.press("q")
    terminal.press("q")
    terminal.wait_for_text("this terminal runs the tasks; Ctrl-C stops")


def _answer(terminal: Terminal) -> None:
    terminal.press("a")
    terminal.wait_for_text("answer asks", "Owl or daruma?", "r  retry", "a  abort")
    terminal.wait_for_text("the task is tried again; the agent gets your words")
    terminal.wait_for_text("the task is cancelled; its work is saved")
    terminal.press("r")
    terminal.wait_for_text("words for the agent", "> _")
    terminal.press("A darumo\x7fa. q")
    terminal.wait_for_text("> A daruma. q_")
    terminal.press("\r")
    terminal.wait_for_text("asks is answered: retry")
    terminal.until(lambda _: "landed" in terminal.line(" asks"), "asks landed")


@pytest.mark.full
def test_an_open_answer_delays_the_end_and_is_sent(project: Project) -> None:
    """The run ends while a person types; no key reaches the shell, and no text is lost."""
    plan = project.plan(the_plan(project))
    with run_on_terminal(project.repo, {**project.env, **UTF8}, "run", plan) as terminal:
        _open_answer(terminal, "A dar")
        (project.folder / "work").touch()
        (project.folder / "check").touch()
        shown = terminal.wait_for_text("> A dar_", "the run waits for your answer")
        assert "Enter sends, Escape goes back" in shown
        assert terminal.grid.second

        terminal.press("uma.\r")

        assert terminal.ended() == 0, terminal.text
        assert terminal.modes() == terminal.before
    assert project.task("asks")["attempt"] == 2
    assert "A daruma." in project.prompt(project.task("asks"), 2)


@pytest.mark.full
@pytest.mark.parametrize(("keys", "told"), [("\x1b\x1b", False), ("", True)], ids=["let go", "^C"])
def test_a_discarded_answer_ends_the_view_and_is_printed_as_a_command(
    project: Project, keys: str, told: bool
) -> None:
    """So is a warning, which would vanish with the second screen."""
    plan = project.plan(the_plan(project))
    env = {**project.env, **UTF8, "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    with run_on_terminal(project.repo, env, "run", plan) as terminal:
        _open_answer(terminal, "It's a daruma")
        (project.folder / "work").touch()
        (project.folder / "check").touch()
        terminal.wait_for_text("the run waits for your answer")

        for key in keys:
            terminal.press(key)
        if not keys:
            terminal.process.send_signal(signal.SIGINT)

        assert terminal.ended() == 4, terminal.text
        said = terminal.raw[terminal.raw.rindex(b"\x1b[?1049l") :].decode()
    command = f"""not sent: yaoki answer {project.task("asks")["id"]} retry 'It'"'"'s a daruma'"""
    assert (command in said) is told
    assert "traces: http://127.0.0.1:9 cannot be reached" in said


def _open_answer(terminal: Terminal, words: str) -> None:
    terminal.wait_for_text("needs you", "agent actor, ")
    terminal.press("a")
    terminal.wait_for_text("answer asks", "the letter of a choice")
    terminal.press("r")
    terminal.wait_for_text("words for the agent")
    terminal.press(words)
    terminal.wait_for_text(f"> {words}_")


@pytest.mark.full
def test_a_watcher_may_answer_after_the_end_and_learns_that_no_worker_runs(
    project: Project,
) -> None:
    plan = project.plan(the_plan(project))
    carrier = project.start("run", plan, "--quiet")
    wait_until(lambda: project.has_store() and project.events("asks"), "asks is there")
    with run_on_terminal(project.repo, {**project.env, **UTF8}, "watch") as terminal:
        _open_answer(terminal, "A daruma.")
        (project.folder / "work").touch()
        (project.folder / "check").touch()
        assert carrier.wait(BOUND_S) == 4
        terminal.wait_for_text("> A daruma._", "the run waits for your answer")

        terminal.press("\r")

        terminal.wait_for_text(
            "asks is answered: retry", "no worker is running this run: yaoki resume"
        )
        terminal.press("q")
        assert terminal.ended() == 5
    assert carrier.stdout is not None
    carrier.stdout.close()
    assert project.yaoki("resume").code == 0


@pytest.mark.full
def test_unread_keys_do_not_reach_the_shell(still: Project) -> None:
    shell = '"$@"; code=$?; stty -icanon min 0 time 3; echo "left over: $(wc -c)."; exit $code'
    with run_on_terminal(still.repo, {**still.env, **UTF8}, "watch", shell=shell) as terminal:
        terminal.wait_for_text("4 waiting")
        watcher = psutil.Process(terminal.process.pid).children()[0]
        watcher.suspend()
        terminal.press("rm -rf precious")
        watcher.terminate()
        watcher.resume()

        terminal.wait_for_text("left over: 0.")


@pytest.mark.full
def test_a_shortened_name_ends_with_an_ellipsis(project: Project) -> None:
    name = "the-longest-name-that-anybody-ever-gave"
    plan = a_plan(
        {name: [writes("a.txt")]}, [{"id": name, "checks": ["a"]}], {"a": file_contains("a.txt")}
    )
    assert project.yaoki("plan", "submit", project.plan(plan)).code == 0
    with run_on_terminal(project.repo, {**project.env, **UTF8}, "watch") as terminal:
        assert "the-longest-name-that-an… " in terminal.wait_for_text("the-longest-name")


@pytest.fixture(scope="session")
def still(tmp_path_factory: pytest.TempPathFactory, pycache: Path) -> Project:
    """A run without a worker, so its screen does not change; tests only read it."""
    project = Project(tmp_path_factory.mktemp("still"), pycache)
    assert project.yaoki("plan", "submit", project.plan(the_plan(project))).code == 0
    return project


@pytest.mark.full
def test_the_screen_fits_any_terminal_size(still: Project) -> None:
    with run_on_terminal(still.repo, {**still.env, **UTF8}, "watch") as terminal:
        terminal.wait_for_text("no worker is running this", "4 waiting", "q leave")
        terminal.press("?")
        terminal.wait_for_text("explain its state", "quit; the run continues")
        terminal.press("q")

        for rows, cols in ((12, 40), (6, 40), (24, 72), (40, 200)):
            terminal.resize(rows, cols)
            keys = ("q: leave" if cols == 40 else "q leave",) if rows > 10 else ()
            terminal.wait_for_text("4 waiting", "0/4 landed", *keys)
            # A frame of the size before may have been under way; from now on none is.
            terminal.grid.wrapped = False
            terminal.press("G")
            shown = terminal.until(lambda t: "▸" in t and "poster" in t, "the chosen is in sight")
            assert not terminal.grid.wrapped, shown
            assert len([text for text in terminal.grid.lines if text]) <= rows
            terminal.press("g")
            terminal.until(lambda _: "▸" in terminal.line(" slow"), "the first is chosen")

        terminal.press("q")
        assert terminal.ended() == still.yaoki("status", "--exit-code").code
        assert terminal.modes() == terminal.before


def test_the_terminal_is_restored_when_the_watcher_is_ended(still: Project) -> None:
    with run_on_terminal(still.repo, {**still.env, **UTF8}, "watch") as terminal:
        terminal.wait_for_text("4 waiting")
        assert terminal.modes() != terminal.before

        terminal.process.send_signal(signal.SIGTERM)

        assert terminal.ended() == 128 + signal.SIGTERM
        assert terminal.modes() == terminal.before
        assert not terminal.grid.second


@pytest.mark.full
@pytest.mark.parametrize(
    ("env", "coloured", "ascii_only"),
    [
        (UTF8, True, False),
        ({**UTF8, "NO_COLOR": "1"}, False, False),
        ({"TERM": "xterm", "LC_ALL": "C"}, True, True),
    ],
    ids=["all of it", "no colour", "no unicode"],
)
def test_a_terminal_gets_only_supported_characters(
    still: Project, env: dict[str, str], coloured: bool, ascii_only: bool
) -> None:
    around = {k: v for k, v in still.env.items() if not k.startswith("LC_") and k != "LANG"}
    with run_on_terminal(still.repo, {**around, **env}, "watch") as terminal:
        terminal.wait_for_text("4 waiting", "0/4 landed")
        terminal.press("j")
        terminal.until(lambda _: ">" in terminal.line("slow") or "▸" in terminal.line("slow"), "it")
        terminal.press("q")
        terminal.ended()
        drawn = terminal.raw[: terminal.raw.index(b"\x1b[?1049l")]

    assert bool(COLOUR.search(drawn)) is coloured
    assert drawn.isascii() is ascii_only


@pytest.mark.full
def test_a_dumb_terminal_and_a_pipe_get_plain_lines(project: Project) -> None:
    small = a_plan(
        {"a": [writes("a.txt")]}, [{"id": "a", "checks": ["a"]}], {"a": file_contains("a.txt")}
    )
    env = {**project.env, "TERM": "dumb"}

    with run_on_terminal(project.repo, env, "run", project.plan(small)) as terminal:
        code = terminal.ended()
    piped = project.yaoki("run", project.plan(small), env={"TERM": "xterm-256color"})

    assert (code, piped.code) == (0, 0)
    for said in (terminal.raw.decode(), piped.out):
        assert "\x1b" not in said
        lines = said.replace("\r\n", "\n").splitlines()
        assert sum(" landed " in text and " attempt 1 " in text for text in lines) == 1


@pytest.mark.full
def test_a_narrow_terminal_breaks_between_words_and_a_pipe_does_not(project: Project) -> None:
    words = "the colour of the bikeshed is a matter of taste, so which one shall it be then?"
    plan = a_plan(
        {"asks": [[{"ask": words}]]},
        [{"id": "asks", "checks": ["done"]}],
        {"done": file_contains("asks.txt")},
    )
    assert project.yaoki("run", project.plan(plan), "--quiet").code == 4

    with run_on_terminal(project.repo, project.env | UTF8, "status", cols=60) as terminal:
        assert terminal.ended() == 0
        shown, wrapped = terminal.text, terminal.grid.wrapped
    piped = project.yaoki("status")

    assert words in " ".join(shown.split())
    assert not wrapped, shown
    assert words in piped.out


@pytest.mark.full
def test_a_wait_says_why_and_counts_down(project: Project) -> None:
    limited = [[{"rate_limit": {"retry_after": 60}}], writes("a.txt")]
    plan = a_plan({"a": limited}, [{"id": "a", "checks": ["a"]}], {"a": file_contains("a.txt")})
    with run_on_terminal(
        project.repo, {**project.env, **UTF8}, "run", project.plan(plan)
    ) as terminal:
        terminal.wait_for_text("waits for its account actor: its limit is reached")
        seen: set[str] = set()

        def counts_down(text: str) -> bool:
            seen.update(re.findall(r"one task tries in (\d+ (?:s|min))", text))
            return len(seen) >= 2

        terminal.until(counts_down, "another number")
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.ended() in {5, 130}


# ------------------------------------------------------------------ the parts


def test_keys_are_recognised_and_unknown_ones_left_out() -> None:
    assert list(split_keys("j\x1b[A\x1b[6~q\r\x7f\x1b")) == [
        *("j", "up", "page-down", "q", "enter", "back", "escape")
    ]
    assert list(split_keys("\x1b[200~a\x1b[1;5Cb\x01日")) == ["a", "b", "日"]


def test_the_remaining_time_is_unknown_before_the_first_landing() -> None:
    view = build_run_view(RUN, [a_row(1), a_row(2)], {}, is_idle=False)

    assert time_left(remaining_work(view, 4), Pace(), NOW) is None


def test_the_remaining_time_follows_slots_and_chains_without_escalated_tasks() -> None:
    pace = Pace()
    for n, minutes in enumerate((1, 2, 30)):
        pace.record_start(f"old-{n}", NOW - minutes * MINUTE)
        pace.record_landing(f"old-{n}", NOW)
    rows = [a_row(n) for n in range(1, 5)]
    wide = build_run_view(RUN, rows, {}, is_idle=False)
    long = build_run_view(RUN, rows, chain(*rows), is_idle=False)
    asks = a_row(1, State.ESCALATED, question="?", reason="MAX_RETRIES")
    asked = {asks.id: Question("?", (Choice.RETRY,))}
    stuck = build_run_view(
        RUN, [asks, *rows[1:]], chain(asks, *rows[1:]), is_idle=False, questions=asked
    )

    assert time_left(remaining_work(wide, 4), pace, NOW) == 2 * MINUTE, (
        "one round of the usual task"
    )
    assert time_left(remaining_work(wide, 1), pace, NOW) == 8 * MINUTE
    assert time_left(remaining_work(long, 4), pace, NOW) == 8 * MINUTE, "each needs the one before"
    assert time_left(remaining_work(stuck, 4), pace, NOW) == timedelta(0)


def test_a_task_that_takes_longer_than_usual_makes_the_remaining_time_unknown() -> None:
    pace = Pace()
    pace.record_start("old", NOW - 4 * MINUTE)
    pace.record_landing("old", NOW)
    row = a_row(1, State.ACTIVE)
    view = build_run_view(RUN, [row], {}, is_idle=False)

    pace.record_start(row.id, NOW)
    assert time_left(remaining_work(view, 1), pace, NOW + 3 * MINUTE) == MINUTE
    assert time_left(remaining_work(view, 1), pace, NOW + 60 * MINUTE) is None


def test_an_unreported_cost_is_unknown_and_never_zero() -> None:
    assert cost_words(Spend()) == "no cost yet"
    assert cost_words(Spend(attempts=2, unknown=2)) == "cost unknown"
    assert cost_words(Spend(0.5, 1200, attempts=2)) == "$0.50, 1,200 tokens"
    assert cost_words(Spend(0.5, 1200, attempts=3, unknown=1)).endswith("1 run of unknown cost")


def test_the_footer_counts_each_task_once() -> None:
    asks = a_row(1, State.ESCALATED, question="?", reason="MAX_RETRIES")
    rows = [asks, a_row(2), a_row(3), a_row(4, State.DONE)]
    needs = {**chain(asks, rows[1]), rows[2].id: (), rows[3].id: ()}
    view = build_run_view(RUN, rows, needs, is_idle=False)

    assert TaskListing(view).count_words == "1 waiting, 1 escalated, 1 done, 1 blocked"


@pytest.mark.parametrize("width", [2, 7, 20, 80])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "  reasoning the run branch moved while it was verified",
        "x" * 90,
        "  日本語" * 20 + " a",
    ],
)
def test_text_is_cut_between_words_and_nothing_of_it_is_lost(text: str, width: int) -> None:
    lines = wrap_cells(text, width)

    assert all(cell_len(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())
    words = {word for word in text.split() if len(word) < width - 4 and word.isascii()}
    assert words <= set(" ".join(lines).split()), "a word that fits is whole"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.4, "0 s"),
        (99, "1 min 39 s"),
        (629, "10 min"),
        (12_001, "3 h 20 min"),
        (200_000, "2 d 7 h"),
    ],
)
def test_an_estimate_has_only_useful_digits(seconds: float, words: str) -> None:
    assert estimate_words(timedelta(seconds=seconds)) == words


@pytest.mark.parametrize(
    ("env", "unicode"),
    [
        ({"LANG": "en_GB.UTF-8"}, True),
        ({"LC_ALL": "ja_JP.utf8"}, True),
        ({"LC_ALL": "C", "LANG": "en_GB.UTF-8"}, False),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, False),
        ({"LANG": "de_DE.ISO-8859-1"}, False),
        ({}, False),
    ],
    ids=str,
)
def test_the_locale_decides_the_supported_characters(env: dict[str, str], unicode: bool) -> None:
    """The fourth is what Python makes of the C locale for itself."""
    assert glyphs_for_locale(env).unicode is unicode
