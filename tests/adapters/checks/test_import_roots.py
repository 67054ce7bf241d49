"""The folders from which a check of a Python project imports."""

from __future__ import annotations

from pathlib import Path

import pytest

from yaoki.adapters.checks.environment import add_own_variables, find_import_roots

pytestmark = pytest.mark.spec("16.1")


@pytest.mark.parametrize(
    ("files", "roots"),
    [
        ("pyproject.toml src/calc/__init__.py tests/__init__.py", ("src",)),
        ("pyproject.toml src/calc.py", ("src",)),
        ("setup.py lib/calc/__init__.py python/more/__init__.py", ("lib", "python")),
        ("setup.cfg calc/__init__.py src/main.c", (".",)),
        ("setup.py six.py", (".",)),
        ("pyproject.toml tests/__init__.py conftest.py test_it.py", ()),
        ("package.json src/index.js calc.py", ()),
    ],
)
def test_the_roots_are_where_the_modules_of_the_project_are(
    tmp_path: Path, files: str, roots: tuple[str, ...]
) -> None:
    for name in files.split():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    assert find_import_roots(tmp_path) == roots


@pytest.mark.parametrize(
    ("own", "path"),
    [({}, "{0}/src"), ({"PYTHONPATH": "lib:x"}, "{0}/lib:{0}/x"), ({"A": "b"}, "{0}/src")],
)
def test_a_path_of_the_check_itself_wins(tmp_path: Path, own: dict[str, str], path: str) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "calc.py").touch()
    (tmp_path / "setup.py").touch()

    found = add_own_variables({}, own, tmp_path, tmp_path)

    assert found["PYTHONPATH"] == path.format(tmp_path)


def test_an_empty_path_switches_the_roots_off(tmp_path: Path) -> None:
    (tmp_path / "setup.py").touch()
    (tmp_path / "calc.py").touch()

    assert not add_own_variables({}, {"PYTHONPATH": ""}, tmp_path, tmp_path)["PYTHONPATH"]
