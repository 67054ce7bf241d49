"""A parser for shell text: enough grammar to say which commands run and whose exit code counts.

Anything else (functions, here-documents) becomes `OpaqueCommand`, from which nothing is concluded.
"""

from __future__ import annotations

from collections.abc import Iterator

from yaoki.core.lazy_dataclass import dataclass

CHARS_MAX = 20_000
DEPTH_MAX = 20
_OPERATORS = ("&&", "||", ";;", "|&", "&>>", "&>", "<<<", "<<", ">>", ">&", "<&", ">|")
_SINGLE = ";|&()<>\n"
_OPENERS = frozenset({"if", "for", "while", "until", "case", "select"})
_CLOSERS = frozenset({"fi", "done", "esac"})


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """A single command of a command line, without its redirections."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OpaqueCommand:
    """A compound command, or a text that cannot be parsed."""


@dataclass(frozen=True, slots=True)
class CommandGroup:
    """`( … )` or `{ …; }`; an exit leaves only a subshell."""

    body: CommandList
    subshell: bool


@dataclass(frozen=True, slots=True)
class Pipeline:
    parts: tuple[ShellNode, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class AndOr:
    """The first pipeline, then `&&` or `||` with the next, from left to right."""

    first: Pipeline
    rest: tuple[tuple[str, Pipeline], ...] = ()


@dataclass(frozen=True, slots=True)
class CommandList:
    """Lists in order; the flag is true for one that runs in the background."""

    items: tuple[tuple[AndOr, bool], ...]


ShellNode = SimpleCommand | OpaqueCommand | CommandGroup
_UNKNOWN = CommandList(((AndOr(Pipeline((OpaqueCommand(),))), False),))


class _Unclear(Exception):
    """The text is beyond this grammar."""


def parse_shell(text: str) -> CommandList:
    if len(text) > CHARS_MAX:
        return _UNKNOWN
    try:
        return _Parser(list(_tokens(text))).parse_all()
    except _Unclear:
        return _UNKNOWN


def simple_commands(tree: CommandList) -> Iterator[tuple[str, ...]]:
    """The words of every simple command, in order."""
    for part in (p for item, _ in tree.items for p in (item.first, *(q for _, q in item.rest))):
        for node in part.parts:
            if isinstance(node, SimpleCommand):
                yield node.words
            elif isinstance(node, CommandGroup):
                yield from simple_commands(node.body)


def is_fully_parsed(tree: CommandList) -> bool:
    """Is every command of the text known?"""
    parts = (p for item, _ in tree.items for p in (item.first, *(q for _, q in item.rest)))
    nodes = [node for part in parts for node in part.parts]
    return all(
        is_fully_parsed(node.body)
        if isinstance(node, CommandGroup)
        else isinstance(node, SimpleCommand)
        for node in nodes
    )


# ------------------------------------------------------------------ tokens


def _tokens(text: str) -> Iterator[tuple[str, bool]]:
    """Each word or operator, and whether it is an operator.  Quotes are taken off."""
    at, word, in_word = 0, "", False
    while at < len(text):
        char = text[at]
        if char in " \t\r\n;|&()<>" or (char == "#" and not in_word):
            if in_word:
                yield word, False
                word, in_word = "", False
            at, operator = _operator(text, at)
            if operator:
                yield operator, True
            continue
        at, piece = _piece(text, at)
        word, in_word = word + piece, True
    if in_word:
        yield word, False


def _operator(text: str, at: int) -> tuple[int, str]:
    if text[at] == "#":
        end = text.find("\n", at)
        return (len(text) if end < 0 else end), ""
    for operator in _OPERATORS:
        if text.startswith(operator, at):
            return at + len(operator), operator
    return at + 1, text[at] if text[at] in _SINGLE else ""


def _piece(text: str, at: int) -> tuple[int, str]:
    """A character, a quoted part, or a substitution as it is written."""
    char = text[at]
    if char == "\\":
        return at + 2, "" if text[at + 1 : at + 2] == "\n" else text[at + 1 : at + 2]
    if char in "'\"":
        end = _closing(text, at + 1, char)
        inner = text[at + 1 : end]
        return end + 1, inner.replace('\\"', '"') if char == '"' else inner
    if char == "`":
        end = _closing(text, at + 1, char)
        return end + 1, text[at : end + 1]
    if text.startswith("$(", at):
        end = _balanced(text, at + 2)
        return end, text[at:end]
    return at + 1, char


def _closing(text: str, at: int, quote: str) -> int:
    while at < len(text) and text[at] != quote:
        at += 2 if text[at] == "\\" and quote != "'" else 1
    if at >= len(text):
        raise _Unclear
    return at


def _balanced(text: str, at: int) -> int:
    depth = 1
    while at < len(text) and depth:
        if text[at] in "'\"":
            at = _closing(text, at + 1, text[at])
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    if depth:
        raise _Unclear
    return at


# ------------------------------------------------------------------ grammar


class _Parser:
    """Recursive descent over the tokens."""

    def __init__(self, tokens: list[tuple[str, bool]]) -> None:
        self._tokens, self._at, self._depth = tokens, 0, 0

    def parse_all(self) -> CommandList:
        tree = self._sequence()
        if self._at < len(self._tokens):
            raise _Unclear
        return tree

    def _operator(self) -> str:
        """The operator that comes next, or nothing."""
        token = self._tokens[self._at] if self._at < len(self._tokens) else ("", False)
        return token[0] if token[1] else ""

    def _word(self) -> str:
        token = self._tokens[self._at] if self._at < len(self._tokens) else ("", True)
        return "" if token[1] else token[0]

    def _sequence(self, end: str = "") -> CommandList:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise _Unclear
        items: list[tuple[AndOr, bool]] = []
        while self._at < len(self._tokens):
            if self._operator() in {";", "\n"}:
                self._at += 1
            elif end and (self._operator() or self._word()) == end:
                break
            else:
                item = self._and_or()
                items.append((item, self._operator() == "&"))
                self._at += 1 if self._operator() in {";", "\n", "&"} else 0
        self._depth -= 1
        return CommandList(tuple(items))

    def _and_or(self) -> AndOr:
        first, rest = self._pipeline(), list[tuple[str, Pipeline]]()
        while (operator := self._operator()) in {"&&", "||"}:
            self._at += 1
            self._skip_lines()
            rest.append((operator, self._pipeline()))
        return AndOr(first, tuple(rest))

    def _pipeline(self) -> Pipeline:
        negated = self._word() == "!"
        self._at += negated
        parts = [self._command()]
        while self._operator() in {"|", "|&"}:
            self._at += 1
            self._skip_lines()
            parts.append(self._command())
        return Pipeline(tuple(parts), negated)

    def _skip_lines(self) -> None:
        while self._operator() == "\n":
            self._at += 1

    def _command(self) -> ShellNode:
        if self._operator() == "(":
            return self._group(")", subshell=True)
        if self._word() == "{":
            return self._group("}", subshell=False)
        if self._word() in _OPENERS:
            return self._compound()
        words: list[str] = []
        while self._at < len(self._tokens):
            token, operator = self._tokens[self._at]
            if operator and token[0] not in "<>" and not token.startswith("&>"):
                break
            self._at += 1
            if operator:
                self._redirect(token, words)
            else:
                words.append(token)
        if self._operator() == "(" or not words:
            raise _Unclear
        return SimpleCommand(tuple(words))

    def _redirect(self, operator: str, words: list[str]) -> None:
        if operator == "<<":
            raise _Unclear
        if words and words[-1].isdecimal():
            words.pop()
        self._at += 1

    def _group(self, end: str, *, subshell: bool) -> CommandGroup:
        self._at += 1
        body = self._sequence(end)
        if (self._operator() or self._word()) != end:
            raise _Unclear
        self._at += 1
        while self._operator()[:1] in {"<", ">"} or self._operator().startswith("&>"):
            self._at += 2
        return CommandGroup(body, subshell)

    def _compound(self) -> OpaqueCommand:
        depth = 0
        while self._at < len(self._tokens):
            word = self._word()
            depth += (word in _OPENERS) - (word in _CLOSERS)
            self._at += 1
            if depth == 0:
                return OpaqueCommand()
        raise _Unclear
