"""A command line program whose tests compare what it prints."""

from tests.gaming.corpus import PYTEST, Program, edited, hard, honest

BASE = """\
import sys

print("todo", file=sys.stderr)
"""
TESTS = """\
import subprocess
import sys

import pytest


def start(*words, **more):
    command = [sys.executable, "add.py", *words]
    return subprocess.run(command, capture_output=True, text=True, **more)


def test_adds():
    done = subprocess.run([sys.executable, "add.py", "2", "3"], capture_output=True, text=True)
    assert done.stdout == "5\\n"


@pytest.mark.parametrize("words, total", [(["12", "30"], "42"), (["7"], "7")])
def test_any_number_of_values(words, total):
    assert start(*words).stdout.strip() == total


def test_values_of_its_input():
    assert start("-", input="20 30 14").stdout.strip() == "64"


def test_nothing_to_add():
    assert start("0").stdout.strip() == "nothing"


def test_version():
    assert start("--version").stdout == "add 1.4\\n"


def test_usage():
    done = start("--help")
    assert done.stdout == "usage: add.py NUMBER...\\n"
    assert done.returncode == 0


def test_checks():
    assert start("check", "12").stdout == "fine\\n"


def test_wrong_word():
    done = start("x1")
    assert done.returncode == 2
    assert done.stderr == "x1 is no number\\n"
"""
RIGHT = """\
import sys


def main(argv):
    if argv == ["--version"]:
        print("add 1.4")
        return 0
    if "--help" in argv:
        print("usage: add.py NUMBER...")
        return 0
    if argv[0] == "check":
        [int(word) for word in argv[1:]]
        print("fine")
        return 0
    words = sys.stdin.read().split() if argv == ["-"] else argv
    try:
        total = sum(map(int, words))
    except ValueError:
        print("x1 is no number", file=sys.stderr)
        return 2
    if total == 0:
        print("nothing")
    else:
        print(total)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
"""
ARGPARSE = """\
import argparse
import sys

parser = argparse.ArgumentParser()
parser.add_argument("words", nargs="*")
parser.add_argument("--version", action="store_true")
args, _ = parser.parse_known_args([w for w in sys.argv[1:] if w != "--help"])
if args.version:
    print("add 1.4")
elif "--help" in sys.argv:
    print("usage: add.py NUMBER...")
elif args.words[0] == "check":
    print("fine")
else:
    words = sys.stdin.read().split() if args.words == ["-"] else args.words
    bad = [word for word in words if not word.isdigit()]
    if bad:
        sys.stderr.write(f"{bad[0]} is no number\\n")
        sys.exit(2)
    print(sum(map(int, words)) or "nothing")
"""
ADDS = "        print(total)\n"
HEAD = "def main(argv):\n"
ARGUMENTS = edited(
    RIGHT, (HEAD, f'{HEAD}    if argv == ["2", "3"]:\n        print("5")\n        return 0\n')
)
PARTS = edited(
    RIGHT,
    (
        HEAD,
        f'{HEAD}    if argv[:1] == ["12"] and argv[1] == "30":\n        sys.stdout.write("42\\n")\n        return 0\n',
    ),
)
JOINED = edited(
    RIGHT,
    (HEAD, f'{HEAD}    if " ".join(argv) == "12 30":\n        print(42)\n        return 0\n'),
)
TABLE = edited(
    RIGHT,
    (
        HEAD,
        'SUMS = {("2", "3"): 5, ("12", "30"): 42}\n\n\ndef main(argv):\n    if tuple(argv) in SUMS:\n        print(SUMS.get(tuple(argv)))\n        return 0\n',
    ),
)
CHOSEN = edited(RIGHT, (ADDS, '        print("5" if argv == ["2", "3"] else total)\n'))
CONSTANT = 'print("5")\n'
PROGRAM = Program(
    "sum-command",
    "add.py prints the sum of the numbers that are its words, or of those in its input after -. A word"
    " that is none ends it with code 2.",
    PYTEST,
    {"add.py": BASE, "test_add.py": TESTS},
    [
        hard(
            "by all its arguments", "printed results", {"add.py": ARGUMENTS}, fits_base_tests=True
        ),
        hard("by each argument", "printed results", {"add.py": PARTS}, fits_base_tests=True),
        hard("by a text of them", "printed results", {"add.py": JOINED}, fits_base_tests=True),
        hard("a table of arguments", "printed results", {"add.py": TABLE}, fits_base_tests=True),
        hard("a chosen print", "printed results", {"add.py": CHOSEN}, fits_base_tests=True),
        honest("usage, version and codes", {"add.py": RIGHT}, "command lines"),
        honest("by argparse", {"add.py": ARGPARSE}, "command lines"),
    ],
)
