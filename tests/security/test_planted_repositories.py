"""A tracked folder that is itself a git folder: git would use its settings, yaoki does not.

Such a folder is committed like any other; a command in it, or with a file there, would
otherwise use another repository with untrusted settings and index.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.security.untrusted_clone import UntrustedClone

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("16.12")]

CONFIG = """\
[core]
	repositoryformatversion = 0
	bare = false
	worktree = ".."
	fsmonitor = "touch {mark}; false"
[filter "planted"]
	clean = touch {mark}; cat
	smudge = touch {mark}; cat
"""


@pytest.fixture
def clone(tmp_path: Path, pycache: Path) -> UntrustedClone:
    """`lib` is a git folder with a separate history and no tracked files."""
    held = UntrustedClone(tmp_path, pycache)
    held.create(store=False, settings=False)
    lib = held.repo / "lib"
    shutil.copytree(held.repo / ".git", lib, ignore=shutil.ignore_patterns("hooks", "index"))
    (lib / "config").write_text(CONFIG.format(mark=held.mark("planted")))
    (lib / "refs" / "kept").touch()
    held.write("lib/plan.json", json.dumps(held.a_plan()))
    held.write(".gitattributes", "* filter=planted\n")
    held.git("add", "-A", "-f")
    held.commit("a library")
    return held


def test_a_plan_in_a_planted_repository_needs_trust(clone: UntrustedClone) -> None:
    done = clone.yaoki("run", "lib/plan.json")

    assert (done.code, clone.marks) == (6, set()), done
    assert "yaoki trust --plan lib/plan.json" in done.err


@pytest.mark.parametrize("words", [("status",), ("run", "../../own.json"), ("init",)], ids=str)
def test_a_planted_repository_is_refused_as_the_working_folder(
    clone: UntrustedClone, words: tuple[str, ...]
) -> None:
    (clone.folder / "own.json").write_text(json.dumps(clone.a_plan()))

    done = clone.yaoki("--repo", str(clone.repo / "lib"), *words)

    assert (done.code, clone.marks) == (2, set()), done
    assert "lib is a git folder without working files" in done.err
    assert "cd " in done.err


def test_a_tracked_plan_named_like_a_git_pattern_needs_trust(clone: UntrustedClone) -> None:
    clone.write(":(literal)other.json", json.dumps(clone.a_plan()))
    clone.git("add", "-A")
    clone.commit("a name")

    done = clone.yaoki("run", ":(literal)other.json")

    assert (done.code, clone.marks) == (6, set()), done
