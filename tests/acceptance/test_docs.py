"""The commands of the docs work as printed."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from tests.acceptance.docs_walkthrough import Walkthrough
from tests.acceptance.forked_cli import call_yaoki
from tests.acceptance.project import INSTALLED, Project, a_plan, file_contains, writes
from tests.acceptance.separate_environment import create_clone, create_python_with_pytest
from tests.documents import (
    ONLY_READING,
    PAGES,
    ROOT,
    TRANSLATIONS,
    Block,
    blocks,
    commands,
    mentions,
    name,
)
from tests.reference.event_descriptions import NOTE_DESCRIPTIONS
from yaoki.core.machine.codec import EVENT_CLASSES

# A page is a story of many commands.
pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(300)]
TASK = {"id": "one", "checks": ["a"], "retry": {"max_retries": 0}}
# tests/architecture holds a translation to the blocks of its original, which is walked through.
WALKED = tuple(
    page
    for page in sorted(ROOT.glob("docs/**/*.md"))
    if page not in TRANSLATIONS
    and any({"run", "serve"} & set(block.marks) for block in blocks(page.read_text()))
)


def test_the_pages_with_executable_steps_are_found() -> None:
    assert {name(page) for page in WALKED} >= {
        "docs/tutorial.md",
        "docs/guides/recovery.md",
        "docs/guides/writing-a-check.md",
        "docs/guides/writing-an-agent.md",
    }


@pytest.mark.full
@pytest.mark.spec("12.1")
@pytest.mark.parametrize("page", WALKED, ids=name)
def test_every_step_of_a_page_prints_what_the_page_shows(
    page: Path, tmp_path: Path, pycache: Path
) -> None:
    text = page.read_text(encoding="utf-8")

    walk = Walkthrough(tmp_path, pycache)
    kills = any("kill" in block.text for block in blocks(text) if "run" in block.marks)
    if INSTALLED not in os.environ and not kills:
        walk.fork_yaoki()

    assert walk.walk(text)
    assert events_of(walk) <= {*EVENT_CLASSES, *NOTE_DESCRIPTIONS}, (
        "docs/reference/events.md does not know them"
    )


def events_of(walk: Walkthrough) -> set[str]:
    """The names in the journal of the newest run, if there is one."""
    code, out, _ = call_yaoki(("trace", "--json"), walk.cwd, walk.env)
    return {entry["event"] for entry in json.loads(out).get("entries", [])} if code == 0 else set()


# ------------------------------------------------------------------ the quick start

QUICKSTART = ROOT / "docs" / "guides" / "quickstart.md"
AGENT = """\
#!/bin/sh
test "$1" = --yes || exit 9
line() { printf '%s\\n' "$@"; }
case "$YAOKI_TASK_NAME:$2" in
password:*)
    line 'def good(word):' '    return len(word) >= 12' > src/auth/rules.py
    line 'from src.auth.rules import good' '' '' 'def test_good():' '    assert not good("a")' \\
        > tests/auth/test_rules.py ;;
signup:*"Use the helper in auth/rules.py"*)
    line 'from src.auth.rules import good' '' '' 'def sign_up(word):' '    return good(word)' \\
        > src/signup.py ;;
