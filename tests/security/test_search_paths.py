"""A search path with a relative or empty folder would refer to the agent's worktree."""

from __future__ import annotations

import pytest

from tests.acceptance.project import Project
from tests.acceptance.test_sandbox import needs_bubblewrap
from tests.security.attack import SECRET, Attack
from tests.security.attack_runner import AttackRunner

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("16.10", "16.13", "14.3")]
PROGRAM = """\
mkdir -p bin; for p in git sh env bwrap; do
printf '#!/bin/sh\\n: > %s\\nexec /usr/bin/%s "$@"\\n' $MARK $p > bin/$p; chmod +x bin/$p; done
"""
# Not a valid library: a program that loads it does not start.
LIBRARY = "for l in libz.so.1 libpcre2-8.so.0 libselinux.so.1 libcap.so.2; do echo x > $l; done\n"


def attack_runner_with(project: Project, **variables: str) -> AttackRunner:
    needs_bubblewrap()
    attack_runner = AttackRunner(project)
    project.env |= variables
    attack_runner.settings("on")
    return attack_runner


@pytest.mark.full
def test_a_program_in_a_relative_folder_of_the_path_is_never_started(project: Project) -> None:
    attack_runner = attack_runner_with(project)
    project.env["PATH"] = f"./bin::{project.env['PATH']}"

    after = attack_runner.run([Attack("path", "brings a git of its own", PROGRAM)])

    assert after.faults() == []


def test_a_library_in_the_worktree_is_never_loaded(project: Project) -> None:
    attack_runner = attack_runner_with(project, LD_LIBRARY_PATH="/nowhere:")
    # Shell built-ins only: another program in the check would load the library in the sandbox.
    proof = 'read -r word < library.txt; test "$word" = good'
    check = {"shell": proof, "env": {"LD_LIBRARY_PATH": "/nowhere:"}}

    after = attack_runner.run([Attack("library", "brings its own libraries", LIBRARY, check=check)])

    assert after.faults() == []


@pytest.mark.full
def test_a_git_config_that_setup_replaces_by_a_link_is_not_read_through_it(
    project: Project,
) -> None:
    attack_runner = attack_runner_with(project)
    link = "test -d .git && ln -sf $HOME/.ssh/id_ed25519 .git/config; true"
    keys = {"setup": [["sh", "-c", link.replace("$HOME", str(attack_runner.home))]]}
    check = {"shell": f"grep -qx good link.txt && ! grep -rqs {SECRET} .git"}

    after = attack_runner.run([Attack("link", "", "", keys=keys, check=check)])

    assert after.faults() == []
