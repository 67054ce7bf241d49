"""`yaoki report` and `yaoki verify`: what a run came to, and a receipt that git alone confirms."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from justhtml import JustHTML
from markdown_it import MarkdownIt

from tests.acceptance.project import (
    BOUND_S,
    GIT_IDENTITY,
    Completed,
    Project,
    a_plan,
    file_contains,
    wait_until,
    waits_for,
    writes,
)

pytestmark = pytest.mark.acceptance

SECRET = "correct-horse-battery"
HOSTILE = '<script>alert("x")</script> | [x](javascript:y) `z` & token ' + SECRET
TESTS = """\
import unittest


class It(unittest.TestCase):
    def test_old(self):
        self.fail("it never worked")

    def test_good(self):
        self.assertEqual(1, 1)
"""


def usage_line(cost: float, session: str) -> dict[str, Any]:
    """The last output line of an agent that reports its usage in the format of a known agent."""
    usage = {"input_tokens": 60, "output_tokens": 40}
    result = {"type": "result", "subtype": "success", "result": "ok", "usage": usage}
    return {"say": json.dumps({**result, "total_cost_usd": cost, "session_id": session})}


def a_full_plan(project: Project) -> dict[str, Any]:
    """A false claim and its fix, a flaky check, a failing base, a question, and a waiting task."""
    (project.repo / "test_it.py").write_text(TESTS)
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "red")
    once = project.folder / "once"
    checks = {
        **{name: file_contains(f"{name}.txt") for name in ("lie", "quiet", "ask", "after")},
        # It fails once, and passes whatever there is before the work of the second attempt.
        "shaky": {"shell": f"test ! -e lie.txt || test -e {once} || {{ touch {once}; exit 1; }}"},
        "guard": {
            "run": ["python3", "-m", "unittest", "-q", "test_it"],
            "pattern": "test-failed",
            "baseline": "known",
        },
    }
    script = {
        "lie": [[usage_line(0.25, "talk-1")], [*writes("lie.txt"), usage_line(0.5, "talk-1")]],
        "quiet": [writes("quiet.txt")],
        "ask": [[*writes("half.txt"), {"ask": HOSTILE}]],
        "after": [writes("after.txt")],
    }
    tasks = [
        {"id": "lie", "checks": ["lie", "shaky"]},
        # After `lie`; otherwise it is verified twice, and its flaky check passes at once.
        {"id": "quiet", "checks": ["quiet", "guard"], "needs": ["lie"]},
        {"id": "ask", "checks": ["ask"]},
        {"id": "after", "checks": ["after"], "needs": ["ask"]},
    ]
    return a_plan(script, tasks, checks, goal=HOSTILE)


def run_plan(project: Project, plan: dict[str, Any]) -> Completed:
    return project.yaoki("run", project.plan(plan), "--quiet")


class Page(HTMLParser):
    """The tags, attributes and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.full
