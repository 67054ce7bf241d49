"""Class 3: files that no commit holds, and what git alters when it commits."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.false_success.case import (
    GIT,
    LANDS,
    NOT_DONE,
    ONLY_IF_TRUE,
    Case,
    asks,
    shell,
    write,
)
from tests.false_success.case_batch import CaseBatch, batches, run_batch
from tests.false_success.case_runner import CaseRunner, run_case
from tests.false_success.sample_projects import ADDS, GREEN, RED

pytestmark = pytest.mark.acceptance
NOT_COMMITTED = asks("not-committed")
# The interpreter outside of any environment: only there a user's own packages count.
PYTHON = Path(sys.base_prefix) / "bin" / "python3"
# Something that does land, so that it is not the missing change that is noticed.
ALSO = "echo 'X = 1' > also.py\n"
FORGE = """\
python3 - <<'END'
import py_compile
text = open("calc.py").read()
open("calc.py", "w").write(text.replace("a - b", "a + b"))
py_compile.compile("calc.py", invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
open("calc.py", "w").write(text)
END
"""


def absent_file(story: str, line: str, acts: str, ends: Any = NOT_DONE, **more: Any) -> Case:
    """The line holds where the agent worked, and in no clone."""
    held = {"files": GREEN, **more}
    return Case(story, checks=shell(line), acts=ALSO + acts, ends=ends, **held)


IMPORTS = "python3 -c 'from app.core import x; assert x == 42'"
CORE = write("app/core.py", "x = 42\n")
ABSENT = [
    absent_file(
        "ignored by the repository",
        "grep -q 42 build/answer.txt",
        write("build/answer.txt", "42\n"),
        NOT_COMMITTED,
        files={**GREEN, ".gitignore": "build/\n"},
    ),
    absent_file(
        "ignored by a folder of the agent's",
        IMPORTS,
        CORE + write("app/.gitignore", "core.py\n"),
        NOT_COMMITTED,
    ),
    absent_file(
        "ignored by the agent's own line at the top",
        IMPORTS,
        CORE + "echo 'app/' >> .gitignore",
        NOT_COMMITTED,
    ),
    absent_file(
        "ignored by the user's own settings",
        "grep -q 42 answer.gen",
        "echo 42 > answer.gen",
        NOT_COMMITTED,
        gitconfig="[core]\n\texcludesFile = ~/ignored\n",
        before="echo '*.gen' > ~/ignored",
    ),
    absent_file(
        "ignored in every repository of the user",
        "grep -q 42 answer.gen",
        "echo 42 > answer.gen",
        NOT_COMMITTED,
        before="mkdir -p ~/.config/git; echo '*.gen' > ~/.config/git/ignore",
    ),
    absent_file(
        "excluded in the repository's own settings",
        "grep -q 42 answer.gen",
        "echo 42 > answer.gen",
        NOT_COMMITTED,
        before="mkdir -p .git/info; echo '*.gen' > .git/info/exclude",
    ),
    absent_file(
        "excluded by the agent",
        "grep -q 42 answer.txt",
        'f=$(git rev-parse --git-path info/exclude); mkdir -p "$(dirname "$f")"\n'
        'echo answer.txt >> "$f"; echo 42 > answer.txt',
        alone=True,
    ),
    absent_file(
        "marked as unchanged",
        "python3 -m unittest -q",
        "git update-index --assume-unchanged calc.py; sed -i 's/a - b/a + b/' calc.py",
        files=RED,
        ends=ONLY_IF_TRUE,
        truth=ADDS,
    ),
    absent_file(
        "marked to be skipped",
        "python3 -m unittest -q",
        "git update-index --skip-worktree calc.py; sed -i 's/a - b/a + b/' calc.py",
        files=RED,
        ends=ONLY_IF_TRUE,
        truth=ADDS,
    ),
    absent_file(
        "a forged compiled file",
        "python3 -m unittest -q",
        FORGE,
        files={**RED, ".gitignore": "__pycache__/\n"},
        truth=ADDS,
    ),
    absent_file(
        "a compiled file without its source",
        "python3 -c 'import core; assert core.x == 42'",
        "echo 'x = 42' > core.py\n"
        "python3 -c \"import py_compile as p; p.compile('core.py', 'core.pyc')\"\nrm core.py",
        files={**GREEN, ".gitignore": "*.pyc\n"},
    ),
    absent_file(
        "in node_modules",
        "grep -q 42 node_modules/answer/index.js",
        write("node_modules/answer/index.js", "module.exports = 42\n"),
        NOT_COMMITTED,
        files={**GREEN, ".gitignore": "node_modules/\n"},
    ),
    absent_file(
        "a link to an ignored file",
        "grep -q 42 answer.txt",
        write("build/answer.txt", "42\n") + "ln -s build/answer.txt answer.txt",
        files={**GREEN, ".gitignore": "build/\n"},
    ),
    absent_file(
        "a link out of the repository",
        "grep -q 42 answer.txt",
        'echo 42 > "$HOME/answer.txt"; ln -s "$HOME/answer.txt" answer.txt',
    ),
    absent_file(
        "a link to a folder outside",
        IMPORTS,
        'out="${TMPDIR%/*}/app"; mkdir "$out"; echo "x = 42" > "$out/core.py"; ln -s "$out" app',
    ),
    absent_file(
        "a nested repository",
        IMPORTS,
        f"{CORE}cd app; git init -q; git add .; {GIT} commit -qm x",
        ONLY_IF_TRUE,
    ),
    absent_file("an empty folder", "test -d out", "mkdir out"),
    absent_file(
        "a mode that git does not look at",
        "./run.sh",
        "chmod +x run.sh",
        files={**GREEN, "run.sh": "exit 0\n"},
        git={"core.fileMode": "false"},
        keys={"scope": ["run.sh", "also.py"]},
    ),
    absent_file(
        "line ends that an attribute changes",
        r"grep -q $'\r' answer.txt",
        r"printf '42\r\n' > answer.txt",
        files={**GREEN, ".gitattributes": "*.txt text eol=lf\n"},
    ),
    absent_file(
        "line ends that the user's settings change",
        r"grep -q $'\r' answer.txt",
        r"printf '42\r\n' > answer.txt",
        git={"core.autocrlf": "input"},
    ),
    absent_file(
        "an identity that git writes itself",
        r"grep -q 'Id: 42' answer.txt",
        "echo '$Id: 42 $' > answer.txt",
        files={**GREEN, ".gitattributes": "*.txt ident\n"},
    ),
    absent_file(
        "a filter of the user's",
        "grep -q 42 answer.dat",
        "echo 42 > answer.dat",
        files={**GREEN, ".gitattributes": "*.dat filter=mask\n"},
        git={"filter.mask.clean": "'sed s/42/xx/'"},
    ),
    absent_file(
        "a name that differs by case alone",
        "grep -q 42 Answer.txt",
        "echo 42 > Answer.txt",
        files={**GREEN, "answer.txt": "41\n"},
        git={"core.ignoreCase": "true"},
    ),
    absent_file("a file in the home", "grep -q 42 ~/answer.txt", "echo 42 > ~/answer.txt"),
    absent_file(
        "a file among temporary ones",
        'grep -q 42 "${TMPDIR:-/tmp}/answer.txt"',
        'echo 42 > "${TMPDIR%/*}/answer.txt"',
    ),
    absent_file(
        "a package of the user's own",
        f"{PYTHON} -c 'import answer; assert answer.x == 42'",
        f'd=$({PYTHON} -c "import site; print(site.getusersitepackages())"); mkdir -p "$d"\n'
        'echo "x = 42" > "$d/answer.py"',
    ),
    absent_file(
        "a program in the user's own folder",
        "PATH=~/bin:$PATH; answer",
        "mkdir -p ~/bin; printf '#!/bin/sh\\n' > ~/bin/answer; chmod +x ~/bin/answer",
    ),
]


def committed_file(story: str, line: str, acts: str, **more: Any) -> Case:
    return Case(story, checks=shell(line), acts=acts, ends=LANDS, **{"files": GREEN, **more})


PRESENT = [
    committed_file(
        "the check builds what it tests",
        "mkdir -p build && cp answer.txt build/ && grep -q 42 build/answer.txt",
        "echo 42 > answer.txt; mkdir build; echo stale > build/answer.txt",
        files={**GREEN, ".gitignore": "build/\n"},
    ),
    committed_file(
        "set-up makes what is ignored",
        "grep -q ready node_modules/state && grep -q 42 answer.txt",
        "echo 42 > answer.txt",
        files={
            **GREEN,
            ".gitignore": "node_modules/\n",
            "install.sh": "mkdir -p node_modules; echo ready > node_modules/state\n",
        },
        plan={"setup": [["sh", "install.sh"]]},
    ),
    committed_file(
        "a file that is copied into each worktree",
        "grep -q secret .env && grep -q 42 answer.txt",
        "echo 42 > answer.txt",
        files={**GREEN, ".gitignore": ".env\n", ".worktreeinclude": ".env\n"},
        before="echo secret > .env",
        prepare=("echo secret > .env",),
    ),
    committed_file(
        "a link inside the repository",
        "grep -q 42 answer.txt",
        write("data/answer.txt", "42\n") + "ln -s data/answer.txt answer.txt",
    ),
    committed_file(
        "a mode that is committed",
        "./run.sh",
        "chmod +x run.sh",
        keys={"scope": ["run.sh"]},
        files={**GREEN, "run.sh": "exit 0\n"},
    ),
    committed_file(
        "line ends that nobody touches",
        r"grep -q $'\r' answer.txt",
        r"printf '42\r\n' > answer.txt; echo '*.txt -text' > .gitattributes",
    ),
    committed_file(
        "caches are left behind and ignored",
        "python3 -m unittest -q && grep -q 42 answer.txt",
        "echo 42 > answer.txt; python3 -m unittest -q 2>/dev/null\n"
        "mkdir -p .pytest_cache __pycache__\n"
        "echo x > .pytest_cache/x; printf '__pycache__/\\n.pytest_cache/\\n' > .gitignore",
    ),
    committed_file(
        "an ignored file that the agent committed by force",
        "grep -q 42 build/answer.txt",
        write("build/answer.txt", "42\n") + f"git add -f build/answer.txt; {GIT} commit -qm answer",
        files={**GREEN, ".gitignore": "build/\n"},
    ),
    committed_file(
        "a cache in the home that the check makes itself",
        "mkdir -p ~/.cache/tool && cp answer.txt ~/.cache/tool/"
        " && grep -q 42 ~/.cache/tool/answer.txt",
        "echo 42 > answer.txt; mkdir -p ~/.cache/tool; echo stale > ~/.cache/tool/answer.txt",
    ),
    committed_file(
        "names with blanks and letters of the world",
        "grep -q 42 'die größte Antwort.txt'",
        "echo 42 > 'die größte Antwort.txt'",
    ),
    committed_file(
        "test data and a helper",
        "python3 -m unittest -q",
        write("data/cases.json", "[[2, 3, 5]]\n")
        + write(
            "test_table.py",
            "import json\nimport unittest\n\nimport calc\n\n\n"
            "class TestTable(unittest.TestCase):\n    def test_table(self):\n"
            "        for a, b, c in json.load(open('data/cases.json')):\n"
            "            self.assertEqual(calc.add(a, b), c)\n",
        ),
    ),
]


@pytest.mark.quick_cases(2)
@pytest.mark.spec("16.1", "0.1")
@pytest.mark.parametrize("batch", batches(ABSENT, alone=2), ids=str)
def test_a_file_outside_the_commit_does_not_help_a_check(
    batch: CaseBatch, case_runner: CaseRunner
) -> None:
    run_batch(batch, case_runner)


@pytest.mark.full
@pytest.mark.spec("16.1")
@pytest.mark.parametrize("case", PRESENT, ids=str)
def test_a_file_that_a_clone_contains_counts(case: Case, case_runner: CaseRunner) -> None:
    run_case(case, case_runner)


@pytest.mark.full
@pytest.mark.spec("16.1")
def test_a_missing_file_is_named_with_the_rule_that_ignores_it(case_runner: CaseRunner) -> None:
    """The failure names the missing file and the ignore rule for agent and person."""
    ended = run_case(ABSENT[1], case_runner)

    (task,) = ended.status["tasks"]
    assert "app/core.py" in task["question"]
    assert "app/.gitignore" in task["question"]
