"""The throwaway repository of the demo: a small library, its plan and its script."""

from __future__ import annotations

import json
import os
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from yaoki.adapters.processes.command import run_command

SETTINGS = """\
# Small numbers, so that the demo is over in seconds.
[retry.default_backoff]
initial_delay_ms = 200
max_delay_ms = 1000

[retry.cause_specific.TIMEOUT.backoff]
type = "fixed"
initial_delay_ms = 200
max_delay_ms = 200

[limits]
parallel = 4
heartbeat_s = 0.5
lease_s = 6.0
hang_warning_s = 6.5
hang_s = 7.0
deadline_s = 60.0
"""

HANG_S = 2.5

TEST = """\
import unittest
import {module}


class Test{title}(unittest.TestCase):
    def test_{module}(self):
        self.assertEqual({module}.{call}, {expected!r})
"""

# module -> (a call, its expected result, the code that gives it)
MODULES: dict[str, tuple[str, Any, str]] = {
    "greet": ("greet('Ada')", "Hello, Ada!", "def greet(name):\n    return f'Hello, {name}!'\n"),
    "add": ("add(2, 3)", 5, "def add(a, b):\n    return a + b\n"),
    "words": ("words(' to  be ')", ["to", "be"], "def words(text):\n    return text.split()\n"),
    "clock": ("clock(75)", "1:15", "def clock(s):\n    return f'{s // 60}:{s % 60:02}'\n"),
    "price": ("price(1999)", "19.99", "def price(cents):\n    return f'{cents / 100:.2f}'\n"),
    "night": ("night(22)", True, "def night(hour):\n    return hour >= 22 or hour < 6\n"),
}

# The tasks, and how their agents fail.
CAST = {
    "greet": "does the work at once",
    "add": 'does nothing, and says "All tests pass."',
    "words": "does only half of the work",
    "clock": "hangs",
    "price": "gets a 429 with Retry-After: 2",
    "teal": "changes a line",
    "rose": "changes the same line",
    "night": "is working when its worker is killed with kill -9",
    "logo": "has a question that only a person can answer",
    "poster": "needs the logo",
}

ORIGINAL = "# one line, two opinions\nCOLOUR = 'grey'\n"


DARUMA = '  .-""-.\n /  oo  \\\n|   __   |\n \\______/\n'


def write_repository(folder: Path) -> Path:
    """Write the repository and the plan beside it; returns the plan's path."""
    repo = folder / "library"
    repo.mkdir()
    (repo / "theme.py").write_text(ORIGINAL)
    (repo / "yaoki.toml").write_text(SETTINGS)
    for module, (call, expected, _) in MODULES.items():
        test = TEST.format(module=module, title=module.title(), call=call, expected=expected)
        (repo / f"test_{module}.py").write_text(test)
    for command in (
        ("init", "-q", "-b", "main"),
        ("add", "-A"),
        ("-c", "user.name=demo", "-c", "user.email=demo@localhost", "commit", "-qm", "A library"),
    ):
        done = run_command(
            ("git", *command), cwd=repo, env=dict(os.environ), timeout=timedelta(seconds=30)
        )
        assert done.code == 0, done.err.decode(errors="replace")
    plan = folder / "plan.json"
    plan.write_text(json.dumps(make_plan(), indent=2))
    return plan


def make_plan() -> dict[str, Any]:
    checks: dict[str, Any] = {
        f"test-{module}": {
            "run": [sys.executable, "-m", "unittest", "-q", f"test_{module}"],
            "pattern": "test-failed",
        }
        for module in MODULES
    }
    checks["theme"] = {"run": [sys.executable, "-c", "import theme; theme.COLOUR"]}
    for name in ("logo", "poster"):
        checks[name] = {"file": {"path": f"{name}.txt", "exists": True}}
    return {
        "goal": "Ten small changes by agents that fail in different ways",
        "base": "main",
        "agents": {
            "actor": {"preset": "scripted", "options": {"scenario": {"tasks": make_script()}}}
        },
        "agent": "actor",
        "checks": checks,
        "tasks": make_tasks(),
        "done_when": ["test-greet", "theme"],
    }


def make_script() -> dict[str, list[Any]]:
    """One entry per attempt: what the agent does, not what it should do."""

    def good(module: str) -> dict[str, Any]:
        return {"write": {f"{module}.py": MODULES[module][2]}}

    half = "def words(text):\n    pass\n"
    left, right = "COLOUR = 'teal'\n", "COLOUR = 'rose'\n"
    return {
        "greet": [[good("greet")]],
        "add": [["claim_done"], [good("add")]],
        "words": [[{"omit": {"words.py": half}}, "claim_done"], [good("words")]],
        "clock": [["hang"], [good("clock")]],
        "price": [[{"rate_limit": {"retry_after": 2}}], [good("price")]],
        "teal": [[{"sleep": 0.4}, {"write": {"theme.py": left}}]],
        "rose": [
            [{"sleep": 1.6}, {"conflict": {"theme.py": right}}],
            [{"resolve_conflict": {"theme.py": "COLOUR = 'teal and rose'\n"}}],
        ],
        "night": [[{"sleep": 3.0}, good("night")]],
        "logo": [
            [{"ask": "Which animal shall the logo show: an owl or a daruma?"}],
            [{"write": {"logo.txt": DARUMA}}],
        ],
        "poster": [[{"write": {"poster.txt": f"{DARUMA}fall seven times, rise eight\n"}}]],
    }


def make_tasks() -> list[dict[str, Any]]:
    goals = {
        "greet": "Greet people by name. (This agent does the work at once.)",
        "add": "Add two numbers. (This agent says 'All tests pass.' and does nothing.)",
        "words": "Split a text into words. (This agent does only half of the work.)",
        "clock": "Show seconds as minutes. (This agent hangs.)",
        "price": "Show cents as a price. (This agent gets a 429 with Retry-After: 2.)",
        "teal": "Make the theme teal.",
        "rose": "Make the theme rose. (This task conflicts with teal.)",
        "night": "Tell night from day. (Its worker is killed with kill -9 in the middle.)",
        "logo": "Draw the logo. (This agent has a question only a person can answer.)",
        "poster": "Print the logo on a poster.",
    }
    tasks: list[dict[str, Any]] = []
    for name, goal in goals.items():
        check = f"test-{name}" if name in MODULES else "theme"
        tasks.append({"id": name, "goal": goal, "checks": [check]})
    for task in tasks:
        if task["id"] == "clock":
            task["hang"] = f"{HANG_S}s"
        if task["id"] in {"logo", "poster"}:
            task["checks"] = [task["id"]]
        if task["id"] == "poster":
            task["needs"] = ["logo"]
    return tasks
