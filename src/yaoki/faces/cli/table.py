"""Every command by name, with its one-line help: all that `yaoki --help` needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class CommandEntry(NamedTuple):
    """The module of a command, its one-line help, and whether all it does is to read runs."""

    target: str
    help: str
    only_reads: bool = False


SECTIONS: Mapping[str, Mapping[str, CommandEntry]] = {
    "Get started": {
        "init": CommandEntry("yaoki.faces.cli.commands.init:init", "write a first yaoki.toml"),
        "doctor": CommandEntry(
            "yaoki.faces.cli.commands.doctor:doctor", "check git, the store, the disk and the runs"
        ),
        "trust": CommandEntry(
            "yaoki.faces.cli.commands.trust:trust", "trust the commands that a repository brings"
        ),
        "demo": CommandEntry(
            "yaoki.faces.demo:command", "watch agents fail and recover; no key, no network"
        ),
    },
    "Plan and run": {
        "validate": CommandEntry(
            "yaoki.faces.cli.commands.validate:validate", "report every problem of a plan"
        ),
        "plan": CommandEntry(
            "yaoki.faces.cli.commands.plans:plan", "show a plan and the most agent runs it can take"
        ),
        "run": CommandEntry(
            "yaoki.faces.cli.commands.run:run", "run a plan until every task is proven or needs you"
        ),
        "resume": CommandEntry(
            "yaoki.faces.cli.commands.run:resume", "continue a run that was stopped"
        ),
        "cancel": CommandEntry(
            "yaoki.faces.cli.commands.cancel:cancel", "end a run or a task; its work is saved"
        ),
    },
    "Workers": {
        "up": CommandEntry(
            "yaoki.faces.cli.commands.up:up", "start the background worker for this store"
        ),
        "down": CommandEntry(
            "yaoki.faces.cli.commands.up:down", "stop the background worker; nothing is lost"
        ),
        "worker": CommandEntry(
            "yaoki.faces.cli.commands.worker:worker", "serve every run of a store in the foreground"
        ),
    },
    "Inspect": {
        "status": CommandEntry(
            "yaoki.faces.cli.commands.status:status", "show the state of a run", only_reads=True
        ),
        "watch": CommandEntry(
            "yaoki.faces.cli.commands.run:watch", "follow a run until it is finished or needs you"
        ),
        "ui": CommandEntry("yaoki.faces.cli.commands.ui:ui", "serve the page on this machine"),
        "why": CommandEntry(
            "yaoki.faces.cli.commands.why:why",
            "explain the state of a task, rule by rule",
            only_reads=True,
        ),
        "trace": CommandEntry(
            "yaoki.faces.cli.commands.trace:trace",
            "show the journal of a task or a run",
            only_reads=True,
        ),
        "logs": CommandEntry(
            "yaoki.faces.cli.commands.logs:logs",
            "show what an agent or a check wrote",
            only_reads=True,
        ),
        "diff": CommandEntry(
            "yaoki.faces.cli.commands.diff:diff", "show what a task changed", only_reads=True
        ),
        "report": CommandEntry(
            "yaoki.faces.cli.commands.report:report",
            "report the outcome of a run, with its proof",
            only_reads=True,
        ),
        "metrics": CommandEntry(
            "yaoki.faces.cli.commands.metrics:metrics", "print metrics in Prometheus format"
        ),
        "verify": CommandEntry(
            "yaoki.faces.cli.commands.verify:verify", "check a receipt, or a run, against git"
        ),
    },
    "Decide": {
        "answer": CommandEntry(
            "yaoki.faces.cli.commands.answer:answer", "answer the question of a task"
        ),
        "retry": CommandEntry(
            "yaoki.faces.cli.commands.answer:retry", "retry a task, with a message to its agent"
        ),
        "merge": CommandEntry(
            "yaoki.faces.cli.commands.merge:merge", "merge the work of a run into its base branch"
        ),
        "undo": CommandEntry(
            "yaoki.faces.cli.commands.merge:undo", "revert a landed task on the run branch"
        ),
    },
    "Recover": {
        "recover": CommandEntry(
            "yaoki.faces.cli.commands.recover:recover",
            "list the saved work of attempts; create a branch at it",
        ),
        "snapshots": CommandEntry(
            "yaoki.faces.cli.commands.recover:snapshots", "list the snapshots of worktrees"
        ),
        "restore": CommandEntry(
            "yaoki.faces.cli.commands.recover:restore", "restore a worktree to a snapshot"
        ),
        "dead": CommandEntry(
            "yaoki.faces.cli.commands.dead:dead",
            "list tasks whose workers died; revive them",
        ),
        "forget": CommandEntry(
            "yaoki.faces.cli.commands.prune:forget", "archive a merged run and delete its branches"
        ),
        "prune": CommandEntry("yaoki.faces.cli.commands.prune:prune", "archive old finished runs"),
    },
    "For agents": {
        "result": CommandEntry(
            "yaoki.faces.cli.commands.result:result", "report how an attempt ended"
        ),
        "mcp": CommandEntry("yaoki.faces.mcp.command:mcp", "serve the tools for agents over MCP"),
    },
    "Settings and tools": {
        "hook": CommandEntry(
            "yaoki.faces.cli.commands.hook:hook",
            "check the agent of your own session when it stops",
        ),
        "agents": CommandEntry(
            "yaoki.faces.cli.commands.agents:agents", "show the known agents; test one"
        ),
        "notify": CommandEntry("yaoki.faces.cli.commands.notify:notify", "send a test notice"),
        "config": CommandEntry(
            "yaoki.faces.cli.commands.config:config", "show every setting and where it comes from"
        ),
        "prompts": CommandEntry(
            "yaoki.faces.cli.commands.prompts:prompts",
            "show, copy and test the prompts for retries",
        ),
        "stats": CommandEntry(
            "yaoki.faces.cli.commands.stats:stats",
            "show what fixed which failure, and how good forecasts were",
        ),
        "schema": CommandEntry(
            "yaoki.faces.cli.commands.plans:schema", "print a JSON Schema: plan or status"
        ),
        "completion": CommandEntry(
            "yaoki.faces.cli.commands.completion:completion",
            "print the completion script of a shell",
        ),
    },
}

COMMANDS: Mapping[str, CommandEntry] = {
    name: listed for section in SECTIONS.values() for name, listed in section.items()
}
