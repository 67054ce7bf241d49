"""The same place to work in as the acceptance tests have."""

from __future__ import annotations

from tests.acceptance.conftest import place, pycache, store_url, stores

__all__ = ["place", "pycache", "store_url", "stores"]
