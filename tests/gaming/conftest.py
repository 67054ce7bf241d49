"""The fixtures of the truth suite run the cases here, too."""

from __future__ import annotations

from tests.false_success.conftest import case_runner, pycache

__all__ = ["case_runner", "pycache"]
