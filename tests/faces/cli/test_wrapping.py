"""Long lines: broken between words on a terminal, never in a command or a path, never in a pipe."""

from __future__ import annotations

import pytest

from yaoki.faces.text.wrapping import cell_width, wrap_line

pytestmark = pytest.mark.spec("12.4")

PATH = "/home/somebody/.local/state/yaoki/worktrees/shop-1f479c55/tr9wpg36-10"


def test_text_that_fits_stays_one_line() -> None:
    assert wrap_line("x" * 80, 80) == ["x" * 80]
    assert wrap_line("a b " * 100, 0) == ["a b " * 100], "a pipe has no width"


@pytest.mark.parametrize("width", [24, 40, 61, 80])
@pytest.mark.parametrize(
    "text",
    [
        "  3  scope  ESCALATED  attempt 6  MAX_RETRIES: it is not done: check scope failed. Abort?",
        f"\x1b[31m  paused: {'the branch was rewritten, and nobody knows why; ' * 2}\x1b[0m",
        "  note: 日本語 の 言葉 は 二倍 の 幅 を 取る ので 行 の 長さ も その 分 だけ 短く なる",
    ],
)
def test_no_word_is_lost_and_no_line_is_too_long(text: str, width: int) -> None:
    lines = wrap_line(text, width)

    assert " ".join(" ".join(lines).split()) == " ".join(text.split())
    assert max(cell_width(line) for line in lines) <= width
    assert len(lines) > 1


def test_further_lines_are_indented_to_the_last_column() -> None:
    text = "ok   sqlite   3.40.1 without the fix; the store's own writer lock keeps it apart"

    first, second = wrap_line(text, 60)

    assert first.index("3.40.1") == len(second) - len(second.lstrip())


def test_a_column_far_to_the_right_continues_below_as_a_whole() -> None:
    text = "aider           aider                   no       cost  not on the PATH; see there"

    assert wrap_line(text, 72)[1].strip() == "not on the PATH; see there"


@pytest.mark.parametrize(
    "whole",
    [
        PATH,
        'yaoki answer tr9wpg36-10 retry "words for the agent"',
        "git merge yaoki/tr9wpg36",
        "npm install -g @agentclientprotocol/claude-agent-acp",
        "`yaoki up`",
    ],
)
def test_commands_and_paths_stay_whole(whole: str) -> None:
    for before in range(4, 60):
        text = f"    {'word ' * (before // 5)}{'x' * (before % 5 + 1)}: {whole}; and then some more"
        assert [line for line in wrap_line(text, 80) if whole in line], text


def test_a_word_that_fits_on_no_line_is_left_to_the_terminal() -> None:
    far = "/" + "x" * 100

    assert wrap_line(f"ok   worktrees  {far}", 80) == [f"ok   worktrees  {far}"]
