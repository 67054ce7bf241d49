"""The store on a PostgreSQL server, for many machines.  Imported only when a URL names one."""

from __future__ import annotations

import logging

from yaoki.adapters.store.postgres.database import PostgresDatabase

# A lost connection is told by us, once, where it is decided; the driver's own lines say it twice.
logging.getLogger("psycopg").addHandler(logging.NullHandler())

__all__ = ["PostgresDatabase"]
