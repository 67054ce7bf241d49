"""A sandboxed agent commits to a private repository; yaoki imports its commits."""

from __future__ import annotations

import pytest

from tests.acceptance.project import GIT_IDENTITY, Project, file_contains
from tests.acceptance.test_sandbox import (
    a_plan,
    agent_log,
    needs_bubblewrap,
    write_sandbox_settings,
)

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("16.13")]


@pytest.fixture
def sandboxed_project(project: Project) -> Project:
    needs_bubblewrap()
    write_sandbox_settings(project, mode="on")
    return project


def subjects(project: Project, *which: str) -> list[str]:
    return project.git("log", "--format=%s", *which).splitlines()


def refs(project: Project) -> str:
    """All but those of yaoki."""
    rows = project.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    return "\n".join(row for row in rows if "yaoki/" not in row)


def branch(project: Project) -> str:
    return str(project.status()["run_branch"])


COMMITS = """\
git config user.name Agent && git config user.email agent@example.org
echo good > a.txt && git add a.txt && git commit -qm 'mine: the whole of it' && echo COMMITTED
git status --porcelain && git log --oneline -3 && git diff HEAD~1 --stat
"""


def test_commits_of_a_sandboxed_agent_land(sandboxed_project: Project) -> None:
    before = refs(sandboxed_project)

    assert sandboxed_project.yaoki("run", a_plan(sandboxed_project, COMMITS), "--quiet").code == 0

    assert "COMMITTED" in agent_log(sandboxed_project)
    assert "mine: the whole of it" in subjects(sandboxed_project, "--all")
    assert sandboxed_project.show(branch(sandboxed_project), "a.txt") == "good"
    assert refs(sandboxed_project) == before
    assert sandboxed_project.git("fsck", "--strict") == ""


LEAVES = """\
echo one > b.txt && git add b.txt && git commit -qm 'reset away' && git reset -q --hard HEAD~1
echo two > c.txt && git add c.txt && git stash -q && echo DID-BOTH
"""


@pytest.mark.spec("0.2", "16.2")
def test_reset_commits_and_stashes_of_a_sandboxed_agent_are_saved(
    sandboxed_project: Project,
) -> None:
    assert sandboxed_project.yaoki("run", a_plan(sandboxed_project, LEAVES), "--quiet").code == 0

    assert "DID-BOTH" in agent_log(sandboxed_project)
    kept = subjects(sandboxed_project, "--all")
    assert "reset away" in kept
    assert any(subject.startswith(("On ", "WIP on ")) for subject in kept), kept
    assert sandboxed_project.git("stash", "list") == ""


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
    sandboxed_project: Project,
) -> None:
    base = sandboxed_project.git("symbolic-ref", "--short", "HEAD").strip()
    before = refs(sandboxed_project)

    script = REACHES.format(remote=sandboxed_project.repo, base=base)
    assert sandboxed_project.yaoki("run", a_plan(sandboxed_project, script), "--quiet").code == 0

    words = agent_log(sandboxed_project)
    for refused in ("NO-TAG", "NO-BRANCH", "NO-SWITCH", "NO-PUSH", "NO-MOVE"):
        assert refused in words, words
    assert "commit on the branch that you are on" in words
    assert refs(sandboxed_project) == before
    report = sandboxed_project.yaoki("report").out
    assert "the sandbox refused 5 actions" in report
    assert "tag v1" in report


REMOTES = {
    "taking": "{bare}",
    "unreachable": "ssh://git@localhost:1/x.git",
    "escaped": "https://me%40corp@localhost:1/x.git",
    "rewritten": "own:x.git",
}


