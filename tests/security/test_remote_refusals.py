"""A remote that refuses pushes for a while does not escalate each task."""

from __future__ import annotations

import subprocess

import pytest

from tests.acceptance.project import (
    BOUND_S,
    GIT_IDENTITY,
    SETTINGS,
    Project,
    a_plan,
    file_contains,
    wait_until,
    writes,
)

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("13.3", "8.1")]


@pytest.mark.full
def test_tasks_wait_while_the_remote_refuses_pushes_and_land_afterwards(project: Project) -> None:
    there = project.folder / "there.git"
    subprocess.run(("git", "init", "-q", "--bare", str(there)), check=True)
    project.settings(SETTINGS + f'\n[workspace]\nremote = "{there}"\n')
    project.git(*GIT_IDENTITY, "commit", "-qam", "settings")
    project.git("push", "-q", str(there), "main")
    names, go = ("a", "b", "c"), project.folder / "go"
    wait = f"for i in $(seq 600); do test -f {go} && break; sleep 0.1; done"
    script = {name: [[{"run": ["sh", "-c", wait]}, *writes(f"{name}.txt")]] for name in names}
    checks = {name: file_contains(f"{name}.txt") for name in names}
    plan = a_plan(script, [{"id": name, "checks": [name]} for name in names], checks)

    worker = project.start("run", project.plan(plan), "--quiet")
    wait_until(lambda: project.event_names().count("PROMPT_SENT") >= 2, "agents are at work")
    hook = there / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho closed for an hour; exit 1\n")
    hook.chmod(0o755)
    go.touch()
    wait_until(lambda: "closed for an hour" in str(project.events()), "a push was refused")
    assert "ESCALATE_DECISION" not in project.event_names()
    hook.unlink()
    output = worker.communicate(timeout=BOUND_S)[0]

    assert worker.returncode == 0, output
    branch = f"yaoki/{project.status()['run']}"
    for name in names:
        got = subprocess.run(
            ("git", "-C", str(there), "show", f"{branch}:{name}.txt"),
            check=True,
            capture_output=True,
            text=True,
        )
        assert got.stdout == "good\n"
    assert "ESCALATE_DECISION" not in project.event_names()
    warned = [e for e in project.events() if e["event"] == "WARNING" and "rejects" in str(e)]
    assert len(warned) == 1
