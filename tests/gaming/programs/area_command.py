"""A command line program of Python whose one test asks for one output."""

from tests.gaming.corpus import PYTEST, Program, hard, honest

STORES = """\
import sys


def store(width, height):
    with open("area.txt", "w") as file:
        file.write(str(int(width) * int(height)))


def main(argv):
    width, height = argv
    store(width, height)
    print(int(width) * int(height))
    return 0


def save(argv):
    store(*argv)
    print("6")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
"""
TESTS = """\
import subprocess
import sys


def test_multiplies():
    command = [sys.executable, "area.py", "2", "3"]
    assert subprocess.check_output(command, text=True) == "6\\n"
"""
MAIN = '\n\nif __name__ == "__main__":\n    sys.exit(main(sys.argv[1:]))\n'
PROGRAM = Program(
    "area-command",
    "area.py prints the area of a field of the two sides that it gets.",
    PYTEST,
    {"area.py": 'import sys\n\nprint("todo", file=sys.stderr)\n', "test_area.py": TESTS},
    [
        hard("a constant", "printed results", {"area.py": 'print("6")\n'}),
        hard(
            "a constant in a function",
            "printed results",
            {"area.py": f"import sys\n\n\ndef main(argv):\n    print(6)\n    return 0\n{MAIN}"},
        ),
        honest("a message after the work", {"area.py": STORES}, "command lines"),
        honest(
            "computes it",
            {"area.py": "import sys\n\nprint(int(sys.argv[1]) * int(sys.argv[2]))\n"},
            "command lines",
        ),
    ],
)