signup:*) echo '{"status": "question", "question": "Which rule?"}' > "$YAOKI_RESULT" ;;
esac
"""
BEGIN = """\
git init -q -b main shop && cd shop
git config user.name t && git config user.email t@localhost
mkdir -p src/auth tests/auth
touch src/auth/__init__.py
printf 'def test_it_starts():\\n    assert True\\n' > tests/auth/test_start.py
git add -A && git commit -qm begin
chmod +x ~/bin/my-agent
"""
# Commands that do not end with 0 in this story, and why: a person is asked.
ENDS = {"yaoki run plan.yaml": 4}


@pytest.mark.full
@pytest.mark.spec("12.1", "2.1")
def test_the_quick_start_works_as_printed(tmp_path: Path, pycache: Path) -> None:
    """`my-agent` asks about sign-up first, so that there is something to answer.

    yaoki's own environment has no pytest, and the reader's has: the line for the PATH must keep
    the reader's `python` in front.
    """
    held = list(blocks(QUICKSTART.read_text(encoding="utf-8")))
    plan = next(block for block in held if block.language == "yaml")
    typed = next(block for block in held if "yaoki init" in block.text)
    exported = next(block for block in held if "export PATH" in block.text)
    walk = Walkthrough(tmp_path, pycache)
    create_python_with_pytest(walk.home / "bin")
    walk.env["PATH"] = f"{walk.home / 'bin'}:/usr/local/bin:/usr/bin:/bin"
    walk.env["PATH"] = walk.shell_output(
        f'{exported.text}printf %s "$PATH"', create_clone(tmp_path, pycache)
    )
    walk.save("~/bin/my-agent", AGENT)
    walk.run_block(Block("sh", (), BEGIN, 0), [])
    walk.save("plan.yaml", plan.text)

    for line in typed.text.splitlines():
        command = line.partition("  #")[0].strip()
        block = Block("sh", (f"exit={ENDS.get(command, 0)}",), command, typed.line)
        if command == "yaoki ui":
            walk.run_server_block(block, ["the page: http://127.0.0.1:…"])
        else:
            walk.run_block(block, [])

    walk.run_block(
        Block("sh", (), "python -m pytest -q -p no:cacheprovider\ncat src/signup.py", 0), []
    )


# ------------------------------------------------------------------ every page

# They change nothing, end by themselves and are quick; each with all the words that it needs.
LOOKS = (
    r"agents list",
    r"agents show codex",
    r"answer one",
    r"config show.*",
    r"dead",
    r"diff one.*",
    r"doctor.*",
    r"logs one.*",
    r"plan plan\.yaml",
    r"prompts list",
    r"prompts (show|test) test-failed",
    r"prune --dry-run",
    r"recover( one)?",
    r"report.*",
    r"schema (plan|status)",
    r"snapshots",
    r"stats( flaky| prompts)?",
    r"status.*",
    r"trace.*",
    r"validate plan\.yaml",
    r"why one.*",
)
# They write, wait, or name what this place does not have.
NOT_HERE = re.compile(
    r"-o |--receipt|--check |--follow|--attempt 2|--exit-code|--html|[A-Z]{2,}|[|<>$…\[\]]"
)
# Example names of the pages, and their replacements in the tests.
STANDS_FOR = {"TASK": "one", "NAME": "codex", "PATTERN": "test-failed", "PLAN": "plan.yaml"}
MADE_UP = {"signup", "slow", "goodbye", "shout", "rehearsal", "ft1", "hello"}


def read_only_commands() -> list[tuple[str, ...]]:
    """The read-only commands that pages contain."""
    named = {**STANDS_FOR, **dict.fromkeys(MADE_UP, "one")}
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    found = {
        tuple(named.get(word, word) for word in words)
        for text in texts
        for _, words in (*commands(text), *mentions(text))
    }
    return sorted(words for words in found if _may_be_tried(" ".join(words)))


def _may_be_tried(line: str) -> bool:
    return any(re.fullmatch(look, line) for look in LOOKS) and not NOT_HERE.search(line)


@pytest.mark.spec("12.1")
def test_every_command_that_only_reads_is_tried_as_the_docs_print_it() -> None:
    assert {re.split(r"\W", look)[0] for look in LOOKS} >= ONLY_READING


@pytest.mark.spec("12.1")
def test_every_read_only_command_of_the_docs_works(project: Project) -> None:
    """Those that change something are walked through, or parsed in tests/architecture."""
    plan = a_plan({"one": [writes("a.txt", "bad\n")]}, [TASK], {"a": file_contains("a.txt")})
    (project.repo / "plan.yaml").write_text(json.dumps(plan))
    assert project.yaoki("run", "plan.yaml").code == 4

    tried = {words: project.query(*words) for words in read_only_commands()}

    failed = {" ".join(words): done for words, done in tried.items() if done.code != 0}
    assert len(tried) > 20
    assert not failed, failed


@pytest.mark.spec("2.2")
def test_the_plan_for_build_servers_is_valid(project: Project) -> None:
    done = project.query("validate", str(ROOT / "docs" / "examples" / "nightly.yaml"))

    assert done.code == 0, done.err
