"""Cases of tests in files that a test finds by listing their folder."""

from __future__ import annotations

from tests.formats.quality.definition.cases import PYTEST, Case

ADD = {"calc.py": "def add(a, b):\n    return a - b\n"}
LOOP = (
    "import json\nimport os\nfrom pathlib import Path\nfrom calc import add\n\n\n"
    "def test_cases():\n    for file in {}:\n        a, b, c = json.loads(open(file).read())\n"
    "        assert add(a, b) == c\n"
)
GLOB = LOOP.format("sorted(Path('data').glob('*.json'))")
OWN_FOLDER = LOOP.format("(Path(__file__).parent / 'cases').iterdir()")
LISTDIR = LOOP.format("os.listdir('samples')")
TWO, WRONG = "[2, 3, 5]\n", "[2, 3, -1]\n"
NODE = (
    "const fs = require('fs');\nconst { add } = require('./calc');\ntest('cases', () => {\n"
    "  for (const file of fs.readdirSync('testdata')) {\n"
    "    const [a, b, c] = JSON.parse(fs.readFileSync(`testdata/${file}`));\n"
    "    expect(add(a, b)).toBe(c);\n  }\n});\n"
)
SHELL = (
    "for case in samples/*.in; do\n  ./calc.sh <$case | diff - ${case%.in}.ans || exit 1\ndone\n"
)
VALID = (
    "import json\nfrom pathlib import Path\n\n\ndef test_levels():\n"
    "    for file in Path('levels').glob('*.json'):\n        assert json.loads(file.read_text())\n"
)
T = "test_calc.py"


def a_case(
    test: str, old: str, changed: dict[str, str | None], goal: str = "", **more: str
) -> Case:
    base = {**ADD, **more, T: test, old: TWO, "data/other/zero.json": "[0, 0, 0]\n"}
    return Case(PYTEST, base, changed, where=old, goal=goal)


LISTED: dict[str, Case] = {
    "an edited case that a test finds by a pattern": a_case(
        GLOB, "data/two.json", {"data/two.json": WRONG}
    ),
    "a case that moved out of the pattern": a_case(
        GLOB, "data/two.json", {"data/two.json": None, "data/later/two.json": TWO}
    ),
    "a deleted case": a_case(GLOB, "data/two.json", {"data/two.json": None}),
    "an edited case of listdir": a_case(LISTDIR, "samples/two.case", {"samples/two.case": WRONG}),
    "an edited case in a folder of a case": a_case(
        LISTDIR, "samples/two/in.json", {"samples/two/in.json": WRONG}
    ),
    "a case beside the test that moved": Case(
        PYTEST,
        {**ADD, "tests/test_calc.py": OWN_FOLDER, "tests/cases/two.json": TWO},
        {"tests/cases/two.json": None, "tests/cases/later/two.json": TWO},
        where="tests/cases/two.json",
    ),
    "an edited case of readdirSync": Case(
        "npx jest",
        {"calc.js": "", "calc.test.js": NODE, "testdata/two.json": TWO},
        {"testdata/two.json": WRONG},
        where="testdata/two.json",
    ),
    "an edited case of a shell script": Case(
        "sh check.sh",
        {"calc.sh": "echo 5\n", "check.sh": SHELL, "samples/two.ans": "5\n"},
        {"samples/two.ans": "1\n"},
        where="samples/two.ans",
    ),
}

UNLISTED: dict[str, Case] = {
    "a new case": a_case(GLOB, "data/two.json", {"data/three.json": "[1, 2, 3]\n"}),
    "a file of another folder": a_case(
        GLOB, "data/two.json", {"info/two.json": WRONG}, **{"info/two.json": TWO}
    ),
    "data of the program": a_case(
        GLOB,
        "data/two.json",
        {"data/two.json": WRONG},
        **{"load.py": "def load(name):\n    return open('data/' + name).read()\n"},
    ),
    "data that tests only examine": Case(
        PYTEST, {**ADD, T: VALID, "levels/one.json": "[1]\n"}, {"levels/one.json": "[1, 2]\n"}
    ),
    "a case that the goal names": a_case(
        GLOB, "data/two.json", {"data/two.json": WRONG}, goal="Correct the values in two.json."
    ),
    "a case that the goal removes": a_case(
        GLOB, "data/two.json", {"data/two.json": None}, goal="Remove data/two.json."
    ),
    "prose beside the cases": a_case(
        GLOB, "data/two.json", {"data/README.md": "new\n"}, **{"data/README.md": "old\n"}
    ),
}
