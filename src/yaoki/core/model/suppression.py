"""Comments and attributes that silence a linter or type checker."""

from __future__ import annotations

from yaoki.core.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Suppression:
    """One that a change adds.  `is_import`: it has a code and is on the line of a new import.

    `is_whole_file`: it silences more than its own line or block.  `is_new_file`: the base does not
    have the file.
    """

    path: str
    line: int
    words: str
    is_import: bool = False
    is_whole_file: bool = False
    is_new_file: bool = False

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"
