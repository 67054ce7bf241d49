"""Why a server does not let us in, or not yet: one true sentence and one remedy each.

The driver gives no code for what happens before a session begins, so there the words are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import psycopg

from yaoki.core.lazy_dataclass import dataclass

SETTING = "[store] url in yaoki.toml"


@dataclass(frozen=True, slots=True)
class ConnectionRefusal:
    """`passing`: to ask again later may help.  Its words name {where}, {user} and {database}."""

    code: str
    pattern: re.Pattern[str]
    sentence: str
    hint: str
    transient: bool = False


def _refusals() -> Iterator[ConnectionRefusal]:
    yield ConnectionRefusal(
        "28P01",
        re.compile("no password supplied"),
        "the store {where} wants a password for {user}, and none was given",
        f"give it in ~/.pgpass, in PGPASSWORD or under {SETTING}",
    )
    yield ConnectionRefusal(
        "28P01",
        re.compile("(?:password|SCRAM|MD5) authentication failed", re.IGNORECASE),
        "the store {where} does not accept the password of {user}",
        f"give the right one in ~/.pgpass, in PGPASSWORD or under {SETTING}",
    )
    yield ConnectionRefusal(
        "28000",
        re.compile(r"role \".*?\" does not exist|no such user"),
        "there is no role {user} on the server of {where}",
        f"as its operator: createuser {{user}}; or name another role under {SETTING}",
    )
    yield ConnectionRefusal(
        "28000",
        re.compile("is not permitted to log in"),
        "the role {user} may not log in on the server of {where}",
        "as its operator: ALTER ROLE {user} LOGIN",
    )
    yield ConnectionRefusal(
        "28000",
        re.compile(r"no pg_hba\.conf entry|pg_hba\.conf rejects"),
        "the server of {where} lets {user} in from nowhere near here: its pg_hba.conf says no",
        "as its operator: add a line to pg_hba.conf and reload; one of hostssl wants "
        "?sslmode=require",
    )
    yield ConnectionRefusal(
        "28000",
        re.compile(r"\b\w+ authentication failed for user"),
        "the server of {where} does not take this machine's user for {user}",
        f"as its operator: look at pg_hba.conf and pg_ident.conf; or name a role under {SETTING}",
    )
    yield ConnectionRefusal(
        "3D000",
        re.compile(r"database \".*?\" does not exist|no such database"),
        "there is no database {database} on the server of {where}",
        "createdb --encoding=UTF8 --template=template0 {database}; or name another under "
        + SETTING,
    )
    yield ConnectionRefusal(
        "53300",
        re.compile("too many clients|too many connections|remaining connection slots"),
        "the server of {where} has no connection left for {user}",
        "let go of some, or raise max_connections: docs/guides/postgresql.md",
        transient=True,
    )
    yield ConnectionRefusal(
        "57P03",
        re.compile("is starting up|is shutting down|in recovery mode|not (?:yet|currently) accept"),
        "the server of {where} is not ready yet",
        "wait a moment, then again",
        transient=True,
    )
    yield ConnectionRefusal(
        "25006",
        re.compile("session is read-only|in hot standby mode|is not in hot standby"),
        "the server of {where} takes no writes: it is a standby",
        f"name the one that does as well, postgresql://one,two/…, under {SETTING}",
        transient=True,
    )
    yield ConnectionRefusal(
        "42501",
        re.compile("permission denied for schema"),
        "the role {user} may not make tables in {where}",
        "as the owner of the database: GRANT USAGE, CREATE ON SCHEMA public TO {user}",
    )
    yield ConnectionRefusal(
        "42501",
        re.compile("permission denied for database"),
        "the role {user} may not use the database {database} of {where}",
        "as its owner: GRANT CONNECT ON DATABASE {database} TO {user}",
    )
    yield ConnectionRefusal(
        "42501",
        re.compile("permission denied|must be owner"),
        "the tables in {where} are not those of the role {user}",
        f"name the role that made them, or another database, under {SETTING}",
    )
    yield ConnectionRefusal(
        "08001",
        re.compile(r"SSL (?:was|is|connection is) required|certificate|sslmode|sslrootcert"),
        "the way to {where} cannot be encrypted as it was asked: {said}",
        f"look at sslmode and sslrootcert under {SETTING}, and at ssl on the server",
    )
    yield ConnectionRefusal(
        "08001",
        re.compile("could not translate host name|failed to resolve host|Name or service not"),
        "the host of {where} has no address here",
        f"look at its name under {SETTING}",
        transient=True,
    )
    yield ConnectionRefusal(
        "08001",
        re.compile(r"invalid port number|invalid \S+ value"),
        "the URL of the store {where} cannot be used: {said}",
        f"mend it under {SETTING}",
    )


REFUSALS = tuple(_refusals())
AT_THE_DOOR = re.compile("connection (?:failed|is bad)|failed to resolve|Multiple connection")
# What the driver says before the server's own words, or its own.
BEFORE = re.compile(r"^.*(?:failed|bad): (?:FATAL: +)?")


def find_refusal(error: psycopg.Error) -> ConnectionRefusal | None:
    """By the words, in order; by the code alone when the server speaks another language.

    Of a session that broke later the words tell nothing, and there is no code.
    """
    said = " ".join(str(error).split())
    if error.sqlstate is None and not AT_THE_DOOR.match(said):
        return None
    known = [one for one in REFUSALS if error.sqlstate in (None, one.code)]
    return next((one for one in known if one.pattern.search(said)), None) or next(
        (one for one in known if error.sqlstate == one.code), None
    )


def strip_driver_prefix(said: str) -> str:
    """What was said last: where the driver went before is in the address already."""
    return BEFORE.sub("", said)
