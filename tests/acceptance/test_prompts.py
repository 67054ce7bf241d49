"""`yaoki prompts`: people see, copy and change exactly what agents get."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.acceptance.project import Project, a_plan, file_contains, writes

pytestmark = pytest.mark.acceptance
TEST_FAILED = ".yaoki/prompts/steps/retry/issue/f_failed_test-failed.md"


@pytest.mark.spec("7.1", "12.1")
def test_the_list_names_every_prompt_and_its_file(project: Project) -> None:
    project.yaoki("prompts", "eject", "omission")
    (project.repo / "yaoki.toml").write_text('patterns = ["too-slow"]\n')

    done = project.yaoki("prompts", "list", "--json")

    assert done.code == 0, done.err
    assert (done.document["schema"], done.document["language"]) == (1, "en")
    paths = {one["name"]: one["path"] for one in done.document["prompts"]}
    assert paths["timeout"] == "shipped/en/steps/retry/issue/f_failed_timeout.md"
    assert paths["omission"] == ".yaoki/prompts/steps/retry/issue/f_failed_omission.md"
    assert paths["too-slow"] == "shipped/en/steps/retry/issue/f_failed_quality-failure.md"
    shown = project.yaoki("prompts", "list")
    assert ".yaoki/prompts/steps/retry/issue/f_failed_omission.md" in shown.out
    assert shown.out.endswith("next: yaoki prompts show NAME\n")


@pytest.mark.spec("7.1", "7.4")
def test_a_template_is_shown_in_the_language_of_the_settings_or_another(project: Project) -> None:
    (project.repo / "yaoki.toml").write_text('language = "ja"\n')

    japanese = project.yaoki("prompts", "show", "timeout")
    english = project.yaoki("prompts", "show", "timeout", "--lang", "en", "--json")

    assert "タイムアウト" in japanese.out
    assert japanese.out.startswith("shipped/ja/steps/retry/issue/f_failed_timeout.md:\n")
    assert project.yaoki("prompts", "show", "TIMEOUT").out == japanese.out, "as journals name it"
    assert "{{ timeoutSeconds }}" in english.document["text"]
    assert english.document["params"] == ["timeoutSeconds", "elapsedSeconds", "message"]
    assert english.document["steps"][-1].endswith("f_failed_timeout.md: used")


@pytest.mark.spec("7.1")
def test_an_ejected_and_edited_template_is_what_agents_get(project: Project) -> None:
    written = project.yaoki("prompts", "eject", "test-failed", "--json").document["written"]
    file = project.repo / TEST_FAILED
    file.write_text(file.read_text().replace("## Tests fail", "## Red again"))

    again = project.yaoki("prompts", "eject", "test-failed")
    tried = project.yaoki("prompts", "test", "test-failed")

    assert written == [str(file)]
    assert "nothing written" in again.out
    assert "## Red again" in file.read_text()
    assert f"{TEST_FAILED}: used" in tried.out
    assert tried.out.endswith("next: yaoki prompts show test-failed\n"), "it is ejected already"
    assert "## Red again\n" in tried.out
    assert "tests/test_login.py::test_short_password" in tried.out


@pytest.mark.spec("7.1")
def test_an_ejected_template_applies_to_its_language_only(project: Project) -> None:
    project.yaoki("prompts", "eject", "--lang", "ja", "omission", "todo-added")
    file = project.repo / ".yaoki/prompts/ja/steps/retry/issue/f_failed_omission.md"
    file.write_text("省略しないこと")

    japanese = project.yaoki("prompts", "test", "omission", "--lang", "ja", "--json").document
    english = project.yaoki("prompts", "test", "omission", "--json").document

    assert japanese["text"] == "省略しないこと"
    assert english["path"] == "shipped/en/steps/retry/issue/f_failed_omission.md"


@pytest.mark.spec("7.2")
def test_a_template_is_rendered_with_given_values(project: Project) -> None:
    file = project.folder / "params.json"
    file.write_text(json.dumps({"missingFiles": ["a b.md", "{{ 7*7 }}"], "check": "files"}))

    done = project.yaoki("prompts", "test", "file-not-exists", "--params", str(file), "--json")

    assert done.code == 0, done.err
    assert "- `a b.md`\n- `{{ 7*7 }}`" in done.document["text"]
    assert "Failing check: `files`" in done.document["text"]
    assert done.document["fault"] == ""


@pytest.mark.spec("5.8", "7.2")
def test_a_broken_template_is_named_and_the_built_in_text_is_shown(project: Project) -> None:
    project.yaoki("prompts", "eject", "test-failed")
    file = project.repo / TEST_FAILED
    file.write_text("---\nparams: [failedTests]\n---\n{{ failedTsts }}\n")

    tried = project.yaoki("prompts", "test", "test-failed")
    document = project.yaoki("prompts", "test", "test-failed", "--json").document

    assert tried.code == 2
    assert "f_failed_test-failed.md:4: 'failedTsts' is used but not declared" in tried.out
    assert "The work does not pass its checks" in tried.out
    assert document["path"] is None
    assert document["steps"][-1] == "built-in words: used"


@pytest.mark.full
@pytest.mark.spec("12.1")
@pytest.mark.parametrize(
    ("words", "params", "code", "said"),
    [
        (("show", "tests-failed"), None, 6, "did you mean 'test-failed'?"),
        (("eject", "../../x"), None, 6, "there is no prompt"),
        (("test", "timeout"), {"timeoutSecond": 3}, 2, "did you mean 'timeoutSeconds'?"),
        (("test", "timeout"), {"kind": "RATE_LIMIT"}, 2, "adds nothing to the prompt"),
        (("test", "timeout"), [1], 2, "one JSON object"),
        (("test", "timeout", "--params", "nowhere.json"), None, 2, "cannot be read"),
        (("show", "timeout", "--lang", "xx"), None, 2, "'xx'"),
    ],
)
def test_invalid_prompt_arguments_are_refused(
    words: tuple[str, ...], params: Any, code: int, said: str, project: Project
) -> None:
    file = project.folder / "params.json"
    file.write_text(json.dumps(params))
    more = ("--params", str(file)) if params is not None else ()

    done = project.yaoki("prompts", *words, *more)

    assert done.code == code, done.err
    assert said in done.err
    assert not (project.repo / ".yaoki").exists()


BROKEN = {
    "empty": ("", "is empty"),
    "blank": ("---\nparams: []\n---\n  \n\n", "is empty"),
    "a comment": ("{# nothing to say #}\n", "is empty"),
    "a param nobody gives": ("---\nparams: [nobody]\n---\n{{ nobody }} x\n", "has no param"),
    "a param nobody uses": ("---\nparams: [message]\n---\nWords.\n", "never used"),
    "a tag that is not closed": ("{% if message %}\n", "f_failed_test-failed.md:1:"),
}


@pytest.mark.full
@pytest.mark.spec("7.2", "2.2")
@pytest.mark.parametrize("name", BROKEN)
def test_a_template_refused_by_validate_is_refused_by_list_and_test_too(
    project: Project, name: str
) -> None:
    text, why = BROKEN[name]
    file = project.repo / TEST_FAILED
    file.parent.mkdir(parents=True)
    file.write_text(text)
    plan = project.plan(
        a_plan({"a": [writes("a.txt")]}, [{"id": "a"}], {"good": file_contains("a.txt")})
    )

    refused = project.yaoki("validate", plan)
    tried = project.yaoki("prompts", "test", "test-failed")
    listed = project.yaoki("prompts", "list")

    assert (refused.code, tried.code, listed.code) == (2, 2, 2)
    assert f"{TEST_FAILED}:" in refused.out + refused.err
    assert why in refused.out + refused.err
    for done in (tried, listed):
        assert f"broken: {TEST_FAILED}:" in " ".join(done.out.split())
        assert why in " ".join(done.out.split())


@pytest.mark.spec("7.1", "7.2")
def test_an_unused_prompt_file_is_reported_by_list(project: Project) -> None:
    stray = project.repo / ".yaoki" / "prompts" / "notes.md"
    stray.parent.mkdir(parents=True)
    stray.write_text("words\n")

    done = project.yaoki("prompts", "list", "--json")

    assert done.code == 2
    assert done.document["defects"][0].startswith(".yaoki/prompts/notes.md:1: is never used")
