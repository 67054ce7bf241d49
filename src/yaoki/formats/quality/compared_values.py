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
    return compare_by(lambda a, b: a == b, left, right, make_left, make_right)


def compare_distance(left, right, limit, is_strict, make_left=None, make_right=None):
    """`abs(left - right) < limit`, or `<=`."""

    def is_near(a, b):
        return abs(a - b) < limit if is_strict else abs(a - b) <= limit

    return compare_by(is_near, left, right, make_left, make_right)


def compare_by(compare, left, right, make_left, make_right):
    result = compare(left, right)
    try:
        is_true = bool(result)
    except Exception:  # noqa: BLE001 - an array has no truth
        return result
    if is_true:
        refuse_wrong_values(lambda a, b: bool(compare(a, b)), left, right, make_left, make_right)
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
    sides = (
        (lambda wrong: holds(left, wrong), right, make_right),
        (lambda wrong: holds(wrong, right), left, make_left),
    )
    if any(holds_for_wrong(*side) for side in sides):
        raise HoldsForWrongValue("this comparison holds for a wrong value as well")


def holds_for_wrong(accepts, value, make_again):
    """Are all values of one group accepted?"""
    far_or_near, same_length = wrong_steps(False), wrong_steps(True)
    groups = [
        (lambda step: make_wrong(value, step), far_or_near),
        (lambda step: make_wrong(value, step), same_length),
        (lambda step: make_longer(value, step), far_or_near[:2]),
    ]
    # A constructor may map all that it does not know to one value, so it comes last.
    if make_again is not None and is_changed_value(value) and not can_be_wrong(value):
        again = lambda step: make_again(lambda argument: make_wrong(argument, step))  # noqa: E731
        groups.append((again, far_or_near))
    return any(all(is_accepted(accepts, make, step) for step in tried) for make, tried in groups)


def wrong_steps(keeps_length):
    """A step says what is added to a number, and whether a text keeps its length.

    A value that is equal to one far value may be clipped; to both, the rest of a division; to
    near values, rounded.
    """
    return [(by, keeps_length) for by in (1_000_003, -1_000_003, 1, -1, 2, -2)]


def can_be_wrong(value):
    try:
        make_wrong(value, wrong_steps(False)[0])
    except BaseException:  # noqa: BLE001
        return False
    return True


def is_accepted(accepts, make, step):
    try:
        return accepts(make(step))
    except BaseException:  # noqa: BLE001 - not even an exit may end the control
        return False


def make_wrong(value, step, depth=0):
    """A value of the same kind that is not equal to it."""
    kind = type(value)
    if depth > 5:
        raise RecursionError("it may contain itself")
    if value is None or kind is bool:
        return not value
    if kind is str:
        return make_wrong_text(value, step)
    if kind in (bytes, bytearray):
        return make_wrong_bytes(value, step)
    if kind in (list, tuple, set, frozenset):
        return kind(make_all_wrong(list(value), step, depth))
    if kind is dict:
        return dict(zip(value, make_all_wrong(list(value.values()), step, depth)))  # noqa: B905
    if is_number(kind):
        return make_wrong_number(value, step)
    return make_wrong_copy(value, step, depth)


def make_wrong_text(value, step):
    """Other letters and digits: a value that ignores spaces or marks still has them."""
    by, keeps_length = step
    if not (keeps_length and value):
        return f"{value}Zq7" if by > 0 else f"7qZ{value}"
    letters, digits = (("q", "z"), ("7", "3")) if by > 0 else (("x", "k"), ("2", "4"))
    has_marks_only = not any(one.isalnum() for one in value)

    def other(old):
        new, instead = digits if old.isdigit() else letters
        is_kept = not (has_marks_only or old.isalnum())
        return old if is_kept else instead if old.lower() == new else new

    return "".join(map(other, value))


def make_wrong_bytes(value, step):
    by, keeps_length = step
    if keeps_length and value:
        return type(value)(one ^ (1 if by > 0 else 2) for one in value)
    return value + b"Zq7" if by > 0 else b"7qZ" + value


def is_number(kind):
    """Is it a number type of the standard library?  One of the program may compute anything."""
    from decimal import Decimal
    from fractions import Fraction

    return kind in (int, float, complex, Decimal, Fraction)


def make_wrong_number(value, step):
    by = step[0]
    is_finite = value == value and value - value == 0
    if not is_finite:
        return type(value)(by)
    far = abs(value) * 2 + abs(by)
    return value + by if abs(by) < 3 else far if by > 0 else -far


