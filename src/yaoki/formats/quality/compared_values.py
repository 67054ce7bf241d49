"""Compares values of a test, and then one of them with wrong values.

The text of this module, and of `wrong_copies`, is put into the test files of a control run, so it
uses the standard library alone, and every import is inside of a function.
"""

# Without annotations: the Python of the tests may be older than ours.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from yaoki.formats.quality.wrong_copies import (
    inner_values,
    is_changed_class,
    keep_item,
    make_longer,
    make_wrong,
    reorder,
    wrong_steps,
)

# The names of classes that the tests use.
NAMED_CLASSES = ()


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


def find_value(value, container):
    """`value in container`"""
    result = value in container
    if result:
        refuse_wrong_members(value, container)
    return result


def assert_value_in(assertion, value, container, *more, **options):
    """`self.assertIn(value, container)`"""
    assertion(value, container, *more, **options)
    refuse_wrong_members(value, container)


def refuse_wrong_members(value, container):
    """A class of the program that is itself the container may have any content."""
    if type(container) not in (list, tuple, set, frozenset, dict):
        return
    for one in container:
        if is_accepted(lambda made: is_equal(value, made), lambda _, one=one: one, None):
            refuse_wrong_values(is_equal, value, one)


def is_equal(left, right):
    return left is right or bool(left == right)


def assert_values(assertion, left, right, *more, **options):
    """`self.assertEqual(left, right)` and its like."""

    def holds(a, b):
        assertion(a, b, *more, **options)
        return True

    assertion(left, right, *more, **options)
    refuse_wrong_values(holds, left, right)


def refuse_wrong_values(holds, left, right, make_left=None, make_right=None, depth=4):
    """Items at the same place are compared by themselves: what is beside them may be right."""
    if not any(contains(one, is_changed_value) for one in (left, right)):
        return
    pairs = pairs_of(left, right) if depth else None
    if pairs is None:
        refuse_wrong_pair(holds, left, right, make_left, make_right)
    for one, other in pairs or ():
        refuse_wrong_values(lambda a, b: bool(a == b), one, other, depth=depth - 1)


def pairs_of(left, right):
    """The items of two plain containers of one shape; None for anything else."""
    kind = type(left)
    if kind is not type(right) or kind not in (list, tuple, dict) or len(left) != len(right):
        return None
    if kind is dict:
        return [(left[key], right[key]) for key in left] if left.keys() == right.keys() else None
    return list(zip(left, right))  # noqa: B905


def refuse_wrong_pair(holds, left, right, make_left, make_right):
    # A matcher of the tests or of a library is made to equal several values.
    if any(contains(one, is_matcher, enters_changed=False) for one in (left, right)):
        return
    sides = (
        (lambda wrong: holds(left, wrong), right, make_right),
        (lambda wrong: holds(wrong, right), left, make_left),
    )
    if any(holds_for_wrong(*side) for side in sides):
        raise HoldsForWrongValue("this comparison holds for a wrong value as well")
    for (accepts, value, _), other in zip(sides, (left, right)):  # noqa: B905
        if not contains(other, is_named_value) and holds_for_part(accepts, value):
            raise HoldsForWrongValue("this comparison holds for another order or other items")


def holds_for_wrong(accepts, value, make_again):
    """Are all values of one group accepted?"""
    far_or_near, same_length = wrong_steps(False), wrong_steps(True)
    around = wrong_steps(False, is_far=False)
    groups = [
        (lambda step: make_wrong(value, step), far_or_near),
        (lambda step: make_wrong(value, step), around),
        (lambda step: make_wrong(value, step), same_length),
        (lambda step: make_longer(value, step), far_or_near[:2]),
    ]
    # A constructor may map all that it does not know to one value, so it comes last.
    if make_again is not None and is_changed_value(value) and not can_be_wrong(value):
        again = lambda step: make_again(lambda argument: make_wrong(argument, step))  # noqa: E731
        groups.append((again, far_or_near))
    return any(all(is_accepted(accepts, make, step) for step in tried) for make, tried in groups)


def holds_for_part(accepts, value):
    """Are all orders accepted, or all values with the same first, or the same last item?

    A class that the tests use by its name may be an unordered one, and they may compare its parts.
    """
    groups = (
        (lambda step: reorder(value, step), (0, 1)),
        (lambda step: keep_item(value, 0, step), wrong_steps(True)[:2]),
        (lambda step: keep_item(value, -1, step), wrong_steps(True)[:2]),
    )
    return any(all(is_accepted(accepts, make, step) for step in tried) for make, tried in groups)


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


def contains(value, condition, depth=4, enters_changed=True):
    is_entered = depth > 0 and (enters_changed or not is_changed_value(value))
    inner = inner_values(value) if is_entered else ()
    return condition(value) or any(
        contains(one, condition, depth - 1, enters_changed) for one in inner
    )


def is_changed_value(value):
    """Is it an object of a class that the change defines?"""
    return any(is_changed_class(one) for one in type(value).__mro__)


def is_named_value(value):
    """Is its class one that the tests use by its name?"""
    import sys

    kind = type(value)
    if not is_changed_value(value) or kind.__name__ not in NAMED_CLASSES:
        return False
    modules = [one for one in globals().values() if isinstance(one, type(sys))]
    known = [globals().get(kind.__name__)]
    known += [getattr(one, kind.__name__, None) for one in modules]
    return any(one is kind for one in known)


def is_matcher(value):
    """Has its class an equality of its own, written in Python, that the change does not define?"""
    import sys

    kind = type(value)
    top = kind.__module__.partition(".")[0]
    # `Path` and `UUID` compare their own content; `unittest.mock.ANY` does not.
    if top in getattr(sys, "stdlib_module_names", ()) and top not in ("unittest", "test"):
        return False
    if kind.__name__.startswith("Approx"):
        return False
    return hasattr(kind.__eq__, "__code__") and not is_changed_value(value)
