"""Headers of a program in C that change what an assertion of its tests does."""

from __future__ import annotations

from tests.formats.quality.definition.cases import Case

HEADER = "#ifndef CALC_H\n#define CALC_H\nint add(int a, int b);\n{}#endif\n"
TEST = (
    '#include <assert.h>\n#include "calc.h"\n{}int main(void) {{\n'
    "    assert(add(2, 3) == 5);\n    return 0;\n}}\n"
)


def header(lines: str, where: str = "calc.h", include: str = "", test: str = TEST) -> Case:
    base = {"calc.h": HEADER.format(""), "calc.c": "int x;\n", "test_calc.c": test.format(include)}
    text = HEADER.format(lines) if where == "calc.h" else lines
    return Case("make test", base, {where: text}, where=where)


REPLACED: dict[str, Case] = {
    "assert is redefined": header("#undef assert\n#define assert(x) ((void)0)\n"),
    "assert is nothing": header("# define assert(x)\n"),
    "assertions are turned off": header("#define NDEBUG\n"),
    "the comparison ends the program": header(
        "#define main(x) main(void) { return 0; } int y(x)\n"
    ),
    "a source that the test includes": header(
        "#define NDEBUG\nint x;\n", "calc.c", '#include "calc.c"\n'
    ),
    "a new header": header("#undef assert\n#define assert(x)\n", "detail.h"),
    "the assertion of a library": header(
        "#undef TEST_ASSERT_EQUAL\n#define TEST_ASSERT_EQUAL(a, b)\n",
        test=TEST.replace("assert(add(2, 3) == 5)", "TEST_ASSERT_EQUAL(5, add(2, 3))"),
    ),
}

NOT_REPLACED: dict[str, Case] = {
    "a function that becomes a macro": header("#define add(a, b) ((a) + (b))\n"),
    "assertions of one source are turned off": header("#define NDEBUG\nint x;\n", "calc.c"),
    "an assertion of the program itself": header("#define CALC_ASSERT(x) check(x)\n"),
    "an assertion where the system has none": header(
        "#ifndef assert\n#define assert(x) check(x)\n#endif\n"
    ),
    "an assertion that only a comment defines": header("/*\n#define assert(x)\n*/\n"),
}
