"""Output of the command line: quick help, JSON documents, and the live table."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import BOUND_S, Project, a_plan, file_contains, waits_for, writes
from tests.documents import ONLY_READING
from yaoki.faces.cli.table import COMMANDS
from yaoki.faces.text import errors

pytestmark = pytest.mark.acceptance
DOCS = Path(__file__).parents[2] / "docs" / "reference"
LISTS_MODULES = """
import sys
from yaoki.faces.cli.main import main
main(["--help"])
print(sorted(sys.modules), file=sys.stderr)
"""


@pytest.mark.spec("12.1")
def test_help_imports_nothing_heavy(project: Project) -> None:
    done = subprocess.run(
        (sys.executable, "-c", LISTS_MODULES),
        env=project.env,
        capture_output=True,
        text=True,
        check=True,
    )

    modules = {name.partition("'")[0] for name in done.stderr.split("'")[1::2]}
    heavy = {"click", "pydantic", "yaml", "rich", "sqlite3", "yaoki.app", "yaoki.adapters"}
    assert "yaoki.faces.cli.table" in modules
    assert modules.isdisjoint(heavy)
    assert all(name in done.stdout for name in COMMANDS)


@pytest.mark.spec("12.1")
@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "demo"])
def test_every_command_exists_and_is_documented(name: str) -> None:
    from click.testing import CliRunner

    from yaoki.faces.cli.group import group

    shown = CliRunner().invoke(group, [name, "--help"])

    assert shown.exit_code == 0, shown.output
    assert f"\n## `yaoki {name}" in (DOCS / "cli.md").read_text()
    for option in _options(shown.output):
        assert option in (DOCS / "cli.md").read_text(), f"{option} of {name} is not documented"


def _options(text: str) -> set[str]:
    words = (word.strip(",") for line in text.splitlines() for word in line.split()[:3])
    return {word for word in words if word.startswith("--") and word not in {"--help", "--repo"}}


@pytest.mark.spec("12.1", "2.1", "10.2", "1.5")
def test_every_listing_is_one_document_with_its_version(project: Project) -> None:
    plan = project.plan(
        a_plan(
            {"one": [writes("a.txt")], "two": [writes("b.txt", "bad\n")]},
            [
                {"id": "one", "checks": ["a"]},
                {"id": "two", "checks": ["b"], "retry": {"max_retries": 0}},
            ],
            {"a": file_contains("a.txt"), "b": file_contains("b.txt")},
        )
    )
    run = project.yaoki("run", plan, "--json")
    calls = [
        ("status",), ("status", "--all"), ("why", "one"), ("why", "two"), ("trace",),
        ("trace", "one"), ("logs", "one"), ("logs", "one", "--prompt"), ("diff", "one"),
        ("diff", "two", "--stat"), ("answer", "two"), ("recover",), ("snapshots",),
        ("validate", plan), ("plan", plan), ("config", "show"), ("doctor",), ("init",),
            ("stats",), ("stats", "prompts"), ("report",),
    ]  # fmt: skip
    assert {words[0] for words in calls} >= ONLY_READING

    documents = {words: project.yaoki(*words, "--json") for words in calls}

    assert run.code == 4
    assert run.document["schema"] == 1
    for words, done in documents.items():
        assert done.code == 0, f"{words}: {done.err}"
        assert done.document["schema"] == 1, words
    status = documents[("status",)].document
    assert _keys(status) == _keys(_documented_status()), "docs/reference/json.md"
    fields = {
        _row_name(words): set(done.document) - {"schema"} for words, done in documents.items()
    }
    listed = _documented_fields()
    assert {name: fields[name] for name in fields if name in listed} == {
        name: listed[name] for name in listed if name in fields
    }
    assert len(set(fields) & set(listed)) >= 10
    _fits(_documented_status(), json.loads(project.yaoki("schema", "status").out))
    _fits(status, json.loads(project.yaoki("schema", "status").out))
    assert json.loads(project.yaoki("schema", "plan").out)["title"] == "yaoki plan"
    events = {e["event"] for e in documents[("trace",)].document["entries"]}
    assert {"USER_REQUEST", "TASK_LANDED", "ESCALATE_DECISION", "TASK_BLOCKED"} <= events
    assert "+good" in documents[("diff", "one")].document["diff"]
    assert project.yaoki("status", "--exit-code").code == 4
    assert project.yaoki("watch").code == 4


def _keys(status: dict[str, Any]) -> list[object]:
    return [*status, *status["counts"], *status["tasks"][0]]


def _documented_status() -> dict[str, Any]:
    text = (DOCS / "json.md").read_text(encoding="utf-8")
    example: dict[str, Any] = json.loads(text.partition("```json\n")[2].partition("```")[0])
    return example


def _documented_fields() -> dict[str, set[str]]:
    """The fields that a document always has, by command; what follows `;` is sometimes there."""
    text = (DOCS / "json.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[^|]+) \| ((?:`\w+`).*) \|$", text, re.MULTILINE)
    return {
        words: set(re.findall(r"`(\w+)`", re.sub(r"\([^()]*\)", "", fields).partition(";")[0]))
        for names, fields in rows
        for words in re.findall(r"`([^`]+)`", names)
    }


def _row_name(words: tuple[str, ...]) -> str:
    """As the table has it: `why TASK` for `why one`."""
    placeholders = {"one": "TASK", "two": "TASK"}
    return " ".join(
        "PLAN" if "/" in word or "." in word else placeholders.get(word, word) for word in words
    )


def _fits(held: Any, shape: dict[str, Any]) -> None:
    """As much of a schema's meaning as our own uses."""
    if "enum" in shape:
        assert held in shape["enum"]
    if "const" in shape:
        assert held == shape["const"]
    names = shape.get("type", [])
    kinds: dict[str, Any] = {
        "string": str,
        "integer": int,
        "number": int | float,
        "boolean": bool,
        "object": dict,
        "array": list,
    }
    if names:
        wanted = [names] if isinstance(names, str) else names
        assert any(held is None if n == "null" else isinstance(held, kinds[n]) for n in wanted)
    if isinstance(held, dict) and "properties" in shape:
        assert set(held) == set(shape["properties"]) == set(shape["required"])
        for name, inner in shape["properties"].items():
            _fits(held[name], inner)
    if isinstance(held, list) and "items" in shape:
        for item in held:
            _fits(item, shape["items"])


