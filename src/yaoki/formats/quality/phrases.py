"""The phrases that people and models write instead of code, in English and Japanese.

Every expression is bounded and matches the whole of a short text.
"""

from __future__ import annotations

import re

from yaoki.core.lazy_pattern import lazy_compile

CHARS_MAX = 120
_DOTS = r"(?:\.{3,12}|…{1,4}|⋯{1,4})"
_EDGE = " \t.…⋯・()[]{}<>（）【】「」〈〉＜＞《》〔〕*_~〜～-–—=:※"

_PART = (
    "(?:code|implementation|file|function|functions|method|methods|class|component|module|script"
    "|program|logic|imports?|tests?|handlers?|routes?|definitions|body|helpers|setup|styles"
    "|stylesheet|markup|jsx|html|template|layout|page|readme|content|contents|document|sections?|steps)"
)
# A sentence may well say that these are unchanged; only dots beside it decide.
_ANY_PART = (
    f"(?:{_PART}|fields?|properties|cases|items|entries|columns|rows|endpoints|commands|exports"
    "|types|options|props|hooks|configuration|config|settings|values|lines)"
)
_IS = "(?: (?:is|are|was|were|has been|have been|will be|remains?|stays?|kept|left|continues))?"
_OMITTED = "(?:omitted|elided|snipped|not shown|left out)"
_SAME = (
    "(?:unchanged|truncated|(?:exactly )?the same|same|same as before|as before|as is|as-is|intact"
    "|goes here|go here|here|below|continues)"
)
_WHY = "(?: (?:here|as before|for (?:brevity|clarity|space|simplicity|now)))?"
_THE = "(?:(?:the|this|your|my|our|all|any|other|existing|original|of) ){0,3}"

# Certain in any comment line: it says that something was left out.
SURE = lazy_compile(
    rf"(?:the )?(?:rest|remainder)(?: of {_THE}(?:\w+ ){{0,2}}\w+)?{_IS} {_OMITTED}{_WHY}"
    rf"|(?:the )?(?:rest|remainder) of {_THE}(?:\w+ ){{0,2}}{_PART}{_IS} {_SAME}{_WHY}"
    rf"|{_THE}(?:existing|previous|other|remaining|original) (?:\w+ ){{0,2}}{_PART}{_IS}"
    rf" (?:{_OMITTED}|{_SAME}){_WHY}"
    rf"|(?:code|implementation|boilerplate|(?:function |method )?body|details)(?: is| are)?"
    rf" {_OMITTED}{_WHY}"
    r"|(?:[\w'-]+ ){0,8}(?:omitted|elided|snipped|not shown|left out)"
    r" for (?:brevity|clarity|space|simplicity|conciseness|readability)"
    # A value may be shortened for its reader; code may not.
    rf"|{_THE}(?:\w+ )?{_PART}{_IS} (?:abbreviated|truncated|shortened)"
    r" for (?:brevity|clarity|space|simplicity|conciseness|readability)"
    r"|(?:abbreviated|truncated|shortened) for brevity"
    r"|(?:insert|add|put|write) (?:the |your )?(?:code|logic|implementation) here"
    r"|placeholder for (?:the )?(?:actual|real|future) (?:code|implementation|logic)"
    r"|no (?:other )?changes? (?:below|above|after|from here|past)(?: (?:this|here))?"
    r"(?: (?:line|point))?"
    r"|(?:to be |will be )?implement(?:ed)? (?:(?:this|it|me) )?later"
    rf"|(?:keep|leave|preserve) (?:the |all |your )?(?:existing|other|remaining|original|previous)"
    rf" (?:\w+ ){{0,2}}{_PART} (?:as is|as-is|unchanged|the same|intact|here|as before)"
    r"|(?:(?:add|insert|put|write) )?(?:your|the actual|actual|the real|real)"
    r" (?:code|implementation|logic)(?: goes| comes)? here"
    r"|(?:the )?(?:code|implementation|logic) (?:goes|comes) here"
)
# Certain only when the comment is alone and says nothing else.
ALONE = lazy_compile(
    r"snip|snipped|and so on|and so forth|etc|omitted|unchanged|elided"
    r"|unchanged code|code unchanged|implementation here"
    r"|(?:the )?(?:rest of (?:the |your |this )?|existing |remaining )"
    r"(?:code|implementation|jsx|markup|component|template|html|file|page)"
    r"|(?:keep|leave) (?:the |all |your )?existing (?:code|implementation|methods|functions)"
)
# Certain after or before three dots.
DOTTED = lazy_compile(
    r"(?:(?:the|your|all|any|and|keep|with|of|some|same|for|plus|then|as|is) ){0,4}"
    r"(?:existing|rest|remaining|remainder|others?|unchanged|previous|previously|original|omitted|more"
    r"|additional|similar|code|implementation|snip|truncated|etc|body|logic|imports|methods"
    r"|functions|elided|same|as before)(?: [\w'/,-]+){0,8}"
)
# Certain only after them: "...existing users keep their role" is the end of a sentence.
FOLLOWING = lazy_compile(
    r"(?:(?:the|your|all|any|and|keep|with|some|plus) ){0,3}"
    r"(?:(?:existing|rest|remaining|remainder|others?|previous|original|more|additional|similar|same|unchanged)"
    rf"(?: of)? {_THE}(?:[\w'-]+ ){{0,2}}{_ANY_PART}(?:{_IS} (?:{_OMITTED}|{_SAME}))?{_WHY}"
    r"|(?:existing|original|unchanged|the|some|any|all)? ?(?:code|implementation)"
    r"|rest|remainder|omitted|snip|truncated|etc|elided|more|unchanged|others?"
    r"|same as (?:before|above)|as before|(?:is |are )?the same as before"
    rf"|(?:the )?(?:rest|remainder){_IS} (?:{_OMITTED}|{_SAME}){_WHY})"
)
ENDING = lazy_compile(rf"(?:the )?(?:rest of|existing|remaining|other) (?:\w+ ){{0,3}}{_ANY_PART}")