def make_all_wrong(values, step, depth):
    """At least one of them is wrong; what cannot be made wrong stays."""
    made, count = [], 0
    for value in values:
        try:
            made.append(make_wrong(value, step, depth + 1))
            count += 1
        except Exception:  # noqa: BLE001
            made.append(value)
    if not count:
        raise ValueError("nothing in it can be made wrong")
    return made


def make_longer(value, step):
    kind, more = type(value), step[0]
    if kind in (list, tuple):
        return kind([*value, more])
    if kind in (set, frozenset):
        return value | {more}
    if kind is dict:
        return {**value, more: more}
    raise TypeError("it has no length that can be changed")


def make_wrong_copy(value, step, depth):
    """An object whose content and attributes are all wrong."""
    made = make_wrong_content(value, step, depth)
    changed = made is not None
    if not changed:
        made = copy_object(value)
    for name in attribute_names(value):
        old = getattr(value, name, None)
        if old is None:
            continue
        try:
            object.__setattr__(made, name, make_wrong(old, step, depth + 1))
            changed = True
        except Exception:  # noqa: BLE001 - what cannot be made wrong stays
            continue
    if not changed:
        raise ValueError("nothing in it can be made wrong")
    return made


def attribute_names(value):
    """The names of all attributes; of pytest's approx only the expected value."""
    kind = type(value)
    if kind.__name__.startswith("Approx"):
        return ["expected"]
    slots = [name for one in kind.__mro__ for name in vars(one).get("__slots__", ())]
    return [*getattr(value, "__dict__", ()), *slots]


def copy_object(value):
    import copy

    made = copy.copy(value)
    if made is value or isinstance(value, type):
        raise TypeError("it cannot be copied")
    return made


def make_wrong_content(value, step, depth):
    """The wrong content of a text, number or container; None if the value has only attributes."""
    kind = type(value)
    for base in (str, bytes, int, float, complex, tuple, frozenset):
        if issubclass(kind, base):
            plain = make_by(base, base, value)
            made = make_by(base, kind, make_wrong(plain, step, depth + 1))
            getattr(made, "__dict__", {}).update(getattr(value, "__dict__", {}))
            return made
    base = container_base(kind)
    if base is not None:
        made = copy_object(value)
        fill(made, base, make_all_wrong(list(inner_values(value)), step, depth))
        return made
    if any(has_hidden_content(one) for one in kind.__mro__[:-1]):
        raise TypeError("its content cannot be changed")
    return None


def make_by(base, kind, value):
    """Without the constructor of the class, which may change the value."""
    return base.__new__(kind, value)


def fill(made, base, values):
    if base is set:
        set.clear(made)
        set.update(made, values)
    elif base is dict:
        dict.update(made, zip(list(dict.__iter__(made)), values))  # noqa: B905
    else:
        for at, one in enumerate(values):
            base.__setitem__(made, at, one)


def has_hidden_content(kind):
    """A class in C with an equality of its own, such as a date, compares no attributes."""
    equality = vars(kind).get("__eq__")
    is_in_c = equality is not None and not hasattr(equality, "__code__")
    return is_in_c and not is_changed_class(kind)


def contains(value, condition, depth=4):
    inner = inner_values(value) if depth > 0 else ()
    return condition(value) or any(contains(one, condition, depth - 1) for one in inner)


def inner_values(value):
    """The items of a container, read by its base class, which no subclass changes."""
    kind = type(value)
    if is_wrapper(kind):
        return [vars(value).get("data")]
    base = container_base(kind)
    if base is None:
        return ()
    return dict.values(value) if base is dict else base.__iter__(value)


def is_wrapper(kind):
    from collections import UserDict, UserList, UserString

    return issubclass(kind, (UserDict, UserList, UserString))


def container_base(kind):
    from collections import deque

    bases = (list, tuple, set, frozenset, deque, dict)
    return next((base for base in bases if issubclass(kind, base)), None)


def is_changed_value(value):
    """Is it an object of a class that the change defines?"""
    return any(is_changed_class(one) for one in type(value).__mro__)


def is_matcher(value):
    """Has its class an equality of its own, written in Python, that the change does not define?"""
    kind = type(value)
    # `Counter` and `UserString` compare what they contain.
    if is_number(kind) or kind.__name__.startswith("Approx") or kind.__module__ == "collections":
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
