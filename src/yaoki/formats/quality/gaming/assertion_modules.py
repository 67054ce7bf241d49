"""JavaScript programs that change the assertions or the runner they are tested by.

A program may call assertions; it has no reason to write to their module, to hand the module to a
function that writes, or to change how modules are found.  The module is recognised by its name,
which may be computed, whatever function loads it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.gaming.javascript import Token, closing
from yaoki.formats.quality.gaming.javascript_texts import named_texts, read_text

REPLACES = "replaces a part of the test runner; leave it as it is"
ROUNDS_MAX = 5
MATCHERS = frozenset({"toBe", "toEqual", "toStrictEqual", "toMatchObject", "toBeCloseTo"}) | {
    *("toContain", "toHaveLength", "toMatch", "toThrow", "toBeTruthy", "toBeDefined"),
}
_MODULE = lazy_compile(
    r"(?:node:)?assert(?:/strict)?|node:test(?:/reporters)?|chai|expect|should|power-assert"
    r"|@jest/globals|jest-expect|vitest|@vitest/expect|expect\.js|unexpected|(?:node:)?module"
)
# These names of a module lead to the module again.
_SAME = frozenset({"strict", "default", "assert", "expect", "prototype", "ok"})
# These functions write to their first argument.
_WRITERS = frozenset({"assign", "set", "defineProperty", "defineProperties", "setPrototypeOf"}) | {
    *("__defineGetter__", "extend", "merge", "method", "stub", "spyOn", "replace", "getter"),
    *("deleteProperty", "fake", "patch", "wrap", "override"),
}
_READERS = frozenset({"keys", "values", "entries", "getOwnPropertyNames", "freeze", "isFrozen"}) | {
    *("inspect", "log", "debug", "ownKeys", "promisify", "String", "Boolean", "require", "has"),
}
_LOADS = frozenset({"_load", "_resolveFilename", "_cache"})
_OVERWRITES = frozenset({"overwriteMethod", "overwriteProperty", "overwriteChainableMethod"})
_MOCKS = frozenset({"module", "mock", "doMock", "setMock", "unstable_mockModule"})
_STARTS = frozenset({"const", "let", "var"})
# Methods that load a module; a function without an owner may be one under any name.
_LOADERS = frozenset({"require", "_load", "getBuiltinModule", "import", "load", "call", "apply"})
_NO_LOADERS = frozenset({"if", "while", "for", "switch", "test", "describe", "it", "suite"})


def find_in_javascript(tokens: Sequence[Token]) -> Iterator[tuple[int, str]]:
    search = _Search(tokens, named_texts(tokens))
    lines = {tokens[at].line for at in search.places()}
    yield from ((line, REPLACES) for line in sorted(lines))


@dataclass(frozen=True, slots=True)
class _Search:
    tokens: Sequence[Token]
    texts: Mapping[str, str]

    def places(self) -> Iterator[int]:
        loads = dict(self._loads())
        names = self._names(loads)
        for at, token in enumerate(self.tokens):
            if at in loads and self._is_changed(at, loads[at]):
                yield at
            elif token.kind == "name" and token.text in names and not self._is_member(at):
                if self._is_changed(at, at + 1):
                    yield at
            elif self._changes_loading(at) or self._changes_matchers(at):
                yield at

    def _text(self, at: int) -> str:
        return self.tokens[at].text if 0 <= at < len(self.tokens) else ""

    def _is_member(self, at: int) -> bool:
        """`a.name`, or the key of an object."""
        if self._text(at - 1) in (".", "?."):
            return True
        return self._text(at + 1) == ":" and self._text(at - 1) in ("{", ",")

    # ---------------------------------------------------------------- the module

    def _loads(self) -> Iterator[tuple[int, int]]:
        """Calls with the name of such a module: the place of the callee, and the one behind."""
        for at, token in enumerate(self.tokens):
            if token.text != "(" or token.kind != "mark" or not at:
                continue
            start = self._callee(at)
            if not self._may_load(at, start):
                continue
            text, end = read_text(self.tokens, at + 1, self.texts)
            if text is not None and self._text(end) in (")", ",") and _MODULE.fullmatch(text):
                yield start, closing(self.tokens, at) + 1

    def _may_load(self, at: int, start: int) -> bool:
        last = at - 1
        while last > start and self._text(last) in (".", "?."):
            last -= 1
        if last > start or self._text(start - 1) in (".", "?."):
            return self._text(last) in _LOADERS
        return self._text(last) == ")" or (
            self._is_name(last) and self._text(last) not in _NO_LOADERS
        )

    def _callee(self, at: int) -> int:
        """The start of `process.getBuiltinModule?.`, `module.constructor._load`, `require`."""
        start = at - 1
        while start > 0 and self._text(start) in (".", "?."):
            start -= 1
        while start > 1 and self._text(start - 1) in (".", "?.") and self._is_name(start - 2):
            start -= 2
        return max(start, 0)

    def _is_name(self, at: int) -> bool:
        return 0 <= at < len(self.tokens) and self.tokens[at].kind == "name"

    def _names(self, loads: Mapping[int, int]) -> frozenset[str]:
        """The names that are bound to the module, or to such a part of it."""
        names = set(self._imported())
        for _ in range(ROUNDS_MAX):
            known = len(names)
            for at, token in enumerate(self.tokens):
                is_bound = token.text == "=" and self._text(at + 1) != "="
                if is_bound and self._is_module_value(at + 1, loads, names):
                    names.update(self._bound(at - 1))
            if len(names) == known:
                break
        return frozenset(names)

    def _imported(self) -> Iterator[str]:
        """`import assert, { strict as a } from 'node:assert'`"""
        for at, token in enumerate(self.tokens):
            if token.text != "from" or at + 1 >= len(self.tokens):
                continue
            module = self.tokens[at + 1].literal
            if not isinstance(module, str) or not _MODULE.fullmatch(module):
                continue
            start = at
            while start and self._text(start) not in ("import", "export", ";"):
                start -= 1
            words = [one.text for one in self.tokens[start + 1 : at]]
            in_braces = False
            for number, word in enumerate(words):
                in_braces = word == "{" or (in_braces and word != "}")
                before = words[number - 2 : number] if number > 1 else []
                is_same = word in _SAME or (before[1:] == ["as"] and before[0] in {*_SAME, "*"})
                if word.isidentifier() and word != "as" and (is_same or not in_braces):
                    yield word

    def _is_module_value(self, at: int, loads: Mapping[int, int], names: set[str]) -> bool:
        """Is the module one of the alternatives of the expression: `a ?? b`, `await a`?"""
        while self._text(at) in ("await", "("):
            at += 1
        end = loads.get(at)
        if end is None and self._text(at) in names and not self._is_member(at):
            end = at + 1
        if end is None:
            return False
        while self._text(end) == "." and self._text(end + 1) in _SAME:
            end += 2
        return self._text(end) not in (".", "?.", "(", "[") or self._text(end) == ")"

    def _bound(self, at: int) -> Iterator[str]:
        if self._text(at) != "}":
            if self._is_name(at) and not self._is_member(at):
                yield self._text(at)
            return
        start = at
        while start and self._text(start) != "{":
            start -= 1
        for place in range(start + 1, at):
            is_same = self._text(place) in _SAME or self._text(place - 2) in _SAME
            if is_same and self._is_name(place) and self._text(place + 1) in (",", "}"):
                yield self._text(place)

    # ---------------------------------------------------------------- its changes

    def _is_changed(self, start: int, end: int) -> bool:
        """Is the module between these places written to, or handed to a function that writes?"""
        after = end
        while self._text(after) in (".", "?.", "[", ")"):
            if self._text(after) == "[":
                after = closing(self.tokens, after) + 1
            elif self._text(after) == ")":
                break
            else:
                after += 2
        if after > end and self._text(after) == "=" and self._text(after - 1) != "=":
            return True
        if self._text(start - 1) == "delete":
            return after > end
        return self._is_handed_over(start, end)

    def _is_handed_over(self, start: int, end: int) -> bool:
        """`Object.assign(assert, …)`: the module, or a part of it, is the first argument."""
        while self._text(end) == "." and self._text(end + 1) in _SAME:
            end += 2
        if self._text(start - 1) != "(" or self._text(end) not in (",", ")"):
            return False
        name = self._text(start - 2)
        return name in _WRITERS or (name not in _READERS and self._is_own_function(name))

    def _is_own_function(self, name: str) -> bool:
        """Is it a function of this file?  Nobody else's code waits for the module."""
        for at, token in enumerate(self.tokens):
            if token.text != name or token.kind != "name":
                continue
            if self._text(at - 1) == "function" or self._text(at - 2) == "function":
                return True
            if self._text(at - 1) in _STARTS and self._text(at + 1) == "=":
                return "=>" in {self._text(at + n) for n in range(2, 10)}
        return False

    def _changes_loading(self, at: int) -> bool:
        """`Module._load = …`, `require.cache[…] = …`, `Module.prototype.require = …`"""
        if self._text(at) == "registerHooks" and self._text(at + 1) == "(":
            return True
        if self._text(at - 1) not in (".", "?."):
            return False
        word, owner, after = self._text(at), self._text(at - 2), at + 1
        if word == "cache" and owner == "require" and self._text(after) == "[":
            after = closing(self.tokens, after) + 1
        elif word in _LOADS and owner in ("Module", "constructor", ")"):
            after = closing(self.tokens, after) + 1 if self._text(after) == "[" else after
        elif not (word == "require" and owner == "prototype"):
            return False
        return self._text(after) == "="

    def _changes_matchers(self, at: int) -> bool:
        """`expect.extend({ toBe() {} })`, `assert.register(…)`, chai's `overwriteMethod`"""
        word = self._text(at)
        if self._text(at - 1) not in (".", "?.") or self._text(at + 1) != "(":
            return False
        if word in _MOCKS:
            text, _ = read_text(self.tokens, at + 2, self.texts)
            return text is not None and _MODULE.fullmatch(text) is not None
        if word == "extend" and self._text(at - 2) == "expect":
            inner = self.tokens[at + 2 : closing(self.tokens, at + 1)]
            return any(token.text.strip("\"'`") in MATCHERS for token in inner)
        return word in _OVERWRITES or (word == "register" and self._text(at - 2) == "assert")
