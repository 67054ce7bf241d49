"""Words that readers stumbled over do not come back: in messages, in the page and in the docs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES = ("src", "docs", "plugins", "README.md")
SUFFIXES = {".py", ".md", ".js", ".json", ".toml", ".html"}
# A first reader's 25 worst sentences, by the words that made them hard, and their like.
STUMBLING = (
    *(
        "agent runs (5 for",
        "grants as many again",
        "it stood there already",
        "waits for its one re-run",
    ),
    *("is not fit", "whose limit is over", "nobody carries", "nobody is at it"),
    *("looks at them again", "is red at the base is not blamed", "walls agents"),
    *("keeps that race apart", "folds to the rows of the last", "the base was not looked at"),
    *("nobody plans", "told its cost", "a question of its"),
    *("everything rests", "is believed to", "gone on with", "because it is so good"),
    *("at work finish, then now", "ended so long ago", "more than so many"),
    *("Until the first browser comes", "starts anew where something was"),
    *("unless said", "names the command himself", "mend it", "mend them", "is mended"),
)


def texts() -> Iterator[tuple[str, str]]:
    for place in PLACES:
        found = [ROOT / place] if (ROOT / place).is_file() else sorted((ROOT / place).rglob("*"))
        for file in found:
            name = str(file.relative_to(ROOT))
            if file.suffix in SUFFIXES and "vendor" not in file.parts:
                yield name, " ".join(file.read_text(encoding="utf-8").lower().split())


@pytest.mark.spec("12.1")
def test_no_message_and_no_page_has_the_words_that_readers_stumbled_over() -> None:
    hard = [words.lower() for words in STUMBLING]

    found = [(name, words) for name, text in texts() for words in hard if words in text]

    assert found == []
