"""Every `yaoki …` that the docs print is a command that exists, with options that it takes."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import pytest
import yaml

from tests.documents import ONLY_READING, PAGES, ROOT, blocks, commands, mentions, name
from yaoki.adapters.agents.preset import parse_preset
from yaoki.app.worktree_context import AGENT_COMMANDS
from yaoki.faces.cli.group import group

EXAMPLES = ROOT / "docs" / "examples"
PLACEHOLDER = re.compile(r"[A-Z][A-Z0-9_-]*|<.*>|\$.*|…|\.\.\.|.*…")
# `run PLAN|GOAL`, `status [RUN]`, `[PATTERN]...`: how a reference writes what may be given.
NOTATION = re.compile(r"[\[\]|]|\.\.\.$")


def defect(words: Sequence[str]) -> str:
    """Why the program would refuse these arguments, without checking what they name."""
    command: click.Command = group
    context, left = click.Context(group, info_name="yaoki"), list(words)
    while isinstance(command, click.Group) and left and not left[0].startswith("-"):
        try:
            _, below, left = command.resolve_command(context, left)
        except click.UsageError as error:
            return error.format_message()
        assert below is not None
        command, context = below, click.Context(below, context, info_name=below.name)
    return _options(command, context, left)


def _options(command: click.Command, context: click.Context, words: Sequence[str]) -> str:
    try:
        given, left, _ = command.make_parser(context).parse_args(list(words))
    except click.UsageError as error:
        return error.format_message()
    if left and not isinstance(command, click.Group):
        return f"too many words: {left}"
    for param in command.params:
        if isinstance(param.type, click.Choice) and isinstance(given.get(param.name), str):
            value = given[param.name]
            if value not in param.type.choices and not PLACEHOLDER.fullmatch(value):
                return f"{param.name} is one of {param.type.choices}, not {value!r}"
    return ""


def meant(words: Sequence[str]) -> Iterator[list[str]]:
    """The commands that a line of prose describes: each alternative, without the notation."""
    if "|" in words:
        first = [words.index("|") - 1, *(n for n, word in enumerate(words) if word == "|")]
        stem = list(words[: first[0]])
        yield from ([*stem, words[n + 1]] for n in first[1:])
        yield [*stem, words[first[0]]]
        return
    alternatives = next((w for w in words if "|" in w and not w.startswith("[")), "")
    for one in alternatives.split("|"):
        chosen = [one if word == alternatives else word for word in words]
        yield [NOTATION.sub("", word) for word in chosen if word not in {"…", "..."}]


@pytest.mark.spec("12.1")
@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_command_of_a_page_is_valid(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    typed = [(line, words, defect(words)) for line, words in commands(text)]
    said = [
        (line, one, defect(one))
        for line, words in mentions(text)
        if words[0] != "COMMAND"
        for one in meant(words)
    ]

    wrong = [
        f"{name(page)}:{line}: yaoki {' '.join(words)}: {why}"
        for line, words, why in (*typed, *said)
        if why and "--help" not in words
    ]

    assert not wrong, "\n".join(wrong)


def test_invalid_commands_of_a_page_are_found() -> None:
    text = """
`yaoki why TASK` and `yaoki plan submit | extend` and `yaoki hook install|status`.

