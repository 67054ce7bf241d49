"""The words people and models write instead of code, in English and Japanese.

Every expression is bounded and is matched against the whole of a short text.
"""

from __future__ import annotations

import re

CHARS_MAX = 120
_DOTS = r"(?:\.{3,12}|…{1,4}|⋯{1,4})"
_EDGE = " \t.…⋯・()[]{}<>（）【】「」〈〉＜＞《》〔〕*_~〜-–—=:"

_PART = (
    "(?:code|implementation|file|function|functions|method|methods|class|component|module|script"
    "|program|logic|imports?|tests?|handlers?|routes?|fields?|properties|cases|definitions|body"
    "|helpers|setup|styles|markup|content|contents|document|section|items|entries|steps)"
)
_IS = "(?: (?:is|are|was|were|has been|have been|will be|remains?|stays?|kept|left|continues))?"
_GONE = "(?:omitted|elided|snipped|not shown|left out)"
_SAME = (
    "(?:unchanged|truncated|(?:exactly )?the same|same|same as before|as before|as is|as-is|intact"
    "|goes here|go here|here|below|continues)"
)
_WHY = "(?: (?:here|as before|for (?:brevity|clarity|space|simplicity|now)))?"
_THE = "(?:(?:the|this|your|my|our|all|any|other|existing|original|of) ){0,3}"

# Sure in any comment line: somebody says that something was left out.
SURE = re.compile(
    rf"(?:the )?(?:rest|remainder)(?: of {_THE}(?:\w+ ){{0,2}}\w+)?{_IS} {_GONE}{_WHY}"
    rf"|(?:the )?(?:rest|remainder) of {_THE}(?:\w+ ){{0,2}}{_PART}{_IS} {_SAME}{_WHY}"
    rf"|{_THE}(?:existing|previous|other|remaining|original) (?:\w+ ){{0,2}}{_PART}{_IS}"
    rf" (?:{_GONE}|{_SAME}){_WHY}"
    rf"|(?:code|implementation|boilerplate|(?:function |method )?body|details)(?: is| are)?"
    rf" {_GONE}{_WHY}"
    rf"|(?:[\w'-]+ ){{0,8}}(?:omitted|elided|not shown|left out|abbreviated|truncated|shortened)"
    r" for (?:brevity|clarity|space|simplicity|conciseness|readability)"
    rf"|(?:keep|leave|preserve) (?:the |all |your )?(?:existing|other|remaining|original|previous)"
    rf" (?:\w+ ){{0,2}}{_PART} (?:as is|as-is|unchanged|the same|intact|here|as before)"
    r"|(?:(?:add|insert|put|write) )?(?:your|the actual|actual|the real|real)"
    r" (?:code|implementation|logic)(?: goes| comes)? here"
    r"|(?:the )?(?:code|implementation|logic) (?:goes|comes) here"
)
# Sure only when the comment stands alone and says nothing else.
ALONE = re.compile(
    r"snip|snipped|and so on|and so forth|etc|omitted|unchanged|elided"
    r"|unchanged code|implementation here"
    r"|(?:the )?(?:rest of (?:the |your |this )?|existing |remaining )(?:code|implementation)"
    r"|(?:keep|leave) (?:the |all |your )?existing (?:code|implementation|methods|functions)"
)
# Sure when it follows or precedes three dots.
DOTTED = re.compile(
    r"(?:(?:the|your|all|any|and|keep|with|of|some|same|for|plus|then|as|is) ){0,4}"
    r"(?:existing|rest|remaining|remainder|others?|unchanged|previous|previously|original|omitted|more"
    r"|additional|similar|code|implementation|snip|truncated|etc|body|logic|imports|methods"
    r"|functions|elided|same|as before)(?: [\w'/,-]+){0,8}"
)
ENDING = re.compile(rf"(?:the )?(?:rest of|existing|remaining|other) (?:\w+ ){{0,3}}{_PART}")

_JP_PART = (
    "(?:コード|処理|実装|部分|メソッド|関数|内容|ファイル|行|項目|テスト"
    "|クラス|フィールド|定義|ロジック)"
)
_JP_WHY = (
    "(?:全て|すべて|ここでは|同様のため|同様に|長いので|長いため|簡潔のため"
    "|簡略化のため|変更がないため|変更ないため)?"
)
_JP_END = r"(?:します|する|しました|しています|した|です|とします|のため)?"
JAPANESE_SURE = re.compile(
    rf"(?:以下|以降|以後|残り|のこり|後半|前半|途中|この先|続き)(?:の[^\s。、]{{1,12}}?)?(?:は|を|も|が)?{_JP_WHY}"
    rf"(?:省略|略|割愛){_JP_END}"
    rf"|(?:その他|他|既存|元|詳細|中身|本体|{_JP_PART})(?:の[^\s。、]{{1,12}}?)?は?{_JP_WHY}(?:省略|割愛){_JP_END}"
    rf"|(?:残り|以降|以下)(?:の{_JP_PART})?は?(?:変更なし|変更無し|変更ありません|そのまま|元のまま|既存のまま){_JP_END}"
    rf"|既存の?{_JP_PART}(?:は|と)?(?:変更なし|変更無し|そのまま|同じ|のまま|省略){_JP_END}"
    rf"|(?:以下|以降|この後)(?:に|は)?(?:既存|元)の{_JP_PART}(?:が続く|が続きます|と同じ|と同様)"
    rf"|ここに(?:実際の|残りの|既存の)?{_JP_PART}(?:を|が)?"
    r"(?:書く|書いて|書きます|記述|実装|追加|入れる|入る|入ります|続く|続きます|挿入)[^\s。、]{0,8}"
)
JAPANESE_ALONE = re.compile(r"省略|略|中略|後略|以下略|変更なし|変更無し|割愛")
JAPANESE_DOTTED = re.compile(
    r"(?:既存|残り|他|その他|元|同様)の?[^\s。、]{0,16}|省略[^\s。、]{0,6}|中略|後略|以下略|変更なし"
)
_BRACKETED = re.compile(r"\s*[（(【\[〈＜<].{1,60}[）)】\]〉＞>]\s*")
_DOTS_ONLY = re.compile(rf"\s*(?:{_DOTS}|\. \. \.)\s*")
_DOTS_FIRST = re.compile(rf"\s*[(\[（【]?\s*{_DOTS}")
_DOTS_LAST = re.compile(rf"{_DOTS}\s*[)\]）】]?\s*\Z")


def only_dots(text: str) -> bool:
    return bool(_DOTS_ONLY.fullmatch(text))


def says_omitted(text: str, *, alone: bool) -> bool:
    """Is this text a stand-in?  `alone`: it stands by itself, with no other words around it."""
    if len(text) > CHARS_MAX:
        return False
    core = " ".join(text.strip(_EDGE + "。、,;!").lower().split())
    japanese = re.sub(r"[\s、。]", "", text.strip(_EDGE + "。、"))
    if SURE.fullmatch(core) or JAPANESE_SURE.fullmatch(japanese):
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
    return bool(DOTTED.fullmatch(core) if first else ENDING.fullmatch(core))


def unmistakable(text: str) -> bool:
    """For prose: only a line that says nothing else, as a rule set apart by brackets or dots."""
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
