"""Reasons why a server refuses a connection: a sentence and a remedy for each cause.

The driver gives no code for errors before a session begins, so its message is matched there.
"""

from __future__ import annotations

import re

import psycopg

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile

SETTING = "[store] url in yaoki.toml"


@dataclass(frozen=True, slots=True)
class ConnectionRefusal:
    """`transient`: a retry may help.  The texts name {where}, {user}, {database}, {message}."""

    code: str
    pattern: re.Pattern[str]
    sentence: str
    hint: str
    transient: bool = False


REFUSALS = (
    ConnectionRefusal(
        "28P01",
        lazy_compile("no password supplied"),
        "the store {where} needs a password for {user}, and none is set",
        f"set it in ~/.pgpass, in PGPASSWORD or under {SETTING}",
    ),
    ConnectionRefusal(
        "28P01",
        lazy_compile("(?:password|SCRAM|MD5) authentication failed", re.IGNORECASE),
        "the store {where} does not accept the password of {user}",
        f"set the right one in ~/.pgpass, in PGPASSWORD or under {SETTING}",
    ),
    ConnectionRefusal(
        "28000",
        lazy_compile(r"role \".*?\" does not exist|no such user"),
        "there is no role {user} on the server of {where}",
        f"as its operator: createuser {{user}}; or name another role under {SETTING}",
    ),
    ConnectionRefusal(
        "28000",
        lazy_compile("is not permitted to log in"),
        "the role {user} may not log in on the server of {where}",
        "as its operator: ALTER ROLE {user} LOGIN",
    ),
    ConnectionRefusal(
        "28000",
        lazy_compile(r"no pg_hba\.conf entry|pg_hba\.conf rejects"),
        "the server of {where} does not allow {user} to connect from this machine (pg_hba.conf)",
        "as its operator: add a line to pg_hba.conf and reload; a hostssl line needs "
        "?sslmode=require in the URL",
    ),
    ConnectionRefusal(
        "28000",
        lazy_compile(r"\b\w+ authentication failed for user"),
        "the server of {where} does not accept this machine's user as {user}",
        f"as its operator: check pg_hba.conf and pg_ident.conf; or name a role under {SETTING}",
    ),
    ConnectionRefusal(
        "3D000",
        lazy_compile(r"database \".*?\" does not exist|no such database"),
        "there is no database {database} on the server of {where}",
        "createdb --encoding=UTF8 --template=template0 {database}; or name another under "
        + SETTING,
    ),
    ConnectionRefusal(
        "53300",
        lazy_compile("too many clients|too many connections|remaining connection slots"),
        "the server of {where} has no connection left for {user}",
        "close some, or raise max_connections: docs/guides/postgresql.md",
        transient=True,
    ),
    ConnectionRefusal(
        "57P03",
        lazy_compile(
            "is starting up|is shutting down|in recovery mode|not (?:yet|currently) accept"
        ),
        "the server of {where} is not ready yet",
        "wait a moment, then try again",
        transient=True,
    ),
    ConnectionRefusal(
        "25006",
        lazy_compile("session is read-only|in hot standby mode|is not in hot standby"),
        "the server of {where} accepts no writes: it is a standby",
        f"name the primary as well, postgresql://one,two/…, under {SETTING}",
        transient=True,
    ),
    ConnectionRefusal(
        "42501",
        lazy_compile("permission denied for schema"),
        "the role {user} may not create tables in {where}",
        "as the owner of the database: GRANT USAGE, CREATE ON SCHEMA public TO {user}",
    ),
    ConnectionRefusal(
        "42501",
        lazy_compile("permission denied for database"),
        "the role {user} may not use the database {database} of {where}",
        "as its owner: GRANT CONNECT ON DATABASE {database} TO {user}",
    ),
    ConnectionRefusal(
        "42501",
        lazy_compile("permission denied|must be owner"),
        "the tables in {where} do not belong to the role {user}",
        f"name the role that owns them, or another database, under {SETTING}",
    ),
    ConnectionRefusal(
        "08001",
        lazy_compile(r"SSL (?:was|is|connection is) required|certificate|sslmode|sslrootcert"),
        "the connection to {where} cannot be encrypted as requested: {message}",
        f"check sslmode and sslrootcert under {SETTING}, and ssl on the server",
    ),
    ConnectionRefusal(
        "08001",
        lazy_compile("could not translate host name|failed to resolve host|Name or service not"),
        "the host name of {where} cannot be resolved",
        f"check the name under {SETTING}",
        transient=True,
    ),
    ConnectionRefusal(
        "08001",
        lazy_compile(r"invalid port number|invalid \S+ value"),
        "the URL of the store {where} cannot be used: {message}",
        f"fix it under {SETTING}",
    ),
)
CONNECTION_FAILED = lazy_compile(
    "connection (?:failed|is bad)|failed to resolve|Multiple connection"
)
# Prefixes that the driver puts before the server's message, or before its own.
DRIVER_PREFIX = lazy_compile(r"^.*(?:failed|bad): (?:FATAL: +)?")


def find_refusal(error: psycopg.Error) -> ConnectionRefusal | None:
    """Find the cause by the message, in order; by the code alone when the server speaks another
    language.

    A session that broke later has no code, and its message says nothing of the cause.
    """
    message = " ".join(str(error).split())
    if error.sqlstate is None and not CONNECTION_FAILED.match(message):
        return None
    candidates = [refusal for refusal in REFUSALS if error.sqlstate in (None, refusal.code)]
    for refusal in candidates:
        if refusal.pattern.search(message):
            return refusal
    return candidates[0] if candidates and error.sqlstate is not None else None


def strip_driver_prefix(message: str) -> str:
    """The server's own message; the address in the driver's prefix is known."""
    return DRIVER_PREFIX.sub("", message)
