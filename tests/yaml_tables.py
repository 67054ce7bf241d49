"""Tables of test cases in YAML, which every test process reads when it collects the tests."""

from __future__ import annotations

from typing import Any

import yaml

# The parser in C, ten times faster, where PyYAML was built with it.
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_quickly(text: str) -> Any:
    return yaml.load(text, Loader=LOADER)  # noqa: S506 - both are safe loaders
