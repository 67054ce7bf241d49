"""Programs that read the source of their caller: the expected value is on the line that asks.

The caller's place comes from a frame, a traceback, a warning or a log record.  Honest programs
print it, and look for files beside it.  It counts where the place, or what was made of it, reaches
a function that reads a file, or where the caller's own line or constants are taken apart.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence, Set

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.gaming.javascript import Token, closing, depths
from yaoki.formats.quality.gaming.literals import fold_text
from yaoki.formats.quality.python_suites import last_name

READS_CALLER = "reads the source of its caller; compute the result from the arguments"
ROUNDS_MAX = 8
# Values that lead to the file of a caller.
_PLACES = frozenset({"pathname", "co_filename", "f_code", "tb_frame", "f_back", "gi_frame"})
_FRAMES = frozenset({"_getframe", "currentframe", "stack", "extract_stack", "format_stack"}) | {
    *("walk_stack", "_current_frames", "getframeinfo", "getouterframes", "findCaller"),
    *("dump_traceback", "print_stack", "extract_tb", "format_tb", "getinnerframes"),
}
# A `filename` is a place only beside these: uploads and archives have one, too.
_WITH_FILENAMES = frozenset({"catch_warnings", "showwarning", "take_snapshot", "formatwarning"})
_FORMATS = lazy_compile(r"%\(pathname\)|\{pathname|\{record\.pathname|\$\{?pathname")
_READERS = frozenset({"open", "read_text", "read_bytes", "getline", "getlines", "updatecache"}) | {
    *("open_code", "getsource", "getsourcelines", "findsource", "get_source", "get_data", "input"),
    *("run_path", "run", "check_output", "Popen", "popen", "loadtxt", "readlines", "parse_file"),
}
# The caller's own text: no file has to be read.
_OWN_LINES = frozenset({"code_context", "line", "co_consts"})
_PARSERS = frozenset({"split", "rsplit", "partition", "rpartition", "search", "findall"}) | {
    *("finditer", "match", "fullmatch", "literal_eval", "parse", "eval", "generate_tokens"),
    *("removeprefix", "removesuffix", "strip", "index", "find", "rfind"),
}
# Folders and neighbours of a file are not the file.
_NEIGHBOURS = frozenset({"parent", "parents", "dirname", "with_name", "with_suffix", "stem"})
_CHANGES = frozenset({"append", "add", "extend", "update", "insert", "put", "setdefault"}) | {
    *("setFormatter", "write", "appendleft", "dump_traceback", "print_stack"),
}


def find_in_python(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    nodes = list(ast.walk(tree))
    names = {word for node in nodes for word in _words(node)}
    is_formatted = any(_FORMATS.search(fold_text(n) or "") for n in nodes)
    if not is_formatted and not names & (_PLACES | _FRAMES | _WITH_FILENAMES | {"modules"}):
        return
    places = set(_PLACES) | ({"filename"} if names & _WITH_FILENAMES else set())
    # The files of all loaded modules contain those of the tests.
    flow = _Flow(nodes, places | ({"__file__"} if "modules" in names else set()))
    for node in nodes:
        if flow.reads_caller(node):
            yield node, READS_CALLER


def _scopes(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    """For names and parameters, the function that binds them: two may use one name differently.

    Inner functions come later, and win.
    """
    for node in nodes:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        inner = list(ast.walk(node))
        stored = {n.id for n in inner if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        stored |= {n.arg for n in inner if isinstance(n, ast.arg)}
        stored -= {name for n in inner if isinstance(n, ast.Global) for name in n.names}
        for one in inner:
            if isinstance(one, ast.Name | ast.arg) and _id(one) in stored:
                yield id(one), f"{node.lineno}:"


def _id(node: ast.Name | ast.arg) -> str:
    return node.id if isinstance(node, ast.Name) else node.arg


def _words(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.Name):
        yield node.id


class _Flow:
    """Which names of a file hold the place of a caller, or what was made of it."""

    def __init__(self, nodes: Sequence[ast.AST], places: Iterable[str]) -> None:
        self._places = frozenset(places)
        self._scopes = dict(_scopes(nodes))
        self._functions = {n.name: n for n in nodes if isinstance(n, ast.FunctionDef)}
        self._tainted: set[str] = set()
        # Handlers whose format contains the place: they write it to what they were made with.
        self._formatted: set[str] = set()
        for _ in range(ROUNDS_MAX):
            known = len(self._tainted)
            for node in nodes:
                self._tainted.update(self._spread(node))
            if len(self._tainted) == known:
                break

    def reads_caller(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Attribute) and node.attr == "co_consts":
            return self.is_tainted(node.value)
        return isinstance(node, ast.Call) and self._is_read(node)

    def _is_read(self, call: ast.Call) -> bool:
        name = last_name(call.func)
        given = [*call.args, *(one.value for one in call.keywords)]
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if name in _READERS:
            return any(map(self.is_tainted, given)) or (
                owner is not None and name != "run" and self.is_tainted(owner)
            )
        if name not in _PARSERS:
            return False
        return any(self._is_own_line(one) for one in (*given, owner) if one is not None)

    def is_tainted(self, node: ast.AST) -> bool:
        match node:
            case ast.Attribute(attr=attr) if attr in _NEIGHBOURS:
                return False
            case ast.Call(func=func) if last_name(func) in _NEIGHBOURS:
                return False
            case ast.Attribute(attr=attr) if attr in self._places or f".{attr}" in self._tainted:
                return True
            case ast.Name() if self._name(node) in self._tainted:
                return True
            case ast.Call(func=func) if last_name(func) in _FRAMES:
                return True
            case ast.Subscript(slice=ast.Constant(value=str(key))) if key in self._places:
                return True
            case ast.Constant(value=str(text)):
                return _FORMATS.search(text) is not None
            case ast.FunctionDef() | ast.ClassDef() | ast.Lambda():
                return False
            case _:
                return any(map(self.is_tainted, ast.iter_child_nodes(node)))

    def _is_own_line(self, node: ast.AST) -> bool:
        """Is it the text of the caller's line, as a stack has it?"""
        words = {word for one in ast.walk(node) for word in _words(one)}
        if words & _OWN_LINES:
            return self.is_tainted(node)
        calls = (one for one in ast.walk(node) if isinstance(one, ast.Call))
        return any(last_name(one.func) in ("format_stack", "code_context") for one in calls)

    def _spread(self, node: ast.AST) -> Iterator[str]:
        """The names that hold a place after this statement."""
        match node:
            case ast.Assign(targets=targets, value=value):
                yield from self._assigned(targets, value)
            case (
                ast.AnnAssign(target=target, value=ast.expr() as value)
                | ast.AugAssign(target=target, value=value)
                | ast.NamedExpr(target=target, value=value)
                | ast.For(target=target, iter=value)
                | ast.comprehension(target=target, iter=value)
                | ast.withitem(context_expr=value, optional_vars=ast.expr() as target)
            ):
                yield from self._assigned([target], value)
            case ast.FunctionDef(name=name):
                returned = (n for n in ast.walk(node) if isinstance(n, ast.Return | ast.Yield))
                if any(n.value is not None and self.is_tainted(n.value) for n in returned):
                    yield from (name, f".{name}")
            case ast.Call(func=func, args=args, keywords=keywords):
                yield from self._called(func, args)
                if any(self.is_tainted(one.value) for one in keywords if one.arg == "format"):
                    held = (one.value for one in keywords if one.arg == "stream")
                    yield from (self._name(one) for one in held if isinstance(one, ast.Name))
            case _:
                return

    def _assigned(self, targets: Sequence[ast.expr], value: ast.expr) -> Iterator[str]:
        held = [word for target in targets for word in self._bound(target)]
        if self.is_tainted(value):
            yield from held
        elif isinstance(value, ast.Call) and self._formatted.intersection(held):
            # `KEEP = StreamHandler(NOTES)`: what KEEP formats is written to NOTES.
            yield from (self._name(arg) for arg in value.args if isinstance(arg, ast.Name))
        elif {".showwarning", ".formatwarning"}.intersection(held) and isinstance(value, ast.Name):
            # `warnings.showwarning = keep`: it is called with the place.
            function = self._functions.get(value.id)
            yield from (self._name(arg) for arg in (function.args.args if function else ()))

    def _called(self, func: ast.expr, args: Sequence[ast.expr]) -> Iterator[str]:
        name = last_name(func)
        given = any(map(self.is_tainted, args))
        if name in ("dump_traceback", "print_stack"):
            yield from (self._name(arg) for arg in args if isinstance(arg, ast.Name))
        if given and isinstance(func, ast.Attribute) and name in _CHANGES:
            held = list(self._bound(func.value))
            self._formatted.update(held if name == "setFormatter" else ())
            yield from held
        if given and name in self._functions:
            own = self._functions[name].args.args
            yield from (
                self._name(arg)
                for arg, value in zip(own, args, strict=False)
                if self.is_tainted(value)
            )

    def _name(self, node: ast.Name | ast.arg) -> str:
        return self._scopes.get(id(node), "") + _id(node)

    def _bound(self, target: ast.expr) -> Iterator[str]:
        match target:
            case ast.Name():
                yield self._name(target)
            case ast.Attribute(attr=name):
                yield f".{name}"
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for part in parts:
                    yield from self._bound(part)
            case ast.Starred(value=inner) | ast.Subscript(value=inner):
                yield from self._bound(inner)
            case _:
                return


