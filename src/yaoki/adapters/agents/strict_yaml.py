"""A YAML loader for untrusted files: plain values only, no aliases, no duplicate keys."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import yaml


class StrictLoader(yaml.SafeLoader):
    """SafeLoader accepts duplicate keys silently and lets aliases expand without bound."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not allowed")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = set()
        for key, _ in node.value:
            if key.value in keys:
                raise yaml.YAMLError(f"the key {key.value!r} is a duplicate{key.start_mark}")
            keys.add(key.value)
        return super().construct_mapping(node, deep=True)
