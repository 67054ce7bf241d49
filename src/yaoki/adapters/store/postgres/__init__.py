"""The store on a PostgreSQL server, for many machines.  Imported only when a URL names a server."""

from __future__ import annotations

import logging

from yaoki.adapters.store.postgres.database import PostgresDatabase

# yaoki reports a lost connection itself, once; the driver's log lines would repeat it.
logging.getLogger("psycopg").addHandler(logging.NullHandler())

__all__ = ["PostgresDatabase"]
