"""A server that refuses connections: the installed program reports the cause and the remedy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.project import SETTINGS, Project
from tests.adapters.store.server import Server, binaries, missing
from yaoki.adapters.store import open_store
from yaoki.adapters.system.clock import SystemClock
from yaoki.errors import StoreError, StoreUnreachable

pytestmark = [pytest.mark.postgres, pytest.mark.spec("0.6", "13.1")]
HBA = """\
local all yaoki,nologin,ghost,crowded,poor trust
local all secretive scram-sha-256
"""
ROLES = (
    "CREATE ROLE secretive LOGIN PASSWORD 'right'",
    "CREATE ROLE nologin",
    "CREATE ROLE crowded LOGIN CONNECTION LIMIT 0",
    "CREATE ROLE poor LOGIN",
    "REVOKE CREATE ON SCHEMA public FROM public",
)


@pytest.fixture(scope="module")
def strict() -> Iterator[Server]:
    """A separate server with its own access rules."""
    import psycopg

    if why := missing() or ("" if binaries() else "there are no binaries of PostgreSQL"):
        pytest.skip(why)
    server = Server.make()
    try:
        (server.folder / "data" / "pg_hba.conf").write_text(HBA)
        server.start()
        with psycopg.connect(server.url, autocommit=True) as link:
            for statement in ROLES:
                link.execute(statement.encode())
        yield server
    finally:
        server.remove()


@pytest.fixture
def project(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(tmp_path, tmp_path_factory.getbasetemp().parent / "pycache")


REFUSED = [
    ("secretive:hush@", "postgres", "does not accept the password of secretive", "PGPASSWORD"),
    ("secretive@", "postgres", "needs a password for secretive", "~/.pgpass"),
    ("ghost@", "postgres", "there is no role ghost", "createuser ghost"),
    ("nologin@", "postgres", "nologin may not log in", "ALTER ROLE nologin LOGIN"),
    ("stranger@", "postgres", "does not allow stranger", "pg_hba.conf"),
    ("yaoki@", "nowhere", "there is no database nowhere", "createdb"),
    ("crowded@", "postgres", "no connection left for crowded", "max_connections"),
    ("poor@", "postgres", "poor may not create tables", "GRANT USAGE, CREATE ON SCHEMA public"),
]


@pytest.mark.full
@pytest.mark.parametrize(("user", "name", "sentence", "hint"), REFUSED)
def test_a_refused_connection_reports_the_cause_and_the_remedy(
    strict: Server, user: str, name: str, sentence: str, hint: str
) -> None:
    url = f"postgresql://{user}/{name}?host={strict.folder}"

    with pytest.raises(StoreError) as refused:
        open_store(url, SystemClock())

    assert sentence in refused.value.sentence
    assert hint in refused.value.hint
    assert "check that the server runs" not in refused.value.hint
    assert "hush" not in f"{refused.value.sentence} {refused.value.hint}"
    passing = isinstance(refused.value, StoreUnreachable)
    assert passing == ("connection left" in sentence), "only what passes is waited for"


@pytest.mark.full
@pytest.mark.acceptance
def test_a_refused_command_reports_the_cause_and_does_not_wait(
    strict: Server, project: Project
) -> None:
    """`worker` waits without bound for an unreachable store, but not for one that refuses."""
    url = f"postgresql://secretive:hush@/postgres?host={strict.folder}"
    (project.repo / "yaoki.toml").write_text(f'{SETTINGS}\n[store]\nurl = "{url}"\n')

    for words in (("status",), ("worker",), ("plan", "submit", project.plan({"goal": "x"}))):
        done = project.yaoki(*words)

        assert done.code in {1, 2}
        assert "hush" not in done.out + done.err
        assert "serving" not in done.out
        if words[0] != "plan":
            assert "does not accept the password of secretive" in done.err
            assert "PGPASSWORD" in done.err


@pytest.mark.full
@pytest.mark.usefixtures("strict")
def test_missing_encryption_and_an_unknown_host_are_reported() -> None:
    for url, sentence, hint in (
        ("postgresql://me@127.0.0.1:1/x?sslmode=nonsense", "cannot be encrypted", "sslmode"),
        ("postgresql://me@nowhere.invalid/x", "cannot be resolved", "check the name"),
        ("postgresql://me@127.0.0.1:1/x", "cannot be reached", "check that the server runs"),
    ):
        with pytest.raises(StoreError) as refused:
            open_store(url, SystemClock())

        assert sentence in refused.value.sentence
        assert hint in refused.value.hint


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("connection failed: … failed: FATAL:  the database system is starting up", "57P03"),
        ("connection failed: … failed: server does not support SSL, but SSL was required", "08001"),
        ("connection failed: … failed: FATAL:  sorry, too many clients already", "53300"),
        ("consuming input failed: SSL connection has been closed unexpectedly", ""),
        ("server closed the connection unexpectedly", ""),
    ],
)
def test_refusals_are_recognised_and_a_broken_session_is_no_refusal(said: str, code: str) -> None:
    import psycopg

    from yaoki.adapters.store.postgres.connection_errors import find_refusal

    found = find_refusal(psycopg.OperationalError(said))

    assert (found.code if found else "") == code
