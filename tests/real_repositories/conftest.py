"""The fixtures of the acceptance tests."""

from __future__ import annotations

from tests.acceptance.conftest import project, pycache, store_url, stores

__all__ = ["project", "pycache", "store_url", "stores"]
