"""Every command by name, with its one-line help: all that `yaoki --help` needs to know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class CommandEntry(NamedTuple):
    """Where a command stands, and what it is for."""

    target: str
    help: str


SECTIONS: Mapping[str, Mapping[str, CommandEntry]] = {
    "Begin": {
        "init": CommandEntry("yaoki.faces.cli.commands.init:init", "write a first yaoki.toml"),
        "doctor": CommandEntry(
            "yaoki.faces.cli.commands.doctor:doctor", "check git, the store, the disk and the runs"
        ),
        "trust": CommandEntry(
            "yaoki.faces.cli.commands.trust:trust", "say yes to what a repository would run"
        ),
        "demo": CommandEntry("yaoki.faces.demo:command", "watch a rehearsal: no key, no network"),
    },
    "Plan and run": {
        "validate": CommandEntry(
            "yaoki.faces.cli.commands.validate:validate", "say everything that is wrong with a plan"
        ),
        "plan": CommandEntry(
            "yaoki.faces.cli.commands.plans:plan", "show a plan and its worst number of agent runs"
        ),
        "run": CommandEntry("yaoki.faces.cli.commands.run:run", "carry a plan to a proven end"),
        "resume": CommandEntry(
            "yaoki.faces.cli.commands.run:resume", "go on with a run that was stopped"
        ),
        "cancel": CommandEntry(
            "yaoki.faces.cli.commands.cancel:cancel", "end a run or a task; its work is kept"
        ),
    },
    "Workers": {
        "up": CommandEntry(
            "yaoki.faces.cli.commands.up:up", "keep a background worker for this store"
        ),
        "down": CommandEntry(
            "yaoki.faces.cli.commands.up:down", "stop the background worker; nothing is lost"
        ),
        "worker": CommandEntry(
            "yaoki.faces.cli.commands.worker:worker", "serve every run of a store, here"
        ),
    },
    "Look": {
        "status": CommandEntry("yaoki.faces.cli.commands.status:status", "show how a run stands"),
        "watch": CommandEntry("yaoki.faces.cli.commands.run:watch", "follow a run until it rests"),
        "ui": CommandEntry("yaoki.faces.cli.commands.ui:ui", "serve the page on this machine"),
        "why": CommandEntry(
            "yaoki.faces.cli.commands.why:why", "explain where a task stands, rule by rule"
        ),
        "trace": CommandEntry(
            "yaoki.faces.cli.commands.trace:trace", "show the journal of a task or a run"
        ),
        "logs": CommandEntry(
            "yaoki.faces.cli.commands.logs:logs", "show what an agent or a check wrote"
        ),
        "diff": CommandEntry("yaoki.faces.cli.commands.diff:diff", "show what a task changed"),
        "report": CommandEntry(
            "yaoki.faces.cli.commands.report:report", "tell what became of a run, with its proof"
        ),
        "metrics": CommandEntry(
            "yaoki.faces.cli.commands.metrics:metrics", "print what Prometheus scrapes"
        ),
        "verify": CommandEntry(
            "yaoki.faces.cli.commands.verify:verify", "hold a run's receipt against git alone"
        ),
    },
    "Decide": {
        "answer": CommandEntry(
            "yaoki.faces.cli.commands.answer:answer", "answer a task that asks a person"
        ),
        "retry": CommandEntry(
            "yaoki.faces.cli.commands.answer:retry", "let a task that asks try again"
        ),
        "merge": CommandEntry(
            "yaoki.faces.cli.commands.merge:merge", "move the base branch to a run's work"
        ),
        "undo": CommandEntry(
            "yaoki.faces.cli.commands.merge:undo", "take a landed task back off the run branch"
        ),
    },
    "Recover": {
        "recover": CommandEntry(
            "yaoki.faces.cli.commands.recover:recover", "list or branch off any attempt's work"
        ),
        "snapshots": CommandEntry(
            "yaoki.faces.cli.commands.recover:snapshots", "list the snapshots of worktrees"
        ),
        "restore": CommandEntry(
            "yaoki.faces.cli.commands.recover:restore", "put a worktree back to a snapshot"
        ),
        "dead": CommandEntry(
            "yaoki.faces.cli.commands.dead:dead", "list tasks that no worker brought back; revive"
        ),
        "prune": CommandEntry(
            "yaoki.faces.cli.commands.prune:prune", "archive finished runs that are old or many"
        ),
    },
    "For agents": {
        "result": CommandEntry(
            "yaoki.faces.cli.commands.result:result", "say how an attempt ended; never a proof"
        ),
        "mcp": CommandEntry("yaoki.faces.mcp.command:mcp", "serve the tools for agents over MCP"),
    },
    "Reference": {
        "hook": CommandEntry(
            "yaoki.faces.cli.commands.hook:hook", "check an agent of your own session when it stops"
        ),
        "agents": CommandEntry(
            "yaoki.faces.cli.commands.agents:agents", "show the known agents and try one"
        ),
        "notify": CommandEntry(
            "yaoki.faces.cli.commands.notify:notify", "try the channels that notices go through"
        ),
        "config": CommandEntry(
            "yaoki.faces.cli.commands.config:config", "show every setting and where it comes from"
        ),
        "prompts": CommandEntry(
            "yaoki.faces.cli.commands.prompts:prompts", "show, copy and try the words for agents"
        ),
        "stats": CommandEntry(
            "yaoki.faces.cli.commands.stats:stats", "show which prompt cured which failure"
        ),
        "schema": CommandEntry(
            "yaoki.faces.cli.commands.plans:schema", "print a JSON Schema: plan or status"
        ),
    },
}

COMMANDS: Mapping[str, CommandEntry] = {
    name: listed for section in SECTIONS.values() for name, listed in section.items()
}