@pytest.mark.full
def test_a_push_of_a_sandboxed_agent_is_refused_even_without_hooks(project: Project) -> None:
    """A hook is asked only when the other side has answered, and `--no-verify` skips it."""
    needs_bubblewrap()
    bare = project.folder / "taking" / "origin.git"
    project.git("init", "-q", "--bare", str(bare))
    write_sandbox_settings(project, mode="on", writable=[str(bare.parent)])
    for name, url in REMOTES.items():
        project.git("remote", "add", name, url.format(bare=bare))
    project.git("config", f"url.{bare.parent}/.pushInsteadOf", "own:")
    pushes = ("--no-verify {0} HEAD", "--force {0} HEAD", "--no-verify --mirror {0}")
    lines = [f"git push {how.format(name)}" for name in REMOTES for how in pushes]
    script = "\n".join(f"{line} && echo PUSHED" for line in lines)

    assert project.yaoki("run", a_plan(project, script), "--quiet").code == 0

    words = agent_log(project)
    assert "PUSHED" not in words
    for name in REMOTES:
        refusal = f"yaoki: pushes are not allowed here: the push to {name} is refused."
        assert words.count(refusal) == len(pushes), name
    assert "yaoki: commit on the branch that you are on" in words
    assert "access rights" not in words, "there are none to look for"
    assert not list((bare / "refs" / "heads").iterdir())
    report = project.yaoki("report").out
    assert f"the sandbox refused {len(lines)} actions of the agent: push to taking" in report


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
def test_a_manipulated_repository_of_a_sandboxed_agent_starts_no_program_and_loses_no_file(
    sandboxed_project: Project,
) -> None:
    """Each agent has its own repository, so all of them work in one run."""
    mark = sandboxed_project.folder / "ran-outside"
    names = {how: how.replace(" ", "-") for how in POISONS}
    scripts = {
        name: f"echo x > {name}.b; G=$(git rev-parse --absolute-git-dir)\n"
        f"{POISONS[how].replace('{mark}', str(mark))}\necho good > {name}.a"
        for how, name in names.items()
    }
    plan = {
        "goal": "Reach",
        "agents": {n: {"command": ["bash", "-c", text]} for n, text in scripts.items()},
        "checks": {n: file_contains(f"{n}.a") for n in scripts},
        "tasks": [{"id": n, "goal": "Write.", "agent": n, "checks": [n]} for n in scripts],
    }

    done = sandboxed_project.yaoki("run", sandboxed_project.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    assert not mark.exists()
    for name in scripts:
        assert sandboxed_project.show(branch(sandboxed_project), f"{name}.a") == "good", name
        assert sandboxed_project.show(branch(sandboxed_project), f"{name}.b") == "x", name
    assert sandboxed_project.git("fsck", "--strict", "--no-dangling") == ""


@pytest.mark.full
@pytest.mark.parametrize("where", ["usual", "elsewhere", "tracked"])
def test_the_users_hooks_run_for_commits_of_a_sandboxed_agent(
    sandboxed_project: Project, where: str
) -> None:
    git = sandboxed_project.repo / ".git"
    folders = {"usual": git / "hooks", "elsewhere": git / "elsewhere"}
    folder = folders.get(where, sandboxed_project.repo / ".own-hooks")
    folder.mkdir(exist_ok=True)
    (folder / "words").write_text("echo by-the-hook > hooked.txt; git add -A\n")
    (folder / "pre-commit").write_text('#!/bin/sh\n. "$(dirname "$0")/words"\n')
    (folder / "pre-commit").chmod(0o755)
    if where == "tracked":
        sandboxed_project.git("add", "-A")
        sandboxed_project.git(
            "-c", "core.hooksPath=/dev/null", *GIT_IDENTITY, "commit", "-qm", "hooks"
        )
        sandboxed_project.git("config", "core.hooksPath", ".own-hooks")
    elif where == "elsewhere":
        sandboxed_project.git("config", "core.hooksPath", str(folder))

    assert sandboxed_project.yaoki("run", a_plan(sandboxed_project, COMMITS), "--quiet").code == 0

    assert sandboxed_project.show(branch(sandboxed_project), "hooked.txt") == "by-the-hook", (
        agent_log(sandboxed_project)
    )