@pytest.mark.spec("12.1", "10.3", "10.6", "6.4", "6.5", "14.2", "14.4")
def test_the_report_contains_everything_about_a_run_in_every_format(project: Project) -> None:
    project.env["MY_TOKEN"] = SECRET
    done = run_plan(project, a_full_plan(project))
    assert done.code == 4, done.out + done.err
    run = project.status()["run"]
    assert f"yaoki report {run}" in done.out

    document = project.yaoki("report", "--format", "json").document
    markdown = project.yaoki("report", run, "--format", "markdown").out
    written = project.yaoki("report", "-o", str(project.folder / "report.html"))
    html = (project.folder / "report.html").read_text()

    numbers, tasks = document["numbers"], {task["name"]: task for task in document["tasks"]}
    assert (document["schema"], document["run"]["status"]) == (1, "ESCALATED")
    counted = [numbers[name] for name in ("tasks", "done", "asking", "blocked", "retries")]
    assert counted == [4, 2, 1, 1, 1]
    # Two of the four agent runs reported their cost: the sum is shown as a lower bound.
    assert (numbers["cost"], numbers["cost_untold"], numbers["agent_runs"]) == (0.75, 2, 4)
    assert (numbers["tokens"], numbers["tokens_untold"]) == (200, 2)
    tries = [(t["session"], t["cost"], t["tokens"]) for t in tasks["lie"]["attempts"]]
    assert tries == [("talk-1", 0.25, 100), ("talk-1", 0.5, 100)]
    assert [t["cost"] for t in tasks["quiet"]["attempts"]] == [None], "unknown, never zero"
    assert [(one["kind"], one["pattern"]) for one in document["retries"]] == [
        ("INCOMPLETE", "no-change")
    ]
    assert [(one["check"], one["tasks"]) for one in document["flaky"]] == [("shaky", ["lie"])]
    assert [one["check"] for one in document["red_before"]] == ["guard"]
    assert "test_old" in document["red_before"][0]["failures"]
    proof = tasks["lie"]["proof"]
    assert proof["tree"] == project.git("rev-parse", f"{proof['commit']}^{{tree}}")
    outcomes = [(c["check"], c["outcome"], c["exit_code"]) for c in proof["checks"]]
    assert outcomes == [("lie", "PASSED", 0), ("shaky", "FLAKY", 1)]
    (asked,) = document["asking"]
    task = tasks["ask"]["id"]
    assert [one["command"].split()[:4] for one in asked["answers"]][-1] == [
        *("yaoki", "answer", task, "abort")
    ]
    (kept,) = document["kept"]["work"]
    assert project.git("show", f"{kept['commit']}:half.txt") == "good"
    time = document["time"]
    assert all(time[name] > 0 for name in ("wall_s", "agent_s", "checks_s"))
    assert set(time["waiting"]) == {"turn_s", "retry_s", "rerun_s", "person_s"}

    assert written.out.splitlines()[-1] == f"next: yaoki answer {task}"
    for text in (markdown, html):
        for words in ("talk-1", "at least $0.75", "unknown", "shaky", "test_old", task, "after"):
            assert words in text, words
    for text in (json.dumps(document), markdown, html):
        assert SECRET not in text
        assert "masked" in text
    assert markdown.count("<script") == markdown.count("\\<script") > 0
    assert "[x](javascript" not in markdown
    assert_inert_page(html)


