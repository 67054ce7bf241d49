"""What is looked at before a store is used: the server, and which tables it has."""

from __future__ import annotations

from collections.abc import Callable

from yaoki.adapters.store.database import Link, Result
from yaoki.adapters.store.postgres.connection import Address, told
from yaoki.adapters.store.postgres.link import Connection, WriteLink, schema
from yaoki.adapters.store.postgres.writer import TABLE
from yaoki.errors import StoreError

SERVER_MIN = 130000


class Plain:
    """A database without a store in it yet, as a migration sees it."""

    tables = "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()"
    own_schema = TABLE

    def __init__(self, connection: Connection, address: Address) -> None:
        self._connection, self._address = connection, address

    @property
    def where(self) -> str:
        return str(self._address)

    def schema(self, sql: str) -> str:
        return schema(sql)

    def write(self, work: Callable[[Link], Result]) -> Result:
        with told(self._address), self._connection.transaction():
            link = WriteLink(self._connection)
            result = work(link)
            link.flush()
            return result


def refuse_unfit(connection: Connection) -> None:
    info = connection.info
    encoding = info.parameter_status("server_encoding")
    if encoding != "UTF8":
        hint = "createdb --encoding=UTF8 --template=template0 yaoki"
        raise StoreError(f"the database is encoded as {encoding}, not as UTF8", hint=hint)
    if info.server_version < SERVER_MIN:
        version = info.server_version // 10_000
        raise StoreError(f"PostgreSQL {version} is too old", hint="PostgreSQL 13 or newer")