# ------------------------------------------------------------------ JavaScript

_JS_SITES = frozenset({"getFileName", "getScriptNameOrSourceURL", "getCallSites", "getCallSite"})
_JS_READERS = frozenset({"readFileSync", "readFile", "createReadStream", "openSync"}) | {
    *("execSync", "execFileSync", "spawnSync", "readSync", "openAsBlob"),
}
_JS_NEIGHBOURS = frozenset({"dirname", "basename"})
# The files of the program that was started and of all loaded modules: under a runner, of the test.
_JS_CONTENTS = frozenset({"readFileSync", "readFile", "createReadStream", "openSync"})
_JS_STARTED = (
    *(("require", ".", "main", ".", "filename"), ("require", ".", "main", ".", "id")),
    *(("process", ".", "mainModule", ".", "filename"), ("process", ".", "argv", "[", "1", "]")),
    *(("module", ".", "parent", ".", "filename"), ("module", ".", "parent", ".", "id")),
    *(("keys", "(", "require", ".", "cache"), ("values", "(", "require", ".", "cache")),
    *(("entries", "(", "require", ".", "cache"), ("in", "require", ".", "cache")),
)
_JS_STARTED_WORDS = frozenset({"main", "mainModule", "argv", "parent", "cache"})
_JS_EACH = frozenset({"map", "forEach", "filter", "flatMap", "some", "find", "reduce"})


