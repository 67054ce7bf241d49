"""Makes wrong values of a right one: other numbers, texts, elements and attributes.

The text of this module is put into the test files of a control run, as that of `compared_values`.
"""

# Without annotations: the Python of the tests may be older than ours.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

CHANGED_FILES = ()
AROUND = 16


def wrong_steps(keeps_length, is_far=True):
    """A step says what is added to a number, and whether a text keeps its length.

    A clipped value equals one far value, a remainder equals both far values, and a rounded value
    equals near ones; so all of these are tried.  `AROUND` is more than any honest tolerance.
    """
    by_most = 1_000_003 if is_far else AROUND
    return [(by, keeps_length) for by in (by_most, -by_most, 1, -1, 2, -2)]


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
    if abs(by) == AROUND:
        distance = AROUND + int(abs(value)) // 2
        return value + distance if by > 0 else value - distance
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


def reorder(value, rotation):
    """The value backwards or rotated; every list, tuple or text in it with at least three items,
    all of them different.
    """
    made, count = reorder_all(value, rotation)
    if not count:
        raise ValueError("it has no order that can be changed")
    return made


def reorder_all(value, rotation, depth=0):
    """The new value, and how many containers in it have another order."""
    kind = type(value)
    if depth > 5 or kind not in (list, tuple, dict, str):
        return value, 0
    inner = list(value.values() if kind is dict else value)
    pairs = [(one, 0) if kind is str else reorder_all(one, rotation, depth + 1) for one in inner]
    made, count = [one for one, _ in pairs], sum(number for _, number in pairs)
    if kind is dict:
        return dict(zip(value, made)), count  # noqa: B905
    are_distinct = not any(a == b for at, a in enumerate(inner) for b in inner[:at])
    if 2 < len(inner) < 1000 and are_distinct:
        made, count = made[1:] + made[:1] if rotation else made[::-1], count + 1
    return ("".join(made) if kind is str else kind(made)), count


def keep_item(value, at, step):
    """The value whose items are all wrong, but for the first or the last one."""
    kind = type(value)
    if kind not in (list, tuple, str, dict) or len(value) < 3:
        raise TypeError("it has no items, or too few")
    made, is_dict = make_wrong(value, step), kind is dict
    wrong, right = (list(one.values() if is_dict else one) for one in (made, value))
    wrong[at] = right[at]
    if len(wrong) != len(right) or all(a == b for a, b in zip(wrong, right)):  # noqa: B905
        raise ValueError("nothing but this item can be made wrong")
    if is_dict:
        return dict(zip(value, wrong))  # noqa: B905
    return "".join(wrong) if kind is str else kind(wrong)


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


def is_changed_class(kind):
    """By the files of its functions, and of its module if that knows it: the name can be false.

    Code that was made while the program ran has no file, and a name is all that it says.
    """
    import sys

    codes = (getattr(one, "__code__", None) for one in vars(kind).values())
    files = [code.co_filename for code in codes if code is not None]
    module = sys.modules.get(kind.__module__)
    found = module
    for name in kind.__qualname__.split("."):
        found = getattr(found, name, None)
    if found is kind and not files and kind.__module__ in sys.builtin_module_names:
        return False
    if found is kind:
        files.append(getattr(module, "__file__", None) or "")
    is_made = all(not one or (one[0] == "<" and "frozen" not in one) for one in files)
    return is_made or any(one.replace("\\", "/").endswith(CHANGED_FILES) for one in files)
