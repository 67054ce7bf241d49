"""Inside the sandbox packages can be installed, and nothing can be pushed in the user's name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.acceptance.project import WHO, Place, a_plan, writes
from tests.acceptance.test_sandbox import a_plan as commanded
from tests.acceptance.test_sandbox import needs_bubblewrap, said, settings
from tests.security.test_sandboxed_real_agents import package_index

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("16.13")]
UV = str(Path(sys.executable).with_name("uv"))


@pytest.mark.full
def test_setup_installs_packages_in_the_worktree_and_in_the_proof_room(place: Place) -> None:
    """Its cache is private: what one task put there, no other installs."""
    needs_bubblewrap()
    settings(place, mode="on")
    (place.repo / ".gitignore").write_text("deps/\n")
    place.git("add", "-A")
    place.git(*WHO, "commit", "-qm", "ignore")
    check = [sys.executable, "-c", "import sys; sys.path.insert(0, 'deps'); import greet"]
    with package_index(place.folder / "index") as index:
        words = (UV, "pip", "install", "-q", "--python", sys.executable, "--target", "deps")
        setup = [[*words, "--index-url", f"{index}/simple", "greet"]]
        task = {"id": "a", "checks": ["imports"], "setup": setup}
        plan = a_plan({"a": [writes("a.txt")]}, [task], {"imports": {"run": check}})

        done = place.yaoki("run", place.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    assert not (Path.home() / ".cache" / "uv" / "greet").exists()


LOOKS = """\
for f in .ssh/id_x .git-credentials .netrc .config/gh/hosts.yml .ordinary; do
    cat "$HOME/$f" 2>/dev/null && echo "SAW $f"
done
"""


def test_credentials_of_the_user_are_hidden_unless_configured_as_readable(place: Place) -> None:
    needs_bubblewrap()
    home = place.folder / "users-home"
    for name in (".ssh/id_x", ".git-credentials", ".netrc", ".config/gh/hosts.yml", ".ordinary"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("of-the-user\n")
    settings(place, mode="on", readable=["~/.netrc"])
    place.env["HOME"] = str(home)

    assert place.yaoki("run", commanded(place, LOOKS), "--quiet").code == 0

    seen = [line for line in said(place).splitlines() if line.startswith("SAW")]
    assert seen == ["SAW .netrc", "SAW .ordinary"]