@pytest.mark.full
@pytest.mark.spec("12.4", "12.1")
def test_a_terminal_shows_a_live_table_ends_with_the_report_and_has_colours_unless_no_color(
    project: Project, tmp_path: Path
) -> None:
    """Agent and check of `slow` continue once they were shown.

    `bad` has asked before: behind `slow` in the merge queue it would wait for that check.
    """
    work, proof = tmp_path / "work", tmp_path / "proof"
    looks = waits_for(proof)["run"][-1]
    plan = a_plan(
        {"bad": [writes("b.txt", "bad\n")], "slow": [[waits_for(work), *writes("a.txt")]]},
        [
            {"id": "bad", "checks": ["b"], "retry": {"max_retries": 0}},
            {"id": "slow", "checks": ["a"]},
        ],
        {"a": {"shell": f"test -e a.txt || exit 1; {looks}"}, "b": file_contains("b.txt")},
    )
    cues = {work: ("agent actor", "yaoki answer"), proof: ("check a",)}

    code, shown = _on_a_terminal(project, "run", project.plan(plan), cues=cues)

    assert code == 4
    assert "\x1b[?25l" in shown, "the table is drawn in place"
    assert "check a" in shown
    assert "agent actor" in shown
    table = shown[: shown.rindex("\x1b[?25h")]
    last = table[table.rindex("run ") :]
    assert last.index("yaoki answer") < last.index("slow"), "who asks stands first"
    report = shown[shown.rindex("\x1b[?25h") :]
    assert "needs you: bad" in report
    coloured = _on_a_terminal(project, "status")[1]
    project.env["NO_COLOR"] = "1"
    bare = _on_a_terminal(project, "status")[1]
    assert "\x1b[32m" in coloured, "the task that landed"
    assert "\x1b" not in bare


@pytest.mark.spec("12.1", "14.2")
def test_an_internal_error_goes_to_a_file_without_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SOME_TOKEN", "hunter2hunter2")
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".yaoki").mkdir()

    code = errors.report_internal_error(KeyError("hunter2hunter2"), as_json=True, args=["status"])

    shown = capsys.readouterr()
    log = (tmp_path / ".yaoki" / "internal-errors.log").read_text()
    assert code == 1
    assert shown.err.startswith("yaoki: internal error: KeyError")
    assert str(tmp_path / ".yaoki") in shown.err
    assert json.loads(shown.out)["error"]["exit_code"] == 1
    assert "KeyError" in log
    assert "hunter2" not in log + shown.err + shown.out


@pytest.mark.spec("12.1")
def test_yaoki_without_arguments_shows_the_help(project: Project) -> None:
    done = project.yaoki()

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Usage: yaoki ")


def _on_a_terminal(
    project: Project, *words: str, cues: Mapping[Path, Sequence[str]] | None = None
) -> tuple[int, str]:
    """Run the program on a pseudo-terminal; returns its exit code and output.

    Each file of `cues` is created as soon as all of its words were shown.
    """
    ours, theirs = pty.openpty()
    env = {**project.env, "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "30"}
    process = subprocess.Popen(
        (sys.executable, "-m", "yaoki", *words),
        cwd=project.repo, env=env, stdin=theirs, stdout=theirs, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    parts: list[bytes] = []
    while process.poll() is None or select.select([ours], [], [], 0)[0]:
        if select.select([ours], [], [], 0.1)[0]:
            try:
                parts.append(os.read(ours, 65536))
            except OSError:  # Linux says so when the other side is closed
                break
            for file, shown in (cues or {}).items():
                if all(word.encode() in b"".join(parts) for word in shown):
                    file.touch()
    os.close(ours)
    return process.wait(timeout=BOUND_S), b"".join(parts).decode()
