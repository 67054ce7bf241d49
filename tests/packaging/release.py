"""`python3 dev.py release VERSION`: everything of a release but its upload.

It writes the version and the heading of the changes, builds both distributions into dist/, tries
the wheel in an empty environment and runs the tests of the source distribution from its archive.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path

from tests.packaging.environments import ROOT, build

VERSION = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")
VERSION_LINE = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)
VERSION_FILE, CHANGES = "src/yaoki/__init__.py", "CHANGELOG.md"
HEADING = "## Unreleased\n"


class Refused(Exception):
    """The release cannot be prepared; the message says why."""


def set_version(root: Path, version: str, today: date) -> None:
    """Write the version, and give the unreleased changes its heading."""
    if not VERSION.fullmatch(version):
        raise Refused(f"{version!r} is not a version such as 1.2.0 or 1.2.0rc1")
    source, changes = root / VERSION_FILE, root / CHANGES
    listed = changes.read_text(encoding="utf-8")
    if f"## {version} " in listed:
        raise Refused(f"{CHANGES} has a heading for {version} already")
    entries = listed.partition(HEADING)[2].partition("\n## ")[0]
    if not entries.strip():
        raise Refused(f"{CHANGES} lists no change below {HEADING.strip()!r}")
    released = f"{HEADING}\n## {version} - {today.isoformat()}\n"
    changes.write_text(listed.replace(HEADING, released, 1), encoding="utf-8")
    text = source.read_text(encoding="utf-8")
    source.write_text(VERSION_LINE.sub(f'__version__ = "{version}"', text), encoding="utf-8")


def _call(words: Sequence[str | Path], cwd: Path) -> None:
    print("$", *words, flush=True)
    if subprocess.call([str(word) for word in words], cwd=cwd):
        raise Refused(f"failed: {' '.join(str(word) for word in words)}")


def _refuse_uncommitted_files() -> None:
    words = ("git", "status", "--porcelain")
    changed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    if changed:
        raise Refused(f"commit or stash these files first:\n{changed}")


def _test_archive(archive: Path) -> None:
    """The source distribution makes its own environment and passes its own tests."""
    with tempfile.TemporaryDirectory(prefix="yaoki-release-") as folder:
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
        (root,) = Path(folder).iterdir()
        _call((sys.executable, "dev.py", "test"), root)


def prepare(version: str) -> None:
    _refuse_uncommitted_files()
    set_version(ROOT, version, datetime.now(UTC).date())
    dist = ROOT / "dist" / version
    shutil.rmtree(dist, ignore_errors=True)
    build(dist, "wheel")
    archive = build(dist, "sdist")
    _call((sys.executable, "-m", "pytest", "-q", "tests/packaging"), ROOT)
    _test_archive(archive)
    print(f"dist/{version} holds the release; three commands are left:")
    print(f"  git commit -am 'chore: release {version}'")
    print(f"  git tag v{version}")
    print(f"  .venv/bin/uv publish dist/{version}/*")


def main(words: Sequence[str]) -> int:
    if len(words) != 1:
        print("usage: python3 dev.py release VERSION", file=sys.stderr)
        return 2
    try:
        prepare(words[0])
    except Refused as refusal:
        print(f"yaoki: {refusal}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
