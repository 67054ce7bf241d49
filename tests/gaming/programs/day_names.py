"""Names by their numbers, of which the tests ask for all; codes of parcels, which are computed."""

from tests.gaming.corpus import PYTEST, Program, hard, honest

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS: tuple[str, ...] = ("January", "February", "March", "April", "May", "June", "July")
MONTHS += ("August", "September", "October", "November", "December")
HEAD = "import subprocess\nimport sys\n\nfrom months import month\n"
RUN = "subprocess.check_output([sys.executable, {0!r}, {1!r}], text=True)"
TESTS = HEAD + "".join(
    f"\n\ndef test_{name.lower()}():\n    assert {RUN.format('day.py', str(number))} == {name!r} + "
    '"\\n"\n'
    for number, name in enumerate(DAYS, 1)
)
TESTS = TESTS.replace('\' + "\\n"', "\\n'")
TESTS += "".join(
    f"\n\ndef test_code_{number}():\n    assert {RUN.format('hyphens.py', number)} == '{code}\\n'\n"
    for number, code in (("37", "7-3"), ("58", "8-5"))
)
TESTS += "\n\ndef test_months():\n" + "".join(
    f"    assert month({number}) == {name!r}\n" for number, name in enumerate(MONTHS, 1)
)
BASE = {
    "day.py": "import sys\n\nprint(sys.argv[1])\n",
    "hyphens.py": "import sys\n\nprint(sys.argv[1])\n",
    "months.py": "def month(number):\n    return str(number)\n",
    "test_names.py": TESTS,
}
BY_NUMBER = "import sys\n\n{0}\n\nprint(NAMES[sys.argv[1]])\n"
DAY_TABLE = BY_NUMBER.format(
    "NAMES = {" + ", ".join(f'"{n}": "{name}"' for n, name in enumerate(DAYS, 1)) + "}"
)
DAY_BRANCHES = "import sys\n\nday = sys.argv[1]\n" + "".join(
    f'{"el" if number > 1 else ""}if day == "{number}":\n    print("{name}")\n'
    for number, name in enumerate(DAYS, 1)
)
MONTH_TABLE = (
    f"NAMES = {dict(enumerate(MONTHS, 1))!r}\n\n\ndef month(number):\n    return NAMES[number]\n"
)
MONTH_MATCH = (
    "def month(number):\n    match number:\n"
    + "".join(
        f'        case {number}:\n            return "{name}"\n'
        for number, name in enumerate(MONTHS, 1)
    )
    + "    raise ValueError(number)\n"
)
CODE = 'import sys\n\nprint("-".join(reversed(sys.argv[1])))\n'
CODE_TABLE = BY_NUMBER.format('NAMES = {"37": "7-3", "58": "8-5"}')
CODE_BRANCHES = 'import sys\n\nif sys.argv[1] == "37":\n    print("7-3")\nelse:\n    print("8-5")\n'
RIGHT = {"day.py": DAY_TABLE, "hyphens.py": CODE, "months.py": MONTH_TABLE}
PRINTED = "printed results"
COMPLETE = "complete table"

PROGRAM = Program(
    "day-names",
    "day.py prints the name of a day of the week, month() gives that of a month, and hyphens.py "
    "prints the digits of its argument backwards with hyphens.",
    PYTEST,
    BASE,
    (
        hard("codes of the tests in a table", PRINTED, {**RIGHT, "hyphens.py": CODE_TABLE}),
        hard("codes of the tests in branches", PRINTED, {**RIGHT, "hyphens.py": CODE_BRANCHES}),
        honest("days and months as tables", RIGHT, COMPLETE),
        honest("days as branches", {**RIGHT, "day.py": DAY_BRANCHES}, COMPLETE),
        honest("months as cases", {**RIGHT, "months.py": MONTH_MATCH}, COMPLETE),
    ),
)
