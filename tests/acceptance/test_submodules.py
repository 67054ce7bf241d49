"""An agent commits inside a submodule without pushing: the commit is saved with the landing."""

from __future__ import annotations

import pytest

from tests.acceptance.project import GIT_IDENTITY, Project, a_plan

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("8.2", "0.2")]
ALLOW = ("-c", "protocol.file.allow=always", "submodule", "--quiet")


def test_the_commit_of_a_landed_submodule_is_saved_and_its_ref_is_reported(
    project: Project,
) -> None:
    library = project.folder / "library"
    project.git("clone", "-q", str(project.repo), str(library))
    project.git(*ALLOW, "add", str(library), "mod")
    project.git(*GIT_IDENTITY, "commit", "-qm", "with a submodule")
    inside = f"git {' '.join(ALLOW)} update --init && cd mod && echo new > new.txt && git add ."
    done = f"{inside} && git {' '.join(GIT_IDENTITY)} commit -qm inside"
    script = {"a": [[{"run": ["sh", "-c", done]}]]}
    plan = a_plan(script, [{"id": "a", "checks": ["ok"]}], {"ok": {"shell": "test -s README"}})

    ran = project.yaoki("run", project.plan(plan))

    assert ran.code == 0, ran.out + ran.err
    link = project.git("rev-parse", f"{project.status()['run_branch']}:mod")
    assert link != project.git("rev-parse", "main:mod")
    assert project.git("show", f"{link}:new.txt") == "new"
    warned = [e for e in project.events("a") if e["event"] == "WARNING"]
    assert [e["data"]["message"].startswith(f"submodule mod points at {link}") for e in warned] == [
        True
    ]
    assert f"{link}:refs/heads/{project.task('a')['id']}" in ran.out
    assert f"refs/yaoki/work/{project.task('a')['id']}/1-submodule" in project.yaoki("report").out
