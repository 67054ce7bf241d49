"""Finds the files that an agent claims to have created, where the sentence is unambiguous.

A file counts as the direct object of "created", "wrote", "added" or 作成し, or as the first word of
a line under a heading about new files.  "Added support for `x.toml`" claims no file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.languages import language_of

PATHS_MAX = 100
LINE_CHARS_MAX = 500
LIST_MAX = 20

_NAME = (
    r"(?:\*\*)?(?:`[^`\n]{1,200}`|\"[^\"\s]{1,200}\""
    r"|[\w.@+-]{1,80}(?:/[\w.@+-]{1,80}){1,12})(?:\*\*)?"
)
_AND = r"(?:,? and |, | & | plus )"
_NAMES = rf"({_NAME}(?:{_AND}{_NAME}){{0,{LIST_MAX}}})"
# Words allowed between the verb and the file name.
_KIND = (
    r"(?:(?:the|a|an|one|two|three|\d{1,2}|following|new|empty|missing|small|separate|test|unit"
    r"|config|configuration|helper|source|markdown|python|typescript|javascript|shell) ){0,4}"
    r"(?:(?:files?|modules?|scripts?|documents?|pages?|components?)(?: called| named)?:? )?"
)
_AUTHOR = (
    r"(?:^|[.!;:] |[-*•✅✓] |\d[.)] )\**"
    r"(?:(?:i|we)(?:'ve| have)? |(?:i|we) also |also |then |and |next, |finally, |"
    r"successfully ){0,3}"
)
# After the name: an end, a bracket, a dash, or words that say what the file is for.
_END = r"(?:[.!;:,)]?\s{0,2}\Z|[.!;:,](?= )|\s?\(| [-–—] |, (?!`))"
_FOR = r"| (?:with|which|that|containing|holding|implementing|defining|for|as|so)\b"
_CREATED = lazy_compile(
    rf"{_AUTHOR}(?:created|wrote|generated|authored) {_KIND}{_NAMES}(?={_END}{_FOR}| to (?!the ))",
    re.IGNORECASE,
)
# Something added "to" a thing is no file, and what it is added "for" may be anything.
_ADDED = lazy_compile(
    rf"{_AUTHOR}added {_KIND}{_NAMES}(?={_END}| with\b| containing\b)", re.IGNORECASE
)
_PASSIVE = lazy_compile(
    rf"(?:^|[.!] |[-*•] )(?:the )?(?:new )?files? {_NAMES} (?:was|were|has been|have been)"
    r" (?:created|added|written|generated)\b",
    re.IGNORECASE,
)
_JP_NAMES = rf"({_NAME}(?:\s?(?:と|、|,|および|及び)\s?{_NAME}){{0,{LIST_MAX}}})"
_JAPANESE = lazy_compile(
    rf"{_JP_NAMES}\s?(?:という(?:新しい)?(?:ファイル|モジュール))?\s?を\s?(?:新規に?|新しく)?\s?"
    r"(?:作成|生成|新規追加)し(?:ました|た|ています)"
)
_JAPANESE_ADDED = lazy_compile(rf"{_JP_NAMES}\s?を\s?(?:新規に?|新しく)?\s?追加し(?:ました|た)")
_DENIED = lazy_compile(
    r"\b(?:not|never|no|would|could|should|will|can|cannot|removed|deleted|temporary|temp|todo|next|if"
    r"|instead|example|reverted|previously|already|when|whenever|ignored?|moved|renamed|folded)\b"
    r"|n't\b|ません|なかった|削除|予定|一時|場合",
    re.IGNORECASE,
)
_HEADING = lazy_compile(
    r"[#*\s]{0,8}(?:(?:new|created|added|generated) files?(?: (?:created|added))?"
    r"|files? (?:created|added|written)"
    r"|(?:i (?:have )?)?(?:created|wrote|added|generated)(?: the following)?(?: new)?(?: files?)"
    r"|(?:i (?:have )?)?(?:created|wrote|generated) the following"
    r"|(?:新規|新しい|作成した|追加した)ファイル)[*\s]{0,4}[:：][*\s]{0,4}",
    re.IGNORECASE,
)
_BULLET = lazy_compile(
    rf"\s{{0,8}}(?:[-*•]|\d{{1,3}}[.)])\s{{1,4}}({_NAME})(?=\s{{0,4}}(?:\Z|[-–—:：(（]))"
)
_ANY_BULLET = lazy_compile(r"\s{0,8}(?:[-*•]|\d{1,3}[.)])\s")
_EACH = lazy_compile(_NAME)
_PLAIN = lazy_compile(
    r"(?!/|~|\.\.?/\.\.)(?:\./)?[\w@+-][\w.@+/-]{0,180}\.[A-Za-z][A-Za-z0-9]{0,9}"
)


def find_claimed_paths(text: str) -> Iterator[str]:
    """Careful rather than complete, and bounded."""
    count, listing = 0, False
    for line in (long[:LINE_CHARS_MAX].rstrip() for long in text.split("\n")):
        if line.strip() and not _ANY_BULLET.match(line):
            listing = _HEADING.fullmatch(line) is not None
        if count >= PATHS_MAX or not line or _DENIED.search(line):
            continue
        for path in _claims_in_line(line, listing=listing):
            count += 1
            yield path


def _claims_in_line(line: str, *, listing: bool) -> Iterator[str]:
    if listing and (hit := _BULLET.match(line)):
        yield from _files(hit[1])
    shapes = [_CREATED, _ADDED, _PASSIVE, _JAPANESE]
    # 「〜に〜を追加」 adds a line to a file, as "added X to Y" does.
    shapes += [_JAPANESE_ADDED] if "に" not in line.replace("新規に", "") else []
    for shape in shapes:
        for hit in shape.finditer(line.lstrip()):
            yield from _files(hit[1])


def _files(names: str) -> list[str]:
    """All entries of a list, or none: a list with other entries is no list of files."""
    paths = [hit[0].strip('*`"').removeprefix("./").rstrip(".") for hit in _EACH.finditer(names)]
    return paths if all(_is_file(path) for path in paths) else []


def _is_file(path: str) -> bool:
    """`os.path` is a name; without a folder only a known suffix makes it a file."""
    return bool(_PLAIN.fullmatch(path)) and ("/" in path or language_of(path) is not None)
