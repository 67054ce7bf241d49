"""Code that can reach the process or the runner that it is tested by.

It is no tell-tale: honest programs use `atexit` and `os.kill`, too.  It only says that the result
of the tests could be rewritten from inside, so a negative control is worth an execution.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import FindingItem
from yaoki.formats.quality.gaming.literals import fold_text
from yaoki.formats.quality.model import Change
from yaoki.formats.quality.python import parse_python
from yaoki.formats.quality.suites import is_test_path

PLACES_MAX = 50
# Python loads these by themselves, and the last ones have no text to read.
_LOADED_NAMES = frozenset({"sitecustomize.py", "usercustomize.py", "conftest.py"})
_LOADED_ENDS = (".pth", ".so", ".pyd", ".pyc", ".dll", ".dylib", ".egg")
# Modules whose code runs later than the tests, or reads and changes the objects of a process.
_IN_TESTS = frozenset({"atexit", "gc", "ctypes", "posix", "nt", "_thread", "faulthandler"})
_MODULES = _IN_TESTS | {
    *("signal", "inspect", "threading", "weakref", "builtins", "importlib", "imp", "linecache"),
    *("traceback", "runpy", "pkgutil", "zipimport", "site", "code", "codeop", "marshal", "pickle"),
    *("subprocess", "multiprocessing", "concurrent", "pty", "mmap", "bdb", "pdb", "trace", "cffi"),
    *("psutil", "unittest", "pytest", "_pytest", "pluggy", "doctest", "dis", "tracemalloc"),
}
# Names of these modules that every program uses: files, folders, variables, streams.
_HARMLESS = {
    "os": frozenset(
        {
            *("path", "environ", "environb", "getenv", "getenvb", "getcwd", "sep", "altsep"),
            *("linesep", "pathsep", "devnull", "curdir", "pardir", "name", "extsep", "makedirs"),
            *("mkdir", "listdir", "scandir", "walk", "stat", "stat_result", "lstat", "remove"),
            *("unlink", "rename", "renames", "replace", "rmdir", "removedirs", "fspath"),
            *("PathLike", "DirEntry", "cpu_count", "urandom", "access", "R_OK", "W_OK", "X_OK"),
            *("F_OK", "get_terminal_size", "chmod", "utime", "readlink", "error", "strerror"),
            *("getpid", "fsencode", "fsdecode", "uname"),
        }
    ),
    "sys": frozenset(
        {
            *("argv", "version", "version_info", "platform", "stderr", "stdout", "stdin", "exit"),
            *("maxsize", "byteorder", "getsizeof", "executable", "float_info", "path", "prefix"),
            *("implementation", "intern", "base_prefix", "hexversion", "maxunicode", "int_info"),
            *("getdefaultencoding", "getfilesystemencoding", "getrecursionlimit", "hash_info"),
        }
    ),
}
# In tests these count, too: they end the process or change its streams.
_ENDS = frozenset({"_exit", "abort", "ftruncate", "lseek", "dup2", "pwrite", "truncate"})
_FUNCTIONS = frozenset(
    {"exec", "eval", "compile", "__import__", "__builtins__", "globals", "breakpoint"}
)
_ATTRIBUTES = frozenset(
    {
        *("__subclasses__", "__globals__", "__builtins__", "__code__", "__closure__", "__loader__"),
        *("__traceback__", "tb_frame", "tb_next", "f_back", "f_globals", "f_locals", "f_code"),
        *("f_builtins", "gi_frame", "cr_frame", "ag_frame", "co_consts", "__mro__"),
        *("os", "sys", "builtins", "atexit", "posix", "_os", "_sys", "_posix", "_builtins"),
    }
)
_PROC = lazy_compile(r"/proc(?:/|\Z)")
_LOOKUPS = frozenset({"getattr", "setattr", "delattr"})


def find_process_access(changes: Sequence[Change], paths: Sequence[str]) -> tuple[FindingItem, ...]:
    """The places that the change adds; `paths` are all changed files, also those without a text."""
    found = [*_loaded_files(paths)]
    for change in changes:
        if change.was_skipped:
            found.append(_item(change.path, 1, "is too large to be read"))
        elif change.path.endswith((".py", ".pyw")) and change.after is not None:
            added = frozenset(number for number, _ in change.added)
            places = sorted(set(_in_python(change)))
            found += [_item(change.path, *one) for one in places if one[0] in added or not one[0]]
    return tuple(found[:PLACES_MAX])


def _loaded_files(paths: Sequence[str]) -> Iterator[FindingItem]:
    for path in paths:
        if path.rpartition("/")[2] in _LOADED_NAMES or path.endswith(_LOADED_ENDS):
            yield _item(path, 1, "is loaded automatically, or cannot be read")


def _item(path: str, line: int, words: str) -> FindingItem:
    where = f"{path}:{line or 1}"
    return FindingItem(where, words, where)


def _in_python(change: Change) -> Iterator[tuple[int, str]]:
    """Lines and words; line 0 is the whole file."""
    tree = parse_python(change.after or "")
    if tree is None:
        yield 0, "cannot be parsed"
        return
    yield from _Search(tree, in_tests=is_test_path(change.path)).places()


class _Search:
    def __init__(self, tree: ast.Module, *, in_tests: bool) -> None:
        self._nodes, self._in_tests = list(ast.walk(tree)), in_tests
        self._watched = _IN_TESTS if in_tests else _MODULES
        # The modules of the file by the names that it has for them.
        self._modules = dict(self._imported())
        self._owners = {id(n.value) for n in self._nodes if isinstance(n, ast.Attribute)}

    def _imported(self) -> Iterator[tuple[str, str]]:
        for node in self._nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    top = alias.name.partition(".")[0]
                    yield alias.asname or top, top

    def places(self) -> Iterator[tuple[int, str]]:
        for node in self._nodes:
            if words := self._describe(node):
                yield getattr(node, "lineno", 0), words

    def _describe(self, node: ast.AST) -> str:
        match node:
            case ast.Import(names=aliases):
                tops = (alias.name.partition(".")[0] for alias in aliases)
                return next((f"uses {top}" for top in tops if top in self._watched), "")
            case ast.ImportFrom(module=str(module), level=0, names=aliases):
                names = (self._member(module.partition(".")[0], alias.name) for alias in aliases)
                return next(filter(None, names), "")
            case ast.Attribute(attr=attr) if attr in _ATTRIBUTES and not self._in_tests:
                return f"uses {attr}"
            case ast.Attribute(value=ast.Name(id=owner), attr=attr) if owner in self._modules:
                return self._member(self._modules[owner], attr)
            case ast.Name(id=name) if name in _FUNCTIONS and not self._in_tests:
                return f"uses {name}"
            case ast.Name(id=name) if id(node) not in self._owners:
                module = self._modules.get(name, "")
                return f"uses {module} as a value" if module in _HARMLESS else ""
            case ast.FunctionDef(name="__del__"):
                return "runs when an object is deleted"
            case ast.Call(func=ast.Name(id=name), args=[_, key, *_]) if name in _LOOKUPS:
                is_hidden = not isinstance(key, ast.Constant) and fold_text(key) is not None
                return "computes the name of an attribute" if is_hidden else ""
            case ast.Constant() | ast.BinOp() | ast.JoinedStr() | ast.Call():
                return "names /proc" if _PROC.search(fold_text(node) or "") else ""
            case _:
                return ""

    def _member(self, module: str, name: str) -> str:
        if module in self._watched:
            return f"uses {module}"
        if module not in _HARMLESS or name in _HARMLESS[module]:
            return ""
        return f"uses {module}.{name}" if not self._in_tests or name in _ENDS else ""
