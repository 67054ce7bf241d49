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

from yaoki.adapters.processes.child_processes import ChildProcess

HERE = Path(__file__).parent
# As the demo paints them on a terminal.
COLOURS = {
    "Ten tasks.": "bold",
    "kill -9 ": "bold",
    "yaoki resume:": "bold",
    "each proven": "bold",
    " LIES ": "bold red",
    " yaoki runs ": "bold red",
    " LANDS ": "bold green",
    " lands ": "green",
    " fails ": "yellow",
    " asks ": "magenta",
    " found ": "cyan",
}


def main() -> None:
    folder = tempfile.mkdtemp(prefix="yaoki-picture-")
    argv = (sys.executable, "-m", "yaoki", "demo", "--folder", f"{folder}/demo")
    child = ChildProcess(argv, cwd=Path(folder), env={**os.environ})
    # Lines about this machine are left out: its PATH and its sandbox.
    told = [line for line in child.lines() if "export" not in line and "sandbox" not in line]
    lines = [line.replace(folder, "~") for line in told]
    assert child.wait() == 0, "the demo did not end as promised"
    console = Console(record=True, width=118, file=io.StringIO())
    console.print(Text("$ python3 dev.py demo", style="bold"))
    for line in lines:
        style = next((style for word, style in COLOURS.items() if word in line), "")
        console.print(Text(line, style=style, overflow="ellipsis", no_wrap=True))
    svg = console.export_svg(title="yaoki demo")
    # No fonts from elsewhere: the picture must draw offline.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    (HERE / "demo.svg").write_text(svg)


if __name__ == "__main__":
    main()