_JP_PART = (
    "(?:コード|処理|実装|部分|メソッド|関数|内容|ファイル|行|項目|テスト"
    "|クラス|フィールド|定義|ロジック)"
)
_JP_WHY = (
    "(?:全て|すべて|ここでは|同様のため|同様に|長いので|長いため|簡潔のため"
    "|簡略化のため|変更がないため|変更ないため)?"
)
_JP_END = r"(?:します|する|しました|しています|した|です|とします|のため)?"
JAPANESE_SURE = lazy_compile(
    rf"(?:以下|以降|以後|残り|のこり|後半|前半|途中|この先|続き)(?:の[^\s。、]{{1,12}}?)?(?:は|を|も|が)?{_JP_WHY}"
    rf"(?:省略|略|割愛){_JP_END}"
    rf"|(?:その他|他|既存|元|詳細|中身|本体|{_JP_PART})(?:の[^\s。、]{{1,12}}?)?は?{_JP_WHY}(?:省略|割愛){_JP_END}"
    rf"|(?:残り|以降|以下)(?:の{_JP_PART})?は?(?:変更なし|変更無し|変更ありません|そのまま|元のまま|既存のまま){_JP_END}"
    rf"|既存の?{_JP_PART}(?:は|と)?(?:変更なし|変更無し|そのまま|同じ|のまま|省略){_JP_END}"
    rf"|(?:以下|以降|この後)(?:に|は)?(?:既存|元)の{_JP_PART}(?:が続く|が続きます|と同じ|と同様)"
    # Phrases that call the omitted rest unchanged.
    rf"|(?:その他|他|残り|それ以外|これ以降|以降|以下|ここから下|この後|この先)(?:の{_JP_PART})?(?:は|も)?(?:全て|すべて)?"
    r"(?:変更なし|変更無し|変更ありません|変更はありません|変わらず|そのまま|元のまま|既存のまま|同じ|同様|同様に実装"
    rf"|(?:前回|以前|これまで|従来|元|上)と(?:同じ|同様)){_JP_END}"
    r"|(?:後で|あとで|後ほど|後日|のちほど)(?:実装|記述|追加|書く|書きます|対応)(?:する|します|予定)?"
    rf"|ここに(?:実際の|残りの|既存の)?{_JP_PART}(?:を|が)?"
    r"(?:書く|書いて|書きます|記述|実装|追加|入れる|入る|入ります|続く|続きます|挿入)[^\s。、]{0,8}"
)
JAPANESE_ALONE = lazy_compile(
    r"省略|略|中略|後略|以下略|変更なし|変更無し|割愛|未実装|(?:既存|元|残り)の(?:コード|実装|処理)"
    rf"|元の{_JP_PART}と(?:同じ|同様)"
)
JAPANESE_DOTTED = lazy_compile(
    r"(?:既存|残り|他|その他|元|同様)の?[^\s。、]{0,16}|省略[^\s。、]{0,6}|中略|後略|以下略|変更なし"
)
_SAME_AS = lazy_compile(r"(?:(?:exactly )?the )?same as (?:before|above)|as before")
_STATES = frozenset({"unchanged", "omitted", "変更なし", "変更無し"})
_BRACKETED = lazy_compile(r"\s*[（(【\[〈＜<].{1,60}[）)】\]〉＞>]\s*")
_DOTS_ONLY = lazy_compile(rf"\s*(?:{_DOTS}|\. \. \.)\s*")
_DOTS_FIRST = lazy_compile(rf"\s*[(\[（【]?\s*{_DOTS}")
# `... (rest of the code)`: text in brackets does not end a sentence.
_DOTS_IN_BRACKETS = lazy_compile(
    rf"\s*{_DOTS}\s*[(\[（【].*[)\]）】]\s*\Z|\s*[(\[（【]\s*{_DOTS}.*[)\]）】]\s*\Z"
)
_DOTS_LAST = lazy_compile(rf"{_DOTS}\s*[)\]）】]?\s*\Z")


