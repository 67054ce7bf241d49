"""An agent in the sandbox commits, to a repository of its own; yaoki takes the work from there."""

from __future__ import annotations

import pytest

from tests.acceptance.project import WHO, Place
from tests.acceptance.test_sandbox import a_plan, needs_bubblewrap, said, settings

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("16.13")]


@pytest.fixture
def inside(place: Place) -> Place:
    needs_bubblewrap()
    settings(place, mode="on")
    return place


def subjects(place: Place, *which: str) -> list[str]:
    return place.git("log", "--format=%s", *which).splitlines()


def refs(place: Place) -> str:
    """All but those of yaoki."""
    rows = place.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    return "\n".join(row for row in rows if "yaoki/" not in row)


def branch(place: Place) -> str:
    return str(place.status()["run_branch"])


COMMITS = """\
git config user.name Agent && git config user.email agent@example.org
echo good > a.txt && git add a.txt && git commit -qm 'mine: the whole of it' && echo COMMITTED
git status --porcelain && git log --oneline -3 && git diff HEAD~1 --stat
"""


def test_commits_of_a_sandboxed_agent_land(inside: Place) -> None:
    before = refs(inside)

    assert inside.yaoki("run", a_plan(inside, COMMITS), "--quiet").code == 0

    assert "COMMITTED" in said(inside)
    assert "mine: the whole of it" in subjects(inside, "--all")
    assert inside.show(branch(inside), "a.txt") == "good"
    assert refs(inside) == before
    assert inside.git("fsck", "--strict") == ""


LEAVES = """\
echo one > b.txt && git add b.txt && git commit -qm 'reset away' && git reset -q --hard HEAD~1
echo two > c.txt && git add c.txt && git stash -q && echo DID-BOTH
"""


@pytest.mark.spec("0.2", "16.2")
def test_reset_commits_and_stashes_of_a_sandboxed_agent_are_saved(inside: Place) -> None:
    assert inside.yaoki("run", a_plan(inside, LEAVES), "--quiet").code == 0

    assert "DID-BOTH" in said(inside)
    kept = subjects(inside, "--all")
    assert "reset away" in kept
    assert any(subject.startswith(("On ", "WIP on ")) for subject in kept), kept
    assert inside.git("stash", "list") == ""


REACHES = """\
echo good > a.txt && git add a.txt && git commit -qm work
git tag v1 || echo NO-TAG
git branch other || echo NO-BRANCH
git switch -c another || echo NO-SWITCH
git push {remote} HEAD:refs/heads/stolen || echo NO-PUSH
git update-ref refs/heads/{base} HEAD || echo NO-MOVE
"""


@pytest.mark.full
def test_tags_branches_and_pushes_of_a_sandboxed_agent_are_refused_and_counted(
    inside: Place,
) -> None:
    base = inside.git("symbolic-ref", "--short", "HEAD").strip()
    before = refs(inside)

    script = REACHES.format(remote=inside.repo, base=base)
    assert inside.yaoki("run", a_plan(inside, script), "--quiet").code == 0

    words = said(inside)
    for refused in ("NO-TAG", "NO-BRANCH", "NO-SWITCH", "NO-PUSH", "NO-MOVE"):
        assert refused in words, words
    assert "commit on the branch that you are on" in words
    assert refs(inside) == before
    report = inside.yaoki("report").out
    assert "the sandbox refused 5 acts" in report
    assert "tag v1" in report


REMOTES = {
    "that would take it": "{bare}",
    "that nobody reaches": "ssh://git@localhost:1/x.git",
    "with an escaped name": "https://me%40corp@localhost:1/x.git",
    "that the user writes otherwise": "own:x.git",
}


