"""Modules with the names of what the runner loads, and honest modules with such names."""

from __future__ import annotations

from tests.formats.quality.definition.cases import PYTEST, Case
from tests.formats.quality.definition.displaced_modules import BODY, PY, python

LOADED = {"calc.py": PY["calc.py"], "tests/test_calc.py": f"from calc import add{BODY}"}
PROJECT = '[project]\nname = "app"\ndependencies = ["requests>=2", "PyYAML"]\n'
FOREIGN: dict[str, Case] = {
    **{
        f"{name} in the root": python(LOADED, f"{name}/__init__.py", "x = 1\n")
        for name in ("iniconfig", "pygments", "py", "packaging", "xdist", "pytest_cov", "tomli")
    },
    "a file with the name of a dependency of the runner": python(LOADED, "iniconfig.py", "x = 1\n"),
    "an extension with such a name": python(LOADED, "iniconfig.abi3.so", "\0"),
    "a compiled file with such a name": python(LOADED, "iniconfig.pyc", "\0"),
    "a link with such a name": python(
        LOADED, "iniconfig", "more", {"more/__init__.py": ""}, links=("iniconfig",)
    ),
    "a dependency of the runner in the folder of the check": Case(
        PYTEST,
        {f"sub/{path}": text for path, text in PY.items()},
        {"sub/iniconfig/__init__.py": "x = 1\n"},
        where="sub/iniconfig/__init__.py",
        unsure=True,
        cwd="sub",
    ),
    "a dependency of the runner in a folder that the check enters": Case(
        f"cd sub && {PYTEST}",
        {f"sub/{path}": text for path, text in PY.items()},
        {"sub/iniconfig.py": "x = 1\n"},
        where="sub/iniconfig.py",
        unsure=True,
    ),
    "a folder that becomes a package of such a name": python(
        {**LOADED, "py/build.py": "x = 1\n"}, "py/__init__.py", "x = 1\n"
    ),
    "a declared dependency": python({**LOADED, "pyproject.toml": PROJECT}, "yaml.py", "x = 1\n"),
    "a dependency of an older list": python(
        {**LOADED, "requirements-dev.txt": "numpy==2.0  # sums\n"}, "numpy/__init__.py", "x = 1\n"
    ),
    "a locked dependency": python(
        {**LOADED, "uv.lock": '[[package]]\nname = "my-runner"\nversion = "1"\n'},
        "my_runner.py",
        "x = 1\n",
    ),
    "a dependency of tox": Case(
        "tox", {**LOADED, "tox.ini": "[tox]\n"}, {"filelock.py": "x = 1\n"}, "filelock.py", True
    ),
}
NOT_FOREIGN: dict[str, Case] = {
    "a folder with the name of a dependency of the runner": python(
        LOADED, "py/build.py", "x = 1\n"
    ),
    "the name of a dependency inside of a package": python(
        {**LOADED, "app/__init__.py": ""}, "app/packaging.py", "x = 1\n"
    ),
    "a common word that only other runners load": python(LOADED, "parse.py", "x = 1\n"),
    "the package of the project itself": python(
        {**LOADED, "uv.lock": '[[package]]\nname = "app"\nsource = { editable = "." }\n'}
        | {"pyproject.toml": '[project]\nname = "app"\ndependencies = ["app[dev]"]\n'},
        "app/__init__.py",
        "x = 1\n",
    ),
}
