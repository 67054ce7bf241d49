"""The process table, and the tree below this process."""

from __future__ import annotations

import os

PROC = os.path.isdir("/proc/self")
PR_SET_CHILD_SUBREAPER = 36


def read_stat_fields(pid: int | str) -> list[str]:
    """/proc/PID/stat from the state on: the name before it can contain blanks and parentheses."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return file.read().rpartition(")")[2].split()


def read_proc_table() -> dict[int, tuple[int, float]]:
    """Parent and CPU seconds, including reaped children, of every process."""
    table, tick = {}, os.sysconf("SC_CLK_TCK")
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                fields = read_stat_fields(name)
            except (FileNotFoundError, ProcessLookupError):
                continue
            table[int(name)] = (int(fields[1]), sum(map(int, fields[11:15])) / tick)
    return table


def read_ps_table() -> dict[int, tuple[int, float]]:
    """Read the table from ps, without ps itself; times have the form
    [[days-]hours:]minutes:seconds.
    """
    import subprocess

    argv = ["ps", "-axo", "pid=,ppid=,time="]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as ps:
        rows = [line.split() for line in ps.stdout or ()]
    table = {}
    for pid, parent, used in rows:
        days, _, clock = used.rpartition("-")
        parts = enumerate(reversed(clock.split(":")))
        seconds = int(days or 0) * 86400 + sum(float(part) * 60**power for power, part in parts)
        if int(pid) != ps.pid:
            table[int(pid)] = (int(parent), seconds)
    return table


def read_process_tree() -> dict[int, float]:
    """Every descendant of this process with its CPU seconds; complete, because we are subreaper."""
    return find_descendants(os.getpid(), read_proc_table() if PROC else read_ps_table())


def find_descendants(top: int, table: dict[int, tuple[int, float]]) -> dict[int, float]:
    """Every descendant of `top` with its CPU seconds."""
    children: dict[int, list[int]] = {}
    for pid, (parent, _) in table.items():
        children.setdefault(parent, []).append(pid)
    descendants, pending = {}, [top]
    while pending:
        for pid in children.get(pending.pop(), ()):
            descendants[pid] = table[pid][1]
            pending.append(pid)
    return descendants


def become_subreaper() -> None:
    """Makes orphans of the tree our children instead of init's; Linux only."""
    if PROC:
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
