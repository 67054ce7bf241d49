"""A variable with a relative folder, or an empty one, names the worktree of whoever is at work."""

from __future__ import annotations

import pytest

from tests.acceptance.project import Place
from tests.acceptance.test_sandbox import needs_bubblewrap
from tests.security.attack import SECRET, Attack
from tests.security.attack_runner import Arena

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("16.10", "16.13", "14.3")]
PROGRAM = """\
mkdir -p bin; for p in git sh env bwrap; do
printf '#!/bin/sh\\n: > %s\\nexec /usr/bin/%s "$@"\\n' $MARK $p > bin/$p; chmod +x bin/$p; done
"""
# No library at all: whatever would load it does not start.
LIBRARY = "for l in libz.so.1 libpcre2-8.so.0 libselinux.so.1 libcap.so.2; do echo x > $l; done\n"


def arena_with(place: Place, **variables: str) -> Arena:
    needs_bubblewrap()
    arena = Arena(place)
    place.env |= variables
    arena.settings("on")
    return arena


@pytest.mark.full
def test_a_program_in_a_relative_folder_of_the_path_is_never_started(place: Place) -> None:
    arena = arena_with(place)
    place.env["PATH"] = f"./bin::{place.env['PATH']}"

    after = arena.carry([Attack("path", "brings a git of its own", PROGRAM)])

    assert after.faults() == []


def test_a_library_in_the_worktree_is_never_loaded(place: Place) -> None:
    arena = arena_with(place, LD_LIBRARY_PATH="/nowhere:")
    # The words of the shell alone: whatever else the check started would load them, inside.
    proof = 'read -r word < library.txt; test "$word" = good'
    check = {"shell": proof, "env": {"LD_LIBRARY_PATH": "/nowhere:"}}

    after = arena.carry([Attack("library", "brings its own libraries", LIBRARY, check=check)])

    assert after.faults() == []


@pytest.mark.full
def test_a_git_config_that_setup_replaces_by_a_link_is_not_read_through_it(place: Place) -> None:
    arena = arena_with(place)
    link = "test -d .git && ln -sf $HOME/.ssh/id_ed25519 .git/config; true"
    keys = {"setup": [["sh", "-c", link.replace("$HOME", str(arena.home))]]}
    check = {"shell": f"grep -qx good link.txt && ! grep -rqs {SECRET} .git"}

    after = arena.carry([Attack("link", "", "", keys=keys, check=check)])

    assert after.faults() == []