@pytest.mark.full
@pytest.mark.parametrize("where", REMOTES)
def test_a_push_of_a_sandboxed_agent_is_refused_even_without_hooks(
    place: Place, where: str
) -> None:
    """A hook is asked only when the other side has answered, and `--no-verify` skips it."""
    needs_bubblewrap()
    bare = place.folder / "taking" / "origin.git"
    place.git("init", "-q", "--bare", str(bare))
    settings(place, mode="on", writable=[str(bare.parent)])
    place.git("remote", "add", "origin", REMOTES[where].format(bare=bare))
    place.git("config", f"url.{bare.parent}/.pushInsteadOf", "own:")
    pushes = ("--no-verify origin HEAD", "--force origin HEAD", "--no-verify --mirror origin")
    script = "\n".join(f"git push {how} && echo PUSHED" for how in pushes)

    assert place.yaoki("run", a_plan(place, script), "--quiet").code == 0

    words = said(place)
    assert "PUSHED" not in words
    assert words.count("yaoki: nothing is pushed from here: origin is refused.") == len(pushes)
    assert "yaoki: commit on the branch that you are on" in words
    assert "access rights" not in words, "there are none to look for"
    assert not list((bare / "refs" / "heads").iterdir())
    assert "the sandbox refused 3 acts of the agent: push to origin" in place.yaoki("report").out


POISONS = {
    "head": 'echo "ref: ../../../etc/passwd" > "$G/HEAD"',
    "no head": 'rm "$G/HEAD"',
    "no objects": 'rm -rf "$G/objects"; ln -s / "$G/objects"',
    "pipe for a head": 'rm "$G/HEAD"; mkfifo "$G/HEAD"',
    "garbage": 'head -c 4000 /dev/urandom > "$G/objects/pack/pack-1.pack"; '
    'cp "$G/objects/pack/pack-1.pack" "$G/objects/pack/pack-1.idx"',
    "settings": 'git config core.fsmonitor "touch {mark}"; git config core.alternateRefsCommand '
    '"touch {mark}"; git config core.sshCommand "touch {mark}"; git config '
    'extensions.partialClone evil; git config remote.evil.url "ext::touch {mark}"; '
    "git config remote.evil.promisor true; git config protocol.ext.allow always",
    "broken commit": "git update-ref --no-deref HEAD $(printf 'tree %040d\\n' 7 | "
    "git hash-object -t commit -w --literally --stdin)",
    "nothing": 'rm -rf "$G"/*',
}


@pytest.mark.full
@pytest.mark.parametrize("how", POISONS)
def test_a_manipulated_repository_of_a_sandboxed_agent_starts_no_program_and_loses_no_file(
    inside: Place, how: str
) -> None:
    mark = inside.folder / "ran-outside"
    poison = POISONS[how].replace("{mark}", str(mark))
    script = f"echo x > b.txt; G=$(git rev-parse --absolute-git-dir)\n{poison}"

    assert inside.yaoki("run", a_plan(inside, script), "--quiet").code == 0

    assert not mark.exists()
    assert inside.show(branch(inside), "a.txt") == "good"
    assert inside.show(branch(inside), "b.txt") == "x"
    assert inside.git("fsck", "--strict") == ""


@pytest.mark.full
@pytest.mark.parametrize("where", ["usual", "elsewhere", "tracked"])
def test_the_users_hooks_run_for_commits_of_a_sandboxed_agent(inside: Place, where: str) -> None:
    git = inside.repo / ".git"
    folders = {"usual": git / "hooks", "elsewhere": git / "elsewhere"}
    folder = folders.get(where, inside.repo / ".own-hooks")
    folder.mkdir(exist_ok=True)
    (folder / "words").write_text("echo by-the-hook > hooked.txt; git add -A\n")
    (folder / "pre-commit").write_text('#!/bin/sh\n. "$(dirname "$0")/words"\n')
    (folder / "pre-commit").chmod(0o755)
    if where == "tracked":
        inside.git("add", "-A")
        inside.git("-c", "core.hooksPath=/dev/null", *WHO, "commit", "-qm", "hooks")
        inside.git("config", "core.hooksPath", ".own-hooks")
    elif where == "elsewhere":
        inside.git("config", "core.hooksPath", str(folder))

    assert inside.yaoki("run", a_plan(inside, COMMITS), "--quiet").code == 0

    assert inside.show(branch(inside), "hooked.txt") == "by-the-hook", said(inside)
