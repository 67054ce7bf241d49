"""A single pass over a source: its comments, and its code with comments and strings blanked.

Linear in the text and never raises: what it does not understand stays code.
"""

from __future__ import annotations

import re
from functools import cache

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.languages import Grammar, Quote

_NOT_NEWLINE = lazy_compile(r"[^\n]")
_TRAILING_COMMA = lazy_compile(r",(?=\s*[}\]])")
_NOT_NEWLINE = lazy_compile(r"[^\n]")
_RAW_RUST = lazy_compile(r'r(#{0,16})"')
_RAW_CPP = lazy_compile(r'R"([^\s()\\"]{0,16})\(')
_CHAR = lazy_compile(r"'(?:\\[^\n]{1,12}?|[^\\'\n])'")
_NUMBER = lazy_compile(r"(?<!\w)\d[\w']*\Z")
_REGEX = lazy_compile(r"/(?![*/>])(?:[^\\/\[\n]|\\[^\n]|\[(?:[^\]\\\n]|\\[^\n])*+\])++/[a-z]{0,8}")
_BEFORE_REGEX = lazy_compile(
    r"(?:^|[(,=:\[!&|?{};+\-*%~^\n]|=>|\b(?:return|typeof|case|in|of|do|else|void|await|yield|throw|delete))\Z"
)
_CONDITION_BEFORE = lazy_compile(r"\b(?:if|while|for|with)\s{0,4}\Z")
_STRUCTURE = frozenset("<>{}=;(),:?&|+")
_PAGE = lazy_compile(r"(?:\A|\?>)(?:(?!<\?(?:php|=))[\s\S])*+(?:<\?(?:php|=)|\Z)", re.IGNORECASE)
_CLOSER = {"{": "}", "(": ")"}
LOOK_BACK = 300
# Between tags these are ordinary characters.
_PLAIN_IN_TEXT = frozenset({"`", "/*", "//"})


@dataclass(frozen=True, slots=True)
class Comment:
    """`raw` includes the comment marks, as in the source."""

    start: int
    raw: str


@dataclass(frozen=True, slots=True)
class ScannedSource:
    """`code` is as long as the text, line for line.  `open_at`: the start of an unfinished string
    or block comment, -1 when there is none.
    """

    text: str
    code: str
    comments: tuple[Comment, ...]
    unfinished_at: int = -1

    def line_at(self, offset: int) -> int:
        return self.text.count("\n", 0, offset) + 1


def scan_source(text: str, grammar: Grammar) -> ScannedSource:
    return _Pass(_only_php(text) if grammar.name == "php" else text, grammar).run()


def _only_php(text: str) -> str:
    """The text outside the tags is a page, not code."""
    return _PAGE.sub(lambda page: _NOT_NEWLINE.sub(" ", page[0]), text)


@cache
def _openers(grammar: Grammar, in_hole: bool) -> re.Pattern[str]:
    """Everything that may begin something other than code, the longest first."""
    words = [*grammar.line_comments, *(start for start, _ in grammar.block_comments)]
    words += [quote.open for quote in grammar.quotes]
    words += ["'"] if grammar.has_char_literals else []
    words += ["/"] if grammar.has_regex_literals else []
    words += list("{}()") if in_hole else []
    patterns = [re.escape(word) for word in sorted(set(words), key=len, reverse=True)]
    patterns = [_RAW_RUST.pattern] * grammar.has_char_literals + patterns
    patterns = [_RAW_CPP.pattern] * (grammar.name == "c") + patterns
    patterns = [grammar.heredoc.replace(r"\1", r"['\"`]?")] * bool(grammar.heredoc) + patterns
    return re.compile("|".join(patterns) or r"(?!)")


@cache
def _stops(quote: Quote) -> re.Pattern[str]:
    """The pattern that ends a string, or interrupts it."""
    closings = [re.escape(quote.close)] + ([] if quote.multiline else [r"\n"])
    if quote.hole:
        doubled = [r"\{\{"] if quote.hole == "{" else []
        closings = [*doubled, re.escape(quote.hole), *closings]
    if quote.escape == quote.close:
        return re.compile("|".join([re.escape(quote.close * 2), *closings]))
    escaped = [re.escape(quote.escape) + r"[\s\S]"] if quote.escape else []
    holes = [re.escape(quote.hole)] if quote.hole.startswith("\\") else []
    return re.compile("|".join([*holes, *escaped, *closings]))


