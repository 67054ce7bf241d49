"""The files of hidden checks in the store, on both kinds of store."""

from __future__ import annotations

from pathlib import Path

import pytest

from yaoki.adapters.store.sql import SqlStore

pytestmark = pytest.mark.spec("17.2")


def test_hidden_files_are_found_by_their_digest_and_kept_once(store: SqlStore) -> None:
    assert store.hidden_files("d1") is None

    store.save_hidden_files("d1", "/one", "first")
    store.save_hidden_files("d1", "/one", "ignored")
    store.save_hidden_files("d1", "/two", "first")
    store.save_hidden_files("d2", "/one", "second")

    assert (store.hidden_files("d1"), store.hidden_files("d2")) == ("first", "second")
    assert store.hidden_folders() == (Path("/one"), Path("/two"))
