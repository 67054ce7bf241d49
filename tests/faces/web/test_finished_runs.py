"""The words for a run without open tasks: "all done" only if all of it landed."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import yaoki.faces.web

SESSION = Path(yaoki.faces.web.__file__).with_name("static") / "session.js"
WORDS = SESSION.with_name("words")
SCRIPT = """
const { restKey } = await import(process.argv[1]);
console.log(JSON.stringify(JSON.parse(process.argv[2]).map(restKey)));
"""
RUNS = {
    ("DONE", 3, 3): "rest.DONE",
    ("DONE", 2, 3): "rest.DONE.part",
    ("CANCELLED", 0, 3): "rest.CANCELLED",
    ("CANCELLED", 1, 3): "rest.CANCELLED.part",
    ("PAUSED", 1, 3): "rest.PAUSED",
}


@pytest.mark.spec("12.5")
def test_the_page_says_which_part_of_a_finished_run_landed() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    runs = [dict(zip(("status", "landed", "planned"), run, strict=True)) for run in RUNS]
    words = (node, "--input-type=module", "-e", SCRIPT, SESSION.as_uri(), json.dumps(runs))
    keys = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)

    assert keys == [*RUNS.values()]
    for language in ("en", "ja"):
        assert set(keys) <= json.loads((WORDS / f"{language}.json").read_text()).keys()
