"""Commands that tests start: the arguments, and the output that the tests expect."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import PurePosixPath

from yaoki.core.lazy_dataclass import dataclass
from yaoki.formats.quality.gaming.expectations import (
    assigned_names,
    parameter_rows,
    resolve_name,
)
from yaoki.formats.quality.gaming.javascript import ENDS, Token, closing, read_literal, tokens_of
from yaoki.formats.quality.gaming.literals import UNKNOWN, Literal, leaves, python_literal
from yaoki.formats.quality.python import parse_python
from yaoki.formats.quality.python_suites import last_name

_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
_STARTS = frozenset({"run", "check_output", "Popen", "getoutput", "popen", "getstatusoutput"})
_JS_STARTS = frozenset({"execFileSync", "spawnSync", "execSync", "execFile", "exec", "spawn"})
_JS_EQUAL = frozenset({"equal", "strictEqual", "deepEqual", "deepStrictEqual", "is"})
_JS_MATCHERS = frozenset({"toBe", "toEqual", "toStrictEqual", "toContain"})
_OTHER_RESULTS = frozenset({"returncode", "stderr", "status", "code"})
_EQUAL_CALLS = frozenset({"assertEqual", "assertEquals", "assertIn"})
_PROGRAM_ENDS = (".py", *ENDS)
_NAMES_MAX = 50


@dataclass(frozen=True, slots=True)
class CommandRun:
    """`program` is empty if the test does not name its file; `words` include the standard input."""

    program: str
    words: tuple[str, ...]
    output: str


@lru_cache(maxsize=256)
def read_command_runs(path: str, text: str) -> tuple[CommandRun, ...]:
    try:
        if path.endswith(".py"):
            tree = parse_python(text)
            return tuple(_of_module(tree)) if tree is not None else ()
        return tuple(_of_tokens(tokens_of(path, text))) if path.endswith(ENDS) else ()
    except RecursionError:
        return ()


def printed_text(value: Literal) -> str:
    """The output that the program prints for these arguments, without space around it."""
    if isinstance(value, float):
        return str(int(value)) if value == int(value) else repr(value)
    return value.strip() if isinstance(value, str) else ""


def _a_run(words: Sequence[str], output: Literal) -> Iterator[CommandRun]:
    texts = [printed_text(one) for one in leaves(output) if isinstance(one, str)]
    text = printed_text(output) or next(filter(None, texts), "")
    programs = [n for n, word in enumerate(words) if word.endswith(_PROGRAM_ENDS)]
    first = programs[0] + 1 if programs else 0
    program = PurePosixPath(words[first - 1]).name if programs else ""
    if text and words[first:]:
        yield CommandRun(program, tuple(words[first:]), text)


# ------------------------------------------------------------------ Python


def _of_module(tree: ast.Module) -> Iterator[CommandRun]:
    constants = assigned_names(tree.body)
    functions = [node for node in ast.walk(tree) if isinstance(node, _FUNCTION)]
    helpers = {one.name: one for one in functions if _starts(one)}
    for test in functions:
        names = {**constants, **_all_assigned(test)}
        rows = [row for one in test.decorator_list for row in parameter_rows(one, names)]
        for row in rows or [{}]:
            yield from _of_test(test, {**names, **row}, helpers)


def _all_assigned(test: ast.AST) -> dict[str, ast.expr]:
    """Also `code, out = run(…)`: each of the names stands for the call."""
    names: dict[str, ast.expr] = {}
    for node in ast.walk(test):
        if isinstance(node, ast.Assign):
            targets = [one for target in node.targets for one in ast.walk(target)]
            names |= {one.id: node.value for one in targets if isinstance(one, ast.Name)}
    return names


def _starts(function: ast.AST) -> bool:
    calls = (one for one in ast.walk(function) if isinstance(one, ast.Call))
    return any(last_name(one.func) in _STARTS and _is_process_call(one) for one in calls)


def _is_process_call(call: ast.Call) -> bool:
    module = call.func.value if isinstance(call.func, ast.Attribute) else None
    named = isinstance(module, ast.Name) and module.id in ("subprocess", "os", "sp")
    return named or (isinstance(call.func, ast.Name) and call.func.id != "run")


def _of_test(
    test: ast.AST, names: Mapping[str, ast.expr], helpers: Mapping[str, ast.AST]
) -> Iterator[CommandRun]:
    for node in ast.walk(test):
        match node:
            case ast.Compare(left=left, ops=[ast.Eq() | ast.In()], comparators=[right]):
                pairs = ((left, right), (right, left))
            case ast.Call(func=func, args=[left, right, *_]) if last_name(func) in _EQUAL_CALLS:
                pairs = ((left, right), (right, left))
            case _:
                continue
        for subject, expected in pairs:
            output = python_literal(resolve_name(expected, names))
            call = _command(subject, names, helpers) if output is not UNKNOWN else None
            if call is not None:
                yield from _a_run(list(_words(call, names)), output)


def _command(
    node: ast.expr, names: Mapping[str, ast.expr], helpers: Mapping[str, ast.AST]
) -> ast.Call | None:
    """The call that starts the program, in whatever the test makes of its output."""
    pending: list[ast.AST] = [node]
    for _ in range(_NAMES_MAX):
        if not pending:
            break
        one = pending.pop(0)
        if isinstance(one, ast.Attribute) and one.attr in _OTHER_RESULTS:
            return None
        if isinstance(one, ast.Call):
            name = last_name(one.func)
            if (name in _STARTS and _is_process_call(one)) or name in helpers:
                return one
        if isinstance(one, ast.Name) and one.id in names:
            pending.append(names[one.id])
        pending += ast.iter_child_nodes(one)
    return None


def _words(call: ast.Call, names: Mapping[str, ast.expr]) -> Iterator[str]:
    """The literal words of the command; other parts of it are left out."""
    texts = [one.value for one in call.keywords if one.arg in ("input", "text", "stdin")]
    for node in (*call.args, *texts):
        value = resolve_name(node, names)
        is_list = isinstance(value, ast.List | ast.Tuple)
        for part in value.elts if isinstance(value, ast.List | ast.Tuple) else [value]:
            inner = part.value if isinstance(part, ast.Starred) else part
            word = python_literal(resolve_name(inner, names))
            parts = word if isinstance(word, tuple) and word[:1] != ("constant",) else [word]
            for text in parts:
                if isinstance(text, str):
                    yield from [text] if is_list else text.split()


# ------------------------------------------------------------------ JavaScript


def _of_tokens(tokens: Sequence[Token]) -> Iterator[CommandRun]:
    bound: dict[str, list[str]] = {}
    for at, token in enumerate(tokens[:-2]):
        follows = tokens[at + 1].text == "("
        if token.text in _JS_STARTS and follows:
            words = list(_js_words(tokens[at + 2 : closing(tokens, at + 1)]))
            bound |= dict.fromkeys(_bound_names(tokens, at), words)
        elif token.text in _JS_EQUAL and follows:
            end = _argument_end(tokens, at + 2)
            yield from _js_run(tokens[at + 2 : end], read_literal(tokens, end + 1)[0], bound)
        elif token.text == "expect" and follows:
            end = closing(tokens, at + 1)
            if any(one.text in _JS_MATCHERS for one in tokens[end + 1 : end + 3]):
                output = read_literal(tokens, end + 4)[0]
                yield from _js_run(tokens[at + 2 : end], output, bound)


def _js_words(tokens: Sequence[Token]) -> Iterator[str]:
    """`encoding: 'utf8'` and the like are options, not words."""
    for at, token in enumerate(tokens):
        before = tokens[at - 1].text if at else ""
        key = tokens[at - 2].text if at > 1 else ""
        if isinstance(token.literal, str) and (before != ":" or key == "input"):
            yield from token.literal.split()


def _bound_names(tokens: Sequence[Token], at: int) -> Iterator[str]:
    """`const out = String(execFileSync(…))`, `const { stdout } = spawnSync(…)`."""
    start = at
    while start and tokens[start].text not in (";", "const", "let", "var", "return", "=>"):
        start -= 1
    equals = [n for n in range(start, at) if tokens[n].text == "="]
    if equals and tokens[start].text in ("const", "let", "var"):
        yield from (one.text for one in tokens[start + 1 : equals[0]] if one.kind == "name")


def _argument_end(tokens: Sequence[Token], at: int) -> int:
    while at < len(tokens) and tokens[at].text not in (",", ")"):
        at = closing(tokens, at) + 1 if tokens[at].text in ("(", "[", "{") else at + 1
    return at


def _js_run(
    subject: Sequence[Token], output: Literal, bound: Mapping[str, list[str]]
) -> Iterator[CommandRun]:
    names = [one.text for one in subject if one.kind == "name"]
    if output is UNKNOWN or _OTHER_RESULTS.intersection(names):
        return
    starts = [at for at, one in enumerate(subject) if one.text in _JS_STARTS]
    if starts:
        yield from _a_run(list(_js_words(subject[starts[0] + 1 :])), output)
    elif known := next((bound[name] for name in names if name in bound), None):
        yield from _a_run(known, output)
