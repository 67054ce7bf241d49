"""The key of a verdict: which changes make a check run again."""

from __future__ import annotations

import pytest

from tests.builders import a_finding
from yaoki.core.decide.quarantine import TEST_RUNS
from yaoki.core.decide.verdict_reuse import (
    as_reused,
    depends_on_inputs_alone,
    identify_inputs,
    is_reusable,
    make_key,
    with_key,
)
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import CheckSpec, CheckType, OnFailure, Outcome
from yaoki.core.model.check_definition import TreeView
from yaoki.core.model.verdict_key import (
    VerdictKey,
    VerdictOrigin,
    describe_difference,
    describe_key,
)

pytestmark = pytest.mark.spec("17.5")
SPEC = CheckSpec("tests", argv=("pytest",))
FILES = {"src/a.py": "100644 aa", "src/b.py": "100755 bb", "docs/x.md": "100644 cc"}


def tree(**changed: str) -> TreeView:
    ids = {**FILES, **changed}
    return TreeView(frozenset(ids), lambda _: None, ids)


def test_without_inputs_every_file_counts() -> None:
    whole = identify_inputs(SPEC, tree())

    assert identify_inputs(SPEC, tree()) == whole
    assert identify_inputs(SPEC, tree(**{"docs/x.md": "100644 dd"})) != whole
    assert identify_inputs(SPEC, tree(**{"new.txt": "100644 ee"})) != whole
    assert identify_inputs(SPEC, tree(**{"src/a.py": "100755 aa"})) != whole, "the mode counts"


@pytest.mark.spec("17.6")
def test_with_inputs_only_the_declared_files_count() -> None:
    spec = replace(SPEC, inputs=("src/**", "!src/b.py"))
    before = identify_inputs(spec, tree())

    assert identify_inputs(spec, tree(**{"docs/x.md": "100644 dd"})) == before
    assert identify_inputs(spec, tree(**{"src/b.py": "100644 dd"})) == before
    assert identify_inputs(spec, tree(**{"src/a.py": "100644 dd"})) != before
    assert identify_inputs(spec, tree(**{"src/c.py": "100644 dd"})) != before


def test_a_renamed_file_is_another_input() -> None:
    one = TreeView(frozenset({"a"}), lambda _: None, {"a": "100644 aa"})
    other = TreeView(frozenset({"b"}), lambda _: None, {"b": "100644 aa"})

    assert identify_inputs(SPEC, one) != identify_inputs(SPEC, other)


@pytest.mark.parametrize(
    "changed",
    [
        CheckSpec("tests", argv=("pytest", "-x")),
        CheckSpec("tests", argv=("pytest",), env={"A": "1"}),
        CheckSpec("tests", argv=("pytest",), cwd="sub"),
        CheckSpec("tests", argv=("pytest",), success="empty"),
        CheckSpec("tests", argv=("pytest",), inputs=("**",)),
        CheckSpec("other", argv=("pytest",)),
    ],
)
def test_the_definition_of_the_check_is_part_of_the_key(changed: CheckSpec) -> None:
    key = make_key(SPEC, tree(), "plain", "t1")

    assert make_key(changed, tree(), "plain", "t1").definition != key.definition


def test_set_up_and_tools_are_parts_of_the_key() -> None:
    key = make_key(SPEC, tree(), "plain", "t1")

    assert (key.setup, key.tools) == ("plain", "t1")
    assert list(key.parts) == ["inputs", "definition", "setup", "tools"]
    others = [replace(key, **{name: "x"}) for name in key.parts]
    assert len({key.digest, *(one.digest for one in others)}) == 5


def test_parts_cannot_run_into_each_other() -> None:
    assert VerdictKey("a", "bc", "", "").digest != VerdictKey("ab", "c", "", "").digest


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (CheckSpec("a", argv=("pytest",)), True),
        (CheckSpec("a", shell="make test"), True),
        (CheckSpec("a", argv=("check", "{report}")), True),
        (CheckSpec("a", argv=("check", "--since={base}")), False),
        (CheckSpec("a", shell="check {commit}"), False),
        (CheckSpec("a", argv=("check",), env={"AT": "{worktree}"}), False),
        (CheckSpec("a", CheckType.JUDGE, ask="good?"), False),
        (CheckSpec("a", CheckType.FILE, path="a"), False),
        (CheckSpec("a", CheckType.PYTHON, entry="a:b"), False),
    ],
)
def test_only_commands_that_name_no_commit_depend_on_their_inputs_alone(
    spec: CheckSpec, expected: bool
) -> None:
    assert depends_on_inputs_alone(replace(spec, inputs=("src/**",)), tree()) is expected
    assert not depends_on_inputs_alone(spec, tree()), "without inputs nothing is reused"


@pytest.mark.parametrize(
    "special", [{".gitattributes": "100644 aa"}, {"x/.gitattributes": "1 a"}, {"lib": "160000 aa"}]
)
def test_attributes_and_submodules_are_doubts(special: dict[str, str]) -> None:
    spec = replace(SPEC, inputs=("src/**",))

    assert not depends_on_inputs_alone(spec, tree(**special))
    assert depends_on_inputs_alone(spec, tree(gitattributes="100644 aa"))


@pytest.mark.parametrize("outcome", list(Outcome))
def test_only_a_pass_is_reused(outcome: Outcome) -> None:
    assert is_reusable(a_finding(outcome)) is (outcome is Outcome.PASSED)


def test_a_pass_that_proves_nothing_or_has_known_failures_is_not_reused() -> None:
    assert not is_reusable(a_finding(Outcome.PASSED, can_fail=False))
    assert not is_reusable(a_finding(Outcome.PASSED, params={"known": ["test_a"]}))


def test_a_reused_finding_is_one_of_this_check_and_names_its_origin() -> None:
    spec = replace(SPEC, required=False, on_failure=OnFailure.SKIP)
    key = VerdictKey("i", "d", "s", "t")
    stored = a_finding(
        Outcome.PASSED,
        seconds=9.0,
        log="/old",
        rerun_seconds=(1.0,),
        params={"passedCount": 3, TEST_RUNS: [{"test": "t"}]},
    )

    reused = as_reused(stored, spec, key, VerdictOrigin("r", "r-1", "c1"))

    assert (reused.check, reused.required, reused.on_failure) == ("tests", False, OnFailure.SKIP)
    assert (reused.seconds, reused.log, reused.rerun_seconds) == (0.0, "", ())
    assert reused.params == {
        "passedCount": 3,
        "verdictKey": {"inputs": "i", "definition": "d", "setup": "s", "tools": "t"},
        "reusedFrom": {"run": "r", "task": "r-1", "commit": "c1"},
    }


def test_a_new_finding_gets_its_key_beside_its_params() -> None:
    key = VerdictKey("i", "d", "s", "t")

    marked = with_key(a_finding(Outcome.PASSED, params={"passedCount": 3}), key)

    assert marked.params == {"passedCount": 3, "verdictKey": key.parts}


def test_keys_and_their_differences_are_described_part_by_part() -> None:
    before = VerdictKey("a" * 64, "b" * 64, "plain", "d" * 64).parts
    now = {**before, "inputs": "e" * 64, "tools": "f" * 64}

    said = "inputs aaaaaaaa, definition bbbbbbbb, set-up plain, tools dddddddd"
    assert describe_key(before) == said
    changed = "inputs aaaaaaaa -> eeeeeeee, tools dddddddd -> ffffffff"
    assert describe_difference(before, now) == changed
    assert describe_difference(before, before) == ""
