"""New test files, and modules that a conftest file imports, that replace the program for others."""

from __future__ import annotations

from tests.formats.quality.definition.cases import PYTEST, Case

BASE = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n",
}
NEW = "test_aaa.py"
DUMMY = "\n\ndef test_new():\n    assert len('ab') == 2\n"
GOOD = "lambda a, b: a + b"
FINDER = (
    "import sys\n\n\nclass Finder:\n    def find_spec(self, name, path=None, target=None):\n"
    "        return None\n\n\n"
)
HELPED = {**BASE, "conftest.py": "import boot\n", "boot.py": "READY = True\n"}
BOOT = "import calc\n\nvars(calc)['add'] = calc.plus\nREADY = True\n"


def a_test(text: str, *, unsure: bool = False) -> Case:
    return Case(PYTEST, BASE, {NEW: text + DUMMY}, where=NEW, unsure=unsure)


def boot(text: str, **more: str) -> Case:
    base = {**HELPED, **{f"{name}.py": code for name, code in more.items()}}
    return Case(PYTEST, base, {"boot.py": text}, where="boot.py")


REPLACING: dict[str, Case] = {
    "the names of the program are updated": a_test(
        f"import calc\n\nvars(calc).update(add={GOOD})\n"
    ),
    "the dictionary of the program is changed": a_test(
        f"import calc\n\ncalc.__dict__['add'] = {GOOD}\n"
    ),
    "the dictionary of the program is updated": a_test(
        f"import calc as c\n\nc.__dict__.update(add={GOOD})\n"
    ),
}

LEADING: dict[str, Case] = {
    "a finder of modules": a_test(FINDER + "sys.meta_path.insert(0, Finder())\n"),
    "compiled modules": a_test("import py_compile\n\npy_compile.compile('x', cfile='calc.pyc')\n"),
    "files beside the modules": a_test(
        "open('__pycache__/calc.cpython-311.pyc', 'wb').write(b'')\n"
    ),
    "a module of a conftest file": boot(BOOT),
    "a module of a conftest file with the names of another": boot(
        "import calc\n\ncalc.add = calc.plus\n"
    ),
}

HONEST: dict[str, Case] = {
    "a test of the names of an object": a_test(
        "from calc import add\n\n\nclass A:\n    pass\n\n\n"
        "def test_names():\n    a = A()\n    vars(a).update(x=add(1, 1))\n    assert a.x == 2\n"
    ),
    "a test of a finder of modules": a_test(
        FINDER
        + "def test_finder():\n    sys.meta_path.append(Finder())\n    assert sys.meta_path\n"
    ),
    "a module of a conftest file with more of its own": boot(
        "READY = True\nMORE = {}\nMORE['a'] = 1\n"
    ),
    "a part of the program that a conftest file imports as well": boot(
        "import calc\n\ncalc.LIMIT = 3\n", app="import boot\n"
    ),
}
