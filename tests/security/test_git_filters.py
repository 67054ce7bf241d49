"""Filters are started by yaoki's own git, on files that an agent wrote and in its folder."""

from __future__ import annotations

import pytest

from tests.acceptance.project import Place
from tests.acceptance.test_sandbox import needs_bubblewrap
from tests.security.attack import Attack
from tests.security.attack_runner import Arena

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


def with_filter(place: Place, **commands: str) -> None:
    for key, command in commands.items():
        place.git("config", f"filter.strip.{key}", command)
    (place.repo / "strip.py").write_text(STRIP)
    (place.repo / ".gitattributes").write_text("*.txt filter=strip\n")
    place.git("add", "-A")


@pytest.mark.full
@pytest.mark.spec("16.13", "14.3")
def test_a_git_filter_with_a_program_in_the_worktree_runs_in_the_sandbox(place: Place) -> None:
    needs_bubblewrap()
    arena = Arena(place)
    module = f"{place.python} -m strip"
    with_filter(place, clean=f"{module} 100%% %f", smudge=f"{module} %f")
    arena.settings("on")
    evil = EVIL.format(mark=str(arena.marks / "ran"))
    acts = f"cat > strip.py <<'END'\n{evil}END\necho secret > \"a 'name.txt\""

    after = arena.carry([Attack("filter", "", acts)])

    assert after.faults() == []
    assert (after.clone / "a 'name.txt").read_text() == "\n", "the filter did its work"


@pytest.mark.full
@pytest.mark.parametrize("key", ["clean", "process"])
def test_a_git_filter_added_by_an_agent_is_never_started(place: Place, key: str) -> None:
    arena = Arena(place)
    arena.settings("off")

    after = arena.carry([Attack("planted", "", PLANT.format(key=key))])

    assert list(arena.marks.iterdir()) == []
    assert not after.landed(after.attacks[0])
    assert "config" in after.told(after.attacks[0], "question")


def test_a_git_filter_of_the_user_works_without_the_sandbox(place: Place) -> None:
    arena = Arena(place)
    with_filter(place, clean="sed s/secret//")
    arena.settings("off")

    after = arena.carry([Attack("filter", "", "echo secret > b.txt")])

    assert after.false(after.attacks[0]) == ""
    assert (after.clone / "b.txt").read_text() == "\n"
