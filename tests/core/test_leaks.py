"""Secrets in a change: found in any encoding, named by variable and line, never shown."""

from __future__ import annotations

from base64 import b64encode

import pytest

from yaoki.core.leaks import LEAKS_MAX, Leak, LeakSearch, NewContent, leak_finding
from yaoki.core.model import Outcome
from yaoki.core.redact import encoded_variants

pytestmark = pytest.mark.spec("14.2")

SECRET = "s3cret/Value+9"


def a_search() -> LeakSearch:
    return LeakSearch({"API_KEY": SECRET})


def found(content: bytes, before: bytes = b"", line: int = 1) -> list[tuple[str, int]]:
    leaks = a_search().find([NewContent("a.txt", content, before, line)])
    return [(leak.variable, leak.line) for leak in leaks]


@pytest.mark.parametrize(
    "written",
    [
        SECRET.encode(),
        SECRET.encode().hex().encode(),
        SECRET.encode().hex().upper().encode(),
        b64encode(SECRET.encode()),
        b64encode(b"a" + SECRET.encode()),
        b64encode(b"ab" + SECRET.encode() + b"z"),
        b64encode(SECRET.encode()).replace(b"+", b"-").replace(b"/", b"_"),
        SECRET[::-1].encode(),
        SECRET.upper().encode(),
        SECRET.lower().encode(),
        b":".join(f"{byte:02x}".encode() for byte in SECRET.encode()),
        b"%" + b"%".join(f"{byte:02X}".encode() for byte in SECRET.encode()),
        b"\\x" + b"\\x".join(f"{byte:02x}".encode() for byte in SECRET.encode()),
        b" ".join(f"{byte:02x}".encode() for byte in SECRET.encode()),
        SECRET.replace("/", "%2F").replace("+", "%2B").encode(),
    ],
)
def test_a_value_is_found_in_every_encoding(written: bytes) -> None:
    assert found(b"one\ntwo = " + written + b"\nthree") == [("API_KEY", 2)]


@pytest.mark.parametrize("blank", [b" ", b"\t", b"\r\n", b"\n"])
def test_white_space_inside_does_not_hide_a_value(blank: bytes) -> None:
    written = b64encode(SECRET.encode())
    content = b"x\ny " + written[:7] + blank + written[7:] + b"\nz\n"

    assert found(content) == [("API_KEY", 2)]
    assert found(content, before=content) == []
    assert found(content + content, before=content) == [("API_KEY", 2)]


@pytest.mark.parametrize(
    ("before", "line"), [(b"", 1), (b"\n", 2), (b"xx\n", 2), (b"x x\n\n", 3), (b"y ", 1)]
)
def test_the_line_of_a_value_with_white_space_inside_is_known(before: bytes, line: int) -> None:
    written = b64encode(SECRET.encode())

    assert found(before + written[:7] + b" " + written[7:]) == [("API_KEY", line)]
    assert found(before + written) == [("API_KEY", line)]


def test_a_value_with_a_blank_is_found_at_the_very_beginning() -> None:
    search = LeakSearch({"KEY": "my own secret"})

    assert search.find([NewContent("a", b"my own secret")]) == (Leak("KEY", "a", 1),)
    assert search.find([NewContent("a", b"myownsecret")]) == ()


@pytest.mark.parametrize(
    ("content", "before", "leaks"),
    [
        (SECRET, "", 1),
        (SECRET, SECRET, 0),
        (f"{SECRET} {SECRET}", SECRET, 1),
        (f"moved\n{SECRET}", f"{SECRET}\nmoved", 0),
        (SECRET, "other", 1),
        ("nothing", "", 0),
        ("", "", 0),
    ],
)
def test_only_a_value_that_the_base_does_not_have_counts(
    content: str, before: str, leaks: int
) -> None:
    assert len(found(content.encode(), before.encode())) == leaks


@pytest.mark.parametrize(("line", "told"), [(1, 3), (10, 12), (0, 0)])
def test_the_line_is_counted_from_the_first_line_of_the_part(line: int, told: int) -> None:
    assert found(b"a\nb\n" + SECRET.encode(), line=line) == [("API_KEY", told)]


