"""A worker process of its own: claims and finishes until nothing is left, prints what it had."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from tests.builders import MINUTE, RUN_ID, HandClock
from tests.store.acts import finish
from yaoki.store import open_store


def main(path: str, holder: str) -> None:
    store = open_store(Path(path), HandClock(), durable=False, create=False)
    deadline = time.monotonic() + 60
    while not store.resting(RUN_ID) and time.monotonic() < deadline:
        for task in store.claim(holder, MINUTE, 3):
            finish(store, task)
            print(task.id)
    store.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
