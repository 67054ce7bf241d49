"""Finds the strictest isolation that bubblewrap can provide on this machine, tried from inside."""

from __future__ import annotations

import os
import re
from datetime import timedelta
from functools import lru_cache
from pathlib import Path

from yaoki.adapters.processes.command import run_command
from yaoki.adapters.processes.sandbox_mounts import root_options
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.errors import SandboxUnavailable

PROGRAM = "bwrap"
PROBE_TIMEOUT = timedelta(seconds=20)
ISOLATION_OPTIONS = (
    *("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
    *("--cap-drop", "ALL"),
)
# The strictest first; an old or setuid bubblewrap, or a container, may refuse some.
STRICTER_OPTIONS = (("--unshare-user", "--disable-userns"), ("--unshare-user",), ())
SWITCH_OPENED = b"SWITCH-OPENED"
# Opened but not written: they belong to the whole machine.
PROBE_SCRIPT = f"""\
cat /proc/self/status
for each in /proc/sys/kernel/core_pattern /proc/sysrq-trigger; do
    if [ -e "$each" ] && (: >> "$each") 2> /dev/null; then echo {SWITCH_OPENED.decode()}; fi
done
"""
# The status of a process inside must show that it has no capabilities and cannot gain any.
POWERLESS = tuple(
    lazy_compile(rb"^%b:\s+%b$" % words, re.MULTILINE)
    for words in ((b"CapEff", b"0+"), (b"CapPrm", b"0+"), (b"NoNewPrivs", b"1"))
)


@lru_cache(maxsize=8)
def starts_successfully(command: tuple[str, ...]) -> bool:
    result = run_command(
        (*command, *root_options(), "--", "true"),
        cwd=Path("/"),
        env=_path_variable(),
        timeout=PROBE_TIMEOUT,
    )
    return result.code == 0


def _path_variable() -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", os.defpath)}


@lru_cache(maxsize=8)
def find_isolation_options(program: str, net: tuple[str, ...]) -> tuple[str, ...]:
    """The strictest options that work here, each tried from inside.

    Raises `SandboxUnavailable` if none works.
    """
    weakness = ""
    for stricter in STRICTER_OPTIONS:
        options = (*ISOLATION_OPTIONS, *stricter, *net)
        if not (weakness := _find_weakness(program, options)):
            return options
    raise SandboxUnavailable(weakness)


def _find_weakness(program: str, options: tuple[str, ...]) -> str:
    argv = (program, *root_options(), *options, "--", "sh", "-c", PROBE_SCRIPT)
    result = run_command(argv, cwd=Path("/"), env=_path_variable(), timeout=PROBE_TIMEOUT)
    if result.code != 0:
        lines = result.err.decode("utf-8", "replace").strip().splitlines() or [
            f"code {result.code}"
        ]
        return f"{PROGRAM} cannot make one here: {lines[-1][:300]}"
    if not all(fact.search(result.out) for fact in POWERLESS):
        return f"{PROGRAM} leaves capabilities to processes inside"
    if SWITCH_OPENED in result.out:
        return f"{PROGRAM} lets processes inside write kernel settings in /proc/sys"
    return ""
