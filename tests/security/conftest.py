"""The places of the acceptance tests serve attacks as well."""

from __future__ import annotations

from tests.acceptance.conftest import place, pycache, store_url, stores

__all__ = ["place", "pycache", "store_url", "stores"]
