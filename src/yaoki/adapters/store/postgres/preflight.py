"""Checks before a store is used: of the server, and of its tables."""

from __future__ import annotations

from collections.abc import Callable

from yaoki.adapters.store.database import ResultT, Transaction
from yaoki.adapters.store.postgres.connection import ServerAddress, translate_postgres_errors
from yaoki.adapters.store.postgres.transaction import Connection, WriteTransaction, translate_schema
from yaoki.adapters.store.postgres.writer import EXTRA_SCHEMA
from yaoki.errors import StoreError

SERVER_MIN = 130000


class BareDatabase:
    """A database that may have no store yet, as a migration uses it."""

    tables_query = "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()"
    extra_schema = EXTRA_SCHEMA

    def __init__(self, connection: Connection, address: ServerAddress) -> None:
        self._connection, self._address = connection, address

    @property
    def location(self) -> str:
        return str(self._address)

    def translate_schema(self, sql: str) -> str:
        return translate_schema(sql)

    def write(self, work: Callable[[Transaction], ResultT]) -> ResultT:
        with translate_postgres_errors(self._address), self._connection.transaction():
            tx = WriteTransaction(self._connection)
            result = work(tx)
            tx.flush()
            return result


def refuse_unfit_server(connection: Connection) -> None:
    info = connection.info
    encoding = info.parameter_status("server_encoding")
    if encoding != "UTF8":
        hint = "createdb --encoding=UTF8 --template=template0 yaoki"
        raise StoreError(f"the encoding of the database is {encoding}, not UTF8", hint=hint)
    if info.server_version < SERVER_MIN:
        version = info.server_version // 10_000
        raise StoreError(f"PostgreSQL {version} is too old", hint="use PostgreSQL 13 or newer")