def assert_inert_page(html: str) -> None:
    """One file without scripts and external resources: text of agents and plans is escaped; the
    content policy allows only the inline style.
    """
    page = Page(html)
    JustHTML(html, sanitize=False, strict=True)
    assert not {"script", "img", "iframe", "object", "form", "base"}.intersection(page.tags)
    assert '<script>alert("x")</script>' in page.text
    held = dict(page.attributes)
    assert held["href"] == "data:,", "the only address in it is empty"
    assert not [name for name, _ in page.attributes if name.startswith("on") or name == "style"]
    policy = next(v for n, v in page.attributes if n == "content" and "default-src" in v)
    sheet = html.partition("<style>")[2].partition("</style>")[0]
    assert "url(" not in sheet
    assert "@import" not in sheet
    seal = base64.b64encode(hashlib.sha256(sheet.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{seal}';" in policy
    # The order is verdict, numbers, tasks, proof.
    order = [page.text.index(w) for w in ("The run needs you", "added up", "Tasks", "Proof")]
    assert order == sorted(order)


@pytest.mark.spec("12.1", "14.4")
def test_markdown_in_a_question_is_escaped_in_the_report(project: Project) -> None:
    """The agent's question would be a heading, a list, a rule and an underlined title."""
    question = "# Proof\n- all checks passed\nDone\n===\n1. go on\n~~~\n---\n&lt;b&gt; ~~no~~"
    plan = a_plan(
        {"ask": [[{"ask": question}]]}, [{"id": "ask", "checks": ["a"]}], {"a": file_contains("a")}
    )
    assert run_plan(project, plan).code == 4

    markdown = project.yaoki("report", "--format", "markdown").out
    html = project.yaoki("report", "--format", "html").out

    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(markdown)
    headings = [tokens[n + 1].content for n, t in enumerate(tokens) if t.type == "heading_open"]
    assert headings[1:] == ["Needs you", "Numbers", "Not landed", "Proof"]
    assert not {"hr", "fence", "ordered_list_open"} & {token.type for token in tokens}
    begin = next(n for n, token in enumerate(tokens) if token.type == "blockquote_open")
    quote = tokens[begin + 2]
    shown = "".join(one.content or "\n" for one in quote.children or ())
    assert [line.strip() for line in shown.split("\n")] == question.split("\n")
    page = JustHTML(html, sanitize=False, strict=True)
    (quoted,) = page.query("article q")
    assert [node.data for node in quoted.children or () if node.name == "#text"] == question.split(
        "\n"
    )


@pytest.mark.spec("12.1")
def test_the_report_on_standard_output_shows_text_as_it_was_written(project: Project) -> None:
    """People read it: a backslash that only Markdown needs is noise there."""
    question = "Which one?\n1. use_it | drop it\n2. keep it, *as is*\n# no heading\n`a` & [b](c)"
    plan = a_plan(
        {"ask": [[{"ask": question}]]}, [{"id": "ask", "checks": ["a"]}], {"a": file_contains("a")}
    )
    assert run_plan(project, plan).code == 4
    file = project.folder / "report.txt"

    shown = project.yaoki("report").out
    written = project.yaoki("report", "-o", str(file))
    markdown = project.yaoki("report", "--format", "markdown").out

    assert written.code == 0
    for text in (shown, project.yaoki("report", "-o", "-").out, file.read_text()):
        quoted = [line.removeprefix("> ") for line in text.splitlines() if line.startswith("> ")]
        assert quoted == question.split("\n")
        assert "\\" not in text
    assert "> 2\\. keep it, \\*as is\\*" in markdown


def a_receipt(project: Project, name: str = "receipt.json") -> Path:
    file = project.folder / name
    done = project.yaoki("report", "--receipt", str(file))
    assert done.code == 0, done.err
    assert done.out.splitlines()[-1] == f"next: yaoki verify {file}"
    return file


def lines(done: Completed) -> dict[str, bool | None]:
    return {line["name"]: line["ok"] for line in done.document["lines"]}


@pytest.mark.spec("12.1", "0.1", "0.3", "9.6")
def test_a_receipt_is_verified_by_git_alone_even_in_a_bare_clone(project: Project) -> None:
    """Groups, a task without changes, an undone landing, the final check, a merge."""
    plan = a_plan(
        {n: [writes(f"{n}.txt")] for n in ("a", "b", "one", "two")} | {"idle": [["claim_done"]]},
        [
            {"id": "one", "checks": ["one"]},
            {
                "id": "pair",
                "kind": "group",
                "checks": ["a"],
                "needs": ["one"],
                "tasks": [{"id": n, "goal": f"Do {n}.", "checks": [n]} for n in "ab"],
            },
            {"id": "idle", "checks": ["one"], "needs": ["pair"], "may_change_nothing": True},
            {"id": "two", "checks": ["two"], "needs": ["idle"]},
        ],
        {n: file_contains(f"{n}.txt") for n in ("a", "b", "one", "two")},
        done_when=["a", "two"],
    )
    assert run_plan(project, plan).code == 0
    assert project.yaoki("undo", "two").code == 0
    assert project.yaoki("retry", "two", "Once more.").code == 0
    assert project.yaoki("resume", "--quiet").code == 0
    assert project.yaoki("merge", "--into", "kept").code == 0
    file = a_receipt(project)
    receipt = json.loads(file.read_text())
    how = {part["name"]: part["how"] for part in receipt["landed"]}
    assert (how["a"], how["pair"], how["idle"]) == ("IN_GROUP", "LANDED", "UNCHANGED")
    assert "UNDONE" in [step["what"] for step in receipt["line"]]

    here = project.yaoki("verify", str(file), "--json")
    clone = project.folder / "clone.git"
    project.git("clone", "-q", "--bare", ".", str(clone))
    subprocess.run(["git", "branch", "-qD", receipt["run_branch"]], cwd=clone, check=True)
    there = project.yaoki("verify", str(file), "--json", "--repo", str(clone), cwd=project.folder)
    named = project.yaoki("verify", str(file), "--ref", "kept")
    behind = project.yaoki("verify", str(file), "--ref", "main")

    assert (here.code, here.document["verified"]) == (0, True), here.out
    assert lines(here)["outputs"] is True
    assert (there.code, lines(there)["ref"], lines(there)["outputs"]) == (0, True, None), there.out
    assert not (clone / ".yaoki").exists(), "looking makes nothing"
    assert (named.code, behind.code) == (0, 1)
    assert "main does not contain" in behind.out
    # With plain commands, as the reference describes.
    body = b"".join(line for n, line in enumerate(file.read_bytes().splitlines(True)) if n != 1)
    assert hashlib.sha256(body).hexdigest() == receipt["digest"]
    chain = ("log", "--first-parent", "--reverse", "--format=%H %T")
    line = project.git(*chain, f"{receipt['base']['commit']}..{receipt['head']['commit']}")
    assert line.splitlines() == [f"{step['commit']} {step['tree']}" for step in receipt["line"]]


@pytest.mark.full
@pytest.mark.spec("12.1", "0.6")
def test_a_changed_receipt_branch_or_output_fails_verification_at_its_place(
    project: Project,
) -> None:
    """In a clone without its commits nothing is said of their trees; without the branch there is
    no receipt.
    """
    names = ("one", "two")
    plan = a_plan(
        {name: [writes(f"{name}.txt")] for name in names},
        [{"id": "one", "checks": ["one"]}, {"id": "two", "checks": ["two"], "needs": ["one"]}],
        {name: file_contains(f"{name}.txt") for name in names},
    )
    assert run_plan(project, plan).code == 0
    file = a_receipt(project)
    same = a_receipt(project, "again.json")
    assert file.read_bytes() == same.read_bytes(), "the same run, the same receipt"

    same.write_text(file.read_text().replace('"exit_code": 0', '"exit_code": 1'))
    changed = project.yaoki("verify", str(same))
    receipt = json.loads(file.read_text())
    branch, head = receipt["run_branch"], receipt["head"]["commit"]
    project.git("branch", "-f", branch, receipt["base"]["commit"])
    moved = project.yaoki("verify", str(file))
    project.git("branch", "-f", branch, head)
    output = next(o for c in receipt["landed"][0]["checks"] for o in c["outputs"])
    (project.repo / ".yaoki" / output["file"]).write_text("All good!\n")
    rewritten = project.yaoki("verify", str(file))
    none = project.yaoki("verify", project.plan(plan))
    missing = project.yaoki("verify", "nowhere.json")

    assert (changed.code, moved.code, rewritten.code, none.code) == (1, 1, 1, 1)
    assert "landed 1: one" in changed.out
    assert f"refs/heads/{branch} does not contain {head}" in moved.out
    assert output["file"] in rewritten.out
    assert "this is not a receipt" in none.out
    assert missing.code == 2
    assert_refused_without_commits(project, file, branch)
    assert_refused_without_branch(project, branch)


def assert_refused_without_commits(project: Project, file: Path, branch: str) -> None:
    """A shallow clone and another repository."""
    shallow, other = project.folder / "shallow", project.folder / "other"
    project.git("clone", "-q", "--depth", "1", "-b", branch, f"file://{project.repo}", str(shallow))
    project.git("init", "-q", str(other))

    part = project.yaoki("verify", str(file), "--json", "--repo", str(shallow), cwd=project.folder)
    none = project.yaoki("verify", str(file), "--json", "--repo", str(other), cwd=project.folder)
    advice = project.yaoki("verify", str(file), "--repo", str(shallow), cwd=project.folder)

    for done in (part, none):
        lines = {line["name"]: line["ok"] for line in done.document["lines"]}
        assert (done.code, lines["commits"], lines["trees"]) == (1, False, None)
    assert advice.out.splitlines()[-1] == "next: git fetch --unshallow"


def assert_refused_without_branch(project: Project, branch: str) -> None:
    project.git("branch", "-qD", branch)

    told_ = project.yaoki("report", "--json")
    refused = project.yaoki("report", "--receipt", str(project.folder / "r.json"))
    nowhere = project.yaoki("report", "-o", str(project.folder / "no" / "r.md"))
    unknown = project.yaoki("report", "zzzzzzzz")

    assert told_.code == 0, told_.err
    assert told_.document["receipt"] is None
    assert "is gone" in told_.document["warnings"][0]
    assert (refused.code, "is gone" in refused.err) == (6, True)
    assert not (project.folder / "r.json").exists()
    assert (nowhere.code, "mkdir -p" in nowhere.err) == (6, True)
    assert unknown.code == 6


MOVES = (
    f"git add -A && git {' '.join(GIT_IDENTITY)} commit -qm mine "
    "&& git update-ref refs/heads/main HEAD"
)


@pytest.mark.full
@pytest.mark.spec("0.6", "14.2", "3.5")
def test_the_end_of_a_run_lists_warnings_and_tasks_without_changes(project: Project) -> None:
    """One agent moves the user's branch, another changes no file."""
    (project.repo / ".gitignore").write_text("*.py\n")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "ignore")
    hidden = {"write": {"a.txt": "good\n", "hidden.py": "1\n"}}
    acts = {"a": [[hidden, {"run": ["sh", "-c", MOVES]}]], "idle": [[{"say": "all done"}]]}
    tasks: list[dict[str, Any]] = [
        {"id": "a"},
        {"id": "idle", "needs": ["a"], "may_change_nothing": True},
    ]

    done = project.yaoki(
        "run", project.plan(a_plan(acts, tasks, {"ok": {"shell": "test -f README"}})), "--quiet"
    )
    report = project.yaoki("report", "--format", "json").document
    markdown = project.yaoki("report").out
    page = project.yaoki("report", "--format", "html").out

    assert done.code == 0, done.err
    rows = {line.split()[0]: line for line in done.out.splitlines() if "attempt 1" in line}
    assert "nothing to change: its checks already pass" in rows["idle"]
    assert "nothing to change" not in rows["a"]
    assert {one["name"] for one in report["noticed"]["listed"]} == {"a"}
    told_ = [one["words"] for one in report["noticed"]["listed"]]
    assert any("changed while the agent was at work: HEAD" in one for one in told_), told_
    assert any("they will not land: hidden.py" in one for one in told_), told_
    flat = " ".join(done.out.split())
    for one in ("changed while the agent was at work: HEAD", "they will not land: hidden.py"):
        assert one in flat
        assert one in markdown
        assert one in page


@pytest.mark.spec("12.1", "14.4")
def test_a_task_that_still_runs_has_a_reason_in_the_list_of_what_did_not_land(
    project: Project,
) -> None:
    started, goes_on = project.folder / "started", project.folder / "goes-on"
    acts = [{"run": ["touch", str(started)]}, waits_for(goes_on), *writes("a.txt")]
    plan = a_plan({"a": [acts]}, [{"id": "a", "checks": ["a"]}], {"a": file_contains("a.txt")})
    run = project.start("run", project.plan(plan), "--quiet")
    wait_until(started.exists, "its agent works")

    text = project.yaoki("report").out
    goes_on.touch()
    assert run.wait(BOUND_S) == 0

    assert "| a | ACTIVE | still running, attempt 1 |" in text
