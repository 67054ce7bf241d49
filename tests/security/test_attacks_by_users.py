"""Another user of the machine: one reads the files of yaoki, one runs yaoki without
root's powers.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from tests.acceptance.project import BOUND_S, Completed, Project, a_plan, file_contains, writes
from tests.acceptance.test_sandbox import needs_bubblewrap
from tests.security.attack_runner import AttackRunner
from tests.security.catalogue import CATALOGUES

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.spec("16.10", "14.3"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user"),
]
# By a shell: what setpriv itself starts is still looked up with root's powers.
NOBODY = (
    *("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"),
    *("sh", "-c", 'exec "$0" "$@"'),
)
SOURCE = Path(__file__).parents[2] / "src"
PLAIN_PATH = "/usr/local/bin:/usr/bin:/bin"
# These speak to yaoki itself, which an interpreter of the system does not know.
NEED_YAOKI = ("person-",)
TRIED = [
    (name, n)
    for name, held in CATALOGUES.items()
    for n, _ in enumerate(held.batches())
    if name in ("user-git", "own-repository", "files", "machine") and n == 0
]


def as_nobody(*argv: str, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (*NOBODY, *argv), env=env, cwd="/", capture_output=True, text=True, check=False
    )


class OtherUsersProject(Project):
    """A project whose files and commands belong to another user."""

    def __init__(self, folder: Path, pycache: Path, python: str) -> None:
        super().__init__(folder, pycache)
        self.prefix, self.python = NOBODY, python
        self.env |= {"PATH": PLAIN_PATH, "PYTHONPATH": modules(), "USER": "nobody"}
        self.change_owner()

    def change_owner(self) -> None:
        subprocess.run(("chown", "-R", "nobody:nogroup", str(self.folder)), check=True)

    def yaoki(
        self, *words: str, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> Completed:
        done = subprocess.run(
            (*NOBODY, self.python, "-m", "yaoki", *words),
            cwd=cwd or self.repo,
            env={**self.env, **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=BOUND_S,
            check=False,
        )
        return Completed(done.returncode, done.stdout, done.stderr)

    def query(self, *words: str) -> Completed:
        return self.yaoki(*words)


def modules() -> str:
    return os.pathsep.join([str(SOURCE), *(p for p in sys.path if p.endswith("site-packages"))])


@cache
def readable_python(pycache: Path) -> str:
    """An interpreter that another user may start and that knows yaoki; "" when there is none."""
    env = {"PATH": PLAIN_PATH, "PYTHONPATH": modules(), "HOME": "/nonexistent"}
    env["PYTHONPYCACHEPREFIX"] = str(pycache)
    for python in (sys.executable, shutil.which("python3", path=PLAIN_PATH) or ""):
        if (
            python
            and as_nobody(python, "-c", "import yaoki.faces.cli.main", env=env).returncode == 0
        ):
            return python
    return ""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user may enter: pytest's are private."""
    yield from _make_folder(0o755)


@pytest.fixture(scope="module")
def others_pycache() -> Iterator[Path]:
    """What the other user compiled: yaoki and its libraries, once for all tests."""
    yield from _make_folder(0o777)


def _make_folder(mode: int) -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="walls-"))
    made.chmod(mode)
    yield made
    subprocess.run(("rm", "-rf", str(made)), check=False)


def test_another_user_cannot_read_the_files_of_yaoki(folder: Path, pycache: Path) -> None:
    project = Project(folder, pycache)
    plan = a_plan({"a": [writes("a.txt")]}, [{"id": "a"}], {"ok": file_contains("a.txt")})
    assert project.yaoki("run", project.plan(plan), "--quiet").code == 0
    held = [project.repo / ".yaoki", *project.home.iterdir()]

    env = {"PATH": PLAIN_PATH}
    places = [str(path) for path in held]
    seen = as_nobody("find", *places, "-mindepth", "1", "-readable", env=env).stdout.split()
    written = as_nobody("find", *places, "-writable", env=env).stdout.split()

    # Names of folders may be seen, and of locks; no file that holds a word of the run.
    assert [path for path in seen if Path(path).is_file() and Path(path).stat().st_size] == []
    assert written == []


@pytest.mark.full
@pytest.mark.timeout(240)
@pytest.mark.parametrize(("name", "n"), TRIED)
def test_an_unprivileged_agent_is_confined_by_the_same_sandbox(
    folder: Path, others_pycache: Path, name: str, n: int
) -> None:
    needs_bubblewrap()
    if not (python := readable_python(others_pycache)):
        pytest.skip("no interpreter that another user may start knows yaoki")
    project = OtherUsersProject(folder, others_pycache, python)
    attack_runner = AttackRunner(project)
    CATALOGUES[name].furnish(attack_runner)
    project.change_owner()
    attack_runner.settings("on")
    project.change_owner()
    attacks = list(CATALOGUES[name].batches())[n][1]

    after = attack_runner.run([a for a in attacks if not a.name.startswith(NEED_YAOKI)])

    assert after.faults() == []
