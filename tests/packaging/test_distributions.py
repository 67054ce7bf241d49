"""A user has the wheel alone: no clone, no development environment, another folder."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
import urllib.request
import zipfile
from email import message_from_string
from pathlib import Path
from urllib.parse import urljoin, urlparse

import pytest

from tests.acceptance.demo_story import check_story, last_commands
from tests.packaging.environments import (
    ROOT,
    TIMEOUT_S,
    Installation,
    build,
    call,
    install_locked,
    install_resolved,
)
from tests.quick_selection import is_quick

pytestmark = pytest.mark.spec("20.1")
ASSETS = re.compile(r"""(?:src|href)="([^"#:]+\.(?:js|css|svg|png|json))\"""")
IMPORTS = re.compile(r"""^(?:import|export)\b[^"']*["'](\.{1,2}/[^"']+)["']""", re.MULTILINE)


def make_repository(folder: Path, installation: Installation) -> Path:
    folder.mkdir()
    (folder / "test_sum.py").write_text("def test_sum():\n    assert 1 + 1 == 2\n")
    for words in (("init", "-q"), ("add", "-A")):
        installation.run("git", *words, cwd=folder)
    author = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    installation.run("git", *author, "commit", "-q", "-m", "first", cwd=folder)
    return folder


def fetch_page_with_assets(address: str) -> dict[str, int]:
    """The size of the page and of everything that it loads, by path."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    sizes: dict[str, int] = {}
    root = re.match(r"https?://[^/]+", address)
    assert root, address
    waiting = [address]
    while waiting:
        url = waiting.pop()
        with opener.open(url, timeout=30) as answer:
            body, final = answer.read().decode(), answer.geturl()
        sizes[urlparse(final).path] = len(body)
        links = ASSETS.findall(body) if "<html" in body else IMPORTS.findall(body)
        found = {urljoin(final, link) for link in links}
        waiting += sorted(url for url in found if urlparse(url).path not in sizes)
    return sizes


def check_page(installation: Installation, repository: Path) -> None:
    words = ("yaoki", "ui", "--port", "0")
    with subprocess.Popen(
        words, cwd=repository, env=installation.env, stdout=subprocess.PIPE, text=True
    ) as served:
        try:
            assert served.stdout is not None
            address = served.stdout.readline().partition("the page: ")[2].strip()
            sizes = fetch_page_with_assets(address)
        finally:
            served.terminate()
    assert len([path for path in sizes if path.endswith(".js")]) > 10, sizes
    assert any(path.endswith(".css") for path in sizes), sizes
    assert all(sizes.values()), sizes


def check_mcp(installation: Installation, repository: Path) -> None:
    asked = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        },
    }
    done = subprocess.run(
        ("yaoki", "mcp"),
        cwd=repository,
        env=installation.env,
        input=f"{json.dumps(asked)}\n",
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    answer = json.loads(done.stdout.splitlines()[0])
    assert answer["result"]["serverInfo"]["name"] == "yaoki", done


def check_completion(installation: Installation, folder: Path) -> None:
    """bash itself loads the script and completes a command and an option."""
    script = installation.run("yaoki", "completion", "bash", cwd=folder)
    (folder / "yaoki.bash").write_text(script)
    for line, expected in (("yaoki stat", "status"), ("yaoki status --js", "--json")):
        typed = line.split()
        words = " ".join(f"'{word}'" for word in typed)
        tried = (
            f"source yaoki.bash; COMP_WORDS=({words}); COMP_CWORD={len(typed) - 1}; "
            '_yaoki_completion yaoki; echo "${COMPREPLY[*]}"'
        )
        assert expected in installation.run("bash", "-c", tried, cwd=folder).split()


def check_types(installation: Installation, folder: Path) -> None:
    """A type checker of the user's reads the annotations of the installed package."""
    (folder / "use.py").write_text(
        "import yaoki\n\nreveal_type(yaoki.Repository('.').run)\nyaoki.Repository(7)\n"
    )
    python = installation.folder / "bin" / "python"
    done = subprocess.run(
        (sys.executable, "-m", "mypy", "--python-executable", str(python), "use.py"),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert "incompatible type" in done.stdout, done
    assert "import-untyped" not in done.stdout, done


IMPORT_ALL = """
import importlib, pkgutil, yaoki
for module in pkgutil.walk_packages(yaoki.__path__, "yaoki."):
    # A program of its own ends when it is imported; PostgreSQL is an extra.
    if not module.name.endswith("__main__") and ".postgres" not in module.name:
        importlib.import_module(module.name)
"""


def check_as_user(installation: Installation, folder: Path) -> None:
    """Everything that needs a file of the distribution beside its modules."""
    folder.mkdir()
    installation.run("python", "-c", IMPORT_ALL, cwd=folder)
    story = installation.run("yaoki", "demo", "--folder", "it's here", cwd=folder)
    check_story(story)
    repository = make_repository(folder / "repository", installation)
    installation.run("yaoki", "init", "--trust", cwd=repository)
    assert (repository / "yaoki.toml").exists()
    for words in (("report", "--format", "html"), ("metrics",), ("trace",)):
        installation.run("yaoki", *words, cwd=folder / "it's here" / "library")
    script = ("bash", "-e", "-o", "pipefail", "-c", last_commands(story))
    assert "10 of 10 tasks landed" in installation.run(*script, cwd=folder)
    assert not (folder / "it's here").exists()
    check_page(installation, repository)
    check_mcp(installation, repository)
    check_completion(installation, folder)


@pytest.mark.long
@pytest.mark.spec("12.1", "12.2")
def test_the_wheel_alone_plays_the_demo_and_serves_its_page_and_its_tools(tmp_path: Path) -> None:
    wheel = build(tmp_path / "dist", "wheel")
    installation = install_locked(wheel, tmp_path / "installed")

    check_as_user(installation, tmp_path / "user")
    if not is_quick():
        check_types(installation, tmp_path / "user")


def test_the_wheel_has_its_metadata_and_no_file_of_the_tests(tmp_path: Path) -> None:
    with zipfile.ZipFile(build(tmp_path, "wheel")) as wheel:
        names = wheel.namelist()
        (path,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = message_from_string(wheel.read(path).decode())

    assert {name.split("/")[0].partition("-")[0] for name in names} == {"yaoki"}
    assert "yaoki/py.typed" in names
    for field in ("Summary", "License-Expression", "Requires-Python", "Author", "Keywords"):
        assert metadata[field], field
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert "python3 dev.py demo" in metadata.get_payload()


def test_the_source_distribution_holds_every_file_of_the_repository(tmp_path: Path) -> None:
    """Its own tests can run, and the wheel can be built from it."""
    with tarfile.open(build(tmp_path, "sdist")) as archive:
        files = {name.partition("/")[2] for name in archive.getnames()}
    if not (ROOT / ".git").exists():
        pytest.skip("this is not a clone: git cannot name the files")
    listed = ("git", "ls-files", "--cached", "--others", "--exclude-standard")
    tracked = set(call(listed, ROOT).splitlines())

    assert tracked - files == set()
    assert files - tracked == {"PKG-INFO"}


@pytest.mark.full
@pytest.mark.registries
@pytest.mark.parametrize("resolution", ["lowest-direct", "highest"])
def test_the_wheel_works_with_the_oldest_and_the_newest_dependencies(
    resolution: str, tmp_path: Path
) -> None:
    """`import yaoki` must fit into environments that hold other versions than ours."""
    wheel = build(tmp_path / "dist", "wheel")
    installation = install_resolved(wheel, tmp_path / "installed", resolution)

    check_as_user(installation, tmp_path / "user")
