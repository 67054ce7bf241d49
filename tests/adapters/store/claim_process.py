"""A worker process: claims and finishes tasks until nothing is left, and prints their ids."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from tests.adapters.store.store_actions import StoreLocation, finish, open_test_store
from tests.builders import MINUTE, RUN_ID
from yaoki.adapters.store import SqlStore
from yaoki.errors import StoreError
from yaoki.ports import Claimant

OPEN_S = 30.0


def main(store_location: str, holder: str, durable: bool) -> None:
    project = store_location if "://" in store_location else Path(store_location)
    store = _open_patiently(project, durable=durable)
    deadline = time.monotonic() + 60
    while not store.is_idle(RUN_ID) and time.monotonic() < deadline:
        for task in store.claim(Claimant(holder, MINUTE), 3):
            finish(store, task)
            print(task.id)
    store.close()


def _open_patiently(project: StoreLocation, *, durable: bool) -> SqlStore:
    """Retries while the server is being killed: the first connection does not wait by itself."""
    deadline = time.monotonic() + OPEN_S
    while True:
        try:
            return open_test_store(project, create=False, durable=durable)
        except StoreError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], "durable" in sys.argv[3:])
