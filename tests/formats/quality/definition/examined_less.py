"""Files by which linters and type checkers examine less, and honest ones that look like them."""

from __future__ import annotations

from tests.formats.quality.definition.cases import PYTEST, Case

RUFF, MYPY = "ruff check .", "mypy src"
CALC = {"src/calc.py": "import os\n\n\ndef add(a, b):\n    return a + b\n"}
PROJECT = {**CALC, "pyproject.toml": "[project]\nname = 'calc'\n"}
JS = {"src/calc.js": "export const add = (a, b) => a + b;\n"}


def less(shell: str, where: str, text: str, base: dict[str, str] = CALC) -> Case:
    return Case(shell, base, {where: text}, where=where, unsure=True)


def same(shell: str, where: str, text: str, base: dict[str, str] = CALC) -> Case:
    return Case(shell, base, {where: text})


LESS: dict[str, Case] = {
    "a nested .gitignore": less(RUFF, "src/.gitignore", "calc.py\n"),
    "a .ignore": less(RUFF, ".ignore", "src/calc.py\n"),
    "a .gitignore by its folder": less(RUFF, ".gitignore", "/src/\n"),
    "a .gitignore by a glob": less(RUFF, ".gitignore", "*.log\nsrc/**/c*.py\n"),
    "a .gitignore by stars": less(RUFF, ".gitignore", "**/calc.py\n"),
    "a .gitignore by an ending": less(RUFF, ".gitignore", "*.py\n"),
    "an exception of a .gitignore is gone": less(
        RUFF, ".gitignore", "*.py\n", {**CALC, ".gitignore": "*.py\n!calc.py\n"}
    ),
    "a list of another tool": less("sqlfluff lint", ".sqlfluffignore", "src\n"),
    "new settings of ruff": less(RUFF, "ruff.toml", '[lint]\nignore = ["F401"]\n'),
    "new hidden settings of ruff": less(RUFF, ".ruff.toml", 'exclude = ["src"]\n'),
    "nested settings of ruff": less(RUFF, "src/ruff.toml", '[lint]\nignore = ["F401"]\n'),
    "fewer rules of ruff": less(RUFF, "ruff.toml", '[lint]\nselect = ["I"]\n'),
    "rules for one file": less(RUFF, "ruff.toml", '[lint.per-file-ignores]\n"src/*" = ["F401"]\n'),
    "a file that ruff repairs": less(RUFF, "ruff.toml", "fix = true\n"),
    "long lines": less("ruff check --select E501 .", "ruff.toml", "line-length = 300\n"),
    "a section of ruff": less(
        RUFF,
        "pyproject.toml",
        PROJECT["pyproject.toml"] + "[tool.ruff]\nexclude = ['src']\n",
        PROJECT,
    ),
    "a section of ruff behind make": less(
        "make lint",
        "pyproject.toml",
        "[tool.ruff.lint]\nignore = ['F401']\n",
        {**CALC, "Makefile": "lint:\n\truff check .\n"},
    ),
    "a section of ruff behind tox": less(
        "tox -e lint", "pyproject.toml", "[tool.ruff.lint]\nignore = ['F401']\n"
    ),
    "new settings of mypy": less(MYPY, "mypy.ini", "[mypy]\nexclude = calc\n"),
    "a module that mypy leaves out": less(
        MYPY, "mypy.ini", "[mypy]\n[mypy-calc]\nignore_missing_imports = True\n"
    ),
    "an error that mypy leaves out": less(
        MYPY, "setup.cfg", "[mypy]\ndisable_error_code = return-value\n"
    ),
    "weak settings of mypy": less(MYPY, "mypy.ini", "[mypy]\nstrict_optional = False\n"),
    "new settings of flake8": less("flake8", ".flake8", "[flake8]\nmax-line-length = 300\n"),
    "new settings of pylint": less("pylint src", ".pylintrc", "[MASTER]\nignore = calc.py\n"),
    "new settings of pyright": less("pyright", "pyrightconfig.json", '{"exclude": ["src"]}'),
    "new settings of shellcheck": less("shellcheck a.sh", ".shellcheckrc", "disable=all\n"),
    "new settings of yamllint": less("yamllint .", ".yamllint", "ignore: src\n"),
    "new settings of prettier": less("prettier --check .", ".prettierrc", '{"overrides": []}', JS),
    "a second file of eslint": less(
        "eslint src", ".eslintrc.js", "module.exports = {};\n", {**JS, ".eslintrc.json": "{}"}
    ),
    "eslint beside package.json": less(
        "eslint src",
        ".eslintrc.json",
        "{}",
        {**JS, "package.json": '{"eslintConfig": {"rules": {"no-var": 2}}}'},
    ),
    "a stub beside the module": less(MYPY, "src/calc.pyi", "def add(a: int) -> int: ...\n"),
    "a stub of the package": less(
        MYPY, "src/calc/__init__.pyi", "X: int\n", {"src/calc/__init__.py": "X = 1\n"}
    ),
    "a stub in a folder of stubs": less("pyright", "typings/calc.pyi", "X: int\n"),
    "a package of stubs": less(MYPY, "calc-stubs/__init__.pyi", "X: int\n"),
    "a declaration beside the module": less("tsc -p .", "src/calc.d.ts", "export {};\n", JS),
}

AS_MUCH: dict[str, Case] = {
    "a .gitignore for what no commit has": same(RUFF, ".gitignore", "dist/\n*.log\n__pycache__/\n"),
    "a nested .gitignore of another folder": same(RUFF, "docs/.gitignore", "calc.py\n"),
    "an anchored line of a .gitignore": same(RUFF, ".gitignore", "/calc.py\n"),
    "a folder with the name of a file": same(RUFF, ".gitignore", "calc.py/\n"),
    "an exception of a .gitignore": same(RUFF, ".gitignore", "!calc.py\n"),
    "a shorter .gitignore": same(RUFF, ".gitignore", "", {**CALC, ".gitignore": "*.py\n"}),
    "more rules of ruff": same(RUFF, "ruff.toml", '[lint]\nextend-select = ["I", "B"]\n'),
    "all rules of ruff and more": same(RUFF, "ruff.toml", '[lint]\nselect = ["E", "F", "I"]\n'),
    "a common length of lines": same(
        RUFF, "pyproject.toml", "[tool.ruff]\nline-length = 100\ntarget-version = 'py311'\n"
    ),
    "a style of ruff": same(RUFF, "ruff.toml", "[format]\nquote-style = 'single'\n"),
    "strict types": same(MYPY, "mypy.ini", "[mypy]\nstrict = True\npython_version = 3.11\n"),
    "a section of strict types": same(
        MYPY,
        "pyproject.toml",
        PROJECT["pyproject.toml"] + "[tool.mypy]\nwarn_return_any = true\n",
        PROJECT,
    ),
    "a style of prettier": same("prettier --check .", ".prettierrc", '{"singleQuote": true}', JS),
    "a style of black": same("black --check .", "pyproject.toml", "[tool.black]\nline-length = 99"),
    "settings of a tool that no check runs": same(
        PYTEST, "ruff.toml", '[lint]\nignore = ["F401"]\n'
    ),
    "a first file of eslint": same("eslint src", "eslint.config.js", "export default [];\n", JS),
    "a stub of another package": same(MYPY, "stubs/yaml.pyi", "X: int\n"),
    "types of a library": same("tsc -p .", "src/left.d.ts", "declare module 'left';\n", JS),
    "a project without tools": same(RUFF, "pyproject.toml", "[project]\nname = 'calc'\n"),
}
