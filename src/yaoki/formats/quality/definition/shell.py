"""Parses shell text into its commands: quotes, lists, pipes, subshells, substitutions, `cd`.

It over-approximates: a command that could run counts, because the question is only which files a
check may depend on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.definition.file_index import resolve_path

TEXT_CHARS_MAX = 200_000
DEPTH_MAX = 6
CALLS_MAX = 2_000
_RESERVED = frozenset(
    {"if", "then", "elif", "else", "fi", "while", "until", "do", "done", "!", "{"}
)
_RESERVED_END = frozenset({"}", "esac", "time", "function", "in", "case", "&", "select"})
_ASSIGNMENT = lazy_compile(r"^[A-Za-z_]\w*\+?=")
_OPERATOR = lazy_compile(r"&&|\|\||;;|\|&|[|&;\n()]")
_REDIRECT = lazy_compile(r"(?:\d*|&)(<<<|<<-?|<>|>\||>>|>&|<&|<|>)")
# Programs that examine another program's output, and so make the verdict themselves.
JUDGES = frozenset(
    {"grep", "egrep", "fgrep", "rg", "diff", "cmp", "test", "[", "[[", "jq", "awk", "wc", "comm"}
)


@dataclass(frozen=True, slots=True)
class ShellCall:
    """A simple command.  `observed`: its output is judged by another command.

    `reads` are its input files by `<`; `folder` is the folder after an earlier `cd`.
    """

    words: tuple[str, ...]
    folder: str
    is_observed: bool = False
    input_files: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class _Draft:
    words: list[str] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    inner: list[str] = field(default_factory=list)
    written: bool = False


def parse_calls(text: str, folder: str = "", depth: int = 0) -> tuple[ShellCall, ...]:
    """Every command of the text; those in substitutions follow the one that contains them."""
    if depth > DEPTH_MAX:
        return ()
    calls: list[ShellCall] = []
    folders, pipe = [folder], []  # type: list[str], list[int]
    for draft, operator in _split_calls(text[:TEXT_CHARS_MAX].replace("\\\n", " ")):
        if len(calls) > CALLS_MAX:
            break
        call = _call(draft, folders[-1])
        if call is not None:
            _mark_observed(calls, pipe, call)
            pipe = [*pipe, len(calls)] if operator in ("|", "|&") else []
            calls.append(call)
            folders[-1] = _folder_after(call)
        for inner in draft.inner:
            nested = parse_calls(inner, folders[-1], depth + 1)
            calls += [_observed(one) for one in nested]
        if operator == "(":
            folders.append(folders[-1])
        elif operator == ")" and len(folders) > 1:
            folders.pop()
    return tuple(calls)


def _mark_observed(calls: list[ShellCall], pipe: list[int], call: ShellCall) -> None:
    if call.words and call.words[0] in JUDGES:
        for at in pipe:
            calls[at] = _observed(calls[at])


def _observed(call: ShellCall) -> ShellCall:
    return ShellCall(call.words, call.folder, True, call.input_files, call.variables)


def _folder_after(call: ShellCall) -> str:
    if len(call.words) > 1 and call.words[0] in ("cd", "pushd"):
        return resolve_path(call.words[1], call.folder) or (
            "" if call.words[1] == "." else call.folder
        )
    return call.folder


def _call(draft: _Draft, folder: str) -> ShellCall | None:
    words = list(draft.words)
    variables = []
    while words:
        if words[0] in _RESERVED | _RESERVED_END:
            words.pop(0)
        elif _ASSIGNMENT.match(words[0]):
            name, _, value = words.pop(0).partition("=")
            variables.append((name.rstrip("+"), value))
        else:
            break
    if not words and not draft.reads and not variables:
        return None
    return ShellCall(tuple(words), folder, draft.written, tuple(draft.reads), tuple(variables))


def _split_calls(text: str) -> Iterator[tuple[_Draft, str]]:
    """The words between two operators, and the operator that ends them."""
    draft, at, skipped = _Draft(), 0, []  # type: _Draft, int, list[str]
    while at < len(text):
        if text[at] in " \t\r":
            at += 1
        elif text[at] == "#" and (at == 0 or text[at - 1] in " \t\n;&|("):
            at = _line_end(text, at)
        elif (hit := _REDIRECT.match(text, at)) and text[at : at + 2] not in ("<(", ">("):
            at = _redirected(text, hit, draft, skipped)
        elif hit := _OPERATOR.match(text, at):
            yield draft, hit[0]
            draft, at = _Draft(), hit.end()
            if hit[0] == "\n" and skipped:
                at = _skip_heredocs(text, at, skipped)
        else:
            word, at = _word(text, at, draft.inner)
            draft.words.append(word)
    yield draft, ""


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _redirected(text: str, hit: re.Match[str], draft: _Draft, skipped: list[str]) -> int:
    """A redirection and its target; a `<<` names the end of its text."""
    at = hit.end()
    while at < len(text) and text[at] in " \t":
        at += 1
    if at < len(text) and _OPERATOR.match(text, at):
        return at + 1 if text[at] == "&" else at
    word, at = _word(text, at, draft.inner) if at < len(text) else ("", at)
    if hit[1] == "<":
        draft.reads.append(word)
    elif hit[0] in (">", ">>", "1>") and not word.startswith("/dev/"):
        draft.written = True
    elif hit[1] in ("<<", "<<-"):
        skipped.append(word.strip("\"'"))
    return at


def _skip_heredocs(text: str, at: int, skipped: list[str]) -> int:
    for end in skipped:
        while at < len(text):
            line_end = _line_end(text, at)
            line, at = text[at:line_end], line_end + 1
            if line.strip() == end:
                break
    skipped.clear()
    return at


def _word(text: str, at: int, inner: list[str]) -> tuple[str, int]:
    """A word without its quotes; the text of substitutions goes to `inner`."""
    word: list[str] = []
    quote = ""
    while at < len(text):
        char = text[at]
        if char == "\\" and quote != "'":
            word.append(text[at + 1 : at + 2])
            at += 2
        elif quote != "'" and text.startswith("$(", at) and not text.startswith("$((", at):
            at = _substituted(text, at + 2, word, inner)
        elif quote != "'" and char == "`":
            end = text.find("`", at + 1)
            end = len(text) if end < 0 else end
            inner.append(text[at + 1 : end])
            word.append(text[at : end + 1])
            at = end + 1
        elif char in "\"'" and quote in ("", char):
            quote, at = ("" if quote else char), at + 1
        elif not quote and text.startswith(("<(", ">("), at):
            at = _substituted(text, at + 2, word, inner)
        elif not quote and (char in " \t\r" or _OPERATOR.match(text, at) or char in "<>"):
            break
        else:
            word.append(char)
            at += 1
    return "".join(word), at


def _substituted(text: str, start: int, word: list[str], inner: list[str]) -> int:
    depth, at = 1, start
    while at < len(text) and depth:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    inner.append(text[start : at - 1])
    word.append("$(" + text[start : at - 1] + ")")
    return at
