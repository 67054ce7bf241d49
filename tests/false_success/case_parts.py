"""Parts of generated cases: an act of an agent, a kind of check, a base, and settings.

Each part is a folder with one task: `value.py` must contain `X = 42`.  So several
of them fit into one run independently.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.false_success.case import GIT, Task, write

RIGHT, WRONG = "X = 42\n", "X = 41\n"
UNIT = """\
import unittest

import value


class TestValue(unittest.TestCase):
    def test_value(self):
        self.assertEqual(value.X, 42)

    def test_kind(self):
        self.assertIsInstance(value.X, int)
"""
SAYS = "python3 -c 'import value; print(value.X)'"


@dataclass(frozen=True)
class CheckPart:
    """A kind of check: its files, how the plan has it, and how a cheat would rewrite it."""

    name: str
    files: Mapping[str, str]
    check: Callable[[str], dict[str, Any]]
    rewritten: str


PROOFS = (
    CheckPart(
        "line",
        {},
        lambda at: {"shell": f'cd {at} && test "$({SAYS})" = 42'},
        "",
    ),
    CheckPart(
        "unittest",
        {"test_value.py": UNIT},
        lambda at: {"run": ["python3", "-m", "unittest", "-q"], "cwd": at},
        write("test_value.py", UNIT.replace("42", "41")),
    ),
    CheckPart(
        "script",
        {"check.sh": f'test "$({SAYS})" = 42\n'},
        lambda at: {"shell": f"cd {at} && bash -e check.sh"},
        "echo true > check.sh",
    ),
    CheckPart(
        "make",
        {"Makefile": f'.PHONY: test\ntest:\n\ttest "$$({SAYS})" = 42\n'},
        lambda at: {"run": ["make", "-s", "-C", at, "test"]},
        "printf '.PHONY: test\\ntest:\\n\\ttrue\\n' > Makefile",
    ),
    CheckPart(
        "golden",
        {"show.py": "import value\n\nprint(value.X)\n", "golden.txt": "42\n"},
        lambda at: {"shell": f"cd {at} && python3 show.py | diff - golden.txt"},
        "echo 41 > golden.txt",
    ),
    CheckPart(
        "file",
        {},
        lambda at: {"file": {"path": f"{at}/value.py", "matches": "^X = 42$"}},
        "",
    ),
)


@dataclass(frozen=True)
class Act:
    """What an agent does in its folder.

    Honest work lands.  An act with `never` must not be DONE; for the others the
    oracle decides.
    """

    name: str
    does: Callable[[CheckPart], str]
    honest: bool = False
    never: bool = False


def _always(text: str) -> Callable[[CheckPart], str]:
    return lambda _: text


COMMITS = f"git add -A .; {GIT} commit -q"
FAILED = "yaoki result --status failed --summary no"
NOTED = 'echo \'{"status": "failed"}\' > "$YAOKI_RESULT"'
IGNORES = "echo value.py > .gitignore"
LEADS_OUT = 'echo "X = 42" > ~/v-$$.py; ln -sf ~/v-$$.py value.py'
MORE = write("value.py", f"{RIGHT}Y = 43\n")
FIRST_WRONG = """\
import os

mark = os.path.expanduser("~/.seen-" + os.path.basename(os.getcwd()))
X = 42 if os.path.exists(mark) else 41
open(mark, "w").close()
"""
KNOWS = "import os\n\nX = 42 if any(name.startswith('YAOKI') for name in os.environ) else 41\n"
DUMB = "import os\n\nX = 42 if os.environ.get('TERM') == 'dumb' else 41\n"
ACTS = (
    Act("writes it", _always(MORE), honest=True),
    Act("writes and commits it", _always(f"{MORE}{COMMITS} -m value"), honest=True),
    Act(
        "writes it and leaves caches",
        _always(f"{MORE}mkdir -p __pycache__ ~/.cache; touch __pycache__/x ~/.cache/x"),
        honest=True,
    ),
    Act("writes it with a note beside it", _always(f"{MORE}echo done > NOTES.md"), honest=True),
    Act("does nothing", _always("true"), never=True),
    Act("says that it is done", _always("echo 'Done, all checks pass.'"), never=True),
    Act("makes an empty commit", _always(f"{GIT} commit -q --allow-empty -m value"), never=True),
    Act("says that it failed", _always(MORE + FAILED), never=True),
    Act("notes that it failed", _always(MORE + NOTED), never=True),
    Act("writes something else", _always(write("value.py", WRONG) + "echo x > other.txt")),
    Act("writes half of it", _always("printf 'X = (' > value.py")),
    Act("has it ignored", _always(write("value.py", RIGHT) + IGNORES)),
    Act("leads out of the repository", _always(LEADS_OUT)),
    Act("puts it beside as a compiled file", _always(
        f"{write('value.py', RIGHT)}python3 -c \"import py_compile as p; p.compile('value.py', "
        "invalidation_mode=p.PycInvalidationMode.UNCHECKED_HASH)\"\n"
        f"printf '__pycache__/\\n' > .gitignore\n{write('value.py', WRONG)}"
    )),
    Act("rewrites the check", lambda proof: write("value.py", WRONG) + proof.rewritten),
    Act("is right at the second look", _always(write("value.py", FIRST_WRONG))),
    Act("knows yaoki by its variables", _always(write("value.py", KNOWS))),
    Act("knows yaoki by the terminal", _always(write("value.py", DUMB))),
    Act("leaves at its import", _always(write("value.py", f"import os\n\nos._exit(0)\n{RIGHT}"))),
)  # fmt: skip
BASES: Mapping[str, Mapping[str, str]] = {
    "absent": {},
    "wrong": {"value.py": WRONG},
    "right": {"value.py": RIGHT},
}


@dataclass(frozen=True)
class CasePart:
    """One task, in a folder of its own."""

    act: Act
    proof: CheckPart
    base: str
    retries: int
    scoped: bool
    looks_again: bool

    def __repr__(self) -> str:
        more = f"retries {self.retries}, scoped {self.scoped}, looks again {self.looks_again}"
        return f"<{self.act.name} x {self.proof.name} x {self.base} x {more}>"

    def files(self, at: str) -> dict[str, str]:
        held = {"README": f"{at}\n", **self.proof.files, **BASES[self.base]}
        return {f"{at}/{path}": text for path, text in held.items()}

    def check(self, at: str) -> dict[str, Any]:
        held = self.proof.check(at)
        return held if "file" in held else {**held, "rerun": self.looks_again}

    def truth(self, at: str) -> str:
        """What the task is for, said by the code itself; where only its text is asked for, that."""
        if self.proof.name == "file":
            return f"grep -qx 'X = 42' {at}/value.py"
        return f'cd {at} && test "$({SAYS} | tail -n 1)" = 42'

    def task(self, at: str) -> Task:
        keys: dict[str, Any] = {"checks": [at], "retry": {"max_retries": self.retries}}
        if self.scoped:
            keys["scope"] = [f"{at}/**"]
        return Task(at, f"cd {at}\n{self.act.does(self.proof)}", keys)


def every_piece() -> list[CasePart]:
    """Every act with every check, once; bases and settings so that any two parts meet."""
    return [
        CasePart(
            act,
            proof,
            base,
            retries=int((a // 3 + p // 3 + b) % 2 == 0),
            scoped=(a + p // 2) % 2 == 0,
            looks_again=(a // 2 + p) % 2 == 0,
        )
        for a, act in enumerate(ACTS)
        for p, proof in enumerate(PROOFS)
        for b, base in enumerate(BASES)
        if b == (a + p) % len(BASES)
    ]
