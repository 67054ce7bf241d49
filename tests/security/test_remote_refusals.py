"""A remote that takes no pushes for a while: nobody is asked once for each task."""

from __future__ import annotations

import subprocess

import pytest

from tests.acceptance.project import BOUND_S, SETTINGS, WHO, Place, a_plan, holds, until, writes

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("13.3", "8.1")]


@pytest.mark.full
def test_tasks_wait_while_the_remote_refuses_pushes_and_land_afterwards(place: Place) -> None:
    there = place.folder / "there.git"
    subprocess.run(("git", "init", "-q", "--bare", str(there)), check=True)
    place.settings(SETTINGS + f'\n[workspace]\nremote = "{there}"\n')
    place.git(*WHO, "commit", "-qam", "settings")
    place.git("push", "-q", str(there), "main")
    names, go = ("a", "b", "c"), place.folder / "go"
    wait = f"for i in $(seq 600); do test -f {go} && break; sleep 0.1; done"
    script = {name: [[{"run": ["sh", "-c", wait]}, *writes(f"{name}.txt")]] for name in names}
    checks = {name: holds(f"{name}.txt") for name in names}
    plan = a_plan(script, [{"id": name, "checks": [name]} for name in names], checks)

    worker = place.start("run", place.plan(plan), "--quiet")
    until(lambda: place.story().count("PROMPT_SENT") >= 2, "agents are at work")
    hook = there / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho closed for an hour; exit 1\n")
    hook.chmod(0o755)
    go.touch()
    until(lambda: "closed for an hour" in str(place.events()), "a push was refused")
    assert "ESCALATE_DECISION" not in place.story()
    hook.unlink()
    said = worker.communicate(timeout=BOUND_S)[0]

    assert worker.returncode == 0, said
    branch = f"yaoki/{place.status()['run']}"
    for name in names:
        got = subprocess.run(
            ("git", "-C", str(there), "show", f"{branch}:{name}.txt"),
            check=True,
            capture_output=True,
            text=True,
        )
        assert got.stdout == "good\n"
    assert "ESCALATE_DECISION" not in place.story()
    warned = [e for e in place.events() if e["event"] == "WARNING" and "rejects" in str(e)]
    assert len(warned) == 1
