"""The criteria Q1, Q5 and Q6: claims compared with existing files."""

import pytest

from yaoki.core.model import Finding, TaskKind
from yaoki.formats.quality import Change, ChangeContext, judge_criteria

pytestmark = pytest.mark.spec("4.3", "4.4", "4.5")

HERE = {"src/a.py", "README.md"}


def findings_of(claims: ChangeContext, *changes: Change) -> dict[str, Finding]:
    return {f.check: f for f in judge_criteria(changes, claims, exists=HERE.__contains__)}


def test_a_missing_expected_file_is_named() -> None:
    found = findings_of(ChangeContext(files_expected=("src/a.py", "src/b.py")))

    assert found["Q1"].pattern == "file-not-exists"
    assert found["Q1"].params == {"missingFiles": ["src/b.py"]}


@pytest.mark.parametrize(
    "said",
    [
        "I created `src/new.py` with the parser.",
        "I added src/new.py.",
        "Created `src/a.py` and `src/new.py`.",
        "I've created a new file `src/new.py` that holds the parser.",
        "Added a test file `src/new.py`.",
        "Done. Wrote src/new.py, with the parser.",
        "- Created `src/new.py` (the parser)",
        "The file `src/new.py` has been created.",
        "**Files created:**\n- `src/new.py`\n- `src/a.py` - as before\n",
        "`src/a.py` と `src/new.py` を作成しました。",
        "New files:\n- src/new.py: the parser\n",
        "Created the following:\n\n1. `src/new.py` - parser\n",
        "`src/new.py` を作成しました。",
        "src/new.py を新規作成しました",
    ],
)
def test_a_claimed_new_file_must_exist(said: str) -> None:
    assert findings_of(ChangeContext(agent_output=said))["Q1"].params == {
        "missingFiles": ["src/new.py"]
    }


@pytest.mark.parametrize(
    "said",
    [
        "I created `src/a.py`.",
        "I did not create src/new.py.",
        "I could have added src/new.py.",
        "Created a temporary file `src/new.py` and removed it.",
        "Wrote to /etc/new.conf and https://x.example/new.py.",
        "Added `foo.bar()` and `os.path`.",
        "The old `src/gone.py` is used.",
        "Added tests; run pytest tests/*.py",
        "Created `<name>.py` for every name.",
        "src/new.py は作成していません",
        "Added support for `settings.toml` files.",
        "Added a check for `package-lock.json`.",
        "I added a note about `.env.local`... and wrote docs.",
        "Added pandas to `requirements.txt`.",
        "Created a helper that reads `data/input.csv`.",
        "Generated code is written to `out/gen.py` at build time.",
        "Added tests covering src/foo.test.ts style names.",
        "Added an import of `lodash/fp.js`.",
        "Added `*.log` and `tmp/cache.json` to .gitignore.",
        "Added `tmp/cache.json` to .gitignore.",
        "Added a fallback when `config/local.yaml` is missing.",
        "Created the branch feature/login.py",
        "Added logging to stdout, e.g. `app.log`.",
        "Added `settings.toml` support.",
        "Added `config.yaml` handling to the loader.",
        "Created `settings.toml` parsing.",
        "新しい設定 `config.yaml` を読む処理を追加しました。",
        "`foo/bar.py` を参照する処理を追加しました。",
        ".gitignore に `tmp/cache.json` を追加しました。",
        "`config.yaml` を作成した場合の処理を追加しました。",
        "The new file format is described in RFC/1234.txt",
        "Added handling for and/or.js paths",
        "Implemented in terms of numpy/linalg.py",
        "Wrote the output to `build/report.html`.",
        "Added the following features:\n- `settings.toml` support\n",
        "Created the following:\n- a parser for `settings.toml`\n",
        "",
    ],
)
def test_text_without_a_claimed_file_is_no_claim(said: str) -> None:
    assert findings_of(ChangeContext(agent_output=said)) == {}


def test_a_claimed_file_may_be_named_by_its_last_path_parts() -> None:
    made = Change("pkg/deep/new.py", None, "x = 1\n", ((1, "x = 1"),))

    assert (
        findings_of(ChangeContext(agent_output="Created `deep/new.py` and `new.py`."), made) == {}
    )


def test_a_task_without_change_and_passed_checks_lacks_evidence() -> None:
    for passed in (False, None):
        found = findings_of(ChangeContext(changed=False, checks_passed=passed))

        assert found["Q5"].pattern == "no-change"
        assert found["Q5"].message == "nothing was changed, and the checks fail"


def test_passing_checks_on_an_unchanged_base_are_evidence() -> None:
    assert findings_of(ChangeContext(changed=False, checks_passed=True, agent_output="Done.")) == {}


def test_a_report_task_needs_its_report() -> None:
    missing = ChangeContext(kind=TaskKind.REPORT, changed=False, report=" \n")
    written = ChangeContext(kind=TaskKind.REPORT, changed=False, report="It is slow because ...")

    assert findings_of(missing)["Q5"].message == "there is no report"
    assert findings_of(written) == {}


@pytest.mark.parametrize("kind", [TaskKind.CHECK, TaskKind.PLAN, TaskKind.GROUP])
def test_task_kinds_without_files_need_no_diff(kind: TaskKind) -> None:
    assert findings_of(ChangeContext(kind=kind, changed=False, agent_output="Done.")) == {}


@pytest.mark.parametrize(
    "said",
    [
        "All tests pass.",
        "Done.",
        "Looks good.\nAll 12 tests are passing now",
        "I have successfully implemented the feature.",
        "The task is complete.",
        "実装が完了しました。",
        "テストはすべて成功しました",
    ],
)
def test_a_claim_of_completion_without_evidence_is_quoted(said: str) -> None:
    found = findings_of(ChangeContext(changed=False, checks_passed=False, agent_output=said))

    assert set(found) == {"Q5", "Q6"}
    assert found["Q6"].pattern == "no-change"
    assert said.split("\n")[-1] in found["Q6"].message


@pytest.mark.parametrize(
    "said",
    [
        "I could not finish; the task is not done.",
        "Nothing is done yet.",
        "I failed to get all tests passing.",
        "完了していません",
        "What should be done next?",
        "",
    ],
)
def test_an_honest_last_message_is_no_claim(said: str) -> None:
    assert set(
        findings_of(ChangeContext(changed=False, checks_passed=False, agent_output=said))
    ) == {"Q5"}


def test_criteria_are_reported_in_order() -> None:
    broken = Change("a.py", None, "# TODO: x\n# 残り省略\nx = (\n", ((1, ""), (2, ""), (3, "")))
    claims = ChangeContext(files_expected=("b.py",), changed=False, agent_output="Done.")

    found = judge_criteria([broken], claims, exists=lambda _: False)

    assert [finding.check for finding in found] == ["Q1", "Q2", "Q3", "Q4", "Q5", "Q6"]
