"""The layout of the graph: an edge that passes other boxes goes around them."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import yaoki.faces.web

LAYOUT = Path(yaoki.faces.web.__file__).with_name("static") / "graph" / "layout.js"
# `limit -> final` passes the layer of `crash`, and `limit -> end` two layers.
LAYERS = {"limit": 0, "crash": 1, "beside": 1, "final": 2, "end": 3}
EDGES = ("limit crash", "crash final", "limit final", "final end", "limit end", "beside end")
SCRIPT = """
const { layout } = await import(process.argv[1]);
const graph = JSON.parse(process.argv[2]);
layout(graph, Number(process.argv[3]));
console.log(JSON.stringify(graph));
"""


def lay_out(aspect: float) -> dict[str, Any]:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    boxes = [{"key": key, "layer": at, "order": n} for n, (key, at) in enumerate(LAYERS.items())]
    edges = [dict(zip(("from", "to"), edge.split(), strict=True)) for edge in EDGES]
    graph = json.dumps({"boxes": boxes, "edges": edges})
    words = (node, "--input-type=module", "-e", SCRIPT, LAYOUT.as_uri(), graph, str(aspect))
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    made: dict[str, Any] = json.loads(done.stdout)
    return made


@pytest.mark.parametrize(
    ("aspect", "along", "across", "size"),
    [(2.0, "x", "y", "height"), (0.5, "y", "x", "width")],
    ids=["wide window", "tall window"],
)
def test_no_edge_passes_behind_a_box(aspect: float, along: str, across: str, size: str) -> None:
    """An edge behind `crash` read as `limit -> crash -> final`."""
    graph = lay_out(aspect)

    boxes = {box["key"]: box for box in graph["boxes"]}
    for edge in graph["edges"]:
        first, last = boxes[edge["from"]][along], boxes[edge["to"]][along]
        passed = {box[along] for box in boxes.values() if first < box[along] < last}
        assert {point[along] for point in edge["via"]} == passed, edge
        for point in edge["via"]:
            row = [box for box in boxes.values() if box[along] == point[along]]
            assert not [b for b in row if b[across] < point[across] < b[across] + b[size]], edge
