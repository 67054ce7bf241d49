"""A worker process of its own: claims and finishes until nothing is left, prints what it had."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from tests.builders import MINUTE, RUN_ID
from tests.store.acts import finish, opened


def main(where: str, holder: str, durable: bool) -> None:
    place = where if "://" in where else Path(where)
    store = opened(place, create=False, durable=durable)
    deadline = time.monotonic() + 60
    while not store.resting(RUN_ID) and time.monotonic() < deadline:
        for task in store.claim(holder, MINUTE, 3):
            finish(store, task)
            print(task.id)
    store.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], "durable" in sys.argv[3:])
