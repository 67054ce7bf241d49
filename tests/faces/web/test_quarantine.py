"""The document of an attempt names the quarantine that excused a failure."""

from __future__ import annotations

import pytest

from tests.acceptance.project import Project
from tests.acceptance.test_flaky_tests import TEST, flaky_suite, quarantine, run_tasks
from tests.faces.web.page_server import run_page_server
from tests.faces.web.test_documents import wrong

pytestmark = pytest.mark.spec("18.8", "12.5")


def test_a_finding_names_the_entry_that_excused_it(project: Project) -> None:
    checks = flaky_suite(project, "FFP")
    quarantine(project)
    assert run_tasks(project, checks, "a").code == 0

    with run_page_server(project) as server:
        attempt = server.client.document(f"/tasks/{project.task('a')['id']}/attempts/1")
        openapi = server.client.document("/openapi.json")

    (finding,) = [one for one in attempt["findings"] if one["check"] == "suite"]
    assert finding["outcome"] == "FLAKY"
    assert [(one["test"], one["owner"]) for one in finding["quarantined"]] == [(TEST, "mia")]
    assert wrong(attempt, "Attempt", openapi) == []
