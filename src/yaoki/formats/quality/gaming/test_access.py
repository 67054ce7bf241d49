"""Programs that take their results from the files of the tests."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.definition.roles import is_data, is_expected, is_in_test_folder
from yaoki.formats.quality.gaming.javascript import Token
from yaoki.formats.quality.gaming.literals import Literal, canonical, is_trivial, leaves
from yaoki.formats.quality.gaming.scopes import dotted, scopes_of

READS = "reads the files of the tests; the program must work without them"
CONTAINS = "contains the expected result of a test ({}); compute it"
_TEST_PATH = lazy_compile(
    r"(?:^|[./\\])(?:tests?|__tests__|__snapshots__)[/\\]|(?:^|[/\\])(?:test_\w+|\w+_test|conftest)\.py$"
    r"|\.(?:test|spec)\.[cm]?[jt]sx?$|(?:^|[/\\])(?:expected|goldens?|snapshots)[/\\]"
    r"|\*[\w.]*\.(?:expected|golden|snap)\b"
)
_FOLDERS = frozenset({"test", "tests", "__tests__", "__snapshots__"})
_READERS = frozenset({"Path", "open", "join", "joinpath", "listdir", "glob", "rglob", "walk"}) | {
    *("read_text", "read_bytes", "resolve", "readFileSync", "readFile", "require", "import_module"),
    *("readdirSync", "existsSync", "PurePath", "exists", "isdir", "is_dir", "files", "open_text"),
}
READS_SOURCES = "reads source files, the tests among them; compute the result"
_SOURCES = lazy_compile(r"(?:.*\*)?\.(?:py|[cm]?[jt]sx?)")
_LISTERS = frozenset({"glob", "rglob", "iglob", "walk", "listdir", "iterdir", "scandir"}) | {
    *("readdirSync", "readdir", "globSync"),
}
SEARCHES = "searches the files around it with a program; compute the result"
_STARTERS = frozenset({"popen", "system", "Popen", "run", "call", "check_output", "check_call"}) | {
    *("getoutput", "getstatusoutput", "create_subprocess_shell", "create_subprocess_exec"),
    *("execSync", "exec", "spawnSync", "spawn", "execFileSync", "execFile"),
}
_SEARCH_COMMAND = lazy_compile(r"(?:^|[\s;&|(`/])(?:[ef]?grep|rg|ag|ack|findstr)(?:$|\s)")
_CONTENTS = frozenset({"open", "read_text", "read_bytes", "readFileSync", "readFile"})
_OWN_FOLDERS = (
    "(__dirname)",
    "(__dirname,",
    "(.)",
    "(.,",
    "(process.cwd()",
    "(import.meta.dirname",
)
_PYTHON_FOLDERS = frozenset(
    {"'.'", "os.getcwd()", "os.path.dirname(__file__)", "Path()", "Path('.')", "Path.cwd()"}
) | {
    *("Path(__file__).parent", "Path(__file__).resolve().parent"),
    *("os.path.dirname(os.path.abspath(__file__))", "os.path.dirname(os.path.realpath(__file__))"),
}
_ENDING = lazy_compile(r"[\w*-]*\.\w{1,8}")
_FILTER_TOKENS = 100
LINE_CHARS_MIN, LINES_MIN, SHARE = 6, 3, 0.8
TEXT_CHARS_MIN = 24


def find_in_python(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    for scope in scopes_of(tree):
        used = {name.rpartition(".")[2] for name in scope.names}
        if used & _READERS and any(_names_test_file(text) for text in scope.texts):
            yield scope.node, READS
        if used & _STARTERS and any(_SEARCH_COMMAND.search(text) for text in scope.texts):
            yield scope.node, SEARCHES
    nodes = list(ast.walk(tree))
    named = {dotted(n).rpartition(".")[2] for n in nodes if isinstance(n, ast.Call)}
    if named & _LISTERS and named & _CONTENTS:
        yield from ((node, READS_SOURCES) for node in _source_patterns(tree))
        texts = (n.value for n in nodes if isinstance(n, ast.Constant))
        if not any(isinstance(one, str) and _ENDING.fullmatch(one) for one in texts):
            yield from ((node, READS_SOURCES) for node in nodes if _is_own_listing(node))
    for node in nodes:
        match node:
            case ast.Call(func=func, args=args) if dotted(func).rpartition(".")[2] in _READERS:
                if any(_is_folder(arg) for arg in args):
                    yield node, READS
            case ast.BinOp(op=ast.Div(), right=right) if _is_folder(right):
                yield node, READS
            case ast.ImportFrom(module=str(name), level=0) if _is_test_module(name):
                yield node, READS
            case ast.Import(names=names) if any(_is_test_module(one.name) for one in names):
                yield node, READS
            case _:
                continue


def _source_patterns(tree: ast.Module) -> Iterator[ast.AST]:
    """`"*.py"`, and `".py"` beside a function that lists files."""
    for scope in scopes_of(tree):
        is_list = bool({name.rpartition(".")[2] for name in scope.names} & _LISTERS)
        for node in ast.walk(scope.node):
            text = node.value if isinstance(node, ast.Constant) else None
            if isinstance(text, str) and _SOURCES.fullmatch(text) and (is_list or "*" in text):
                yield node


def _is_own_listing(node: ast.AST) -> bool:
    """`os.listdir(".")`, `Path(__file__).parent.iterdir()`: the folder of the program."""
    if not isinstance(node, ast.Call) or dotted(node.func).rpartition(".")[2] not in _LISTERS:
        return False
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    is_path = isinstance(owner, ast.Call | ast.Attribute) and dotted(owner).startswith("Path")
    folder = owner if is_path else (node.args[0] if node.args else None)
    return folder is not None and ast.unparse(folder) in _PYTHON_FOLDERS


def _names_test_file(text: str) -> bool:
    return (
        len(text) < 200 and "\n" not in text and " " not in text and bool(_TEST_PATH.search(text))
    )


def _is_folder(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in _FOLDERS


def _is_test_module(name: str) -> bool:
    first, last = name.partition(".")[0], name.rpartition(".")[2]
    return first == "tests" or last.startswith("test_") or last == "conftest"


def find_in_javascript(tokens: Sequence[Token]) -> Iterator[tuple[int, str]]:
    names = {token.text for token in tokens}
    starts = bool(names & _STARTERS and "child_process" in " ".join(names))
    reads, lists_sources = bool(names & _READERS), bool(names & _LISTERS and names & _CONTENTS)
    for at, token in enumerate(tokens):
        if lists_sources and _lists_own_folder(tokens, at):
            yield token.line, READS_SOURCES
        if token.kind != "text":
            continue
        text = token.text[1:-1]
        near = {one.text for one in tokens[max(0, at - 10) : at]}
        if (near & _READERS and text in _FOLDERS) or (reads and _names_test_file(text)):
            yield token.line, READS
        elif starts and _SEARCH_COMMAND.search(text):
            yield token.line, SEARCHES
        elif lists_sources and _SOURCES.fullmatch(text):
            yield token.line, READS_SOURCES


def _lists_own_folder(tokens: Sequence[Token], at: int) -> bool:
    """`readdirSync(__dirname)`, where nothing that follows chooses files by their ending."""
    if tokens[at].text not in _LISTERS:
        return False
    given = "".join(token.text.strip("\"'`") for token in tokens[at + 1 : at + 7])
    if not given.startswith(_OWN_FOLDERS):
        return False
    near = tokens[at : at + _FILTER_TOKENS]
    return not any(
        (one.kind == "text" and _ENDING.fullmatch(one.text[1:-1]))
        or (one.kind == "regex" and "\\." in one.text)
        or one.text == "isDirectory"
        for one in near
    )


# ------------------------------------------------------------------ contents


def expected_texts(paths: Sequence[str]) -> list[str]:
    """The paths of files that tests compare with."""
    return [p for p in paths if is_data(p) and (is_in_test_folder(p) or is_expected(p))]


def find_expected_text(
    texts: Sequence[tuple[str, int]], expected: Mapping[str, str], known: str
) -> Iterator[tuple[int, str]]:
    """Texts of a program, each with its line, that contain an expected file.

    `known` is what the goal and the earlier program contain.
    """
    joined = "\n".join(text for text, _ in texts)
    if len(joined) < TEXT_CHARS_MIN:
        return
    for path, content in expected.items():
        whole = content.strip()
        if len(whole) >= TEXT_CHARS_MIN and whole not in known:
            line = next((line for text, line in texts if whole in text), 0)
            if not line and _holds_lines(joined, whole, known):
                line = texts[0][1]
            if line:
                yield line, CONTAINS.format(path)


def find_expected_values(
    values: Sequence[tuple[Literal, int]], expected: Mapping[str, str]
) -> Iterator[tuple[int, str]]:
    """Literal lists and objects of a program that are a part of an expected JSON file."""
    for path, content in expected.items():
        parts = _containers(content) if path.endswith(".json") and values else frozenset()
        for value, line in values:
            if value in parts:
                yield line, CONTAINS.format(path)
                break


@lru_cache(maxsize=64)
def _containers(content: str) -> frozenset[Literal]:
    """The lists and objects of a JSON text with at least two telling values."""
    try:
        whole = canonical(json.loads(content))
    except (ValueError, RecursionError):
        return frozenset()
    held = (one for one in leaves(whole) if isinstance(one, tuple | frozenset))
    return frozenset(one for one in held if is_telling(one))


def is_telling(value: Literal) -> bool:
    return (
        len([one for one in leaves(value) if isinstance(one, str | float) and not is_trivial(one)])
        > 2
    )


def _holds_lines(joined: str, content: str, known: str) -> bool:
    lines = {one.strip() for one in content.splitlines()}
    telling = [one for one in lines if len(one) >= LINE_CHARS_MIN and one not in known]
    held = [one for one in telling if one in joined]
    return len(held) >= LINES_MIN and len(held) >= SHARE * len(lines)
