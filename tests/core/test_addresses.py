"""Addresses for notices: which are allowed, and what of them is shown."""

from __future__ import annotations

import pytest

from yaoki.core.settings.addresses import (
    ADDRESS_CHARS_MAX,
    address_secrets,
    is_loopback_address,
    mask_service_address,
    mask_web_address,
    service_defect,
    web_defect,
)
from yaoki.core.settings.resources import database_name

pytestmark = pytest.mark.spec("10.5", "14.2")

FORM = "must be http:// or https://, a host, and a path, without name, password or fragment"
PLAIN = "http is only for this machine; write https, or allow it: webhook_http = true"


@pytest.mark.parametrize(
    ("address", "http", "defect"),
    [
        ("https://hooks.example.com/T0/B1", False, ""),
        ("https://hooks.example.com:65535/x", False, ""),
        ("https://hooks.example.com:65536/x", False, "65536 is not a valid port"),
        ("https://hooks.example.com:0/x", False, "0 is not a valid port"),
        ("https://hooks.example.com:1/x", False, ""),
        ("http://hooks.example.com/x", False, PLAIN),
        ("http://hooks.example.com/x", True, ""),
        ("http://localhost:8080/x", False, ""),
        ("http://127.0.0.1/x", False, ""),
        ("http://[::1]:9/x", False, ""),
        ("ftp://host/x", True, FORM),
        ("https://me:secret@host/x", True, FORM),
        ("https://host/x#part", True, FORM),
        ("https://host/" + "a" * (ADDRESS_CHARS_MAX - 13), True, ""),
        ("https://host/" + "a" * (ADDRESS_CHARS_MAX - 12), True, FORM),
        ("", True, FORM),
    ],
)
def test_an_address_is_refused_with_its_reason(address: str, http: bool, defect: str) -> None:
    assert web_defect(address, http=http) == defect


@pytest.mark.parametrize(
    ("address", "here"),
    [
        ("http://localhost/x", True),
        ("http://LOCALHOST", True),
        ("http://127.9.9.9:80", True),
        ("http://localhost.example.com/x", False),
        ("http://example.com/localhost", False),
        ("localhost", False),
    ],
)
def test_only_the_host_decides_whether_an_address_is_local(address: str, here: bool) -> None:
    assert is_loopback_address(address) is here


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://host/secret/path", "https://host/[masked]"),
        ("https://host:8/?key=1", "https://host:8/[masked]"),
        ("https://host/", "https://host/"),
        ("https://host", "https://host"),
        ("https://host/a", "https://host/[masked]"),
        ("me:secret@host", "[masked]"),
        ("", ""),
    ],
)
def test_only_the_beginning_of_an_address_is_shown(address: str, shown: str) -> None:
    assert mask_web_address(address) == shown


@pytest.mark.parametrize(
    ("address", "valid", "shown"),
    [
        ("slack://a/b/c", True, "slack://[masked]"),
        ("x" * 41 + "://a", True, "x" * 41 + "://[masked]"),
        ("slack://a b", False, "[masked]"),
        ("slack", False, "[masked]"),
        ("s://" + "a" * (ADDRESS_CHARS_MAX - 4), True, "s://[masked]"),
        ("s://" + "a" * (ADDRESS_CHARS_MAX - 3), False, "s://[masked]"),
    ],
)
def test_the_address_of_a_service_is_validated(address: str, valid: bool, shown: str) -> None:
    assert service_defect(address) == (
        "" if valid else "must be an address like slack://…, without spaces"
    )
    assert mask_service_address(address) == shown


def test_every_part_of_an_address_is_masked_where_a_service_repeats_it() -> None:
    found = address_secrets(iter(["slack://user:key@host/path?a=b://c", "x://y"]))

    assert found[:2] == ("slack://user:key@host/path?a=b://c", "x://y")
    assert {"user", "key", "host", "path", "a", "b", "c", "y"} <= set(found)
    assert "slack" not in found


@pytest.mark.spec("11.9")
def test_a_database_is_named_after_its_task() -> None:
    assert database_name("yaoki_", "Run1-2.x") == "yaoki_run1_2_x"
