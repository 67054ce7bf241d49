"""The version and the changes of a release are written together, or not at all."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from tests.packaging.release import Refused, set_version

pytestmark = pytest.mark.spec("20.1")
TODAY = date(2027, 1, 2)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "src" / "yaoki").mkdir(parents=True)
    (tmp_path / "src" / "yaoki" / "__init__.py").write_text('"""x"""\n__version__ = "0.1.0"\n')
    changes = "# Changes\n\n## Unreleased\n\n- New.\n\n## 0.1.0 - 2026-01-01\n\n- Old.\n"
    (tmp_path / "CHANGELOG.md").write_text(changes)
    return tmp_path


def test_a_release_has_its_version_and_its_changes(root: Path) -> None:
    set_version(root, "0.2.0", TODAY)

    assert '__version__ = "0.2.0"\n' in (root / "src" / "yaoki" / "__init__.py").read_text()
    changes = (root / "CHANGELOG.md").read_text()
    assert "## Unreleased\n\n## 0.2.0 - 2027-01-02\n\n- New.\n\n## 0.1.0" in changes


@pytest.mark.parametrize(
    ("version", "reason"), [("two", "not a version"), ("0.1.0", "a heading for 0.1.0 already")]
)
def test_a_wrong_version_changes_no_file(root: Path, version: str, reason: str) -> None:
    before = (root / "CHANGELOG.md").read_text()

    with pytest.raises(Refused, match=reason):
        set_version(root, version, TODAY)

    assert (root / "CHANGELOG.md").read_text() == before
    assert '"0.1.0"' in (root / "src" / "yaoki" / "__init__.py").read_text()


def test_a_release_without_changes_is_refused(root: Path) -> None:
    set_version(root, "0.2.0", TODAY)

    with pytest.raises(Refused, match="lists no change"):
        set_version(root, "0.3.0", TODAY)