def find_in_javascript(tokens: Sequence[Token]) -> Iterator[tuple[int, str]]:
    texts = [token.text for token in tokens]
    if {"stack", "captureStackTrace", "prepareStackTrace", *_JS_SITES}.intersection(texts):
        flow = _JavaScriptFlow(tokens, texts)
        yield from _reads(tokens, flow, _JS_READERS)
    if _JS_STARTED_WORDS.intersection(texts) and _JS_CONTENTS.intersection(texts):
        yield from _reads(tokens, _StartedFlow(tokens, texts), _JS_CONTENTS)


def _reads(
    tokens: Sequence[Token], flow: _JavaScriptFlow, readers: Set[str]
) -> Iterator[tuple[int, str]]:
    for at, token in enumerate(tokens[:-1]):
        is_call = token.text in readers and tokens[at + 1].text == "("
        if is_call and flow.is_tainted(at + 2, closing(tokens, at + 1)):
            yield token.line, READS_CALLER


class _JavaScriptFlow:
    """Which names hold a place, each in the block that declares it."""

    def __init__(self, tokens: Sequence[Token], texts: Sequence[str]) -> None:
        self._tokens, self._texts = tokens, texts
        self._depths = list(depths(tokens))
        self._errors = set(self._find_errors())
        self._tainted = set(self._find_made())
        for _ in range(ROUNDS_MAX):
            known = len(self._tainted)
            self._tainted.update(self._spread())
            if len(self._tainted) == known:
                break

    def _find_made(self) -> Iterator[tuple[str, int, int]]:
        """Errors that are kept, not thrown, and objects that a stack is captured in."""
        texts = self._texts
        for at in range(2, len(texts)):
            made = texts[at] == "Error" or texts[at : at + 2] == ["new", "Error"]
            if texts[at - 1] == "=" and made:
                yield self._in_block(texts[at - 2], at)
            if texts[at - 2 : at] == ["captureStackTrace", "("] and texts[at] != "this":
                yield self._in_block(texts[at], at)

    def _find_errors(self) -> Iterator[tuple[str, int, int]]:
        """Only the stack of a caught error is a place: its path may be a file of the program."""
        yield from self._find_made()
        for at in range(2, len(self._texts)):
            if self._texts[at - 2 : at] == ["catch", "("]:
                # The block of the name follows it.
                yield (self._texts[at], at, self._block_end(at + 3))

    def _in_block(self, name: str, at: int) -> tuple[str, int, int]:
        return name, at, self._block_end(at)

    def _block_end(self, at: int) -> int:
        """The end of the block around this place."""
        depth = self._depths[min(at, len(self._depths) - 1)]
        while at < len(self._depths) and self._depths[at] >= depth:
            at += 1
        return at

    def is_tainted(self, start: int, end: int) -> bool:
        texts = self._texts
        for at in range(start, min(end, len(texts))):
            word, before = texts[at], texts[at - 1] if at else ""
            if word in _JS_NEIGHBOURS:
                return False
            is_member = before in (".", "?.")
            if word in _JS_SITES or (not is_member and _holds(self._tainted, word, at)):
                return True
            if word == "stack" and is_member and self._is_error(at - 2):
                return True
            if texts[at + 1 : at + 2] == ["["] and word != "this" and self._is_error(at):
                return True
        return False

    def _is_error(self, at: int) -> bool:
        word = self._texts[at] if at >= 0 else ""
        if word == ")":
            before = self._texts[max(0, at - 12) : at]
            return "Error" in before
        return _holds(self._errors, word, at)

    def _spread(self) -> Iterator[tuple[str, int, int]]:
        """`const NAME = …stack…;`: the names that hold a place."""
        for at, text in enumerate(self._texts):
            if text == "=" and at and self.is_tainted(at + 1, self._end(at + 1)):
                yield from (self._in_block(name, at) for name in self._bound(at - 1))

    def _end(self, at: int) -> int:
        """The end of an expression: `;`, or a line that begins a new statement."""
        while at < len(self._texts) and self._texts[at] not in (";", "}"):
            if self._texts[at] in ("(", "[", "{"):
                at = closing(self._tokens, at)
            elif self._texts[at] in ("const", "let", "var", "return", "function"):
                break
            at += 1
        return at

    def _bound(self, at: int) -> Iterator[str]:
        while at >= 0 and (
            self._tokens[at].kind == "name" or self._texts[at] in ("]", "}", ",", "[", "{")
        ):
            if self._texts[at] in ("const", "let", "var"):
                return
            if self._tokens[at].kind == "name":
                yield self._texts[at]
            at -= 1


