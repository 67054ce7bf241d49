"""A check that fails, passes and fails on one commit counts as failed, and everyone is told."""

from __future__ import annotations

import pytest

from tests.acceptance.project import Project, a_plan, writes

pytestmark = pytest.mark.acceptance


@pytest.mark.spec("6.5", "12.4", "7.1")
def test_a_failure_that_comes_and_goes_is_named_in_output_prompt_and_report(
    project: Project,
) -> None:
    results = project.folder / "results"
    results.write_text("FPF")
    check = (
        f"test -e a.txt; c=$(head -c 1 {results}); tail -c +2 {results} > rest; mv rest {results}; "
        'test "$c" != F || { echo connection refused; exit 1; }'
    )
    plan = a_plan(
        {"a": [writes("a.txt"), writes("a.txt", "better\n")]},
        [{"id": "a", "checks": ["service", "written"]}],
        {"service": {"shell": check}, "written": {"file": {"path": "a.txt", "exists": True}}},
    )

    done = project.yaoki("run", project.plan(plan))

    assert done.code == 0, done.out
    said = "connection refused; it passed 1 of the 2 times it was run again on the same commit"
    assert said in done.out
    assert said in project.prompt(project.task("a"), 2)
    report = project.yaoki("report").out
    assert "check service of a failed, but passed in 1 re-run on the same commit" in report
