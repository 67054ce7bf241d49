"""Inside the sandbox packages can be installed, and nothing can be pushed in the user's name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.acceptance.project import GIT_IDENTITY, Project, a_plan, writes
from tests.acceptance.sandboxed_hour import package_index
from tests.acceptance.test_sandbox import a_plan as commanded
from tests.acceptance.test_sandbox import agent_log, needs_bubblewrap, write_sandbox_settings

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("16.13")]
UV = str(Path(sys.executable).with_name("uv"))


@pytest.mark.full
def test_setup_installs_packages_in_the_worktree_and_in_the_proof_room(project: Project) -> None:
    """Its cache is private: what one task put there, no other installs."""
    needs_bubblewrap()
    write_sandbox_settings(project, mode="on")
    (project.repo / ".gitignore").write_text("deps/\n")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "ignore")
    check = [sys.executable, "-c", "import sys; sys.path.insert(0, 'deps'); import greet"]
    with package_index(project.folder / "index") as index:
        words = (UV, "pip", "install", "-q", "--python", sys.executable, "--target", "deps")
        setup = [[*words, "--index-url", f"{index}/simple", "greet"]]
        task = {"id": "a", "checks": ["imports"], "setup": setup}
        plan = a_plan({"a": [writes("a.txt")]}, [task], {"imports": {"run": check}})

        done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    assert not (Path.home() / ".cache" / "uv" / "greet").exists()


LOOKS = """\
for f in .ssh/id_x .git-credentials .netrc .config/gh/hosts.yml .ordinary; do
    cat "$HOME/$f" 2>/dev/null && echo "SAW $f"
done
"""


def test_credentials_of_the_user_are_hidden_unless_configured_as_readable(project: Project) -> None:
    needs_bubblewrap()
    home = project.folder / "users-home"
    for name in (".ssh/id_x", ".git-credentials", ".netrc", ".config/gh/hosts.yml", ".ordinary"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("of-the-user\n")
    write_sandbox_settings(project, mode="on", readable=["~/.netrc"])
    project.env["HOME"] = str(home)

    assert project.yaoki("run", commanded(project, LOOKS), "--quiet").code == 0

    seen = [line for line in agent_log(project).splitlines() if line.startswith("SAW")]
    assert seen == ["SAW .netrc", "SAW .ordinary"]
