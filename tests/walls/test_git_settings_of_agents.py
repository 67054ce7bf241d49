"""A git folder that an agent owns: no git of ours obeys its settings (V1)."""

from __future__ import annotations

import pytest

from tests.acceptance.place import WHO, Place, a_plan

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("16.10", "14.4")]
ALLOW = ("-c", "protocol.file.allow=always", "submodule", "--quiet")
# A commit whose parent is missing makes git fetch it where the settings speak of a partial clone.
EVIL = """\
git {allow} update --init && cd mod
tree=$(git rev-parse 'HEAD^{{tree}}')
printf 'tree %s\\nparent %040d\\nauthor a <a@b> 1 +0000\\ncommitter a <a@b> 1 +0000\\n\\nx\\n' \
    $tree 1 > ../c
evil=$(git hash-object -t commit -w ../c); rm ../c
echo new > new.txt; git add .; git {who} commit -qm inside
dir=$(git rev-parse --absolute-git-dir)
mkdir -p $dir/refs/remotes/origin; echo $evil > $dir/refs/remotes/origin/evil
git config core.repositoryFormatVersion 1
git config extensions.partialClone origin
git config remote.origin.promisor true
git config remote.origin.url ssh://localhost/nowhere
git config core.sshCommand "touch {mark}; false"
git config remote.origin.uploadpack "touch {mark}; false"
git config core.fsmonitor "touch {mark}; false"
"""


def with_submodule(place: Place) -> None:
    library = place.folder / "library"
    place.git("clone", "-q", str(place.repo), str(library))
    place.git(*ALLOW, "add", str(library), "mod")
    place.git(*WHO, "commit", "-qm", "with a submodule")


def test_a_submodule_that_calls_itself_a_partial_clone_starts_nothing(place: Place) -> None:
    with_submodule(place)
    mark = place.folder / "mark"
    acts = EVIL.format(allow=" ".join(ALLOW), who=" ".join(WHO), mark=mark)
    script = {"a": [[{"run": ["sh", "-c", acts]}]]}
    plan = a_plan(script, [{"id": "a", "checks": ["ok"]}], {"ok": {"shell": "test -s README"}})

    done = place.yaoki("run", place.plan(plan), "--quiet")

    assert not mark.exists(), "a program that the agent named ran outside"
    assert done.code in (0, 4), done.out + done.err
    assert place.git("fsck", "--connectivity-only") == ""
