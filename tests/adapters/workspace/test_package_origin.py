"""A release that a project has of itself equals its sources, and goes stale with none of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.workspace.test_proof_rooms import commit, git, repo, rooms_of
from yaoki.adapters.workspace.proof_rooms.built_output import BuiltOutput

pytestmark = pytest.mark.spec("16.1")
__all__ = ["repo"]
CODE = "module.exports = function minimist(args) { return parse(args.slice(0)); };\n"
MANIFEST = '{"name": "minimist", "version": "1.2.8"}'
TRACKED = {"index.js": CODE, "package.json": MANIFEST}
NPM_RECORD = "node_modules/.package-lock.json"
RELEASE = {"version": "1.2.8", "integrity": "sha512-x"}
ADDRESS = "https://registry.npmjs.org/minimist/-/minimist-1.2.8.tgz"
COPY, FOUND = "node_modules/minimist/index.js", "a copy of index.js: node_modules/minimist/index.js"
SITE = ".venv/lib/python3/site-packages"
PROJECT = '[project]\nname = "Own_App"\nversion = "1.1"\n'


def write(top: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)


def write_last(top: Path, record: str, text: str) -> None:
    """As package managers do; a clock of files may tick rarely."""
    before = max(file.lstat().st_ctime_ns for file in top.rglob("*"))
    write(top, {record: text})
    while (top / record).lstat().st_ctime_ns <= before:
        (top / record).write_text(text)


def install_with_npm(
    top: Path, entry: Mapping[str, Any], package: str = "node_modules/minimist"
) -> tuple[str, ...]:
    """The output: a package that equals the sources, and the record of npm."""
    write(top, {f"{package}/{name}": text for name, text in TRACKED.items()})
    write_last(top, NPM_RECORD, json.dumps({"packages": {package: entry}}))
    return (f"{package}/index.js", f"{package}/package.json", NPM_RECORD)


def find(
    top: Path,
    output: tuple[str, ...],
    *,
    has_all_inputs: bool = False,
    only_installs: bool = True,
) -> str:
    built = BuiltOutput(top, TRACKED, {"package.json"}, has_all_inputs, only_installs)
    return built.find_among(output)


@pytest.mark.parametrize("more", [{}, {"resolved": ADDRESS}])
@pytest.mark.parametrize(
    "package",
    ["node_modules/minimist", "node_modules/nyc/node_modules/minimist", "node_modules/@own/app"],
)
def test_a_release_of_the_project_in_its_own_dependencies_is_no_build(
    tmp_path: Path, more: dict[str, str], package: str
) -> None:
    write(tmp_path, TRACKED)

    output = install_with_npm(tmp_path, RELEASE | more, package)

    assert not find(tmp_path, output)
    assert find(tmp_path, output, only_installs=False) == f"a copy of index.js: {package}/index.js"


@pytest.mark.parametrize(
    "entry",
    [
        {"resolved": "file:../app", "version": "1.2.8"},
        RELEASE | {"resolved": "file:app-1.2.8.tgz"},
        RELEASE | {"link": True, "resolved": "packages/app"},
    ],
)
def test_a_package_from_a_folder_of_this_machine_goes_stale(
    tmp_path: Path, entry: dict[str, Any]
) -> None:
    write(tmp_path, TRACKED)
    output = install_with_npm(tmp_path, entry)

    assert find(tmp_path, output) == FOUND
    assert find(tmp_path, output, has_all_inputs=True) == FOUND


@pytest.mark.parametrize(
    "entry",
    [
        {"version": "1.2.8"},
        RELEASE | {"resolved": "git+ssh://git@host/app.git#0123"},
        RELEASE | {"version": "1.2.7"},
    ],
)
def test_what_is_not_known_to_be_a_release_may_go_stale(
    tmp_path: Path, entry: dict[str, Any]
) -> None:
    write(tmp_path, TRACKED)
    output = install_with_npm(tmp_path, entry)

    assert find(tmp_path, output) == FOUND
    assert not find(tmp_path, output, has_all_inputs=True)
    (tmp_path / NPM_RECORD).unlink()
    assert find(tmp_path, output) == FOUND


@pytest.mark.parametrize("name", ["index.js", "package.json"])
def test_a_file_that_set_up_wrote_after_the_package_manager_may_go_stale(
    tmp_path: Path, name: str
) -> None:
    """`npm ci && cp -p index.js node_modules/minimist`: only its ctime tells."""
    write(tmp_path, TRACKED)
    output = install_with_npm(tmp_path, RELEASE)
    written = (tmp_path / NPM_RECORD).lstat().st_ctime_ns
    file = tmp_path / "node_modules" / "minimist" / name
    while file.lstat().st_ctime_ns <= written:
        file.write_text(TRACKED[name])

    assert find(tmp_path, output) == FOUND


@pytest.mark.parametrize(
    ("manifests", "version", "is_release"),
    [
        ({"pyproject.toml": PROJECT}, "1.0", True),
        ({"pyproject.toml": PROJECT}, "1.1.0", False),
        ({"pyproject.toml": '[project]\nname = "own-app"\ndynamic = ["version"]\n'}, "1.0", False),
        ({"pyproject.toml": "[tool.x]\n"}, "1.0", False),
        ({"pyproject.toml": PROJECT, "setup.py": "setup()\n"}, "1.0", False),
        ({"pyproject.toml": '[project]\nname = "other"\n'}, "1.0", True),
    ],
)
def test_a_distribution_is_a_release_if_the_project_would_not_make_it(
    tmp_path: Path, manifests: dict[str, str], version: str, is_release: bool
) -> None:
    code = "def f(number):\n    return number + 1  # one more, long enough to be its own\n"
    tracked = {"src/app.py": code, **manifests}
    record = f"{SITE}/own_app-{version}.dist-info/RECORD"
    installed = {f"{SITE}/app.py": code, ".venv/pyvenv.cfg": "home = /usr\n"}
    write(tmp_path, {**tracked, **installed})
    write_last(tmp_path, record, "app.py,sha256=x,80\n")

    built = BuiltOutput(tmp_path, tracked, set(manifests), False, True)
    found = built.find_among([*installed, record])

    assert found == ("" if is_release else f"a copy of src/app.py: {SITE}/app.py")


def test_a_copied_release_is_not_examined_again(repo: Path) -> None:
    """In a copy the record of the package manager is older than the package."""
    setup, rooms = (("npm", "ci"),), rooms_of(repo)
    head = commit(repo, {**TRACKED, ".gitignore": "node_modules\n"})
    key = rooms.key(head, setup, ())
    with rooms.acquire(key) as first, rooms.acquire(key) as second:
        first.check_out(head)
        install_with_npm(first.files, RELEASE)
        first.record_setup_output()
        second.check_out(head)
        rooms.copy_setup_output(key, second.files, ["node_modules"])
        second.record_setup_output(is_copy=True)

    assert rooms.key(head, setup, ()) == key
    other = commit(repo, {"index.js": "module.exports = 1;\n"})
    assert rooms.key(other, setup, ()) == key
    assert git(repo, "rev-parse", "HEAD") == other


@pytest.mark.parametrize(
    "setup",
    [(("npm", "ci"), ("npm", "install", "x")), (("npm", "ci"), ("cp", "-r", "src", "lib"))],
    ids=["twice", "copy"],
)
def test_beside_other_commands_the_record_of_a_package_manager_is_not_believed(
    repo: Path, setup: tuple[tuple[str, ...], ...]
) -> None:
    rooms, head = rooms_of(repo), commit(repo, {**TRACKED, ".gitignore": "node_modules\n"})
    key = rooms.key(head, setup, ())
    with rooms.acquire(key) as room:
        room.check_out(head)
        install_with_npm(room.files, RELEASE)
        room.record_setup_output()

    assert rooms.key(head, setup, ()) != key
