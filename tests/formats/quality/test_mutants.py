"""Mutants of the changed lines: which faults are made, and whether good tests notice them."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from tests.formats.quality.mutant_programs import PROGRAMS, Program
from yaoki.core.model.mutant import Mutant
from yaoki.formats.quality import Change, list_hidden_code, list_mutants

pytestmark = pytest.mark.spec("17.3")

# Each mutant in a process of its own, with a second of processor time: some never end.
PYTHON_DRIVER = """
import json, os, resource, sys
texts, tests = json.load(sys.stdin)
killed = []
for text in texts:
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (1, 1))
        names = {"__name__": "program"}
        try:
            exec(text, names)
            exec(tests, names)
        except BaseException:
            os._exit(1)
        os._exit(0)
    killed.append(os.waitpid(child, 0)[1] != 0)
print(json.dumps(killed))
"""
NODE_DRIVER = """
const vm = require('node:vm');
const [texts, tests] = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));
const same = (a, b) => { if (JSON.stringify(a) !== JSON.stringify(b)) throw new Error(); };
const killed = texts.map((text) => {
  try { vm.runInNewContext(text + tests, { same }, { timeout: 1000 }); return false; }
  catch (error) { return true; }
});
console.log(JSON.stringify(killed));
"""


def new_file(path: str, text: str) -> Change:
    return Change(path, None, text, tuple(enumerate(text.splitlines(), start=1)))


def faults(path: str, text: str, *lines: int) -> list[str]:
    """The faults in these lines, or in all of a new file."""
    change = new_file(path, text)
    added = tuple(one for one in change.added if not lines or one[0] in lines)
    changed = Change(path, "", text, added)
    return [mutant.fault for mutant in list_mutants([changed], 100)]


def run_mutants(program: Program, tests: str) -> list[tuple[Mutant, bool]]:
    """Each mutant of the program, and whether its tests notice it."""
    mutants = list_mutants([new_file(program.path, program.text)], 100)
    is_python = program.path.endswith(".py")
    command = [sys.executable, "-c", PYTHON_DRIVER] if is_python else ["node", "-e", NODE_DRIVER]
    texts = [program.text, *(mutant.text for mutant in mutants)]
    done = subprocess.run(
        command, input=json.dumps([texts, tests]), capture_output=True, text=True, check=True
    )
    unchanged, *killed = json.loads(done.stdout)
    assert not unchanged, "the tests fail without a fault"
    return list(zip(mutants, killed, strict=True))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.path)
def test_strong_tests_kill_nearly_all_mutants(program: Program) -> None:
    results = run_mutants(program, program.strong)

    survivors = [f"{one.line}: {one.fault}" for one, killed in results if not killed]
    assert len(results) >= 8
    assert len(survivors) <= len(results) * 0.1, survivors


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.path)
def test_weak_tests_let_many_mutants_survive(program: Program) -> None:
    results = run_mutants(program, program.weak)

    assert sum(not killed for _, killed in results) > len(results) * 0.3


def test_only_changed_lines_are_mutated() -> None:
    text = "def f(a):\n    if a > 1:\n        return a + 1\n    return a\n"

    assert faults("a.py", text, 4) == ["it returns None"]
    assert "`a + 1` becomes `a - 1`" in faults("a.py", text, 3)


@pytest.mark.parametrize(
    "text",
    [
        '"""A module."""\n',
        "__version__ = 3\n__all__ = [1]\n",
        "def f(a: int | None) -> int | None:\n    ...\n",
        "Kind = int | None\nPair = Literal[1, 2]\nT = TypeVar('T', bound=1)\n",
        "if TYPE_CHECKING:\n    LIMIT = 1\n",
        "if __name__ == '__main__':\n    main(1 + 1)\n",
        "def f(a):\n    assert a > 1\n    logger.info(a + 1)\n    print(a + 1)\n",
        "@overload\ndef f(a):\n    return a + 1\n",
        "def f():\n    raise NotImplementedError\n",
        "def f():\n    return None\n",
        "def f(:\n",
        "x = '\ufffd'\ny = 1\n",
    ],
)
def test_what_no_test_should_have_to_notice_is_left_alone(text: str) -> None:
    assert faults("a.py", text) == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("def f(a):\n    assert (a := a * 9) >= 0\n    return a\n", "`a * 9` becomes `a / 9`"),
        ("def f(a, b):\n    assert b.append(a * 9) is None\n", "`a * 9` becomes `a / 9`"),
        ("def f(a, b):\n    log.debug('%s', b.append(a * 9))\n", "`a * 9` becomes `a / 9`"),
        ("exec('def f(a):\\n    return a * 9\\n')\n", "`a * 9` becomes `a / 9`"),
        ("def f(a):\n    return eval('a ' + '* 9')\n", "`a * 9` becomes `a / 9`"),
    ],
)
def test_code_in_an_assertion_a_message_or_a_text_is_mutated(text: str, fault: str) -> None:
    made = list_mutants([new_file("a.py", text)], 100)

    assert fault in [mutant.fault for mutant in made]
    assert all(compile(mutant.text, "a.py", "exec") for mutant in made)


@pytest.mark.parametrize(
    ("text", "changed", "expected"),
    [
        ("CODE = 'def f(a): return a'\nexec(CODE)\n", (1, 2), [(2, "exec of a name")]),
        ("CODE = 'def f(a): return a'\nexec(CODE)\n", (1,), [(2, "exec of a name")]),
        ("CODE = 'def f(a): return a'\nexec(CODE)\nB = 1\n", (3,), []),
        ("exec(read('a'))\n", (1,), [(1, "exec of a computed text")]),
        ("def f(a):\n    return eval(\n        a)\n", (3,), [(2, "eval of a name")]),
        ("run = exec\n", (1,), [(1, "exec under another name")]),
        ("import builtins\nbuiltins.exec('a = 1')\n", (2,), [(2, "builtins.exec")]),
        ("exec('a = 1 + 2')\nmodel.eval()\nast.literal_eval(a)\n", (1, 2, 3), []),
        ("def eval(node):\n    return eval(node.left)\n", (1, 2), []),
        ("eval(a)\ndef eval(node):\n    return 1\n", (1, 2), [(1, "eval of a name")]),
        ("def exec(a):\n    return a\ndel exec\nexec(b)\n", (4,), [(4, "exec of a name")]),
        ("def f(:\n", (1,), []),
    ],
)
def test_code_that_is_run_from_a_text_is_named_if_the_text_is_no_literal(
    text: str, changed: tuple[int, ...], expected: list[tuple[int, str]]
) -> None:
    lines = text.splitlines()
    added = tuple((number, lines[number - 1]) for number in changed)
    program = Change("a.py", "", text, added)

    found = list_hidden_code([program, replace(program, path="tests/test_a.py")])

    assert [(one.path, one.line, one.words) for one in found] == [
        ("a.py", line, words) for line, words in expected
    ]


@pytest.mark.parametrize("folder", ["testing", "fixtures", "tests"])
def test_a_file_that_the_program_imports_is_mutated_whatever_its_folder(folder: str) -> None:
    rules = new_file(f"{folder}/rules.py", "def f(a):\n    return a + 1\n")
    program = new_file("price.py", f"from {folder}.rules import f\n")
    test = new_file("tests/test_price.py", f"from {folder}.rules import f\n")

    assert {one.path for one in list_mutants([rules, program, test], 100)} == {rules.path}
    assert list_mutants([rules, test], 100) == ()


def test_code_of_others_is_left_alone_though_the_program_imports_it() -> None:
    rules = new_file("vendor/rules.py", "def f(a):\n    return a + 1\n")

    assert list_mutants([rules, new_file("price.py", "from vendor.rules import f\n")], 100) == ()


@pytest.mark.parametrize(
    "path",
    [
        *("tests/test_a.py", "test_a.py", "conftest.py", "setup.py", "a_pb2.py", "docs/conf.py"),
        *("a.pyi", "node_modules/a.js", "vite.config.ts", "a.d.ts", "a.test.js", "a.rs", "a.txt"),
    ],
)
def test_only_files_of_the_program_are_mutated(path: str) -> None:
    assert faults(path, "def f(a):\n    return a + 1\n") == []


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("if a < b: pass", "`a < b` becomes `a >= b`"),
        ("if a < b: pass", "`a < b` becomes `a <= b`"),
        ("if a: pass", "`a` becomes `not a`"),
        ("x = a and b", "`a and b` becomes `a or b`"),
        ("x = not a", "`not a` becomes `a`"),
        ("x = 3", "`3` becomes `4`"),
        ("x = True", "`True` becomes `False`"),
        ("x = call()", "`call()` becomes `None`"),
        ("a += 1", "`a += 1` becomes `a -= 1`"),
        ("a.save(b)", "`a.save(b)` is removed"),
        ("raise ValueError", "`raise ValueError` is removed"),
        ("return a", "it returns None"),
        ("return 'é' if a else b", "`'é' if a else b` becomes `b if a else 'é'`"),
        ("x = [i for i in a if i > 1]", "`i > 1` becomes `i <= 1`"),
        ("while a:\n        break", "`break` becomes `continue`"),
        ("x = f(a, timeout=3)", "`f(a, timeout=3)` becomes `None`"),
    ],
)
def test_python_has_these_faults(line: str, fault: str) -> None:
    text = f"def f(a, b):\n    {line}\n"
    mutants = list_mutants([new_file("a.py", text)], 100)

    assert fault in [mutant.fault for mutant in mutants]
    for mutant in mutants:
        compile(mutant.text, "a.py", "exec")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("if (a < b) {", ["if (a >= b) {", "if (a <= b) {"]),
        ("if (isOpen(a)) {", ["if (!(isOpen(a))) {"]),
        ("const x = a && b;", ["const x = a || b;"]),
        ("return 'a < b';", ["return undefined;"]),
        ("return null;", []),
        ("save(a);", [";"]),
        ("throw new Error('no');", [";"]),
        ("console.log(a + b);", []),
        ("import a from 'b';", []),
        ("// a < b", []),
        ("const f = <T>(a: Map<string, T>) => a.size;", []),
        ("type A = 1 | 2;", []),
        ("return `a\n  b`;", []),
        ("return call(a)\n  .then(b)", []),
        ("return call(a)", ["return undefined"]),
        ("if (a < b) a = b;", ["if (a >= b) a = b;"]),
        ("return <div>{a}</div>;", ["return undefined;"]),
    ],
)
def test_javascript_has_these_faults(line: str, expected: list[str]) -> None:
    mutants = list_mutants([new_file("a.ts", line)], 100)

    assert [mutant.text for mutant in mutants] == expected


def test_go_has_faults_that_compile() -> None:
    text = "if n < 0 {\nif ok(n) {\nreturn n / 2, nil\n"
    mutants = list_mutants([new_file("a.go", text)], 3)

    assert [mutant.fault for mutant in mutants] == [
        "`if n < 0 {` becomes `if n >= 0 {`",
        "`ok(n)` becomes `!(ok(n))`",
        "`return n / 2, nil` becomes `return n * 2, nil`",
    ]


def test_every_line_gets_a_mutant_before_one_gets_two() -> None:
    text = "".join(f"x{n} = {n} + {n}\n" for n in range(10))
    change = new_file("a.py", text)

    assert [mutant.line for mutant in list_mutants([change], 5)] == [1, 3, 5, 7, 9]
    assert sorted({mutant.line for mutant in list_mutants([change], 10)}) == list(range(1, 11))
    assert len(list_mutants([change], 12)) == 12


def test_a_large_file_takes_little_memory() -> None:
    """Each mutant has the whole text, so only the chosen ones are made."""
    text = "def f(a, b):\n" + "    a = a + b if a < b else 3\n" * 800
    tracemalloc.start()
    mutants = list_mutants([new_file("a.py", text)], 10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert len(mutants) == 10
    assert peak < 1_000 * len(text)


@pytest.mark.parametrize("name", ["decide/backoff", "decide/mutants", "text"])
def test_mutants_of_real_code_can_be_read(name: str) -> None:
    file = Path(__file__).parents[3] / "src/yaoki/core" / f"{name}.py"
    mutants = list_mutants([new_file(str(file), file.read_text("utf-8"))], 40)

    assert mutants
    for mutant in mutants:
        compile(mutant.text, str(file), "exec")