def is_only_dots(text: str) -> bool:
    return bool(_DOTS_ONLY.fullmatch(text))


def has_bracketed_dots(text: str) -> bool:
    return bool(re.fullmatch(rf"\s*[(\[（【]\s*{_DOTS}\s*[)\]）】]\s*", text))


def ends_open(text: str) -> bool:
    """Does a sentence break off here, to continue below?"""
    return bool(_DOTS_LAST.search(text)) and not _DOTS_FIRST.match(text)


def has_dots_on_both_sides(text: str) -> bool:
    return bool(_DOTS_FIRST.match(text) and _DOTS_LAST.search(text))


def is_only_state(text: str) -> bool:
    """Is this a single word that may also describe a state?"""
    return text.strip(_EDGE + "。、,;!").lower() in _STATES


def says_omitted(text: str, *, alone: bool) -> bool:
    """Is this text a placeholder?  `alone`: no other words around it."""
    if len(text) > CHARS_MAX:
        return False
    core = " ".join(text.strip(_EDGE + "。、,;!").lower().split())
    japanese = re.sub(r"[\s、。]", "", text.strip(_EDGE + "。、"))
    if SURE.fullmatch(core) or JAPANESE_SURE.fullmatch(japanese):
        return True
    if _BRACKETED.fullmatch(text) and _SAME_AS.fullmatch(core):
        return True
    if alone and (ALONE.fullmatch(core) or JAPANESE_ALONE.fullmatch(japanese)):
        return True
    return _dotted(text, core, japanese, alone=alone)


def _dotted(text: str, core: str, japanese: str, *, alone: bool) -> bool:
    first, last = bool(_DOTS_FIRST.match(text)), bool(_DOTS_LAST.search(text))
    if not core or not ((first and (last or alone)) or (last and alone)):
        return False
    if JAPANESE_DOTTED.fullmatch(japanese) or (alone and JAPANESE_ALONE.fullmatch(japanese)):
        return True
    if first and last:
        return bool(DOTTED.fullmatch(core))
    if first and _DOTS_IN_BRACKETS.match(text):
        return bool(DOTTED.fullmatch(core))
    return bool(FOLLOWING.fullmatch(core) if first else ENDING.fullmatch(core))


def is_unmistakable(text: str) -> bool:
    """Is this line of prose nothing but a placeholder, usually in brackets or between dots?"""
    if len(text) > CHARS_MAX or text.lstrip().startswith((">", "`")):
        return False
    core = " ".join(text.strip(_EDGE + "。").lower().split())
    japanese = re.sub(r"[\s、。]", "", text.strip(_EDGE + "。"))
    apart = bool(_BRACKETED.fullmatch(text) or _DOTS_FIRST.match(text))
    if apart and (SURE.fullmatch(core) or JAPANESE_SURE.fullmatch(japanese)):
        return True
    return japanese in {"残り省略", "以下省略", "残りは省略", "以下略"} or (
        apart and japanese == "省略"
    )
