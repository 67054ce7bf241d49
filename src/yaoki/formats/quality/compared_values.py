"""Compares values of a test, and then one of them with wrong values.

The text of this module is put into the test files of a control run, so it uses the standard
library alone, and every import is inside of a function.
"""

# Without annotations: the Python of the tests may be older than ours.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

CHANGED_FILES = ()


class HoldsForWrongValue(AssertionError):
    """A comparison holds for a value that was made wrong."""


def compare_values(left, right, make_left=None, make_right=None):
    """`left == right`; the last two make an operand again from wrong arguments."""
    result = left == right
    try:
        is_equal = bool(result)
    except Exception:  # noqa: BLE001 - an array has no truth
        return result
    if is_equal:
        refuse_wrong_values(lambda a, b: bool(a == b), left, right, make_left, make_right)
    return result


def assert_values(assertion, left, right, *more, **options):
    """`self.assertEqual(left, right)` and its like."""

    def holds(a, b):
        assertion(a, b, *more, **options)
        return True

    assertion(left, right, *more, **options)
    refuse_wrong_values(holds, left, right)


def refuse_wrong_values(holds, left, right, make_left=None, make_right=None):
    if not any(contains(one, is_changed_value) for one in (left, right)):
        return
    # A matcher of the tests or of a library is made to equal several values.
    if any(contains(one, is_matcher) for one in (left, right)):
        return
    # A value that is equal to one wrong value may be clipped or rounded; to two opposite ones, not.
    sides = (
        *((lambda wrong: holds(left, wrong), make) for make in wrong_makers(right, make_right)),
        *((lambda wrong: holds(wrong, right), make) for make in wrong_makers(left, make_left)),
    )
    for accepts, make in sides:
        if all(is_accepted(accepts, make, sign) for sign in (1, -1)):
            raise HoldsForWrongValue("this comparison holds for a wrong value as well")


def is_accepted(accepts, make, sign):
    try:
        return accepts(make(sign))
    except Exception:  # noqa: BLE001 - what cannot be compared is not accepted
        return False


def wrong_makers(value, make_again):
    """Functions that make a wrong value; each raises where it cannot."""
    yield lambda sign: make_wrong(value, sign)
    yield lambda sign: make_longer(value, sign)
    if make_again is not None and is_changed_value(value):
        yield lambda sign: make_again(lambda argument: make_wrong(argument, sign))


def make_wrong(value, sign, depth=0):
    """A value of the same kind and length that is not equal to it."""
    kind = type(value)
    if depth > 5:
        raise RecursionError("it may contain itself")
    if value is None or kind is bool:
        return not value
    if kind is str:
        # Letters and digits: a value that ignores spaces or marks still has them.
        return f"{value}Zq7" if sign > 0 else f"7qZ{value}"
    if kind in (bytes, bytearray):
        return value + b"Zq7" if sign > 0 else b"7qZ" + value
    if kind in (list, tuple, set, frozenset):
        return kind(make_all_wrong(list(value), sign, depth))
    if kind is dict:
        return dict(zip(value, make_all_wrong(list(value.values()), sign, depth)))  # noqa: B905
    if is_number(kind):
        return make_wrong_number(value, sign)
    return make_wrong_copy(value, sign, depth)


def is_number(kind):
    """Of the standard library itself: one of the program may compute what it likes."""
    from decimal import Decimal
    from fractions import Fraction

    return kind in (int, float, complex, Decimal, Fraction)


def make_wrong_number(value, sign):
    is_finite = value == value and value - value == 0
    return sign * (abs(value) * 2 + 1_000_003) if is_finite else type(value)(sign)


def make_all_wrong(values, sign, depth):
    """At least one of them is wrong; what cannot be made wrong stays."""
    made, count = [], 0
    for value in values:
        try:
            made.append(make_wrong(value, sign, depth + 1))
            count += 1
        except Exception:  # noqa: BLE001
            made.append(value)
    if not count:
        raise ValueError("nothing in it can be made wrong")
    return made


def make_longer(value, sign):
    kind, more = type(value), 1_000_003 * sign
    if kind in (list, tuple):
        return kind([*value, more])
    if kind in (set, frozenset):
        return value | {more}
    if kind is dict:
        return {**value, more: more}
    raise TypeError("it has no length that can be changed")


def make_wrong_copy(value, sign, depth):
    """An object whose attributes are all wrong; of pytest's approx, only what is expected."""
    import copy

    made = copy.copy(value)
    if made is value or isinstance(value, type):
        raise TypeError("it cannot be copied")
    slots = [name for one in type(value).__mro__ for name in vars(one).get("__slots__", ())]
    names = [*getattr(made, "__dict__", ()), *slots]
    if type(value).__name__.startswith("Approx"):
        names = ["expected"]
    changed = 0
    for name in names:
        old = getattr(made, name, None)
        if old is None:
            continue
        try:
            object.__setattr__(made, name, make_wrong(old, sign, depth + 1))
            changed += 1
        except Exception:  # noqa: BLE001
            continue
    if not changed:
        raise ValueError("nothing in it can be made wrong")
    return made


def contains(value, condition, depth=4):
    kind = type(value)
    if kind in (list, tuple, set, frozenset, dict):
        inner = value.values() if kind is dict else value
        return depth > 0 and any(contains(one, condition, depth - 1) for one in inner)
    return condition(value)


def is_changed_value(value):
    """Is it an object of a class that the change defines?"""
    return any(is_changed_class(one) for one in type(value).__mro__)


def is_matcher(value):
    """Has its class an equality of its own, written in Python, that the change does not define?"""
    kind = type(value)
    if is_number(kind) or kind.__name__.startswith("Approx"):
        return False
    return hasattr(kind.__eq__, "__code__") and not is_changed_value(value)


def is_changed_class(kind):
    """By the files of its functions, and of its module if that knows it: the name can be false."""
    import sys

    codes = (getattr(one, "__code__", None) for one in vars(kind).values())
    files = [code.co_filename for code in codes if code is not None]
    module = sys.modules.get(kind.__module__)
    found = module
    for name in kind.__qualname__.split("."):
        found = getattr(found, name, None)
    if found is kind:
        files.append(getattr(module, "__file__", None) or "")
    return not files or any(one.replace("\\", "/").endswith(CHANGED_FILES) for one in files)