```sh
A=1 yaoki run plan.yaml --quiet > out && yaoki status  # comment
yaoki cancle
```
```python
yaoki nothing
```
"""

    assert [words for _, words in commands(text)] == [["run", "plan.yaml", "--quiet"], ["cancle"]]
    assert [w for _, words in mentions(text) for w in meant(words)] == [
        ["why", "TASK"],
        ["plan", "extend"],
        ["plan", "submit"],
        ["hook", "install"],
        ["hook", "status"],
    ]
    assert "cancle" in defect(["cancle"])
    assert "--fast" in defect(["run", "plan.yaml", "--fast"])
    assert defect(["report", "--format", "pdf"])
    assert defect(["status", "one", "two"])
    assert defect(["prompts", "forget"])


def commands_below(command: click.Command, words: str) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group) or command.invoke_without_command:
        yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=words)
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            if found is not None and not found.hidden:
                yield from commands_below(found, f"{words} {below}".strip())


@pytest.mark.spec("12.1")
def test_the_reference_describes_every_command_with_every_option() -> None:
    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    sections = {part.split("\n")[0]: part for part in re.split(r"^## ", page, flags=re.MULTILINE)}

    missing = []
    for words, command in commands_below(group, ""):
        first = words.split()[0] if words else ""
        text = "".join(p for h, p in sections.items() if re.match(rf"`yaoki {first}\b", h))
        shown = (param for param in command.params if not getattr(param, "hidden", False))
        options = (o for param in shown for o in param.opts if o.startswith("--"))
        missing += [f"{words} {o}" for o in options if first and not re.search(rf"{o}\b", text)]
        missing += [] if text or not first else [words]

    assert [m for m in missing if not m.endswith((" --repo", " --help"))] == []


# ------------------------------------------------------------------ examples


def scripts_of_workflow(text: str) -> Iterator[str]:
    """What the jobs of a GitHub workflow type; its shape is that of the published schema."""
    document = yaml.safe_load(text)
    # YAML 1.1 reads the key `on` as true.
    assert {"name", True, "jobs"} <= set(document)
    assert set(document) <= {"name", True, "jobs", "permissions", "concurrency", "env", "defaults"}
    for job in document["jobs"].values():
        assert {"runs-on", "steps"} <= set(job)
        assert isinstance(job.get("timeout-minutes"), int)
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step), step
            assert set(step) <= {"id", "name", "if", "uses", "run", "with", "env"}, step
            assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step.get("uses", "a/b@v1")), step
            # A foreign value pasted into a script would be executed.
            assert "${{" not in step.get("run", ""), step
            yield step.get("run", "")


def scripts_of_gitlab(text: str) -> Iterator[str]:
    document = yaml.safe_load(text)
    jobs = {key: job for key, job in document.items() if key != "variables"}
    for job in jobs.values():
        known = {"image", "rules", "timeout", "artifacts", "allow_failure"}
        assert set(job) <= known | {"before_script", "script", "after_script"}
        assert job["script"]
        for part in ("before_script", "script", "after_script"):
            assert all(isinstance(line, str) for line in job[part]), part
            yield "\n".join(job[part])


@pytest.mark.parametrize(
    ("file", "scripts"),
    [("github-action.yml", scripts_of_workflow), ("gitlab-ci.yml", scripts_of_gitlab)],
    ids=("github", "gitlab"),
)
def test_the_examples_for_build_servers_are_well_formed_and_use_valid_commands(
    file: str, scripts: type[Iterator[str]]
) -> None:
    text = (EXAMPLES / file).read_text(encoding="utf-8")
    typed = "\n".join(scripts(text))  # type: ignore[call-arg]
    found = [words for _, words in commands(f"```sh\n{typed}\n```\n")]

    assert {words[0] for words in found} >= {"validate", "doctor", "run", "report"}
    assert not [f"{words}: {why}" for words in found if (why := defect(words))]


def test_the_preset_of_the_guide_can_be_loaded() -> None:
    page = (ROOT / "docs" / "guides" / "writing-an-agent.md").read_text(encoding="utf-8")
    tables = [block.text for block in blocks(page) if block.language == "toml"]
    described = next(text for text in tables if "program" in tomllib.loads(text))

    held = parse_preset("acme", described)

    assert held.can_resume
    assert held.exit_codes == {41: "auth"}


def _json_commands(command: click.Command, context: click.Context, *names: str) -> Iterator[str]:
    """Every command below this one that has the option `--json`."""
    if isinstance(command, click.Group):
        for one in command.list_commands(context):
            below = command.get_command(context, one)
            assert below is not None
            inner = click.Context(below, context, info_name=one)
            yield from _json_commands(below, inner, *names, one)
    if any("--json" in param.opts for param in command.params):
        yield " ".join(names)


@pytest.mark.spec("12.1")
def test_every_command_with_json_has_its_fields_on_the_page() -> None:
    """A row of the table or a heading; `why TASK` and `report --format json` name the command."""
    text = (ROOT / "docs" / "reference" / "json.md").read_text(encoding="utf-8")
    places = re.findall(r"^(?:\| |## )(`[^|]+)", text, re.MULTILINE)
    named = [words for place in places for words in re.findall(r"`([a-z][^`]*)`", place)]
    known = {re.sub(r" (?:--|[A-Z]).*", "", words) for words in named}

    assert set(_json_commands(group, click.Context(group))) - known == set()


@pytest.mark.spec("12.1")
def test_every_command_has_its_section_on_the_page_of_the_command_line() -> None:
    text = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    described = set(re.findall(r"`yaoki ([a-z]+)", "\n".join(re.findall(r"^#+ .*$", text, re.M))))

    assert set(group.list_commands(click.Context(group))) - described == set()


@pytest.mark.spec("12.1")
@pytest.mark.parametrize(
    ("page", "sentence", "others"),
    [
        ("reference/settings.md", r"\(exit code 2\)\. ([^.]+) only read:", ()),
        ("guides/mcp.md", r"the repository to ([^.]+): these commands", ("plan", "validate")),
        (
            "decisions/trust.md",
            r"ask nothing and start nothing\*\*: ([^.]+)\.",
            ("ui", "validate", "plan", "doctor"),
        ),
    ],
)
def test_a_page_that_lists_the_commands_that_only_read_names_all_of_them(
    page: str, sentence: str, others: tuple[str, ...]
) -> None:
    listed = re.search(sentence, (ROOT / "docs" / page).read_text(encoding="utf-8"))

    assert listed
    assert set(re.findall(r"`(\w+)`", listed[1])) == ONLY_READING | set(others)


def test_an_agent_may_call_every_command_that_only_reads() -> None:
    assert ONLY_READING | {"plan", "validate", "result", "mcp"} == AGENT_COMMANDS