def test_the_location_is_the_line_or_the_whole_part() -> None:
    assert Leak("KEY", "a.txt", 3).location == "a.txt:3"
    assert Leak("KEY", "the message", 0).location == "the message"


def test_every_variable_and_part_is_searched_and_each_place_is_named_once() -> None:
    search = LeakSearch({"ONE": "first-value-1", "TWO": "second-value-2"})
    both = b"second-value-2\nfirst-value-1 first-value-1"

    leaks = search.find([NewContent("a", both), NewContent("b", b"second-value-2")])

    assert leaks == (Leak("ONE", "a", 2), Leak("TWO", "a", 1), Leak("TWO", "b", 1))


def test_the_search_ends_at_its_limit() -> None:
    """A part after the limit is not even read."""
    read = []

    def parts() -> object:
        for n in range(LEAKS_MAX + 10):
            read.append(n)
            yield NewContent(f"f{n}", SECRET.encode())

    leaks = a_search().find(parts())  # type: ignore[arg-type]

    assert [leak.where for leak in leaks] == [f"f{n}" for n in range(LEAKS_MAX)]
    assert len(read) == LEAKS_MAX
    many = LeakSearch({f"K{n}": SECRET for n in range(LEAKS_MAX + 5)})
    assert len(many.find([NewContent("a", SECRET.encode())])) == LEAKS_MAX


@pytest.mark.parametrize(
    ("variables", "searches"),
    [({}, False), ({"KEY": "short"}, False), ({"A": "no", "KEY": SECRET}, True)],
)
def test_a_value_too_short_to_be_a_secret_is_not_searched(
    variables: dict[str, str], searches: bool
) -> None:
    assert bool(LeakSearch(variables)) is searches


def test_a_variable_with_a_lone_surrogate_is_searched_too() -> None:
    value = "value\udc80more"

    leaks = LeakSearch({"KEY": value}).find(
        [NewContent("a", value.encode("utf-8", "surrogatepass"))]
    )

    assert leaks == (Leak("KEY", "a", 1),)


def test_the_finding_names_places_and_the_saved_work_and_never_the_value() -> None:
    leaks = [Leak("API_KEY", f"f{n}.txt", n) for n in range(7)]

    finding = leak_finding(leaks, "refs/yaoki/work/1")

    assert (finding.check, finding.outcome, finding.pattern) == (
        "secrets",
        Outcome.FAILED,
        "secret-added",
    )
    assert finding.message.startswith(
        "the value of API_KEY in f0.txt, the value of API_KEY in f1.txt:1, "
    )
    assert "f4.txt:4" in finding.message
    assert "f5.txt" not in finding.message
    assert finding.message.endswith("; the saved work still contains it: refs/yaoki/work/1")
    assert [(item.name, item.message) for item in finding.items][:2] == [
        ("f0.txt", "the value of API_KEY"),
        ("f1.txt:1", "the value of API_KEY"),
    ]
    assert len(finding.items) == 7
    assert finding.params["secrets"][1] == {"name": "f1.txt:1", "message": "the value of API_KEY"}


def test_base64_at_any_offset_shares_no_letter_with_its_neighbours() -> None:
    variants = list(encoded_variants("abcdef"))

    for before in (b"", b"1", b"12", b"123", b"1234"):
        whole = b64encode(before + b"abcdef" + b"99").decode()
        assert any(variant in whole for variant in variants)
    assert {"fedcba", "ABCDEF", "616263646566", "61:62:63:64:65:66"} <= set(variants)
    assert "YWJjZGVm" in variants


def test_the_whole_list_of_encodings_of_a_value() -> None:
    assert list(encoded_variants("a?>Z")) == [
        *("Z>?a", "A?>Z", "a?>z"),
        *("613f3e5a", "61%3f%3e%5a", "61\\x3f\\x3e\\x5a", "61:3f:3e:5a", "61 3f 3e 5a"),
        *("613F3E5A", "61%3F%3E%5A", "61\\x3F\\x3E\\x5A", "61:3F:3E:5A", "61 3F 3E 5A"),
        *("YT8+W", "YT8-W", "E/Pl", "E_Pl", "hPz5a", "hPz5a"),
    ]