class _Pass:
    def __init__(self, text: str, grammar: Grammar) -> None:
        self.text, self.grammar = text, grammar
        self.at, self.copied_to, self.open_at = 0, 0, -1
        self.code: list[str] = []
        self.comments: list[Comment] = []
        # Strings that contain the current hole: the quote, and the number of open brackets inside.
        self.holes: list[tuple[Quote, int]] = []
        # Up to here this mark was tried without success; trying again would cost quadratic time.
        self.dead: dict[str, int] = {}
        self.quotes = {quote.open: quote for quote in grammar.quotes}
        self.blocks = dict(grammar.block_comments)

    def run(self) -> ScannedSource:
        while hit := _openers(self.grammar, bool(self.holes)).search(self.text, self.at):
            if not self._enter(hit):
                self.at = hit.end() if len(hit[0]) == 1 else hit.start() + 1
        self.code.append(self.text[self.copied_to :])
        return ScannedSource(self.text, "".join(self.code), tuple(self.comments), self.open_at)

    def _enter(self, hit: re.Match[str]) -> bool:
        """Blank what begins here.  False: it was code after all."""
        word, start = hit[0], hit.start()
        if self.dead.get(word, -1) > start:
            return False
        if self.holes and word in "{}()":
            return self._bracket(word, start)
        if word in _PLAIN_IN_TEXT and self._between_tags(start):
            return False
        if word in self.blocks:
            return self._block(word, start)
        if word in self.grammar.line_comments:
            return self._line_comment(word, start)
        if word in self.quotes and not (
            word == "'" and _NUMBER.search(self.text, max(0, start - 40), start)
        ):
            return self._string(self.quotes[word], start, start + len(word))
        if word == "/":
            return self._pattern(_REGEX, word, start) if self._regex_may_stand(start) else False
        if word == "'":
            return self._pattern(_CHAR, word, start)
        return self._special(word, start)

    def _special(self, word: str, start: int) -> bool:
        """Raw strings and heredocs: their beginning says how they end."""
        before = self.text[start - 1] if start else " "
        if word[0] in "rR" and (before.isalnum() or before == "_") and before not in "bcuUL8":
            return False  # the end of a name, not the beginning of a raw string
        if word.startswith("r"):
            return self._skip_to('"' + "#" * word.count("#"), start, start + len(word))
        if word.startswith("R"):
            return self._skip_to(")" + word[2:-1] + '"', start, start + len(word))
        return self._heredoc(word, start)

    def _skip_to(self, end: str, start: int, inside: int) -> bool:
        position = self.text.find(end, inside)
        if position < 0:
            return self._unfinished(start)
        return self._blank(start, position + len(end))

    def _heredoc(self, word: str, start: int) -> bool:
        name = re.sub(r"\W", "", word)
        body = self.text.find("\n", start)
        if not name or body < 0:
            return False
        end = re.compile(rf"^[ \t]*{name}\b", re.MULTILINE).search(self.text, body + 1)
        if end is None:
            self.dead[word] = len(self.text)
            return False
        # The rest of the line that names it is code; only the body is blanked.
        self.code.append(self.text[self.copied_to : body + 1])
        self.copied_to = body + 1
        return self._blank(body + 1, end.end())

    def _regex_may_stand(self, start: int) -> bool:
        before = self.text[max(0, start - LOOK_BACK) : start].rstrip(" \t")
        if before.endswith(")"):
            return self._after_condition(before)
        if before.endswith("\n") and self.text[start + 1 : start + 2].isspace():
            return False  # a division that continues from the line above
        return bool(_BEFORE_REGEX.search(before[-40:]))

    @staticmethod
    def _after_condition(before: str) -> bool:
        """`if (x) /y/.test(z)` is a regular expression, `(x) / y` a division."""
        depth = 0
        for at in range(len(before) - 1, -1, -1):
            depth += {")": 1, "(": -1}.get(before[at], 0)
            if depth == 0:
                return _CONDITION_BEFORE.search(before, 0, at) is not None
        return False

    def _between_tags(self, start: int) -> bool:
        """Text of JSX is no code: only words back to `>` and on to `</`."""
        if self.grammar.name != "javascript":
            return False
        following = self.text.find("<", start, start + LOOK_BACK)
        if following < 0 or not self.text.startswith("</", following):
            return False
        for at in range(start - 1, max(0, start - LOOK_BACK) - 1, -1):
            if self.text[at] in _STRUCTURE:
                return self.text[at] in ">}" and self.text[at - 1 : at + 1] != "=>"
        return False

    def _pattern(self, pattern: re.Pattern[str], word: str, start: int) -> bool:
        match = pattern.match(self.text, start)
        if match is None:
            if word == "/":
                self.dead[word] = self._line_end(start)
            return False
        return self._blank(start, match.end())

    def _bracket(self, word: str, start: int) -> bool:
        quote, depth = self.holes[-1]
        opener = quote.hole[-1] if quote.hole[-1] in _CLOSER else "{"
        if word == _CLOSER[opener] and depth == 0:
            self.holes.pop()
            return self._string(quote, start, start + 1)
        step = {opener: 1, _CLOSER[opener]: -1}.get(word, 0)
        self.holes[-1] = (quote, depth + step)
        return False

    def _block(self, word: str, start: int) -> bool:
        end = self._block_end(word, start + len(word))
        if end < 0:
            return self._unfinished(start)
        self.comments.append(Comment(start, self.text[start:end]))
        return self._blank(start, end)

    def _block_end(self, word: str, at: int) -> int:
        close, depth = self.blocks[word], 1
        if not self.grammar.nested_comments:
            position = self.text.find(close, at)
            return position + len(close) if position >= 0 else -1
        for hit in re.compile(f"{re.escape(word)}|{re.escape(close)}").finditer(self.text, at):
            depth += 1 if hit[0] == word else -1
            if depth == 0:
                return hit.end()
        return -1

    def _line_comment(self, word: str, start: int) -> bool:
        before = self.text[start - 1] if start else "\n"
        after = self.text[start + len(word) : start + len(word) + 1]
        if word == "#" and (not (before.isspace() or before in ";)}],") or after == "["):
            return False
        if word == "//" and (before == ":" or self.text.endswith("url(", 0, start)):
            return False
        end = self._line_end(start)
        self.comments.append(Comment(start, self.text[start:end]))
        return self._blank(start, end)

    def _string(self, quote: Quote, start: int, inside: int) -> bool:
        at, stops = inside, _stops(quote)
        while stop := stops.search(self.text, at):
            if stop[0] == quote.close:
                return self._blank(start, stop.end())
            if quote.hole and stop[0] == quote.hole:
                self.holes.append((quote, 0))
                return self._blank(start, stop.end())
            if stop[0] == "\n":
                self.dead[quote.open] = stop.start()
                return False
            at = stop.end()
        if quote.multiline:
            return self._unfinished(start)
        self.dead[quote.open] = len(self.text)
        return False

    def _unfinished(self, start: int) -> bool:
        self.open_at = start
        return self._blank(start, len(self.text))

    def _blank(self, start: int, end: int) -> bool:
        """Keep the layout: spaces for characters, line ends stay."""
        self.code.append(self.text[self.copied_to : start])
        self.code.append(_NOT_NEWLINE.sub(" ", self.text[start:end]))
        self.copied_to = self.at = end
        return True

    def _line_end(self, start: int) -> int:
        end = self.text.find("\n", start)
        return len(self.text) if end < 0 else end


def strip_comments(reading: ScannedSource) -> str:
    """The text with comments blanked, as long as before; for JSON whose readers allow comments."""
    parts, at = [], 0
    for comment in reading.comments:
        parts += [reading.text[at : comment.start], _NOT_NEWLINE.sub(" ", comment.raw)]
        at = comment.start + len(comment.raw)
    text = "".join([*parts, reading.text[at:]])
    # A comma in a string does not count.
    return _TRAILING_COMMA.sub(lambda hit: " " if reading.code[hit.start()] == "," else ",", text)
