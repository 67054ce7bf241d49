"""Long lines: broken between words on a terminal, never in a command or a path, never in a pipe."""

from __future__ import annotations

import subprocess
import sys

import pytest
from rich.cells import cell_len

from yaoki.faces.text.line_wrap import cell_width, wrap_line
from yaoki.faces.text.render import align_columns

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


# ------------------------------------------------------------------ columns

WIDE = {
    "Chinese and Japanese": "漢字 かな",
    "full width": "ｆｕｌｌ",
    "half width": "ｶﾅ",
    "Korean, as macOS writes file names": "\u1112\u1161\u11ab\u1100\u1173\u11af",
    "accents, as macOS writes file names": "re\u0301sume\u0301",
    "Thai": "ก็",
    "Hindi": "नि",
    "an emoji": "🚀",
    "an emoji of two characters": "⚠\ufe0f",
    "a skin tone": "👍🏽",
    "a flag": "🇯🇵",
    "signs of messages": "… – “x” ✓",
}


@pytest.mark.parametrize("text", WIDE.values(), ids=WIDE.keys())
def test_columns_begin_in_the_same_cell_below_each_other(text: str) -> None:
    """Measured by the library that draws the live view."""
    rows = [("name", "state"), (text, "DONE"), (f"\x1b[31m{text}\x1b[0m{text}", "WAITING")]

    lines = align_columns(rows)

    shown = [line.replace("\x1b[31m", "").replace("\x1b[0m", "") for line in lines]
    begins = {
        cell_len(line[: line.rindex(state)]) for line, (_, state) in zip(shown, rows, strict=True)
    }
    assert begins == {max(cell_len(text) * 2, len("name")) + 2}


@pytest.mark.parametrize("text", WIDE.values(), ids=WIDE.keys())
@pytest.mark.parametrize("width", [20, 33, 80])
def test_a_narrow_terminal_breaks_wide_text_within_its_width(text: str, width: int) -> None:
    lines = wrap_line(f"1  {' '.join([text] * 40)}", width)

    assert max(cell_len(line) for line in lines) <= width
    assert " ".join(" ".join(lines).split()) == f"1 {' '.join([text] * 40)}"


@pytest.mark.parametrize("width", [20, 33, 80])
@pytest.mark.parametrize(
    "text",
    [
        "タスクの名前と状態を一行に表示します。質問があれば「はい」か「いいえ」で答えてください。"
        * 3,
        "任务已经完成，所有检查都通过了（共三项）。请合并分支，然后删除它。" * 3,
    ],
    ids=["Japanese", "Chinese"],
)
def test_text_without_blanks_is_broken_between_its_characters(text: str, width: int) -> None:
    lines = wrap_line(f"  3  {text}", width)

    begins = [line.strip()[0] for line in lines]
    assert "".join(line.strip() for line in lines) == f"3  {text}"
    assert max(cell_len(line) for line in lines) <= width
    assert max(cell_len(line) for line in lines[:-1]) > width - 8, "lines are filled"
    assert not set(begins) & set("。，、」）")
    assert {len(line) - len(line.lstrip()) for line in lines[1:]} == {5}, "below their column"


def test_every_character_has_the_width_that_the_live_view_gives_it() -> None:
    every = (chr(n) for n in range(0x20, 0x3000))

    assert [hex(ord(char)) for char in every if cell_width(char) != cell_len(char)] == []


def test_narrow_columns_start_without_rich() -> None:
    code = (
        "import sys; from yaoki.faces.text.render import align_columns;"
        "align_columns([('name…', 'größe'), ('a – b', 'x')]); print('rich' in sys.modules)"
    )

    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"
