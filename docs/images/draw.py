"""Draws docs/images/demo.svg from a real run of the demo: `python docs/images/draw.py`."""

from __future__ import annotations

import io
import os
import re
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

from yaoki.system import Child

HERE = Path(__file__).parent
# The story in a picture: the falls, the kill, the end; the rest is cut and said to be.
SHOWN = re.compile(
    r"kill -9|resume:|ESCALATED|CONFLICT|TIMEOUT|QUALITY|INCOMPLETE|RATE_LIMIT|landed |needs you|"
    r"Which animal|yaoki answer \S+ retry|blocked by|In \d+ s:|landed on"
)
COLOURS = {
    "landed": "green",
    "kill -9": "bold red",
    "needs you": "bold yellow",
    "ESCALATED": "yellow",
    "retry in": "magenta",
}


def main() -> None:
    folder = tempfile.mkdtemp(prefix="yaoki-picture-")
    argv = (sys.executable, "-m", "yaoki", "demo", "--folder", f"{folder}/demo")
    child = Child(argv, cwd=Path(folder), env={**os.environ})
    lines = [line.replace(folder, "~") for line in child.lines() if SHOWN.search(line)]
    assert child.wait() == 0, "the demo did not end as promised"
    console = Console(record=True, width=118, file=io.StringIO())
    console.print(Text("$ make demo", style="bold"))
    for line in lines:
        style = next((style for word, style in COLOURS.items() if word in line), "")
        console.print(Text(line, style=style, overflow="ellipsis", no_wrap=True))
    svg = console.export_svg(title="yaoki demo")
    # No fonts from elsewhere: the picture must draw offline.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    (HERE / "demo.svg").write_text(svg)


if __name__ == "__main__":
    main()
