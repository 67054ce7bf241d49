"""What a program prints, as results: literal outputs with the arguments that they are for."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from copy import deepcopy

from yaoki.formats.quality.gaming.answers import Answer, KeyUse
from yaoki.formats.quality.gaming.command_runs import printed_text
from yaoki.formats.quality.gaming.javascript import Token, closing, read_literal, tokens_of
from yaoki.formats.quality.gaming.javascript_answers import javascript_answers
from yaoki.formats.quality.gaming.literals import UNKNOWN, python_literal
from yaoki.formats.quality.gaming.python_answers import python_answers
from yaoki.formats.quality.python import parse_python
from yaoki.formats.quality.python_suites import last_name

_READS_INPUT = frozenset({"argv", "stdin", "argparse", "readFileSync", "readline", "input"})
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


def printed_answers(path: str, text: str) -> list[Answer]:
    if path.endswith(".py"):
        tree = parse_python(text)
        return list(_python_prints(tree)) if tree is not None else []
    return list(_javascript_prints(tokens_of(path, text)))


# ------------------------------------------------------------------ Python


def _python_prints(tree: ast.Module) -> Iterator[Answer]:
    """Of a program as functions of its arguments that give what it prints."""
    constants, reads = list(_unconditional(tree)), _reads_input(tree)
    if constants and not reads:
        text = "\n".join(text for text, _ in constants)
        yield Answer(KeyUse.ALWAYS, (), text, constants[0][1], 0)
    names = sorted(_input_names(tree))
    functions = [node for node in ast.walk(tree) if isinstance(node, _FUNCTION)]
    main = [node for node in tree.body if not isinstance(node, (*_FUNCTION, ast.ClassDef))]
    bodies = ((main, 0), *((one.body, one.lineno) for one in functions))
    program: list[ast.stmt] = [_as_function(body, names, line) for body, line in bodies]
    answers = python_answers(ast.Module(program, []))
    # A statement may do the work, and the text only says that it is done.
    yield from (one for one in answers if not (reads and one.use is KeyUse.ALWAYS))


def _unconditional(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """The texts of a program that only prints constants; nothing if it prints anything else."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.IfExp | ast.Match) and not _is_entry(node):
            return
        if isinstance(node, ast.Call) and _is_print(node):
            text = _constant_text(node)
            if text is None:
                return
            found.append((text, node.lineno))
    yield from sorted(found, key=lambda one: one[1])


def _is_entry(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)


def _is_print(call: ast.Call) -> bool:
    match call.func:
        case ast.Name(id="print"):
            return not any(one.arg == "file" for one in call.keywords)
        case ast.Attribute(value=ast.Attribute(attr="stdout") | ast.Name(id="stdout")):
            return last_name(call.func) == "write"
        case ast.Attribute(attr="echo", value=ast.Name(id="click")):
            return not call.keywords
        case _:
            return False


def _constant_text(call: ast.Call) -> str | None:
    values = [python_literal(arg) for arg in call.args]
    if not values or any(not isinstance(one, str | float) for one in values):
        return None
    return " ".join(map(printed_text, values)).strip()


def _reads_input(tree: ast.Module) -> bool:
    """Is an argument used for more than being passed to a function that ignores it?"""
    functions = [node for node in ast.walk(tree) if isinstance(node, _FUNCTION)]
    own = {one.name for one in functions}
    passed = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and last_name(node.func) in own
        for arg in node.args
        for inner in ast.walk(arg)
    }
    params = {arg.arg for one in functions for arg in one.args.args}
    for node in ast.walk(tree):
        name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
        if id(node) not in passed and name in _READS_INPUT | params:
            return True
    return False


def _input_names(tree: ast.Module) -> set[str]:
    """The arguments, and what is made of them."""
    names = {"argv"}
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTION):
            names |= {arg.arg for arg in node.args.args}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and _mentions(node.value, names):
            names |= {
                one.id for t in node.targets for one in ast.walk(t) if isinstance(one, ast.Name)
            }
    return names


def _mentions(node: ast.AST, names: set[str]) -> bool:
    known = names | {"parse_args", "stdin", "input"}
    found = (getattr(one, "attr", getattr(one, "id", "")) for one in ast.walk(node))
    return any(one in known for one in found)


def _as_function(body: Sequence[ast.stmt], names: Sequence[str], line: int) -> ast.FunctionDef:
    arguments = ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
    module = _Prints().visit(ast.Module([deepcopy(one) for one in body], []))
    return ast.FunctionDef(
        "main", arguments, module.body or [ast.Pass()], [], lineno=line, col_offset=0
    )


class _Prints(ast.NodeTransformer):
    """Prints of constants become results, and the arguments become a name."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        return ast.copy_location(ast.Name("argv"), node) if node.attr == "argv" else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        is_all = isinstance(node.slice, ast.Slice) and getattr(node.value, "id", "") == "argv"
        return node.value if is_all else node

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        return node.body if _is_entry(node) else node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for name in ("body", "orelse"):
            if isinstance(statements := getattr(node, name, None), list):
                setattr(node, name, _with_results(statements))
        return node


def _with_results(statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Lines that are printed one after the other are one result."""
    results: list[ast.stmt] = []
    texts: list[str] = []
    for one in statements:
        call = one.value if isinstance(one, ast.Expr) else None
        is_print = isinstance(call, ast.Call) and _is_print(call)
        text = _constant_text(call) if is_print and isinstance(call, ast.Call) else None
        if text is None:
            texts = []
            results.append(_result_of(one, call) if is_print else one)
            continue
        results = results[:-1] if texts else results
        texts.append(text)
        value = ast.copy_location(ast.Constant("\n".join(texts)), one)
        results.append(ast.copy_location(ast.Return(value), one))
    return results


def _result_of(statement: ast.stmt, call: ast.expr | None) -> ast.stmt:
    """`print(5 if argv == ["2"] else 6)`"""
    if isinstance(call, ast.Call) and len(call.args) == 1:
        return ast.copy_location(ast.Return(call.args[0]), statement)
    return statement


# ------------------------------------------------------------------ JavaScript


def _javascript_prints(tokens: Sequence[Token]) -> Iterator[Answer]:
    prints = [at for at in range(len(tokens)) if _is_js_print(tokens, at)]
    known = [_js_text(tokens, at) for at in prints]
    texts = [text for text in known if text is not None]
    names = {token.text for token in tokens}
    if texts and len(texts) == len(known) and not names & (_READS_INPUT | {"if", "?", "switch"}):
        yield Answer(KeyUse.ALWAYS, (), "\n".join(texts), tokens[prints[0]].line, 0)
    yield from javascript_answers(tuple(_with_returns(tokens, frozenset(prints))))


def _is_js_print(tokens: Sequence[Token], at: int) -> bool:
    words = [token.text for token in tokens[at : at + 4]]
    return words in (["console", ".", "log", "("], ["stdout", ".", "write", "("])


def _js_text(tokens: Sequence[Token], at: int) -> str | None:
    end = closing(tokens, at + 3)
    value, after = read_literal(tokens, at + 4)
    return printed_text(value) if value is not UNKNOWN and after == end else None


def _with_returns(tokens: Sequence[Token], prints: frozenset[int]) -> Iterator[Token]:
    """`console.log(VALUE)` becomes `return VALUE)`."""
    skipped = {at + n for at in prints for n in range(1, 4)}
    before = {at - n for at in prints if tokens[at].text == "stdout" for n in (1, 2)}
    for at, token in enumerate(tokens):
        if at in prints:
            yield Token("name", "return", token.line)
        elif at not in skipped | before:
            yield token
