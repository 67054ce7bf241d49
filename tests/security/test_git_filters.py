"""Filters are started by yaoki's own git, on files that an agent wrote and in its folder."""

from __future__ import annotations

import pytest

from tests.acceptance.project import Project
from tests.acceptance.test_sandbox import needs_bubblewrap
from tests.security.attack import Attack
from tests.security.attack_runner import AttackRunner

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("16.10", "14.4")]
# A module of the tree, as a filter by `python -m` finds it; it also does what the filter is for.
STRIP = "import sys\nsys.stdout.write(sys.stdin.read().replace('secret', ''))\n"
EVIL = """\
import sys, pathlib
try: pathlib.Path({mark!r}).touch()
except OSError: pass
sys.stdout.write(sys.stdin.read().replace('secret', ''))
"""
PLANT = """\
git --git-dir=$REPO/.git config filter.evil.{key} 'touch '$MARK'; cat'
git --git-dir=$REPO/.git config filter.evil.required true
mkdir -p $REPO/.git/info; echo '* filter=evil' > $REPO/.git/info/attributes
"""


def with_filter(project: Project, **commands: str) -> None:
    for key, command in commands.items():
        project.git("config", f"filter.strip.{key}", command)
    (project.repo / "strip.py").write_text(STRIP)
    (project.repo / ".gitattributes").write_text("*.txt filter=strip\n")
    project.git("add", "-A")


@pytest.mark.full
@pytest.mark.spec("16.13", "14.3")
def test_a_git_filter_with_a_program_in_the_worktree_runs_in_the_sandbox(project: Project) -> None:
    needs_bubblewrap()
    attack_runner = AttackRunner(project)
    module = f"{project.python} -m strip"
    with_filter(project, clean=f"{module} 100%% %f", smudge=f"{module} %f")
    attack_runner.settings("on")
    evil = EVIL.format(mark=str(attack_runner.marks / "ran"))
    acts = f"cat > strip.py <<'END'\n{evil}END\necho secret > \"a 'name.txt\""

    after = attack_runner.run([Attack("filter", "", acts)])

    assert after.faults() == []
    assert (after.clone / "a 'name.txt").read_text() == "\n", "the filter did its work"


@pytest.mark.full
@pytest.mark.parametrize("key", ["clean", "process"])
def test_a_git_filter_added_by_an_agent_is_never_started(project: Project, key: str) -> None:
    attack_runner = AttackRunner(project)
    attack_runner.settings("off")

    after = attack_runner.run([Attack("planted", "", PLANT.format(key=key))])

    assert list(attack_runner.marks.iterdir()) == []
    assert not after.landed(after.attacks[0])
    assert "config" in after.reported(after.attacks[0], "question")


def test_a_git_filter_of_the_user_works_without_the_sandbox(project: Project) -> None:
    attack_runner = AttackRunner(project)
    with_filter(project, clean="sed s/secret//")
    attack_runner.settings("off")

    after = attack_runner.run([Attack("filter", "", "echo secret > b.txt")])

    assert after.false_landing(after.attacks[0]) == ""
    assert (after.clone / "b.txt").read_text() == "\n"
