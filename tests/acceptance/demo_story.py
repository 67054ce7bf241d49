"""The story that the demo prints, and the commands at its end."""

from __future__ import annotations

import re


def check_story(output: str) -> None:
    """The false claim is shown before its fix, and few enough lines to be read while they come."""
    story, _, _ = output.partition("Your turn:\n")
    said = r'add +LIES +its agent says "All tests pass\."\n +yaoki runs test-add: .+'
    lies = re.search(said, story)
    assert lies, story
    assert re.search(r"add +LANDS +attempt 2: test-add passes on \w{10}", story[lies.end() :])
    assert "kill -9" in story
    assert len(story.splitlines()) <= 48


def last_commands(output: str) -> str:
    """A script of the printed commands, without the page, which a person has to end."""
    _, _, turns = output.partition("Your turn:\n")
    typed = [line.partition("  #")[0].strip() for line in turns.splitlines()]
    assert any(line.startswith("yaoki ui") for line in typed), output
    return "\n".join(line for line in typed if not line.startswith("yaoki ui"))