class _StartedFlow(_JavaScriptFlow):
    """The same for the files of the started program and of the loaded modules."""

    def _find_made(self) -> Iterator[tuple[str, int, int]]:
        yield from ()

    def _find_errors(self) -> Iterator[tuple[str, int, int]]:
        yield from ()

    def is_tainted(self, start: int, end: int) -> bool:
        words = [word.replace("?.", ".") for word in self._texts[start:end]]
        if any(word.strip("\"'`").startswith("..") and word != "..." for word in words):
            return False
        if _JS_NEIGHBOURS.intersection(words):
            return False
        if any(word in _JS_STARTED_WORDS for word in words) and any(
            tuple(words[at : at + len(place)]) == place
            for place in _JS_STARTED
            for at in range(len(words))
        ):
            return True
        return any(
            _holds(self._tainted, word, at) and (not at or self._texts[at - 1] not in (".", "?."))
            for at, word in enumerate(self._texts[start:end], start)
        )

    def _spread(self) -> Iterator[tuple[str, int, int]]:
        """Also `for (const NAME of …)` and `….map((NAME) => …)`."""
        yield from super()._spread()
        for at, text in enumerate(self._texts[:-1]):
            if text in ("of", "in") and "(" in self._texts[max(0, at - 3) : at]:
                yield from self._looped(at)
            elif text in _JS_EACH and self._texts[at + 1] == "(":
                yield from self._handed_over(at)

    def _looped(self, at: int) -> Iterator[tuple[str, int, int]]:
        opening = next(place for place in range(at, -1, -1) if self._texts[place] == "(")
        end = closing(self._tokens, opening)
        if self.is_tainted(at, end):
            yield self._texts[at - 1], end, self._block_end(end + 2)

    def _handed_over(self, at: int) -> Iterator[tuple[str, int, int]]:
        start = at
        while start and self._texts[start] not in (";", "{", "}"):
            start -= 1
        names = self._texts[at + 2 : at + 6]
        if "=>" in names and self.is_tainted(start, at):
            end = closing(self._tokens, at + 1)
            yield from ((name, at, end) for name in names[: names.index("=>")])


def _holds(names: set[tuple[str, int, int]], word: str, at: int) -> bool:
    return any(name == word and start <= at < end for name, start, end in names)
