"""The store imports a part of itself when one of its methods is first used."""

from __future__ import annotations

import pytest

from yaoki.adapters.store.sql import _EXPOSED, SqlStore


def test_each_part_exposes_the_methods_that_the_table_names(store: SqlStore) -> None:
    for part, names in _EXPOSED.items():
        for name in names:
            getattr(store, name)
        before = {name for name in vars(store) if name in names}
        assert before == set(names), part
    exposed = {name for names in _EXPOSED.values() for name in names}

    assert {name for name in vars(store) if name not in exposed} == {
        *("database", "clock", "_limits", "_exposing"),
    }


def test_an_unknown_method_is_an_attribute_error(store: SqlStore) -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        store.nothing  # type: ignore[attr-defined]  # noqa: B018
