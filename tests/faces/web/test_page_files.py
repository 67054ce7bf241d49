"""The files of the page: its words, vendored code, and what they must not contain."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import yaoki.faces.web
from yaoki.faces.web.waits import TaskWaitCause
from yaoki.views import entry_text

STATIC = Path(yaoki.faces.web.__file__).with_name("static")
WORDS = {name: json.loads((STATIC / "words" / f"{name}.json").read_text()) for name in ("en", "ja")}
PLACE = re.compile(r"\{\w+\}")
USED = re.compile(r'\bt\(\s*(?:\w[^"`(),]*\? )?"([\w.]+)"(?: : "([\w.]+)")?')


def scripts() -> Iterator[tuple[str, str]]:
    for file in sorted(STATIC.rglob("*.js")):
        if "vendor" not in file.parts:
            yield str(file.relative_to(STATIC)), file.read_text()


def test_both_languages_have_the_same_keys_and_placeholders() -> None:
    assert WORDS["en"].keys() == WORDS["ja"].keys()
    for key, words in WORDS["en"].items():
        assert words.strip(), key
        assert set(PLACE.findall(WORDS["ja"][key])) == set(PLACE.findall(words)), key


def test_every_english_sentence_of_the_server_has_a_translation() -> None:
    """Journal entries and waits; `SAID` is shown untranslated."""
    document = json.loads((STATIC / "words" / "server.ja.json").read_text())
    told = {key.removeprefix("story.").partition(".")[0] for key in document if "story." in key}
    waits = {key.removeprefix("waits.") for key in document if key.startswith("waits.")}

    assert set(entry_text._WORDS) == told
    assert waits == {*TaskWaitCause} - {TaskWaitCause.SAID}
    assert all(words.strip() for words in document.values())


def test_every_key_used_by_the_page_is_translated() -> None:
    asked = {key for _, text in scripts() for pair in USED.findall(text) for key in pair if key}
    assert len(asked) > 150
    assert asked <= WORDS["en"].keys()


@pytest.mark.spec("14.4")
def test_no_script_interprets_text_as_html_or_code() -> None:
    never = re.compile(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function|srcdoc"
    )
    assert {name: never.findall(text) for name, text in scripts() if never.search(text)} == {}


@pytest.mark.spec("12.5")
def test_the_page_has_no_external_resource_and_no_inline_script() -> None:
    """So it works offline and under the strict policy."""
    for file in sorted(STATIC.rglob("*")):
        if file.suffix in {".js", ".css", ".html"} and "vendor" not in file.parts:
            assert not re.search(r"https?://|url\(|@import", file.read_text()), file
    index = (STATIC / "index.html").read_text()
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=", index)


def test_vendored_files_are_unchanged_and_have_their_licence() -> None:
    folder = STATIC / "vendor"
    document = json.loads((folder / "vendor.json").read_text())
    assert {file.name for file in folder.iterdir()} == {*document, "vendor.json"}
    for name, about in document.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == about["sha256"], name
        assert about["licence"]


def test_every_referenced_file_exists() -> None:
    for name, text in scripts():
        for wanted in re.findall(r'from "(\.[^"]+)"', text):
            assert (STATIC / name).parent.joinpath(wanted).resolve().is_file(), (name, wanted)
    named = re.findall(r'"/static/([^"]+)"', (STATIC / "index.html").read_text())
    assert [wanted for wanted in named if not (STATIC / wanted).is_file()] == []


def test_all_scripts_are_preloaded() -> None:
    """Without the preload list the browser would fetch them one after another."""
    index = (STATIC / "index.html").read_text()
    listed = set(re.findall(r'modulepreload" href="/static/([^"]+)"', index))
    there = {str(file.relative_to(STATIC)) for file in STATIC.rglob("*.js")}
    assert listed == there - {"main.js"}
