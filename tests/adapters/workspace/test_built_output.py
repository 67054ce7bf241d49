"""Which output of set-up goes stale when a source changes, and which a package manager made."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.adapters.workspace.test_proof_rooms import commit, git, repo, rooms_of
from yaoki.adapters.workspace.proof_rooms.built_output import BuiltOutput

pytestmark = pytest.mark.spec("16.1")
__all__ = ["repo"]
CODE = "def f(number):\n    return number + 1  # one more, long enough to be nobody else's\n"
LICENCE = "Permission is hereby granted, free of charge, to any person, and so on, as always.\n"
SHORT = "def add(a, b):\n    return a + b\n"
MARK = "# a package\n"
TRACKED = {
    "src/app.py": CODE,
    "LICENSE": LICENCE,
    "index.js": "module.exports = 1;\n",
    "src/short.py": SHORT,
    "src/__init__.py": MARK,
}
SITE = "lib/python3/site-packages"
LOCAL = '{"url": "file:///x", "dir_info": {}}'
EDITABLE = '{"url": "file:///x", "dir_info": {"editable": true}}'

INSTALLER_COPY = "a copy that an installer of Python made"
BUILT = {
    "a copy": {"lib/app.txt": CODE},
    INSTALLER_COPY: {f"{SITE}/app.py": CODE},
    "a copied package that is only compiled": {
        f"{SITE}/app.so": "compiled",
        f"{SITE}/app.dist-info/direct_url.json": LOCAL,
    },
    "a copy of a package of the repository": {"node_modules/app/app.py": CODE},
    "a bundle": {"dist/bundle.js": "f = 1"},
    "a compiled module": {"src/app.cpython.so": "compiled"},
    "a program": {"made/program": "#!/bin/sh\n"},
    "a text in a folder of builds": {"dist/index.txt": "a b\n"},
    "a build in a folder named like an environment": {"env/app.py": "x = 1\n"},
    "a build in a hidden folder named like one": {".venv/out.js": "f = 1"},
    "a bundle in a hidden folder": {".build/bundle.py": "x = 1\n"},
    "a zip": {"app.zip": "PK"},
    "a zip that Python runs": {"out/app.pyz": "PK"},
    "a compressed archive": {"app-1.0.TAR.GZ": "packed"},
    "a copy of a short source": {"vendor/lib/short.py": SHORT},
    "a copy of a source under another name": {"vendor/lib/other.py": CODE},
}
INSTALLED = {
    "packages": {"node_modules/x/index.js": "module.exports = 1;\n", "node_modules/.bin/x": "x"},
    "the licence that many packages have": {"node_modules/x/LICENSE": LICENCE},
    "a package of Python": {f"{SITE}/x.py": "x = 1\n", f"{SITE}/x.dist-info/RECORD": "x.py\n"},
    "the project by a link": {f"{SITE}/app.dist-info/direct_url.json": EDITABLE},
    "a folder of packages of any name": {"deps/x.py": "x = 1\n", "deps/x.dist-info/RECORD": ""},
    "an environment of any name": {"env39/pyvenv.cfg": "home = /usr\n", "env39/bin/x.py": "x"},
    "an environment of conda": {"env/conda-meta/history": "x", "env/bin/x.py": "x = 1\n"},
    "an environment of the usual name": {"env/pyvenv.cfg": "home", "env/lib/x.txt": "x"},
    "an empty mark in a folder of builds": {"build/done": ""},
    "metadata": {"src/app.egg-info/PKG-INFO": "Name: app\n", "src/app.egg-info/LICENSE": LICENCE},
    "bytecode": {"src/__pycache__/app.cpython.pyc": "compiled"},
    "data": {"data.sqlite3": "rows", "empty.py": "", "rows.csv.gz": "packed"},
    "hidden folders of package managers": {
        ".tox/py/x.py": "x = 1\n",
        ".yarn/cache/x.zip": "PK",
        ".m2/x.jar": "PK",
        ".cache/x.py": "x = 1\n",
        ".husky/_/h": "x",
        ".git/modules/s/hooks/x.sh": "x = 1\n",
    },
    "the map of yarn": {".pnp.cjs": "x = 1\n", ".pnp.loader.mjs": "x = 1\n"},
    "vendored packages": {
        "vendor/x/index.js": "f = 1;\n",
        "vendor/x.jar": "PK",
        "vendor/x/LICENSE": LICENCE,
        "vendor/x/__init__.py": MARK,
    },
    "a short file that is like another": {"vendor/x/y.js": TRACKED["index.js"]},
}


def is_built(top: Path, output: dict[str, str], *, has_all_inputs: bool = False) -> bool:
    for name, text in {**TRACKED, **output}.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
        (top / name).chmod(0o755 if name.endswith("/program") else 0o644)
    built = BuiltOutput(top, TRACKED, {"package.json"}, has_all_inputs, only_installs=True)
    return bool(built.find_among(output))


@pytest.mark.parametrize("name", BUILT)
def test_output_that_was_made_from_the_sources_goes_stale_with_them(
    tmp_path: Path, name: str
) -> None:
    assert is_built(tmp_path, BUILT[name])


@pytest.mark.parametrize("name", INSTALLED)
def test_what_package_managers_install_stays_usable(tmp_path: Path, name: str) -> None:
    assert not is_built(tmp_path, INSTALLED[name])


def test_a_plan_that_lists_what_set_up_reads_is_believed_but_for_copies(tmp_path: Path) -> None:
    assert not is_built(tmp_path, BUILT["a bundle"], has_all_inputs=True)
    assert is_built(tmp_path, BUILT["a copy"], has_all_inputs=True)


def test_a_link_to_a_source_is_never_stale(tmp_path: Path) -> None:
    is_built(tmp_path, {})
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "app.py").symlink_to(tmp_path / "src" / "app.py")
    assert not BuiltOutput(tmp_path, TRACKED, (), False, False).find_among({"lib/app.py"})


def test_in_packages_the_listed_inputs_are_believed(tmp_path: Path) -> None:
    """Only a package that is known to come from this machine contradicts them."""
    for n, name in enumerate(("a copy of a package of the repository", INSTALLER_COPY)):
        assert not is_built(tmp_path / f"{n}", BUILT[name], has_all_inputs=True)
    recorded = {
        f"{SITE}/app.py": CODE,
        f"{SITE}/app-1.0.dist-info/RECORD": "app.py,,\n",
        f"{SITE}/app-1.0.dist-info/direct_url.json": LOCAL,
    }
    assert is_built(tmp_path / "local", recorded, has_all_inputs=True)
    assert is_built(tmp_path / "vendor", {"vendor/lib/app.py": CODE}, has_all_inputs=True)


def test_a_room_whose_set_up_built_something_is_for_one_state_of_the_sources(repo: Path) -> None:
    setup, rooms = (("make",),), rooms_of(repo)
    head = git(repo, "rev-parse", "HEAD")
    before = rooms.key(head, setup, ())
    with rooms.acquire(before) as room:
        room.check_out(head)
        (room.files / "out").mkdir()
        (room.files / "out" / "built.txt").write_text("made\n")
        room.record_setup_output()
    other = commit(repo, {"sub/b.txt": "another\n"})

    why = rooms.describe_difference(other, head, setup, ())
    assert why == "set-up output contains a build: out/built.txt"
    keys = {before, rooms.key(head, setup, ()), rooms.key(other, setup, ())}
    assert len(keys) == 3
    for known in (rooms, rooms_of(repo)):
        with known.acquire(known.key(head, setup, ())) as room:
            assert room.is_ready
        with known.acquire(known.key(other, setup, ())) as room:
            assert not room.is_ready


def test_files_that_every_worktree_gets_are_no_output_of_a_build(repo: Path) -> None:
    setup, rooms = (("true",),), rooms_of(repo)
    head = commit(repo, {".worktreeinclude": "out/local.py\n"})
    (repo / "out").mkdir()
    (repo / "out" / "local.py").write_text("x = 1\n")
    key = rooms.key(head, setup, ())
    with rooms.acquire(key) as room:
        room.check_out(head)
        room.record_setup_output()

    assert rooms.key(head, setup, ()) == key


def test_a_script_in_one_word_names_the_files_that_set_up_reads(repo: Path) -> None:
    setup, rooms = (("sh", "-c", "mkdir -p out; sort <sub/b.txt >out/b"),), rooms_of(repo)
    first = rooms.key(git(repo, "rev-parse", "HEAD"), setup, ())

    assert rooms.key(commit(repo, {"a.txt": "other\n"}), setup, ()) == first
    assert rooms.key(commit(repo, {"sub/b.txt": "other\n"}), setup, ()) != first


def test_the_files_that_set_up_reads_and_that_changed_are_named(repo: Path) -> None:
    rooms, head = rooms_of(repo), git(repo, "rev-parse", "HEAD")
    lock = commit(repo, {"package-lock.json": "{}"})
    both = commit(repo, {"package-lock.json": "[]", "package.json": "{}"})

    def why(one: str, other: str) -> str:
        return rooms.describe_difference(one, other, (("true",),), ())

    assert why(lock, head) == "set-up reads package-lock.json, which changed"
    assert why(both, lock) == "set-up reads package-lock.json and 1 more, which changed"
    assert why(head, head) == ""
