"""Exceptions that the goal of the task asks for instead of others.

"div(1, 0) raises ValueError instead of ZeroDivisionError" changes what `pytest.raises` expects.
The code inside the block has to stay as it is, and to call a function that the goal names.  If the
goal names only the new exception, it has to name this very call as well.  Another message of the
same exception has to be quoted by the goal, with the old one.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterator

from yaoki.core.lazy_dataclass import dataclass
from yaoki.formats.quality.definition.assertions import ANY_ERROR
from yaoki.formats.quality.definition.goal_sentences import (
    asks_change,
    calls_of_goal,
    is_about,
    names_function,
    parse_expression,
    quoted_text,
    says,
    sentences_of,
)
from yaoki.formats.quality.definition.units import CodeUnit
from yaoki.formats.quality.python_suites import last_name

_CHECKS = frozenset({"raises", "assertRaises", "assertRaisesRegex"})
_RAISES = r"(?:rais(?:e|es|ing)|throws?)"


@dataclass(frozen=True, slots=True)
class ExpectedError:
    """`with pytest.raises(ValueError, match="x"): …`, or `assertRaises(ValueError, f, 1)`.

    `text` is the assertion, `rest` what it expects beside the exception and its message, `subject`
    the code that raises.
    """

    text: str
    checker: str
    error: str
    message: str | None
    rest: tuple[str, ...]
    subject: str

    @property
    def name(self) -> str:
        return self.error.rpartition(".")[2]


def find_asked_errors(old: CodeUnit, new: CodeUnit, goal: str) -> Counter[tuple[str, str]]:
    """How often an assertion, given by its texts, changed as the goal asks for."""
    before, after = Counter(_errors_of(old)), Counter(_errors_of(new))
    gained = list((after - before).elements())
    asked: Counter[tuple[str, str]] = Counter()
    for one in (before - after).elements():
        now = next((other for other in gained if _is_asked(one, other, goal)), None)
        if now is not None:
            gained.remove(now)
            asked[one.text, now.text] += 1
    return asked


def _errors_of(unit: CodeUnit) -> Iterator[ExpectedError]:
    for node in ast.walk(unit.node) if unit.node is not None else ():
        match node:
            case ast.With(items=[ast.withitem(context_expr=ast.Call() as call)], body=body):
                yield from _expected_error(call, ast.unparse(ast.Module(body, [])))
            case ast.Expr(value=ast.Call(args=[_, func, *args]) as call):
                subject = ast.Call(func, args, [k for k in call.keywords if k.arg != "match"])
                yield from _expected_error(call, ast.unparse(subject))
            case _:
                continue


def _expected_error(call: ast.Call, subject: str) -> Iterator[ExpectedError]:
    match call.args:
        case [ast.Name() | ast.Attribute() as error, *rest] if last_name(call) in _CHECKS:
            message = next((k.value for k in call.keywords if k.arg == "match"), None)
            if message is None and rest and last_name(call) == "assertRaisesRegex":
                message, rest = rest[0], rest[1:]
            more = (*rest, *(k.value for k in call.keywords if k.arg != "match"))
            yield ExpectedError(
                ast.unparse(call),
                ast.unparse(call.func),
                ast.unparse(error),
                ast.unparse(message) if message is not None else None,
                tuple(ast.unparse(one) for one in more),
                subject,
            )
        case _:
            return


def _is_asked(old: ExpectedError, new: ExpectedError, goal: str) -> bool:
    same = (old.checker, old.rest, old.subject) == (new.checker, new.rest, new.subject)
    if not goal or not same:
        return False
    if old.error == new.error:
        return _asks_message(old, new, goal) and _is_about_subject(old, new, goal)
    if new.name in ANY_ERROR:
        return False
    if old.message is not None and new.message is None:
        return False
    is_message_asked = old.message == new.message or _names_text(new.message, goal)
    if asks_change(goal, *(_error_pattern(one.name) for one in (old, new))):
        gains_message = old.message is None
        return (gains_message or is_message_asked) and _is_about_subject(old, new, goal)
    return is_message_asked and _names_call(new, goal)


def _error_pattern(name: str) -> str:
    """Also with the arguments that the goal gives it."""
    return rf"(?<![\w.]){re.escape(name)}(?!\w)(?:\([^()\n]*\))?"


def _asks_message(old: ExpectedError, new: ExpectedError, goal: str) -> bool:
    """Does a sentence say that the one message takes the place of the other?"""
    before, after = _texts_of(old.message), _texts_of(new.message)
    return bool(before and after) and asks_change(goal, *map(_any_quoted, (before, after)))


def _names_text(written: str | None, goal: str) -> bool:
    """Does the goal quote this message?"""
    texts = _texts_of(written)
    return bool(texts) and re.search(_any_quoted(texts), goal) is not None


def _any_quoted(texts: Collection[str]) -> str:
    return f"(?:{'|'.join(map(quoted_text, texts))})"


def _texts_of(written: str | None) -> list[str]:
    """The message, also without the signs that make a pattern of it."""
    node = parse_expression(written) if written else None
    match node:
        case ast.Call(func=func, args=[text]) if last_name(func) == "escape":
            node = text
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or not node.value:
        return []
    plain = re.sub(r"\\(\W)", r"\1", node.value.removeprefix("^").removesuffix("$"))
    return list(dict.fromkeys((node.value, plain)))


def _is_about_subject(old: ExpectedError, new: ExpectedError, goal: str) -> bool:
    """Does the goal name a function of the subject, and no other calls of it?"""
    calls = _calls(old.subject)
    named = [one for one in calls_of_goal(goal) if last_name(one) not in (old.name, new.name)]
    is_other = bool(named) and not any(is_about(one, call) for one in named for call in calls)
    return not is_other and any(names_function(call, goal) for call in calls)


def _names_call(new: ExpectedError, goal: str) -> bool:
    """Does a sentence say that one of these very calls raises the new exception?"""
    raises = re.compile(rf"\b{_RAISES}\b[^.;。]{{0,30}}{_error_pattern(new.name)}")
    calls = {ast.dump(call) for call in _calls(new.subject)}
    return any(
        says(sentence, raises) and any(ast.dump(one) in calls for one in calls_of_goal(sentence))
        for sentence in sentences_of(goal)
    )


def _calls(subject: str) -> list[ast.Call]:
    return [one for one in ast.walk(ast.parse(subject)) if isinstance(one, ast.Call)]
