"""An option of `yaoki answer` that belongs to another answer is refused, not ignored."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from yaoki.faces.cli.commands.answer import answer


@pytest.mark.spec("0.6", "12.1")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "abort", "--accept", "abc"), "--accept belongs to go: yaoki answer RUN go"),
        (("run", "--accept", "abc"), "--accept belongs to go: yaoki answer RUN go"),
        (("one", "retry", "--check", "unit"), "--check belongs to waive: yaoki answer TASK waive"),
        (("one", "--check", "unit"), "--check belongs to waive: yaoki answer TASK waive"),
    ],
)
def test_an_option_of_another_answer_is_refused(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    refused = CliRunner().invoke(answer, [*words, "--repo", str(tmp_path)])

    assert (refused.exit_code, said in refused.output) == (2, True), refused.output
