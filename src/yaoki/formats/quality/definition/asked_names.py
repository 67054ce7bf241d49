"""Names of the program that the goal of the task asks to rename or to remove.

Only the goal counts, which the plan states: what the agent says about its change proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.definition.goal_sentences import sentences_of

RENAMES = lazy_compile(r"\b[Rr]enam(?:e|es|ed|ing)\b|改名|リネーム|名前を")
REMOVES = lazy_compile(r"\b(?:[Rr]emov|[Dd]rop|[Dd]elet)\w*|\b[Gg]et rid of\b|削除|除去|取り除")
_NEGATION = lazy_compile(
    r"(?:\b(?:not|never|cannot|without|avoid|unless|if|only|keep)\b|n['’]t\b)", re.IGNORECASE
)
_ONLY = lazy_compile(r"\bonly\b", re.IGNORECASE)
_JAPANESE_NEGATION = lazy_compile(r"ない|ません|ず[、に]|禁止")
# The program keeps the name: only what describes it changes.
_ELSEWHERE = lazy_compile(
    r"(?<!and )\b(?:in|from|of)\s+(?:(?:the|all|its)\s+)?(?:docs?|documentation|readme|comments?"
    r"|docstrings?|changelog|messages?|logs?|output|tests?)\b",
    re.IGNORECASE,
)
_KIND = (
    r"(?:functions?|methods?|class(?:es)?|constants?|variables?|attributes?|propert(?:y|ies)"
    r"|fields?|exceptions?|helpers?)"
)
_ARTICLE = r"(?:(?:the|a|an|our|its|obsolete|unused|deprecated|dead|legacy|public|private|now)\s+)*"
_VERB = r"(?:\b(?:[Rr]emov|[Dd]rop|[Dd]elet)(?:e|es|ing|s|ping)?|\b[Gg]et rid of)"
_PASSIVE = (
    r"(?:\s+and\s+(?:all\s+)?its\s+\w+)?\s+(?:(?:must|should|is|are|be|to|can|will|now|has|gets?|been)\s+)+"
    r"(?:removed|deleted|dropped)\b"
)
# "Remove a, `b` and c()": the names in front of this one.
_LISTED = (
    rf"(?:(?:{_KIND}\s+)?(?:[`'\"][^`'\"\s]+[`'\"]|\w+_\w+|[\w.]+\(\))"
    r"(?:,\s*(?:and\s+)?|\s+and\s+)(?:the\s+)?)*"
)
# "Remove f from other.py": the file or the class that loses it.
_FROM = lazy_compile(
    r"\s+(?:from|in)\s+(?:(?:the|our|its|file|module|class|package)\s+)*[`'\"]?([\w./]*\w)"
)
_ANYWHERE = frozenset(
    {"program", "code", "codebase", "library", "module", "package", "project", "repository", "repo"}
    | {"api", "API", "class"}
)
# "Remove f calls" names something else than f.
_REMOVAL_END = (
    r"(?=[.;:!?)\s]*$|\s*,|\s+\((?:and|with)\b|\s+(?:and|with|together|including|along|plus|from|in|because|since|as"
    r"|which|that|entirely|completely|altogether)\b)"
)


def asks_to_rename(goal: str, old: Collection[str], new: Collection[str]) -> bool:
    """Does a sentence ask for this?  `old`, `new`: all ways to write the two names."""
    before, after = _name_pattern(old), _name_pattern(new)
    words, to = r"(?:[^\s;。]+\s+)", r"(?:\bto|\binto|\bas|->|→|=>)"
    pattern = re.compile(
        rf"{before}[\s,:]*{words}{{0,4}}?{to}\s*{words}{{0,3}}?{after}"
        rf"|{before}[^\w.;。]*(?:の名前)?を[^\w.;。]*{after}[^\w.;。]*[にへ]"
    )
    return any(
        RENAMES.search(sentence) is not None and _is_asked(sentence, found)
        for sentence in sentences_of(goal)
        for found in pattern.finditer(sentence)
    )


def asks_to_remove_name(
    goal: str, name: str, ways: Collection[str], places: Collection[str] = ()
) -> bool:
    """Does a sentence ask for this?  `ways`: all ways to write the name, and `places` its file and
    its class.

    A plain word has to be in quotes or called a function: "remove old code" names no function.
    """
    one = _name_pattern(ways)
    if not _looks_like_code(name):
        one = rf"(?:{_KIND}\s+{one}|{one}\s+{_KIND}|(?=[`「]|[\w.]+\(){one})"
    target = rf"(?:{_KIND}\s+)?{one}(?:\s+{_KIND}\b)?"
    pattern = re.compile(
        rf"{_VERB}\s+{_ARTICLE}{_LISTED}{target}{_REMOVAL_END}|{target}{_PASSIVE}"
        rf"|{one}\s*(?:関数|メソッド|クラス|定数)?\s*(?:と[^。]{{0,20}})?を[^。]{{0,8}}(?:削除|除去|取り除)"
    )
    return any(
        _is_asked(sentence, found) and _is_from(sentence[found.end() :], places)
        for sentence in sentences_of(goal)
        for found in pattern.finditer(sentence)
    )


def _is_from(following: str, places: Collection[str]) -> bool:
    """Is no other place named that loses it?"""
    named = _FROM.match(following)
    return named is None or named[1] in _ANYWHERE or named[1] in places


def _name_pattern(ways: Collection[str]) -> str:
    """One of these names, with or without quotes and an argument list."""
    names = "|".join(re.escape(way) for way in sorted(ways, key=len, reverse=True))
    quotes = "`'\""
    # "f's result", "f-based" and "f/g" name something else.
    end = r"(?!\w|[’/]|'\w|-(?!>)|\.\w)"
    return rf"(?<![\w.])[{quotes}「]?(?:{names}){end}(?:\([^()\n]*\))?[{quotes}」]?"


def _looks_like_code(name: str) -> bool:
    return "_" in name.strip("_") or any(one.isupper() for one in name[1:])


def _is_asked(sentence: str, found: re.Match[str]) -> bool:
    return not (
        _NEGATION.search(sentence[: found.end()])
        or _JAPANESE_NEGATION.search(sentence[found.end() :])
        or _ELSEWHERE.search(sentence[found.start() :])
        or _ONLY.search(sentence)
    )
