"""An agent commits inside a submodule and pushes nothing: the link lands, and so it stays whole."""

from __future__ import annotations

import pytest

from tests.acceptance.project import WHO, Place, a_plan

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("8.2", "0.2")]
ALLOW = ("-c", "protocol.file.allow=always", "submodule", "--quiet")


def test_the_commit_of_a_landed_submodule_is_saved_and_its_ref_is_reported(place: Place) -> None:
    library = place.folder / "library"
    place.git("clone", "-q", str(place.repo), str(library))
    place.git(*ALLOW, "add", str(library), "mod")
    place.git(*WHO, "commit", "-qm", "with a submodule")
    inside = f"git {' '.join(ALLOW)} update --init && cd mod && echo new > new.txt && git add ."
    done = f"{inside} && git {' '.join(WHO)} commit -qm inside"
    script = {"a": [[{"run": ["sh", "-c", done]}]]}
    plan = a_plan(script, [{"id": "a", "checks": ["ok"]}], {"ok": {"shell": "test -s README"}})

    ran = place.yaoki("run", place.plan(plan))

    assert ran.code == 0, ran.out + ran.err
    link = place.git("rev-parse", f"{place.status()['run_branch']}:mod")
    assert link != place.git("rev-parse", "main:mod")
    assert place.git("show", f"{link}:new.txt") == "new"
    warned = [e for e in place.events("a") if e["event"] == "WARNING"]
    assert [e["data"]["message"].startswith(f"submodule mod points at {link}") for e in warned] == [
        True
    ]
    assert f"{link}:refs/heads/{place.task('a')['id']}" in ran.out
    assert f"refs/yaoki/work/{place.task('a')['id']}/1-submodule" in place.yaoki("report").out
