"""A YAML loader for foreign files: plain values only, no aliases, no repeated keys."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import yaml


class StrictLoader(yaml.SafeLoader):
    """SafeLoader takes repeated keys in silence and lets aliases grow without bound."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not allowed")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.YAMLError(f"the key {key.value!r} stands twice{key.start_mark}")
            seen.add(key.value)
        return super().construct_mapping(node, deep=True)
